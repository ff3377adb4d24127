"""Medians over runs, what can be told of them, and all of them together as an outcome.

A criterion is about true medians. A median's sampling error is the mean over runs of its influence,
±½/density, by the side of the median on which a run lies. Numbers made of medians over the same
runs (differences, means, logarithms) keep that influence run by run. So runs that answered the same
query are compared with each other, and what the query does to all of them cancels.

A comparison is True or False where the 99.9 % interval of the difference lies on one side of the
claim's threshold, and None where it straddles it. Comparisons join as in Kleene's logic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

from experiments.printed import RUNS, Cell

CONFIDENCE = 0.99
"""Of every band."""

Z = float(norm.ppf((1 + CONFIDENCE) / 2))

BEYOND = float(norm.ppf(1.999 / 2))
"""Standard errors that are beyond chance: 3.29, since a claim may join dozens of comparisons."""

FEWEST = math.ceil(1 - math.log2(1 - CONFIDENCE))
"""With fewer runs than these 8, even all of them together are no 99 % band of their median."""

Truth = bool | None
"""None: cannot be told."""


@dataclass(frozen=True, eq=False)
class Number:
    """A number and its influence run by run, whose squares sum to its Monte-Carlo variance."""

    value: float
    moves: npt.NDArray[np.float64]

    @property
    def deviation(self) -> float:
        """The Monte-Carlo standard error."""
        return float(np.linalg.norm(self.moves))

    def __add__(self, other: Number) -> Number:
        value = self.value + other.value
        if len(self.moves) != len(other.moves):  # other runs
            return Number(value, np.concatenate([self.moves, other.moves]))
        with np.errstate(invalid="ignore"):  # ∞ − ∞: too few runs to tell
            return Number(value, self.moves + other.moves)

    def __mul__(self, factor: float) -> Number:
        return Number(self.value * factor, self.moves * factor)

    def __sub__(self, other: Number) -> Number:
        return self + other * -1

    def log(self) -> Number:
        """Its logarithm: differences of those are ratios."""
        return Number(math.log(self.value), self.moves / self.value)


def known(value: float) -> Number:
    """A number that has no error."""
    return Number(value, np.zeros(1))


def mean(numbers: Sequence[Number]) -> Number:
    """Their mean."""
    total = numbers[0]
    for number in numbers[1:]:
        total = total + number
    return total * (1 / len(numbers))


@dataclass(frozen=True, eq=False)
class Median:
    """A median over runs.

    `low` and `high` bound the true median with 99 % confidence. `near` and `far` bound what the
    paper's median would be if it were the same experiment: where it lies outside, the two differ
    by more than chance.
    """

    value: float
    low: float
    high: float
    near: float
    far: float
    number: Number

    def agrees(self, paper: float) -> bool:
        """Whether the paper's median is one that the same experiment might have given."""
        return self.near <= paper <= self.far


