"""A relay in this process: what simulations and tests use instead of `remote`."""

from __future__ import annotations

from mdrr.securesum.message import Message
from mdrr.securesum.person import SealedReport
from mdrr.securesum.transport.postbox import Postbox


class LocalPost:
    """One run of a relay in this process, as roles see it.

    Arguments:
        box: the relay's database.
        run: digest of the batch.
    """

    def __init__(self, box: Postbox, run: str) -> None:
        self._box, self._run = box, run

    def close(self) -> None:
        """Nothing: the database stays open."""

    def document(self) -> Message:
        """The signed batch."""
        return self._box.document(self._run)

    def roll(self, reader: int, /) -> bytes:
        """A roll."""
        return self._box.roll(self._run, reader)

    def upload(self, report: SealedReport, /) -> None:
        """Leave a report."""
        [refused] = self._box.upload(self._run, [report])
        if refused is not None:
            raise refused

    def arrivals(self, after: int, limit: int, /) -> list[bytes]:
        """Ids of reports."""
        return self._box.arrivals(self._run, after, limit)

    def parts(self, request: Message, /) -> dict[bytes, bytes]:
        """Sealed parts for an aggregator."""
        return self._box.parts(self._run, request)

    def join(self, shown: bytes, message: Message, /) -> None:
        """Leave a join."""
        self._box.join(self._run, shown, message)

    def say(self, *messages: Message) -> None:
        """Leave messages."""
        self._box.say(self._run, *messages)

    def mail(self, recipient: str, after: int, /) -> tuple[list[Message], int]:
        """What came since a mark."""
        found, mark = self._box.mail(self._run, recipient, after)
        return [Message.from_json(data) for data in found], mark

    def hear(self, topic: str, /) -> list[Message]:
        """All messages on a topic."""
        return [Message.from_json(data) for data in self._box.hear(self._run, topic)]
