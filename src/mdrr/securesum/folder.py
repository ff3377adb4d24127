"""How an organiser makes a batch or a group, offline: signed, with rolls, for the relay."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import CREDENTIAL, RELAY, make_roll
from mdrr.securesum.batch import Batch, default_minimum, read_offer
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Message
from mdrr.securesum.private import write_atomically
from mdrr.securesum.question import Question
from mdrr.securesum.terms import Terms
from mdrr.source import Source


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
