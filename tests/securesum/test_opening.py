"""What aggregators make of reports and say of them, read strictly and added up by anybody."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.admission import make_roll, read_roll
from mdrr.securesum.batch import MOST_PEOPLE, Batch
from mdrr.securesum.message import Abort, Message, write
from mdrr.securesum.opening import (
    JOB,
    MISSING,
    REFUSALS,
    SEALED,
    STRANGER,
    USED,
    VERSIONS,
    Count,
    Job,
    Result,
    Verdict,
    aborts,
    add_up,
    heard,
    read_outcome,
)
from mdrr.securesum.person import SealedReport, make_reports
from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.verifying import Work, decide, opened, verify
from mdrr.securesum.wire import encode64
from mdrr.source import SeededSource
from tests.securesum.group import QUESTION, codes
from tests.securesum.test_device import SERVERS, TOKENS, Relay, batch_of

KEY = bytes(range(32))
BATCH = replace(batch_of(), minimum=3)
RECORDS = codes(12)
REPORTS = make_reports(BATCH, TOKENS, QUESTION.positions(RECORDS), SeededSource("reports"))
ROLLS = [read_roll(make_roll(TOKENS, one.id), BATCH.rolls[k + 1]) for k, one in enumerate(SERVERS)]


def says(k: int, kind: str, body: dict[str, Any]) -> Message:
    return write(SERVERS[k], kind, BATCH.digest, body)


def job_of(reports: list[SealedReport], number: int = 0) -> Job:
    job = Job(number, BATCH.digest, tuple(one.id for one in reports), last=True)
    return Job.read(says(0, "job", job.body()))


def parts_of(reports: list[SealedReport], k: int, batch: Batch = BATCH) -> dict[bytes, bytes]:
    """What the relay hands to aggregator k."""
    public = batch.prio3.sizes.public_share
    start = public + sum(batch.part_bytes[:k])
    end = start + batch.part_bytes[k]
    return {one.id: one.data[:public] + one.data[start:end] for one in reports}


def work(k: int, job: Job, found: dict[bytes, bytes], spent: Any = ()) -> Work:
    parts = opened(BATCH, SERVERS[k], job, found)
    return verify(BATCH, k, KEY, job, parts, ROLLS[k], spent)


def works(reports: list[SealedReport]) -> tuple[Job, list[Work]]:
    job = job_of(reports)
    return job, [work(k, job, parts_of(reports, k)) for k in range(3)]


def decided(all_of_them: list[Work], before: Any = (None,) * 3) -> tuple[list[int], list[bytes]]:
    """The codes, on which all agree, and each one's aggregate share."""
    verdicts = [one.verdict for one in all_of_them]
    found = [
        decide(BATCH, one, verdicts, share) for one, share in zip(all_of_them, before, strict=True)
    ]
    assert len({tuple(codes) for codes, _ in found}) == 1
    return found[0][0].tolist(), [share for _, share in found]


def truth(*people: int) -> list[int]:
    return QUESTION.sums([column[list(people)] for column in RECORDS]).tolist()


# What one makes of a job, and what all decide.


def test_honest_reports_count_and_their_shares_add_up_over_jobs() -> None:
    job, first = works(REPORTS[:5])
    assert [one.job for one in first] == [job] * 3
    assert [one.verdict.codes.tolist() for one in first] == [[0] * 5] * 3
    assert all(None not in one.credentials and len(set(one.credentials)) == 5 for one in first)
    public = BATCH.prio3.sizes.public_share
    marks = [hashlib.sha256(one.data[:public]).digest() for one in REPORTS[:5]]
    assert first[1].verdict.public.tobytes() == b"".join(marks)
    decisions, shares = decided(first)
    assert decisions == [0] * 5
    assert vdaf.unshard(BATCH.prio3, shares).tolist() == truth(*range(5))
    _, second = works(REPORTS[5:8])
    decisions, shares = decided(second, shares)
    assert vdaf.unshard(BATCH.prio3, shares).tolist() == truth(*range(8))


@pytest.mark.parametrize("reader", [0, 1, 2])
def test_what_one_aggregator_cannot_take_is_refused_by_all_with_its_reason(reader: int) -> None:
    some = REPORTS[:6]
    job = job_of(some)
    found = [parts_of(some, k) for k in range(3)]
    del found[reader][some[0].id]
    found[reader][some[1].id] = found[reader][some[2].id]
    made = [work(k, job, found[k]) for k in range(3)]
    spent = {made[reader].credentials[3]}
    made[reader] = work(reader, job, found[reader], spent)
    assert made[reader].verdict.codes.tolist() == [MISSING, SEALED, 0, USED, 0, 0]
    assert [one is None for one in made[reader].credentials] == [True, True, False, True] + [
        False
    ] * 2
    assert len(made[reader].verdict.shares) == len(made[reader].public) == 3
    decisions, shares = decided(made)
    assert decisions == [MISSING, SEALED, 0, USED, 0, 0]
    assert vdaf.unshard(BATCH.prio3, shares).tolist() == truth(2, 4, 5)


