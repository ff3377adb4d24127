"""A person's report, and what her device remembers: what it sends, refuses and adds up."""

import hashlib
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import RELAY, credential
from mdrr.securesum.batch import Batch, make_batch, make_offer
from mdrr.securesum.device import Answered, Device, is_void
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Abort, Message, write
from mdrr.securesum.person import SealedReport, make_reports, open_part, part_context, seal_report
from mdrr.securesum.question import Question, spent_on
from mdrr.source import SeededSource
from tests.securesum.group import CLOSES, QUESTION, codes, organiser, people, roster_of, token

SERVERS = [Identity.generate(SeededSource(f"server {k}"), f"Office {k}") for k in range(3)]
TOKENS = [token(k) for k in range(12)]
RANDOMIZED = Question.randomized(QUESTION.domain, epsilon=0.5)


@cache
def batch_of(seed: int = 0, question: Question = QUESTION) -> Batch:
    offers = [make_offer(one) for one in SERVERS]
    source = SeededSource(f"batch {seed}")
    return make_batch(organiser(), question, offers, TOKENS, source, closes=CLOSES)[0]


@cache
def made(k: int = 0, seed: int = 0) -> SealedReport:
    """Person k's report to a batch."""
    batch = batch_of(seed)
    places = QUESTION.positions([column[k : k + 1] for column in codes(12)])
    return make_reports(batch, [TOKENS[k]], places, SeededSource(f"report {k} {seed}"))[0]


class Relay:
    """What is known of a batch: its document, and what its aggregators said."""

    def __init__(self, document: Message, *said: Message) -> None:
        self._document, self._said, self.closed = document, said, False

    def close(self) -> None:
        self.closed = True

    def document(self) -> Message:
        return self._document

    def hear(self, topic: str, /) -> list[Message]:
        return [one for one in self._said if one.kind == topic]


def relay(seed: int = 0, aborted: int = 0, question: Question = QUESTION) -> Relay:
    """A batch of which the first few aggregators gave up."""
    batch, body = batch_of(seed, question), Abort("verify", "no power").to_dict()
    said = [write(one, "abort", batch.digest, body) for one in SERVERS[:aborted]]
    return Relay(batch.message(organiser()), *said)


def nowhere(url: str) -> Any:
    raise ProtocolError(f"{url} does not answer")


# A report.


def test_each_part_opens_for_its_aggregator_with_its_credential_and_nowhere_else() -> None:
    batch = batch_of()
    places = QUESTION.positions([column[:3] for column in codes(12)])
    reports = make_reports(batch, TOKENS[:3], places, SeededSource(1))
    assert len({one.id for one in reports}) == 3
    size = batch.prio3.sizes.public_share
    for report, invitation in zip(reports, TOKENS, strict=False):
        assert len(report.id) == 16
        assert len(report.data) == batch.report_bytes
        assert report.credential == credential(invitation, RELAY)
        public, at = report.data[:size], size
        for server, length in zip(SERVERS, batch.part_bytes, strict=True):
            mine = public + report.data[at : at + length]
            part = open_part(batch, server, report.id, mine)
            assert part.public_share == public
            assert part.credential == credential(invitation, server.id)
            assert len(part.input_share) == length - 48 - 32
            for wrong in (mine + b"x", mine[:-1], mine[1:]):
                with pytest.raises(ProtocolError, match="wrong length"):
                    open_part(batch, server, report.id, wrong)
            with pytest.raises(ProtocolError, match="does not open"):
                open_part(batch, server, reports[0].id[::-1], mine)
            with pytest.raises(ProtocolError, match="does not open"):
                open_part(batch, server, report.id, bytes(size) + mine[size:])
            with pytest.raises(ProtocolError, match="does not open"):
                open_part(batch_of(1), server, report.id, mine)
            at += length


