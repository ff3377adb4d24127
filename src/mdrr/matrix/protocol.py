"""What every matrix can do, and the exact arithmetic they share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.errors import MatrixError, is_number

Array: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[Any]

TOTALS = (2**16, 2**32, 2**48)
"""The totals D a row may have: whole bytes, below 2^53 so that JavaScript counts the same."""

LEAST_EPSILON = 1e-12
"""Below it 48 random bits say nothing of the truth."""

_FINE = 1024


class Matrix(Protocol):
    """P[true, reported]: `cells` true cells by `outcomes` reportable codes.

    Estimators ask a matrix for what they need and never assume its shape: `solve` for the unbiased
    estimate, `scores` for the per-report weights of a linear functional, `likelihood` for EM.
    """

    kind: ClassVar[str]

    @property
    def cells(self) -> int:
        """How many true cells there are (r)."""

    @property
    def outcomes(self) -> int:
        """How many codes can be reported (s)."""

    @property
    def total(self) -> int:
        """The sum D of every row's weights; 1 if public."""

    @property
    def epsilon(self) -> float:
        """ε = ln of the largest ratio within a column (paper eq. 4), rounded up; 0 if public."""

    @property
    def reports_cells(self) -> bool:
        """Whether a reported code is itself a cell, so that a report reads like a record."""

    def solve(self, observed: Array, /) -> Array:
        """(Pᵀ)⁻¹λ along the last axis: (…, s) to (…, r), paper eq. 2."""

    def forward(self, distribution: Array, /) -> Array:
        """Pᵀπ along the last axis: (…, r) to (…, s)."""

    def backward(self, values: Array, /) -> Array:
        """P v along the last axis: (…, s) to (…, r); with `forward`, all that EM needs."""

    def scores(self, functional: Array, /) -> Array:
        """The f with P f = w along the last axis, so that E[f(Y) | x] = w(x): (…, r) to (…, s)."""

    def likelihood(self, codes: Codes, /) -> Array:
        """P[:, y] for each reported code y: (k,) to (k, r)."""

    def draw(self, true: Codes, uniform: Codes, /) -> Codes:
        """The codes reported for true cells, given uniform integers on [0, D)."""

    def to_dict(self) -> dict[str, Any]:
        """The matrix as JSON-ready integers."""


def log_ratio(high: int, low: int) -> float:
    """ln(high / low) of positive integers, rounded up to a float; infinite when low is 0.

    >>> log_ratio(1, 1), log_ratio(5, 0)
    (0.0, inf)
    >>> log_ratio(3, 1) >= math.log(3)
    True
    """
    if low == 0:
        return math.inf
    if high == low:
        return 0.0
    with localcontext() as context:
        context.prec = 50
        exact = (Decimal(high) / Decimal(low)).ln()
        rounded = float(exact)
        return rounded if Decimal(rounded) >= exact else math.nextafter(rounded, math.inf)


def add_up(epsilons: list[float]) -> float:
    """The sum of some ε, rounded up.

    >>> add_up([0.1] * 10) >= 1.0
    True
    """
    if not epsilons:
        return 0.0
    if len(epsilons) == 1 or math.isinf(sum(epsilons)):
        return sum(epsilons)
    total = math.fsum(epsilons)
    exact = sum(map(Fraction, epsilons))
    return total if Fraction(total) >= exact else math.nextafter(total, math.inf)


def odds_below(epsilon: float) -> Fraction:
    """A number just below e^ε, for weights that never spend more than ε.

    >>> 2.7182 < odds_below(1.0) < math.e
    True
    """
    if not is_number(epsilon):
        raise MatrixError(f"ε={epsilon!r} is not a finite number")
    epsilon = float(epsilon)  # a narrower one would round what is spent
    if epsilon <= 0:
        raise MatrixError(
            f"ε={epsilon}: nothing could be learnt and the matrix would be singular. Choose ε > 0"
        )
    if epsilon > 700:
        raise MatrixError(f"ε={epsilon} needs more than 48 random bits a draw; choose ε below 33")
    return Fraction(math.nextafter(math.exp(epsilon) * (1 - 2**-51), 0))


def most_epsilon(codes: int, raised: int = 1) -> float:
    """The largest ε that 48 random bits give, with `raised` codes as likely as the true one.

    The least weight is 1, and the raised ones share what the others leave: ln((D − s + k)/k). 0 if
    the codes are so many that rounding a weight up would leave nothing for the truth.

    >>> round(most_epsilon(2), 2), most_epsilon(2**47)
    (33.27, 0.0)
    """
    left = TOTALS[-1] - codes + raised
    return math.log(left / raised) if 2 * codes < TOTALS[-1] else 0.0


def shown_below(epsilon: float) -> str:
    """An ε for people to type: rounded down, so that it is not too large.

    >>> shown_below(33.27), shown_below(66.0)
    ('33.2', '65.9')
    """
    return f"{math.ceil(10 * epsilon - 1) / 10:.1f}".removesuffix(".0")


def fine_total(*shares: Fraction) -> int:
    """The smallest D on which each share of it is 1024 units or more, else the largest D.

    Rounding such a share up costs less than one part in 1024.

    >>> fine_total(Fraction(1, 64)) == 2**16, fine_total(Fraction(1, 65)) == 2**32
    (True, True)
    """
    return next((total for total in TOTALS if total * min(shares) >= _FINE), TOTALS[-1])


def check_total(total: int) -> None:
    """Refuse a row total that is not a whole number of bytes."""
    if total not in TOTALS:
        raise MatrixError(
            f"the weights of a row sum to {total}; they must sum to 2^16, 2^32 or 2^48"
        )


def check_integers(matrix: object, *names: str) -> None:
    """Refuse a matrix whose named fields are not Python integers."""
    for name in names:
        value = getattr(matrix, name)
        if type(value) is not int:
            raise MatrixError(f"a matrix needs an integer {name!r}, not {value!r}")


def to_dict(matrix: Any) -> dict[str, Any]:
    """The integers that a matrix is made of, JSON-ready; `matrix_from_dict` reads them."""
    return {
        "kind": matrix.kind,
        **{field.name: _listed(getattr(matrix, field.name)) for field in fields(matrix)},
    }


def from_dict(kind: Any, given: Mapping[str, Any]) -> Any:
    """The matrix described by `to_dict`, validated again."""
    return kind(**{field.name: given.get(field.name) for field in fields(kind)})


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value
