"""What a person's device remembers: which batches it answered, and whether it may answer another.

Exact totals of two groups that differ by one person give her answers away, however many puppets an
organiser mixes into the groups. So a device answers exactly only once about an attribute. It may do
so again when nothing was learnt the first time: when every aggregator of the earlier batch has
signed that it aborted, which an honest one does only after it has wiped its keys and shares. What
randomized pairs spend is added up. The file holds no answers; a report in it is sealed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mdrr.errors import MdrrError, ProtocolError
from mdrr.securesum.batch import Batch
from mdrr.securesum.history import History
from mdrr.securesum.opening import aborts
from mdrr.securesum.person import SealedReport
from mdrr.securesum.post import Post
from mdrr.securesum.private import locked, write_atomically
from mdrr.securesum.question import Question, asked_again, spent_on

Reach = Callable[[str], Post]
"""Given the address of a batch, its relay."""


@dataclass(frozen=True)
class Answered:
    """A batch that this device answered, or was about to.

    Arguments:
        batch: its digest.
        url: where it is.
        attributes: what was asked, by name.
        epsilon: what randomized pairs spend in all; None for exact tables.
        report: id of the report, in hexadecimal.
        credential: for the relay, until the report is there; in hexadecimal.
        data: the sealed report, until it is there; in hexadecimal.
        void: whether all aggregators signed that nothing was opened.
    """

    batch: str
    url: str
    attributes: tuple[str, ...]
    epsilon: float | None
    report: str
    credential: str
    data: str
    void: bool = False

    @property
    def sealed(self) -> SealedReport | None:
        """The report, if it is not known to have arrived."""
        if not self.data:
            return None
        parts = (bytes.fromhex(each) for each in (self.report, self.credential, self.data))
        return SealedReport(*parts)


class Device:
    """The memory of one person's device.

    Arguments:
        folder: where it is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "answered.json"
        self.history = History(folder / "history.json")  # runs of the paper's mode

    def answered(self) -> list[Answered]:
        """Every batch this device answered."""
        if not self._path.exists():
            return []
        try:
            rows = json.loads(self._path.read_bytes())
            return [Answered(**{**row, "attributes": tuple(row["attributes"])}) for row in rows]
        except (ValueError, TypeError, KeyError):
            raise ProtocolError(
                f"{self._path} is not the list of batches you answered; without it a batch that "
                "would single you out cannot be recognised. Restore it, or do not take part"
            ) from None

    def prepare(
        self, batch: Batch, url: str, make: Callable[[], SealedReport], reach: Reach
    ) -> SealedReport | None:
        """The report to send: noted before it leaves, the same again after a crash.

        Arguments:
            batch: what is to be answered.
            url: where it is.
            make: makes the report.
            reach: gives the relay of an earlier batch, to see whether it was aborted.

        Returns:
            The report, or None if it arrived already.
        """
        with locked(self._path):
            known, made = self.answered(), make()
            for one in known:
                if one.batch == batch.digest and one.credential in ("", made.credential.hex()):
                    return one.sealed
            # With another invitation than before: the first may have been copied wrongly.
            known = [one for one in known if one.batch != batch.digest]
            known = [self._judge(one, batch.question, reach) for one in known]
            self.history.check(batch.question)
            names = batch.question.domain.names
            fresh = Answered(
                batch.digest, url, tuple(names), spent_on(batch.question),
                made.id.hex(), made.credential.hex(), made.data.hex(),
            )  # fmt: skip
            self._write([*known, fresh])
            return made

    def check(self, question: Question, reach: Reach) -> None:
        """Refuse a question of the paper's mode that a batch has asked exactly before."""
        for one in self.answered():
            self._judge(one, question, reach)

    def _judge(self, earlier: Answered, question: Question, reach: Reach) -> Answered:
        """Refuse to answer exactly about an attribute that was answered exactly before."""
        common = asked_again(earlier.attributes, question)
        if question.matrices or earlier.epsilon is not None or earlier.void or not common:
            return earlier
        if is_void(earlier, reach):
            return replace(earlier, void=True)
        raise ProtocolError(
            f"you answered {', '.join(common)} exactly in batch {earlier.batch[:16]}…. The "
            "difference of two totals can give away a single person, so nothing was sent. A rerun "
            "is possible once every aggregator of that batch has signed that it aborted"
        )

    def arrived(self, batch: Batch) -> None:
        """Note that the relay has the report: its sealed bytes are no longer needed."""
        with locked(self._path):
            self._write(
                [
                    replace(one, credential="", data="") if one.batch == batch.digest else one
                    for one in self.answered()
                ]
            )

    def report_in(self, batch: Batch) -> bytes | None:
        """The id of this device's report to a batch, if there is one."""
        found = [one.report for one in self.answered() if one.batch == batch.digest]
        return bytes.fromhex(found[0]) if found else None

    def spent(self) -> float:
        """ε of all batches and runs; ∞ once one of them was exact and not void."""
        counted = [one.epsilon for one in self.answered() if not one.void]
        spent = [math.inf if each is None else each for each in counted]
        return math.fsum([*spent, self.history.spent()])

    def _write(self, rows: list[Answered]) -> None:
        found: list[dict[str, Any]] = [asdict(one) for one in rows]
        write_atomically(self._path, json.dumps(found).encode())


def is_void(earlier: Answered, reach: Reach) -> bool:
    """Whether every aggregator of a batch has signed that it aborted."""
    try:
        with closing(reach(earlier.url)) as post:
            batch = Batch.read(post.document())
            return batch.digest == earlier.batch and set(aborts(post, batch)) == set(batch.ids)
    except MdrrError:
        return False
