"""Maximum-entropy tables from smaller ones, by iterative proportional fitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def marginal(table: np.ndarray, names: Sequence[str], kept: Sequence[str]) -> np.ndarray:
    """The table of some of its attributes, axes in the order asked for."""
    summed = table.sum(axis=tuple(i for i, name in enumerate(names) if name not in kept))
    left = [name for name in names if name in kept]
    return np.transpose(summed, [left.index(name) for name in kept])


def fit(
    names: tuple[str, ...],
    shape: Sequence[int],
    known: Mapping[tuple[str, ...], np.ndarray],
    *,
    sweeps: int = 50,
    tolerance: float = 1e-4,
) -> np.ndarray:
    """The table of largest entropy with the marginals known, each a proper distribution.

    Marginals that contradict each other are met in turn; what is left after the last sweep is a
    compromise between them.
    """
    table = np.full(shape, 1 / np.prod(shape))
    for _ in range(sweeps):
        worst = 0.0
        for kept, target in known.items():
            own = marginal(table, names, kept)
            worst = max(worst, float(np.abs(own - target).sum()))
            ratio = np.divide(target, own, out=np.zeros_like(target), where=own > 0)
            axes = [kept.index(name) for name in names if name in kept]
            spread = [size if name in kept else 1 for name, size in zip(names, shape, strict=True)]
            table = table * np.transpose(ratio, axes).reshape(spread)
        total = table.sum()
        table = table / total if total > 0 else np.full(shape, 1 / np.prod(shape))
        if worst < tolerance:
            break
    return table


def norm_sub(table: np.ndarray) -> np.ndarray:
    """The nearest distribution: negatives become 0, the rest give up the same amount (Norm-Sub)."""
    values = np.sort(table.ravel())[::-1]
    excess = (values.cumsum() - 1) / np.arange(1, len(values) + 1)
    keep = np.flatnonzero(values > excess)
    shift = excess[keep[-1]]
    return np.maximum(table - shift, 0)
