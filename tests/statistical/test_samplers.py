"""The distribution of every coordinate of every sampler, and planted bugs that must be seen.

For one true record, n reports are drawn. χ² compares with the integer weights in the design's JSON
the questionnaire; every cluster's code; every pair of clusters' codes (they are independent given
the record); and every code with the same cluster's code of the next report (reports two by two:
overlapping pairs are not multinomial). Bonferroni over all of these; a right sampler fails with
probability 1e-5 for each design and sampler (seeds are fixed). Power: a probability that is off by
δ in a cell of probability q adds n·δ²/q to χ²; with q = 1/10 and δ = .02 that is 80 in bulk and 16
one by one. The planted bugs show it, on both samplers.

What moves less than that is not left to statistics: tests/matrix and tests/test_respondent.py go
through all draws, and vectors/ fix the bytes.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import mdrr.randomizer
import mdrr.respondent
from mdrr.design import Design
from mdrr.matrix.constant import Constant
from mdrr.matrix.dense import Dense
from mdrr.randomizer import randomize_codes
from mdrr.respondent import respond
from mdrr.source import SeededSource, SystemSource
from tests.cases import cell_of, designs, weights_of
from tests.chance import ALPHA, least_surprise, surprise

N = {"bulk": 20_000, "single": 4_000}


@dataclass(frozen=True)
class Drawn:
    """Reports in the order drawn: whose questionnaire, and codes by questionnaire."""

    questionnaire: np.ndarray
    codes: list[np.ndarray]  # per questionnaire (k, clusters)


def in_bulk(design: Design, record: dict[str, int], source) -> Drawn:
    n = N["bulk"]
    columns = [np.full(n, record[name]) for name in design.domain.names]
    reports = randomize_codes(columns, design, source)
    which = np.empty(n, dtype=np.int64)
    for q, batch in enumerate(reports.batches):
        which[batch.rows] = q
    return Drawn(which, [np.stack(batch.codes, axis=1).astype(int) for batch in reports.batches])


def one_by_one(design: Design, record: dict[str, int], source) -> Drawn:
    fields = json.loads(design.to_json())
    labels = {a.name: a.categories[record[a.name]] for a in design.domain.attributes}
    which, codes = [], [[] for _ in design.questionnaires]
    for _ in range(N["single"]):
        report = respond(labels, fields, source)
        which.append(report.questionnaire)
        codes[which[-1]].append(report.codes)
    shapes = [len(q.clusters) for q in design.questionnaires]
    return Drawn(
        np.array(which),
        [np.array(c, dtype=int).reshape(-1, k) for c, k in zip(codes, shapes, strict=True)],
    )


SAMPLERS: dict[str, Callable[..., Drawn]] = {"bulk": in_bulk, "single": one_by_one}


def surprises(design: Design, record: dict[str, int], drawn: Drawn) -> list[float]:
    """The p-value of every comparison that can be made for one record."""
    fields = json.loads(design.to_json())
    weights = np.array([q["weight"] for q in fields["questionnaires"]], dtype=float)
    counts = np.bincount(drawn.questionnaire, minlength=len(weights))
    found = [surprise(counts, weights / weights.sum())]
    for questionnaire, codes in zip(fields["questionnaires"], drawn.codes, strict=True):
        rows = []
        for cluster in questionnaire["clusters"]:
            row = np.array(
                weights_of(cluster, cell_of(record, cluster["attributes"], design.domain))
            )
            rows.append(row / row.sum())
        for i, row in enumerate(rows):
            found.append(surprise(np.bincount(codes[:, i], minlength=len(row)), row))
            half = len(codes) // 2 * 2
            table = pairs(codes[0:half:2, i], codes[1:half:2, i], row, row)
            found.append(surprise(table, np.outer(row, row)))
            for j in range(i):
                table = pairs(codes[:, i], codes[:, j], row, rows[j])
                found.append(surprise(table, np.outer(row, rows[j])))
    return found


def pairs(first, second, rows, columns):
    cells = first * len(columns) + second
    return np.bincount(cells, minlength=len(rows) * len(columns))


def some_records(design: Design) -> list[dict[str, int]]:
    """Two records with no symmetry: counting up, and the last categories."""
    domain = design.domain
    up = {a.name: i % a.size for i, a in enumerate(domain.attributes)}
    last = {a.name: a.size - 1 for a in domain.attributes}
    return [up, last]


def worst(sampler: str, name: str, source=None) -> float:
    """The smallest corrected p-value over the records of a design."""
    design = designs()[name]
    found = []
    for i, record in enumerate(some_records(design)):
        stream = source or SeededSource(f"{sampler} {name} {i}")
        found += surprises(design, record, SAMPLERS[sampler](design, record, stream))
    return least_surprise(found)


@pytest.mark.parametrize("name", designs())
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_coordinate_has_its_distribution(sampler, name):
    assert worst(sampler, name) > ALPHA


def test_every_row_of_every_matrix_is_sampled():
    """All true cells at once, in bulk: cluster code given the true cell, for every cell."""
    design = designs()["mixed"]
    fields = json.loads(design.to_json())["questionnaires"][0]["clusters"]
    rng = np.random.default_rng(1)
    columns = [rng.integers(size, size=400_000) for size in design.domain.shape]
    codes = randomize_codes(columns, design, SeededSource(1)).batches[0].codes
    found = []
    for cluster, reported in zip(fields, codes, strict=True):
        at = [design.domain.index(name) for name in cluster["attributes"]]
        shape = [design.domain.shape[j] for j in at]
        true = np.ravel_multi_index([columns[j] for j in at], shape)
        for cell in range(int(np.prod(shape))):
            row = np.array(weights_of(cluster, cell), dtype=float)
            seen = np.bincount(reported[true == cell], minlength=len(row))
            found.append(surprise(seen, row / row.sum()))
    assert len(found) == 6 + 2 + 8 + 5 + 6
    assert least_surprise(found) > ALPHA


def test_the_systems_randomness_gives_the_same_distribution():
    """Not seeded, so this one may fail: once in 100,000 runs."""
    assert worst("bulk", "mixed", SystemSource()) > ALPHA


# Bugs. Each replaces one function; the verdict above must turn.

right_bulk_draw, right_dense_draw, right_draw = Constant.draw, Dense.draw, mdrr.respondent.draw


def next_code(self, true, uniform):
    """u // b + 1: every noisy code is one too high."""
    noise = uniform // np.uint64(self.off) + np.uint64(1)
    return np.where(noise < np.uint64(self.cells), noise, true.astype(np.uint64))


