"""Two-attribute tables, the stuff of dependences: as reported, and unbiased with their noise.

Randomizing attributes separately does not lose their relation: a pair goes through the Kronecker
product of its clusters' matrices, which inverts axis by axis (`unbiased.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mdrr.design import Cluster, Design
from mdrr.errors import EstimateError
from mdrr.estimation.unbiased import Unbiased, unbiased
from mdrr.matrix import Array
from mdrr.randomizer import Codes, cells_of
from mdrr.tallies import Tally


@dataclass(frozen=True, eq=False)
class PairTable:
    """An unbiased table: `values[a, b]` sums to 1, `variances` are those of its cells."""

    names: tuple[str, str]
    values: Array
    variances: Array
    n: int


def reported_pair(tally: Tally, design: Design, first: str, second: str) -> Array:
    """How often two attributes' categories were reported together, as they stand in the reports."""
    _check(tally, design, first, second)
    shape = design.domain.project((first, second)).shape
    total = np.zeros(shape)
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        places = {n: c for c, q in enumerate(questionnaire.clusters) for n in q.attributes}
        if first not in places or second not in places or not group.n:
            continue
        codes = [
            _reported_codes(questionnaire.clusters[places[n]], group.codes[places[n]], n, design)
            for n in (first, second)
        ]
        total += np.bincount(cells_of(codes, shape), group.counts, math.prod(shape)).reshape(shape)
    if not total.sum():
        raise EstimateError(f"nobody reported both {first!r} and {second!r}")
    return total


def unbiased_pair(tally: Tally, design: Design, first: str, second: str) -> PairTable:
    """The unbiased table of two attributes, pooled over the questionnaires that ask both.

    Arguments:
        tally: the reports.
        design: how they were made.
        first: the attribute of the rows.
        second: the attribute of the columns.

    Returns:
        The table; its cells may be negative, their variances are about the population's.
    """
    found = _asked(tally, design, (first, second))
    people = sum(view.n for view in found.views)
    return PairTable((first, second), found.values, found.variances(population=True), people)


def unbiased_moment(
    tally: Tally, design: Design, names: tuple[str, str], x: Array, y: Array
) -> tuple[float, float]:
    """The unbiased estimate of E[x(first)·y(second)] and its variance.

    Arguments:
        tally: the reports.
        design: how they were made.
        names: two attributes.
        x: a number for each category of the first.
        y: a number for each category of the second.
    """
    found = _asked(tally, design, names)
    moments = [view.functional(np.outer(x, y)) for view in found.views]
    value = sum(s * mean for s, (mean, _) in zip(found.shares, moments, strict=True))
    variance = sum(
        s**2 * max(square - 2 * value * mean + value**2, 0.0) / view.n
        for s, view, (mean, square) in zip(found.shares, found.views, moments, strict=True)
    )
    return value, variance


def _check(tally: Tally, design: Design, first: str, second: str) -> None:
    tally.check(design)
    for name in (first, second):
        design.domain.index(name)
    if first == second:
        raise EstimateError(f"a pair names {first!r} twice; ask for two attributes")


def _asked(tally: Tally, design: Design, names: tuple[str, str]) -> Unbiased:
    _check(tally, design, *names)
    found = unbiased(tally, design, names)
    if found is None:
        raise EstimateError(f"nobody reported both {names[0]!r} and {names[1]!r}")
    return found


def _reported_codes(cluster: Cluster, codes: Codes, name: str, design: Design) -> Codes:
    """One attribute's reported categories, from a cluster's reported cells."""
    if not cluster.matrix.reports_cells:
        raise EstimateError(
            f"the reports of {cluster.name!r} are not cells; read them debiased instead"
        )
    shape = design.shape(cluster)
    at = cluster.attributes.index(name)
    return np.asarray(codes.astype(np.int64) // math.prod(shape[at + 1 :]) % shape[at])
