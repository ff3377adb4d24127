"""Every error a user can cause: what went wrong, where, and what to do about it.

A message never contains a respondent's answer beyond the label that is not in the public domain.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Real
from typing import Self, TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a real number that a float can hold; text from a form is not.

    >>> is_number(0.5), is_number("0.5"), is_number(float("nan")), is_number(None)
    (True, False, False, False)
    """
    try:
        return isinstance(value, Real) and math.isfinite(float(value))
    except (OverflowError, TypeError):  # too large for a float, or a duration of NumPy's
        return False


def whole(name: str, value: object, least: int, error: type[MdrrError]) -> int:
    """A whole number as an int; anything else, or too small a one, is refused.

    >>> whole("classes", 3.0, 1, EstimateError)
    3
    >>> whole("classes", "3", 1, EstimateError)
    Traceback (most recent call last):
    mdrr.errors.EstimateError: classes='3' must be a whole number, at least 1
    """
    if not (is_number(value) and value == int(value) and value >= least):
        raise error(f"{name}={value!r} must be a whole number, at least {least}")
    return int(value)


def did_you_mean(word: object, words: Iterable[object]) -> str:
    """A hint for a mistyped word, or nothing; letter case and quotes do not matter.

    >>> did_you_mean("categorys", ("categories", "kind"))
    ". Did you mean 'categories'?"
    >>> did_you_mean("true", (False, True))
    '. Did you mean True?'
    """
    folded = {str(each).strip().casefold(): each for each in words}
    close = difflib.get_close_matches(str(word).strip().casefold(), folded, n=1, cutoff=0.7)
    return f". Did you mean {folded[close[0]]!r}?" if close else ""


class MdrrError(ValueError):
    """Base of all errors raised on bad input; its text is one clear line.

    Arguments:
        message: what is wrong, and what to do.
        row: where in a column of data the first fault is, counted from 0, if that is known.
    """

    def __init__(self, message: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.row = row

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.row is None else f"row {self.row + 1:,}: {text}"

    def inside(self, where: str = "", before: int = 0) -> Self:
        """The same error, said of a file or stream of which some rows came before these."""
        row = "" if self.row is None else f"row {before + self.row + 1:,}"
        return type(self)(": ".join(filter(None, (where, row, super().__str__()))))


class SchemaError(MdrrError):
    """A domain, column or category that is not as declared."""


class MatrixError(MdrrError):
    """A randomization matrix that is not stochastic, singular, or cannot be sampled exactly."""


class DesignError(MdrrError):
    """A design that does not fit its domain."""


class TallyError(MdrrError):
    """Reports or tallies that do not belong to the design at hand."""


class QueryError(MdrrError):
    """A count query that cannot be read."""


class EstimateError(MdrrError):
    """An estimate that the reports cannot give."""


class ProtocolError(MdrrError):
    """A secure-sum run that must stop."""


class AbortedError(ProtocolError):
    """A secure-sum run that ended without a total because of others, not of what was given."""


class ExtraError(MdrrError, ImportError):
    """An optional dependency that is not installed."""
