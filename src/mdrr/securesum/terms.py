"""What everybody agrees to before a run: the question, the mode, the least number of people.

The organiser signs the terms; a party checks them against the organiser's key, which reaches her
by another way, and against limits of her own. Rosters and batches contain the terms whole, and
every later message is bound to the roster or batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import KEY_BYTES, Identity, name_of
from mdrr.securesum.message import Message, write
from mdrr.securesum.question import Question
from mdrr.securesum.wire import Fields, digest, encode64
from mdrr.source import Source

MODES = ("paper", "aggregators")
FLOOR = 3
"""With two people each learns the other's answers from the total and her own."""
LEAST = 10
"""The minimum number of people unless the terms say otherwise."""
LARGEST = 2**32


@dataclass(frozen=True)
class Terms:
    """The public conditions of a run.

    Arguments:
        mode: `paper` (everyone deals shares to everyone) or `aggregators`.
        purpose: what for, in words for the people asked.
        question: the tables that are summed.
        minimum: nothing opens with fewer people than this; at least 3.
        apart: nothing opens for people who differ by fewer than this from an opened group.
        wanted: how many people the organiser waits for.
        nonce: 32 random bytes, so that no two runs have the same terms.
        organiser: the organiser's signing key.
    """

    mode: str
    purpose: str
    question: Question
    minimum: int
    apart: int
    wanted: int
    nonce: bytes
    organiser: bytes

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ProtocolError(f"the mode {self.mode!r} is not known. Known: {', '.join(MODES)}")
        if self.minimum < FLOOR:
            raise ProtocolError(
                f"a minimum of {self.minimum} people protects nobody; it must be at least {FLOOR}"
            )
        if self.apart < 1:
            raise ProtocolError(f"apart={self.apart} must be at least 1")
        if self.wanted < self.minimum:
            raise ProtocolError(
                f"{self.wanted} people are fewer than the minimum of {self.minimum}; "
                "ask more people"
            )
        if len(self.nonce) != 32 or len(self.organiser) != KEY_BYTES:
            raise ProtocolError("the nonce and the organiser's key have 32 bytes each")

    @property
    def digest(self) -> str:
        """SHA-256 of the terms."""
        return digest(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "mode": self.mode,
            "purpose": self.purpose,
            "question": self.question.to_dict(),
            "minimum": self.minimum,
            "apart": self.apart,
            "wanted": self.wanted,
            "nonce": encode64(self.nonce),
            "organiser": encode64(self.organiser),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Terms:
        """The terms described by `to_dict`, validated again."""
        read = Fields(fields, "the terms")
        terms = cls(
            mode=read.text("mode"),
            purpose=read.text("purpose", 10_000),
            question=Question.from_dict(read.mapping("question")),
            minimum=read.integer("minimum", FLOOR, LARGEST),
            apart=read.integer("apart", 1, LARGEST),
            wanted=read.integer("wanted", FLOOR, LARGEST),
            nonce=read.data("nonce", 32),
            organiser=read.data("organiser", KEY_BYTES),
        )
        read.finish()
        return terms

    def message(self, organiser: Identity) -> Message:
        """The terms as the organiser sends them."""
        return write(organiser, "terms", self.digest, self.to_dict())

    @classmethod
    def read(cls, message: Message, organiser: str | None = None) -> Terms:
        """The terms in a message, if their own organiser signed them.

        Arguments:
            message: of kind `terms`.
            organiser: the id the organiser must have; None takes whoever signed, and protects
                against no one who can answer in the organiser's place.
        """
        if message.kind != "terms":
            raise ProtocolError(f"a message of kind {message.kind!r} where the terms were expected")
        terms = cls.from_dict(message.body)
        if organiser is not None and name_of(terms.organiser) != organiser:
            raise ProtocolError(
                f"these terms come from organiser {name_of(terms.organiser)[:16]}…, "
                f"not from {organiser[:16]}…: do not take part"
            )
        if not message.signed_by(terms.organiser) or message.run != terms.digest:
            raise ProtocolError("the organiser's signature under the terms is not valid")
        return terms


def make_terms(
    mode: str,
    question: Question,
    organiser: Identity,
    source: Source,
    *,
    wanted: int,
    minimum: int = LEAST,
    apart: int | None = None,
    purpose: str = "",
) -> Terms:
    """Terms with a fresh nonce; groups must differ by at least the minimum unless told otherwise.

    Two opened groups that differ by k people reveal the totals of those k (with signs), so `apart`
    is the minimum group size by default.
    """
    return Terms(
        mode,
        purpose,
        question,
        minimum,
        minimum if apart is None else apart,
        wanted,
        source.read(32),
        organiser.public.signing,
    )
