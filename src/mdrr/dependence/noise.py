"""Unbiased tables of two attributes with all of their noise: variances and covariances.

A pair goes through the Kronecker product of its clusters' matrices, inverted axis by axis. What the
inverse makes of the multinomial noise of the reports is the noise of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.unbiased import Unbiased, View, pooled, unbiased
from mdrr.matrix import Array, Matrix, Through
from mdrr.tallies import Tally

_MOST_EXACT = 1024
"""So many codes of a pair get their exact covariance; the noise of more is sampled."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """An unbiased table of two attributes with its noise, which is about the population."""

    found: Unbiased

    @classmethod
    def through(cls, matrix: Matrix, values: Array, people: int) -> NoisyTable:
        """An unbiased table whose cells people reported through one matrix."""
        reported = np.maximum(matrix.forward(values.ravel()), 0)  # 0 may come back as −1e-16
        axis = Through(matrix, values.shape, (0, 1))
        view = View(people, (axis,), reported / reported.sum(), values.shape, (0, 1))
        return cls(pooled(("first", "second"), [view], people))

    @property
    def values(self) -> Array:
        """`(r, s)`, of sum 1; cells may be negative."""
        return self.found.values

    @cached_property
    def margins(self) -> tuple[Array, Array]:
        """The sums over columns and over rows; shares may be negative."""
        return self.values.sum(axis=1), self.values.sum(axis=0)

    @cached_property
    def gap(self) -> Array:
        """π_ab − π_a π_b. Every row and column sums to 0."""
        return self.values - np.outer(*self.margins)

    @cached_property
    def noise(self) -> Array:
        """`(r, s, k)`: Cov(cell, cell') = Σ_k noise[cell, k]·noise[cell', k]."""
        return self.noise_of([view.reported for view in self.found.views])

    def noise_of(self, likely: Sequence[Array]) -> Array:
        """The same if each view's codes are so likely."""
        noise = np.zeros((*self.values.shape, 0))
        parts = zip(self.found.shares, self.found.views, likely, strict=True)
        for at, (share, view, codes) in enumerate(parts):
            noise = np.concatenate([noise, share * _noise_of(view, codes, at)], axis=-1)
            if noise.shape[-1] > 2 * self.values.size <= 2 * _MOST_EXACT:
                noise = _compressed(noise)
        return noise

    def moved(self, noise: Array) -> Array:
        """What noise does to the gap: it moves the cell and both margins."""
        rows, columns = self.margins
        return np.asarray(
            noise
            - noise.sum(axis=1, keepdims=True) * columns[:, None]
            - noise.sum(axis=0, keepdims=True) * rows[:, None, None]
        )

    def variance(self, weights: Array) -> float:
        """The variance of Σ weights·values."""
        return float((np.tensordot(weights, self.noise, axes=2) ** 2).sum())

    @property
    def variances(self) -> Array:
        """The variance of every cell."""
        return np.asarray((self.noise**2).sum(axis=-1))


def noisy_pair(tally: Tally, design: Design, first: str, second: str) -> NoisyTable:
    """The unbiased table of two attributes, pooled over the questionnaires that ask both."""
    found = unbiased(tally, design, (first, second))
    if found is None:
        raise EstimateError(f"nobody reported both {first!r} and {second!r}")
    return NoisyTable(found)


def _noise_of(view: View, likely: Array, seed: int) -> Array:
    """One questionnaire's noise, taken through the inverse of its matrices."""
    noise = _scatter(likely, view.n, seed).reshape(*likely.shape, -1)
    for at, axis in enumerate(view.axes):
        noise = axis.invert(noise, at)
    last = len(view.order)
    return np.transpose(noise.reshape(*view.shape, -1), (*view.order, last))


def _scatter(likely: Array, people: int, seed: int) -> Array:
    """`(codes, k)`: columns whose outer products sum to the covariance of reported shares.

    (diag λ − λλᵀ)/n = AAᵀ with A = (diag √λ − λ√λᵀ)/√n. Where there are too many codes,
    A times random columns has the same covariance on average.
    """
    shares = likely.ravel()
    roots = np.sqrt(shares)
    if len(shares) <= _MOST_EXACT:
        probes = np.eye(len(shares))
    else:
        draws = min(max(2**22 // len(shares), 8), 256)
        probes = np.random.default_rng(seed).standard_normal((len(shares), draws))
        probes /= math.sqrt(draws)
    spread = roots[:, None] * probes - np.outer(shares, roots @ probes)
    return np.asarray(spread / math.sqrt(people))


def _compressed(noise: Array) -> Array:
    """The same covariance in as many columns as there are cells."""
    flat = noise.reshape(-1, noise.shape[-1])
    variances, directions = np.linalg.eigh(flat @ flat.T)
    return np.asarray(directions * np.sqrt(np.maximum(variances, 0))).reshape(*noise.shape[:2], -1)
