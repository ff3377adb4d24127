"""Two or three aggregators in one process: exact totals over who is left, or a clean refusal."""

import json
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.aggregator import Aggregator
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message, write
from mdrr.securesum.opening import total
from mdrr.securesum.person import make_report
from mdrr.securesum.ring import Vector
from mdrr.securesum.roster import Batch
from mdrr.securesum.simulate import Traffic
from mdrr.securesum.simulate_batch import run_aggregators
from mdrr.source import SeededSource
from tests.securesum.aggregating import BATCH, GROUP, aggregator, finish, report, truth_without
from tests.securesum.group import Group, organiser, people, terms


def run(
    group: Group = GROUP,
    meddle: Callable[[bytes, str], Iterable[bytes]] = lambda data, to: (data,),
    traffic: Traffic | None = None,
    vectors: list[npt.NDArray[np.uint8]] | None = None,
) -> tuple[npt.NDArray[np.int64], int]:
    return run_aggregators(
        group.batch,
        organiser(),
        group.aggregators,
        group.identities,
        vectors or group.vectors,
        SeededSource(1),
        meddle=meddle,
        traffic=traffic,
    )


@pytest.mark.parametrize("operators", [("A", "B"), ("A", "B", "C")])
@pytest.mark.parametrize("n", [4, 5, 40])
def test_totals_are_exact(operators: tuple[str, ...], n: int) -> None:
    group = Group(n, seed=n, minimum=4, operators=operators)
    totals, people = run(group)
    assert people == n
    assert np.array_equal(totals, group.truth)


@pytest.mark.parametrize("position", [0, 1])
def test_any_number_may_drop_out_on_the_way_to_either_aggregator(position: int) -> None:
    gone = {one.id for one in GROUP.identities[:3]}
    lossy = BATCH.ids[position]

    def meddle(data: bytes, to: str) -> list[bytes]:
        return [] if Message.from_json(data).sender in gone and to == lossy else [data]

    totals, people = run(meddle=meddle)
    assert people == 5
    assert np.array_equal(totals, truth_without(GROUP, gone))


def test_nothing_opens_below_the_minimum() -> None:
    gone = {one.id for one in GROUP.identities[:5]}
    with pytest.raises(ProtocolError, match="'collecting': 3 reports are fewer than 4"):
        run(meddle=lambda data, to: [] if Message.from_json(data).sender in gone else [data])


def test_nothing_opens_when_too_few_reports_are_common() -> None:
    left = {one.id for one in GROUP.identities[:4]}

    def meddle(data: bytes, to: str) -> list[bytes]:
        mine = Message.from_json(data).sender in left
        is_report = Message.from_json(data).kind == "report"
        return [data] if not is_report or mine == (to == BATCH.ids[0]) else []

    with pytest.raises(ProtocolError, match="'accepted': 0 common reports are fewer than 4"):
        run(meddle=meddle)


def test_an_aggregator_that_names_few_reports_gets_no_opening() -> None:
    """It works with four of ten and leaves out all others but one: five is above the minimum."""
    group = Group(11, minimum=4)
    batch, ids = group.batch, [one.id for one in group.identities]
    reports = [
        make_report(one, batch, vector, SeededSource(k))[0]
        for k, (one, vector) in enumerate(zip(group.identities, group.vectors, strict=True))
    ]

    def told_of(count: int) -> tuple[Aggregator, list[Message]]:
        machine = Aggregator(group.aggregators[0], batch, ids, SqliteLedger(":memory:"))
        for message in reports:
            machine.receive(message)
        mine = machine.receive(write(organiser(), "close", batch.digest, {}))[0]
        theirs = {"reports": mine.body["reports"][:count]}
        return machine, machine.receive(
            write(group.aggregators[1], "accepted", batch.digest, theirs)
        )

    machine, said = told_of(5)
    assert [message.kind for message in said] == ["abort"]
    assert "of 11 reports held here the others name 5" in str(machine.aborted)
    _, said = told_of(6)  # power: half of them is enough
    assert [message.kind for message in said] == ["opening"]


def test_repeated_and_reordered_reports_change_nothing() -> None:
    traffic = Traffic()
    totals, _ = run(meddle=lambda data, to: [data, data], traffic=traffic)
    assert np.array_equal(totals, GROUP.truth)
    assert traffic.refused == 16  # every second copy of 8 reports to 2 aggregators


