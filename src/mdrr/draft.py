"""A first draft of a survey file from a table of people: its columns and their types.

Categories read off private data are a leak: whoever sees the survey learns which answers occur. The
draft says so, at its head and beside every such question.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdrr.columns import require
from mdrr.domain import attribute_faults, edge_text
from mdrr.errors import SchemaError

if TYPE_CHECKING:
    import polars as pl

FEW = 20
"""An integer column with at most this many different values is a scale, not a measurement."""
MOST_LABELS = 50
"""A text column with more different values is free text."""
LEAK = (
    "Categories and edges were read off the people's own answers. If those are private, publishing "
    "them is a leak: everybody learns which answers occur. Declare every answer that is possible, "
    "not only those that occur."
)
_NO_ANSWER = "no answer"
_IDENTIFIER = 0.9
_BINS = 8
_LARGEST = 1e300
_LOCAL_NUMBER = re.compile(r"\s*[-+]?\d+([.,]\d+)?\s*")

_HEAD = """\
# A draft: read every line of it. mdrr survey check lists what is wrong with it.
#
# WARNING
# {leak}

title = {title}
# Any text may be given in several languages: languages = ["en", "de"] here, and then
# title = {{ en = "…", de = "…" }}
introduction = "Your answers are randomized on your own device before anything is sent."
purpose = ""        # what the answers are for
consent = "I agree that my randomized answers are sent."   # add what for, once you said so above
retention = ""      # how long the randomized answers are kept
contact = ""        # whom people can ask

