"""One process at a time: a file read, changed and written again must not change in between."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mdrr.errors import ProtocolError
from mdrr.securesum.private import make_folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes (and threads) that lock the same file waiting until the block ends.

    The system lifts the lock of a process that dies, so a lock file that is left behind locks
    nothing and need not be removed.

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
