"""Frames larger than memory, a batch at a time: Arrow readers, DuckDB, Polars' lazy frames.

A stream of true records is randomized once: whoever could run it again would get a second report
of every person. So what comes of it is an Arrow reader, which is read once, or is held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from mdrr.columns import require
from mdrr.errors import MdrrError, SchemaError
from mdrr.labels import is_arrow, names_of, need_columns, wrap

T = TypeVar("T")

ROWS = 1 << 18
"""Rows of a batch, as far as the engine can be told."""


def is_reader(frame: Any) -> bool:
    """Whether this is an Arrow reader, which gives record batches once."""
    return is_arrow(frame, "RecordBatchReader")


def is_relation(frame: Any) -> bool:
    """Whether this is a DuckDB relation."""
    return not is_reader(frame) and bool(wrap(frame).implementation.is_duckdb())


def is_polars(frame: Any) -> bool:
    """Whether this is a frame of Polars."""
    return not is_reader(frame) and bool(wrap(frame).implementation.is_polars())


def column_names(frame: Any) -> list[str]:
    """The columns of a frame or reader."""
    return list(frame.schema.names) if is_reader(frame) else names_of(frame)


def in_batches(frame: Any, wanted: Sequence[str]) -> Iterator[Any] | None:
    """The wanted columns of a stream as frames in memory; None if the frame is in memory itself."""
    if is_reader(frame):
        need_columns("the frame", frame.schema.names, wanted)
        table = require("pyarrow", "frames").Table
        return (table.from_batches([batch]).select(wanted) for batch in frame)
    wrapped = wrap(frame)
    if not isinstance(wrapped, require("narwhals", "frames").LazyFrame):
        return None
    need_columns("the frame", wrapped.collect_schema().names(), wanted)
    native = wrapped.select(*wanted).to_native()
    if is_relation(frame):
        named = ("to_arrow_reader", "fetch_record_batch")  # newer and older versions
        read = next(getattr(native, name) for name in named if hasattr(native, name))
        return in_batches(read(ROWS), wanted)
    if hasattr(native, "collect_batches"):
        return (batch for batch in native.collect_batches(chunk_size=ROWS))
    return iter([wrapped.select(*wanted).collect().to_native()])


def each_batch(batches: Iterator[Any], work: Callable[[Any], T]) -> Iterator[T]:
    """What is made of each batch that has rows; errors count rows from the stream's first."""
    before = 0
    for batch in batches:
        if not len(batch):
            continue
        try:
            yield work(batch)
        except MdrrError as error:
            if error.row is None:
                raise
            raise type(error)(error.args[0], error.row + before) from None
        before += len(batch)
    if not before:
        raise SchemaError("the frame has no rows: there is nobody to read")


def as_reader(tables: Iterator[Any]) -> Any:
    """PyArrow tables of one schema as an Arrow reader, made as it is read."""
    pa = require("pyarrow", "frames")
    first = next(tables)
    batches = (batch for table in chain([first], tables) for batch in table.to_batches())
    return pa.RecordBatchReader.from_batches(first.schema, batches)
