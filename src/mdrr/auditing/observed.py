"""Runs a randomizer of Python with the system's random bytes observed.

`mdrr.auditing.origin` starts it as a file in a process of its own, because the system's function
must be replaced before anything else binds it. A task comes on standard input, an answer goes to
standard output. The answer has what was reported, as digests: with the system's bytes, which are
kept; with the same bytes again under other seeds and clocks; with the bits of the first or of the
second half of those bytes turned; and with fresh bytes.
"""

import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

SYSTEM = os.urandom
GENUINE = isinstance(SYSTEM, BuiltinFunctionType) and SYSTEM.__module__ in ("posix", "nt")

pieces: list[bytes] = []
give: Callable[[int], bytes] = SYSTEM


def tapped(count: int) -> bytes:
    """In place of the system's function: what it gives, or given bytes, is kept."""
    pieces.append(give(count))
    return pieces[-1]


def replayed(kept: list[bytes]) -> Callable[[int], bytes]:
    """Bytes that were kept, again; zeros when they run out or do not fit."""
    left = iter(kept)

    def piece(count: int) -> bytes:
        return next(left, b"").ljust(count, b"\0")[:count]

    return piece


def turned(piece: bytes) -> bytes:
    """Every bit of a piece the other way."""
    return bytes(byte ^ 255 for byte in piece)


def reported(task: dict[str, Any]) -> str:
    """What some people send, as a digest: few at a time, then all at once."""
    from mdrr.design import Design

    design = Design.from_dict(task["design"])
    told = {
        attribute["name"]: [attribute["categories"][code] for code in column]
        for attribute, column in zip(task["design"]["attributes"], task["codes"], strict=True)
    }
    sent: list[Any] = []
    if task["kind"] == "single":
        from mdrr.respondent import respond

        for answers in zip(*told.values(), strict=True):
            report = respond(dict(zip(told, answers, strict=True)), task["design"])
            sent.append([report.questionnaire, *report.codes])
    else:
        import numpy as np

        for count in (64, len(task["codes"][0])):
            if task["kind"] == "bulk":
                from mdrr.randomizer import randomize_codes

                columns = [np.array(column[:count]) for column in task["codes"]]
                reports = randomize_codes(columns, design)
                sent += [[b.rows.tolist(), [c.tolist() for c in b.codes]] for b in reports.batches]
            else:
                import pyarrow as pa

                from mdrr.spark.workers import randomized

                some = {name: answers[:count] for name, answers in told.items()}
                batches = randomized(design, [pa.RecordBatch.from_pydict(some)])
                sent += [batch.to_pydict() for batch in batches]
    return hashlib.sha256(json.dumps(sent).encode()).hexdigest()


def main() -> None:
    """Read a task, answer it."""
    global give
    os.urandom = tapped
    random._urandom = tapped  # type: ignore[attr-defined]
    if hasattr(os, "getrandom"):
        os.getrandom = lambda size, flags=0: tapped(size)
    task = json.load(sys.stdin)
    reported(task)  # what is loaded now may draw for itself
    exec(task["fault"], {})

    def once(source: Callable[[int], bytes]) -> tuple[str, list[bytes]]:
        global give
        give = source
        pieces.clear()
        return reported(task), pieces.copy()

    first, kept = once(SYSTEM)
    random.seed(18)
    clock = time.time_ns()
    time.time_ns = lambda: clock + 10**15
    time.time = lambda: clock / 1e9 + 1e6
    again, _ = once(replayed(kept))
    half = len(kept) // 2
    halves = [
        once(replayed([turned(p) if (i < half) == early else p for i, p in enumerate(kept)]))[0]
        for early in (True, False)
    ]
    fresh, others = once(SYSTEM)
    answer = {
        "genuine": GENUINE,
        "sizes": [len(piece) for piece in kept],
        "first": first,
        "again": again,
        "turned": halves,
        "fresh": fresh,
        "repeated": bool({p for p in kept if len(p) > 15} & set(others)),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
