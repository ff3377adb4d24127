"""The signed batch: what is asked, who aggregates, who may report, until when.

It is made offline, as the terms of small groups are, with a *folder* of rolls for the relay.

The organiser signs it before the first report and may then go away. It names the aggregators by
*offers*: an aggregator signs, with the key its operator publishes, a sealing key for one batch.
Every report, job and result belongs to the digest of one batch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import CREDENTIAL, RELAY, make_roll
from mdrr.securesum.keys import SEALED_EXTRA, Identity, Public
from mdrr.securesum.message import Message, write
from mdrr.securesum.prio3.pairs import PROOFS, prio3_of
from mdrr.securesum.prio3.scheme import Prio3
from mdrr.securesum.private import write_atomically
from mdrr.securesum.question import Question
from mdrr.securesum.signed import (
    FLOOR,
    LEAST,
    Terms,
    check_lengths,
    read_document,
    read_shared,
    shared_fields,
)
from mdrr.securesum.wire import FORMAT, Fields, canonical, digest
from mdrr.source import Source

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


def read_signed(message: Message) -> Batch | Terms:
    """What an organiser signed: a batch, or the terms of a small group."""
    return Terms.read(message) if message.kind == "terms" else Batch.read(message)


@dataclass(frozen=True)
class Folder:
    """What the relay needs of a batch or a group, and nothing else.

    Arguments:
        message: what the organiser signed.
        rolls: of the relay, then of each aggregator.
    """

    message: Message
    rolls: tuple[bytes, ...]

    def __post_init__(self) -> None:
        signed = read_signed(self.message)
        found = tuple(hashlib.sha256(roll).hexdigest() for roll in self.rolls)
        if found != signed.rolls or any(len(r) != CREDENTIAL * signed.people for r in self.rolls):
            raise ProtocolError("the rolls in this folder are not the ones that were signed")

    def save(self, path: Path) -> None:
        """Write the folder: `batch.json`, and all rolls one after the other."""
        write_atomically(path / "batch.json", self.message.to_json())
        write_atomically(path / "rolls.bin", b"".join(self.rolls))

    @classmethod
    def load(cls, path: Path) -> Folder:
        """The folder that `save` wrote, validated again."""
        if not (path / "batch.json").is_file():
            raise ProtocolError(
                f"{path} has no batch.json. Give the folder 'relay' in the one that the organiser "
                "made with --out"
            )
        message = Message.from_json((path / "batch.json").read_bytes())
        rolls = (path / "rolls.bin").read_bytes()
        size = CREDENTIAL * read_signed(message).people
        return cls(message, tuple(rolls[at : at + size] for at in range(0, len(rolls), size)))


def make_batch(
    organiser: Identity,
    question: Question,
    offers: Sequence[Message],
    tokens: Sequence[str],
    source: Source,
    *,
    closes: int,
    minimum: int | None = None,
    purpose: str = "",
) -> tuple[Batch, Folder]:
    """Sign a batch for people who were given these invitations.

    Arguments:
        organiser: who signs.
        question: the tables that are summed.
        offers: of the aggregators, the leader's first.
        tokens: the invitations.
        source: where the nonce comes from.
        closes: when reports are no longer taken, in seconds since 1970.
        minimum: nothing opens for fewer; `default_minimum` unless given.
        purpose: what for.

    Returns:
        The batch, and what to give to the relay.
    """
    readers = (RELAY, *(read_offer(offer).id for offer in offers))
    rolls = tuple(make_roll(tokens, reader) for reader in readers)
    batch = Batch(
        purpose=purpose,
        question=question,
        offers=tuple(offers),
        minimum=default_minimum(len(tokens)) if minimum is None else minimum,
        closes=closes,
        people=len(tokens),
        rolls=tuple(hashlib.sha256(roll).hexdigest() for roll in rolls),
        nonce=source.read(32),
        organiser=organiser.public.signing,
    )
    return batch, Folder(batch.message(organiser), rolls)


def make_group(
    organiser: Identity,
    question: Question,
    tokens: Sequence[str],
    source: Source,
    *,
    closes: int,
    minimum: int | None = None,
    purpose: str = "",
) -> tuple[Terms, Folder]:
    """Sign the terms of a small group of the paper's mode, as `make_batch` signs a batch."""
    roll = make_roll(tokens, RELAY)
    terms = Terms(
        purpose=purpose,
        question=question,
        minimum=default_minimum(len(tokens)) if minimum is None else minimum,
        people=len(tokens),
        closes=closes,
        rolls=(hashlib.sha256(roll).hexdigest(),),
        nonce=source.read(32),
        organiser=organiser.public.signing,
    )
    return terms, Folder(terms.message(organiser), (roll,))