def test_ids_and_shares_come_from_the_source() -> None:
    batch, places = batch_of(), QUESTION.positions([column[:2] for column in codes(12)])
    one, same = (make_reports(batch, TOKENS[:2], places, SeededSource(1)) for _ in range(2))
    other = make_reports(batch, TOKENS[:2], places, SeededSource(2))
    size = batch.prio3.sizes.public_share
    assert [r.id for r in one] == [r.id for r in same]
    assert [r.data[:size] for r in one] == [r.data[:size] for r in same]
    assert not {r.id for r in one} & {r.id for r in other}
    assert b"".join(r.id for r in one) == SeededSource(1).read(32)
    with pytest.raises(ValueError, match="zip"):  # a share for every aggregator
        seal_report(batch, TOKENS[0], bytes(16), b"", [b"", b""])


def test_a_part_is_bound_to_batch_report_reader_and_public_share() -> None:
    batch = batch_of()
    assert (
        part_context(batch, b"\x01\x02", "reader", b"public")
        == (
            f"mdrr securesum/1 part\n{batch.digest}\n0102\nreader\n"
            f"{hashlib.sha256(b'public').hexdigest()}"
        ).encode()
    )


# What the device remembers.


def test_a_report_is_noted_before_it_leaves_and_the_same_again_after_a_crash(
    tmp_path: Path,
) -> None:
    batch, report = batch_of(), made()
    assert Device(tmp_path).answered() == []
    assert Device(tmp_path).report_in(batch) is None
    assert Device(tmp_path).prepare(batch, "there", lambda: report, nowhere) == report
    noted = Answered(
        batch.digest, "there", ("smokes", "region", "age"), None,
        report.id.hex(), report.credential.hex(), report.data.hex(),
    )  # fmt: skip
    assert Device(tmp_path).answered() == [noted]
    assert not noted.void
    again = SealedReport(bytes(16), report.credential, b"another draw")
    assert Device(tmp_path).prepare(batch, "there", lambda: again, nowhere) == report
    assert Device(tmp_path).report_in(batch) == report.id
    assert Device(tmp_path).report_in(batch_of(1)) is None


def test_once_it_arrived_only_the_sealed_bytes_are_forgotten(tmp_path: Path) -> None:
    device, first, second = Device(tmp_path), batch_of(), batch_of(1, RANDOMIZED)
    device.prepare(first, "1", lambda: made(), nowhere)
    device.prepare(second, "2", lambda: made(1), nowhere)
    device.arrived(first)
    kept, other = device.answered()
    assert (kept.report, kept.credential, kept.data) == (made().id.hex(), "", "")
    assert (kept.batch, kept.attributes) == (first.digest, ("smokes", "region", "age"))
    assert other.data == made(1).data.hex()
    assert device.prepare(first, "1", lambda: made(2), nowhere) is None  # with any invitation
    assert device.report_in(first) == made().id
    assert device.report_in(second) == made(1).id


def test_another_invitation_replaces_a_report_that_did_not_arrive(tmp_path: Path) -> None:
    device, other = Device(tmp_path), batch_of(1, RANDOMIZED)
    device.prepare(other, "2", lambda: made(1), nowhere)
    device.prepare(batch_of(), "1", lambda: made(), nowhere)
    assert device.prepare(batch_of(), "1", lambda: made(2), nowhere) == made(2)
    assert [one.batch for one in device.answered()] == [other.digest, batch_of().digest]
    assert device.report_in(batch_of()) == made(2).id


@pytest.mark.parametrize("aborted", [0, 1, 2, 3])
def test_exact_answers_are_given_again_only_after_every_aggregator_gave_up(
    tmp_path: Path, aborted: int
) -> None:
    device, first = Device(tmp_path), relay(aborted=aborted)
    device.prepare(batch_of(), "first", lambda: made(), nowhere)
    reach = {"first": first}.__getitem__
    if aborted < 3:
        refused = (
            rf"^you answered smokes, region, age exactly in batch {batch_of().digest[:16]}…\. "
        )
        with pytest.raises(ProtocolError, match=refused):
            device.prepare(batch_of(1), "second", lambda: made(0, 1), reach)  # type: ignore[arg-type]
        with pytest.raises(ProtocolError, match=refused):
            device.check(QUESTION, reach)  # type: ignore[arg-type]
        assert [one.batch for one in device.answered()] == [batch_of().digest]
    else:
        device.check(QUESTION, reach)  # type: ignore[arg-type]
        device.prepare(batch_of(1), "second", lambda: made(0, 1), reach)  # type: ignore[arg-type]
        assert [one.void for one in device.answered()] == [True, False]
        assert device.answered()[0].report == made().id.hex()
        again = Device(tmp_path)  # what was void once need not be looked up again
        with pytest.raises(ProtocolError, match=batch_of(1).digest[:16]):
            again.prepare(batch_of(2), "third", lambda: made(0, 2), nowhere)
    assert first.closed


