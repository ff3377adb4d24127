"""How surely a dependence is known: intervals for measures of unbiased tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np
from scipy.special import chdtrc, chndtr, ndtr

from mdrr.dependence.association import Measure, debiased, measure_of, moments, scored
from mdrr.dependence.noise import Chance, NoisyTable
from mdrr.domain import Attribute
from mdrr.estimation.project import nearest
from mdrr.matrix import Array

FLOOR_LOW = 16.0
FLOOR_HIGH = 2.0
"""Shares count as at least so many of their standard errors when χ² divides by them.

Dividing by a rare category's noisy share would drown what all others say. A floor can only lower
V, so 16 (shares known to 6 %) serves the lower end, where it gains power; the upper end must not
lose what rare categories add, and 2 only keeps it from dividing by noise.
"""

_DRAWS = 10
_MOST_DRAWN = 2**22
"""Surveys are drawn until 10 are expected in the tail, unless that makes too many numbers. So what
they decide is never less likely than a tenth of the tail: one pair among many stays unclear."""

_ROUNDING = 1e-14
"""Less is a rounding error: a single one of 10^10 people is a share of 1e-10."""


@dataclass(frozen=True)
class Signal:
    """A squared measure seen through noise: T = ‖δ + η‖², of which δ² is wanted."""

    seen: float  # T
    noise: float  # E‖η‖², what noise alone gives
    spread: float  # ½·Var‖η‖²
    slope: float  # Var(T)/4δ² where δ² is large
    most: float = 1.0  # the largest δ² there can be
    chance: float = 1.0  # how likely noise alone gives T or more


def estimated(
    table: NoisyTable,
    first: Attribute,
    second: Attribute,
    measure: Measure,
    level: float,
) -> tuple[float, Signal, tuple[Signal, ...]]:
    """The debiased dependence, and what both ends of its interval are found from (`interval`).

    The upper end is the largest of those found. V has three of them: how noisy dependent answers
    are is not known, so the noise of independent ones and that which the reports show are tried.
    """
    chosen, chance, tail = measure_of(first, second, measure), Chance(table), (1 - level) / 2
    if chosen == "cramers_v":
        value = debiased(table, first, second, "cramers_v")
        low, weights = _chi_squared(table, chance.noise, FLOOR_LOW)
        both = (chance.noise, table.moved(table.noise))
        high = (_chi_squared(table, noise, FLOOR_HIGH)[0] for noise in both)
        several = weights if table.gap.size > 4 else None  # of 2 × 2 the gap is one number
        likely = _chance(low, chance, table.gap * weights, tail, several)
        return value, replace(low, chance=likely), (low, *high)
    at = moments(table.values, first.scores, second.scores)
    product = np.outer(at.x, at.y)
    value, most = scored(at, table.variance(product), chosen), 1.0
    if chosen == "covariance":
        most = math.prod(np.ptp(one.scores) / 2 for one in (first, second)) ** 2
    if chance.silent or at.scale == 0:  # nobody differs in one of the two: it is anything
        signal = Signal(0.0, 0.0, 0.0, 0.0, most)
        return value, signal, (signal,)
    scale, bend = 1.0, np.zeros_like(product)
    if chosen == "pearson":  # r divides by deviations, which have noise of their own
        scale, (first_sd, second_sd) = at.scale, at.deviations
        bend = np.add.outer((at.x / first_sd) ** 2, (at.y / second_sd) ** 2) / 2
    size, noise = at.covariance / scale, chance.variance(product) / scale**2
    slope = table.variance(product / scale - size * bend)
    signal = Signal(size**2, noise, noise**2, slope, most)
    likely = _chance(signal, chance, product * at.covariance, tail)
    signal = replace(signal, chance=likely)
    return value, signal, (signal,)


def interval(
    low: Sequence[Signal], high: Sequence[tuple[Signal, ...]], level: float
) -> tuple[Array, Array]:
    """Both ends of intervals for the measures: what a test at level (1 − level)/2 does not reject.

    T is taken for a scaled noncentral χ² with the mean and the variance of ‖δ + η‖²; that is exact
    in one dimension. An interval starts at 0 where noise alone explains T. Its upper end is never
    below the one for T = E‖η‖²: less than the usual noise proves nothing.
    """
    tail = (1 - level) / 2
    at_least = np.where(
        [signal.chance > tail for signal in low], 0.0, _solved(low, 1 - tail, usual=False)
    )
    every = _solved([signal for each in high for signal in each], tail, usual=True)
    at_most = np.maximum.reduceat(every, np.cumsum([0, *map(len, high)])[:-1])
    return np.sqrt(at_least), np.sqrt(at_most)


def _chance(
    signal: Signal, chance: Chance, pulled: Array, tail: float, weights: Array | None = None
) -> float:
    """How likely independent answers give T or more, where T = Σ pulled·gap.

    Where people are few, normal noise makes T too unlikely. Its deviance does not, and is right in
    one dimension but too careful in several. So if T is Σ weights·gap², and only normal noise makes
    it less likely than the tail, surveys are drawn to decide, if the attributes are reported apart.
    """
    at_least = _beyond(signal, signal.seen)
    if at_least > tail:
        return at_least
    at_most = _beyond(signal, signal.seen * chance.excess(pulled))
    if at_most <= tail or weights is None or not chance.apart:
        return at_most
    draws = round(_DRAWS / tail) - 1
    if draws * max(likely.size for likely in chance.likely) > _MOST_DRAWN:
        return at_most
    as_much = (chance.drawn(draws) ** 2 * weights).sum(axis=(1, 2)) >= signal.seen * (1 - 1e-9)
    return min(max((1 + int(as_much.sum())) / (1 + draws), at_least), at_most)


def _beyond(signal: Signal, seen: float) -> float:
    """How likely normal noise gives more than that; 1 where nothing is known of the noise."""
    if not (signal.noise > 0 and signal.spread > 0):
        return 1.0
    scale = signal.spread / signal.noise
    return float(chdtrc(signal.noise / scale, seen / scale))


def _solved(signals: Sequence[Signal], tail: float, *, usual: bool) -> Array:
    """The δ² at which T is the tail's quantile, by bisection; 0 where it lies below already."""
    seen, noise, spread, slope, most, _ = np.array([astuple(signal) for signal in signals]).T
    seen = np.maximum(seen, noise) if usual else seen
    silent = noise <= 0  # everybody reported the same: nothing is known of the noise
    noise, spread = np.where(silent, 1.0, noise), np.where(silent, 1.0, spread)

    def below(size: Array) -> Array:
        """P(T ≤ seen) if δ² is `size`."""
        scale = (spread + 2 * slope * size) / (noise + 2 * size)
        return _noncentral(seen / scale, noise / scale, size / scale)

    least, largest = np.zeros_like(seen), most.copy()
    for _ in range(50):
        middle = (least + largest) / 2
        above = below(middle) > tail
        least, largest = np.where(above, middle, least), np.where(above, largest, middle)
    found = np.where(below(np.zeros_like(seen)) <= tail, 0.0, largest)
    return np.where(silent, most if usual else 0.0, found)


