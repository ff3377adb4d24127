"""Which rows of a table of people do not fit a survey. No value is repeated: it is an answer."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection
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
    """Something wrong with an attribute's column, or with the table itself.

    Arguments:
        attribute: its name; empty if the table itself is wrong.
        what: what is wrong, and what to do.
        rows: the people it is wrong for, counted from 1; none if it is not about rows.
    """

    attribute: str
    what: str
    rows: tuple[int, ...] = ()


def misplaced(content: bytes, separator: str = ",") -> list[Misfit]:
    r"""Everything that keeps a text from being a table: names, rows of one length, UTF-8.

    Arguments:
        content: CSV or TSV, as the file holds it.
        separator: what stands between fields.

    Example:
        >>> for each in misplaced(b"sex,age\nF,31,5\nM\n"):
        ...     print(each.rows, each.what)
        (1,) more fields than the first row names
        (2,) fewer fields than the first row names
    """
    text = io.StringIO(content.decode("utf-8-sig", "surrogateescape"), newline="")
    csv.field_size_limit(max(csv.field_size_limit(), len(content)))
    lines = csv.reader(text, delimiter=separator, strict=True)
    names: list[str] = []
    wrong: dict[str, list[int]] = {}
    row = 0
    try:
        for row, fields in enumerate(lines):
            if any(not field.isascii() and _NO_TEXT.search(field) for field in fields):
                wrong.setdefault("not text in UTF-8: save the file as UTF-8", []).append(row)
            if row == 0:
                names = fields
            elif fields and len(fields) != len(names):
                more = "more" if len(fields) > len(names) else "fewer"
                wrong.setdefault(f"{more} fields than the first row names", []).append(row)
    except csv.Error:
        wrong["a quotation mark is not closed, or stands inside a field"] = [row + 1]
    if not any(names) and not wrong:
        return [Misfit("", "nothing is in its first row, which names the columns")]
    if len(names) == 1:
        for other, called, rather in _OTHERS:
            if other in names[0] and other != separator:
                return [Misfit("", f"{called} stand between its fields. {rather}")]
    found = [
        Misfit("", f"the first row names {name!a} {times} times: rename all but one")
        for name, times in Counter(names).items()
        if name and times > 1
    ]
    if row == 0 and not wrong:
        found.append(Misfit("", "there are no rows below the first one, which names the columns"))
    rows = {what: tuple(row for row in each if row) for what, each in wrong.items()}
    return found + [Misfit("", what, each) for what, each in rows.items()]


_OTHERS = (
    (";", "semicolons", "Write it with commas, and numbers with a point, as in 3.5"),
    ("\t", "tabs", "Name it .tsv, or write it with commas"),
    (",", "commas", "Name it .csv, or write it with tabs"),
)
_NO_TEXT = re.compile("[\udc80-\udcff]")
"""How bytes that are no UTF-8 are decoded."""


def misfits(
    people: pl.DataFrame, domain: Domain, *, leave_out: Collection[int] = ()
) -> list[Misfit]:
    """Every column and row that cannot be randomized under a domain.

    Arguments:
        people: true records, a row each.
        domain: what can be answered.
        leave_out: rows of which the worst is known, counted from 1.

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
            found += _column(people[attribute.name], attribute, leave_out)
        else:
            hint = did_you_mean(attribute.name, people.columns) or ". Rename a column or add it"
            found.append(Misfit(attribute.name, f"there is no such column{hint}"))
    return found


def _column(column: pl.Series, attribute: Attribute, leave_out: Collection[int]) -> list[Misfit]:
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
    places = [(what, (where.arg_true() + 1).to_list()) for what, where in wrong]
    rows = [(what, tuple(row for row in each if row not in leave_out)) for what, each in places]
    return [Misfit(attribute.name, what, each) for what, each in rows if each]
