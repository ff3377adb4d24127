"""A table of people as its owner gives it: read whole, or as far as it can be."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mdrr.columns import require
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    import polars as pl

    from mdrr.misfits import Misfit

_SHOWN_ROWS = 10


def read_table(path: Path) -> pl.DataFrame:
    """A table of people as a Polars frame; an error repeats nothing that the file holds."""
    from mdrr.misfits import misplaced

    if not _named(path).endswith((".csv", ".tsv")):
        raise MdrrError(f"{path}: give the people as CSV or TSV")
    content, separator = _content(path)
    found = misplaced(content, separator)
    if found:
        raise MdrrError(f"{path}: {'; '.join(said(each, 1) for each in found)}")
    return _csv(content, separator, infer_schema_length=None)


def read_what_can_be(path: Path) -> tuple[pl.DataFrame | None, list[Misfit]]:
    """What can be read of a table, as text, and what is wrong with it."""
    from mdrr.misfits import Misfit, misplaced

    polars = require("polars", "frames")
    if _named(path).endswith((".parquet", ".pq")):
        try:
            return polars.read_parquet(path), []
        except polars.exceptions.PolarsError:
            return None, [Misfit("", "this is no Parquet file")]
    if not _named(path).endswith((".csv", ".tsv")):
        raise MdrrError(f"{path}: give the people as CSV, TSV or Parquet")
    content, separator = _content(path)
    found = misplaced(content, separator)
    lossy = {"infer_schema": False, "truncate_ragged_lines": True, "encoding": "utf8-lossy"}
    try:
        table = _csv(content, separator, **lossy)
    except MdrrError:
        if not found:
            raise
        return None, found
    return (None if found and table.width == 1 else table), found


def _named(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if path.is_dir():
        raise MdrrError(f"{path} is a folder. Name the file with the people")
    return path.name.lower().removesuffix(".gz")


def _content(path: Path) -> tuple[bytes, str]:
    """The text of a table, unzipped, and what stands between its fields."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            raise MdrrError(f"{path} is zipped, and not whole. Copy it again") from None
    return content, "\t" if _named(path).endswith(".tsv") else ","


def _csv(content: bytes, separator: str, **options: Any) -> pl.DataFrame:
    polars = require("polars", "frames")
    try:
        table = cast("pl.DataFrame", polars.read_csv(content, separator=separator, **options))
    except polars.exceptions.PolarsError:
        raise MdrrError("the people cannot be read as a table. Write it as CSV anew") from None
    # Polars leaves quotes in names doubled, as in "a""b".
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", "replace", newline="")
    try:
        names = next(csv.reader(text, delimiter=separator), [])
    except csv.Error:
        names = []
    if len(names) == table.width == len(set(names)):
        table.columns = names
    return table


def said(each: Misfit, header: int) -> str:
    """What is wrong, for people: with its rows, as the file counts them."""
    about = f"{each.attribute!a}: " if each.attribute else ""
    return f"{about}{_rows(each.rows, header)}{each.what}"


def _rows(rows: tuple[int, ...], header: int) -> str:
    """Which rows of a file, the first few."""
    if not rows:
        return ""
    shown = ", ".join(f"{row + header:,}" for row in rows[:_SHOWN_ROWS])
    more = f" and {len(rows) - _SHOWN_ROWS:,} more" if len(rows) > _SHOWN_ROWS else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}: "
