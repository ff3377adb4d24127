"""CSV and Parquet in and out as PyArrow tables, a chunk at a time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from mdrr.batches import ROWS, each_batch, need_columns
from mdrr.columns import Extra, pa
from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError, SchemaError
from mdrr.files.streams import (
    STDIN,
    Rejoined,
    opened,
    refuse_zipped,
    write_text,
    written,
    zipped,
)
from mdrr.frames import encode
from mdrr.labels import typed_table
from mdrr.randomizer import Codes

parquet = Extra("pyarrow.parquet", "frames")
arrow_csv = Extra("pyarrow.csv", "frames")

T = TypeVar("T")

OnProgress: TypeAlias = Callable[[float], None]
"""Called with the share of a file that was read, between 0 and 1."""

_BLOCK = 1 << 23
_FIRST = 1 << 20
_TEXT = ("string", "large_string", "string_view")
"""Arrow's types of text."""
_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def file_format(path: str | Path) -> str:
    """`"csv"`, `"tsv"`, `"parquet"` or `"jsonl"`, by the file's ending; stdin is CSV.

    >>> file_format("people.csv.gz"), file_format("reports.parquet"), file_format("-")
    ('csv', 'parquet', 'csv')
    """
    if str(path) == STDIN:
        return "csv"
    name = Path(path).name.lower().removesuffix(".gz")
    if Path(name).suffix not in _FORMATS:
        raise MdrrError(
            f"{str(path)!r} does not say its format. Name it .csv, .tsv, .parquet or .jsonl"
        )
    return _FORMATS[Path(name).suffix]


def ahead(chunks: Iterator[T]) -> Iterator[T]:
    """The same chunks, each read while the one before is worked on.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """

    def start() -> Future[T | None]:
        waiting: Future[T | None] = Future()

        def read() -> None:
            try:
                waiting.set_result(next(chunks, None))
            except BaseException as error:  # whoever waits is told
                waiting.set_exception(error)

        # A daemon: whoever is told to stop does not wait for a file that never ends.
        Thread(target=read, name="mdrr-reader", daemon=True).start()
        return waiting

    waiting = start()
    while (chunk := waiting.result()) is not None:
        waiting = start()
        yield chunk


def converted(path: str | Path, tables: Iterable[Any], convert: Callable[[Any], T]) -> Iterator[T]:
    """What is made of each of a file's tables; an error about data names the file and the row."""
    before = 0 if file_format(path) == "parquet" else 1  # a row of CSV names the columns
    return each_batch(tables, convert, repr(str(path)), before)


def read_codes(
    path: str | Path, domain: Domain, on_progress: OnProgress | None = None
) -> Iterator[list[Codes]]:
    """True records as codes, chunk by chunk, ready for `mdrr.randomize_codes`."""
    tables = read_people(path, domain, on_progress)
    return ahead(converted(path, tables, lambda table: encode(table, domain)))


def read_people(
    path: str | Path, domain: Domain, on_progress: OnProgress | None = None
) -> Iterator[Any]:
    """True records as PyArrow tables, chunk by chunk, ready for `mdrr.randomize`.

    The file is CSV (also .csv.gz, .tsv, or "-" for CSV on stdin) or Parquet with a column per
    attribute; others are not read.
    """
    return read_tables(path, domain.attributes, (), on_progress)


def read_tables(
    path: str | Path,
    attributes: Sequence[Attribute],
    others: Sequence[str] = (),
    on_progress: OnProgress | None = None,
) -> Iterator[Any]:
    """Tables with the attributes' columns and some others (as text, in CSV), chunk by chunk."""
    kind = file_format(path)
    if kind == "jsonl":
        raise MdrrError(f"{str(path)!r}: JSON Lines hold reports, not labels. Give CSV or Parquet")
    names = [*others, *(attribute.name for attribute in attributes)]
    told = on_progress or (lambda _: None)
    if kind == "parquet":
        return converted(path, _parquet(path, names, told), lambda table: table)
    empty = any(label == "" for a in attributes for label in a.categories)
    texts = _csv(path, names, empty, told)
    return converted(path, texts, lambda table: typed_table(table, attributes))


def sidecar(path: str | Path) -> Path:
    """The file beside a CSV file of reports that says which design they were made under."""
    return Path(f"{path}.mdrr.json")


