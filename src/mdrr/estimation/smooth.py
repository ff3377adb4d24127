"""The distribution of an ordered attribute: EM with as much smoothing as its reports bear.

After each step of the iterative Bayesian update the distribution is mixed with its neighbours
(Li et al. 2020). Smooth distributions gain much from that and spiky ones lose, so the strength is
chosen by likelihood: fitted on one half of the reports, judged on the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from mdrr.estimation.invert import frequencies
from mdrr.matrix import Array

STRENGTHS = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4)


class Through(Protocol):
    """What reports come through: a matrix, or several side by side."""

    @property
    def cells(self) -> int:
        """How many there are."""

    def forward(self, shares: Array, /) -> Array:
        """The distribution of the reports."""

    def backward(self, values: Array, /) -> Array:
        """The expected value of a report's value, for every true cell."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """What was found, with how much smoothing, and why it stopped."""

    distribution: Array
    strength: float
    sweeps: int
    gain: float
    stopped: Literal["tolerance", "sweeps"]


def smoothed_update(
    counts: npt.ArrayLike,
    matrix: Through,
    *,
    strength: float | None = None,
    tolerance: float = 1e-4,
    sweeps: int = 5000,
) -> Smoothed:
    """EM with smoothing over neighbouring cells.

    π ← EM step, then π(x) ← (1−2λ)·π(x) + λ·(π(x−1) + π(x+1)), ends repeated.

    Arguments:
        counts: how often each code was reported, `(s,)`.
        matrix: through which; its cells must be ordered.
        strength: λ between 0 and 1/4; chosen on held-out reports by default.
        tolerance: stop when a sweep gains less than this in log-likelihood.
        sweeps: stop after so many sweeps.

    Example:
        >>> from mdrr.matrix import banded_matrix
        >>> matrix = banded_matrix(8, epsilon=3.0)
        >>> truth = np.array([1, 2, 4, 6, 4, 2, 1, 0]) / 20
        >>> found = smoothed_update(matrix.forward(truth) * 1e6, matrix, strength=0.0)
        >>> found.distribution.round(2)
        array([0.05, 0.1 , 0.2 , 0.3 , 0.2 , 0.1 , 0.05, 0.  ])
    """
    array = np.asarray(counts, dtype=np.float64)
    frequencies(array)
    if strength is None:
        strength = choose_strength(array, matrix)
    return _fit(array, matrix, strength, tolerance, sweeps)


def choose_strength(counts: Array, matrix: Through) -> float:
    """The smoothing under which one half of the reports best predicts the other, both ways.

    Reports are dealt to the halves by a fixed seed, so the same counts give the same choice.
    """
    whole = np.rint(counts).astype(np.int64)
    first = np.random.default_rng(2020).binomial(whole, 0.5).astype(np.float64)
    halves = (first, whole - first)
    if min(half.sum() for half in halves) == 0:
        return 0.0

    def told(strength: float) -> float:
        total = 0.0
        for fitted, judged in (halves, halves[::-1]):
            found = _fit(fitted, matrix, strength, 1e-3, 800)
            expected = matrix.forward(found.distribution)
            seen = judged > 0
            total += float(judged[seen] @ np.log(np.maximum(expected[seen], 1e-300)))
        return total

    return max(STRENGTHS, key=told)


def _fit(
    counts: Array, matrix: Through, strength: float, tolerance: float, sweeps: int
) -> Smoothed:
    shares = counts / counts.sum()
    seen = counts > 0
    pi = np.full(matrix.cells, 1 / matrix.cells)
    before, gain = -np.inf, np.inf
    for sweep in range(1, sweeps + 1):
        expected = matrix.forward(pi)
        told = float(counts[seen] @ np.log(expected[seen]))
        gain, before = told - before, told
        if gain < tolerance and sweep > 10:
            return Smoothed(pi, strength, sweep, gain, "tolerance")
        ratio = np.divide(shares, expected, out=np.zeros_like(shares), where=expected > 0)
        pi = pi * matrix.backward(ratio)
        if strength:
            edges = np.pad(pi, 1, mode="edge")
            pi = (1 - 2 * strength) * pi + strength * (edges[:-2] + edges[2:])
        pi /= pi.sum()
    return Smoothed(pi, strength, sweeps, gain, "sweeps")
