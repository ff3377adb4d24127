"""What a proof of validity costs: time and bytes, beside the same sums without proofs.

    python -m benchmarks.proofs  # writes benchmarks/results/proofs.json and the page
    python -m benchmarks.proofs --short  # half a minute, prints only
    python -m benchmarks.proofs --page  # the page from benchmarks/results alone

People make their shares in one process, all aggregators check and add up in another. Sealing and
signing are the same with and without proofs and are left out; `benchmarks.securesum` has them.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.securesum import ALL_OF_ADULT, ATTRIBUTES, records
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from benchmarks import pages
from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.prio3.pairs import PROOFS, forgery, prio3_of
from mdrr.securesum.question import Question
from mdrr.source import SystemSource

RESULTS = Path("benchmarks/results/proofs.json")
PAGE = Path("docs/benchmarks/proofs.md")
CHUNK = 250
KEY, CTX = bytes(range(32)), b"benchmarks.proofs"
KEPT = 0.5

TEXT = """# What a proof of validity costs

`make bench-proofs` made this page. [Secure sums](../securesum.md) says what is proved.
People make their shares in one process, all aggregators check and add up in another, on a machine
of {cores} cores. Other work on it (a load of at least {load}) lengthens the seconds. Totals
were exact in every run, and no honest report was refused. *Without proofs* are sums of the same
tables on Z_2^16. Sealing and signing are the same in both cases and
are left out.

## All of Adult

{everybody}

*kB a person* is what she sends to all aggregators together. *Bytes between* is what one aggregator
sends to another about one report. With {proofs} proofs in Field64, a cheat who prepares 2^64
reports and sends the luckiest is counted with a chance below 2^{chance}.

## By cells

{by_cells}

With a proof a number takes 8 bytes, without one it takes 2, so reports are four times as long. The
proofs themselves take {proofs} × 5 numbers for exact tables, however many cells there are. The time
goes into TurboSHAKE128, which makes shares and public randomness, and into arithmetic, about as
much each. Time and bytes grow with the cells.
"""


def asked(attributes: int, randomized: bool) -> Question:
    domain, _ = records(1, attributes)
    return Question.randomized(domain, p=KEPT) if randomized else Question(domain)


def prove(task: tuple[int, bool, int, np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """People's part of some reports: CPU seconds, then nonces, public and input shares."""
    attributes, randomized, aggregators, positions = task
    prio3, n, source = (
        prio3_of(asked(attributes, randomized), aggregators),
        len(positions),
        SystemSource(),
    )
    began = time.process_time()
    nonces = np.frombuffer(source.read(n * vdaf.NONCE), np.uint8).reshape(n, -1)
    rand = np.frombuffer(source.read(n * prio3.sizes.rand), np.uint8).reshape(n, -1)
    public, shares = vdaf.shard(prio3, CTX, positions, nonces, rand)
    return time.process_time() - began, [nonces, public, *shares]


def proved(n: int, attributes: int, randomized: bool, aggregators: int) -> dict[str, Any]:
    """Sums with proofs; raises if the totals are not exact or a report is refused."""
    question = asked(attributes, randomized)
    prio3 = prio3_of(question, aggregators)
    positions = question.positions(records(n, attributes)[1], SystemSource())
    totals: list[bytes | None] = [None] * aggregators
    people = checking = 0.0
    chunks = np.array_split(positions, math.ceil(n / CHUNK))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(prove, [(attributes, randomized, aggregators, positions[:1])])  # compiled code
        verify(prio3, prove((attributes, randomized, aggregators, positions[:1]))[1], list(totals))
        wall = time.perf_counter()
        tasks = [(attributes, randomized, aggregators, chunk) for chunk in chunks]
        for spent, messages in pool.imap(prove, tasks):
            began = time.process_time()
            totals = verify(prio3, messages, totals)
            checking += time.process_time() - began
            people += spent
        seconds = time.perf_counter() - wall
    opened = vdaf.unshard(prio3, [share for share in totals if share is not None])
    if not np.array_equal(opened, np.bincount(positions.ravel(), minlength=question.cells)):
        raise AssertionError("the opened totals are not those of the records")
    sizes = prio3.sizes
    return {
        "proofs": PROOFS,
        "seconds": seconds,
        "people_cpu": people,
        "aggregators_cpu": checking,
        "sent_per_person": sizes.public_share * aggregators + sizes.leader_share
        + sizes.helper_share * (aggregators - 1),
        "between_aggregators": sizes.verifier_share + sizes.verifier_message,
    }  # fmt: skip


def verify(
    prio3: Any, messages: list[np.ndarray], before: list[bytes | None]
) -> list[bytes | None]:
    """All aggregators' part of some reports: their sums so far."""
    nonces, public, *shares = messages
    said = [
        vdaf.verify_init(prio3, KEY, CTX, k, nonces, public, share)
        for k, share in enumerate(shares)
    ]
    message, refused = vdaf.verifier_shares_to_message(prio3, CTX, [sent for _, sent in said])
    ends = [vdaf.verify_next(prio3, state, message) for state, _ in said]
    refused = vdaf.first_reason(refused, *(late for _, late in ends))
    if refused.any():
        raise AssertionError("an honest report was refused")
    return [
        vdaf.aggregate(prio3, output, refused == 0, share)
        for (output, _), share in zip(ends, before, strict=True)
    ]


