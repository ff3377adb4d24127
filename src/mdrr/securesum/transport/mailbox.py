"""What the relay keeps: every message once, in the order of arrival, for those it is meant for.

The relay is trusted with nothing: shares are sealed, everything is signed, and what it withholds,
repeats or reorders ends in an abort or in the same total. `meddle` stands where a bad relay would
act, for the tests that show this.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from mdrr.securesum.message import Message

Meddler = Callable[[bytes, str], Iterable[bytes]]


def honest(data: bytes, recipient: str) -> Iterable[bytes]:
    """Deliver as it came."""
    return (data,)


@dataclass
class Mailbox:
    """All messages of one run.

    Arguments:
        meddle: given a message and its recipient, what is delivered instead.

    Example:
        >>> box = Mailbox()
        >>> box.fetch("a" * 64, after=0)
        ([], 0)
    """

    meddle: Meddler = honest
    bytes_in: int = 0
    bytes_out: int = 0
    _data: list[tuple[str, str, bytes]] = field(default_factory=list)
    _to: dict[str | None, list[int]] = field(default_factory=dict)
    _seen: set[bytes] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self._data)

    def add(self, message: Message) -> bool:
        """Keep a message; False when these very bytes are kept already."""
        data = message.to_json()
        self.bytes_in += len(data)
        mark = hashlib.sha256(data).digest()
        if mark in self._seen:
            return False
        self._seen.add(mark)
        self._to.setdefault(message.to, []).append(len(self._data))
        self._data.append((message.kind, message.sender, data))
        return True

    def count(self, recipient: str, after: int, kinds: Collection[str] = ()) -> int:
        """How many messages `fetch` would have for a recipient."""
        return sum(1 for _ in self._new(recipient, after, kinds))

    def fetch(
        self, recipient: str, after: int, kinds: Collection[str] = (), limit: int = 4_000_000
    ) -> tuple[list[bytes], int]:
        """What arrived for a recipient since a cursor, and the next cursor.

        Arguments:
            recipient: her id; what she sent herself is left out.
            after: cursor; 0 for all.
            kinds: only these kinds, when given.
            limit: about how many bytes to return at once.

        Returns:
            The messages' bytes, and where to go on.
        """
        out: list[bytes] = []
        size = 0
        for k in self._new(recipient, after, kinds):
            data = self._data[k][2]
            if size and size + len(data) > limit:
                return out, k
            size += len(data)
            out.extend(self.meddle(data, recipient))
        self.bytes_out += sum(map(len, out))
        return out, len(self._data)

    def _new(self, recipient: str, after: int, kinds: Collection[str]) -> Iterator[int]:
        rows = [self._to.get(to, []) for to in (None, recipient)]
        for k in sorted(k for row in rows for k in row[bisect_left(row, after) :]):
            kind, sender, _ = self._data[k]
            if sender != recipient and (not kinds or kind in kinds):
                yield k
