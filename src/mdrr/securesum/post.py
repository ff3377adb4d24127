"""What a role needs of a relay, whether it is in this process or behind HTTP.

A relay stores what it is given and hands it out. Nobody believes it: reports are sealed, messages
are signed, the batch and the rolls are compared with what the organiser signed. It can lose things
or keep them back, and that is all. A message has a *topic*, its kind and number, as in `verify 3`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from mdrr.errors import ProtocolError
from mdrr.securesum.message import Message

if TYPE_CHECKING:  # what makes reports loads slowly, and small groups send none
    from mdrr.securesum.person import SealedReport

REPORT_ID = 16
"""Bytes of a report's id, which is its nonce."""


class RelayError(ProtocolError):
    """The relay does not answer, or refuses."""


class Post(Protocol):
    """One batch at one relay."""

    def close(self) -> None:
        """Hang up."""

    def document(self) -> Message:
        """The signed batch."""

    def roll(self, reader: int, /) -> bytes:
        """A roll: 0 is the relay's, then the aggregators'."""

    def upload(self, report: SealedReport, /) -> None:
        """Leave a report; the same bytes again are fine, others under one credential are not."""

    def arrivals(self, after: int, limit: int, /) -> Sequence[bytes]:
        """Ids of the reports after the first `after` ones, in the order of arrival."""

    def parts(self, request: Message, /) -> Mapping[bytes, bytes]:
        """Public share and sealed part of reports, by id: what an aggregator's `fetch` names."""

    def say(self, *messages: Message) -> None:
        """Leave signed messages; the same again is fine, another on a topic is not."""

    def hear(self, topic: str, /) -> Sequence[Message]:
        """All messages on a topic, not yet checked."""


class Mail(Protocol):
    """One run of the paper's mode at one relay."""

    def join(self, shown: bytes, message: Message, /) -> None:
        """Show the relay's credential and leave a join; the same again is fine."""

    def say(self, *messages: Message) -> None:
        """Leave signed messages, together; the same again is fine, another on a topic is not."""

    def mail(self, recipient: str, after: int, /) -> tuple[Sequence[Message], int]:
        """What came for everybody or for one recipient after a mark, and the next mark."""


def topic_of(message: Message) -> str:
    """`verify 3` for the third verification, `ready` where there is no number.

    >>> from mdrr.securesum.keys import Identity
    >>> from mdrr.securesum.message import write
    >>> from mdrr.source import SeededSource
    >>> topic_of(write(Identity.generate(SeededSource(1)), "job", "0" * 64, {"number": 3}))
    'job 3'
    """
    number = message.body.get("number")
    return f"{message.kind} {number}" if type(number) is int else message.kind
