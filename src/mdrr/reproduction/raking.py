"""Algorithm 2, compiled: the raking of `mdrr.estimation.rake`, one pass over records a margin.

Scaling to one margin and summing for the next happen in the same pass, and four sets of sums are
kept so that records with the same category do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numba
import numpy as np
import numpy.typing as npt

from mdrr.errors import EstimateError
from mdrr.estimation.adjust import Adjustment
from mdrr.matrix import Array


def rake_records(
    columns: Sequence[npt.NDArray[Any]],
    targets: Sequence[Array],
    *,
    tolerance: float = 1e-6,
    sweeps: int = 1000,
) -> Adjustment:
    """Weights of randomized records that reach the target margins, from 1/n each.

    Arguments:
        columns: codes of the records, one `unsigned (n,)` array per attribute or cluster.
        targets: the wanted distribution of each, summing to 1. Mass on a code that no record has
            cannot be reached and goes to the others in proportion.
        tolerance: stop when no margin is further than this from its target before a sweep's end.
        sweeps: stop after so many sweeps.

    Example:
        >>> first = np.repeat(np.array([0, 1, 1], dtype=np.uint8), (4, 2, 4))
        >>> second = np.repeat(np.array([0, 0, 1], dtype=np.uint8), (4, 2, 4))
        >>> half = np.array([0.5, 0.5])
        >>> found = rake_records([first, second], [half, half], tolerance=1e-4, sweeps=10_000)
        >>> found.weights[[0, 4, 6]].round(3), found.stopped
        (array([0.125, 0.   , 0.125]), 'tolerance')
    """
    widest = max(len(target) for target in targets)
    wanted = np.zeros((len(targets), widest))
    unreached: list[tuple[int, int]] = []
    for j, (column, target) in enumerate(zip(columns, targets, strict=True)):
        seen = np.bincount(column, minlength=len(target)) > 0
        unreached += [(j, int(v)) for v in np.flatnonzero(~seen & (target > 0))]
        mass = float(target[seen].sum())
        if not mass > 0:
            raise EstimateError(f"no record has a category that target {j} allows")
        wanted[j, : len(target)] = np.where(seen, target, 0) / mass
    kind = np.uint8 if widest <= 256 else np.uint16
    codes = np.stack([column.astype(kind) for column in columns])
    weights = np.full(codes.shape[1], 1 / codes.shape[1])
    residual, used = _rake(codes, wanted, weights, tolerance, sweeps)
    stopped: Literal["tolerance", "sweeps"] = "tolerance" if residual < tolerance else "sweeps"
    return Adjustment(weights, residual, used, stopped, tuple(unreached))


@numba.njit(cache=True, nogil=True)
def _rake(
    codes: npt.NDArray[Any], wanted: Array, weights: Array, tolerance: float, sweeps: int
) -> tuple[float, int]:
    m, n = codes.shape
    sums = np.zeros((4, wanted.shape[1]))
    for i in range(n):
        sums[0, codes[0, i]] += weights[i]
    factors = np.empty(wanted.shape[1])
    residual = np.inf
    for sweep in range(1, sweeps + 1):
        residual = 0.0
        for j in range(m):
            for v in range(wanted.shape[1]):
                total = sums[0, v] + sums[1, v] + sums[2, v] + sums[3, v]
                residual = max(residual, abs(total - wanted[j, v]))
                factors[v] = wanted[j, v] / total if total > 0 else 0.0
            sums[:] = 0.0
            here, after = codes[j], codes[(j + 1) % m]
            for i in range(0, n - 3, 4):
                for k in range(4):
                    scaled = weights[i + k] * factors[here[i + k]]
                    weights[i + k] = scaled
                    sums[k, after[i + k]] += scaled
            for i in range(n - n % 4, n):
                scaled = weights[i] * factors[here[i]]
                weights[i] = scaled
                sums[0, after[i]] += scaled
        if residual < tolerance:
            return residual, sweep
    return residual, sweeps
