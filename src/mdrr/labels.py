"""Labels to codes and back, a column at a time, through Arrow.

A code is a label's position among its attribute's categories. Dictionary-encoded columns (Arrow
dictionaries, pandas categoricals, Polars Categorical and Enum) are mapped by their dictionary:
their codes are taken as they are and no row's label is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.columns import require
from mdrr.counting import recoded
from mdrr.domain import Attribute, Label, known
from mdrr.errors import SchemaError
from mdrr.polars_columns import categorical_codes
from mdrr.randomizer import Codes, smallest_unsigned

_FEW_WORDS = 2**8
"""The most labels of a dictionary whose codes are kept."""
ABSENT = -1
"""Stands where a column has no label."""
_UNKNOWN = -2


def encode_column(column: Any, attribute: Attribute, *, nulls: bool = False) -> Codes:
    """One column's labels as codes in the smallest unsigned type.

    The column is a PyArrow array or a series of pandas, Polars or narwhals: text, dictionaries,
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
    if (taken := _as_they_are(arrow, attribute)) is not None:
        return taken
    if attribute.kind == "numeric" and is_number(arrow.type):
        codes = _binned(arrow, attribute)
    else:
        codes = _looked_up(arrow, attribute)
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


def decode_column(
    codes: npt.NDArray[Any], attribute: Attribute, *, dictionary: bool = False
) -> Any:
    """Codes as a PyArrow array of labels, or as a dictionary; null where a code is negative.

    >>> decode_column(np.array([1, -1]), Attribute("smokes", ("no", "yes"))).to_pylist()
    ['yes', None]
    """
    pa = require("pyarrow", "frames")
    values = pa.array(list(attribute.categories), label_type(attribute))
    absent = codes < 0 if codes.dtype.kind == "i" and codes.min(initial=0) < 0 else None
    signed = np.min_scalar_type(-attribute.size)  # of others pandas makes no categorical
    same = codes.dtype.kind == "u" and codes.dtype.itemsize == signed.itemsize
    indices = pa.array(codes.view(signed) if same else codes.astype(signed), mask=absent)
    if not dictionary:
        return values.take(indices)
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


def typed_column(column: Any, attribute: Attribute) -> Any:
    """A CSV file's column, a dictionary of texts, as labels or as numbers to be binned.

    Integers may be written `1` or `1.0`, booleans in any case or as `0` and `1`. A numeric
    attribute's texts are its bins' labels, or else numbers. Each spelling is read once, however
    many people wrote it.
    """
    pa = require("pyarrow", "frames")
    arrow = as_arrow(column, attribute.name)
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


def label_type(attribute: Attribute) -> Any:
    """The Arrow type of an attribute's labels."""
    pa = require("pyarrow", "frames")
    kind = type(attribute.categories[0])
    return {str: pa.string(), int: pa.int64(), bool: pa.bool_()}[kind]


def as_arrow(column: Any, name: str) -> Any:
    """A column as one contiguous PyArrow array."""
    pa = require("pyarrow", "frames")
    try:
        arrow = _arrow_of(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise SchemaError(
            f"the column {name!r} mixes values of different types. Convert it to one type first"
        ) from None
    if not isinstance(arrow, pa.ChunkedArray):
        return arrow
    return arrow.chunk(0) if arrow.num_chunks == 1 else arrow.combine_chunks()


def _arrow_of(column: Any) -> Any:
    """A column in Arrow's form; of a categorical of pandas with no nulls, no row is looked at."""
    pa = require("pyarrow", "frames")
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if hasattr(type(column), "to_arrow"):  # a series of pandas has attributes by its index, too
        return column.to_arrow()
    codes = getattr(column.array, "codes", None)
    if codes is None or codes.min(initial=0) < 0:
        return require("narwhals", "frames").from_native(column, series_only=True).to_arrow()
    labels = pa.array(column.array.categories)
    return pa.DictionaryArray.from_arrays(pa.array(codes), labels, safe=False)


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    types = require("pyarrow", "frames").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def wrap(frame: Any) -> Any:
    """A frame as narwhals sees it, or an error when it sees none."""
    nw = require("narwhals", "frames")
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return frame
    try:
        return nw.from_native(frame)
    except TypeError:
        if isinstance(frame, str | Path):
            raise SchemaError(
                "a path is not a frame. mdrr.randomize_file and mdrr.tally_files read files"
            ) from None
        raise SchemaError(
            f"a {type(frame).__name__} is not a data frame that can be read; "
            "give pandas, Polars or PyArrow"
        ) from None
    except nw.exceptions.DuplicateError:
        need_columns("the frame", list(getattr(frame, "column_names", frame.columns)), ())
        raise


def is_arrow(frame: Any, kind: str = "Table") -> bool:
    """Whether this is a PyArrow table, or another kind of PyArrow's."""
    given = type(frame)
    return given.__name__ == kind and given.__module__.startswith("pyarrow")


def names_of(frame: Any) -> list[str]:
    """The names of a frame's columns."""
    wrapped = wrap(frame)
    lazy = isinstance(wrapped, require("narwhals", "frames").LazyFrame)
    return list(wrapped.collect_schema().names() if lazy else wrapped.columns)


def read_frame(
    frame: Any, wanted: Sequence[str] | None, kinds: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], int]:
    """The wanted columns in memory and their rows, or an error naming the one that is missing.

    The columns are those of the frame's own library, but for an Enum of Polars: to ask for its type
    takes longer than to make it Arrow's. So `kinds`, its `dictionary_kinds`, are asked for once.
    """
    wrapped = wrap(frame)
    names = names_of(wrapped)
    need_columns("the frame", names, wanted or ())
    names = names if wanted is None else list(wanted)
    if isinstance(wrapped, require("narwhals", "frames").LazyFrame):
        wrapped = wrapped.select(*names).collect()
    held = wrapped.to_native()
    if len(held) == 0:
        raise SchemaError("the frame has no rows: there is nobody to read")
    if kinds is None:
        kinds = dictionary_kinds(wrapped) if wrapped.implementation.is_polars() else {}
    columns = {name: held[name] for name in names}
    return {n: c.to_arrow() if kinds.get(n) == "Enum" else c for n, c in columns.items()}, len(held)


