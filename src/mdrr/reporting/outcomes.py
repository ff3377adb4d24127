"""How far off estimates turned out, where a simulation knows the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from statistics import median

import numpy as np

from mdrr.domain import Domain
from mdrr.estimation import Count, Estimate
from mdrr.matrix import Array
from mdrr.planning.predict import Predicted, relative_error
from mdrr.plots.style import percent
from mdrr.randomizer import Codes

TYPICAL = 0.1
"""A typical count holds this share of a table's combinations, as in predictions."""
_MOST_PAIRS = 200
_MOST_CELLS = 2**20


@dataclass(frozen=True)
class Asked:
    """A count query: its words, whether one cluster holds it, its counts by method, the truth."""

    words: str
    together: bool
    counts: Mapping[str, Count]
    truth: int | None

    def miss(self, count: Count) -> float | None:
        """The relative error in percent, where the truth is known and not 0."""
        return 100 * (count.value / self.truth - 1) if self.truth else None


@dataclass(frozen=True)
class Outcome:
    """What became of one estimate, beside what was predicted of its design.

    `typical` is the error of a count over a tenth of a table's combinations, as a share of such
    counts' mean size, single attributes weighing as much as pairs; `worst` is the largest of a
    table; `misses` are the relative errors of the groups asked about, in percent.
    """

    name: str
    predicted: Predicted | None
    typical: float
    worst: float
    misses: Mapping[str, float]

    @property
    def median(self) -> float | None:
        """The median size of the groups' errors, in percent."""
        return median(map(abs, self.misses.values())) if self.misses else None

    @property
    def largest(self) -> float | None:
        """The groups' largest error with its sign, in percent."""
        return max(self.misses.values(), key=abs, default=None)

    @property
    def words(self) -> str:
        """The same in one or two sentences."""
        foreseen = ["", ""]
        if self.predicted is not None:
            both = self.predicted.error, self.predicted.worst
            foreseen = [f" (predicted: {percent(each)} %)" for each in both]
        text = (
            f"With {self.name}, a typical count is off by {percent(self.typical)} %{foreseen[0]}. "
            f"In the worst table it is off by {percent(self.worst)} %{foreseen[1]}."
        )
        if self.largest is None or self.median is None:
            return text
        group = max(self.misses, key=lambda words: abs(self.misses[words]))
        return (
            f"{text} Of the groups asked about, half are off by less than {self.median:.0f} %; "
            f"the worst, {group}, by {self.largest:+.0f} %.".replace("-", "−")
        )


def outcomes(
    methods: Mapping[str, Estimate],
    codes: Sequence[Codes],
    queries: Sequence[Asked],
    predicted: Predicted | None,
) -> tuple[Outcome, ...]:
    """What became of each estimate; `predicted` is of the first."""
    truths = dict(_true_tables(next(iter(methods.values())).domain, codes))
    found: list[Outcome] = []
    for name, estimate in methods.items():
        errors: dict[int, list[float]] = {}
        for names, true in truths.items():
            gap = float(((estimate.table(*names).values - true) ** 2).sum())
            errors.setdefault(len(names), []).append(relative_error(gap, true.size, TYPICAL))
        typical = float(np.mean([np.mean(kind) for kind in errors.values()]))
        misses = {asked.words: asked.miss(asked.counts[name]) for asked in queries}
        known = {words: miss for words, miss in misses.items() if miss is not None}
        foreseen = None if found else predicted
        found.append(Outcome(name, foreseen, typical, max(map(max, errors.values())), known))
    return tuple(found)


def _true_tables(domain: Domain, codes: Sequence[Codes]) -> Iterator[tuple[tuple[str, ...], Array]]:
    """The true distribution of every attribute and of pairs, by their names."""
    m = len(domain)
    for places in [(j,) for j in range(m)] + list(islice(combinations(range(m), 2), _MOST_PAIRS)):
        shape = tuple(domain.attributes[j].size for j in places)
        if np.prod(shape) <= _MOST_CELLS:
            cells = np.ravel_multi_index([codes[j] for j in places], shape)
            table = np.bincount(cells, minlength=int(np.prod(shape))) / len(cells)
            yield tuple(domain.names[j] for j in places), table.reshape(shape)
