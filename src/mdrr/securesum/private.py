"""Files for their owner alone, changed by one process at a time: keys, what a device remembers."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes (and threads) that lock the same file waiting until the block ends.

    A file that is read, changed and written again must not change in between. The system lifts the
    lock of a process that dies, so a lock file that is left behind need not be removed.

    Arguments:
        path: the file to guard; its folder is made. The lock is `.<name>.lock` beside it.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with locked(folder / "a.json"):
        ...     [file.name for file in folder.iterdir()]
        ['.a.json.lock']
    """
    make_folder(path.parent)
    beside = path.with_name(f".{path.name}.lock")
    handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _wait_for(handle)
        except OSError as error:
            raise ProtocolError(
                f"{beside} cannot be locked ({error.strerror}), so another process could change "
                f"{path.name} at the same time. Keep it on a disk of this machine"
            ) from None
        yield
    finally:
        os.close(handle)  # which lifts the lock


if sys.platform == "win32":
    import errno
    import msvcrt

    def _wait_for(handle: int) -> None:
        while True:
            try:
                return msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
            except OSError as error:
                if error.errno != errno.EDEADLOCK:  # which says that ten seconds went by
                    raise

else:
    import fcntl

    def _wait_for(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
