"""What a secure sum costs: time and bytes, by people and by cells, beside the paper's O(·).

    python -m benchmarks.securesum  # writes out/securesum.json and the page
    python -m benchmarks.securesum --short    # a minute, prints only

Every message is sealed, signed, written to bytes, read back and checked; bytes are those of the
messages. Times are of this machine, all participants together; the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.securesum_page import document

import mdrr
from mdrr.domain import Domain
from mdrr.securesum.aggregator import Aggregator
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message
from mdrr.securesum.opening import total
from mdrr.securesum.organiser import Organiser, join
from mdrr.securesum.person import make_report
from mdrr.securesum.question import Question
from mdrr.securesum.rehearse import rehearse
from mdrr.securesum.roster import Batch
from mdrr.securesum.simulate import Traffic
from mdrr.securesum.terms import Terms, make_terms
from mdrr.source import SystemSource

PAPER_PEOPLE = (10, 25, 50, 100)
BATCH_PEOPLE = (500, 1_000, 2_000, 4_000)
ALL_OF_ADULT = 32_561
CHUNK = 500
ATTRIBUTES = (2, 4, 6, 8)
SHORT = {"paper": (5, 10), "aggregators": (100, 200)}


def records(n: int, attributes: int = 8) -> tuple[Domain, list[np.ndarray]]:
    """The first n people of Adult and its last `attributes` attributes."""
    domain = mdrr.datasets.adult_domain()
    codes = mdrr.encode(mdrr.datasets.adult()[:n], domain)
    names = domain.names[-attributes:]
    return domain.project(names), codes[-attributes:]


def one(mode: str, n: int, attributes: int = 8) -> dict[str, Any]:
    """One run: cells, seconds, bytes; raises if the totals are not exact."""
    domain, codes = records(n, attributes)
    question, traffic = Question(domain), Traffic()
    wall, cpu = time.perf_counter(), time.process_time()
    totals, people = rehearse(question, codes, mode, 3, SystemSource(), traffic=traffic)
    spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    if people != n or not np.array_equal(totals, question.sums(codes)):
        raise AssertionError("the opened totals are not those of the records")
    return {
        "mode": mode,
        "people": n,
        "cells": question.cells,
        **spent,
        "messages": sum(traffic.messages.values()),
        "sent": sum(traffic.sent.values()),
        "received": sum(traffic.received.values()),
        "shares": traffic.sent.get("share", 0) + traffic.sent.get("report", 0),
        "sent_per_person": _of_people(traffic.sent, mode) / n,
        "received_per_person": _of_people(traffic.received, mode) / n,
    }


def _of_people(counted: dict[str, int], mode: str) -> int:
    """The bytes that people send, or those they receive; the aggregators' are not theirs."""
    if mode == "paper":
        return sum(counted.values())
    theirs = ("terms", "batch") if "terms" in counted else ("join", "report")
    return sum(counted[kind] for kind in theirs)


def one_person(randomized: bool, aggregators: int) -> dict[str, Any]:
    """Every message one person of Adult sends and receives, in bytes."""
    domain, source = mdrr.datasets.adult_domain(), SystemSource()
    question = Question.randomized(domain, p=0.5) if randomized else Question(domain)
    leader, me = Identity.generate(source), Identity.generate(source)
    servers = [Identity.generate(source, f"Office {k}").public for k in range(aggregators)]
    terms = make_terms("aggregators", question, leader, source, wanted=ALL_OF_ADULT, minimum=3)
    batch = Batch(terms, tuple(servers), ALL_OF_ADULT, "0" * 64)
    reports = make_report(me, batch, question.encode([0] * len(domain), source), source)
    up, down = [join(me, terms), *reports], [terms.message(leader), batch.message(leader)]
    sent, received = (sum(len(m.to_json()) for m in messages) for messages in (up, down))
    return {
        "tables": "randomized" if randomized else "exact",
        "aggregators": aggregators,
        "sent": sent,
        "received": received,
    }


