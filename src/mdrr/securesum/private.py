"""Files for their owner alone: keys, ledgers, what a device remembers."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from mdrr.errors import ProtocolError


def make_folder(path: Path) -> None:
    """Make a folder that only its owner can look into, unless it is there already."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def refuse_if_others_read(path: Path, otherwise: str) -> None:
    """Keys that others could read may have been copied. Windows has no such bits.

    Arguments:
        path: the file.
        otherwise: what to do if they were copied.
    """
    mode = path.stat().st_mode & 0o777
    if os.name == "posix" and mode & 0o077:
        raise ProtocolError(
            f"others on this machine can use the keys in {path} (mode {mode:03o}). If nobody has "
            f"copied them, run: chmod 600 {shlex.quote(str(path))}. Otherwise {otherwise}"
        )


def refuse_if_others_look(folder: Path) -> None:
    """A folder of keys and of what was answered is its owner's alone, also if it was there before.

    Arguments:
        folder: it need not exist yet; what is written there makes it so.
    """
    mode = folder.stat().st_mode & 0o777 if folder.is_dir() else 0
    if os.name == "posix" and mode & 0o077:
        raise ProtocolError(
            f"others on this machine can look into {folder} (mode {mode:03o}), where your keys and "
            f"notes are kept. Run: chmod 700 {shlex.quote(str(folder))}, or name a new folder"
        )


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by new content, so that a crash leaves the old or the new and nothing else.

    Only its owner can read it. It is written beside its place first, under a name that nobody can
    guess and prepare, such as a link that leads elsewhere.
    """
    make_folder(path.parent)
    handle, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
