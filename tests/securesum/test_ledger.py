"""An aggregator's notes: each batch for itself, nothing twice, all or nothing, and wiped."""

import sqlite3
import subprocess
from pathlib import Path
from threading import Thread

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.ledger import COPIED, Ledger, Progress, Seen

KEY, OTHER = b"k" * 32, b"o" * 32


def begun(path: Path | str = ":memory:") -> Ledger:
    """A ledger with two batches: one of each thing in both."""
    ledger = Ledger(path)
    for batch, key in (("a", KEY), ("b", OTHER)):
        ledger.offer(key, key[::-1])
        assert ledger.secret(key, batch) == key[::-1]
        ledger.begin(batch, key, {"key": batch.encode()})
    return ledger


def test_an_offer_belongs_to_the_batch_that_used_it_first() -> None:
    ledger = Ledger(":memory:")
    ledger.offer(KEY, b"secret")
    ledger.offer(OTHER, b"another")
    for _ in range(2):
        assert ledger.secret(KEY, "a") == b"secret"
    with pytest.raises(ProtocolError, match="this offer was used for batch a… already"):
        ledger.secret(KEY, "b")
    assert ledger.secret(OTHER, "b") == b"another"
    with pytest.raises(ProtocolError, match="names an offer that is not in this folder"):
        ledger.secret(b"unknown", "c")
    assert ledger.secret(KEY, "a") == b"secret"  # a refusal leaves no transaction open


def test_only_offers_that_no_batch_has_used_are_withdrawn() -> None:
    ledger = begun()
    assert ledger.withdraw() == 0
    ledger.offer(b"third", b"secret")
    ledger.offer(b"fourth", b"secret")
    assert ledger.withdraw() == 2
    with pytest.raises(ProtocolError, match="or was withdrawn"):
        ledger.secret(b"third", "c")
    assert ledger.secret(KEY, "a") == KEY[::-1]


def test_what_is_noted_is_never_overwritten() -> None:
    ledger = begun()
    assert ledger.noted("a", "key") == b"a"
    assert ledger.noted("b", "key") == b"b"
    assert ledger.noted("a", "job") is None
    ledger.note("a", "job", b"1")
    with pytest.raises(ProtocolError, match="the job of this batch was given already"):
        ledger.note("a", "job", b"2")
    assert (ledger.noted("a", "job"), ledger.noted("b", "job")) == (b"1", None)


def test_a_batch_begins_with_its_key_and_its_own_digest_as_the_chain() -> None:
    ledger = begun()
    assert ledger.progress("a") == Progress(KEY, 0, False, "a", None)
    assert ledger.progress("b") == Progress(OTHER, 0, False, "b", None)
    assert ledger.progress("c") is None
    assert Progress(KEY) == Progress(KEY, 0, False, "", None)


def test_a_job_is_committed_whole_with_what_it_spent_and_counted() -> None:
    ledger = begun()
    for name in ("job", "verify", "ready"):
        ledger.note("a", name, b"said")
        ledger.note("b", name, b"said")
    done = Progress(KEY, 1, True, "next", b"sum")
    seen = [
        Seen(b"3", 0, b"c3"), Seen(b"1", 0, b"c1"), Seen(b"2", 17, None),
        Seen(b"4", 17, None), Seen(b"5", 19, b"c5"),
    ]  # fmt: skip
    ledger.commit("a", done, seen)
    assert ledger.progress("a") == done
    assert ledger.progress("b") == Progress(OTHER, 0, False, "b", None)
    assert ledger.reports("a") == 5
    assert ledger.counted("a") == [b"1", b"3"]
    assert ledger.refused("a") == {17: 2, 19: 1}
    assert ledger.seen("a", [b"0", b"1", b"2"]) == {b"1", b"2"}
    assert ledger.spent("a", [b"c0", b"c1", b"c5"]) == {b"c1", b"c5"}
    assert (ledger.reports("b"), ledger.counted("b"), ledger.refused("b")) == (0, [], {})
    assert ledger.seen("b", [b"1"]) == ledger.spent("b", [b"c1"]) == set()
    assert [ledger.noted("a", name) for name in ("job", "verify", "ready")] == [None, None, b"said"]
    assert [ledger.noted("b", name) for name in ("job", "verify")] == [b"said", b"said"]


