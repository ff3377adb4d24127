"""Frequency oracles of one categorical value: GRR, OUE, and which one when (Wang et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.protocols import epsilon_of, p_of


def epsilons_of(epsilon: float, shape: Sequence[int]) -> list[float]:
    """RR-Independent's split of a budget: every attribute keeps the truth equally often."""
    p = p_of(epsilon, shape)
    return [epsilon_of(p, size) for size in shape]


def grr_parameters(cells: int, epsilon: float) -> tuple[float, float]:
    """The probability of the true cell, and of each other."""
    q = 1 / (math.exp(epsilon) + cells - 1)
    return 1 - (cells - 1) * q, q


def grr(codes: np.ndarray, cells: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Generalized randomized response of every person."""
    p, _ = grr_parameters(cells, epsilon)
    other = (codes + rng.integers(1, cells, size=len(codes))) % cells
    return np.where(rng.random(len(codes)) < p, codes, other)


def oue_counts(counts: np.ndarray, n: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """How often each bit is sent under OUE: bits are independent, so only counts matter."""
    q = 1 / (math.exp(epsilon) + 1)
    return rng.binomial(counts, 0.5) + rng.binomial(n - counts, q)


@dataclass(frozen=True)
class Oracle:
    """Which oracle a table of this many cells gets: the one with the smaller variance."""

    cells: int
    epsilon: float

    @property
    def grr_is_better(self) -> bool:
        return self.cells < 3 * math.exp(self.epsilon) + 2

    @property
    def noise(self) -> float:
        """n times the variance of one cell of probability 0."""
        if self.grr_is_better:
            p, q = grr_parameters(self.cells, self.epsilon)
            return q * (1 - q) / (p - q) ** 2
        e = math.exp(self.epsilon)
        return 4 * e / (e - 1) ** 2

    def noise_of_sum(self, parts: int) -> float:
        """n times the variance of the sum of `parts` cells that are empty."""
        if self.grr_is_better:  # such a sum is again one outcome, of probability parts·q
            p, q = grr_parameters(self.cells, self.epsilon)
            return parts * q * (1 - parts * q) / (p - q) ** 2
        return parts * self.noise

    def estimate(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Everyone reports a cell; the unbiased shares of the cells."""
        n = max(len(codes), 1)
        if self.grr_is_better:
            p, q = grr_parameters(self.cells, self.epsilon)
            sent = np.bincount(grr(codes, self.cells, self.epsilon, rng), minlength=self.cells)
        else:
            p, q = 0.5, 1 / (math.exp(self.epsilon) + 1)
            counts = np.bincount(codes, minlength=self.cells)
            sent = oue_counts(counts, len(codes), self.epsilon, rng)
        return (sent / n - q) / (p - q)
