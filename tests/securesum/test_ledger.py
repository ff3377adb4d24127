"""What an aggregator keeps on disk: enough to go on after a crash, and no answer."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import write
from mdrr.securesum.person import Part
from mdrr.source import SeededSource
from tests.securesum.aggregating import BATCH, GROUP, aggregator, finish, report
from tests.securesum.group import organiser


def test_after_a_restart_a_cheat_still_gets_no_second_opening(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    machines = [aggregator(0, ledger), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            machines[position].receive(report(k, position))
    finish(machines)
    back = aggregator(0, SqliteLedger(tmp_path / "ledger.sqlite"))
    assert back.step == "opened"
    mine = json.loads(back.receive(write(organiser(), "close", BATCH.digest, {}))[0].to_json())
    fewer = {"reports": mine["body"]["reports"][1:]}
    back.receive(write(GROUP.aggregators[1], "accepted", BATCH.digest, fewer))
    assert "opened already, for another set" in str(back.aborted)


@pytest.mark.parametrize("crash", range(0, 11, 2))
def test_an_aggregator_killed_and_brought_back_gives_the_exact_total(
    crash: int, tmp_path: Path
) -> None:
    """Killed after `crash` reports (or after its list, or after its opening), all is sent again."""
    path = tmp_path / "ledger.sqlite"
    machines = [aggregator(0, SqliteLedger(path)), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            if k == crash and position == 0:
                machines[0] = aggregator(0, SqliteLedger(path))
                assert machines[0].people == crash
            machines[position].receive(report(k, position))
    if crash == 8:
        machines[0].receive(write(organiser(), "close", BATCH.digest, {}))
    if crash == 10:
        finish(machines)
    if crash >= 8:
        machines[0] = aggregator(0, SqliteLedger(path))
    totals, n = finish(machines)
    assert n == 8
    assert np.array_equal(totals, GROUP.truth)


def test_the_ledger_holds_no_share_in_the_clear(tmp_path: Path) -> None:
    from mdrr.securesum.person import split

    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    machines = [aggregator(0, ledger), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            machines[position].receive(report(k, position))
    ledger.close()
    stored = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    for k in range(8):
        source = SeededSource(f"{k} 0")
        shares = split(GROUP.vectors[k], BATCH, GROUP.identities[k].id, source)
        assert not any(share in stored for share in shares)
        assert GROUP.vectors[k].tobytes() not in stored
    assert GROUP.identities[0].id.encode() in stored  # power: what is stored is found


def test_an_opened_batch_leaves_no_report_on_disk(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    machines = [aggregator(0, ledger), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            machines[position].receive(report(k, position))
    sealed = [base64.b64decode(report(k).body["sealed"]) for k in range(8)]

    def stored() -> bytes:
        return b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))

    assert all(one in stored() for one in sealed)  # power: before the opening they are found
    finish(machines)  # and then it is killed: nothing is closed, the write-ahead log stays
    assert not any(one in stored() for one in sealed)


@pytest.mark.parametrize("who", ["this one", "the other"])
def test_an_aborted_batch_leaves_no_report_on_disk_and_opens_nothing_later(
    who: str, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.sqlite"
    machines = [aggregator(0, SqliteLedger(path)), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            machines[position].receive(report(k, position))
    close = write(organiser(), "close", BATCH.digest, {})
    lists = [machine.receive(close)[0] for machine in machines]
    sealed = [base64.b64decode(report(k).body["sealed"]) for k in range(8)]
    said = machines[0 if who == "this one" else 1].expire()
    machines[0].receive(said[0])
    stored = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert not any(one in stored for one in sealed)
    back = aggregator(0, SqliteLedger(path))  # its shares are gone: it must not open without them
    assert back.receive(lists[1]) == back.receive(close) == []
    assert back.people == 0
    assert "no list of reports arrived in time" in str(back.aborted)


def test_an_opening_that_is_refused_changes_nothing() -> None:
    """The group would otherwise count as opened, and the reports would be gone."""
    ledger = SqliteLedger(":memory:")
    ledger.note_opening("first", frozenset("abcd"), b"{}", apart=3)
    ledger.add("second", Part("a", "report", b"sealed"))
    for batch, group, why in (
        ("first", "efgh", "the opening of this batch was given already"),
        ("second", "abce", "differs by 2 from one that was opened"),
    ):
        with pytest.raises(ProtocolError, match=why):
            ledger.note_opening(batch, frozenset(group), b"{}", apart=3)
        assert ledger.groups() == (frozenset("abcd"),)
        assert ledger.noted("second", "opening") is None
        assert len(list(ledger.parts("second"))) == 1


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a database, but long enough to be read as one" * 30)
    with pytest.raises(ProtocolError, match="not a ledger"):
        SqliteLedger(tmp_path / "x")


def test_a_ledger_is_its_owners_alone(tmp_path: Path) -> None:
    SqliteLedger(tmp_path / "ledger.sqlite").close()
    assert (tmp_path / "ledger.sqlite").stat().st_mode & 0o777 == 0o600