def next_code_single(matrix, cell, u):
    if matrix["kind"] != "constant":
        return right_draw(matrix, cell, u)
    noise = u // matrix["off"] + 1
    return noise if noise < matrix["cells"] else cell


def one_code_less(self, true, uniform):
    """u < (r − 1)·b: the last code is never sent as noise."""
    noise = uniform // np.uint64(self.off)
    return np.where(noise < np.uint64(self.cells - 1), noise, true.astype(np.uint64))


def one_code_less_single(matrix, cell, u):
    code = right_draw(matrix, cell, u)
    missed = matrix["kind"] == "constant" and u // matrix["off"] == matrix["cells"] - 1
    return cell if missed else code


def neighbour(self, true, uniform):
    """The diagonal off by one: the truth's neighbour is sent for the truth."""
    return right_bulk_draw(self, (true + 1) % self.cells, uniform)


def neighbour_single(matrix, cell, u):
    cells = matrix["cells"] if matrix["kind"] == "constant" else len(matrix["weights"])
    return right_draw(matrix, (cell + 1) % cells, u)


def wrong_row(self, true, uniform):
    """A dense matrix read down its columns."""
    turned = np.cumsum(np.array(self.weights).T, axis=1)
    return np.array(
        [np.searchsorted(turned[x], u, side="right") for x, u in zip(true, uniform, strict=True)]
    ).clip(0, self.outcomes - 1)


def wrong_row_single(matrix, cell, u):
    if matrix["kind"] == "constant":
        return right_draw(matrix, cell, u)
    turned = [list(column) for column in zip(*matrix["weights"], strict=True)]
    return min(right_draw({"kind": "dense", "weights": turned}, cell, u), len(turned) - 1)


def last_first(columns, shape, kind=np.int64):
    """The last attribute most significant."""
    return np.ravel_multi_index(list(columns)[::-1], tuple(shape)[::-1])


right_uniform = mdrr.randomizer._uniform


def same_bytes(stream, offset, width):
    """Every draw takes the record's first bytes: each is fair, together they are not."""
    return right_uniform(stream, 0, width)


def low_byte_only(stream, offset, width):
    """The high byte is dropped, as by a wrong cast."""
    return right_uniform(stream, offset, width) & np.uint64(2 ** (8 * width - 8) - 1)


right_search = np.searchsorted


def always_even(weights, values, side="left"):
    """Questionnaires given out equally often, whatever their weights."""
    if len(weights) != 2:  # those of three questionnaires but the last
        return right_search(weights, values, side=side)
    return np.asarray(values) % 3


def always_even_single(weights, value):
    if len(weights) == 3 and weights[-1] == 2**16:
        return value % 3
    return right_bisect(weights, value)


right_bisect = mdrr.respondent.bisect_right

BULK_BUGS = [
    (Constant, "draw", next_code, ["independent", "joint", "clustered", "mixed", "one"]),
    (Constant, "draw", one_code_less, ["independent", "joint", "clustered", "mixed", "one"]),
    (Constant, "draw", neighbour, ["independent", "joint", "clustered", "mixed", "sampled"]),
    (Dense, "draw", wrong_row, ["mixed", "unequal"]),
    (mdrr.randomizer, "cells_of", last_first, ["joint", "clustered", "mixed", "sampled"]),
    (mdrr.randomizer, "_uniform", same_bytes, ["independent", "clustered", "mixed", "unequal"]),
    (mdrr.randomizer, "_uniform", low_byte_only, ["independent", "mixed", "unequal"]),
    (mdrr.randomizer.np, "searchsorted", always_even, ["unequal"]),
]
SINGLE_BUGS = [
    ("draw", next_code_single, ["one", "mixed"]),
    ("draw", one_code_less_single, ["one", "mixed"]),
    ("draw", neighbour_single, ["independent", "unequal"]),
    ("draw", wrong_row_single, ["mixed", "unequal"]),
    ("bisect_right", always_even_single, ["unequal"]),
]


@pytest.mark.parametrize(
    ("where", "what", "bug", "name"),
    [(where, what, bug, name) for where, what, bug, names in BULK_BUGS for name in names],
)
def test_a_planted_bug_in_the_bulk_randomizer_is_seen(monkeypatch, where, what, bug, name):
    monkeypatch.setattr(where, what, bug)
    seen = worst("bulk", name)
    monkeypatch.undo()
    assert seen < ALPHA


@pytest.mark.parametrize(
    ("what", "bug", "name"),
    [(what, bug, name) for what, bug, names in SINGLE_BUGS for name in names],
)
def test_a_planted_bug_in_the_single_record_randomizer_is_seen(monkeypatch, what, bug, name):
    monkeypatch.setattr(mdrr.respondent, what, bug)
    seen = worst("single", name)
    monkeypatch.undo()
    assert seen < ALPHA
