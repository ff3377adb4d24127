"""What a party must not forget, in files that several of her processes may share."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.history import FileHistory, MemoryHistory, write_atomically
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.transport.keyfile import load_or_make
from mdrr.source import SystemSource

PROCESSES, TIMES = 4, 25


def at_once(work: Callable[..., Any], folder: Path) -> list[Any]:
    """What each of several processes returns that start the same work at the same moment."""
    context = get_context("spawn")
    barrier, answers = context.Barrier(PROCESSES), context.SimpleQueue()
    started = [
        context.Process(target=_one, args=(work, folder, k, barrier, answers))
        for k in range(PROCESSES)
    ]
    for process in started:
        process.start()
    found = [answers.get() for _ in started]
    for process in started:
        process.join()
        assert process.exitcode == 0
    return found


def _one(work: Callable[..., Any], folder: Path, k: int, barrier: Barrier, answers: Any) -> None:
    barrier.wait()
    try:
        answers.put(work(folder, k))
    except ProtocolError as error:
        answers.put(str(error))


def _remember_many(folder: Path, k: int) -> None:
    history = FileHistory(folder / "history.json")
    for i in range(TIMES):
        history.remember(frozenset((f"{k}", f"{k}-{i}")))
        history.begin(f"{k}-{i}")


def _remember_the_same(folder: Path, k: int) -> None:
    FileHistory(folder / "history.json").remember(frozenset((*"abcd", f"{k}")), apart=3)


def _begin_the_same(folder: Path, k: int) -> None:
    FileHistory(folder / "history.json").begin("run")


def _open_the_same(folder: Path, k: int) -> None:
    ledger = SqliteLedger(folder / "ledger.db")
    ledger.note_opening(f"batch {k}", frozenset((*"abcd", f"{k}")), b"{}", apart=3)


def _keys(folder: Path, k: int) -> str:
    return load_or_make(folder / "keys.json", SystemSource()).id


def test_what_several_processes_note_at_once_is_all_kept(tmp_path: Path) -> None:
    at_once(_remember_many, tmp_path)
    history = FileHistory(tmp_path / "history.json")
    wanted = [(k, i) for k in range(PROCESSES) for i in range(TIMES)]
    assert len(tuple(history.groups())) == len(wanted)
    assert set(history.groups()) == {frozenset((f"{k}", f"{k}-{i}")) for k, i in wanted}
    for k, i in wanted:
        with pytest.raises(ProtocolError, match="ask for a new run"):
            history.begin(f"{k}-{i}")


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        (_remember_the_same, "differs by 2"),
        (_begin_the_same, "ask for a new run"),
        (_open_the_same, "differs by 2"),
    ],
)
def test_of_processes_that_reveal_somebody_together_one_goes_on(
    tmp_path: Path, work: Callable[..., None], complaint: str
) -> None:
    SqliteLedger(tmp_path / "ledger.db").close()
    found = at_once(work, tmp_path)
    assert sum(said is None for said in found) == 1
    assert sum(said is not None and complaint in said for said in found) == PROCESSES - 1


def test_processes_started_at_once_have_the_same_keys(tmp_path: Path) -> None:
    (one,) = set(at_once(_keys, tmp_path))
    assert one == _keys(tmp_path, 0)


def test_keys_are_read_from_a_folder_nobody_may_write(tmp_path: Path) -> None:
    one = _keys(tmp_path, 0)
    (tmp_path / ".keys.json.lock").unlink()
    assert _keys(tmp_path, 0) == one
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


def test_a_lock_left_behind_locks_nothing(tmp_path: Path) -> None:
    (tmp_path / ".history.json.lock").touch()
    FileHistory(tmp_path / "history.json").remember(frozenset("ab"))
    assert list(FileHistory(tmp_path / "history.json").groups()) == [frozenset("ab")]


def test_what_cannot_be_locked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("mdrr.securesum.lock._wait_for", refuse)
    with pytest.raises(ProtocolError, match=r"No locks available.*disk of this machine"):
        FileHistory(tmp_path / "history.json").remember(frozenset("ab"))
    assert not (tmp_path / "history.json").exists()


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_group_too_close_to_an_earlier_one_is_not_noted(tmp_path: Path, kind: str) -> None:
    history = MemoryHistory() if kind == "memory" else FileHistory(tmp_path / "history.json")
    history.remember(frozenset("abcd"), apart=9)
    with pytest.raises(ProtocolError, match="differs by 2"):
        history.remember(frozenset("abce"), apart=3)
    history.remember(frozenset("abce"), apart=2)
    assert list(history.groups()) == [frozenset("abcd"), frozenset("abce")]


def test_history_survives_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "history.json"
    FileHistory(path).remember(frozenset("ab"))
    FileHistory(path).remember(frozenset("c"))
    assert list(FileHistory(path).groups()) == [frozenset("ab"), frozenset("c")]
    path.write_text("{")
    with pytest.raises(ProtocolError, match="earlier groups"):
        FileHistory(path).groups()


def test_a_file_remembers_the_runs_it_began(tmp_path: Path) -> None:
    FileHistory(tmp_path / "history.json").begin("a" * 64)
    FileHistory(tmp_path / "history.json").begin("b" * 64)
    with pytest.raises(ProtocolError, match="ask for a new run"):
        FileHistory(tmp_path / "history.json").begin("a" * 64)
    (tmp_path / "runs.json").write_text("{")
    with pytest.raises(ProtocolError, match="not a list of earlier runs"):
        FileHistory(tmp_path / "history.json").begin("c" * 64)


def test_what_is_written_goes_through_no_name_that_could_be_prepared(tmp_path: Path) -> None:
    """A link under the name that used to be written first leads a secret elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    path = tmp_path / "keys.json"
    (tmp_path / f".{path.name}.{os.getpid()}").symlink_to(elsewhere)
    write_atomically(path, b"secret")
    assert path.read_bytes() == b"secret"
    assert not path.is_symlink()
    assert elsewhere.read_bytes() == b""
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(path, b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_group_without_a_total_is_remembered_over_restarts(tmp_path: Path) -> None:
    path, group = tmp_path / "history.json", frozenset("abcd")
    FileHistory(path).remember(group, 3, True)
    FileHistory(path).remember(group, 3, True)  # the first run showed no total
    with pytest.raises(ProtocolError, match="differs by 0"):
        FileHistory(path).remember(group, 3, False)
    FileHistory(path).finish(group)
    with pytest.raises(ProtocolError, match="differs by 0"):
        FileHistory(path).remember(group, 3, True)
    assert FileHistory(path).unfinished() == ()
