"""What an aggregator makes of the reports of one job: first alone, then with the others' verdicts.

Functions of their arguments alone, so that a job gives the same again after a crash, and the same
decisions everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import hashed
from mdrr.securesum.batch import Batch
from mdrr.securesum.keys import Identity
from mdrr.securesum.opening import (
    DIGEST,
    MISSING,
    SEALED,
    STRANGER,
    USED,
    VERSIONS,
    Job,
    Verdict,
)
from mdrr.securesum.person import OpenedPart, open_part
from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.prio3.scheme import NONCE


@dataclass(frozen=True, eq=False)
class Work:
    """A job, and what this aggregator made of it.

    Arguments:
        job: the reports.
        verdict: what it says to the others.
        credentials: hash of the credential that each report spends here; None if it has none.
        public: public shares of those it does not refuse, uint8 (good, size).
        state: what it remembers of them.
    """

    job: Job
    verdict: Verdict
    credentials: tuple[bytes | None, ...]
    public: npt.NDArray[np.uint8]
    state: vdaf.VerifyState


def opened(
    batch: Batch, aggregator: Identity, job: Job, found: Mapping[bytes, bytes]
) -> list[OpenedPart | int]:
    """The aggregator's part of each report of a job, or the code of why there is none."""
    parts: list[OpenedPart | int] = []
    for one in job.ids:
        try:
            parts.append(open_part(batch, aggregator, one, found[one]))
        except KeyError:
            parts.append(MISSING)
        except ProtocolError:
            parts.append(SEALED)
    return parts


def verify(
    batch: Batch,
    position: int,
    verify_key: bytes,
    job: Job,
    parts: Sequence[OpenedPart | int],
    roll: Collection[bytes],
    spent: Collection[bytes],
) -> Work:
    """Check what one aggregator can check alone, and make its verifier shares of the rest.

    Arguments:
        batch: the batch.
        position: of the aggregator.
        verify_key: shared by the aggregators.
        job: the reports.
        parts: from `opened`.
        roll: hashes of the credentials that this aggregator takes.
        spent: those of them that came with earlier reports.
    """
    codes = np.zeros(len(job.ids), np.uint8)
    credentials: list[bytes | None] = [None] * len(job.ids)
    good: list[tuple[bytes, OpenedPart]] = []
    for k, (one, part) in enumerate(zip(job.ids, parts, strict=True)):
        if isinstance(part, int):
            codes[k] = part
        elif (mark := hashed(part.credential)) not in roll:
            codes[k] = STRANGER
        elif mark in spent or mark in credentials:
            codes[k] = USED
        else:
            credentials[k] = mark
            good.append((one, part))
    sizes = batch.prio3.sizes
    size = sizes.helper_share if position else sizes.leader_share
    public = vdaf.rows([part.public_share for _, part in good], sizes.public_share)
    state, verifiers = vdaf.verify_init(
        batch.prio3,
        verify_key,
        batch.ctx,
        position,
        vdaf.rows([one for one, _ in good], NONCE),
        public,
        vdaf.rows([part.input_share for _, part in good], size),
    )
    codes[codes == 0] = state.refused
    fine = state.refused == 0
    marks = [hashlib.sha256(row.tobytes()).digest() for row in public[fine]]
    verdict = Verdict(codes, verifiers[fine], vdaf.rows(marks, DIGEST))
    return Work(job, verdict, tuple(credentials), public[fine], _some(state, fine))


def decide(
    batch: Batch, work: Work, verdicts: Sequence[Verdict], before: bytes | None
) -> tuple[npt.NDArray[np.uint8], bytes]:
    """Decide about every report of a job from all verdicts, as all aggregators do.

    Arguments:
        batch: the batch.
        work: this aggregator's own.
        verdicts: of all aggregators, in their order.
        before: its aggregate share so far.

    Returns:
        For every report 0 or why it is refused, uint8 (n,), and the new aggregate share.
    """
    prio3 = batch.prio3
    codes = vdaf.first_reason(*(verdict.codes for verdict in verdicts))
    # A person can seal each part beside another public share, if the relay hands out all of them.
    # Then only some would find the randomness wrong, and honest aggregators would disagree.
    first, *others = (verdict.public[codes[verdict.codes == 0] == 0] for verdict in verdicts)
    alike = np.logical_and.reduce([(first == one).all(axis=1) for one in others])
    codes[codes == 0] = np.where(alike, 0, VERSIONS)
    shares = [verdict.shares[codes[verdict.codes == 0] == 0] for verdict in verdicts]
    mine = codes[work.verdict.codes == 0] == 0
    message, refused = vdaf.verifier_shares_to_message(prio3, batch.ctx, shares)
    # The parts of the joint randomness that a report promised must be those it used. All see both,
    # so all refuse alike; alone, only those would notice whose own part is right.
    end = prio3.sizes.verifier_share - prio3.sizes.verifier_message
    parts = np.concatenate([share[:, end:] for share in shares], axis=1)
    refused[(parts != work.public[mine]).any(axis=1) & (refused == 0)] = vdaf.MISMATCH
    outputs, late = vdaf.verify_next(prio3, _some(work.state, mine), message)
    refused = vdaf.first_reason(refused, late)
    codes[codes == 0] = refused
    return codes, vdaf.aggregate(prio3, outputs, refused == 0, before)


def _some(state: vdaf.VerifyState, chosen: npt.NDArray[np.bool_]) -> vdaf.VerifyState:
    return vdaf.VerifyState(state.outputs[chosen], state.seeds[chosen], state.refused[chosen])