def median(errors: Sequence[float]) -> Median:
    """The median of some runs' errors.

    The band of the true median lies between order statistics (distribution-free, by the binomial).
    For a second median, over the paper's N = 1000 runs, both are uncertain: a median's rank varies
    like √(1/n + 1/N) instead of √(1/n).

    Example:
        >>> found = median(range(1001))
        >>> found.value, found.low, found.high, found.agrees(520)
        (500.0, 459.0, 541.0, True)
    """
    runs = np.asarray(errors, dtype=np.float64)
    values, n = np.sort(runs), len(runs)
    tail = (1 - CONFIDENCE) / 2
    rank = max(int(binom.ppf(tail, n, 0.5)) - 1, 0)
    wide = max(math.floor(n / 2 - Z * n / 2 * math.sqrt(1 / n + 1 / RUNS)), 0)
    value = float(values[(n - 1) // 2] + values[n // 2]) / 2
    low, high = float(values[rank]), float(values[n - 1 - rank])
    deviation = (high - low) / (2 * Z) if n >= FEWEST else math.inf
    moves = deviation / math.sqrt(n) * np.where(runs > value, 1.0, -1.0)
    return Median(
        value, low, high, float(values[wide]), float(values[n - 1 - wide]), Number(value, moves)
    )


def spread(medians: Sequence[float]) -> Median:
    """Medians over queries to one data set, one per data set: the paper's would be one of them."""
    found = median(medians)
    near, far = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Median(found.value, found.low, found.high, float(near), float(far), found.number)


def below(first: Number, second: Number, factor: float = 1.0, plus: float = 0.0) -> Truth:
    """Whether the first number is below factor · second + plus, as far as chance lets us tell.

    >>> noisy = Number(0.2, np.array([0.01]))
    >>> below(noisy, known(0.21)), below(noisy, known(0.3)), below(known(0.3), noisy)
    (None, True, False)
    """
    gap = second * factor - first
    reach = BEYOND * gap.deviation
    if math.isnan(reach) or abs(gap.value + plus) <= reach:
        return None if reach > 0 or math.isnan(reach) else False
    return gap.value + plus > 0


def alike(first: Number, second: Number, margin: float) -> Truth:
    """Whether neither number is larger than the other by more than a share of it.

    >>> alike(known(1.0), known(1.05), 0.1), alike(known(1.0), known(1.2), 0.1)
    (True, False)
    """
    return all_of(below(a, b, 1 + margin) for a, b in ((first, second), (second, first)))


def all_of(truths: Iterable[Truth]) -> Truth:
    """False if any is False, else None if any is None, else True."""
    found = set(truths)
    return False if False in found else None if None in found else True


def any_of(truths: Iterable[Truth]) -> Truth:
    """True if any is True, else None if any is None, else False."""
    found = set(truths)
    return True if True in found else None if None in found else False


def most_of(truths: Sequence[Truth]) -> Truth:
    """Whether more than half are True; None while those that cannot be told may decide it.

    >>> most_of([True, True, None]), most_of([True, False, None]), most_of([False, False, None])
    (True, None, False)
    """
    half = len(truths) / 2
    if sum(truth is True for truth in truths) > half:
        return True
    return False if sum(truth is False for truth in truths) >= half else None


TableMedians = dict[tuple[float, int], Median]
"""By p and T_v; exact dependences give the same clusters, hence the same error, for every T_d."""

Which = tuple[str, str, int]
"""Reading of section 6.3, key of `CHOICES`, copies."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The medians of all experiments.

    `fresh` and `once` are Tables 1 and 2 with fresh reports in every run and with one randomized
    data set; `learnt` is by way and copies, then by p, T_v, T_d; so is `clusters`, their number.
    """

    runs: int
    seed: int
    figure2: Mapping[tuple[float, str, str], Median]
    figure3: Mapping[tuple[float, float, str], Median]
    joint: Mapping[tuple[float, str], Median]
    fresh: Mapping[Which, TableMedians]
    once: Mapping[Which, TableMedians]
    learnt: Mapping[tuple[str, int], Mapping[Cell, Median]]
    clusters: Mapping[tuple[str, int], Mapping[Cell, float]]
    series: Mapping[str, Median]


def gather(results: Mapping[tuple[Any, ...], Mapping[str, Any]], runs: int, seed: int) -> Outcome:
    """The medians of the kept results of some jobs, their runs put together in order."""
    errors: dict[tuple[Any, ...], list[float]] = {}
    for job in sorted(results):
        for name, listed in results[job]["errors"].items():
            errors.setdefault((*job[:5], name), []).extend(listed)
    found = Outcome(runs, seed, {}, {}, {}, {}, {}, {}, {}, {})
    into: dict[str, Any] = vars(found)
    for key, listed in errors.items():
        experiment, variant, choice, copies, p, name = key
        first, _, rest = name.partition(" ")
        here = (spread if experiment == "once" else median)(listed)
        into["series"]["|".join(map(str, key))] = here
        if experiment == "figure2":
            into["figure2"][float(first), *rest.rsplit(" ", 1)] = here
        elif experiment == "figure3":
            into["figure3"][p, float(first), rest] = here
        elif experiment == "joint":
            into["joint"][p, name] = here
        elif experiment == "learnt":
            least, _, counted = rest.partition(" ")
            where = into["clusters" if counted else "learnt"].setdefault((variant, copies), {})
            where[p, int(first), float(least)] = here.value if counted else here
        else:
            which = "once" if experiment == "once" else "fresh"
            into[which].setdefault((variant, choice, copies), {})[p, int(name)] = here
    return found
