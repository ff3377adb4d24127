"""From an unbiased estimate, which may be negative, to a proper distribution (section 6.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import log_ndtr

from mdrr.errors import EstimateError
from mdrr.matrix import Array

Projection: TypeAlias = Literal["euclidean", "clip"]


def clip_rescale(values: Array) -> Array:
    """Replace negative values by 0 and rescale to sum 1: the paper's procedure.

    The paper calls the result the closest distribution; it is not (see `nearest`).

    >>> clip_rescale(np.array([0.7, 0.5, -0.2])).round(3)
    array([0.583, 0.417, 0.   ])
    """
    clipped = np.maximum(values, 0)
    total = clipped.sum()
    if not total > 0:
        raise EstimateError("no value is positive, so no distribution can be made of them")
    return np.asarray(clipped / total)


def nearest(values: Array) -> Array:
    """The distribution nearest in Euclidean distance: max(v − τ, 0) with the τ that sums to 1.

    The values may have any shape; their whole is one distribution. Sorting finds τ (Held, Wolfe
    and Crowder 1974) in O(r log r).

    >>> nearest(np.array([0.7, 0.5, -0.2])).round(3)
    array([0.6, 0.4, 0. ])
    """
    if not (values.size and np.isfinite(values).all()):
        raise EstimateError("a distribution is made of one finite number or more; one is missing")
    return nearest_rows(values.reshape(1, -1), np.ones(1)).reshape(values.shape)


def nearest_rows(values: Array, masses: Array) -> Array:
    """The same for each row of a table on its own, whose sum is known.

    >>> nearest_rows(np.array([[0.35, 0.25, -0.1], [0.1, 0.3, 0.1]]), np.array([0.5, 0.5])).round(2)
    array([[0.3, 0.2, 0. ],
           [0.1, 0.3, 0.1]])
    """
    sums = np.cumsum(np.sort(values, axis=1)[:, ::-1], axis=1) - masses[:, None]
    ranks = np.arange(1, values.shape[1] + 1)
    shifts = (sums / ranks).max(axis=1, keepdims=True)
    projected = np.maximum(values - shifts, 0)
    totals = projected.sum(axis=1, keepdims=True)
    return np.asarray(projected * (masses[:, None] / np.where(totals > 0, totals, 1)))


PROJECTIONS: dict[str, Callable[[Array], Array]] = {"euclidean": nearest, "clip": clip_rescale}


def project(values: Array, how: Projection = "euclidean") -> Array:
    """The proper distribution made of an estimate, by name of the procedure."""
    try:
        return PROJECTIONS[how](values)
    except KeyError:
        raise EstimateError(
            f"there is no projection {how!r}. Known: {', '.join(map(repr, PROJECTIONS))}"
        ) from None


def posterior_mean(values: Array, errors: Array) -> Array:
    """The mean of the distributions an unbiased estimate leaves possible: proper and positive.

    With a flat prior, a true share given an estimate v with standard error σ is normal cut at 0,
    of mean m(v) = v + σ·φ(v/σ)/Φ(v/σ). The result is m(v − τ) with the τ that makes it sum to 1:
    the Euclidean projection where the errors are small, without its zeros where they are not. That
    is the mean where all cells err about alike, as they do after a constant matrix. Values may have
    any shape; their whole is one distribution, and `errors` are its cells' standard errors.

    >>> posterior_mean(np.array([0.7, 0.5, -0.2]), np.full(3, 0.1)).round(3)
    array([0.586, 0.386, 0.027])
    >>> posterior_mean(np.array([0.7, 0.5, -0.2]), np.zeros(3)).round(3)
    array([0.6, 0.4, 0. ])
    """
    errors = np.broadcast_to(errors, values.shape)
    if not (np.isfinite(errors).all() and (errors >= 0).all()):
        raise EstimateError("standard errors are finite and not negative; one is not")
    if not (errors.size and np.isfinite(values).all() and errors.max() > 0):
        return nearest(values)
    sigma = np.maximum(errors, 1e-9 * errors.max())

    def means(shift: float) -> Array:
        z = (values - shift) / sigma
        near = np.maximum(z, -30.0)
        hazard = np.exp(-0.5 * near**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(near))
        return np.asarray(sigma * np.where(z > -30, z + hazard, -1 / np.minimum(z, -1)))

    lowest, highest = float(values.min()) - 2, float(values.max() + 2 * (sigma**2).sum())
    from scipy.optimize import brentq  # slow to import, and seldom needed

    shift = brentq(lambda t: float(means(t).sum()) - 1, lowest, highest, xtol=1e-14)
    found = means(float(shift))
    return np.asarray(found / found.sum())
