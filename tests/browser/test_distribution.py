"""The distribution of what is drawn, row by row, in JavaScript and in Python.

For each true cell N reports are drawn as the page draws them, and a G-test compares the codes with
the weights of the design. A right sampler fails one row with probability 1e-6; the bytes are a
fixed keystream, so it is the same each time. A probability that is off by δ in a code of
probability q adds N·δ²/q to G: with N = 1e5, q = .1 and δ = .01 that is 100. What moves less is
left to vectors/, which hold every boundary of every draw.

Planted bugs are written into the page's own module and must be seen. `make distributions` runs it
with N = 1e6 and the system's random bytes.
"""

import os

import numpy as np
import pytest
from scipy import stats

import mdrr.respondent
from mdrr.source import SeededSource, SystemSource
from scripts.make_vectors import row, width
from scripts.vector_designs import band, cluster, constant, design, nominal, subset
from tests.browser.test_randomize import GOOD, in_node

LONG = os.environ.get("MDRR_LONG") == "1"
N = 1_000_000 if LONG else 100_000
ALPHA = 1e-6

DENSE = {
    "kind": "dense",
    "weights": [
        [30_000, 20_000, 10_536, 5_000],
        [5_000, 40_000, 10_536, 10_000],
        [20_000, 500, 40_000, 5_036],
        [1_000, 1_000, 3_536, 60_000],
    ],
}
MATRICES = {
    "constant": constant(4, 9_000, 2**16),
    "constant of 48 bits": constant(4, 2**44 + 12_345, 2**48),
    "dense": DENSE,
    "banded": band(4, 1, 6_553, 2**16),
    "subset": subset(4, 7, [1, 2, 4], 6_000, 2**16),
    "public": {"kind": "public", "cells": 4},
}


def asked() -> dict:
    """Every kind of matrix over four cells in the first questionnaire, and two others."""
    names = [chr(97 + i) for i in range(len(MATRICES))]
    attributes = [nominal(name, 4) for name in names]
    attributes[-1]["public"] = True
    clusters = [cluster([n], m) for n, m in zip(names, MATRICES.values(), strict=True)]
    return design(
        attributes,
        (40_000, clusters),
        (20_000, [clusters[0], clusters[-1]]),
        (5_536, clusters[-2:]),
    )


def surprise(observed, weights) -> float:
    """The p-value of a G-test; 0 where what has no weight was seen."""
    observed, weights = np.asarray(observed, dtype=float), np.asarray(weights, dtype=float)
    assert observed.sum() > 0
    if observed[weights == 0].any():
        return 0.0
    observed, weights = observed[weights > 0], weights[weights > 0]
    expected = observed.sum() * weights / weights.sum()
    assert expected.min() > 5
    if len(expected) == 1:
        return 1.0
    seen = observed > 0
    g = 2 * (observed[seen] * np.log(observed[seen] / expected[seen])).sum()
    return float(stats.chi2.sf(g, len(expected) - 1))


def weights(matrix: dict, cell: int, codes: int) -> np.ndarray:
    """The weight of each code by the definition; one more place for codes that are none."""
    if matrix["kind"] == "public":
        return np.eye(codes)[cell]
    found = np.zeros(codes)
    for code, weight in row(matrix, cell):
        found[code] += weight
    return found


def surprises(found: dict) -> dict[tuple[str, int], float]:
    """The p-value of each row of each matrix, and of the choice of a questionnaire."""
    p_values = {}
    for cell, counts in enumerate(found["counts"]):
        for (name, matrix), count in zip(MATRICES.items(), counts, strict=True):
            p_values[name, cell] = surprise(count, weights(matrix, cell, len(count)))
    picked = [q["weight"] for q in asked()["questionnaires"]]
    p_values["questionnaire", 0] = surprise(found["picked"], picked)
    return p_values


def by_page(node, n=N, changes=("", "")) -> dict:
    task = {"name": "drawn", "design": asked(), "n": n, "system": LONG}
    return in_node(node, task, changes)


def by_python() -> dict:
    """The same through `mdrr.respondent`, which the page must equal."""
    source = SystemSource() if LONG else SeededSource(15)

    def uniform(total: int) -> list[int]:
        size = width(total)
        padded = np.zeros((N, 8), dtype=np.uint8)
        padded[:, :size] = np.frombuffer(source.read(N * size), np.uint8).reshape(N, size)
        return padded.view("<u8").ravel().tolist()

    def count(matrix: dict, cell: int, length: int) -> np.ndarray:
        if matrix["kind"] == "public":
            drawn = [mdrr.respondent.draw(matrix, cell, 0)] * N
        else:
            total = mdrr.respondent.total_of(matrix)
            drawn = [mdrr.respondent.draw(matrix, cell, u) for u in uniform(total)]
        return np.bincount(drawn, minlength=length)

    counts = [
        [count(matrix, cell, 1 + max(4, matrix.get("codes", 6))) for matrix in MATRICES.values()]
        for cell in range(4)
    ]
    weights = [q["weight"] for q in asked()["questionnaires"]]
    picked = np.searchsorted(np.cumsum(weights), uniform(sum(weights)), side="right")
    return {"counts": counts, "picked": np.bincount(picked, minlength=len(weights))}


def test_the_page_draws_every_row_as_designed(node):
    p_values = surprises(by_page(node))
    assert len(p_values) == 4 * len(MATRICES) + 1
    assert {name: p for name, p in p_values.items() if p < ALPHA} == {}


def test_python_draws_every_row_as_designed():
    p_values = surprises(by_python())
    assert {name: p for name, p in p_values.items() if p < ALPHA} == {}


BUGS = {
    "Math.random": (
        "return crypto.getRandomValues(new Uint8Array(count));",
        "return new Uint8Array(count).map(() => Math.floor(Math.random() * 256));",
    ),
    "off by one in u // off": (
        "return noise < matrix.cells ? noise : cell;",
        "return noise < matrix.cells - 1 ? noise : cell;",
    ),
    "one beyond the cells": (
        "return noise < matrix.cells ? noise : cell;",
        "return noise <= matrix.cells ? noise : cell;",
    ),
    "swapped rows": (
        "return stretch(matrix.weights[cell], u);",
        "return stretch(matrix.weights[cell ^ 1], u);",
    ),
    "band beside the truth": (
        "around: (cell, place) => cell + place",
        "around: (cell, place) => 1 + place",
    ),
    "block shifted the other way": (
        "(cell - block[place] + codes) % codes",
        "(cell + block[place]) % codes",
    ),
    "a wrong middle": ("place < size ? place : middle", "place < size - 1 ? place : middle"),
    "always the first questionnaire": ("stretch(weights, integer(bytes, 0, used))", "0"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_seen(bug, node):
    p_values = surprises(by_page(node, 20_000, BUGS[bug]))
    assert min(p_values.values()) < ALPHA


def test_what_statistics_cannot_see_the_vectors_do(node):
    """One unit in 65,536 moved from one code to another."""
    right = "const noise = quotient(u, matrix.off);"
    changes = (right, right.replace("u,", "u + 1,"))
    assert min(surprises(by_page(node, 20_000, changes)).values()) > ALPHA
    found = in_node(node, {"name": "agree", "cases": GOOD}, changes)
    wrong = [
        vector["fingerprint"]
        for vector, said in zip(GOOD, found, strict=True)
        if said["reports"] != [person["report"] for person in vector["people"]]
    ]
    assert wrong