def _noncentral(value: Array, freedom: Array, shift: Array) -> Array:
    """P(χ² ≤ value); far from 0, where the series is long, by Sankaran's normal approximation."""
    mean, twice = freedom + shift, freedom + 2 * shift
    h = 1 - 2 / 3 * mean * (freedom + 3 * shift) / twice**2
    p = twice / mean**2
    m = (h - 1) * (1 - 3 * h)
    centre = 1 + h * p * (h - 1 - 0.5 * (2 - h) * m * p)
    z = ((value / mean) ** h - centre) / (h * np.sqrt(2 * p) * (1 + 0.5 * m * p))
    near = shift < 500
    exact = chndtr(np.where(near, value, 0.0), freedom, np.where(near, shift, 0.0))
    return np.where(near, exact, ndtr(z))


def _chi_squared(table: NoisyTable, noise: Array, floor: float) -> tuple[Signal, Array]:
    """V² = Σ (π_ab − π_a π_b)²/(π_a π_b)/min(r−1, s−1), shares floored where χ² divides by them.

    With it the weights of the squares in that sum.
    """
    rows, columns = (nearest(margin) for margin in table.margins)
    errors = [np.sqrt((table.noise.sum(axis=axis) ** 2).sum(axis=-1)) for axis in (1, 0)]
    floored = np.maximum(rows, floor * errors[0]), np.maximum(columns, floor * errors[1])
    expected = np.outer(*floored) * (min(table.values.shape) - 1)
    weights = np.divide(1.0, expected, out=np.zeros_like(expected), where=expected > _ROUNDING)
    gap = table.gap
    seen = float((gap**2 * weights).sum())
    scaled = (noise * np.sqrt(weights)[..., None]).reshape(weights.size, -1)
    products = scaled @ scaled.T if len(scaled) < scaled.shape[1] else scaled.T @ scaled
    several = all((share > _ROUNDING).sum() > 1 for share in (rows, columns))
    if not several or np.trace(products) < _ROUNDING:
        return Signal(0.0, 0.0, 0.0, 0.0), weights  # all answer the same of one attribute
    # the gradient of T: through the gap, and through the shares that are not floored
    pulled = 2 * gap * weights
    gradient = pulled - (pulled @ columns)[:, None] - (rows @ pulled)[None, :]
    parts = gap**2 * weights
    for axis, own, used in ((1, rows, floored[0]), (0, columns, floored[1])):
        free = (own >= used) & (used > 0)
        through = np.divide(parts.sum(axis=axis), used, out=np.zeros_like(used), where=free)
        gradient -= np.expand_dims(through, axis)
    slope = table.variance(gradient) / (4 * seen) if seen > 0 else 0.0
    return Signal(seen, float(np.trace(products)), float((products**2).sum()), slope), weights
