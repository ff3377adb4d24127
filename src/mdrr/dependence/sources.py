"""Where dependences come from (section 4): tables, records, or randomized reports.

Reports are read debiased, with intervals that say what their noise leaves open, or as they stand
(attenuated), as the paper does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.counting import burt_tables
from mdrr.dependence.association import Measure, measured, shares_of
from mdrr.dependence.association import debiased as debiased_value
from mdrr.dependence.confidence import estimated, interval
from mdrr.dependence.noise import NoisyTable, noisy_pair
from mdrr.dependence.strengths import LEVEL, Dependences
from mdrr.design import Design
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, SchemaError
from mdrr.estimation.assisted import discoveries
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.project import nearest
from mdrr.estimation.unbiased import unbiased
from mdrr.matrix import Array
from mdrr.sums import MOST_CATEGORIES
from mdrr.tallies import Tally


def from_tables(
    tables: Mapping[tuple[str, str], npt.ArrayLike], domain: Domain, *, measure: Measure = "auto"
) -> Dependences:
    """Dependences from one table `(r, s)` of counts per pair, named in either order.

    Rows are the categories of the pair's first name. The domain gives kinds and scores.
    """
    sums: dict[str, list[Array]] = {name: [] for name in domain.names}
    values = np.eye(len(domain))
    for i, j, first, second in _pairs(domain):
        if (first.name, second.name) in tables:
            table = np.asarray(tables[first.name, second.name])
        elif (second.name, first.name) in tables:
            table = np.asarray(tables[second.name, first.name]).T
        else:
            raise SchemaError(f"there is no table of {first.name!r} and {second.name!r}")
        if table.shape != (first.size, second.size):
            raise SchemaError(
                f"the table of {first.name!r} and {second.name!r} has shape {table.shape}, "
                f"not {(first.size, second.size)}"
            )
        for axis, name in ((1, first.name), (0, second.name)):
            sums[name].append(shares_of(table).sum(axis=axis))
        values[i, j] = values[j, i] = measured(table, first, second, measure)
    margins = tuple(np.mean(each, axis=0) for each in sums.values())
    _set_variances(values, domain, margins, measure)
    return Dependences(domain.names, values, margins, measure=measure)


def from_codes(
    codes: Sequence[npt.NDArray[Any]], domain: Domain, *, measure: Measure = "auto"
) -> Dependences:
    """Dependences of true records as code columns: for simulation, since nobody holds them."""
    return from_tables(pair_tables(codes, domain), domain, measure=measure)


def pair_tables(
    codes: Sequence[npt.NDArray[Any]], domain: Domain
) -> dict[tuple[str, str], npt.NDArray[np.int64]]:
    """The two-way table of every pair of code columns; tables of chunks add up."""
    if sum(domain.shape) > MOST_CATEGORIES:
        every = zip(domain.names, domain.shape, codes, strict=True)
        return {
            (first, second): np.bincount(a.astype(np.int64) * s + b, minlength=r * s).reshape(r, s)
            for (first, r, a), (second, s, b) in combinations(every, 2)
        }
    (table,) = burt_tables(codes, domain.shape)
    ends = np.cumsum([0, *domain.shape])
    places = [slice(*each) for each in pairwise(ends.tolist())]
    named = list(zip(domain.names, places, strict=True))
    return {(a, b): table[rows, columns] for (a, rows), (b, columns) in combinations(named, 2)}


def dependences(
    tally: Tally,
    design: Design,
    *,
    measure: Measure = "auto",
    debiased: bool = True,
    attributes: Sequence[str] | None = None,
    level: float | None = LEVEL,
) -> Dependences:
    """Dependences from randomized reports (section 4.1), with intervals.

    Arguments:
        tally: the reports.
        design: how they were made.
        measure: `auto` is |r| of two ordered attributes and V of others; `cramers_v`; `pearson` or
            `covariance` (without its sign), if all attributes are ordered.
        debiased: take the randomization out. Otherwise the dependences are those of the reports, as
            in the paper: they are too small, may be in another order, and have no intervals.
        attributes: only these attributes.
        level: the confidence level of the intervals, which are about the population the people are
            a sample of. None leaves the intervals out and is faster.

    Returns:
        The dependences of all pairs; every pair must have been reported by somebody.

    Example:
        >>> import mdrr
        >>> d = Domain((Attribute("a", ("x", "y")), Attribute("b", ("u", "v", "w"))))
        >>> design = mdrr.independent(d, epsilon=4.0)
        >>> people = [np.arange(900) % 2, np.arange(900) % 3]  # independent
        >>> sent = mdrr.randomize_codes(people, design, mdrr.SeededSource(1))
        >>> reports = mdrr.tally(sent, design)
        >>> found = dependences(reports, design)
        >>> found.is_clear("a", "b"), found.interval("a", "b")[0]
        (False, 0.0)
    """
    tally.check(design)
    domain = design.domain if attributes is None else design.domain.project(attributes)
    if not debiased:
        seen = {pair: _reported(tally, design, pair) for pair in combinations(domain.names, 2)}
        return replace(
            from_tables(seen, domain, measure=measure), margins=None, library=tally.library
        )
    margins = _margins(tally, design, domain.names)

    def look(first: Attribute, second: Attribute) -> NoisyTable:
        return noisy_pair(tally, design, first.name, second.name)

    found = from_noisy(look, domain, measure=measure, level=level, margins=margins)
    return replace(found, library=tally.library)


def from_noisy(
    look: Callable[[Attribute, Attribute], NoisyTable],
    domain: Domain,
    *,
    measure: Measure = "auto",
    level: float | None = LEVEL,
    margins: tuple[Array, ...] | None = None,
) -> Dependences:
    """Debiased dependences with intervals, from the unbiased table of every pair.

    `look` gives the table of two attributes and is asked once for each. A value outside its
    interval is replaced by the middle of the interval. Without a level there are values alone.
    """
    if level is not None and not 0 < level < 1:
        raise EstimateError(f"level={level}: a probability lies strictly between 0 and 1")
    values, lows, highs, nearby = np.eye(len(domain)), [], [], dict[int, Array]()
    for i, j, first, second in _pairs(domain):
        table = look(first, second)
        nearby.setdefault(i, nearest(table.values.sum(axis=1)))
        nearby.setdefault(j, nearest(table.values.sum(axis=0)))
        if level is None:
            value = debiased_value(table, first, second, measure)
        else:
            value, low, high = estimated(table, first, second, measure, level)
            lows.append(low)
            highs.append(high)
        values[i, j] = values[j, i] = value
    _set_variances(values, domain, margins or [nearby[i] for i in range(len(domain))], measure)
    if level is None:
        return Dependences(domain.names, values, margins, measure=measure)
    at, chance = np.triu_indices(len(domain), 1), np.array([signal.chance for signal in lows])
    low_end, high_end = interval(lows, highs, level)
    clear = (chance <= discoveries(list(chance), (1 - level) / 2)) & (low_end > 0)
    inside = (low_end <= values[at]) & (values[at] <= high_end)

    def square(found: npt.NDArray[Any]) -> npt.NDArray[Any]:
        whole = values.astype(found.dtype)
        whole[at] = whole[at[::-1]] = found
        return whole

    return Dependences(
        domain.names,
        square(np.where(inside, values[at], (low_end + high_end) / 2)),
        margins,
        square(low_end),
        square(high_end),
        level,
        measure,
        square(clear),
    )


def _reported(tally: Tally, design: Design, pair: tuple[str, str]) -> Array:
    """How often two attributes' categories were reported together, as they stand in the reports."""
    parts = []
    for view in noisy_pair(tally, design, *pair).found.views:
        sizes: list[int] = []
        others: list[int] = []  # the axes of attributes that a code tells of beside the pair
        for axis in view.axes:
            if not axis.matrix.reports_cells:
                raise EstimateError(
                    f"the reports of {pair[0]!r} and {pair[1]!r} are not all cells; read them "
                    "debiased instead"
                )
            if not axis.constant:
                gone = set(range(len(axis.shape))) - set(axis.places)
                others += [len(sizes) + place for place in gone]
            sizes += axis.sizes if axis.constant else axis.shape
        table = view.reported.reshape(sizes).sum(axis=tuple(others))
        parts.append(np.rint(view.n * np.transpose(table, view.order)))
    return np.asarray(sum(parts))