def write_tables(path: str | Path, tables: Iterable[Any], *, fingerprint: str | None = None) -> int:
    """Write PyArrow tables of one schema as CSV or Parquet, whole or not at all; gives their rows.

    A Parquet file keeps their metadata; a CSV file has the fingerprint, if these are reports, in a
    file beside it.
    """
    kind = file_format(path)
    if kind == "jsonl" or str(path) == STDIN or (kind == "parquet" and zipped(path)):
        raise MdrrError(
            f"{str(path)!r}: tables are written as .csv, .tsv (also .csv.gz, .tsv.gz) or .parquet"
        )
    rows, each = 0, iter(tables)
    with written(path) as out:
        if (first := next(each, None)) is None:
            raise MdrrError(f"there is nothing to write to {str(path)!r}")
        with _writer(out, kind, first.schema) as writer:
            for table in chain([first], each):
                writer.write_table(table)
                rows += table.num_rows
        # An old sidecar must never stand beside new rows, wherever this is interrupted.
        sidecar(path).unlink(missing_ok=True)
    if fingerprint is not None and kind != "parquet":
        write_text(sidecar(path), json.dumps({"design": fingerprint}) + "\n")
    return rows


def parquet_metadata(path: str | Path) -> dict[bytes, bytes]:
    """The metadata a Parquet file keeps beside its columns."""
    return _parquet_file(path, []).schema_arrow.metadata or {}


def _writer(out: Any, kind: str, schema: Any) -> Any:
    if kind == "parquet":
        # Dictionaries are written as what they hold: other programs read plain text.
        plain = not any(pa.types.is_dictionary(field.type) for field in schema)
        writer = parquet.ParquetWriter(out, schema, compression="zstd", store_schema=plain)
        if not plain and schema.metadata:
            writer.add_key_value_metadata(schema.metadata)
        return writer
    options = arrow_csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",")
    return arrow_csv.CSVWriter(out, schema, write_options=options)


def _parquet_file(path: str | Path, as_dictionary: list[str]) -> Any:
    Path(path).open("rb").close()  # a missing file is an OSError that names it
    try:
        return parquet.ParquetFile(path, read_dictionary=as_dictionary)
    except pa.ArrowInvalid:
        raise SchemaError(f"{str(path)!r} is not a Parquet file, or is not whole") from None


def _parquet(path: str | Path, names: list[str], told: OnProgress) -> Iterator[Any]:
    schema = _parquet_file(path, []).schema_arrow
    need_columns(repr(str(path)), schema.names, names)
    texts = [n for n in names if str(schema.field(n).type) in _TEXT]
    file, done = _parquet_file(path, texts), 0
    try:
        for batch in file.iter_batches(batch_size=ROWS, columns=names):
            yield pa.Table.from_batches([batch])
            done += batch.num_rows
            told(done / file.metadata.num_rows)
    except (pa.ArrowInvalid, OSError):
        raise SchemaError(f"{str(path)!r} cannot be read to its end; it may be damaged") from None


def _csv(path: str | Path, names: list[str], empty: bool, told: OnProgress) -> Iterator[Any]:
    """Tables of texts. Quoted cells without one are null unless an empty text is a label."""
    delimiter = "\t" if file_format(path) == "tsv" else ","
    trouble: list[str] = []

    def bad_row(row: Any) -> str:
        # The row's text is someone's answers: it is not repeated.
        which = "a row" if row.number is None else f"row {row.number}"
        trouble.append(f"{which} has {row.actual_columns} cells instead of {row.expected_columns}")
        return "error"

    convert = arrow_csv.ConvertOptions(
        include_columns=names,
        column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=not empty,
    )
    with opened(path) as (stream, share):
        try:
            first = stream.read(_FIRST)
            refuse_zipped(first, path)
            need_columns(repr(str(path)), _header(path, first, delimiter), names)
            reader = arrow_csv.open_csv(
                Rejoined(first, stream),
                arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False),
                arrow_csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True, invalid_row_handler=bad_row
                ),
                convert,
            )
            for batch in reader:
                yield pa.Table.from_batches([batch])
                told(share())
        except pa.ArrowInvalid as error:
            if trouble:
                raise SchemaError(f"{str(path)!r}: {trouble[0]}") from None
            if "UTF8" in str(error):
                raise SchemaError(f"{str(path)!r} is not text in UTF-8. Convert it first") from None
            raise SchemaError(f"{str(path)!r} cannot be read as CSV") from None


def _header(path: str | Path, first: bytes, delimiter: str) -> list[str]:
    """The columns' names, from a file's first bytes."""
    text = io.TextIOWrapper(io.BytesIO(first), encoding="utf-8-sig", newline="")
    try:
        header = next((row for row in csv.reader(text, delimiter=delimiter) if row), None)
    except UnicodeDecodeError:
        raise SchemaError(f"{str(path)!r} is not text in UTF-8. Convert it first") from None
    if header is None:
        raise SchemaError(f"{str(path)!r} is empty. Its first line must name the columns")
    for other in (",", ";", "\t"):
        if other != delimiter and len(header) == 1 and other in header[0]:
            wanted = "tabs" if delimiter == "\t" else "commas"
            advice = ", or name it .tsv" if other == "\t" else ""
            raise SchemaError(
                f"{str(path)!r}: the columns are separated by {other!r}. Save the file with "
                f"{wanted}{advice}"
            )
    return header
