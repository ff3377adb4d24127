"""Frames as columns in memory; those larger than it, a batch at a time.

Arrow readers, DuckDB relations and Polars' lazy frames are read in batches. A stream of true
records is randomized once: whoever could run it again would get a second report of every person.
So what comes of it is an Arrow reader, which is read once, or is held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from mdrr.columns import nw, pa
from mdrr.domain import known
from mdrr.errors import MdrrError, SchemaError

T = TypeVar("T")

ROWS = 1 << 18
"""Rows of a batch, as far as the engine can be told."""


def is_reader(frame: Any) -> bool:
    """Whether this is an Arrow reader, which gives record batches once."""
    kind = type(frame)
    return kind.__name__ == "RecordBatchReader" and kind.__module__.startswith("pyarrow")


def wrap(frame: Any) -> Any:
    """A frame as narwhals sees it, or an error when it sees none."""
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


def outline(frame: Any) -> Any:
    """A frame as narwhals sees it; of a reader, whose rows come once, a table without rows."""
    return wrap(frame.schema.empty_table() if is_reader(frame) else frame)


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


def read_frame(frame: Any, wanted: Sequence[str] | None) -> tuple[dict[str, Any], int]:
    """The wanted columns in memory, as the frame's own library has them, and their rows."""
    wrapped = wrap(frame)
    names = wrapped.columns if wanted is None else list(wanted)
    need_columns("the frame", wrapped.columns, names)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.select(*names).collect()
    held = wrapped.to_native()
    if len(held) == 0:
        raise SchemaError("the frame has no rows: there is nobody to read")
    return {name: held[name] for name in names}, len(held)


def in_batches(frame: Any, wanted: Sequence[str]) -> Iterator[Any] | None:
    """The wanted columns of a stream as frames in memory; None if the frame is in memory itself."""
    if is_reader(frame):
        need_columns("the frame", frame.schema.names, wanted)
        return (pa.Table.from_batches([batch]).select(wanted) for batch in frame)
    wrapped = wrap(frame)
    if not isinstance(wrapped, nw.LazyFrame):
        return None
    need_columns("the frame", wrapped.columns, wanted)
    native = wrapped.select(*wanted).to_native()
    if wrapped.implementation.is_duckdb():
        named = ("to_arrow_reader", "fetch_record_batch")  # newer and older versions
        read = next(getattr(native, name) for name in named if hasattr(native, name))
        return in_batches(read(ROWS), wanted)
    if hasattr(native, "collect_batches"):
        return (batch for batch in native.collect_batches(chunk_size=ROWS))
    return iter([wrapped.select(*wanted).collect().to_native()])


def each_batch(
    batches: Iterable[Any], work: Callable[[Any], T], where: str = "", before: int = 0
) -> Iterator[T]:
    """What is made of each batch that has rows.

    Errors say where, and count rows from the stream's first, with so many `before` it.
    """
    rows = 0
    for batch in batches:
        if not len(batch):
            continue
        try:
            made = work(batch)
        except MdrrError as error:
            raise error.inside(where, before + rows) from None
        yield made
        rows += len(batch)
    if not rows:
        raise SchemaError(f"{where or 'the frame'} has no rows: there is nobody to read")


def as_reader(tables: Iterator[Any]) -> Any:
    """PyArrow tables of one schema as an Arrow reader, made as it is read."""
    first = next(tables)
    batches = (batch for table in chain([first], tables) for batch in table.to_batches())
    return pa.RecordBatchReader.from_batches(first.schema, batches)
