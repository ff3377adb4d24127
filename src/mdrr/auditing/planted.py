"""Faults planted on purpose: an audit that cannot fail shows nothing.

Each fault is one that somebody could make. The part that is meant to find it must find it. Faults
that only chance shows are planted many times, each time with fresh random bytes: the share found
gives a lower bound on the power. The other parts draw nothing, so once is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy import stats

from mdrr.auditing.integers import MOST_PROBES, exact
from mdrr.auditing.origin import provenance
from mdrr.auditing.platforms import PLATFORMS, Edit, Run, page
from mdrr.auditing.samples import empirical
from mdrr.auditing.specimens import drawn_questionnaires, every_matrix
from mdrr.auditing.verdict import SOUND, Check, Planted
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.matrix import Constant, Dense, Matrix
from mdrr.randomizer import Codes, Reports
from mdrr.source import SystemSource

RUNS = 30
"""With every one of 30 found, the power is at least .90 with confidence 95 %."""

Fault: TypeAlias = Callable[[Run], Run]


def _other_matrices(change: Callable[[Matrix], Matrix]) -> Fault:
    """The randomizer has other integers than the design states."""

    def plant(run: Run) -> Run:
        def faulty(codes: Sequence[Codes], design: Design, stream: bytes | None) -> Reports:
            asked = tuple(
                Questionnaire(
                    tuple(Cluster(c.attributes, change(c.matrix)) for c in q.clusters), q.weight
                )
                for q in design.questionnaires
            )
            reports = run(codes, Design(design.domain, asked), stream)
            return replace(reports, fingerprint=design.fingerprint)

        return faulty

    return plant


def _other_bytes(change: Callable[[Sequence[Codes], np.ndarray], None]) -> Fault:
    """The randomizer uses the bytes of a person, `(n, record_bytes)`, in another way."""

    def plant(run: Run) -> Run:
        def faulty(codes: Sequence[Codes], design: Design, stream: bytes | None) -> Reports:
            n, size = len(codes[0]), design.record_bytes
            drawn = SystemSource().read(n * size) if stream is None else stream
            table = np.frombuffer(drawn, np.uint8).reshape(n, size).copy()
            change(codes, table)
            return run(codes, design, table.tobytes())

        return faulty

    return plant


def _one_unit(matrix: Matrix) -> Matrix:
    if not isinstance(matrix, Dense):
        return matrix
    (first, second, *rest), *rows = matrix.weights
    return Dense(((first + 1, second - 1, *rest), *rows))


def _too_true(matrix: Matrix) -> Matrix:
    if not isinstance(matrix, Constant):
        return matrix
    less = matrix.off // 4
    return Constant(matrix.cells, matrix.diagonal + (matrix.cells - 1) * less, matrix.off - less)


def _share(first: int, codes: Sequence[Codes], table: np.ndarray) -> None:
    table[:, first + 2 : first + 4] = table[:, first : first + 2]


def _choose_by_answer(codes: Sequence[Codes], table: np.ndarray) -> None:
    table[codes[0] == 1, 1] |= 64


def _worn(codes: Sequence[Codes], table: np.ndarray) -> None:
    table[(table & 7) == 7] &= 127


def _swapped(run: Run) -> Run:
    def faulty(codes: Sequence[Codes], design: Design, stream: bytes | None) -> Reports:
        return run([np.where(c < 2, 1 - c.astype(int), c) for c in codes], design, stream)

    return faulty


COUNTED: dict[str, Fault] = {
    "one integer of 65,536 leads to another code": _other_matrices(_one_unit),
    "two clusters use the same random bytes": _other_bytes(partial(_share, 0)),
}
"""Found by counting integers, under `every_matrix`."""

SAMPLED: dict[str, tuple[str, Fault]] = {
    SOUND: ("", lambda run: run),
    "the truth is sent too often": ("is claimed", _other_matrices(_too_true)),
    "two clusters share bytes, each alone is right": (
        "whole reports",
        _other_bytes(partial(_share, 2)),  # after the choice of a questionnaire
    ),
    "the questionnaire depends on an answer": ("is claimed", _other_bytes(_choose_by_answer)),
    "two answers are swapped, ε is kept": ("not distributed", _swapped),
    "one random byte in 8 has a bit that is always 0": ("not distributed", _other_bytes(_worn)),
}
"""Found by samples under `drawn_questionnaires`; with a word of the finding that is meant."""

_GENERATOR = """
import random, time, types, mdrr.respondent, mdrr.source
generator = random.Random({seed})
def read(*given): return generator.randbytes(given[-1])
"""
_CACHE = """
import os, types, mdrr.respondent, mdrr.source
kept = os.urandom(4096)
def read(*given): return (kept * (given[-1] // 4096 + 1))[: given[-1]]
"""
_USED = """
def fill(self, room): memoryview(room)[:] = read(len(room))
mdrr.respondent.secrets = types.SimpleNamespace(token_bytes=read)
mdrr.source.SystemSource.fill = fill
"""
OBSERVED: dict[str, str] = {
    "a generator with a seed": _GENERATOR.format(seed="7") + _USED,
    "a generator that the clock seeds": _GENERATOR.format(seed="time.time_ns()") + _USED,
    "the system's bytes, read once and used again": _CACHE + _USED,
}
"""Programs that replace where Python's randomizers read their bytes."""

OFF_BY_ONE: Edit = (
    "const noise = quotient(u, matrix.off);",
    "const noise = quotient(u + 1, matrix.off);",
)
MATH_RANDOM: Edit = (
    "return crypto.getRandomValues(new Uint8Array(count));",
    "return new Uint8Array(count).map(() => Math.floor(Math.random() * 256));",
)


def self_test(
    names: Sequence[str], n: int, alpha: float, progress: Callable[[float], None]
) -> tuple[Planted, ...]:
    """Plant every fault in some randomizers, which run here, and see which are found."""
    found, whole = [], every_matrix()
    for name in (each for each in names if each in MOST_PROBES):
        with PLATFORMS[name]() as run:
            once = {words: exact(plant(run), whole, name) for words, plant in COUNTED.items()}
        if name == "browser":
            once["u + 1 for u in the page's own code"] = exact(page(OFF_BY_ONE), whole, name)
            once["Math.random gives the bytes"] = provenance(name, edit=MATH_RANDOM)
        else:
            once |= {words: provenance(name, program) for words, program in OBSERVED.items()}
        found += [_planted(words, name, [check], "") for words, check in once.items()]
    design = drawn_questionnaires()
    with PLATFORMS["bulk"]() as run:
        for i, (words, (meant, plant)) in enumerate(SAMPLED.items()):
            faulty = plant(run)
            checks = [empirical(faulty, design, "bulk", n, alpha) for _ in range(RUNS)]
            found.append(_planted(words, "bulk", checks, meant))
            progress((i + 1) / len(SAMPLED))
    return tuple(found)


def _planted(words: str, name: str, checks: Sequence[Check], meant: str) -> Planted:
    """How often a fault was found, by a finding with the meant words."""
    runs = len(checks)
    found = sum(
        check.passed is False and any(meant in finding for finding in check.findings)
        for check in checks
    )
    power = float(stats.beta.ppf(0.05, found, runs - found + 1)) if found else 0.0
    certain = checks[0].part != "empirical"
    return Planted(words, checks[0].part, name, runs, found, float(found) if certain else power)