def test_strangers_and_second_reports_of_one_invitation_are_refused() -> None:
    places = QUESTION.positions([column[:3] for column in RECORDS])
    again, stranger, _ = make_reports(
        BATCH, [TOKENS[0], "s" * 43, TOKENS[2]], places, SeededSource("again")
    )
    _, made = works([REPORTS[0], stranger, again, REPORTS[1]])
    assert [one.verdict.codes.tolist() for one in made] == [[0, STRANGER, USED, 0]] * 3
    decisions, shares = decided(made)
    assert decisions == [0, STRANGER, USED, 0]
    assert vdaf.unshard(BATCH.prio3, shares).tolist() == truth(0, 1)


@pytest.mark.parametrize("reader", [0, 1, 2])
def test_a_report_in_two_versions_is_refused_by_all(reader: int) -> None:
    _, made = works(REPORTS[:4])
    public = made[reader].verdict.public.copy()
    public[2, 5] ^= 1
    made[reader] = replace(made[reader], verdict=replace(made[reader].verdict, public=public))
    decisions, shares = decided(made)
    assert decisions == [0, 0, VERSIONS, 0]
    assert vdaf.unshard(BATCH.prio3, shares).tolist() == truth(0, 1, 3)


@pytest.mark.parametrize("reader", [0, 1, 2])
def test_a_verifier_share_that_was_changed_refuses_its_report_alone(reader: int) -> None:
    _, made = works(REPORTS[:4])
    shares = made[reader].verdict.shares.copy()
    shares[1, 0] ^= 1
    made[reader] = replace(made[reader], verdict=replace(made[reader].verdict, shares=shares))
    decisions, kept = decided(made)
    assert decisions[:1] + decisions[2:] == [0, 0, 0]
    assert decisions[1] in vdaf.REASONS
    assert vdaf.unshard(BATCH.prio3, kept).tolist() == truth(0, 2, 3)


def test_promised_randomness_that_was_not_used_is_found_by_all() -> None:
    """The public share is changed everywhere alike, and sealed parts are made for it."""
    _, made = works(REPORTS[:3])
    changed = []
    for one in made:
        public = one.public.copy()
        public[1, 0] ^= 1
        changed.append(replace(one, public=public))
    decisions, shares = decided(changed)
    assert decisions == [0, vdaf.MISMATCH, 0]
    assert vdaf.unshard(BATCH.prio3, shares).tolist() == truth(0, 2)


def test_randomness_that_an_aggregator_itself_saw_otherwise_refuses_the_report() -> None:
    changed = []
    for one in works(REPORTS[:3])[1]:
        seeds = one.state.seeds.copy()
        seeds[1] ^= 1
        changed.append(replace(one, state=replace(one.state, seeds=seeds)))
    decisions, shares = decided(changed)
    assert decisions == [0, vdaf.MISMATCH, 0]
    assert vdaf.unshard(BATCH.prio3, shares).tolist() == truth(0, 2)


def test_a_job_without_reports_changes_nothing() -> None:
    _, some = works(REPORTS[:3])
    _, shares = decided(some)
    _, none = works([])
    decisions, after = decided(none, shares)
    assert (decisions, after) == ([], shares)


# Jobs and verdicts as they are signed.


def test_a_job_reads_back_with_the_digest_of_its_message() -> None:
    for last in (True, False):
        job = Job(3, "0" * 64, tuple(bytes([k]) * 16 for k in range(JOB - 1)), last)
        said = says(0, "job", job.body())
        assert Job.read(said) == replace(job, digest=said.digest)
    full = Job(MOST_PEOPLE, "0" * 64, tuple(k.to_bytes(16, "big") for k in range(JOB)), True)
    assert len(Job.read(says(0, "job", full.body())).ids) == JOB


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"number": -1}, f"'number' of a job must be an integer from 0 to {MOST_PEOPLE}"),
        ({"number": MOST_PEOPLE + 1}, "'number' of a job must be an integer"),
        ({"before": ""}, "'before' of a job must be 64"),
        ({"last": 2}, "'last' of a job must be an integer from 0 to 1"),
        ({"last": -1}, "'last' of a job must be an integer from 0 to 1"),
        ({"ids": encode64(bytes(15))}, "ids of reports have 16 bytes each"),
        ({"ids": encode64(bytes(32))}, "with one of them twice"),
        (
            {"ids": encode64(b"".join(k.to_bytes(16, "big") for k in range(JOB + 1)))},
            "a job of more than 256 reports",
        ),
        ({"more": 1}, "a job has an unknown field 'more'"),
    ],
)
def test_a_job_that_breaks_the_rules_is_refused(change: dict[str, Any], reason: str) -> None:
    good = Job(0, "0" * 64, (bytes(16),), last=True).body()
    with pytest.raises(ProtocolError, match=reason):
        Job.read(says(0, "job", {**good, **change}))