def pipelined(n: int) -> dict[str, Any]:
    """A batch with people in one process and both aggregators in another, as on two machines."""
    domain, codes = records(n)
    question, source = Question(domain), SystemSource()
    wall, cpu = time.perf_counter(), _cpu()
    leader = Identity.generate(source)
    servers = [Identity.generate(source, name) for name in ("Office A", "Office B")]
    terms = make_terms("aggregators", question, leader, source, wanted=n, minimum=3)
    organiser = Organiser(leader, terms)
    for server in servers:
        organiser.receive(join(server, terms, "aggregator"))
    said, sent = terms.message(leader).to_json(), 0
    rows = np.column_stack(codes)
    chunks = [rows[start : start + CHUNK] for start in range(0, n, CHUNK)]
    with multiprocessing.get_context("spawn").Pool(1) as people:
        secrets = []
        for keys, joins in people.imap(enrol, [(said, len(chunk)) for chunk in chunks]):
            secrets.append(keys)
            for data in joins:
                sent += len(data)
                organiser.receive(Message.from_json(data))
        batch = organiser.frozen
        assert isinstance(batch, Batch)
        listed = batch.message(leader).to_json()
        machines = {
            one.id: Aggregator(one, batch, organiser.enrolled, SqliteLedger(":memory:"))
            for one in servers
        }
        work = [(said, listed, keys, chunk) for keys, chunk in zip(secrets, chunks, strict=True)]
        for reports in people.imap(report, work):
            for data in reports:
                sent += len(data)
                message = Message.from_json(data)
                machines[str(message.to)].receive(message)
    lists = [machine.receive(organiser.close())[0] for machine in machines.values()]
    openings = [
        opening
        for name, machine in machines.items()
        for message in lists
        if message.sender != name
        for opening in machine.receive(message)
    ]
    totals, counted = total(openings, batch)
    if counted != n or not np.array_equal(totals, question.sums(codes)):
        raise AssertionError("the opened totals are not those of the records")
    seconds = time.perf_counter() - wall
    return {
        "people": n,
        "cells": question.cells,
        "seconds": seconds,
        "cpu": _cpu() - cpu,
        "sent_per_person": sent / n,
        "received_per_person": len(said) + len(listed),
    }


def enrol(task: tuple[bytes, int]) -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
    """Fresh keys for some people, and their joins."""
    terms, source = Terms.read(Message.from_json(task[0])), SystemSource()
    made = [Identity.generate(source) for _ in range(task[1])]
    keys = [(one.signing_secret, one.sealing_secret) for one in made]
    return keys, [join(one, terms).to_json() for one in made]


def report(task: tuple[bytes, bytes, list[tuple[bytes, bytes]], np.ndarray]) -> list[bytes]:
    """The reports of some people, one message per aggregator."""
    said, listed, keys, rows = task
    terms = Terms.read(Message.from_json(said))
    batch, source = Batch.read(Message.from_json(listed), terms), SystemSource()
    out = []
    for secrets, row in zip(keys, rows, strict=True):
        vector = terms.question.encode([int(code) for code in row])
        out += [m.to_json() for m in make_report(Identity(*secrets), batch, vector, source)]
    return out


def _cpu() -> float:
    """CPU seconds of this process and its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def network(mode: str, n: int) -> dict[str, Any]:
    """The same between real processes over HTTP on this machine, starting them included."""
    from mdrr.securesum.transport.processes import run_demo

    domain, codes = records(n)
    before, wall = _cpu(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        answer = run_demo(domain, codes, Path(folder), mode=mode, patience=300.0)
    if not np.array_equal(answer["totals"], Question(domain).sums(codes)):
        raise AssertionError("the opened totals are not those of the records")
    return {
        "mode": mode,
        "people": n,
        "seconds": time.perf_counter() - wall,
        "cpu": _cpu() - before,
    }


def run(short: bool = False) -> dict[str, Any]:
    """All measurements."""
    sizes = SHORT if short else {"paper": PAPER_PEOPLE, "aggregators": BATCH_PEOPLE}
    results: dict[str, Any] = {"cores": os.cpu_count(), "by_people": [], "by_cells": []}
    loads = [os.getloadavg()[0]]
    for mode, people in sizes.items():
        for n in people:
            results["by_people"].append(one(mode, n))
            _show(results["by_people"][-1])
    for mode, n in (("paper", 5 if short else 30), ("aggregators", 100 if short else 1_000)):
        for attributes in ATTRIBUTES[:: 3 if short else 1]:
            results["by_cells"].append(one(mode, n, attributes))
            _show(results["by_cells"][-1])
    results["all_of_adult"] = pipelined(300 if short else ALL_OF_ADULT)
    print(results["all_of_adult"], flush=True)
    results["network"] = [] if short else [network("paper", 30), network("aggregators", 30),
                                           network("paper", 100)]  # fmt: skip
    results["one_person"] = [one_person(r, k) for r in (False, True) for k in (2, 3)]
    loads.append(os.getloadavg()[0])
    results["load"] = min(loads)
    return results


def _show(row: dict[str, Any]) -> None:
    print(
        f"{row['mode']:12} n={row['people']:6} cells={row['cells']:5} {row['seconds']:7.2f} s "
        f"({row['cpu']:.2f} s CPU), {row['sent_per_person'] / 1000:8.1f} kB sent a person",
        flush=True,
    )


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
