"""Unbiased tables of two attributes with all of their noise: variances and covariances.

A pair goes through the Kronecker product of its clusters' matrices, inverted axis by axis. What the
inverse makes of the multinomial noise of the reports is the noise of the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.unbiased import View, unbiased
from mdrr.matrix import Array, Matrix
from mdrr.tallies import Tally

_MOST_EXACT = 1024
"""So many codes of a pair get their exact covariance; the noise of more is sampled."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """An unbiased table with its noise: Cov(cell, cell') = Σ_k noise[cell, k]·noise[cell', k]."""

    values: Array  # (r, s), of sum 1; cells may be negative
    noise: Array  # (r, s, k)
    people: float = math.inf  # who reported both

    @classmethod
    def through(cls, matrix: Matrix, values: Array, people: int) -> NoisyTable:
        """An unbiased table whose cells people reported through one matrix."""
        reported = np.maximum(matrix.forward(values.ravel()), 0)  # 0 may come back as −1e-16
        noise = _scatter(reported, people)
        return cls(values, matrix.solve(noise.T).T.reshape(*values.shape, -1), people)

    def variance(self, weights: Array) -> float:
        """The variance of Σ weights·values."""
        return float((np.tensordot(weights, self.noise, axes=2) ** 2).sum())

    @property
    def variances(self) -> Array:
        """The variance of every cell."""
        return np.asarray((self.noise**2).sum(axis=-1))


def noisy_pair(tally: Tally, design: Design, first: str, second: str) -> NoisyTable:
    """The unbiased table of two attributes, pooled over the questionnaires that ask both.

    Its noise is about the population the people are a sample of.
    """
    found = unbiased(tally, design, (first, second))
    if found is None:
        raise EstimateError(f"nobody reported both {first!r} and {second!r}")
    values = found.values
    noise = np.zeros((*values.shape, 0))
    for at, (share, view) in enumerate(zip(found.shares, found.views, strict=True)):
        noise = np.concatenate([noise, share * _noise_of(view, at)], axis=-1)
        if noise.shape[-1] > 2 * values.size <= 2 * _MOST_EXACT:
            noise = _compressed(noise)
    return NoisyTable(values, noise, sum(view.n for view in found.views))


def _noise_of(view: View, seed: int) -> Array:
    """One questionnaire's noise, taken through the inverse of its matrices."""
    noise = _scatter(view.reported, view.n, seed).reshape(*view.reported.shape, -1)
    for at, axis in enumerate(view.axes):
        noise = axis.invert(noise, at)
    last = len(view.order)
    return np.transpose(noise.reshape(*view.shape, -1), (*view.order, last))


def _scatter(reported: Array, people: int, seed: int = 0) -> Array:
    """`(codes, k)`: columns whose outer products sum to the covariance of reported shares.

    (diag λ − λλᵀ)/n = AAᵀ with A = (diag √λ − λ√λᵀ)/√n. Where there are too many codes,
    A times random columns has the same covariance on average.
    """
    shares = reported.ravel()
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
