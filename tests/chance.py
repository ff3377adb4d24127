"""False-alarm rates, stated: where every tolerance and verdict of a statistical test comes from.

`ALPHA` is the chance that a right program fails one verdict. Seeds are fixed, so a test that passed
once passes always; the rate says how much luck was needed to choose the seed.

And where chance comes from: `Recorded` stands for the system's random bytes, `nothing_else` holds
every other source of chance still.
"""

import hashlib
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

ALPHA = 1e-5


def z(alpha: float = ALPHA) -> float:
    """How many standard errors a normal estimate strays with probability alpha."""
    return float(stats.norm.isf(alpha / 2))


def surprise(observed, probabilities) -> float:
    """The p-value of Pearson's χ² test; cells with an expected count below 5 are put together."""
    observed = np.asarray(observed, dtype=float).ravel()
    expected = np.asarray(probabilities, dtype=float).ravel() * observed.sum()
    if observed[expected == 0].any():
        return 0.0
    small = expected < 5
    cells = [observed[~small], [observed[small].sum()]]
    wanted = [expected[~small], [expected[small].sum()]]
    observed, expected = np.concatenate(cells), np.concatenate(wanted)
    kept = expected > 0
    observed, expected = observed[kept], expected[kept]
    if len(expected) < 2:
        return 1.0
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(expected) - 1))


def least_surprise(p_values) -> float:
    """The smallest p-value after Bonferroni's correction."""
    p_values = list(p_values)
    assert p_values, "nothing was tested"
    return min(p_values) * len(p_values)


def deviation_allowed(variance, n: float = 1.0):
    """How far a mean of n values of that variance may stray."""
    return z() * np.sqrt(np.asarray(variance) / n)


def aes_256(key: bytes, count: int) -> bytes:
    """The first bytes of AES-256 in counter mode, from 2, as within GCM under the nonce 0."""
    assert len(key) == 32
    counter = modes.CTR(bytes(15) + b"\x02")
    return Cipher(algorithms.AES(key), counter).encryptor().update(bytes(count))


class Recorded:
    """Bytes that are known in place of the system's, and every piece that was read of them."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def __call__(self, count: int) -> bytes:
        self.pieces.append(hashlib.shake_256(str(len(self.pieces)).encode()).digest(count))
        return self.pieces[-1]


@contextmanager
def nothing_else() -> Iterator[None]:
    """Seeds and clocks the same each time: what differs between two runs the system has drawn."""
    python, old = random.getstate(), np.random.get_state()  # noqa: NPY002
    with pytest.MonkeyPatch.context() as patch:
        for clock in ("time", "monotonic", "perf_counter", "process_time"):
            patch.setattr(time, clock, lambda: 1e9)
            patch.setattr(time, f"{clock}_ns", lambda: 10**18)
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(old)  # noqa: NPY002