def dictionary_kinds(frame: Any) -> dict[str, str]:
    """The columns that are dictionaries: `"Enum"` of Polars, `"Categorical"` all others."""
    if hasattr(frame, "read_next_batch"):  # an Arrow reader, of which no row is read for this
        frame = frame.schema.empty_table()
    wrapped = wrap(frame)
    own = wrapped.implementation.is_polars()  # narwhals would list all labels
    schema = (wrapped.to_native() if own else wrapped).collect_schema()
    kinds = {name: type(kind).__name__ for name, kind in schema.items()}
    found = {name: kind for name, kind in kinds.items() if kind in ("Categorical", "Enum")}
    return found if own else dict.fromkeys(found, "Categorical")  # ordered ones are Enums there


def is_coded(column: Any) -> bool:
    """Whether a column is codes already: a dictionary, but for a Categorical of Polars.

    There, labels of all columns are numbered together, so that each code must be looked up.
    """
    kind = column.dtype if hasattr(column, "dtype") else column.type
    return type(kind).__name__ in ("CategoricalDtype", "DictionaryType")


def need_columns(where: str, names: Sequence[str], wanted: Iterable[str]) -> None:
    """Refuse two columns of one name, and the lack of one that is wanted."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise SchemaError(f"{where} has two columns named {name!r}. Rename or drop one")
    for name in wanted:
        if name not in names:
            raise SchemaError(
                f"{where} has no column {name!r}. It has {known(names)}. Rename the column, or "
                "use the design these records belong to"
            )


def _binned(arrow: Any, attribute: Attribute) -> npt.NDArray[np.signedinteger[Any]]:
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


def _as_they_are(arrow: Any, attribute: Attribute) -> Codes | None:
    """A dictionary's codes without a look at any row, if all of them are labels of the attribute.

    Where its labels come first and in order, these are the column's own codes, not a copy.
    """
    if arrow.null_count or not require("pyarrow", "frames").types.is_dictionary(arrow.type):
        return None
    words, size = arrow.dictionary, attribute.size
    by_word, kind = _word_positions(words, attribute), smallest_unsigned(size)
    indices = arrow.indices.to_numpy(zero_copy_only=False)
    if np.array_equal(by_word, np.arange(len(words))):
        same = indices.dtype.itemsize == kind.itemsize
        return np.asarray(indices.view(kind) if same else indices.astype(kind))
    by_word = np.where(by_word < 0, size, by_word).astype(smallest_unsigned(size + 1))
    return recoded(indices, by_word, size)


def _looked_up(arrow: Any, attribute: Attribute) -> npt.NDArray[np.signedinteger[Any]]:
    """Codes by label: −1 for null, an error for a label that some row has and the domain lacks."""
    if require("pyarrow", "frames").types.is_dictionary(arrow.type):
        words = arrow.dictionary
        indices = arrow.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        by_word = np.append(_word_positions(words, attribute), _signed(attribute)(ABSENT))
        codes = np.asarray(by_word[indices])
        # A dictionary may list labels that no row has: they are nobody's answer, and no error.
    else:
        codes = _positions(arrow, attribute)
    unknown = np.flatnonzero(codes == _UNKNOWN)
    if len(unknown):
        row = int(unknown[0])
        raise attribute.no_category(arrow[row].as_py(), row)
    return codes


def _word_positions(words: Any, attribute: Attribute) -> npt.NDArray[np.signedinteger[Any]]:
    """`_positions` of a dictionary, kept for few words: the next batch has the same."""
    if len(words) > _FEW_WORDS:
        return _positions(words, attribute)
    # 1 == True, though one is no answer to the other
    labels = type(attribute.categories[0]).__name__
    return _kept_positions(tuple(words.to_pylist()), words.type, attribute, labels)


@lru_cache(maxsize=1024)
def _kept_positions(
    words: tuple[Any, ...], kind: Any, attribute: Attribute, _: str
) -> npt.NDArray[np.signedinteger[Any]]:
    return _positions(require("pyarrow", "frames").array(words, kind), attribute)


def _positions(labels: Any, attribute: Attribute) -> npt.NDArray[np.signedinteger[Any]]:
    pa, compute = require("pyarrow", "frames"), require("pyarrow.compute", "frames")
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
    pa = require("pyarrow", "frames")
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


def _signed(attribute: Attribute) -> type[np.signedinteger[Any]]:
    return np.int16 if attribute.size < 2**15 else np.int64