[design]
protocol = "planned"
epsilon = 2.0       # what one person spends at most: smaller is more private and less accurate
people = {people}       # how many are expected to answer
"""


@dataclass(frozen=True)
class Draft:
    """The text of a survey file, and what was left out of it.

    Arguments:
        text: TOML.
        asked: the columns that became questions.
        left: the others, each with the reason.
        read: the questions whose categories or edges were read off the answers.
    """

    text: str
    asked: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    read: tuple[str, ...]


def draft(people: pl.DataFrame, title: str = "A survey") -> Draft:
    """Draft a survey file from a Polars frame of people.

    Text becomes a nominal attribute of the labels that occur, integers with few values an ordinal
    one, other numbers a numeric one with round edges. A column whose values are nearly all
    different looks like an identifier and is left out.

    Example:
        >>> import polars as pl
        >>> made = draft(pl.DataFrame({"sex": ["F", "M"] * 5, "age": [20, 71, 33, 45, 52] * 2}))
        >>> made.asked, "categories = ['F', 'M']".replace("'", '"') in made.text
        (('sex', 'age'), True)
    """
    polars = require("polars", "frames")
    if people.height == 0:
        raise SchemaError("the file has no rows: there is nothing to read types from")
    blocks, asked, left, read = [], [], [], []
    for column in people.columns:
        name, (lines, why) = column, _question(people[column])
        if not name or name.startswith("_duplicated_"):  # so Polars calls a second one
            name, lines, why = "", [], "it has no name"
        elif not why and attribute_faults({"name": name, **_parsed(lines)}):
            told = (
                "its name or a value cannot be shown on one line, or a number is too large or too "
            )
            lines, why = [], f"{told}close to another. Declare it yourself"
        if why:
            left.append((name, why))
            comments = [f"# {name!a} is left out: {why}.", *(f"# {line}" for line in lines)]
            blocks.append("\n".join(comments))
            continue
        asked.append(name)
        heads = ["[[attributes]]", f"name = {_quoted(name)}", f"question = {_quoted(name)}"]
        if people[name].dtype != polars.Boolean:
            read.append(name)
            heads.append("# Read off the answers: complete and check what follows.")
        blocks.append("\n".join([*heads, *lines]))
    if not asked:
        raise SchemaError(
            "no column can be asked: "
            + "; ".join(f"{name!r}: {why}" for name, why in left[:3])
            + ". Write the survey file by hand; docs/cli.md shows one"
        )
    leak = LEAK.replace(". ", ".\n# ")
    head = _HEAD.format(leak=leak, title=_quoted(title), people=people.height)
    text = head + "\n" + "\n\n".join(blocks) + "\n"
    return Draft(text, tuple(asked), tuple(left), tuple(read))


def _question(column: pl.Series) -> tuple[list[str], str]:
    """The lines that declare a column, and why it is left out, if it is."""
    polars = require("polars", "frames")
    present = column.drop_nulls()
    if column.dtype == polars.String:
        present = present.filter(present != "")
    if column.dtype.is_float():
        present = present.filter(present.is_finite())
    values = sorted(set(present.to_list()))
    gaps = len(present) < len(column)
    if len(values) < 2:
        return [], f"it has {len(values)} different values, and a question needs two or more"
    nearly_all = len(values) > 5 and len(values) > _IDENTIFIER * len(present)
    if column.dtype == polars.Boolean:
        if gaps:
            return _listed(["false", "true"], gaps), ""
        return ["categories = [false, true]"], ""
    if column.dtype.is_integer():
        if len(values) <= FEW:
            return _scale(values, gaps), ""
        why = "its values are nearly all different, so it looks like an identifier. If it is a "
        return _binned(values, gaps), f"{why}measurement, declare it as below" * nearly_all
    if column.dtype.is_float():
        if max(abs(values[0]), abs(values[-1])) > _LARGEST:
            return [], "its numbers are too large to be binned. Declare its edges yourself"
        return _binned(values, gaps), ""
    if all(map(_LOCAL_NUMBER.fullmatch, map(str, values))):
        return [], (
            "its numbers are written with a decimal comma or with blanks. Write them as in 3.5"
        )
    if nearly_all:
        return [], "its values are nearly all different, so it looks like an identifier"
    if len(values) > MOST_LABELS:
        return [], (
            f"it has {len(values)} different values. Declare fewer categories yourself and map the "
            "values to them"
        )
    return _listed([str(value) for value in values], gaps), ""


def _listed(labels: list[str], gaps: bool) -> list[str]:
    """A nominal attribute; "?" stands for no answer if it occurs."""
    missing = next((label for label in ("?", _NO_ANSWER) if label in labels), None)
    if missing is None and gaps:
        missing = _NO_ANSWER
    shown = [label for label in labels if label != missing]
    lines = [f"categories = [{', '.join(map(_quoted, [*shown, *([missing] if missing else [])]))}]"]
    return [*lines, f"missing = {_quoted(missing)}"] if missing else lines


def _scale(values: list[int], gaps: bool) -> list[str]:
    """An ordinal attribute: every integer between, if they are few."""
    if values[-1] - values[0] < FEW:
        values = list(range(values[0], values[-1] + 1))
    if not gaps:
        return ['kind = "ordinal"', f"categories = {values}"]
    missing = min(values[0], 0) - 1
    lines = ['kind = "ordinal"', f"categories = {[*values, missing]}", f"missing = {missing}"]
    return [*lines, f'labels = {{ "{missing}" = "{_NO_ANSWER}" }}']


def _binned(values: list[float], gaps: bool) -> list[str]:
    """A numeric attribute with round edges around all values.

    >>> _binned([17, 90], False)
    ['edges = [10, 20, 30, 40, 50, 60, 70, 80, 90]']
    """
    span = max((values[-1] - values[0]) / _BINS, 1e-300)
    tens = 10.0 ** math.floor(math.log10(span))
    step = next(k * tens for k in (1, 2, 5, 10) if k * tens >= span)
    first, last = math.floor(values[0] / step), math.ceil(values[-1] / step)
    edges = [edge_text(float(f"{k * step:.12g}")) for k in range(first, max(last, first + 2) + 1)]
    lines = [f"edges = [{', '.join(edges)}]"]
    return [*lines, f"missing = {_quoted(_NO_ANSWER)}"] if gaps else lines


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _parsed(lines: list[str]) -> dict[str, Any]:
    """Lines of a draft as the values they declare."""
    fields = tomllib.loads("\n".join(lines))
    kind = {"kind": "numeric"} if "edges" in fields else {}
    return {**kind, **fields}
