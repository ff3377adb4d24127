"""What an organiser signs, a batch or the terms of a group: what both say, and how it is read.

Both say what is asked, who may come and until when. Both name the key of their organiser, which
reaches people by another way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import KEY_BYTES, name_of
from mdrr.securesum.message import Message
from mdrr.securesum.question import Question
from mdrr.securesum.wire import Fields, encode64

if TYPE_CHECKING:
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.terms import Terms

FLOOR = 3
"""With two people each learns the other's answers from the total and her own."""
LEAST = 10
"""The minimum number of people unless the organiser says otherwise."""
NONCE_BYTES = 32

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
