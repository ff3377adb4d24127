"""The error of a count query, predicted in closed form before anyone is asked.

An unbiased estimate of a count is a sum of scores f(Y) over the reports, with E[f(Y) | x] = w(x)
where w says which cells are counted. Two standard deviations matter:

- *noise*, against the people who answered: √(n·(E f² − E w²)), the randomization alone;
- *total*, against the population they were drawn from: √(n·(E f² − (E w)²)).

The scores divide by the signal that survives randomization. So whoever sends a report of her choice
moves the estimate by more than one person: the more private the design, the heavier a lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import EstimateError
from mdrr.matrix import Array, Constant, Matrix
from mdrr.privacy.fields import json_fields
from mdrr.theory.frequencies import check_people, check_shares


@dataclass(frozen=True, slots=True)
class CountError:
    """A count's expectation and its predicted error, in people.

    `bias` is what a wrong assumption (independence) adds on average; 0 for unbiased estimates.
    """

    n: int
    count: float
    noise: float
    total: float
    bias: float = 0.0

    @property
    def rmse(self) -> float:
        """√(noise² + bias²): the error against the people who answered."""
        return math.hypot(self.noise, self.bias)

    @property
    def relative(self) -> float:
        """The rmse over the count; infinite when nobody is counted."""
        return self.rmse / self.count if self.count > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """The fields with `rmse` and `relative`, JSON-ready."""
        return json_fields(self) | json_fields({"rmse": self.rmse, "relative": self.relative})


def count_error(
    matrices: Matrix | Sequence[Matrix], chosen: npt.ArrayLike, truth: npt.ArrayLike, n: int
) -> CountError:
    """The predicted error of a count estimated by inverting the matrices, axis by axis.

    With several matrices the pair's (or triple's) matrix is their Kronecker product, so the joint
    of clusters that were randomized apart is estimated without assuming independence.

    Arguments:
        matrices: the matrix of the cluster the query looks at, or one per cluster.
        chosen: which combinations are counted, with one axis per matrix; 0/1, or weights.
        truth: the (supposed) true distribution, of the same shape.
        n: how many people report all these clusters.

    Example:
        >>> from mdrr.matrix import constant_matrix
        >>> sex, income = constant_matrix(2, p=0.5), constant_matrix(2, p=0.5)
        >>> found = count_error([sex, income], [[0, 1], [0, 0]], [[0.4, 0.1], [0.2, 0.3]], 10_000)
        >>> round(found.count), round(found.noise, 1)
        (1000, 111.2)
    """
    axes = _matrices(matrices)
    weights, pi = _of_shape(chosen, axes, "chosen"), _of_shape(truth, axes, "truth")
    check_shares(pi, "truth")
    check_people(n)
    lam = pi
    for axis, matrix in enumerate(axes):
        lam = np.moveaxis(matrix.forward(np.moveaxis(lam, axis, -1)), -1, axis)
    second = float((lam * _scores(weights, axes) ** 2).sum())
    mean, square = float((pi * weights).sum()), float((pi * weights**2).sum())
    return CountError(n, n * mean, _root(n * (second - square)), _root(n * (second - mean**2)))


def product_count_error(
    matrices: Sequence[Matrix],
    chosen: Sequence[npt.ArrayLike],
    truths: Sequence[npt.ArrayLike],
    n: int,
    *,
    share: float | None = None,
) -> CountError:
    """The predicted error of a count estimated as n·Π_C π̂_C(S_C), assuming independent clusters.

    Clusters are randomized independently, so for shares with means μ and variances σ² the product
    has variance Π(μ²+σ²) − Πμ². It estimates n·Πμ: pass the true share to have the bias as well.
    `total` takes the clusters to be independent in the population too.

    For each cluster the query looks at, give its matrix, which cells are counted, (r,), and the
    true distribution, (r,).

    Example:
        >>> from mdrr.matrix import constant_matrix
        >>> coin = constant_matrix(2, p=0.5)
        >>> found = product_count_error(
        ...     [coin] * 2, [[1, 0], [0, 1]], [[0.5, 0.5], [0.6, 0.4]], 10_000, share=0.1)
        >>> round(found.count), round(found.noise, 1), round(found.bias)
        (1000, 55.5, 1000)
    """
    axes = _matrices(matrices)
    if not len(axes) == len(chosen) == len(truths):
        raise EstimateError(
            f"{len(axes)} matrices, {len(chosen)} choices and {len(truths)} distributions: "
            "give one of each per cluster"
        )
    parts = [count_error(*each, n) for each in zip(axes, chosen, truths, strict=True)]
    product = math.prod(part.count / n for part in parts)
    if share is None:
        share = product
    elif not 0 <= share <= 1 + 1e-9:
        raise EstimateError(f"share={share} is not a share of people")

    noise = math.prod((part.count**2 + part.noise**2) / n**2 for part in parts)
    total = math.prod((part.count**2 + part.total**2) / n**2 for part in parts)
    noise, total = (n * _root(square - product**2) for square in (noise, total))
    return CountError(n, n * share, noise, total, n * (product - share))


@dataclass(frozen=True, slots=True)
class Influence:
    """What one report can do to an estimated count, in people.

    `most` and `least`: the largest and smallest amount that one report adds. `swing`: the largest
    change when an existing report is replaced. For an estimated share divide by n.
    """

    most: float
    least: float
    swing: float

    def forgers(self, people: float) -> int:
        """How many forged reports, in place of honest ones, move the count by this many people.

        >>> Influence(most=1.5, least=-0.5, swing=2.0).forgers(100)
        50
        """
        if not (math.isfinite(people) and people >= 0):
            raise EstimateError(f"people={people} must be a number, 0 or more")
        return math.ceil(people / self.swing)

    to_dict = json_fields


def influence(
    matrices: Matrix | Sequence[Matrix], chosen: npt.ArrayLike | None = None
) -> Influence:
    """How far one report moves the unbiased estimate of a count.

    The estimate is Σ f(y) over the reports with P f = w, so a report y adds f(y). For one cell of
    a constant matrix: (1−o)/s at most, −o/s at least, a swing of 1/s.

    Give the matrix of a cluster, or one per cluster if the estimate inverts several. `chosen` says
    which combinations are counted, one axis per matrix; without it, the single cell that a report
    can move most (one matrix only).

    Example:
        >>> from mdrr.matrix import Constant
        >>> influence(Constant(2, diagonal=49152, off=16384))
        Influence(most=1.5, least=-0.5, swing=2.0)
    """
    axes = _matrices(matrices)
    if chosen is not None:
        scores = _scores(_of_shape(chosen, axes, "chosen"), axes)
    elif len(axes) > 1:
        raise EstimateError("with several matrices say which combinations are counted")
    elif isinstance(axes[0], Constant):
        s, o = axes[0].signal, axes[0].floor
        return Influence((1 - o) / s, -o / s, 1 / s)
    else:
        every = axes[0].scores(np.eye(axes[0].cells))
        scores = every[int(np.argmax(np.ptp(every, axis=1)))]
    most, least = float(scores.max()), float(scores.min())
    return Influence(most, least, most - least)


def _matrices(matrices: Matrix | Sequence[Matrix]) -> list[Matrix]:
    found = list(matrices) if isinstance(matrices, Sequence) else [matrices]
    if not found:
        raise EstimateError("give at least one matrix")
    return found


def _of_shape(values: npt.ArrayLike, axes: Sequence[Matrix], what: str) -> Array:
    array, shape = np.asarray(values, dtype=np.float64), tuple(matrix.cells for matrix in axes)
    if array.shape != shape:
        raise EstimateError(f"{what} has shape {array.shape}; the matrices have {shape}")
    if not np.isfinite(array).all():
        raise EstimateError(f"{what} has an entry that is not a finite number")
    return array


def _scores(weights: Array, axes: Sequence[Matrix]) -> Array:
    """f of every combination of reports."""
    for axis, matrix in enumerate(axes):
        weights = np.moveaxis(matrix.scores(np.moveaxis(weights, axis, -1)), -1, axis)
    return weights


def _root(variance: float) -> float:
    return math.sqrt(max(variance, 0.0))
