"""What a small group agrees to before a run of the paper's mode: the question, who may come.

The organiser signs the terms; a party checks them against the organiser's key, which reaches her
by another way, and against limits of her own. Rosters contain the terms whole, and every later
message is bound to the roster.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import SEALED_EXTRA, Identity
from mdrr.securesum.message import Message, write
from mdrr.securesum.question import Question
from mdrr.securesum.ring import width
from mdrr.securesum.signed import FLOOR, check_lengths, read_document, read_shared, shared_fields
from mdrr.securesum.wire import Fields, digest

MOST_PARTIES = 200
MOST_BYTES = 250_000_000
"""Paper mode deals n² shares of all cells; beyond these the aggregators mode is the tool."""


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
