"""An aggregator: collects sealed shares and opens one total per batch, as a state machine.

    collecting   takes parts of reports, in any order, from any number of the enrolled people
    accepted     when the organiser closes the batch: the list of reports this aggregator holds
    opened       when all lists are there: its share of the total over the reports all of them hold,
                 if these are at least the minimum and half of its own; once, and never for
                 another set

Privacy holds while one aggregator is honest; the total is exact when all are and every vector is
well-formed. What a share says nobody can see: an ill-formed vector shows only if the totals become
impossible (see `Question.check` and `validity`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.securesum.abort import Abort
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.message import Message, write
from mdrr.securesum.opening import accepted_body, common, opening_body, read_abort, read_accepted
from mdrr.securesum.person import Part, open_share, read_part
from mdrr.securesum.roster import Batch, check_organiser_of, enrolment_digest
from mdrr.securesum.terms import FLOOR
from mdrr.securesum.validity import NoProof, Validity


class Aggregator:
    """One aggregator of a batch; made again from its ledger, it goes on where it stopped.

    Arguments:
        identity: its keys, named in the batch.
        batch: as `Batch.read` returned it.
        enrolled: ids of the people who may report; must match the batch's digest.
        ledger: its durable notes.
        minimum: the fewest people it opens a total for, and by which two opened groups must
            differ, whatever the terms say.
        validity: asked about every report before it counts.
    """

    def __init__(
        self,
        identity: Identity,
        batch: Batch,
        enrolled: Iterable[str],
        ledger: Ledger,
        *,
        minimum: int = FLOOR,
        validity: Validity | None = None,
    ) -> None:
        people = frozenset(enrolled)
        if identity.id not in batch.ids or identity.public not in batch.aggregators:
            raise ProtocolError("the batch does not name this aggregator with its own keys")
        if enrolment_digest(people) != batch.enrolment or len(people) != batch.people:
            raise ProtocolError(
                "this list of enrolled people is not the one the batch was signed for"
            )
        self._identity, self._batch, self._enrolled, self._ledger = identity, batch, people, ledger
        self._minimum = max(minimum, batch.terms.minimum)
        self._apart = max(minimum, batch.terms.apart)
        self._validity = NoProof() if validity is None else validity
        self._reports: dict[str, str] = {}
        self._total = np.zeros(batch.terms.question.cells, ring.ring_type(batch.bits))
        self._lists: dict[str, frozenset[tuple[str, str]]] = {}
        self._closed = self.step != "collecting"
        kept = ledger.noted(batch.digest, "abort")
        self.aborted = None if kept is None else read_abort(Message.from_json(kept), batch)
        for part in ledger.parts(batch.digest):
            self._count(part, open_share(part, batch, identity))

    @property
    def step(self) -> str:
        """`collecting`, `accepted` or `opened`."""
        if self._ledger.noted(self._batch.digest, "opening") is not None:
            return "opened"
        closed = self._ledger.noted(self._batch.digest, "accepted") is not None
        return "accepted" if closed else "collecting"

    @property
    def people(self) -> int:
        """How many people's reports it holds."""
        return len(self._reports)

    def _count(self, part: Part, share: ring.Vector) -> None:
        self._reports[part.person] = part.report
        self._total += share

    def receive(self, message: Message) -> list[Message]:
        """Take in one message; a report that does not count raises an error that says why."""
        if self.aborted is not None:
            return []
        if message.kind == "report":
            self._take_report(message)
            return []
        if message.kind == "close":
            return self._close(message)
        if message.kind == "accepted":
            return self._take_list(message)
        if message.kind == "abort":
            self._end(read_abort(message, self._batch), message)
        return []

    def _take_report(self, message: Message) -> None:
        part = read_part(message, self._batch, self._identity.id)
        if part.person not in self._enrolled:
            raise ProtocolError("a report from somebody who is not enrolled")
        if part.person in self._reports:
            same = self._reports[part.person] == part.report
            raise ProtocolError("the same report again" if same else "a second report of a person")
        if self._closed:
            raise ProtocolError("a report after the batch was closed")
        share = open_share(part, self._batch, self._identity)
        if not self._validity.accepts(part.report, share, None):
            raise ProtocolError("a report whose proof does not hold")
        self._ledger.add(self._batch.digest, part)
        self._count(part, share)

    def _close(self, message: Message) -> list[Message]:
        check_organiser_of(message, self._batch)
        if (kept := self._ledger.noted(self._batch.digest, "accepted")) is None:
            if self.people < self._minimum:
                return self._stop(f"{self.people} reports are fewer than {self._minimum}")
            said = self._write("accepted", accepted_body(self._reports))
            self._ledger.note(self._batch.digest, "accepted", said.to_json())
            self._closed = True
        else:
            said = Message.from_json(kept)
        return [said, *self._take_list(said)]

    def _take_list(self, message: Message) -> list[Message]:
        reports = read_accepted(message, self._batch)
        before = self._lists.setdefault(message.sender, reports)
        if before != reports:
            return self._stop("an aggregator gave two different lists of reports", message.sender)
        if len(self._lists) < len(self._batch.ids) or not self._closed:
            return []
        return self._open()

    def _open(self) -> list[Message]:
        reports = common(self._lists)
        body = opening_body(reports)
        if (kept := self._ledger.noted(self._batch.digest, "opening")) is not None:
            said = Message.from_json(kept)
            if said.body.get("reports") != body["reports"]:
                return self._stop("this batch was opened already, for another set of reports")
            return [said]
        group = frozenset(person for person, _ in reports)
        if len(group) < self._minimum:
            return self._stop(f"{len(group)} common reports are fewer than {self._minimum}")
        if 2 * len(group) < self.people:
            return self._stop(
                f"of {self.people} reports held here the others name {len(group)}: leaving out "
                "more than half could single somebody out"
            )
        said = self._write("opening", opening_body(reports, self._sum_over(reports)))
        try:
            self._ledger.note_opening(self._batch.digest, group, said.to_json(), self._apart)
        except ProtocolError as error:
            return self._stop(str(error))
        return [said]

    def _sum_over(self, reports: frozenset[tuple[str, str]]) -> ring.Vector:
        """The total of all shares held, less those that not every aggregator holds."""
        total = self._total.copy()
        extra = set(self._reports.items()) - reports
        if extra:
            for part in self._ledger.parts(self._batch.digest):
                if (part.person, part.report) in extra:
                    total -= open_share(part, self._batch, self._identity)
        return total

    def expire(self) -> list[Message]:
        """Stop waiting for the other aggregators' lists."""
        if self.step == "opened" or self.aborted is not None:
            return []
        missing = tuple(name for name in self._batch.ids if name not in self._lists)
        return self._stop("no list of reports arrived in time", *missing)

    def _stop(self, reason: str, *who: str) -> list[Message]:
        abort = Abort(self.step, reason, who)
        said = self._write("abort", abort.to_dict())
        self._end(abort, said)
        return [said]

    def _end(self, abort: Abort, said: Message) -> None:
        """Stop for good: made again from its ledger it has no reports, so it must open nothing."""
        if self.step != "opened":
            self._ledger.note_abort(self._batch.digest, said.to_json())
        self.aborted = abort

    def _write(self, kind: str, body: dict[str, Any]) -> Message:
        return write(self._identity, kind, self._batch.digest, body)
