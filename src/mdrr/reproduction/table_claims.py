"""What section 6 says about Tables 1 and 2, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from mdrr.reproduction.outcome import Outcome, TableMedians
from mdrr.reproduction.printed import KEEPS, LEAST_DEPENDENCES, MOST_CELLS, TABLES
from mdrr.reproduction.results import spread_of
from mdrr.reproduction.verdict import (
    Claim,
    Known,
    Truth,
    alike,
    all_of,
    any_of,
    below,
    claim,
    deviation,
    differ,
    most_of,
    percent,
)

_SMALL_REDUCTION = 0.8
_CHANCE = 0.01
_EQUAL = 0.1


def check_thresholds(outcome: Outcome) -> Iterable[Claim]:
    """The claims about Table 1."""
    table = outcome.tables.get("table1")
    if table is None:
        return
    rises = [
        below(table[p, 50, least], table[p, 300, least])
        for p in KEEPS
        for least in LEAST_DEPENDENCES
    ]
    yield claim(
        "6.5, Table 1",
        "As a rule, the relative error increases with T_v.",
        most_of(rises),
        f"from T_v = 50 to 300 it rises beyond chance in {rises.count(True)} of 12 rows and falls "
        f"in {rises.count(False)}: "
        + "; ".join(
            f"p = {p}: " + " → ".join(f"{_mean(table, p, most):.3f}" for most in MOST_CELLS)
            for p in KEEPS
        ),
    )
    yield _least_dependence(table, outcome.settings.dependences == "exact")
    yield from _wide_queries(outcome, table)


def _least_dependence(table: TableMedians, exact: bool) -> Claim:
    same = (
        ". Exact dependences give the same clusters for all three T_d, so only chance can tell "
        "them apart here"
    )
    right: list[Truth] = []
    for p in KEEPS:
        for most in MOST_CELLS:
            small, large = table[p, most, 0.1], table[p, most, 0.3]
            right.append(below(large, small) if p < 0.5 else below(small, large))
    holds = most_of(right)
    return claim(
        "6.5, Table 1",
        "A larger T_d is better for small p, a smaller one for large p.",
        False if holds is None and exact else holds,
        f"seen beyond chance in {right.count(True)} of 12 cases; the three T_d differ beyond "
        f"chance ({percent(_CHANCE)}) in {_spreads(table, None)} of 12 cases here and in "
        f"{_spreads(table, 'table1')} of 12 in the paper's own numbers{same if exact else ''}",
    )


def _spreads(table: TableMedians, printed: str | None) -> int:
    """In how many cases the errors of the three T_d are not one and the same."""
    count = 0
    for p in KEEPS:
        for most in MOST_CELLS:
            cells = [(p, most, least) for least in LEAST_DEPENDENCES]
            values = [table[c].value if printed is None else TABLES[printed][c] for c in cells]
            # The paper's medians have our relative standard error, at their own size.
            scale = [value / table[c].value for value, c in zip(values, cells, strict=True)]
            spread = [table[c].deviation * s for c, s in zip(cells, scale, strict=True)]
            count += spread_of(values, spread) < _CHANCE
    return count


def _wide_queries(outcome: Outcome, table: TableMedians) -> Iterable[Claim]:
    for found in outcome.variants.get("choices", ()):
        if found.variant.settings.query_size == outcome.settings.query_size:
            continue
        other = found.tables["table1"]
        different = sum(differ(table[cell], other[cell]) for cell in table)
        equal = sum(alike(table[cell], other[cell], _EQUAL) is True for cell in table)
        few = len(table) * 0.05
        ratio = geometric_mean(other[cell].value / table[cell].value for cell in table)
        yield claim(
            "6.5",
            "Queries over more than two attributes do not give significantly different results.",
            False if different > few else True if len(table) - equal <= few else None,
            f"over {found.variant.settings.query_size} attributes {different} of {len(table)} "
            f"cells of Table 1 differ beyond chance and {equal} are surely within "
            f"{percent(_EQUAL)}; errors are {ratio:.2f} times as large",
        )


def check_adult6(outcome: Outcome) -> Iterable[Claim]:
    """The claims that compare Tables 1 and 2."""
    if not {"table1", "table2"} <= set(outcome.tables):
        return
    one, six = outcome.tables["table1"], outcome.tables["table2"]
    section = "6.5, Table 2"
    smaller = sum(six[cell].value < one[cell].value for cell in one)
    fell = [below(six[cell], one[cell]) for cell in one]
    yield claim(
        section,
        "The relative error decreases for all parameterizations from Adult to Adult6.",
        all_of(fell),
        f"it is smaller in {smaller} of {len(one)} cells, in {fell.count(True)} of them beyond "
        f"chance, and larger beyond chance in {fell.count(False)}",
    )
    kept = {(p, most): _share(one, six, p, most) for p in KEEPS for most in MOST_CELLS}
    listed = {p: ", ".join(str(kept[p, most]) for most in MOST_CELLS) for p in KEEPS}
    at_large = [kept[0.7, most] for most in MOST_CELLS]
    overall = Share(
        geometric_mean(share.value for share in at_large),
        math.hypot(*(share.deviation for share in at_large)) / len(at_large),
    )
    yield claim(
        section,
        "At p = 0.7 the reduction is small.",
        Share(_SMALL_REDUCTION, 0.0).is_below(overall),
        f"Adult6's error is {overall} of Adult's (criterion: at least {percent(_SMALL_REDUCTION)})",
    )
    yield claim(
        section,
        "At p = 0.7 the reduction is highest for T_v = 300.",
        all_of(kept[0.7, 300].is_below(kept[0.7, most]) for most in (50, 100)),
        f"Adult6's error as a share of Adult's for T_v = 50, 100, 300: {listed[0.7]}; it must be "
        "the smallest beyond chance",
    )
    means = {(p, most): _mean_number(six, p, most) for p in KEEPS for most in MOST_CELLS}
    yield claim(
        section,
        "On Adult6 at p = 0.7 the lowest error is at T_v = 300.",
        all_of(below(means[0.7, 300], means[0.7, most]) for most in (50, 100)),
        f"mean over T_d for T_v = 50, 100, 300: {_means(six, 0.7)}",
    )
    for p in (0.1, 0.3, 0.5):
        yield claim(
            section,
            f"At p = {p} the reduction is more remarkable for T_v = 50 and 100 than for 300.",
            all_of(kept[p, most].is_below(kept[p, 300]) for most in (50, 100)),
            f"Adult6's error as a share of Adult's for T_v = 50, 100, 300: {listed[p]}; the last "
            "must be the largest beyond chance",
        )
        yield claim(
            section,
            f"On Adult6 at p = {p} T_v = 300 does not have the lowest error.",
            any_of(below(means[p, most], means[p, 300]) for most in (50, 100)),
            f"mean over T_d for T_v = 50, 100, 300: {_means(six, p)}",
        )
    counts = _spreads(one, None), _spreads(six, None)
    yield claim(
        section,
        "The effect of T_d does not change with the data set's size.",
        abs(counts[0] - counts[1]) <= 1,
        f"the three T_d differ beyond chance in {counts[0]} of 12 cases on Adult and in "
        f"{counts[1]} on Adult6; in the paper's own numbers in {_spreads(one, 'table1')} and "
        f"{_spreads(six, 'table2')}",
    )


def _mean(table: TableMedians, p: float, most: int) -> float:
    return fmean(table[p, most, least].value for least in LEAST_DEPENDENCES)


def _mean_number(table: TableMedians, p: float, most: int) -> Known:
    """The mean over T_d with its standard error."""
    cells = [table[p, most, least] for least in LEAST_DEPENDENCES]
    error = math.hypot(*(deviation(found) for found in cells)) / len(cells)
    return Known(_mean(table, p, most), error)


def _means(table: TableMedians, p: float) -> str:
    return ", ".join(f"{_mean(table, p, most):.3f}" for most in MOST_CELLS)


@dataclass(frozen=True, slots=True)
class Share:
    """Adult6's error as a share of Adult's, and the standard error of its logarithm."""

    value: float
    deviation: float

    def is_below(self, other: Share) -> Truth:
        """Whether this share is the smaller one, if that is beyond chance (99 %)."""
        ours, theirs = (Known(math.log(one.value), one.deviation) for one in (self, other))
        return below(ours, theirs)

    def __str__(self) -> str:
        return f"{percent(self.value)} ± {100 * self.value * self.deviation:.0f}"


def _share(one: TableMedians, six: TableMedians, p: float, most: int) -> Share:
    """The geometric mean over T_d."""
    cells = [(p, most, least) for least in LEAST_DEPENDENCES]
    both = [table[cell] for cell in cells for table in (one, six)]
    return Share(
        geometric_mean(six[cell].value / one[cell].value for cell in cells),
        math.hypot(*(deviation(found) / found.value for found in both)) / len(cells),
    )
