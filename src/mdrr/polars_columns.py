"""Columns of Polars: from the codes of a Categorical to an attribute's, and from those to labels.

The codes of a Categorical number the labels of many columns, in the order in which Polars met them.
So each is looked up, in a table that is made of the attribute's labels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mdrr.columns import require
from mdrr.counting import recoded
from mdrr.domain import Attribute, Label
from mdrr.randomizer import Codes, smallest_unsigned

_MOST_PLACES = 2**16
"""The most places of a table by which codes are looked up."""
_ROWS = 1 << 20
"""Rows whose labels are set at a time: Polars makes four bytes of each in between."""


def categorical_codes(column: Any, attribute: Attribute) -> Codes | None:
    """The codes of a Polars Categorical; None of other columns, or if some row has no category.

    Nothing is added to the labels that Polars knows.

    >>> import polars as pl
    >>> column = pl.Series(["yes", "no"], dtype=pl.Categorical)
    >>> categorical_codes(column, Attribute("smokes", ("no", "yes")))
    array([1, 0], dtype=uint8)
    """
    kind, size = getattr(column, "dtype", None), attribute.size
    if type(kind).__name__ != "Categorical" or not isinstance(attribute.categories[0], str):
        return None
    labels: Any = getattr(kind, "categories", None)
    if not hasattr(labels, "__getitem__") or column.null_count():  # older versions list no labels
        return None
    place_of = {code: _place(word, labels) for code, word in enumerate(attribute.categories)}
    code_of = {place: code for code, place in place_of.items() if place is not None}
    if not code_of or max(code_of) >= _MOST_PLACES:
        return None
    table = np.full(max(code_of) + 2, size, smallest_unsigned(size + 1))
    table[list(code_of)] = list(code_of.values())
    return recoded(column.to_physical().to_numpy(), table, size)


def _place(word: Label, labels: Any) -> int | None:
    """A word's number among Polars' labels, if it is one; `word in labels` may never end.

    In older versions, labels say None of a word they lack, and iterating over them never ends.
    """
    try:
        place: int | None = labels[word]
    except KeyError:
        return None
    return place


def labelled(name: str, codes: Codes, attribute: Attribute | None, kind: str | None) -> Any:
    """Codes as a Polars series of labels, null where a code is negative.

    `kind` is `"Enum"` or `"Categorical"` if text is to be one. An Enum has the attribute's labels.
    """
    pl = require("polars", "frames")
    places = pl.Series(codes)
    if codes.dtype.kind == "i":
        places = places.cast(pl.UInt32 if attribute else pl.UInt64, strict=False)
    if attribute is None:
        return places.cast(pl.Int64).alias(name)
    words = attribute.categories
    labels = _enum(words) if kind == "Enum" else pl.Series(words, dtype=kind and pl.Categorical)
    if len(places) <= _ROWS:
        return labels[places].alias(name)
    starts = range(0, len(places), _ROWS)
    return pl.concat([labels[places.slice(start, _ROWS)] for start in starts]).alias(name)


@lru_cache(maxsize=256)
def _enum(words: tuple[str, ...]) -> Any:
    """The words as an Enum of themselves, which takes longer to make than a short column."""
    pl = require("polars", "frames")
    return pl.Series(words, dtype=pl.Enum(words))
