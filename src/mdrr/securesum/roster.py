"""Who takes part: the signed roster of a paper-mode run, the signed batch of an aggregated one.

Paper section 4.2 takes the n parties as given. Here the list is a message like any other: the
organiser signs it, every member checks her own entry and signs the digest of the whole before she
sends a share, and so all act on one list or none does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import Identity, Public
from mdrr.securesum.message import Message, write
from mdrr.securesum.ring import BITS, ring_bits
from mdrr.securesum.terms import LARGEST, Terms
from mdrr.securesum.wire import Fields, digest

MOST_PARTIES = 1000
"""Paper mode deals n² shares; beyond this the aggregators mode is the tool."""


@dataclass(frozen=True)
class Roster:
    """The parties of a paper-mode run, in the order of their ids.

    Arguments:
        terms: what they agree to.
        members: their public keys; at least `terms.minimum`, none twice.
    """

    terms: Terms
    members: tuple[Public, ...]

    def __post_init__(self) -> None:
        if self.terms.mode != "paper":
            raise ProtocolError("a roster belongs to the paper mode; aggregators work on a batch")
        check_members(self.members)
        if not self.terms.minimum <= len(self.members) <= MOST_PARTIES:
            raise ProtocolError(
                f"a roster of {len(self.members)} parties; the terms ask for at least "
                f"{self.terms.minimum}, and the paper mode takes at most {MOST_PARTIES}"
            )

    @property
    def modulus(self) -> int:
        """n + 1."""
        return len(self.members) + 1

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The members' ids, in order."""
        return tuple(member.id for member in self.members)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of terms and members: the run every later message belongs to."""
        return digest({"terms": self.terms.to_dict(), **self._body()})

    def member(self, name: str) -> Public | None:
        """The member of that id, if there is one."""
        return self._by_id.get(name)

    @cached_property
    def _by_id(self) -> dict[str, Public]:
        return dict(zip(self.ids, self.members, strict=True))

    def _body(self) -> dict[str, Any]:
        return {"members": [member.to_dict() for member in self.members]}

    def message(self, organiser: Identity) -> Message:
        """The roster as the organiser sends it."""
        return write(organiser, "roster", self.terms.digest, self._body())

    @classmethod
    def of(cls, terms: Terms, members: Iterable[Public]) -> Roster:
        """The roster of some members in any order."""
        return cls(terms, tuple(sorted(members, key=lambda member: member.id)))

    @classmethod
    def read(cls, message: Message, terms: Terms) -> Roster:
        """The roster in a message, if the organiser of these terms signed it for them."""
        check_organiser(message, terms, "roster")
        read = Fields(message.body, "a roster")
        members = tuple(Public.from_dict(one) for one in read.array("members", MOST_PARTIES))
        read.finish()
        return cls(terms, members)


@dataclass(frozen=True)
class Batch:
    """The aggregators of a run and the people enrolled for it.

    Arguments:
        terms: what all agree to.
        aggregators: two or three; the first receives vectors, the others seeds.
        people: how many people are enrolled.
        enrolment: digest of the sorted ids of those people; the list itself goes to aggregators.
    """

    terms: Terms
    aggregators: tuple[Public, ...]
    people: int
    enrolment: str

    def __post_init__(self) -> None:
        if self.terms.mode != "aggregators":
            raise ProtocolError("a batch belongs to the aggregators mode; the paper's has a roster")
        if len(self.aggregators) not in (2, 3):
            raise ProtocolError(
                f"{len(self.aggregators)} aggregators: with one there is nobody to keep the "
                "other share from it; name two or three"
            )
        if len({one.id for one in self.aggregators}) < len(self.aggregators):
            raise ProtocolError("an aggregator is named twice")
        if len({one.sealing for one in self.aggregators}) < len(self.aggregators):
            raise ProtocolError("two aggregators share a sealing key")
        if self.people < self.terms.minimum:
            raise ProtocolError(
                f"{self.people} people are enrolled; the terms ask for {self.terms.minimum}"
            )

    @property
    def bits(self) -> int:
        """Counts are kept modulo 2^bits, above the number of people enrolled."""
        return ring_bits(self.people)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The aggregators' ids, in order."""
        return tuple(one.id for one in self.aggregators)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of terms, aggregators and enrolment: what every report is bound to."""
        return digest({"terms": self.terms.to_dict(), **self._body()})

    @property
    def operators(self) -> tuple[str, ...]:
        """Who runs the aggregators, each named once; a nameless one could be anybody's."""
        return tuple(sorted({one.operator for one in self.aggregators}))

    @property
    def trust(self) -> str:
        """In plain words, whom a person trusts who reports to this batch as it was signed."""
        return self._trust + (
            " Operators are what the aggregators call themselves, which nobody checked: compare "
            "their ids with what these organisations publish, and name them with --aggregator."
        )

    @property
    def pinned_trust(self) -> str:
        """The same for a person who knew the aggregators beforehand (`check_pins`)."""
        return self._trust + " The aggregators are the ones you named."

    @property
    def _trust(self) -> str:
        if len(self.operators) == 1:
            name = self.operators[0] or "one unnamed operator"
            return (
                f"All {len(self.aggregators)} aggregators are run by {name}, who can therefore "
                "read every single answer. This protects against nobody but outsiders; have the "
                "aggregators run by organisations that do not share data."
            )
        names = ", ".join(name or "(unnamed)" for name in self.operators)
        return (
            f"Single answers stay hidden as long as one of {names} is honest and keeps its share "
            "to itself. If all of them pool what they have, they read every answer."
        )

    def check_pins(self, pins: frozenset[str]) -> None:
        """Refuse the batch unless its aggregators are exactly those of these pins."""
        found = {one.pin for one in self.aggregators}
        if found != pins:
            strange = ", ".join(f"{pin[:16]}…" for pin in sorted(found - pins)) or "nobody else"
            missing = ", ".join(f"{pin[:16]}…" for pin in sorted(pins - found)) or "nobody"
            raise ProtocolError(
                "the batch's aggregators are not the ones you named: "
                f"it has {strange}, and lacks {missing}. Nothing was reported"
            )

    def _body(self) -> dict[str, Any]:
        return {
            "aggregators": [one.to_dict() for one in self.aggregators],
            "people": self.people,
            "enrolment": self.enrolment,
        }

    def message(self, organiser: Identity) -> Message:
        """The batch as the organiser sends it."""
        return write(organiser, "batch", self.terms.digest, self._body())

    @classmethod
    def of(cls, terms: Terms, aggregators: Iterable[Public], people: Iterable[str]) -> Batch:
        """The batch of some aggregators (in the order given) and the ids of the enrolled."""
        ids = sorted(people)
        if len(set(ids)) < len(ids):
            raise ProtocolError("a person is enrolled twice")
        return cls(terms, tuple(aggregators), len(ids), enrolment_digest(ids))

    @classmethod
    def read(cls, message: Message, terms: Terms) -> Batch:
        """The batch in a message, if the organiser of these terms signed it for them."""
        check_organiser(message, terms, "batch")
        read = Fields(message.body, "a batch")
        batch = cls(
            terms,
            tuple(Public.from_dict(one) for one in read.array("aggregators", 3)),
            read.integer("people", 1, min(LARGEST, 2 ** BITS[-1] - 1)),
            read.hash("enrolment"),
        )
        read.finish()
        return batch