def _margins(tally: Tally, design: Design, names: Sequence[str]) -> tuple[Array, ...] | None:
    """Every attribute's distribution, unless noise has drawn one of them towards the even one."""
    for name in names:
        found, size = unbiased(tally, design, [name]), design.domain.attribute(name).size
        if found is None or is_vague(float(found.variances(population=True).sum()), size):
            return None
    every = Evidence(tally, design).margins
    return tuple(every[design.domain.index(name)] for name in names)


def is_vague(variance: float, categories: int) -> bool:
    """Whether noise is more than a tenth of what unknown distributions differ from the even by.

    >>> is_vague(0.01, 4), is_vague(0.02, 4)
    (False, True)
    """
    return variance > 0.1 * unknown_spread(categories)


def unknown_spread(categories: int) -> float:
    """S: how far (squared) a distribution drawn evenly from all there are is from the even one.

    >>> unknown_spread(2)  # the mean of 2·(p − ½)²
    0.16666666666666666
    """
    return (categories - 1) / (categories * (categories + 1))


def _pairs(domain: Domain) -> list[tuple[int, int, Attribute, Attribute]]:
    if len(domain) < 2:
        raise EstimateError("dependence needs at least two attributes")
    every = list(enumerate(domain.attributes))
    return [(i, j, first, second) for (i, first), (j, second) in combinations(every, 2)]


def _set_variances(
    values: Array, domain: Domain, margins: Sequence[Array], measure: Measure
) -> None:
    """The diagonal of covariances: every attribute's variance."""
    if measure == "covariance":
        for at, (attribute, margin) in enumerate(zip(domain.attributes, margins, strict=True)):
            scores = np.asarray(attribute.scores)
            values[at, at] = margin @ (scores - margin @ scores) ** 2
