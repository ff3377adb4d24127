"""How a batch opens: which reports all aggregators hold, and their shares of the total.

    accepted   {"reports": [[person, report], …]}                       sorted
    opening    {"reports": digest of the common list, "people": n, "share": packed residues}

Everybody who has all openings adds them up. Openings for different sets do not combine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.securesum.abort import Abort
from mdrr.securesum.message import Message
from mdrr.securesum.roster import Batch
from mdrr.securesum.wire import Fields, digest, encode64

Reports = frozenset[tuple[str, str]]
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def accepted_body(reports: Mapping[str, str]) -> dict[str, Any]:
    """The list of an aggregator: person and report, sorted."""
    return {"reports": [list(item) for item in sorted(reports.items())]}


def read_accepted(message: Message, batch: Batch) -> Reports:
    """The reports an aggregator of the batch says it holds."""
    _check_aggregator(message, batch, "accepted")
    read = Fields(message.body, "a list of reports")
    rows = read.array("reports", batch.people)
    read.finish()
    for row in rows:
        if not (isinstance(row, list) and len(row) == 2 and all(map(_is_digest, row))):
            raise ProtocolError("a list of reports with an entry that is not [person, report]")
    reports = frozenset((str(person), str(report)) for person, report in rows)
    if len({person for person, _ in reports}) < len(rows):
        raise ProtocolError("a list of reports names a person twice")
    return reports


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.match(value) is not None


def common(lists: Mapping[str, Reports]) -> Reports:
    """The reports every aggregator holds, whole and the same."""
    return frozenset.intersection(*lists.values())


def opening_body(reports: Reports, share: ring.Vector | None = None) -> dict[str, Any]:
    """An aggregator's share of the total over a set of reports."""
    body: dict[str, Any] = {"reports": digest(sorted(reports)), "people": len(reports)}
    return body if share is None else {**body, "share": encode64(share.tobytes())}


@dataclass(frozen=True, slots=True)
class Opening:
    """One aggregator's share of the total, signature and form checked.

    Arguments:
        reports: digest of the set it is for.
        people: how many reports are in the set.
        share: unsigned (cells,).
    """

    reports: str
    people: int
    share: ring.Vector


def read_opening(message: Message, batch: Batch) -> Opening:
    """The opening in a message, if an aggregator of the batch signed it."""
    _check_aggregator(message, batch, "opening")
    read = Fields(message.body, "an opening")
    size = batch.terms.question.cells * batch.bits // 8
    opening = Opening(
        read.hash("reports"),
        read.integer("people", 1, batch.people),
        np.frombuffer(read.data("share", size), ring.ring_type(batch.bits)),
    )
    read.finish()
    return opening


def total(openings: Iterable[Message], batch: Batch) -> tuple[npt.NDArray[np.int64], int]:
    """Step 4: the totals and the number of people, from the openings of all aggregators.

    Arguments:
        openings: one message of kind `opening` from each aggregator, in any order.
        batch: the batch they belong to.

    Returns:
        int64 (cells,), and how many people are in it. An error says which opening is missing,
        differs, or gives impossible totals.
    """
    shares: dict[str, ring.Vector] = {}
    sets: set[tuple[str, int]] = set()
    for message in openings:
        opening = read_opening(message, batch)
        if not np.array_equal(shares.setdefault(message.sender, opening.share), opening.share):
            raise ProtocolError("an aggregator gave two different openings of one batch")
        sets.add((opening.reports, opening.people))
    if missing := [name for name in batch.ids if name not in shares]:
        raise ProtocolError(f"the opening of aggregator {missing[0][:12]} is missing")
    if len(sets) > 1:
        raise ProtocolError("the aggregators opened different sets of reports")
    people = sets.pop()[1]
    if people < batch.terms.minimum:
        raise ProtocolError(f"an opening for {people} people, below the terms' minimum")
    summed = np.sum(list(shares.values()), axis=0, dtype=ring.ring_type(batch.bits))
    if int(summed.max(initial=0)) > people:
        raise ProtocolError(
            f"a total above {people}: a vector was ill-formed or an aggregator is faulty"
        )
    totals = summed.astype(np.int64)
    batch.terms.question.check(totals, people)
    return totals, people


def read_abort(message: Message, batch: Batch) -> Abort:
    """Why an aggregator of the batch stopped."""
    _check_aggregator(message, batch, "abort")
    return Abort.from_dict(message.body)


def _check_aggregator(message: Message, batch: Batch, kind: str) -> None:
    if message.kind != kind or message.run != batch.digest:
        raise ProtocolError(f"a {message.kind!r} of another batch where {kind!r} was expected")
    signers = [one for one in batch.aggregators if one.id == message.sender]
    if not signers or not message.signed_by(signers[0].signing):
        raise ProtocolError(f"a message of kind {kind!r} no aggregator of this batch signed")