@pytest.mark.parametrize("again", [Seen(b"1", 0, b"new"), Seen(b"2", 0, b"c1")])
def test_no_report_and_no_credential_is_counted_twice(again: Seen) -> None:
    ledger = begun()
    first = Progress(KEY, 1, False, "next", b"sum")
    ledger.commit("a", first, [Seen(b"1", 0, b"c1")])
    with pytest.raises(sqlite3.IntegrityError):
        ledger.commit("a", Progress(KEY, 2, True, "last", b"other"), [Seen(b"9", 0, b"c9"), again])
    assert ledger.progress("a") == first
    assert ledger.counted("a") == [b"1"]  # nothing of the second job
    ledger.commit("b", Progress(OTHER, 1), [Seen(b"1", 0, b"c1")])  # another batch


@pytest.mark.parametrize("name", ["result", "abort"])
def test_at_the_end_everything_of_the_batch_is_wiped_but_what_it_signed(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "very" / "deep" / "ledger.sqlite"
    ledger = begun(path)
    assert path.stat().st_mode & 0o777 == 0o600
    for batch in ("a", "b"):
        ledger.commit(batch, Progress(KEY, 1, True, "next", b"sum"), [Seen(b"1", 0, b"c1")])
        ledger.note(batch, "batch", b"as it was signed")
    ledger.end("a", name, b"signed")
    assert ledger.noted("a", "batch") == b"as it was signed"
    assert (path.parent / "ledger.sqlite-wal").stat().st_size == 0
    assert ledger.noted("a", name) == b"signed"
    assert ledger.noted("a", "key") is ledger.progress("a") is ledger.secret(KEY, "a") is None
    assert (ledger.reports("a"), ledger.reports("b")) == (0, 1)
    assert ledger.noted("b", "key") == b"b"
    assert ledger.secret(OTHER, "b") == OTHER[::-1]
    assert ledger.progress("b") is not None
    for second in ("result", "abort"):
        with pytest.raises(ProtocolError, match="this batch has ended already"):
            ledger.end("a", second, b"other words")
    assert ledger.noted("a", name) == b"signed"
    ledger.close()
    with pytest.raises(sqlite3.ProgrammingError):
        ledger.noted("a", name)
    assert Ledger(path).noted("a", name) == b"signed"


def test_what_is_deleted_is_overwritten_and_what_is_written_is_on_disk(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    found = {
        name: ledger._db.execute(f"pragma {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "secure_delete")
    }
    assert found == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}


@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.sqlite-wal"])
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620])
def test_a_ledger_that_others_could_read_is_refused_until_the_advice_is_followed(
    tmp_path: Path, name: str, mode: int
) -> None:
    path = tmp_path / "agg 1" / "ledger.sqlite"
    ledger = begun(path)  # open, so that its log is there
    assert path.parent.stat().st_mode & 0o777 == 0o700
    (path.parent / name).chmod(mode)
    with pytest.raises(ProtocolError, match=f"{name} .mode {mode:03o}") as refused:
        Ledger(path)
    assert str(refused.value).endswith(COPIED)
    advice = str(refused.value).partition("run: ")[2].partition(". Otherwise")[0]
    subprocess.run(advice, shell=True, check=True)
    Ledger(path).close()
    ledger.close()


def test_a_ledger_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begun().close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    path.chmod(0o600)
    with pytest.raises(ProtocolError, match=r"notes\.txt is not a ledger of an aggregator"):
        Ledger(path)


def test_a_ledger_serves_several_threads_one_after_the_other() -> None:
    ledger, found = begun(), []
    thread = Thread(target=lambda: found.append(ledger.noted("a", "key")))
    thread.start()
    thread.join()
    assert found == [b"a"]
