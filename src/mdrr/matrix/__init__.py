"""Randomization matrices `P[true, reported]`, held as exact integer weights.

Every row of a matrix sums to the same total D, which is 2^16, 2^32 or 2^48: one uniform draw of
2, 4 or 6 bytes decides a report, with no rejection, no modulo bias and no floating point. Privacy
is computed from those integers, so it speaks of what is sampled and not of what was asked. A public
attribute has D = 1: no draw, and no ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mdrr.errors import MatrixError
from mdrr.matrix.banded import Banded as Banded
from mdrr.matrix.banded import banded_matrix as banded_matrix
from mdrr.matrix.constant import Constant as Constant
from mdrr.matrix.constant import constant_matrix as constant_matrix
from mdrr.matrix.dense import Dense as Dense
from mdrr.matrix.dense import dense_matrix as dense_matrix
from mdrr.matrix.protocol import TOTALS as TOTALS
from mdrr.matrix.protocol import Array as Array
from mdrr.matrix.protocol import Matrix as Matrix
from mdrr.matrix.public import Public as Public
from mdrr.matrix.subset import Subset as Subset
from mdrr.matrix.subset import subset_matrix as subset_matrix
from mdrr.matrix.through import Through as Through

_KINDS: dict[str, Any] = {kind.kind: kind for kind in (Constant, Dense, Banded, Subset, Public)}


def matrix_from_dict(fields: Mapping[str, Any]) -> Matrix:
    """The matrix described by its `to_dict`, validated again.

    >>> matrix_from_dict({"kind": "constant", "cells": 2, "diagonal": 49152, "off": 16384}).cells
    2
    """
    try:
        kind = _KINDS[fields["kind"]]
    except (KeyError, TypeError):
        raise MatrixError(f"a matrix needs a 'kind' among {', '.join(map(repr, _KINDS))}") from None
    matrix: Matrix = kind.from_dict(fields)
    return matrix