@pytest.mark.parametrize("field", ["signature", "run", "from", "to", "sealed", "parts", "proof"])
@pytest.mark.parametrize("position", [0, 1])
def test_a_report_changed_on_its_way_does_not_count(field: str, position: int) -> None:
    victim = GROUP.identities[2].id

    def meddle(data: bytes, to: str) -> list[bytes]:
        fields = json.loads(data)
        if fields["from"] != victim or to != BATCH.ids[position]:
            return [data]
        if field == "sealed":
            fields["body"]["sealed"] = "AAAA" + fields["body"]["sealed"][4:]
        elif field == "parts":
            fields["body"]["parts"].reverse()
        elif field == "proof":
            fields["body"]["proof"] = {"anything": 1}
        elif field == "signature":
            fields["signature"] = "AAAA" + fields["signature"][4:]
        else:
            fields[field] = "0" * 64
        return [json.dumps(fields).encode()]

    totals, people = run(meddle=meddle)
    assert people == 7
    assert np.array_equal(totals, truth_without(GROUP, {victim}))


def test_what_can_be_rejected_is_rejected() -> None:
    machine = aggregator()
    machine.receive(first := report(0))
    stranger = make_report(people(1, seed=9)[0], BATCH, GROUP.vectors[0], SeededSource(1))[0]
    other = Batch.of(
        terms("aggregators", 8, minimum=4, seed=5),
        BATCH.aggregators,
        [one.id for one in GROUP.identities],
    )
    short = first.body | {"sealed": "AAAA"}
    for message, reason in (
        (first, "the same report again"),
        (report(0, seed=1), "a second report of a person"),
        (stranger, "not enrolled"),
        (report(1, batch=other), "another batch"),
        (report(1, position=1), "another aggregator"),
        (write(GROUP.identities[3], "report", BATCH.digest, short, BATCH.ids[0]), "100 bytes"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            machine.receive(message)
    assert machine.people == 1


def test_parts_of_two_reports_are_never_mixed() -> None:
    """Person 0 reports twice; the first copy reaches one aggregator, the second the other."""
    machines = [aggregator(0), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            seed = position if k == 0 else 0
            machines[position].receive(report(k, position, seed=seed))
    totals, n = finish(machines)
    assert n == 7
    assert np.array_equal(totals, truth_without(GROUP, {GROUP.identities[0].id}))


def test_a_batch_opens_once_and_for_one_set() -> None:
    machines = [aggregator(0), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            machines[position].receive(report(k, position))
    assert np.array_equal(finish(machines)[0], GROUP.truth)
    assert np.array_equal(finish(machines)[0], GROUP.truth)  # the same opening, repeated

    # The second aggregator, now a cheat, pretends not to hold person 0.
    rows = [[one.id, "0" * 64] for one in GROUP.identities[1:]]
    lie = write(GROUP.aggregators[1], "accepted", BATCH.digest, {"reports": rows})
    said = machines[0].receive(lie)
    assert [message.kind for message in said] == ["abort"]
    assert "two different lists" in str(machines[0].aborted)


def test_a_second_batch_that_differs_by_a_few_people_is_refused() -> None:
    ledgers = {one.id: SqliteLedger(":memory:") for one in GROUP.aggregators}
    args = (organiser(), GROUP.aggregators, GROUP.identities)
    run_aggregators(BATCH, *args, GROUP.vectors, SeededSource(1), ledgers=ledgers)
    ids = [one.id for one in GROUP.identities]
    again = Batch.of(terms("aggregators", 8, minimum=4, seed=2), BATCH.aggregators, ids)

    def drop(gone: int) -> Callable[[bytes, str], list[bytes]]:
        return lambda data, to: [] if Message.from_json(data).sender in ids[:gone] else [data]

    with pytest.raises(ProtocolError, match="differs by 1 from one that was opened"):
        run_aggregators(
            again, *args, GROUP.vectors, SeededSource(2), ledgers=ledgers, meddle=drop(1)
        )
    # Power: half of the people is far enough.
    totals, n = run_aggregators(
        again,
        *args,
        GROUP.vectors,
        SeededSource(2),
        ledgers={one.id: SqliteLedger(":memory:") for one in GROUP.aggregators},
        meddle=drop(4),
    )
    assert n == 4
    assert np.array_equal(totals, truth_without(GROUP, set(ids[:4])))


def test_an_ill_formed_vector_gives_no_number() -> None:
    twice = GROUP.vectors[0] * 2
    with pytest.raises(ProtocolError, match="ill-formed"):
        run(vectors=[twice, *GROUP.vectors[1:]])


def test_a_well_formed_lie_cannot_be_seen() -> None:
    """What the docs say is not protected: moving other people's counts consistently."""
    first, second, third = (GROUP.vectors[k].astype(np.int16) for k in (0, 1, 2))
    lie = first + second - third  # every table still sums to 1, every margin agrees
    honest = [vector.astype(np.int16) for vector in GROUP.vectors[1:]]
    totals, _ = run(vectors=[lie, *honest])  # type: ignore[list-item]
    assert not np.array_equal(totals, GROUP.truth)


def test_the_proof_seam_is_asked_about_every_report() -> None:
    class Suspicious:
        def accepts(self, report: str, share: Vector, proof: None, /) -> bool:
            return False

    machine = Aggregator(
        GROUP.aggregators[0],
        BATCH,
        [one.id for one in GROUP.identities],
        SqliteLedger(":memory:"),
        validity=Suspicious(),
    )
    with pytest.raises(ProtocolError, match="proof does not hold"):
        machine.receive(report(0))
    assert machine.people == 0


def test_openings_must_match_the_batch_and_each_other() -> None:
    machines = [aggregator(0), aggregator(1)]
    for k in range(8):
        for position in (0, 1):
            machines[position].receive(report(k, position))
    close = write(organiser(), "close", BATCH.digest, {})
    lists = [machine.receive(close)[0] for machine in machines]
    openings = [machines[0].receive(lists[1])[0], machines[1].receive(lists[0])[0]]
    total(openings, BATCH)
    with pytest.raises(ProtocolError, match="is missing"):
        total(openings[:1], BATCH)
    for change, reason in (
        ({"people": 7}, "different sets"),
        ({"reports": "0" * 64}, "different sets"),
        ({"share": "AAAA" * 17 + "AA=="}, "52 bytes|above 8|ill-formed"),
        ({"extra": 1}, "unknown field"),
    ):
        body = {**openings[1].body, **change}
        forged = write(GROUP.aggregators[1], "opening", BATCH.digest, body)
        with pytest.raises(ProtocolError, match=reason):
            total([openings[0], forged], BATCH)
    outsider = write(people(1, seed=4)[0], "opening", BATCH.digest, openings[1].body)
    with pytest.raises(ProtocolError, match="no aggregator of this batch"):
        total([openings[0], outsider], BATCH)


def test_close_needs_the_organiser_and_late_reports_do_not_count() -> None:
    machine = aggregator()
    for k in range(7):
        machine.receive(report(k))
    with pytest.raises(ProtocolError, match="organiser did not sign"):
        machine.receive(write(GROUP.identities[0], "close", BATCH.digest, {}))
    machine.receive(write(organiser(), "close", BATCH.digest, {}))
    with pytest.raises(ProtocolError, match="after the batch was closed"):
        machine.receive(report(7))


def test_a_silent_aggregator_is_named() -> None:
    machine = aggregator()
    for k in range(8):
        machine.receive(report(k))
    machine.receive(write(organiser(), "close", BATCH.digest, {}))
    machine.expire()
    assert machine.aborted is not None
    assert machine.aborted.who == (BATCH.ids[1],)


def test_an_aggregator_can_ask_for_more_people_than_the_terms() -> None:
    machine = aggregator(minimum=9)
    for k in range(8):
        machine.receive(report(k))
    machine.receive(write(organiser(), "close", BATCH.digest, {}))
    assert "fewer than 9" in str(machine.aborted)


@pytest.mark.parametrize("minimum", [4, 5])
def test_an_aggregator_can_ask_for_more_distance_than_the_terms(minimum: int) -> None:
    """All eight differ by 4 from a group that was opened: enough for the terms, who say 4."""
    ledger = SqliteLedger(":memory:")
    ledger.remember(frozenset(one.id for one in GROUP.identities[:4]))
    machines = [aggregator(0, ledger, minimum=minimum), aggregator(1)]
    for position, machine in enumerate(machines):
        for k in range(8):
            machine.receive(report(k, position))
    if minimum == 4:
        assert np.array_equal(finish(machines)[0], GROUP.truth)
    else:
        with pytest.raises(ProtocolError):
            finish(machines)
        assert "differs by 4 from one that was opened" in str(machines[0].aborted)


def test_aggregators_must_be_named_and_know_the_enrolled() -> None:
    ids = [one.id for one in GROUP.identities]
    with pytest.raises(ProtocolError, match="does not name this aggregator"):
        Aggregator(people(1, seed=8)[0], BATCH, ids, SqliteLedger(":memory:"))
    with pytest.raises(ProtocolError, match="not the one the batch was signed for"):
        Aggregator(GROUP.aggregators[0], BATCH, ids[1:], SqliteLedger(":memory:"))
