"""What a secure sum costs: time and bytes, by people and by cells, beside the paper's O(·).

    python -m benchmarks.securesum  # writes out/securesum.json and the page
    python -m benchmarks.securesum --short    # a minute, prints only

With aggregators everything is real: the relay with its database and both aggregators are processes
of their own, and people's reports reach the relay by HTTP. The paper's protocol runs in one
process, every message sealed, signed, written and read back. Times are of this machine; the ratios
are what to look at.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.processes import cpu_seconds
from benchmarks.securesum_page import document

import mdrr
from mdrr.domain import Domain
from mdrr.securesum.batch import Batch
from mdrr.securesum.message import Message
from mdrr.securesum.person import make_reports
from mdrr.securesum.post import Mail
from mdrr.securesum.question import Question
from mdrr.securesum.rehearse import run_group
from mdrr.securesum.transport.remote import RemotePost
from mdrr.source import SystemSource

PAPER_PEOPLE = (10, 25, 50, 100)
BATCH_PEOPLE = (1_000, 2_000, 4_000, 8_000)
ALL_OF_ADULT = 32_561
CHUNK = 256
SENDERS = 32
"""Connections that people's reports come over."""
ATTRIBUTES = (2, 4, 6, 8)


def records(n: int, attributes: int = 8) -> tuple[Domain, list[np.ndarray]]:
    """The first n people of Adult and its last `attributes` attributes."""
    domain = mdrr.datasets.adult_domain()
    codes = mdrr.encode(mdrr.datasets.adult()[:n], domain)
    names = domain.names[-attributes:]
    return domain.project(names), codes[-attributes:]


def in_paper_mode(n: int, attributes: int = 8) -> dict[str, Any]:
    """One run among n parties in this process; raises if the totals are not exact."""
    domain, codes = records(n, attributes)
    question, posts = Question(domain), []

    def count(post: Mail) -> Mail:
        posts.append(Counted(post))
        return posts[-1]

    wall, cpu = time.perf_counter(), time.process_time()
    totals, people = run_group(question, codes, 3, SystemSource(), through=count)
    spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    if people != n or not np.array_equal(totals, question.sums(codes)):
        raise AssertionError("the opened totals are not those of the records")
    return {
        "people": n,
        "cells": question.cells,
        **spent,
        "shares": sum(post.shares for post in posts),
        "sent_per_person": sum(post.sent for post in posts) / n,
        "received_per_person": sum(post.received for post in posts) / n,
    }


class Counted:
    """One member's post, which counts the bytes of her messages."""

    def __init__(self, post: Mail) -> None:
        self._post = post
        self.sent = self.received = self.shares = 0

    def join(self, shown: bytes, message: Message, /) -> None:
        self.sent += len(message.to_json())
        self._post.join(shown, message)

    def say(self, *messages: Message) -> None:
        self.sent += sum(len(one.to_json()) for one in messages)
        self.shares += sum(len(one.to_json()) for one in messages if one.kind == "share")
        self._post.say(*messages)

    def mail(self, recipient: str, after: int, /) -> tuple[Sequence[Message], int]:
        found, mark = self._post.mail(recipient, after)
        self.received += sum(len(one.to_json()) for one in found)
        return found, mark


def with_aggregators(n: int, attributes: int = 8) -> dict[str, Any]:
    """One batch through the real service, from the first report to both results.

    Arguments:
        n: how many people report, all of those invited.
        attributes: how many are asked.
    """
    domain, codes = records(n, attributes)
    with tempfile.TemporaryDirectory(prefix="mdrr-bench-") as there:
        folder = Path(there)
        (folder / "domain.json").write_text(json.dumps(domain.to_dict()))
        organiser = _publish(folder, n)
        relay = _start("relay", "--batch", folder / "batch" / "relay", "--port", 0,
                       "--database", f"sqlite:///{folder / 'relay.db'}")  # fmt: skip
        assert relay.stdout is not None
        url = json.loads(relay.stdout.readline())["url"]
        common = ("--relay", url, "--organiser", organiser, "--json")
        servers = [_start("aggregate", "--state", folder / f"agg{k}", *common) for k in (0, 1)]
        _idle(*servers)
        before = {one.pid: cpu_seconds(one.pid) for one in (relay, *servers)}
        wall, cpu = time.perf_counter(), time.process_time()
        batch, sent = _report(url, organiser, folder, codes)
        people_cpu, people_seconds = time.process_time() - cpu, time.perf_counter() - wall
        ends = [_end(one, before) for one in servers]
        seconds = time.perf_counter() - wall
        relay.terminate()
        _, relay_cpu = _end(relay, before)
        stored = sum(file.stat().st_size for file in folder.glob("relay.db*"))
        received = (folder / "batch" / "relay" / "batch.json").stat().st_size
    for out, _ in ends:
        if out["n"] != n or not np.array_equal(out["totals"], batch.question.sums(codes)):
            raise AssertionError("the opened totals are not those of the records")
    return {
        "people": n,
        "cells": batch.question.cells,
        "seconds": seconds,
        "people_seconds": people_seconds,
        "people_cpu": people_cpu,
        "aggregators_cpu": sum(spent for _, spent in ends),
        "relay_cpu": relay_cpu,
        "stored": stored,
        "sent_per_person": sent / n,
        "received_per_person": received,
    }


