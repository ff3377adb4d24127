"""A batch on a relay's database in this process: people, cheats, aggregators, restarts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from mdrr.securesum.aggregator import Aggregator, offer
from mdrr.securesum.batch import Batch, make_batch
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.opening import Outcome, read_outcome
from mdrr.securesum.person import SealedReport, make_reports, seal_report
from mdrr.securesum.post import Post
from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.prio3.field import Elements
from mdrr.securesum.prio3.pairs import PairTables
from mdrr.securesum.prio3.scheme import NONCE, Prio3
from mdrr.securesum.question import Question
from mdrr.securesum.transport.postbox import Postbox
from mdrr.server.schema import runs, sealed_reports, writing
from mdrr.source import SeededSource
from tests.securesum.group import QUESTION, codes, organiser

CLOSES = 2_000_000_000
OPERATORS = ("Office A", "Office B", "Office C")


def token(k: int, seed: int = 0) -> str:
    """An invitation, always the same."""
    return f"{seed}-{k}-".ljust(43, "x")


class Scene:
    """Some people are invited, some of them report; time stands still unless it is moved.

    Arguments:
        folder: for databases and ledgers.
        invited: how many have an invitation.
        minimum: of the batch; its own default if None.
        aggregators: two or three.
        question: what is asked.
        seed: another one makes another batch of other people.
    """

    def __init__(
        self,
        folder: Path,
        invited: int = 12,
        *,
        minimum: int | None = None,
        aggregators: int = 2,
        question: Question = QUESTION,
        seed: int = 0,
        url: str | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.question, self.now = folder, question, CLOSES - 1000.0
        self.source = SeededSource(f"scene {seed}")
        self.identities = [
            Identity.generate(SeededSource(name), name) for name in OPERATORS[:aggregators]
        ]
        self.ledgers = [Ledger(folder / f"agg{k}.sqlite") for k in range(aggregators)]
        self.offers = [
            offer(*pair, self.source) for pair in zip(self.identities, self.ledgers, strict=True)
        ]
        self.tokens = [token(k, seed) for k in range(invited)]
        self.codes = codes(invited, seed, question.domain)
        self.batch, self.rolls = make_batch(
            organiser(), question, self.offers, self.tokens, self.source,
            closes=CLOSES, minimum=minimum, purpose="test",
        )  # fmt: skip
        self.box = Postbox(url or f"sqlite:///{folder / 'relay.db'}", clock=lambda: self.now)
        self.box.open(self.rolls)
        self.post: Post = self.box.at(self.batch.digest)
        self.machines = [self.aggregator(k) for k in range(aggregators)]

    def aggregator(self, k: int, post: Post | None = None) -> Aggregator:
        """Aggregator k, new or started again."""
        return Aggregator(
            self.identities[k], self.batch, self.ledgers[k], post or self.post, self.source,
            clock=lambda: self.now,
        )  # fmt: skip

    def reports(self, people: Sequence[int]) -> list[SealedReport]:
        """What honest people send."""
        chosen = [column[list(people)] for column in self.codes]
        places = self.question.positions(chosen, self.source)
        return make_reports(self.batch, [self.tokens[k] for k in people], places, self.source)

    def report(self, *people: int) -> list[SealedReport]:
        """Honest people report."""
        made = self.reports(people)
        for one in made:
            self.post.upload(one)
        return made

    def truth(self, *people: int) -> npt.NDArray[np.int64]:
        return self.question.sums([column[list(people)] for column in self.codes])

    def drive(self) -> None:
        """Let the aggregators work until all wait."""
        while sum([machine.advance() for machine in self.machines]):
            pass

    def finish(self) -> Outcome:
        """Let time pass beyond the closing, and everybody finish."""
        self.drive()
        self.now = CLOSES + 10.0
        self.drive()
        outcome = read_outcome(self.post, self.batch)
        assert outcome is not None
        return outcome

    def ends(self) -> list[str]:
        """Result or abort of each aggregator."""
        return [str(machine.ended and machine.ended.kind) for machine in self.machines]

    def why(self) -> list[str]:
        """Step and reason of each aggregator's abort."""
        said = [machine.ended.body if machine.ended else {} for machine in self.machines]
        return [f"{one.get('step')}: {one.get('reason')}" for one in said]


@dataclass(frozen=True)
class Unchecked(PairTables):
    """What a cheat shares: any vector of the right length, with the best proof there is."""

    def encode(self, measurements: Any) -> Elements:
        return self.field.elements([int(v) for v in measurements]).reshape(1, -1, 2)


def shares_of(
    batch: Batch, vector: Sequence[int], seed: str = "cheat"
) -> tuple[bytes, bytes, list[bytes]]:
    """Id, public share and input shares of a report of any vector."""
    source, honest = SeededSource(seed), batch.prio3.circuit
    assert isinstance(honest, PairTables)
    modulus = honest.field.modulus
    prio3 = Prio3(Unchecked(honest.shape, honest.groups), len(batch.ids), batch.prio3.proofs)
    nonce = np.frombuffer(source.read(NONCE), np.uint8)[None]
    rand = np.frombuffer(source.read(prio3.sizes.rand), np.uint8)[None]
    public, shares = vdaf.shard(prio3, batch.ctx, [v % modulus for v in vector], nonce, rand)
    return nonce.tobytes(), public.tobytes(), [share.tobytes() for share in shares]


def forged(
    batch: Batch, invitation: str, vector: Sequence[int], seed: str = "cheat"
) -> SealedReport:
    """A report of any vector, sealed as it should be."""
    return seal_report(batch, invitation, *shares_of(batch, vector, seed))


def spoilt(report: SealedReport, at: int) -> SealedReport:
    """A report with one bit changed."""
    data = bytearray(report.data)
    data[at] ^= 1
    return replace(report, data=bytes(data))


def slip_in(scene: Scene, report: SealedReport) -> None:
    """The relay itself puts a report among the others; it is not trusted."""
    with writing(scene.box.engine) as db:
        count, _ = scene.box.at(scene.batch.digest)._lock(db)
        row = {"run": scene.batch.digest, "number": count + 1}
        fields = {**row, "id": report.id, "data": report.data}
        db.execute(sa.insert(sealed_reports).values(fields))
        db.execute(sa.update(runs).values(reports=count + 1))
