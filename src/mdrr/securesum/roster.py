"""Who takes part: the signed roster of a paper-mode run.

Paper section 4.2 takes the n parties as given. Here the list is a message like any other: the
organiser signs it, every member checks her own entry and signs the digest of the whole before she
sends a share, and so all act on one list or none does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import Identity, Public
from mdrr.securesum.message import Message, write
from mdrr.securesum.terms import MOST_PARTIES, Terms
from mdrr.securesum.wire import Fields, digest


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
