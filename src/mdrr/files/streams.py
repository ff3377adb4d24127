"""Bytes in and out, as they are or zipped; stdin among them. Each file is opened once."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from mdrr.errors import SchemaError

STDIN = "-"
"""The path that stands for stdin."""


ZIPPED = b"\x1f\x8b"
"""How every gzip file begins."""


def refuse_zipped(first: bytes, path: str | Path) -> None:
    """Refuse zipped bytes where plain ones should be."""
    if first[:2] == ZIPPED:
        how = "Unzip it first" if str(path) == STDIN else f"Name it {Path(path).name + '.gz'!r}"
        raise SchemaError(f"{str(path)!r} is a gzip file. {how}")


def zipped(path: str | Path) -> bool:
    """Whether a file is zipped, by its ending."""
    return str(path).lower().endswith(".gz")


@contextmanager
def opened(path: str | Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """A file's bytes, unzipped, and a function that tells the share of it that was read.

    The path "-" is stdin, of which no share is known.
    """
    if str(path) == STDIN:
        yield sys.stdin.buffer, lambda: 0.0
        return
    size = max(os.path.getsize(path), 1)
    with Path(path).open("rb") as raw:
        if not zipped(path):
            refuse_zipped(raw.peek(2), path)
        try:
            yield gzip.GzipFile(fileobj=raw) if zipped(path) else raw, lambda: raw.tell() / size
        except (gzip.BadGzipFile, zlib.error, EOFError):
            raise SchemaError(f"{str(path)!r} is not a gzip file, or is not whole") from None


@contextmanager
def zipping(raw: BinaryIO, path: str | Path) -> Iterator[Any]:
    """A stream whose bytes reach `raw`, zipped if the path ends in .gz.

    The same bytes always zip to the same file: neither its name nor the time is kept.
    """
    if not zipped(path):
        yield raw
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as out:
        yield out


class Rejoined(io.RawIOBase):
    """A stream again from its beginning, of which the first bytes were read already.

    A subclass because that is what PyArrow reads from. It reads on, where a pipe gives less than
    was asked for, to the end.
    """

    def __init__(self, first: bytes, rest: Any) -> None:
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, as many as asked for unless the stream ends."""
        if size < 0:
            size = sys.maxsize
        taken, self._first = self._first[:size], self._first[size:]
        more: bytes = self._rest.read(size - len(taken)) if len(taken) < size else b""
        return taken + more