def _publish(folder: Path, n: int) -> str:
    """Offers and a signed batch, as operators and an organiser make them; the organiser's id."""
    named: list[object] = []
    for k in (0, 1):
        file = folder / f"offer{k}.json"
        _run("offer", "--state", folder / f"agg{k}", "--operator", f"Office {k}", "--out", file)
        named += ["--offer", file]
    made = _run("batch", "--survey", folder / "domain.json", "--invite", n, *named,
                "--key", folder / "organiser.key", "--out", folder / "batch")  # fmt: skip
    return str(json.loads(made)["organiser"])


def _report(url: str, organiser: str, folder: Path, codes: list[np.ndarray]) -> tuple[Batch, int]:
    """Everybody reports, over a few connections; how many bytes that were."""
    posts = [RemotePost(url, patience=120.0) for _ in range(SENDERS)]
    batch = Batch.read(posts[0].document(), organiser)
    tokens = (folder / "batch" / "invitations.txt").read_text().split()
    source = SystemSource()
    places = batch.question.positions(codes, source)
    with ThreadPoolExecutor(SENDERS) as pool:
        for at in range(0, len(tokens), CHUNK):
            some = slice(at, at + CHUNK)
            made = make_reports(batch, tokens[some], places[some], source)
            waiting = [
                pool.submit(
                    lambda post, mine: [post.upload(one) for one in mine], post, made[k::SENDERS]
                )
                for k, post in enumerate(posts)
            ]
            for one in waiting:
                one.result()
    sent = sum(post.sent for post in posts)
    for post in posts:
        post.close()
    return batch, sent


def _start(*args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mdrr", "securesum", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(*args: object) -> str:
    process = _start(*args)
    out, err = process.communicate()
    if process.returncode:
        raise AssertionError(err)
    return out


def _idle(*processes: subprocess.Popen[str]) -> None:
    """Wait until processes have loaded their modules and poll: starting is not measured."""
    for process in processes:
        used = -1.0
        while cpu_seconds(process.pid) - used > 0.1:
            used = cpu_seconds(process.pid)
            time.sleep(2.0)


def _end(process: subprocess.Popen[str], before: dict[int, float]) -> tuple[Any, float]:
    """What a process printed, and its CPU seconds since it was idle."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    out, err = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    if process.returncode not in (0, -15, 143):
        raise AssertionError(err)
    return json.loads(out) if out else None, spent - before[process.pid]


def run(short: bool = False) -> dict[str, Any]:
    """All measurements."""
    results: dict[str, Any] = {"cores": os.cpu_count()}
    loads = [os.getloadavg()[0]]
    paper, people = ((5, 10), (100, 200)) if short else (PAPER_PEOPLE, BATCH_PEOPLE)
    attributes = ATTRIBUTES[:: 3 if short else 1]
    tasks = {
        "paper": [(in_paper_mode, n, 8) for n in paper],
        "paper_cells": [(in_paper_mode, 5 if short else 30, m) for m in attributes],
        "batch": [(with_aggregators, n, 8) for n in people],
        "batch_cells": [(with_aggregators, 100 if short else 2_000, m) for m in attributes],
        "adult": [] if short else [(with_aggregators, ALL_OF_ADULT, 8)],
    }
    for name, rows in tasks.items():
        results[name] = []
        for measure, n, many in rows:
            results[name].append(measure(n, many))
            print(name, results[name][-1], flush=True)
    loads.append(os.getloadavg()[0])
    results["load"] = min(loads)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--docs", type=Path, default=Path("docs/benchmarks/securesum.md"))
    arguments = parser.parse_args()
    results = run(arguments.short)
    if arguments.short:
        return
    Path("out").mkdir(exist_ok=True)
    Path("out/securesum.json").write_text(json.dumps(results, indent=1) + "\n")
    arguments.docs.write_text(document(results))


if __name__ == "__main__":
    main()
