"""Labels to codes and back, a column at a time, through Arrow.

A code is a label's position among its attribute's categories. Dictionary-encoded columns (Arrow
dictionaries, pandas categoricals, Polars Categorical and Enum) are mapped by their dictionary:
their codes are taken as they are and no row's label is looked at. But the codes of a Categorical of
Polars number the labels of many columns, in the order in which Polars met them. So each of them is
looked up, in a table that is made of the attribute's labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from mdrr.columns import Extra, pa, pl
from mdrr.counting import recoded
from mdrr.domain import Attribute, Label, known
from mdrr.errors import SchemaError
from mdrr.randomizer import Codes, smallest_unsigned

compute = Extra("pyarrow.compute", "frames")

_FEW_WORDS = 2**8
"""The most labels of a dictionary whose codes are kept."""
ABSENT = -1
"""Stands where a column has no label."""
_UNKNOWN = -2
_MOST_PLACES = 2**16
"""The most places of a table by which codes of Polars are looked up."""
_ROWS = 1 << 20
"""Rows whose labels are set at a time: Polars makes four bytes of each in between."""


def encode_column(column: Any, attribute: Attribute, *, nulls: bool = False) -> Codes:
    """One column's labels as codes in the smallest unsigned type.

    The column is a PyArrow array or a series of pandas or Polars: text, dictionaries,
    integers, booleans; whole numbers may come as floats; for a numeric attribute, numbers (which
    are binned) or the bins' labels. Where there is no label, the code is that of the attribute's
    `missing` category, or −1, in a signed type, with `nulls`.

    >>> import pyarrow as pa
    >>> age = Attribute("age", kind="numeric", edges=(0, 18, 65, 120))
    >>> encode_column(pa.array([17, 18, 120]), age)
    array([0, 1, 2], dtype=uint8)
    >>> encode_column(pa.array(["no", None]), Attribute("smokes", ("no", "yes")), nulls=True)
    array([ 0, -1], dtype=int16)
    """
    if (found := categorical_codes(column, attribute)) is not None:
        return found
    arrow = as_arrow(column, attribute.name)
    if pa.types.is_dictionary(arrow.type):
        codes = _by_word(arrow, attribute)
    elif attribute.kind == "numeric" and is_number(arrow.type):
        codes = _binned(arrow, attribute)
    else:
        codes = _positions(arrow, attribute)
    if codes.dtype.kind == "u":
        return codes
    if (unknown := codes == _UNKNOWN).any():
        row = int(unknown.argmax())
        raise attribute.no_category(arrow[row].as_py(), row)
    if nulls:
        return codes
    absent = codes == ABSENT
    if absent.any():
        if attribute.missing is None:
            raise SchemaError(
                f"{attribute.name!r} has {int(absent.sum()):,} missing values. Declare a category "
                'for them (missing = "…" in the survey file) or drop those people first',
                row=int(absent.argmax()),
            )
        codes[absent] = attribute.code(attribute.missing)
    return codes.astype(smallest_unsigned(attribute.size))


def _by_word(arrow: Any, attribute: Attribute) -> Codes:
    """The codes of a dictionary, unsigned if all rows have labels of the attribute.

    It may list labels that no row has: they are nobody's answer, and no error. Where those of the
    attribute come first and in order, these are the column's own codes, not a copy.
    """
    words, size = arrow.dictionary, attribute.size
    by_word, kind = _word_positions(words, attribute), smallest_unsigned(size)
    if not arrow.null_count:
        indices = arrow.indices.to_numpy(zero_copy_only=False)
        if np.array_equal(by_word, np.arange(len(words))):
            same = indices.dtype.itemsize == kind.itemsize
            return np.asarray(indices.view(kind) if same else indices.astype(kind))
        table = np.where(by_word < 0, size, by_word).astype(smallest_unsigned(size + 1))
        if (found := recoded(indices, table, size)) is not None:
            return found
    indices = arrow.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    return np.asarray(np.append(by_word, by_word.dtype.type(ABSENT))[indices])


def _word_positions(words: Any, attribute: Attribute) -> Codes:
    """`_positions` of a dictionary, kept for few words: the next batch has the same."""
    if len(words) > _FEW_WORDS:
        return _positions(words, attribute)
    # 1 == True, though one is no answer to the other
    labels = type(attribute.categories[0]).__name__
    return _kept_positions(tuple(words.to_pylist()), words.type, attribute, labels)


@lru_cache(maxsize=1024)
def _kept_positions(words: tuple[Any, ...], kind: Any, attribute: Attribute, _: str) -> Codes:
    return _positions(pa.array(words, kind), attribute)


def _positions(labels: Any, attribute: Attribute) -> Codes:
    """The code of each label, in a signed type: −1 for null, −2 for what the attribute lacks."""
    labels = _comparable(labels, attribute)
    categories: list[Any] = list(attribute.categories)
    if pa.types.is_integer(labels.type):  # a category that the column cannot hold is no value
        bounds = np.iinfo(labels.type.to_pandas_dtype())
        categories = [c if bounds.min <= c <= bounds.max else None for c in categories]
    known_labels = pa.array(categories, labels.type)
    found = compute.index_in(labels, value_set=known_labels, skip_nulls=True)
    if found.null_count:
        found = compute.if_else(labels.is_null(), ABSENT, found.fill_null(_UNKNOWN))
    return np.asarray(found.to_numpy(zero_copy_only=False)).astype(_signed(attribute))


def _comparable(arrow: Any, attribute: Attribute) -> Any:
    """The column in a type whose values compare with the attribute's labels."""
    types, kind = pa.types, type(attribute.categories[0])
    if types.is_null(arrow.type):
        return arrow.cast(label_type(attribute))
    if kind is str and types.is_string_view(arrow.type):
        return arrow.cast(pa.large_string())
    if kind is int and types.is_floating(arrow.type):
        values = arrow.to_numpy(zero_copy_only=False).astype(np.float64)
        with np.errstate(invalid="ignore"):
            broken = ~np.isnan(values) & (np.isinf(values) | (values % 1 != 0))
        if broken.any():
            raise SchemaError(
                f"the column {attribute.name!r} has values that are not whole",
                row=int(broken.argmax()),
            )
        return pa.array(values, from_pandas=True).cast(pa.int64(), safe=False)
    fits = {
        str: types.is_string(arrow.type) or types.is_large_string(arrow.type),
        int: types.is_integer(arrow.type),
        bool: types.is_boolean(arrow.type),
    }[kind]
    if not fits:
        raise SchemaError(
            f"the column {attribute.name!r} holds {arrow.type}, its categories are "
            f"{kind.__name__}: {known(attribute.categories)}. Convert the column first"
        )
    return arrow


