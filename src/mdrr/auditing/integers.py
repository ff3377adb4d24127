"""The exact part: which share of all integers leads a randomizer to each report.

A cluster's report is a function of one integer u on [0, D). The randomizer is given bytes for
chosen u, and the integers that lead to each code are counted: all of them where D = 2^16 and that
is affordable, else by integration. Every sampler divides [0, D) into stretches by floor divisions
or cumulated weights. Within a stretch it is monotone in u, so two ends with one code have that code
between them; where the codes of two neighbours differ, bisection finds the place. ε follows from
the integers counted.

Each probe of a stretch is made twice. What else a person answers and all other bytes differ between
the two, so a report that depends on more than its own answer and its own bytes is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.auditing.platforms import Run
from mdrr.auditing.verdict import MOST_LISTED, Check
from mdrr.design import Cluster, Design
from mdrr.matrix.protocol import add_up
from mdrr.matrix.written import worst_ratio
from mdrr.respondent import draw_bytes

Integers: TypeAlias = npt.NDArray[np.int64]

_MOST_ROUNDS = 60
_WAYS = {
    "every": "every integer where D = 2¹⁶",
    "ends": "both ends of every stretch",
    "some ends": "both ends of 1,024 stretches of wide matrices",
}
"""How much of a row is looked at."""
SMALL = 2**16
MOST_PROBES = {"single": 2**15, "bulk": 2**20, "browser": 2**17}
"""So many people are randomized at most, by those that can be given bytes."""
MOST_QUESTIONNAIRES = 64


def stretches(matrix: Mapping[str, Any], cell: int) -> tuple[Integers, Integers]:
    """The codes and the lengths of the stretches of [0, D), in order: the definition of a row.

    A stretch may be empty, such as that of what division leaves over.

    >>> codes, lengths = stretches({"kind": "constant", "cells": 2, "diagonal": 3, "off": 1}, 0)
    >>> codes.tolist(), lengths.tolist()
    ([0, 1, 0, 0], [1, 1, 2, 0])
    """
    if matrix["kind"] == "dense":
        weights = np.array(matrix["weights"][cell], dtype=np.int64)
        return np.arange(len(weights)), weights
    if matrix["kind"] == "constant":
        low, around = matrix["off"], np.array([cell])
        codes, middle = matrix["cells"], cell
        total = matrix["diagonal"] + (codes - 1) * low
    elif matrix["kind"] == "banded":
        width, low, total = matrix["width"], matrix["low"], matrix["total"]
        codes, middle = matrix["cells"] + 2 * width, cell + width
        around = cell + np.arange(2 * width + 1)
    else:
        codes, low, total = matrix["codes"], matrix["low"], matrix["total"]
        around = (cell - np.array(matrix["block"])) % codes
        middle = around[0]
    step, left = divmod(total - codes * low, len(around))
    lengths = np.repeat([low, step, left], [codes, len(around), 1])
    return np.concatenate([np.arange(codes), around, [middle]]), lengths


def probabilities(matrix: Mapping[str, Any], cells: Integers) -> npt.NDArray[np.float64]:
    """Rows of P by the definition, `(cells, codes)`.

    >>> coin = {"kind": "constant", "cells": 2, "diagonal": 3, "off": 1}
    >>> probabilities(coin, np.array([0, 1])).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    if matrix["kind"] == "public":
        return np.eye(matrix["cells"])[cells]
    rows = [np.bincount(*stretches(matrix, cell)) for cell in cells.tolist()]
    return np.asarray(np.stack(rows) / rows[0].sum(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Place:
    """A cluster of a questionnaire, and which of its rows and stretches are looked at."""

    chosen: int
    at: int
    cluster: Cluster
    fields: Mapping[str, Any]
    offset: int
    cells: Integers
    how: str  # one of `_WAYS`

    @property
    def words(self) -> str:
        """What to call it in a finding."""
        return f"questionnaire {self.chosen}, {self.cluster.name}"

    def points(self, cell: int) -> tuple[Integers, Integers]:
        """Integers u and the code that the definition gives each."""
        codes, lengths = stretches(self.fields, cell)
        codes, lengths = codes[lengths > 0], lengths[lengths > 0]
        if self.how == "every":
            return np.arange(SMALL), np.repeat(codes, lengths)
        ends = np.cumsum(lengths)
        kept = np.arange(len(codes))
        if self.how == "some ends":
            kept = np.unique(np.linspace(0, len(codes) - 1, 2**10).astype(np.int64))
        both = np.stack([ends[kept] - lengths[kept], ends[kept] - 1], axis=1).ravel()
        points, first = np.unique(both, return_index=True)  # a stretch of one has one end
        return points, np.repeat(codes[kept], 2)[first]


def places_of(design: Design, most: int) -> tuple[list[Place], list[int]]:
    """Which clusters, rows and stretches can be looked at, and which questionnaires."""
    count = len(design.questionnaires)
    asked = _spread(count, MOST_QUESTIONNAIRES).tolist()
    listed = []
    for q in asked:
        offset = design.selection_bytes
        for at, cluster in enumerate(design.questionnaires[q].clusters):
            if cluster.matrix.kind != "public":
                listed.append((q, at, cluster, offset))
            offset += draw_bytes(cluster.matrix.total)
    small = [c.matrix.cells for _, _, c, _ in listed if c.matrix.total == SMALL]
    every = sum(small) * SMALL <= most
    share = most // (2 * len(listed))
    places = []
    for q, at, cluster, offset in listed:
        fields = cluster.matrix.to_dict()
        how = "every" if every and cluster.matrix.total == SMALL else "ends"
        size = 2 * len(stretches(fields, 0)[0])
        if how == "ends" and 2 * size > share:
            how, size = "some ends", 2 * 2**10
        rows = cluster.matrix.cells if how == "every" else max(2, share // size)
        places.append(
            Place(q, at, cluster, fields, offset, _spread(cluster.matrix.cells, rows), how)
        )
    return places, asked


def _spread(count: int, most: int) -> Integers:
    """At most so many of the first integers, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def exact(run: Run, design: Design, randomizer: str) -> Check:
    """Count the integers that lead to each report, and compare ε with the claim."""
    places, asked = places_of(design, MOST_PROBES[randomizer])
    rng = np.random.default_rng(18)
    ask = partial(_ask, run, design, places, rng)
    parts = [
        np.stack(np.broadcast_arrays(g, cell, *place.points(cell)))
        for g, place in enumerate(places)
        for cell in place.cells.tolist()
    ]
    probes, (expected,) = np.split(np.concatenate(parts, axis=1), [3])
    group, cell, point = probes
    ends = np.append(True, expected[1:] != expected[:-1])
    ends[:-1] |= ends[1:]
    findings = _selection(run, design, asked, rng)
    answers: list[Integers] = []
    for again in (False, True):
        kept = ends | np.array([not again or place.how != "every" for place in places])[group]
        found = np.full(len(group), -2)
        found[kept], wrong = ask(probes[:, kept])
        findings += wrong
        answers.append(np.where(kept, found, answers[0] if again else found))
    first, second = answers
    for i in np.flatnonzero(first != second)[:MOST_LISTED]:
        findings.append(
            f"{places[group[i]].words}: the report for one answer and u = {point[i]:,} depends "
            "on other answers or on other bytes"
        )
    for i in np.flatnonzero((first == second) & (first != expected))[:MOST_LISTED]:
        findings.append(
            f"{places[group[i]].words}, answer {cell[i]}: u = {point[i]:,} is reported as code "
            f"{first[i]}, the design says {expected[i]}"
        )
    epsilon = _epsilon(places, _counted(ask, places, np.vstack([probes, first])))
    if epsilon > design.epsilon:
        claim = f"the integers give ε = {epsilon:.6g}, the design claims {design.epsilon:.6g}"
        findings.insert(0, claim)
    rows, all_rows = sum(len(p.cells) for p in places), sum(p.cluster.matrix.cells for p in places)
    ways = {place.how for place in places}
    said = [
        f"{rows:,} of {all_rows:,} rows of {len(places):,} "
        + ("matrix" if len(places) == 1 else "matrices"),
        *(words for how, words in _WAYS.items() if how in ways),
    ]
    if len(design.questionnaires) > 1:
        said.append(f"{len(asked):,} of {len(design.questionnaires):,} questionnaires")
    return Check(
        "exact", randomizer, not findings, "; ".join(said), tuple(findings[:MOST_LISTED]), epsilon
    )


def _people(design: Design, n: int, rng: np.random.Generator) -> tuple[list[Integers], Any]:
    """Made-up answers and bytes, `(n, record_bytes)`."""
    codes = [rng.integers(0, size, n) for size in design.domain.shape]
    return codes, rng.integers(0, 256, (n, design.record_bytes), dtype=np.uint8)


def _put(stream: Any, offset: int, width: int, values: Integers) -> None:
    """Write integers into everybody's bytes, little-endian."""
    digits = values.astype("<u8").view(np.uint8).reshape(len(values), 8)
    stream[:, offset : offset + width] = digits[:, :width]


def _selection(run: Run, design: Design, asked: list[int], rng: np.random.Generator) -> list[str]:
    """What is wrong with the choice of a questionnaire: both ends of each one's stretch."""
    if len(design.questionnaires) == 1:
        return []
    starts = np.cumsum([0, *(q.weight for q in design.questionnaires)])
    expected = np.repeat(asked, 4)
    points = np.stack([starts[asked], starts[np.array(asked) + 1] - 1] * 2, axis=1).ravel()
    codes, stream = _people(design, len(points), rng)
    _put(stream, 0, design.selection_bytes, points)
    reports = run(codes, design, stream.tobytes())
    got = np.full(len(points), -1)
    for q, batch in enumerate(reports.batches):
        got[batch.rows] = q
    return [
        f"questionnaires: u = {points[i]:,} picks {got[i]}, the design says {expected[i]}"
        for i in np.flatnonzero(got != expected)[:MOST_LISTED]
    ]


def _ask(
    run: Run, design: Design, places: list[Place], rng: np.random.Generator, probes: Integers
) -> tuple[Integers, list[str]]:
    """The codes reported at some integers, −1 where another questionnaire was answered.

    A column of `probes` is the number of a place, a true cell and an integer u.
    """
    group, cell, point = probes
    codes, stream = _people(design, len(group), rng)
    starts = np.cumsum([0, *(q.weight for q in design.questionnaires)])
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(places) + 1))
    for place, (low, high) in zip(places, pairwise(bounds.tolist()), strict=True):
        rows = order[low:high]
        if not len(rows):
            continue
        own = stream[rows]
        if design.selection_bytes:
            drawn = rng.integers(starts[place.chosen], starts[place.chosen + 1], len(rows))
            _put(own, 0, design.selection_bytes, drawn)
        _put(own, place.offset, draw_bytes(place.cluster.matrix.total), point[rows])
        stream[rows] = own
        answers = np.unravel_index(cell[rows], design.shape(place.cluster))
        for name, part in zip(place.cluster.attributes, answers, strict=True):
            codes[design.domain.index(name)][rows] = part
    reports = run(codes, design, stream.tobytes())
    findings = []
    if reports.fingerprint != design.fingerprint:
        findings.append("the reports carry the fingerprint of another design")
    found = np.full(len(group), -1)
    at = np.array([place.at for place in places])[group]
    chosen = np.array([place.chosen for place in places])[group]
    for q, batch in enumerate(reports.batches):
        for j, cluster in enumerate(design.questionnaires[q].clusters):
            sent = np.asarray(batch.codes[j]).astype(np.int64)
            if cluster.matrix.kind == "public":
                true = codes[design.domain.index(cluster.attributes[0])][batch.rows]
                if not np.array_equal(sent, true):
                    findings.append(f"{cluster.name} is public and not reported as it is")
            mine = (at[batch.rows] == j) & (chosen[batch.rows] == q)
            found[batch.rows[mine]] = sent[mine]
    return found, findings


def _counted(
    ask: Callable[[Integers], tuple[Integers, list[str]]], places: list[Place], found: Integers
) -> dict[int, Integers]:
    """How many integers lead to each code: a table `(rows, codes)` by number of place.

    A column of `found` is a probe and the code reported.
    """
    found = found[:, np.array([place.how != "some ends" for place in places])[found[0]]]
    for _ in range(_MOST_ROUNDS):
        group, cell, point, code = found = found[:, np.lexsort(found[2::-1])]
        together = (group[1:] == group[:-1]) & (cell[1:] == cell[:-1])
        gap = together & (code[1:] != code[:-1]) & (np.diff(point) > 1)
        left = np.flatnonzero(gap)[: 2**14]
        if not len(left):
            break
        middle = (point[left] + point[left + 1]) // 2
        probes = np.stack([group[left], cell[left], middle])
        found = np.hstack([found, np.vstack([probes, ask(probes)[0]])])
    tables = {}
    totals = np.array([place.cluster.matrix.total for place in places])
    for g in np.unique(group).tolist():
        mine = group == g
        ends = np.append(point[mine][1:], totals[g])
        ends[np.append(cell[mine][1:] != cell[mine][:-1], True)] = totals[g]
        outcomes = max(places[g].cluster.matrix.outcomes, int(code[mine].max()) + 1)
        table = np.zeros((len(places[g].cells), outcomes + 1), dtype=np.int64)
        row = np.searchsorted(places[g].cells, cell[mine])
        np.add.at(table, (row, code[mine]), ends - point[mine])  # −1 is the last column
        tables[g] = table
    return tables


def _epsilon(places: list[Place], counted: dict[int, Integers]) -> float:
    """ε of the integers counted; where a cluster is too wide for that, ε of its design."""
    spent: dict[int, list[float]] = {}
    for g, place in enumerate(places):
        own = worst_ratio(counted[g]) if g in counted else place.cluster.epsilon
        spent.setdefault(place.chosen, []).append(own)
    return max(add_up(each) for each in spent.values())
