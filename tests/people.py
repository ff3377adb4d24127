"""Simulated people: known distributions, their records, and what they report."""

import numpy as np

from mdrr.domain import Domain
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import Tally, tally_codes


def distribution(domain: Domain, seed: int, concentration: float = 1.0) -> np.ndarray:
    """A random joint distribution with dependence between all attributes."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(domain.size, concentration)).reshape(domain.shape)


def records(joint: np.ndarray, n: int, seed) -> list[np.ndarray]:
    """Code columns of n people drawn from a joint distribution."""
    cells = np.random.default_rng(seed).choice(joint.size, size=n, p=joint.ravel())
    return list(np.unravel_index(cells, joint.shape))


def reported(codes, design, seed) -> Tally:
    """The tally of what these people report."""
    return tally_codes(randomize_codes(codes, design, SeededSource(seed)), design)


def share(codes, mask: np.ndarray) -> float:
    """The share of people in a set given as a mask over the whole domain."""
    return float(mask[tuple(codes)].mean())