def _binned(arrow: Any, attribute: Attribute) -> Codes:
    edges = np.asarray(attribute.edges, dtype=np.float64)
    floats = arrow.cast("float64", safe=False)
    values = np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)
    absent = np.isnan(values)
    outside = ~absent & ((values < edges[0]) | (values > edges[-1]))
    if outside.any():
        raise SchemaError(
            f"{attribute.name!r} has {int(outside.sum()):,} values outside its bins "
            f"[{edges[0]:g}, {edges[-1]:g}]. Widen the edges or clip the values first",
            row=int(outside.argmax()),
        )
    codes = np.minimum(np.searchsorted(edges, values, side="right") - 1, len(edges) - 2)
    codes[absent] = ABSENT
    return codes.astype(_signed(attribute))


def _signed(attribute: Attribute) -> type[np.signedinteger[Any]]:
    return np.int16 if attribute.size < 2**15 else np.int64


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
    code_of: dict[int, int] = {}
    for code, word in enumerate(attribute.categories):
        with suppress(KeyError):  # `word in labels` may never end
            if (place := labels[word]) is not None:  # as older versions say of a word they lack
                code_of[place] = code
    if not code_of or max(code_of) >= _MOST_PLACES:
        return None
    table = np.full(max(code_of) + 2, size, smallest_unsigned(size + 1))
    table[list(code_of)] = list(code_of.values())
    return recoded(column.to_physical().to_numpy(), table, size)


def decode_column(codes: Codes, attribute: Attribute, *, dictionary: bool = False) -> Any:
    """Codes as a PyArrow array of labels, or as a dictionary; null where a code is negative.

    >>> decode_column(np.array([1, -1]), Attribute("smokes", ("no", "yes"))).to_pylist()
    ['yes', None]
    """
    values = pa.array(list(attribute.categories), label_type(attribute))
    absent = codes < 0 if codes.dtype.kind == "i" and codes.min(initial=0) < 0 else None
    signed = np.min_scalar_type(-attribute.size)  # of others pandas makes no categorical
    same = codes.dtype.kind == "u" and codes.dtype.itemsize == signed.itemsize
    indices = pa.array(codes.view(signed) if same else codes.astype(signed), mask=absent)
    if not dictionary:
        return values.take(indices)
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


