"""What the reports say, worked out once: margins, pair tables, their variances.

All estimators and all intervals read the same evidence. Of each pair it keeps the reported table,
not the reports, so its size depends on the domain and not on the number of people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError, MdrrError
from mdrr.estimation.project import posterior_mean
from mdrr.estimation.unbiased import Unbiased, asking, unbiased
from mdrr.estimation.update import Stacked, Update, smoothed_update
from mdrr.groups import Group
from mdrr.matrix import Array, Banded, Matrix, Public
from mdrr.query import MOST_CELLS
from mdrr.tallies import Tally

Names = tuple[str, ...]
Tables = Mapping[Names, Array]
"""Tables of single attributes and of pairs, by their names in the domain's order."""

_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """The tables that reports under a design give without bias, each computed once."""

    tally: Tally
    design: Design
    _tables: dict[Names, Unbiased | None] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.tally.check(self.design)
        if not self.tally.n:
            raise EstimateError("the tally is empty: there are no reports to estimate from")

    @property
    def people(self) -> int:
        """How many reported."""
        return self.tally.n

    def table(self, names: Names) -> Unbiased | None:
        """The unbiased table of attributes in the domain's order.

        None if nobody was asked them all, or if it has too many cells to be written out.
        """
        if names in self._tables:
            return self._tables[names]
        try:
            found = unbiased(self.tally, self.design, names)
        except MdrrError:  # too many cells
            found = None
        if len(names) <= 2:
            self._tables[names] = found
        return found

    def apart(self, names: Names) -> int | None:
        """In how few noisy answers somebody reported all of the attributes; None if nobody."""
        counts = [
            sum(
                not (set(names).isdisjoint(c.attributes) or isinstance(c.matrix, Public))
                for c in self.design.questionnaires[q].clusters
            )
            for q in asking(self.tally, self.design, names)
        ]
        return min(counts, default=None)

    def interaction_noise(self, first: str, second: str) -> float:
        """The variance of one of a pair's (r−1)(s−1) interactions.

        That is the variance of the whole table less that of its rows' and columns' sums, as the
        same people report them.
        """
        found = self.table((first, second))
        assert found is not None
        asked = asking(self.tally, self.design, (first, second))
        rows, columns = found.values.shape
        total = float(found.variances().sum())
        for name, others in ((first, columns), (second, rows)):
            alone = self.table((name,))
            assert alone is not None
            views = dict(zip(asking(self.tally, self.design, (name,)), alone.views, strict=True))
            margin = Unbiased((name,), tuple(views[q] for q in asked), found.shares, self.people)
            total -= float(margin.variances().sum()) / others
        return float(total / ((rows - 1) * (columns - 1)))

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of attributes whose table can be written out."""
        domain = self.design.domain
        sizes = dict(zip(domain.names, domain.shape, strict=True))
        return [
            (a, b) for a, b in combinations(domain.names, 2) if sizes[a] * sizes[b] <= MOST_CELLS
        ]

    @cached_property
    def margins(self) -> tuple[Array, ...]:
        """Every attribute's own distribution, proper and positive; a public one's as reported.

        The posterior mean of the unbiased one; smoothed EM after banded matrices.
        """
        return tuple(self._margin(name) for name in self.design.domain.names)

    def _margin(self, name: str) -> Array:
        found = self.table((name,))
        if found is None:
            raise EstimateError(f"nobody has reported {name!r} yet: it cannot be estimated")
        if found.exact:
            return found.values
        smooth = smoothed(found)
        if smooth is None:
            return posterior_mean(found.values, np.sqrt(found.variances(population=True)))
        floored = np.maximum(smooth.distribution, _LEAST)
        return np.asarray(floored / floored.sum())

    def halves(self, seed: int) -> tuple[Evidence, Evidence] | None:
        """The people dealt into two halves at random; None if one is too few to estimate from."""
        first, second = split(self.tally, 0.5, seed)
        try:
            halves = Evidence(first, self.design), Evidence(second, self.design)
            enough = all(half.margins for half in halves)
        except EstimateError:
            return None
        return halves if enough else None


def split(tally: Tally, share: float, seed: int) -> tuple[Tally, Tally]:
    """Deal the people out: a tally of the others, and one of a random share of them."""
    rng = np.random.default_rng(seed)
    kept: list[Group] = []
    held: list[Group] = []
    for group in tally.groups:
        if group.sums is not None:
            assert share == 0.5  # sums are kept of halves, dealt when they were counted
            kept.append(group.half(0))
            held.append(group.half(1))
            continue
        taken = rng.binomial(group.counts, share)
        for counts, side in ((group.counts - taken, kept), (taken, held)):
            some = counts > 0
            side.append(Group(tuple(c[some] for c in group.codes), counts[some], group.sizes))
    return Tally(tally.fingerprint, tuple(kept)), Tally(tally.fingerprint, tuple(held))


def smoothed(found: Unbiased) -> Update | None:
    """One attribute by smoothed EM, or None if no banded matrix had it to itself.

    The errors of neighbouring bins after such a matrix go together, and cell by cell its inverse is
    mostly noise. Reports of the attribute that came through other matrices count as well.
    """
    if not is_banded(found):
        return None
    views = [view for view in found.views if view.axes[0].likely]
    people = sum(view.n for view in views)
    through = Stacked([v.axes[0] for v in views], [v.n / people for v in views])
    return smoothed_update(np.concatenate([v.n * v.reported for v in views]), through)


def is_banded(found: Unbiased) -> bool:
    """Whether somebody reported one attribute through a banded matrix of its own."""
    return len(found.names) == 1 and any(
        view.axes[0].likely and has_band(view.axes[0].matrix) for view in found.views
    )


def has_band(matrix: Matrix) -> bool:
    """Whether reports through a matrix are places on a longer scale: a band of some width."""
    return isinstance(matrix, Banded) and not matrix.reports_cells


def has_jointly(design: Design) -> bool:
    """Whether anybody reports several attributes as one."""
    return any(len(c.attributes) > 1 for q in design.questionnaires for c in q.clusters)
