"""How surely a dependence is known: intervals for measures of unbiased tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from scipy.special import chndtr, ndtr

from mdrr.dependence.association import Measure, debiased, measure_of, moments, scored
from mdrr.dependence.noise import NoisyTable
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


def estimated(
    table: NoisyTable, first: Attribute, second: Attribute, measure: Measure = "auto"
) -> tuple[float, Signal, Signal]:
    """The debiased dependence, and what its lower and its upper end are found from (`interval`)."""
    chosen = measure_of(first, second, measure)
    if chosen == "cramers_v":
        value = debiased(table, first, second, "cramers_v")
        return value, _chi_squared(table, FLOOR_LOW), _chi_squared(table, FLOOR_HIGH)
    at = moments(table.values, first.scores, second.scores)
    product = np.outer(at.x, at.y)
    noise = table.variance(product)
    value = scored(at, noise, chosen)
    noise = max(noise, at.scale**2 / table.people)  # of independent answers, as in `_chi_squared`
    if chosen == "covariance":
        most = math.prod(np.ptp(one.scores) / 2 for one in (first, second)) ** 2
        signal = Signal(at.covariance**2, noise, noise**2, noise, most)
    elif at.scale == 0:  # nobody differs in one of the two: r is anything
        signal = Signal(0.0, 1.0, 1.0, 1.0)
    else:
        r, (first_sd, second_sd) = at.covariance / at.scale, at.deviations
        bend = np.add.outer((at.x / first_sd) ** 2, (at.y / second_sd) ** 2) / 2
        slope = table.variance(product / at.scale - r * bend)
        noise /= at.scale**2
        signal = Signal(r**2, noise, noise**2, slope)
    return value, signal, signal


def interval(low: Sequence[Signal], high: Sequence[Signal], level: float) -> tuple[Array, Array]:
    """Both ends of intervals for the measures: what a test at level (1 − level)/2 does not reject.

    T is taken for a scaled noncentral χ² with the mean and the variance of ‖δ + η‖²; that is exact
    in one dimension. An interval starts at 0 where noise alone explains T. Its upper end is never
    below the one for T = E‖η‖²: less than the usual noise proves nothing.
    """
    tail = (1 - level) / 2
    at_least = _solved(low, 1 - tail, usual=False)
    at_most = np.maximum(_solved(high, tail, usual=True), _solved(low, tail, usual=True))
    return np.sqrt(at_least), np.sqrt(at_most)


def chances(signals: Sequence[Signal]) -> Array:
    """How likely noise alone gives at least T; 1 where nothing is known of the noise."""
    seen, noise, spread = np.array([[s.seen, s.noise, s.spread] for s in signals]).T
    silent = noise <= 0
    noise, spread = np.where(silent, 1.0, noise), np.where(silent, 1.0, spread)
    scale = spread / noise
    return np.where(silent, 1.0, 1 - _noncentral(seen / scale, noise / scale, np.zeros_like(seen)))


def _solved(signals: Sequence[Signal], tail: float, *, usual: bool) -> Array:
    """The δ² at which T is the tail's quantile, by bisection; 0 where it lies below already."""
    seen, noise, spread, slope, most = np.array([astuple(signal) for signal in signals]).T
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


def _chi_squared(table: NoisyTable, floor: float) -> Signal:
    """V² = Σ (π_ab − π_a π_b)²/(π_a π_b)/min(r−1, s−1), shares floored where χ² divides by them."""
    rows, columns = (nearest(table.values.sum(axis=axis)) for axis in (1, 0))
    errors = [np.sqrt((table.noise.sum(axis=axis) ** 2).sum(axis=-1)) for axis in (1, 0)]
    floored = np.maximum(rows, floor * errors[0]), np.maximum(columns, floor * errors[1])
    expected = np.outer(*floored) * (min(table.values.shape) - 1)
    weights = np.divide(1.0, expected, out=np.zeros_like(expected), where=expected > _ROUNDING)
    gap = table.values - np.outer(rows, columns)
    seen = float((gap**2 * weights).sum())
    # what noise does to the gap: it moves the cell and both margins
    moved = (
        table.noise
        - table.noise.sum(axis=1, keepdims=True) * columns[:, None]
        - table.noise.sum(axis=0, keepdims=True) * rows[:, None, None]
    )
    scaled = (moved * np.sqrt(weights)[..., None]).reshape(weights.size, -1)
    products = scaled @ scaled.T if len(scaled) < scaled.shape[1] else scaled.T @ scaled
    seen_both = min(int((weights.sum(axis=axis) > 0).sum()) for axis in (0, 1)) > 1
    if not seen_both or np.trace(products) < _ROUNDING:
        return Signal(0.0, 0.0, 0.0, 0.0)  # all reported the same of one attribute
    # the gradient of T: through the gap, and through the shares that are not floored
    pulled = 2 * gap * weights
    gradient = pulled - (pulled @ columns)[:, None] - (rows @ pulled)[None, :]
    parts = gap**2 * weights
    for axis, own, used in ((1, rows, floored[0]), (0, columns, floored[1])):
        free = (own >= used) & (used > 0)
        through = np.divide(parts.sum(axis=axis), used, out=np.zeros_like(used), where=free)
        gradient -= np.expand_dims(through, axis)
    slope = table.variance(gradient) / (4 * seen) if seen > 0 else 0.0
    noise, spread = float(np.trace(products)), float((products**2).sum())
    least, least_spread = _by_chance((rows, columns), floored, table.people)
    return Signal(seen, max(noise, least), max(spread, least_spread), slope)


def _by_chance(
    shares: tuple[Array, Array], floored: tuple[Array, Array], people: float
) -> tuple[float, float]:
    """What the people asked give by chance alone if answers are independent: E‖η‖² and ½·Var‖η‖².

    The gap then has the covariance (diag p − ppᵀ) ⊗ (diag q − qqᵀ)/n. The reports themselves show
    too little of it where a combination is so rare that nobody reported it.
    """
    scale = 1 / people / (min(map(len, shares)) - 1)
    noise, spread = scale, scale**2
    for share, divisor in zip(shares, floored, strict=True):
        free = divisor > _ROUNDING
        roots = np.sqrt(np.divide(1.0, divisor, out=np.zeros_like(divisor), where=free))
        part = (np.diag(share) - np.outer(share, share)) * np.outer(roots, roots)
        noise, spread = noise * float(np.trace(part)), spread * float((part**2).sum())
    return noise, spread
