"""The iterative Bayesian update: the likeliest distribution behind reported counts, by EM.

π(x) ← π(x) · Σ_y λ̂(y) P(y|x) / Σ_x' P(y|x') π(x') (Agrawal and Aggarwal 2001). For ordered cells
each step may be followed by mixing with the neighbours (Li et al. 2020): smooth distributions gain
much from that and spiky ones lose, so its strength is chosen on held-out reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.errors import EstimateError
from mdrr.matrix import Array, Matrix, Through

STRENGTHS = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4)
"""The strengths of smoothing that are tried."""


@dataclass(frozen=True, eq=False)
class Stacked:
    """The channel of people of whom a share each reported through one of several."""

    axes: Sequence[Through]
    shares: Sequence[float]

    @property
    def cells(self) -> int:
        """Those of each."""
        return self.axes[0].cells

    def forward(self, distribution: Array) -> Array:
        """The reports through all channels, one after the other."""
        parts = [w * a.forward(distribution) for a, w in zip(self.axes, self.shares, strict=True)]
        return np.concatenate(parts)

    def backward(self, values: Array) -> Array:
        """Each channel's part of the values, taken back and added up."""
        ends = np.cumsum([axis.outcomes for axis in self.axes])[:-1]
        parts = zip(self.axes, self.shares, np.split(values, ends), strict=True)
        return np.asarray(sum(w * axis.backward(part) for axis, w, part in parts))


Channel: TypeAlias = Matrix | Through | Stacked
"""What reports come through: it takes distributions forward, and values of reports backward."""


@dataclass(frozen=True, eq=False)
class Update:
    """What was found, with how much smoothing, and why it stopped.

    `change` is the last sweep's, in total variation.
    """

    distribution: Array
    sweeps: int
    change: float
    stopped: Literal["tolerance", "sweeps"]
    strength: float = 0.0


def frequencies(counts: npt.ArrayLike) -> Array:
    """λ̂: counts as shares of their sum, or an error when nothing was counted."""
    array = np.asarray(counts, dtype=np.float64)
    if not np.isfinite(array).all() or (array < 0).any():
        raise EstimateError("counts must be finite and not negative")
    total = array.sum()
    if not total > 0:
        raise EstimateError("there are no reports to estimate from")
    return np.asarray(array / total)


def bayesian_update(
    counts: npt.ArrayLike,
    matrix: Channel,
    *,
    start: Array | None = None,
    strength: float = 0.0,
    tolerance: float = 1e-9,
    sweeps: int = 10_000,
) -> Update:
    """EM from the uniform distribution or `start`; the inverse wherever that is proper.

    Arguments:
        counts: how often each code was reported, `(s,)`.
        matrix: through which the codes were reported.
        start: where to begin; positive where the result may be.
        strength: λ, after each step π(x) ← (1−2λ)·π(x) + λ·(π(x−1) + π(x+1)), ends repeated.
        tolerance: stop when a sweep changes π by less than this in total variation.
        sweeps: stop after so many sweeps.

    Example:
        >>> from mdrr.matrix import Constant
        >>> found = bayesian_update([60, 40], Constant(2, diagonal=49152, off=16384))
        >>> found.distribution.round(4), found.stopped
        (array([0.7, 0.3]), 'tolerance')
    """
    shares = frequencies(counts)
    pi = np.full(matrix.cells, 1 / matrix.cells) if start is None else start / start.sum()
    change = np.inf
    for sweep in range(1, sweeps + 1):
        expected = matrix.forward(pi)
        ratio = np.divide(shares, expected, out=np.zeros_like(shares), where=expected > 0)
        updated = pi * matrix.backward(ratio)
        if strength:
            edges = np.pad(updated, 1, mode="edge")
            updated = (1 - 2 * strength) * updated + strength * (edges[:-2] + edges[2:])
        updated /= updated.sum()
        change = float(np.abs(updated - pi).sum() / 2)
        pi = updated
        if change < tolerance:
            return Update(pi, sweep, change, "tolerance", strength)
    return Update(pi, sweeps, change, "sweeps", strength)


def smoothed_update(
    counts: npt.ArrayLike, matrix: Channel, *, strength: float | None = None
) -> Update:
    """EM for ordered cells, with as much smoothing as the reports bear.

    The strength λ, between 0 and 1/4, is chosen on held-out reports unless it is given.

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
    return _until_even(array, matrix, strength, 1e-4, 5000)


def choose_strength(counts: Array, matrix: Channel) -> float:
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
            found = _until_even(fitted, matrix, strength, 1e-3, 800)
            total += _log_likelihood(judged, matrix, found.distribution)
        return total

    return max(STRENGTHS, key=told)


def _log_likelihood(counts: Array, matrix: Channel, distribution: Array) -> float:
    """Of reports that come from a distribution."""
    seen = counts > 0
    return float(counts[seen] @ np.log(np.maximum(matrix.forward(distribution)[seen], 1e-300)))


def _until_even(
    counts: Array, matrix: Channel, strength: float, nats: float, sweeps: int
) -> Update:
    """EM until a sweep gains less than some nats of log-likelihood: noise is not followed further.

    Ten sweeps at a time go from where the last ones ended.
    """
    pi, told, done = None, -np.inf, 0
    while True:
        found = bayesian_update(
            counts, matrix, start=pi, strength=strength, tolerance=0.0, sweeps=10
        )
        pi, done = found.distribution, done + 10
        before, told = told, _log_likelihood(counts, matrix, pi)
        even = told - before < 10 * nats
        if even or done >= sweeps:
            return Update(pi, done, found.change, "tolerance" if even else "sweeps", strength)
