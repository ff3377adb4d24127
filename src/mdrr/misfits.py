"""Which rows of a table of people do not fit a survey. No value is repeated: it is an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdrr.columns import require
from mdrr.domain import Attribute, Domain
from mdrr.errors import did_you_mean
from mdrr.labels import spellings

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Misfit:
    """Something wrong with an attribute's column.

    Arguments:
        attribute: its name.
        what: what is wrong, and what to do.
        rows: the people it is wrong for, counted from 1; none if the column is not there.
    """

    attribute: str
    what: str
    rows: tuple[int, ...] = ()


def misfits(people: pl.DataFrame, domain: Domain) -> list[Misfit]:
    """Every column and row that cannot be randomized under a domain.

    Arguments:
        people: true records, a row each.
        domain: what can be answered.

    Example:
        >>> import polars as pl
        >>> domain = Domain((Attribute("age", kind="numeric", edges=(0, 18, 120)),))
        >>> misfits(pl.DataFrame({"age": [3, 400, None]}), domain)
        [Misfit(attribute='age', what='no answer, and the survey declares none: add missing = "…" \
or drop these people', rows=(3,)), Misfit(attribute='age', what='outside the edges, 0 to 120: \
widen them or clip the numbers', rows=(2,))]
    """
    found = []
    for attribute in domain.attributes:
        if attribute.name in people.columns:
            found += _column(people[attribute.name], attribute)
        else:
            hint = did_you_mean(attribute.name, people.columns) or ". Rename a column or add it"
            found.append(Misfit(attribute.name, f"there is no such column{hint}"))
    return found


def _column(column: pl.Series, attribute: Attribute) -> list[Misfit]:
    pl = require("polars", "frames")
    texts = column.cast(pl.String)
    blank = texts.is_null() | texts.str.strip_chars().str.to_lowercase().is_in(["", "nan"])
    if attribute.kind != "numeric":  # there "nan" and blanks are labels like others
        blank = texts.is_null() | (texts == "") | ((texts == "NaN") & column.dtype.is_float())
    wrong: list[tuple[str, Any]] = []
    if attribute.missing is None:
        what = 'no answer, and the survey declares none: add missing = "…" or drop these people'
        wrong.append((what, blank))
    rest = ~blank & ~texts.is_in(list(spellings(attribute)))
    if attribute.edges is not None:
        low, high = attribute.edges[0], attribute.edges[-1]
        numbers = texts.cast(pl.Float64, strict=False)
        outside = rest & numbers.is_not_null() & ~numbers.is_between(low, high)
        what = f"outside the edges, {low:g} to {high:g}: widen them or clip the numbers"
        wrong.append((what, outside))
        wrong.append(("not a number, as in 3.5", rest & numbers.is_null()))
    else:
        wrong.append(("none of the categories: add it to the survey file or map it first", rest))
    return [
        Misfit(attribute.name, what, tuple((where.arg_true() + 1).to_list()))
        for what, where in wrong
        if where.any()
    ]
