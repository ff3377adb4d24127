"""What a party must not forget, in files that several of her processes may share."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import ProtocolError
from mdrr.securesum.belongings import load_or_make
from mdrr.securesum.history import History, Revealed
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.question import Question, spent_on
from mdrr.securesum.signed import Roster
from mdrr.source import SystemSource
from tests.processes import PROCESSES
from tests.securesum.group import QUESTION, people, roster_of

TOGETHER, TIMES = 4, 25


def at_once(work: Callable[..., Any], folder: Path) -> list[Any]:
    """What each of several processes returns that start the same work at the same moment."""
    barrier, answers = PROCESSES.Barrier(TOGETHER), PROCESSES.SimpleQueue()
    started = [
        PROCESSES.Process(target=_one, args=(work, folder, k, barrier, answers))
        for k in range(TOGETHER)
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


def runs(seed: int) -> Roster:
    """A run of three people, who are always others."""
    return roster_of(people(3, seed=seed), seed, Question.randomized(QUESTION.domain, p=0.5))


def exact(seed: int) -> Roster:
    """A run that asks for exact tables."""
    return roster_of(people(3, seed=seed), seed)


def _remember_many(folder: Path, k: int) -> None:
    history = History(folder / "history.json")
    for i in range(TIMES):
        history.remember(runs(100 * k + i))
        history.begin(f"{k}-{i}")


def _remember_the_same(folder: Path, k: int) -> None:
    History(folder / "history.json").remember(exact(k))


def _begin_the_same(folder: Path, k: int) -> None:
    History(folder / "history.json").begin("run")


def _end_the_same(folder: Path, k: int) -> None:
    Ledger(folder / "ledger.db").end("batch", "abort" if k else "result", b"{}")


def _keys(folder: Path, k: int) -> str:
    return load_or_make(folder / "keys.json", SystemSource()).id


def test_what_several_processes_note_at_once_is_all_kept(tmp_path: Path) -> None:
    at_once(_remember_many, tmp_path)
    history = History(tmp_path / "history.json")
    wanted = [(k, i) for k in range(TOGETHER) for i in range(TIMES)]
    found = [one.run for one in history.revealed()]
    assert len(found) == len(wanted)
    assert set(found) == {runs(100 * k + i).digest for k, i in wanted}
    for k, i in wanted:
        with pytest.raises(ProtocolError, match="ask for a new run"):
            history.begin(f"{k}-{i}")


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        (_remember_the_same, "answered smokes"),
        (_begin_the_same, "ask for a new run"),
        (_end_the_same, "this batch has ended already"),
    ],
)
def test_of_processes_that_reveal_somebody_together_one_goes_on(
    tmp_path: Path, work: Callable[..., None], complaint: str
) -> None:
    Ledger(tmp_path / "ledger.db").close()
    found = at_once(work, tmp_path)
    assert sum(said is None for said in found) == 1
    assert sum(said is not None and complaint in said for said in found) == TOGETHER - 1


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
    History(tmp_path / "history.json").remember(exact(1))
    assert [one.run for one in History(tmp_path / "history.json").revealed()] == [exact(1).digest]


def test_what_cannot_be_locked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("mdrr.securesum.private._wait_for", refuse)
    with pytest.raises(ProtocolError, match=r"No locks available.*disk of this machine"):
        History(tmp_path / "history.json").remember(exact(1))
    assert not (tmp_path / "history.json").exists()


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_run_that_asks_again_is_not_noted(tmp_path: Path, kind: str) -> None:
    history = History(None if kind == "memory" else tmp_path / "history.json")
    history.remember(exact(1))
    with pytest.raises(ProtocolError, match="answered smokes, region, age exactly"):
        history.remember(exact(2))
    history.remember(runs(3))
    with pytest.raises(ProtocolError, match="answered smokes, region, age exactly"):
        history.remember(exact(2))
    other = Question(Domain((Attribute("x", ("a", "b")), Attribute("y", ("a", "b")))))
    history.remember(roster_of(people(3, seed=4), 4, other))
    assert [len(one.attributes) for one in history.revealed()] == [3, 3, 2]


@pytest.mark.parametrize(
    ("group", "seen", "left", "allowed"),
    [
        ("abc", False, "", True),
        ("abc", True, "", False),
        ("abcd", False, "", False),  # nobody may be new
        ("ab", False, "", False),  # nor missing
        ("ab", False, "c", True),
        ("ab", False, "cd", True),
        ("ab", True, "c", False),
        ("a", False, "c", False),
        ("a", False, "bc", True),
        ("abd", False, "c", False),
        ("", False, "", False),
    ],
)
def test_only_the_very_same_people_run_again_but_for_those_who_left(
    group: str, seen: bool, left: str, allowed: bool
) -> None:
    earlier = Revealed("run", ("x",), None, tuple("abc"), seen, tuple(left))
    assert earlier.allows(frozenset(group)) is allowed


def test_what_a_party_spent_adds_up_and_an_exact_run_is_infinite() -> None:
    history = History()
    assert history.spent() == 0.0
    history.remember(runs(1))
    history.remember(runs(2))
    each = spent_on(runs(1).terms.question)
    assert each is not None
    assert history.spent() == pytest.approx(2 * each)
    assert [one.epsilon for one in history.revealed()] == [each, each]
    history.remember(exact(3))
    assert history.spent() == float("inf")
    assert history.revealed()[2].epsilon is None


def test_who_left_and_what_was_seen_is_noted_for_its_run_alone() -> None:
    history, first, second = History(), runs(1), runs(2)
    history.remember(first)
    history.remember(second)
    for _ in range(2):
        history.note_left(first.digest, "a")
    history.note_left(first.digest, "b")
    history.note_false(second.digest, "c")
    history.finish(second.digest)
    noted = {one.run: (one.left, one.seen) for one in history.revealed()}
    assert noted == {first.digest: (("a", "b"), False), second.digest: (("c",), True)}


def test_a_randomized_run_does_not_hide_an_exact_one_that_follows_it() -> None:
    history = History()
    history.remember(runs(1))
    history.remember(exact(2))
    with pytest.raises(ProtocolError, match="answered smokes, region, age exactly"):
        history.check(QUESTION)


def test_shares_of_a_run_leave_once_and_another_run_may_begin() -> None:
    history = History()
    history.begin("1")
    history.begin("2")
    for run in ("1", "2"):
        with pytest.raises(ProtocolError, match="ask for a new run"):
            history.begin(run)


def test_an_attribute_in_other_letters_is_the_same(tmp_path: Path) -> None:
    history = History()
    history.remember(exact(1))
    upper = Question(Domain((Attribute("SMOKES", ("a", "b")), Attribute("y", ("a", "b")))))
    with pytest.raises(ProtocolError, match="answered smokes exactly"):
        history.remember(roster_of(people(3, seed=4), 4, upper))


def test_history_survives_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "history.json"
    History(path).remember(exact(1))
    History(path).note_left(exact(1).digest, "a" * 64)
    [kept] = History(path).revealed()
    assert (kept.group, kept.left, kept.seen) == (exact(1).ids, ("a" * 64,), False)
    History(path).finish(exact(1).digest)
    assert History(path).revealed()[0].seen
    History(path).begin("a" * 64)
    with pytest.raises(ProtocolError, match="ask for a new run"):
        History(path).begin("a" * 64)
    for spoilt in ("{", "[]", '{"begun": [], "revealed": [{"run": 1}]}'):
        path.write_text(spoilt)
        with pytest.raises(ProtocolError, match="Restore it, or do not take part"):
            History(path).revealed()
