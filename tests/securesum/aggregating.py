"""Aggregators of one batch of eight people, their reports, and how a run of them ends."""

from functools import cache

import numpy as np
import numpy.typing as npt

from mdrr.securesum.aggregator import Aggregator
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message, write
from mdrr.securesum.opening import total
from mdrr.securesum.person import make_report
from mdrr.securesum.roster import Batch
from mdrr.source import SeededSource
from tests.securesum.group import QUESTION, Group, organiser

GROUP = Group(8, minimum=4)
BATCH = GROUP.batch


def truth_without(group: Group, gone: set[str]) -> npt.NDArray[np.int64]:
    stay = [k for k, one in enumerate(group.identities) if one.id not in gone]
    return QUESTION.sums([column[stay] for column in group.codes])


def aggregator(position: int = 0, ledger: SqliteLedger | None = None, **more: int) -> Aggregator:
    return Aggregator(
        GROUP.aggregators[position],
        BATCH,
        [one.id for one in GROUP.identities],
        ledger or SqliteLedger(":memory:"),
        **more,
    )


BATCHES = {BATCH.digest: BATCH}


@cache
def reports(k: int, batch: str, seed: int) -> list[Message]:
    """Sealing is never twice the same: a report is made once."""
    source = SeededSource(f"{k} {seed}")
    return make_report(GROUP.identities[k], BATCHES[batch], GROUP.vectors[k], source)


def report(k: int, position: int = 0, batch: Batch = BATCH, seed: int = 0) -> Message:
    BATCHES[batch.digest] = batch
    return reports(k, batch.digest, seed)[position]


def finish(machines: list[Aggregator]) -> tuple[npt.NDArray[np.int64], int]:
    close = write(organiser(), "close", BATCH.digest, {})
    lists = [said for machine in machines for said in machine.receive(close)]
    openings = [said for said in lists if said.kind == "opening"] + [
        said
        for machine in machines
        for heard in lists
        if heard.kind == "accepted"
        for said in machine.receive(heard)
    ]
    return total([said for said in openings if said.kind == "opening"], BATCH)
