"""Write a file whole or not at all: beside it first, then over it in one step."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mdrr.errors import MdrrError


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
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


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
