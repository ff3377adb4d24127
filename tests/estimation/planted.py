"""Interactions of planted axes, with noise."""

from itertools import combinations

import numpy as np

from mdrr.estimation.axes import Interactions

SHAPE = (4, 3, 5, 2, 4)


def centred(block):
    return block - block.mean(axis=0) - block.mean(axis=1, keepdims=True) + block.mean()


def seen_through(loadings, noise, rng, *, uneven=1.0, unseen=()):
    """The interactions of loadings, one `(r, k)` array per attribute, with noise.

    Pairs in turn have this noise and `uneven` times as much; those `unseen` have no reports.
    """
    starts = tuple(int(at) for at in np.cumsum([0, *(len(part) for part in loadings)]))
    values = np.zeros((starts[-1], starts[-1]))
    precision = np.zeros((len(loadings), len(loadings)))
    for turn, (i, j) in enumerate(combinations(range(len(loadings)), 2)):
        if (i, j) in unseen:
            continue
        own = noise * (uneven if turn % 2 else 1.0)
        block = loadings[i] @ loadings[j].T
        block = centred(block + own * rng.standard_normal(block.shape))
        values[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = block / own**2
        precision[i, j] = 1 / own**2
    return Interactions(values + values.T, precision + precision.T, starts)


def planted(shape, seed=0):
    """Margins, and one axis F with Σ_x F(x) = 0."""
    rng = np.random.default_rng(seed)
    margins = [rng.dirichlet(np.full(size, 4.0)) for size in shape]
    axis = [m * rng.uniform(-1, 1, len(m)) for m in margins]
    return margins, [(a - a.mean())[:, None] for a in axis]
