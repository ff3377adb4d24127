"""Which groups were opened before: two totals whose groups differ by one person reveal her.

If A and B were opened, anyone can subtract, and learns the (signed) totals of the people in just
one of them. A run is therefore refused when its group differs from an opened one by fewer than
`apart` people. A group counts as opened from the moment the first piece of its total may leave, so
a run that breaks off during the opening counts too. The very same group counts, because one changed
answer would show. But if she saw no total of it, the very same group may try again with the same
answers: somebody who did see a total learns nothing new.

A person may take part in several runs at once, so looking at the earlier groups and noting a new
one is one step, under a lock between processes. The rule looks at pairs of groups; three or more
can still be combined (docs/benchmarks/securesum.md).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from mdrr.errors import ProtocolError
from mdrr.securesum.lock import locked


class Opened(Protocol):
    """The groups opened so far, by the ids of their members."""

    def groups(self) -> Iterable[frozenset[str]]:
        """Every opened group."""
        ...

    def unfinished(self) -> Iterable[frozenset[str]]:
        """Those of them whose total was never seen."""
        ...


class History(Opened, Protocol):
    """What a party must not forget: the groups opened so far, the runs she dealt shares in."""

    def begin(self, run: str, /) -> None:
        """Note, durably, that shares of a run are about to leave; refuse the same run again."""
        ...

    def remember(self, group: frozenset[str], /, apart: int = 0, repeat: bool = False) -> None:
        """Note a group, durably, before the first piece of its total leaves.

        Refuses a group that differs from an earlier one by fewer than `apart` people; see
        `check_apart` for `repeat`.
        """
        ...

    def finish(self, group: frozenset[str], /) -> None:
        """Note that the total of a group was seen."""
        ...


class MemoryHistory:
    """A history that lasts as long as the process: for simulation and tests."""

    def __init__(self) -> None:
        self._groups: list[frozenset[str]] = []
        self._unfinished: set[frozenset[str]] = set()
        self._runs: set[str] = set()

    def begin(self, run: str, /) -> None:
        """Note a run, once."""
        _refuse_again(run, self._runs)
        self._runs.add(run)

    def groups(self) -> Iterable[frozenset[str]]:
        """Every opened group."""
        return tuple(self._groups)

    def unfinished(self) -> Iterable[frozenset[str]]:
        """Those whose total was never seen."""
        return tuple(self._unfinished)

    def remember(self, group: frozenset[str], /, apart: int = 0, repeat: bool = False) -> None:
        """Note a group, unless it is too close to an earlier one."""
        check_apart(self, group, apart, repeat)
        self._groups.append(group)
        self._unfinished.add(group)

    def finish(self, group: frozenset[str], /) -> None:
        """Note that the total of a group was seen."""
        self._unfinished.discard(group)


class FileHistory:
    """A history in three JSON files, replaced atomically; they name ids and runs and no answers.

    Processes that share the files change them one at a time, so that none forgets what another
    noted.

    Arguments:
        path: the file of groups; it need not exist yet. Runs are noted in `runs.json` beside it,
            groups whose total was not seen in `unfinished.json`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begun = path.with_name("runs.json")
        self._open = path.with_name("unfinished.json")

    def begin(self, run: str, /) -> None:
        """Note a run, once, before its first share leaves."""
        with locked(self._begun):
            runs = _read_list(self._begun, "earlier runs; restore it")
            _refuse_again(run, runs)
            write_atomically(self._begun, json.dumps([*runs, run]).encode())

    def groups(self) -> Iterable[frozenset[str]]:
        """Every opened group."""
        return _read_groups(self._path)

    def unfinished(self) -> Iterable[frozenset[str]]:
        """Those whose total was never seen."""
        return _read_groups(self._open)

    def remember(self, group: frozenset[str], /, apart: int = 0, repeat: bool = False) -> None:
        """Note a group, unless it is too close to an earlier one: synced, then put in place."""
        with locked(self._path):
            check_apart(self, group, apart, repeat)
            _write_groups(self._path, (*self.groups(), group))
            _write_groups(self._open, {*self.unfinished(), group})

    def finish(self, group: frozenset[str], /) -> None:
        """Note that the total of a group was seen."""
        with locked(self._path):
            _write_groups(self._open, {*self.unfinished()} - {group})


def _read_list(path: Path, what: str) -> list[Any]:
    try:
        found = json.loads(path.read_text()) if path.exists() else []
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise ProtocolError(f"{path} is not a list of {what}")
    return found


def _read_groups(path: Path) -> tuple[frozenset[str], ...]:
    what = (
        "earlier groups; without it a run that would single somebody out cannot be recognised. "
        "Restore it, or take part under new keys"
    )
    lists = _read_list(path, what)
    if not all(isinstance(one, list) for one in lists):
        raise ProtocolError(f"{path} is not a list of {what}")
    return tuple(frozenset(str(name) for name in one) for one in lists)


def _write_groups(path: Path, groups: Iterable[frozenset[str]]) -> None:
    write_atomically(path, json.dumps([sorted(one) for one in groups]).encode())


def _refuse_again(run: str, runs: Iterable[str]) -> None:
    """A party who was killed has lost the share she kept; with a fresh one the sum is wrong."""
    if run in runs:
        raise ProtocolError(
            "this party dealt shares in this run before and has lost her own since; "
            "ask for a new run"
        )


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by new content, so that a crash leaves the old or the new and nothing else.

    Only its owner can read it. It is written beside its place first, under a name that nobody can
    guess and prepare, such as a link that leads elsewhere.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
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


def check_apart(history: Opened, group: frozenset[str], apart: int, repeat: bool = False) -> None:
    """Refuse a group too close to an opened one.

    Arguments:
        history: what was opened.
        group: ids of the people whose total would open.
        apart: the least number of people by which groups must differ.
        repeat: let the very same group pass if its total was never seen. Only where answers are the
            same again: pairs that are randomized afresh would tell more.

    Example:
        >>> past = MemoryHistory()
        >>> past.remember(frozenset("abcd"))
        >>> check_apart(past, frozenset("abc"), apart=3)
        Traceback (most recent call last):
        mdrr.errors.ProtocolError: this group differs by 1 from one that was opened before; ...
        >>> check_apart(past, frozenset("abcd"), apart=3, repeat=True)
    """
    again = repeat and group in set(history.unfinished())
    for opened in history.groups():
        distance = len(opened ^ group)
        if distance < apart and not (again and distance == 0):
            raise ProtocolError(
                f"this group differs by {distance} from one that was opened before; the "
                f"difference of the totals would tell about so few people. At least {apart} must "
                "differ"
            )
