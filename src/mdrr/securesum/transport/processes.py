"""A whole run between real processes on this machine: relay, parties, aggregators.

Every participant is `mdrr …` in a process of its own; they meet only through the relay's HTTP.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.domain import Domain
from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.transport.keyfile import load_or_make
from mdrr.source import SystemSource

Say = Callable[[str], None]


def run_demo(
    domain: Domain,
    codes: Sequence[npt.NDArray[Any]],
    folder: Path,
    *,
    mode: str = "paper",
    minimum: int = 3,
    aggregators: int = 2,
    epsilon: float | None = None,
    patience: float = 120.0,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Start everybody, wait for the totals, stop everybody.

    Arguments:
        domain: what is asked.
        codes: the records, one code column per attribute; one process per record.
        folder: for keys, records and ledgers.
        mode: `paper` or `aggregators`.
        minimum: the fewest people a total opens for.
        aggregators: how many, in `aggregators` mode.
        epsilon: what one person spends in all with randomized pairs; None for exact tables.
        patience: seconds each participant waits for others.
        say: told what happens.

    Returns:
        What the participants printed: `totals`, `n`, `question`, and `note`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domain.json").write_text(json.dumps(domain.to_dict()))
    organiser = load_or_make(folder / "organiser.key", SystemSource()).id
    n = len(codes[0])
    started: list[subprocess.Popen[str]] = []
    common = ["--organiser", organiser, "--patience", str(patience), "--json"]
    try:
        relay = _start(
            [
                *("relay", "--mode", mode, "--n", str(n), "--minimum", str(minimum)),
                *("--aggregators", str(aggregators), "--patience", str(patience), "--port", "0"),
                *("--survey", str(folder / "domain.json"), "--key", str(folder / "organiser.key")),
                *(("--epsilon", str(epsilon)) if epsilon is not None else ()),
            ],
            started,
        )
        url = _address(relay)
        say(f"relay at {url}")
        servers = []
        for k in range(aggregators if mode == "aggregators" else 0):
            state, operator = str(folder / f"aggregator{k}"), "this demo"
            args = ["aggregator", "--relay", url, "--state", state, "--operator", operator]
            servers.append(_start([*args, *common], started))
        people = []
        for k in range(n):
            record = folder / f"record{k}.json"
            record.write_text(json.dumps(_labels(domain, codes, k)))
            args = ["party", "--relay", url, "--state", str(folder / f"party{k}")]
            people.append(_start([*args, "--record", str(record), *common], started))
        say(f"{n} parties{f' and {len(servers)} aggregators' if servers else ''} started")
        return _agreed([_finish(one, patience) for one in (servers or people)])
    finally:
        for process in started:
            if process.poll() is None:
                process.terminate()
        for process in started:
            process.communicate()


def _start(args: list[str], started: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "mdrr", "securesum", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    return process


def _address(relay: subprocess.Popen[str]) -> str:
    assert relay.stdout is not None
    line = relay.stdout.readline()
    if not line:
        raise ProtocolError(f"the relay did not start: {_last(relay.communicate()[1])}")
    return str(json.loads(line)["url"])


def _finish(process: subprocess.Popen[str], patience: float) -> dict[str, Any]:
    deadline = time.monotonic() + 3 * patience
    try:
        out, err = process.communicate(timeout=max(deadline - time.monotonic(), 1.0))
    except subprocess.TimeoutExpired:
        raise AbortedError("a participant did not finish in time") from None
    if process.returncode:
        raise AbortedError(_last(err) or "a participant failed")
    answer: dict[str, Any] = json.loads(out)
    return answer


def _last(err: str) -> str:
    """What went wrong; before it stands what was told."""
    return err.strip().rpartition("\n")[2].removeprefix("mdrr: ")


def _agreed(answers: list[dict[str, Any]]) -> dict[str, Any]:
    first = answers[0]
    if any(answer["totals"] != first["totals"] for answer in answers):
        raise ProtocolError("the participants ended with different totals")
    return first


def _labels(domain: Domain, codes: Sequence[npt.NDArray[Any]], k: int) -> dict[str, Any]:
    return {
        attribute.name: attribute.categories[int(np.asarray(column)[k])]
        for attribute, column in zip(domain.attributes, codes, strict=True)
    }
