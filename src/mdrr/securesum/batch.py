"""The signed batch: what is asked, who aggregates, who may report, until when.

The organiser signs it before the first report and may then go away. It names the aggregators by
*offers*: an aggregator signs, with the key its operator publishes, a sealing key for one batch.
Every report, job and result belongs to the digest of one batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import CREDENTIAL
from mdrr.securesum.keys import SEALED_EXTRA, Identity, Public
from mdrr.securesum.message import Message, write
from mdrr.securesum.prio3.pairs import PROOFS, prio3_of
from mdrr.securesum.prio3.scheme import Prio3
from mdrr.securesum.question import Question
from mdrr.securesum.signed import (
    FLOOR,
    LEAST,
    check_lengths,
    read_document,
    read_shared,
    shared_fields,
)
from mdrr.securesum.wire import FORMAT, Fields, canonical, digest

FIELD = "Field64"
MOST_PEOPLE = 1_000_000
MOST_CELLS = 100_000
"""Larger vectors than these are a mistake, or an attempt to exhaust those who read the batch."""


def make_offer(identity: Identity) -> Message:
    """An aggregator's offer to serve one batch with these keys, signed by the long-term one."""
    body = identity.public.to_dict()
    return write(identity, "offer", digest(body), dict(body))


def read_offer(message: Message) -> Public:
    """The keys in an offer, if their owner signed it."""
    public = Public.from_dict(message.body)
    if message.kind != "offer" or message.run != digest(public.to_dict()):
        raise ProtocolError("this is not an aggregator's offer")
    if not message.signed_by(public.signing):
        raise ProtocolError("an offer that the aggregator it names did not sign")
    return public


