"""Synthetic microdata from an estimate: records drawn, or combinations repeated (section 3.2)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mdrr.errors import EstimateError
from mdrr.estimation import Estimate
from mdrr.estimation.result import labelled
from mdrr.matrix import Array


def largest_remainder(probabilities: Array, n: int) -> npt.NDArray[np.int64]:
    """How often to repeat each combination so that the repeats sum to n exactly.

    Each gets the whole part of n·probability; what is left goes to the largest remainders, ties
    to the first.

    >>> largest_remainder(np.array([0.5, 0.3, 0.2]), 4)
    array([2, 1, 1])
    """
    exact = probabilities / probabilities.sum() * n
    repeats: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(repeats - exact, kind="stable")
    repeats[order[: n - int(repeats.sum())]] += 1
    return repeats


def synthesize(
    estimate: Estimate,
    n: int | None = None,
    *,
    how: Literal["sample", "repeat"] = "sample",
    seed: int | None = None,
    backend: str | None = None,
) -> Any:
    """A synthetic data set of n records, as a data frame of labels.

    Arguments:
        estimate: the joint distribution.
        n: how many records; as many as people reported by default.
        how: `"sample"` draws records at random; their tables differ from the estimate's only by
            chance. `"repeat"` is the paper's way: each combination is repeated in proportion to
            its probability (largest remainder), without chance. It drops combinations that are
            rarer than about one in n, so use it only if n is much larger than the domain.
        seed: for `"sample"`, to get the same records again.
        backend: `"polars"`, `"pandas"` or `"pyarrow"`; by default as `Estimate.sample`.
    """
    n = estimate.n if n is None else n
    if n < 1:
        raise EstimateError(f"n={n}: make at least one record")
    if how == "sample":
        return estimate.sample(n, seed=seed, backend=backend)
    if how != "repeat":
        raise EstimateError(f"how={how!r}: choose 'repeat' or 'sample'")
    columns, probabilities = estimate.joint.combinations()
    repeats = largest_remainder(probabilities, n)
    records = [np.repeat(column, repeats) for column in columns]
    return estimate.frame(labelled(estimate.domain.attributes, records), backend)