def test_a_verdict_reads_back() -> None:
    job, made = works(REPORTS[:3])
    verdict = Verdict(made[1].verdict.codes.copy(), *_rows(made[1], [0, 2]))
    verdict.codes[1] = STRANGER
    read = Verdict.read(says(1, "verify", verdict.body(job)), BATCH, job)
    for name in ("codes", "shares", "public"):
        assert np.array_equal(getattr(read, name), getattr(verdict, name))


def _rows(one: Work, rows: list[int]) -> tuple[Any, Any]:
    return one.verdict.shares[rows], one.verdict.public[rows]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"number": 1}, "another job"),
        ({"number": -1}, f"'number' of a verification must be an integer from 0 to {MOST_PEOPLE}"),
        ({"job": "0" * 64}, "another job"),
        ({"job": ""}, "'job' of a verification must be 64"),
        ({"codes": encode64(bytes(2))}, "'codes' of a verification must be 3 bytes"),
        ({"codes": encode64(bytes([0, 0, 16]))}, "'shares' of a verification must be"),
        ({"shares": ""}, "'shares' of a verification must be"),
        ({"public": ""}, "'public' of a verification must be 96 bytes"),
        ({"codes": encode64(b"\xff" * 3), "shares": "", "public": ""}, "an unknown reason"),
        ({"more": 1}, "a verification has an unknown field 'more'"),
    ],
)
def test_a_verdict_that_does_not_fit_its_job_is_refused(
    change: dict[str, Any], reason: str
) -> None:
    job, made = works(REPORTS[:3])
    good = made[0].verdict.body(job)
    with pytest.raises(ProtocolError, match=reason):
        Verdict.read(says(0, "verify", {**good, **change}), BATCH, job)


# Results.


def results(people: int = 5, refused: dict[int, int] | None = None) -> list[Result]:
    _, shares = decided(works(REPORTS[:people])[1])
    ids = tuple(sorted(one.id for one in REPORTS[:people]))
    count = Count(ids, {17: 2, 4: 1} if refused is None else refused, "c" * 64)
    return [Result(count, share) for share in shares]


def test_anybody_adds_up_the_results() -> None:
    made = results()
    assert made[0].count.body() == {
        "people": 5,
        "counted": hashlib.sha256(b"".join(made[0].count.ids)).hexdigest(),
        "refused": {"4": 1, "17": 2},
        "chain": "c" * 64,
    }
    said = [says(k, "result", one.body()) for k, one in enumerate(made)]
    for message, one in zip(said, made, strict=True):
        assert Result.read(message, BATCH) == one
    outcome = add_up(said, BATCH)
    assert outcome.totals.tolist() == truth(*range(5))
    assert (outcome.people, outcome.ids) == (5, frozenset(made[0].count.ids))
    assert outcome.refused == {REFUSALS[4]: 1, REFUSALS[17]: 2}
    found = read_outcome(relay(*said), BATCH)
    assert found is not None
    assert found.totals.tolist() == truth(*range(5))
    assert read_outcome(relay(*said[:2]), BATCH) is None


def relay(*said: Message) -> Any:
    return Relay(BATCH.message(SERVERS[0]), *said)


