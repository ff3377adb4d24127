"""What an organiser signs for a small group, terms and roster, and what batches share with it.

Terms and batches say what is asked, who may come and until when. Both name the key of their
organiser, which reaches people by another way; a person checks them against that key, and against
limits of her own. Paper section 4.2 takes the n parties as given. Here their list, the roster, is a
message like any other. It contains the terms whole: every member checks her own entry and signs the
digest of the whole before she sends a share, and so all act on one list or none does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import KEY_BYTES, SEALED_EXTRA, Identity, Public, name_of
from mdrr.securesum.message import Message, write
from mdrr.securesum.question import Question
from mdrr.securesum.ring import width
from mdrr.securesum.wire import Fields, digest, encode64

if TYPE_CHECKING:
    from mdrr.securesum.batch import Batch

FLOOR = 3
"""With two people each learns the other's answers from the total and her own."""
LEAST = 10
"""The minimum number of people unless the organiser says otherwise."""
NONCE_BYTES = 32
MOST_PARTIES = 200
MOST_BYTES = 250_000_000
"""Paper mode deals n² shares of all cells; beyond these the aggregators mode is the tool."""

Signed = TypeVar("Signed", "Batch", "Terms")


def shared_fields(signed: Batch | Terms) -> dict[str, Any]:
    """What batches and terms both say, JSON-ready."""
    return {
        "purpose": signed.purpose,
        "question": signed.question.to_dict(),
        "minimum": signed.minimum,
        "people": signed.people,
        "closes": signed.closes,
        "rolls": list(signed.rolls),
        "nonce": encode64(signed.nonce),
        "organiser": encode64(signed.organiser),
    }


def read_shared(read: Fields, most_people: int, most_rolls: int) -> dict[str, Any]:
    """What `shared_fields` wrote, as arguments of a batch or of terms."""
    return {
        "purpose": read.text("purpose", 10_000),
        "question": Question.from_dict(read.mapping("question")),
        "minimum": read.integer("minimum", FLOOR, most_people),
        "people": read.integer("people", FLOOR, most_people),
        "closes": read.integer("closes", 0, 2**40),
        "rolls": read.hashes("rolls", most_rolls),
        "nonce": read.data("nonce", NONCE_BYTES),
        "organiser": read.data("organiser", KEY_BYTES),
    }


def check_lengths(signed: Batch | Terms) -> None:
    """Refuse a nonce or an organiser's key of the wrong length."""
    if len(signed.nonce) != NONCE_BYTES or len(signed.organiser) != KEY_BYTES:
        raise ProtocolError("the nonce and the organiser's key have 32 bytes each")


def read_document(what: type[Signed], message: Message, organiser: str | None) -> Signed:
    """The batch or the terms in a message, if their own organiser signed them.

    Arguments:
        what: `Batch` or `Terms`.
        message: what holds them.
        organiser: the id the organiser must have. None is for a relay, which trusts nobody and is
            trusted by nobody.
    """
    found = what.from_dict(message.body)
    named = name_of(found.organiser)
    if organiser is not None and named != organiser:
        raise ProtocolError(
            f"what is asked here comes from organiser {named}, not from {organiser}. If the second "
            "is the id that you were told, do not take part"
        )
    fits = message.kind == what.KIND and message.run == found.digest
    if not fits or not message.signed_by(found.organiser):
        raise ProtocolError(f"the organiser's signature under the {what.KIND} is not valid")
    return found


@dataclass(frozen=True)
class Terms:
    """The public conditions of a run.

    Arguments:
        purpose: what for, in words for the people asked.
        question: the tables that are summed.
        minimum: nothing opens with fewer people than this; at least 3.
        people: how many are invited.
        closes: when the roster is signed with those who came, in seconds since 1970.
        rolls: SHA-256 of the relay's roll of invitations, alone.
        nonce: 32 random bytes, so that no two runs have the same terms.
        organiser: the organiser's signing key.
    """

    KIND: ClassVar = "terms"

    purpose: str
    question: Question
    minimum: int
    people: int
    closes: int
    rolls: tuple[str, ...]
    nonce: bytes
    organiser: bytes

    def __post_init__(self) -> None:
        if not FLOOR <= self.minimum <= self.people:
            raise ProtocolError(
                f"a minimum of {self.minimum} among {self.people} invited: it must be at least "
                f"{FLOOR}, since fewer protect nobody, and at most as many as are invited"
            )
        if self.people > MOST_PARTIES or self.people**2 * self.share_bytes > MOST_BYTES:
            raise ProtocolError(
                f"{self.people:,} people who send {self.question.cells:,} cells to each other are "
                f"too many: the paper's mode takes at most {MOST_PARTIES} people and "
                f"{MOST_BYTES // 1_000_000} MB in all, and this is "
                f"{self.people**2 * self.share_bytes / 1e6:,.0f} MB. Use aggregators, to whom "
                "everybody sends once: see 'mdrr securesum batch --help'"
            )
        if len(self.rolls) != 1:
            raise ProtocolError("the terms have one roll of invitations, the relay's")
        check_lengths(self)

    @property
    def share_bytes(self) -> int:
        """The length of one share as it travels: sealed, in base64."""
        return 4 * (self.question.cells * width(self.people + 1) + SEALED_EXTRA + 2) // 3

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the terms."""
        return digest(self.to_dict())

    @property
    def closing(self) -> str:
        """When the roster is signed, for people to read."""
        return datetime.fromtimestamp(self.closes, UTC).strftime("%Y-%m-%d %H:%M UTC")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return shared_fields(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Terms:
        """The terms described by `to_dict`, validated again."""
        with Fields(fields, "the terms") as read:
            return cls(**read_shared(read, MOST_PARTIES, 1))

    def message(self, organiser: Identity) -> Message:
        """The terms as the organiser sends them."""
        return write(organiser, self.KIND, self.digest, self.to_dict())

    @classmethod
    def read(cls, message: Message, organiser: str | None = None) -> Terms:
        """The terms in a message, if their own organiser signed them: see `read_document`."""
        return read_document(cls, message, organiser)


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
        if list(self.ids) != sorted(set(self.ids)):
            raise ProtocolError(
                "the members of a roster stand once each, in the order of their ids"
            )
        if len({member.sealing for member in self.members}) < len(self.members):
            raise ProtocolError("two members of the roster share a sealing key")
        if not self.terms.minimum <= len(self.members) <= self.terms.people:
            raise ProtocolError(
                f"{len(self.members)} came of {self.terms.people} invited; the terms ask for at "
                f"least {self.terms.minimum}"
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

    @property
    def spoken(self) -> str:
        """The digest in groups of four, to be read out on the telephone."""
        return " ".join(self.digest[at : at + 4] for at in range(0, len(self.digest), 4))

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
        if message.kind != "roster" or message.run != terms.digest:
            raise ProtocolError(f"a {message.kind!r} of other terms where the roster was expected")
        if not message.signed_by(terms.organiser):
            raise ProtocolError("the organiser's signature under the roster is not valid")
        with Fields(message.body, "a roster") as read:
            return cls(terms, tuple(map(Public.from_dict, read.array("members", MOST_PARTIES))))
