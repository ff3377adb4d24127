"""The integers a matrix samples from, for exact statements about its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.matrix import Matrix


def weights_of(matrix: Matrix) -> npt.NDArray[np.int64] | None:
    """The weights `(r, s)` of a matrix that lists them, or None (a constant one never does).

    >>> from mdrr.matrix import Dense, constant_matrix
    >>> weights_of(Dense(((65000, 536), (1000, 64536)))).tolist()
    [[65000, 536], [1000, 64536]]
    >>> weights_of(constant_matrix(10**6, epsilon=10.0)) is None
    True
    """
    weights: Any = getattr(matrix, "weights", None)
    return None if weights is None else np.asarray(weights, dtype=np.int64)