def default_minimum(people: int) -> int:
    """Nothing opens for fewer than half of those invited, nor for fewer than ten."""
    if FLOOR <= people < LEAST:
        raise ProtocolError(
            f"{people} people are fewer than the default minimum of {LEAST}. Give --minimum with a "
            f"number from {FLOOR} to {people}, or invite at least {LEAST}"
        )
    return max(LEAST, -(-people // 2))


@dataclass(frozen=True)
class Batch:
    """What everybody agrees on who takes part.

    Arguments:
        purpose: what for, in words for the people asked.
        question: the tables that are summed.
        offers: one of each aggregator; the first leads. Two to five.
        minimum: nothing opens for fewer people.
        closes: when reports are no longer taken, in seconds since 1970.
        people: how many were invited.
        rolls: SHA-256 of the roll of the relay, then of each aggregator.
        nonce: 32 random bytes, so that no two batches are the same.
        organiser: the organiser's signing key.
    """

    KIND: ClassVar = "batch"

    purpose: str
    question: Question
    offers: tuple[Message, ...]
    minimum: int
    closes: int
    people: int
    rolls: tuple[str, ...]
    nonce: bytes
    organiser: bytes

    def __post_init__(self) -> None:
        if not 2 <= len(self.offers) <= 5:
            raise ProtocolError(
                f"a batch has two to five aggregators, not {len(self.offers)}: with one there is "
                "nobody to keep the other share from it. Give an offer of each"
            )
        if len(set(self.ids)) < len(self.ids):
            raise ProtocolError("one aggregator made two of the offers. Give one of each")
        if len({one.sealing for one in self.aggregators}) < len(self.ids):
            raise ProtocolError("two aggregators share a sealing key")
        if not FLOOR <= self.minimum <= self.people <= MOST_PEOPLE:
            raise ProtocolError(
                f"a minimum of {self.minimum} among {self.people:,} invited: it must be at least "
                f"{FLOOR} and at most as many as are invited, and these at most {MOST_PEOPLE:,}"
            )
        if self.question.cells > MOST_CELLS:
            raise ProtocolError(
                f"{self.question.cells:,} cells are more than {MOST_CELLS:,}. Ask about fewer "
                "attributes, or merge categories"
            )
        if len(self.rolls) != 1 + len(self.offers):
            raise ProtocolError("a batch has a roll for the relay and one for each aggregator")
        check_lengths(self)

    @cached_property
    def aggregators(self) -> tuple[Public, ...]:
        """The aggregators' keys, in order."""
        return tuple(read_offer(offer) for offer in self.offers)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The aggregators' ids, in order: what their operators publish."""
        return tuple(one.id for one in self.aggregators)

    @cached_property
    def prio3(self) -> Prio3:
        """How reports are split, proved and verified."""
        return prio3_of(self.question, len(self.offers))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole: its name in every message."""
        return digest(self.to_dict())

    @property
    def ctx(self) -> bytes:
        """What proofs and shares are bound to."""
        return f"{FORMAT} {self.digest}".encode()

    @cached_property
    def part_bytes(self) -> tuple[int, ...]:
        """The length of each aggregator's sealed part of a report."""
        sizes = self.prio3.sizes
        shares = (sizes.leader_share, *(sizes.helper_share for _ in self.offers[1:]))
        return tuple(SEALED_EXTRA + CREDENTIAL + share for share in shares)

    @property
    def report_bytes(self) -> int:
        """The length of every report: the public share, and all sealed parts."""
        return self.prio3.sizes.public_share + sum(self.part_bytes)

    @property
    def closing(self) -> str:
        """When it closes, for people to read."""
        return datetime.fromtimestamp(self.closes, UTC).strftime("%Y-%m-%d %H:%M UTC")

    @property
    def trust(self) -> str:
        """In plain words, whom a person trusts who reports to this batch."""
        operators = sorted({one.operator for one in self.aggregators})
        if len(operators) == 1:
            name = operators[0] or "one unnamed operator"
            return (
                f"All {len(self.ids)} aggregators are run by {name}, who can therefore read every "
                "single answer. This protects against nobody but outsiders; have the aggregators "
                "run by organisations that do not share data."
            )
        names = ", ".join(name or "(unnamed)" for name in operators)
        return (
            f"Single answers stay hidden as long as one of {names} is honest and keeps its share "
            "to itself. If all of them pool what they have, they read every answer. Operators are "
            "what the aggregators call themselves: compare their ids with what these "
            "organisations publish, and name them with --aggregator."
        )

    def check_ids(self, wanted: Sequence[str]) -> None:
        """Refuse the batch unless its aggregators are exactly those of these ids."""
        if set(wanted) != set(self.ids):
            strange = ", ".join(f"{one[:16]}…" for one in sorted({*self.ids} - {*wanted}))
            missing = ", ".join(f"{one[:16]}…" for one in sorted({*wanted} - {*self.ids}))
            raise ProtocolError(
                "the batch's aggregators are not the ones you named: "
                f"it has {strange or 'nobody else'}, and lacks {missing or 'nobody'}. "
                "Nothing was reported"
            )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            **shared_fields(self),
            "offers": [json.loads(offer.to_json()) for offer in self.offers],
            "field": FIELD,
            "proofs": PROOFS,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Batch:
        """The batch described by `to_dict`, validated again."""
        with Fields(fields, "a batch") as read:
            if (read.text("field"), read.integer("proofs", 1, 255)) != (FIELD, PROOFS):
                raise ProtocolError(
                    f"this version makes {PROOFS} proofs over {FIELD}, and no others"
                )
            offers = tuple(Message.from_json(canonical(one)) for one in read.array("offers", 5))
            return cls(offers=offers, **read_shared(read, MOST_PEOPLE, 6))

    def message(self, organiser: Identity) -> Message:
        """The batch as the organiser signs it."""
        return write(organiser, self.KIND, self.digest, self.to_dict())

    @classmethod
    def read(cls, message: Message, organiser: str | None = None) -> Batch:
        """The batch in a message, if its own organiser signed it: see `read_document`."""
        return read_document(cls, message, organiser)
