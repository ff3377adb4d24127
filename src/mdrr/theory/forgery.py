"""The weight one forged report carries.

An honest report moves a count by 0 or 1 on average, but it is divided by the signal that survives
randomization, so whoever sends a report of her choice moves the estimate by more than one person.
The more private the design, the heavier a lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.errors import EstimateError
from mdrr.matrix import Constant, Matrix
from mdrr.privacy.fields import json_fields


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

    Arguments:
        matrices: the matrix of a cluster, or one per cluster when the estimate inverts several.
        chosen: which combinations are counted, one axis per matrix; without it, the single cell
            that a report can move most (one matrix only).

    Example:
        >>> from mdrr.matrix import Constant
        >>> influence(Constant(2, diagonal=49152, off=16384))
        Influence(most=1.5, least=-0.5, swing=2.0)
    """
    axes = list(matrices) if isinstance(matrices, Sequence) else [matrices]
    if not axes:
        raise EstimateError("give at least one matrix")
    if chosen is None:
        if len(axes) > 1:
            raise EstimateError("with several matrices say which combinations are counted")
        return _worst_cell(axes[0])
    scores = np.asarray(chosen, dtype=np.float64)
    shape = tuple(matrix.cells for matrix in axes)
    if scores.shape != shape:
        raise EstimateError(f"chosen has shape {scores.shape}; the matrices have {shape}")
    for axis, matrix in enumerate(axes):
        scores = np.moveaxis(matrix.scores(np.moveaxis(scores, axis, -1)), -1, axis)
    most, least = float(scores.max()), float(scores.min())
    return Influence(most, least, most - least)


def _worst_cell(matrix: Matrix) -> Influence:
    if isinstance(matrix, Constant):
        s, o = matrix.signal, matrix.floor
        return Influence((1 - o) / s, -o / s, 1 / s)
    scores = matrix.scores(np.eye(matrix.cells))
    swings = scores.max(axis=1) - scores.min(axis=1)
    cell = int(np.argmax(swings))
    return Influence(float(scores[cell].max()), float(scores[cell].min()), float(swings[cell]))