def test_a_batch_is_void_only_by_its_own_document_and_a_relay_that_answers() -> None:
    earlier = Answered(batch_of().digest, "url", ("smokes",), None, "", "", "")
    assert is_void(earlier, lambda url: relay(aborted=3))  # type: ignore[arg-type,return-value]
    assert not is_void(earlier, lambda url: relay(1, aborted=3))  # type: ignore[arg-type,return-value]
    assert not is_void(earlier, nowhere)
    asked: list[str] = []

    def reach(url: str) -> Any:
        asked.append(url)
        return relay(aborted=3)

    assert is_void(earlier, reach)
    assert asked == ["url"]


def test_randomized_answers_may_be_given_again_and_what_they_spend_adds_up(
    tmp_path: Path,
) -> None:
    device, each = Device(tmp_path), spent_on(RANDOMIZED)
    assert device.spent() == 0.0
    for seed in (1, 2):
        device.prepare(batch_of(seed, RANDOMIZED), "", lambda: made(), nowhere)
    assert each is not None
    assert device.spent() == pytest.approx(2 * each)
    assert [one.epsilon for one in device.answered()] == [each, each]
    device.prepare(batch_of(), "", lambda: made(), nowhere)  # exact, after randomized ones
    device.prepare(batch_of(3, RANDOMIZED), "", lambda: made(), nowhere)
    assert device.spent() == math.inf
    rows = json.loads((tmp_path / "answered.json").read_text())
    rows[2]["void"] = True
    (tmp_path / "answered.json").write_text(json.dumps(rows))
    assert device.spent() == pytest.approx(3 * each)
    group = roster_of(people(3), 1, RANDOMIZED)
    device.history.remember(group)
    assert Device(tmp_path).spent() == pytest.approx(4 * each)
    assert (tmp_path / "history.json").exists()


def test_what_a_small_group_opened_is_not_answered_in_a_batch(tmp_path: Path) -> None:
    device = Device(tmp_path)
    device.history.remember(roster_of(people(3), 1))
    with pytest.raises(ProtocolError, match="answered smokes, region, age exactly in run"):
        device.prepare(batch_of(), "", lambda: made(), nowhere)
    assert device.answered() == []


def test_a_question_about_other_attributes_is_answered(tmp_path: Path) -> None:
    device = Device(tmp_path)
    row = Answered("0" * 64, "url", ("income", "REGION"), None, "", "", "")
    device._write([row])
    with pytest.raises(ProtocolError, match="you answered REGION exactly in batch 0000"):
        device.check(QUESTION, nowhere)
    device.check(Question(QUESTION.domain.project(["smokes", "age"])), nowhere)
    device.check(RANDOMIZED, nowhere)
    assert device.answered() == [row]


@pytest.mark.parametrize("spoilt", ["{", "[{}]", '[{"attributes": 1}]', '[{"attributes": []}]'])
def test_a_memory_that_cannot_be_read_stops_the_device(tmp_path: Path, spoilt: str) -> None:
    (tmp_path / "answered.json").write_text(spoilt)
    with pytest.raises(ProtocolError, match="Restore it, or do not take part"):
        Device(tmp_path).prepare(batch_of(), "", lambda: made(), nowhere)
    assert (tmp_path / "answered.json").read_text() == spoilt