def labelled(name: str, codes: Codes, attribute: Attribute | None, kind: str | None) -> Any:
    """Codes as a Polars series of labels, null where a code is negative.

    `kind` is `"Enum"` or `"Categorical"` if text is to be one. An Enum has the attribute's labels.
    """
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
    return pl.Series(words, dtype=pl.Enum(words))


def label_type(attribute: Attribute) -> Any:
    """The Arrow type of an attribute's labels."""
    kind = type(attribute.categories[0])
    return {str: pa.string(), int: pa.int64(), bool: pa.bool_()}[kind]


def typed_table(table: Any, attributes: Iterable[Attribute]) -> Any:
    """A CSV file's table of texts with the attributes' columns as `typed_column` has them."""
    for attribute in attributes:
        at = table.schema.get_field_index(attribute.name)
        column = typed_column(table.column(at), attribute)
        table = table.set_column(at, attribute.name, column)
    return table


def typed_column(column: Any, attribute: Attribute) -> Any:
    """A CSV file's column of texts as labels or as numbers to be binned.

    Integers may be written `1` or `1.0`, booleans in any case or as `0` and `1`. A numeric
    attribute's texts are its bins' labels, or else numbers. Each spelling is read once, however
    many people wrote it.
    """
    arrow = as_arrow(column, attribute.name).dictionary_encode()
    words = arrow.dictionary.to_pylist()

    def first_row(word: int) -> int:
        return int(arrow.indices.index(word).as_py())

    if attribute.kind == "numeric" and not all(word in attribute.categories for word in words):
        numbers = [None if word == attribute.missing else _float(word) for word in words]
        texts = [i for i, x in enumerate(numbers) if x is None and words[i] != attribute.missing]
        if not texts:
            return pa.array(numbers, pa.float64()).take(arrow.indices)
        for i in texts:
            if _float(words[i].replace(",", ".")) is not None:
                raise SchemaError(
                    f"{attribute.name!r} has a number with a decimal comma. Write all numbers "
                    "with a point, as in 3.5",
                    row=first_row(i),
                )
            if words[i] not in attribute.categories:
                raise attribute.no_category(words[i], first_row(i))
        raise SchemaError(f"the column {attribute.name!r} mixes numbers and bins. Use either")
    spelled = spellings(attribute)
    for i, word in enumerate(words):
        if word not in spelled:
            raise attribute.no_category(word, first_row(i))
    values = pa.array([spelled[word] for word in words], label_type(attribute))
    return pa.DictionaryArray.from_arrays(arrow.indices, values)


def spellings(attribute: Attribute) -> dict[str, Label]:
    """Every text that stands for a label.

    >>> spellings(Attribute("rooms", (1, 2)))
    {'1': 1, '1.0': 1, '2': 2, '2.0': 2}
    """
    found: dict[str, Label] = {}
    for label in attribute.categories:
        if isinstance(label, bool):
            texts = [str(label), str(label).lower(), str(label).upper(), str(int(label))]
        elif isinstance(label, int):
            texts = [str(label), f"{label}.0"]
        else:
            texts = [label]
        found.update(dict.fromkeys(texts, label))
    return found


def _float(text: str) -> float | None:
    if text.strip().casefold() in ("nan", "na", ""):
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return None


def as_arrow(column: Any, name: str) -> Any:
    """A column as one contiguous PyArrow array."""
    try:
        if isinstance(column, pa.Array | pa.ChunkedArray):
            arrow = column
        elif hasattr(type(column), "to_arrow"):  # a series of pandas has attributes by its index
            arrow = column.to_arrow()
        elif hasattr(column.array, "codes") and column.array.codes.min(initial=0) >= 0:
            # Of a categorical of pandas with no nulls, no row need be looked at.
            labels = pa.array(column.array.categories)
            return pa.DictionaryArray.from_arrays(pa.array(column.array.codes), labels, safe=False)
        else:
            arrow = pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise SchemaError(
            f"the column {name!r} mixes values of different types. Convert it to one type first"
        ) from None
    if not isinstance(arrow, pa.ChunkedArray):
        return arrow
    return arrow.chunk(0) if arrow.num_chunks == 1 else arrow.combine_chunks()


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    types: Any = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_coded(column: Any) -> bool:
    """Whether a column is codes already: a dictionary, but for a Categorical of Polars."""
    kind = column.dtype if hasattr(column, "dtype") else column.type
    return type(kind).__name__ in ("CategoricalDtype", "DictionaryType", "Enum")
