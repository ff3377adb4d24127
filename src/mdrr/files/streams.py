"""Bytes in and out, as they are or zipped; stdin among them.

Each file is opened once. It is written whole or not at all: beside it first, then over it in one
step.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mdrr.errors import MdrrError, SchemaError

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


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """A temporary file in the same folder that takes the path's place when the block ends well.

    When the block fails or is interrupted, the temporary file is removed and what stood at the
    path, if anything, is untouched. The folder must exist.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole(folder / "a.txt") as beside:
    ...     _ = beside.write_text("done")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    final = check_folder(path)
    if final.exists() and not final.is_file():
        raise MdrrError(f"{str(path)!r} is not a file that can be replaced")
    beside = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        yield beside
        _to_disk(beside)
        if final.exists():
            shutil.copymode(final, beside)
        os.replace(beside, final)
        _to_disk(final.parent)
    except OSError as error:
        if str(error.filename) == str(beside):  # nobody knows that name: say the one that was given
            if isinstance(error, FileNotFoundError):  # the folder is there, and takes no files
                raise MdrrError(f"no file can be written at {str(path)!r}") from None
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def written(path: str | Path) -> Iterator[Any]:
    """A stream whose bytes become the file, whole or not at all; zipped if the path ends in .gz.

    The same bytes always zip to the same file: neither its name nor the time is kept.
    """
    with whole(path) as beside, beside.open("wb") as raw:
        if not zipped(path):
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as out:
            yield out


def check_folder(path: str | Path) -> Path:
    """Where a file will stand, links followed; refused when that folder does not exist."""
    final = Path(os.path.realpath(path))
    if not final.parent.is_dir():
        raise MdrrError(f"there is no folder {str(final.parent)!r}. Make it first")
    return final


def write_text(path: str | Path, text: str) -> None:
    """Write text in UTF-8, whole or not at all."""
    with whole(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _to_disk(path: Path) -> None:
    """Make sure that what was written survives a power cut."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