def read_pins(pins: Iterable[str]) -> frozenset[str]:
    """The ids of two or three aggregators as `mdrr securesum aggregator` prints them."""
    given = list(pins)
    for pin in given:
        if not re.fullmatch(r"[0-9a-f]{64}", pin):
            raise ProtocolError(
                f"{pin!r} is not the id of an aggregator: 64 lower-case hex digits, "
                "as 'mdrr securesum aggregator' prints them"
            )
    if len(set(given)) < len(given):
        raise ProtocolError("an aggregator is named twice")
    if len(given) not in (2, 3):
        raise ProtocolError(f"{len(given)} aggregators named: a batch has two or three")
    return frozenset(given)


def enrolment_digest(ids: Iterable[str]) -> str:
    """SHA-256 of a list of people's ids, whatever their order."""
    return digest(sorted(ids))


def check_members(members: tuple[Public, ...]) -> None:
    """Refuse a list out of order, or one in which a key stands twice."""
    ids = [member.id for member in members]
    if ids != sorted(set(ids)):
        raise ProtocolError("the members of a roster stand once each, in the order of their ids")
    if len({member.sealing for member in members}) < len(members):
        raise ProtocolError("two members of the roster share a sealing key")


def check_organiser(message: Message, terms: Terms, kind: str) -> None:
    """Refuse a message that the organiser of the terms did not sign for them."""
    if message.kind != kind or message.run != terms.digest:
        raise ProtocolError(f"a {message.kind!r} of other terms where the {kind} was expected")
    if not message.signed_by(terms.organiser):
        raise ProtocolError(f"the organiser's signature under the {kind} is not valid")


def check_organiser_of(message: Message, batch: Batch) -> None:
    """Refuse a close that the organiser did not sign for this batch."""
    if message.run != batch.digest or not message.signed_by(batch.terms.organiser):
        raise ProtocolError("the organiser did not sign this for this batch")