def test_results_of_other_people_or_of_too_few_open_nothing() -> None:
    made = results()
    other = replace(made[2], count=replace(made[2].count, refused={}))
    bodies = [made[0].body(), made[1].body(), other.body()]
    with pytest.raises(AbortedError, match="'result': the aggregators counted different reports"):
        add_up([says(k, "result", body) for k, body in enumerate(bodies)], BATCH)
    three, two = results(3, {}), results(2, {})
    assert add_up([says(k, "result", r.body()) for k, r in enumerate(three)], BATCH).people == 3
    with pytest.raises(AbortedError, match="'result': 2 people are fewer than 3"):
        add_up([says(k, "result", r.body()) for k, r in enumerate(two)], BATCH)
    swapped = [replace(one, share=made[0].share) for one in made]
    with pytest.raises(ProtocolError, match="a wrong aggregate share"):
        add_up([says(k, "result", r.body()) for k, r in enumerate(swapped)], BATCH)
    fewer = [replace(one, count=results(4)[0].count) for one in made]
    with pytest.raises(ProtocolError, match=r"counts 5 of 4 people|not from 0 to 4"):
        add_up([says(k, "result", r.body()) for k, r in enumerate(fewer)], BATCH)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"people": 4}, "not the one it counts"),
        ({"people": MOST_PEOPLE + 1}, f"'people' of a result must be .* 0 to {MOST_PEOPLE}"),
        ({"people": -1}, f"'people' of a result must be .* 0 to {MOST_PEOPLE}"),
        ({"counted": "0" * 64}, "not the one it counts"),
        ({"counted": ""}, "'counted' of a result must be 64"),
        ({"chain": ""}, "'chain' of a result must be 64"),
        ({"share": ""}, "'share' of a result must be"),
        ({"ids": encode64(bytes(15))}, "16 bytes each"),
        ({"refused": {"17": 0}}, f"'17' of what was refused must be .* 1 to {MOST_PEOPLE}"),
        ({"refused": {"17": MOST_PEOPLE + 1}}, "'17' of what was refused must be"),
        ({"refused": {"99": 1}}, "what was refused has an unknown field '99'"),
        ({"refused": []}, "'refused' of a result must be a JSON object"),
        ({"more": 1}, "a result has an unknown field 'more'"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(change: dict[str, Any], reason: str) -> None:
    good = results()[0].body()
    with pytest.raises(ProtocolError, match=reason):
        Result.read(says(0, "result", {**good, **change}), BATCH)


@pytest.mark.parametrize("order", [lambda ids: ids[::-1], lambda ids: (ids[0], *ids)])
def test_the_ids_of_a_result_stand_once_each_in_order(order: Any) -> None:
    made = results()[0]
    unsorted = replace(made, count=replace(made.count, ids=tuple(order(made.count.ids))))
    with pytest.raises(ProtocolError, match="not the one it counts"):
        Result.read(says(0, "result", unsorted.body()), BATCH)


# What is heard.


def test_only_what_aggregators_signed_on_the_topic_of_this_batch_is_heard() -> None:
    good = says(1, "job", {"number": 3})
    for wrong in (
        write(SERVERS[0], "job", "0" * 64, {"number": 3}),
        says(0, "job", {"number": 4}),
        says(0, "verify", {"number": 3}),
        replace(good, sender=SERVERS[0].id, _canonical=b""),
        write(replace(SERVERS[0], signing_secret=KEY), "job", BATCH.digest, {"number": 3}),
    ):
        assert heard(Everything([wrong, good]), BATCH, "job 3") == {SERVERS[1].id: good}  # type: ignore[arg-type]
    assert heard(Everything([good, good]), BATCH, "job 3") == {SERVERS[1].id: good}  # type: ignore[arg-type]
    two = [good, says(1, "job", {"number": 3, "x": 1})]
    with pytest.raises(AbortedError) as stopped:
        heard(Everything(two), BATCH, "job 3")  # type: ignore[arg-type]
    abort = stopped.value.abort  # type: ignore[attr-defined]
    assert abort == Abort(
        "job", "an aggregator signed two different messages on 'job 3'", (SERVERS[1].id,)
    )


class Everything:
    """A relay that gives the same answer whatever the topic."""

    def __init__(self, said: list[Message]) -> None:
        self._said, self.asked = said, ""

    def hear(self, topic: str, /) -> list[Message]:
        self.asked = topic
        return self._said


def test_who_gave_up_is_told_with_the_reason_or_without() -> None:
    there = relay(
        says(0, "abort", Abort("verify", "no power", ("0" * 64,)).to_dict()),
        says(2, "abort", {"junk": 1}),
    )
    assert aborts(there, BATCH) == {
        SERVERS[0].id: Abort("verify", "no power", ("0" * 64,)),
        SERVERS[2].id: Abort("abort", "it did not say why", (SERVERS[2].id,)),
    }
    with pytest.raises(AbortedError) as stopped:
        read_outcome(there, BATCH)
    assert (
        stopped.value.abort
        == Abort(  # type: ignore[attr-defined]
            "verify", f"aggregator {SERVERS[0].id[:12]} says: no power", ("0" * 64,)
        )
    )