def mask(seed: bytes, cells: int) -> np.ndarray:
    """The vector on Z_2^16 that a seed stands for: the keystream of AES-256 in counter mode."""
    stream = Cipher(algorithms.AES(seed), modes.CTR(bytes(16))).encryptor()
    return np.frombuffer(stream.update(bytes(2 * cells)), np.uint16)


def divide(task: tuple[int, int, np.ndarray]) -> tuple[float, list[tuple[bytes, ...]]]:
    """People's part of some reports without proofs: CPU seconds, and all shares.

    The first aggregator gets her vector less the masks of the others, who get the masks' seeds.
    """
    cells, aggregators, positions = task
    source = SystemSource()
    began = time.process_time()
    shares = []
    for row in positions:
        rest = np.zeros(cells, np.uint16)
        rest[row] = 1
        seeds = [source.read(32) for _ in range(1, aggregators)]
        for seed in seeds:
            rest -= mask(seed, cells)
        shares.append((rest.tobytes(), *seeds))
    return time.process_time() - began, shares


def unproved(n: int, attributes: int, randomized: bool, aggregators: int) -> dict[str, Any]:
    """The same sums on Z_2^16 without proofs."""
    question = asked(attributes, randomized)
    positions = question.positions(records(n, attributes)[1], SystemSource())
    totals = np.zeros((aggregators, question.cells), np.uint16)
    people = adding = 0.0
    sent = 0
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(divide, [(question.cells, aggregators, positions[:1])])
        wall = time.perf_counter()
        chunks = np.array_split(positions, math.ceil(n / CHUNK))
        tasks = [(question.cells, aggregators, chunk) for chunk in chunks]
        for spent, shares in pool.imap(divide, tasks):
            began = time.process_time()
            for first, *seeds in shares:
                sent += len(first) + sum(map(len, seeds))
                totals[0] += np.frombuffer(first, totals.dtype)
                for k, seed in enumerate(seeds, start=1):
                    totals[k] += mask(seed, question.cells)
            adding += time.process_time() - began
            people += spent
        seconds = time.perf_counter() - wall
    if not np.array_equal(totals.sum(axis=0, dtype=totals.dtype),
                          np.bincount(positions.ravel(), minlength=question.cells)):  # fmt: skip
        raise AssertionError("the opened totals are not those of the records")
    return {
        "proofs": 0,
        "seconds": seconds,
        "people_cpu": people,
        "aggregators_cpu": adding,
        "sent_per_person": sent / n,
        "between_aggregators": 0,
    }


def one(
    n: int,
    attributes: int = 8,
    *,
    randomized: bool = False,
    aggregators: int = 2,
    proofs: bool = True,
) -> dict[str, Any]:
    """One run, with what was run."""
    measure = proved if proofs else unproved
    row = {
        "people": n,
        "attributes": attributes,
        "cells": asked(attributes, randomized).cells,
        "tables": "randomized" if randomized else "exact",
        "aggregators": aggregators,
        **measure(n, attributes, randomized, aggregators),
    }
    print(row, flush=True)
    return row


def run(n: int, fewer: int, attributes: Sequence[int]) -> dict[str, Any]:
    """All measurements."""
    loads = [os.getloadavg()[0]]
    everybody = [
        one(n, randomized=randomized, aggregators=aggregators, proofs=proofs)
        for randomized, aggregators in ((False, 2), (True, 2), (False, 3))
        for proofs in (False, True)
    ]
    by_cells = [one(fewer, m, proofs=proofs) for m in attributes for proofs in (False, True)]
    loads.append(os.getloadavg()[0])
    return {
        "cores": os.cpu_count(),
        "load": min(loads),
        "everybody": everybody,
        "by_cells": by_cells,
    }


def document(results: dict[str, Any]) -> str:
    """The page."""
    chance = math.log2(forgery(prio3_of(asked(8, False), 2).circuit, PROOFS, 2**64))
    return TEXT.format(
        cores=results["cores"],
        load=f"{results['load']:.0f}",
        everybody=_table(results["everybody"], "tables"),
        by_cells=_table(results["by_cells"], "attributes"),
        proofs=PROOFS,
        chance=math.ceil(chance),
    )


def _table(rows: list[dict[str, Any]], by: str) -> str:
    heads = [by, "aggregators", "people", "cells", "proofs", "seconds", "CPU ms of a person",
             "CPU ms of all aggregators", "kB a person", "bytes between"]  # fmt: skip
    lines = [
        [
            row[by],
            row["aggregators"],
            f"{row['people']:,}",
            f"{row['cells']:,}",
            "yes" if row["proofs"] else "no",
            f"{row['seconds']:.1f}",
            f"{1000 * row['people_cpu'] / row['people']:.2f}",
            f"{1000 * row['aggregators_cpu'] / row['people']:.2f}",
            f"{row['sent_per_person'] / 1000:.1f}",
            row["between_aggregators"],
        ]
        for row in rows
    ]
    return pages.table(heads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    if arguments.short:
        run(500, 250, ATTRIBUTES[::3])
        return
    if not arguments.page:
        results = run(ALL_OF_ADULT, 4_000, ATTRIBUTES)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(document(json.loads(RESULTS.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
