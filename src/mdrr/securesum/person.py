"""A person's report: her tables split by Prio3, one sealed part for each aggregator.

    report   16 bytes of id (the nonce), then the public share, then the sealed parts in order
    part     sealed: the credential for that aggregator, then its input share

All reports of a batch have one length. A part opens for its aggregator only, in this batch, under
this id and beside this public share. She sends it once, with her credential for the relay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import CREDENTIAL, RELAY, credential
from mdrr.securesum.batch import Batch
from mdrr.securesum.keys import Identity, seal
from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.prio3.scheme import NONCE
from mdrr.securesum.wire import FORMAT
from mdrr.source import Source


@dataclass(frozen=True)
class SealedReport:
    """What leaves a device, once.

    Arguments:
        id: 16 random bytes, public.
        credential: shown to the relay.
        data: public share and sealed parts.
    """

    id: bytes
    credential: bytes
    data: bytes


@dataclass(frozen=True)
class OpenedPart:
    """One aggregator's part of a report."""

    credential: bytes
    public_share: bytes
    input_share: bytes


def part_context(batch: Batch, report: bytes, aggregator: str, public_share: bytes) -> bytes:
    """What a sealed part is bound to."""
    public = hashlib.sha256(public_share).hexdigest()
    return f"{FORMAT} part\n{batch.digest}\n{report.hex()}\n{aggregator}\n{public}".encode()


def make_reports(
    batch: Batch, tokens: Sequence[str], positions: npt.NDArray[np.int64], source: Source
) -> list[SealedReport]:
    """Reports of some people; a person on her own device makes one.

    Arguments:
        batch: as `Batch.read` returned it.
        tokens: their invitations.
        positions: where the ones stand, from `Question.positions`: int (n, pairs).
        source: where ids and shares come from.

    Returns:
        One report for each.

    Example:
        See `mdrr.securesum.rehearse`.
    """
    n, prio3 = len(tokens), batch.prio3
    nonces = _drawn(source, n, NONCE)
    rand = _drawn(source, n, prio3.sizes.rand)
    public, shares = vdaf.shard(prio3, batch.ctx, positions, nonces, rand)
    return [
        seal_report(
            batch, token, nonces[k].tobytes(), public[k].tobytes(), [s[k].tobytes() for s in shares]
        )
        for k, token in enumerate(tokens)
    ]


def seal_report(
    batch: Batch, token: str, report: bytes, public_share: bytes, input_shares: Sequence[bytes]
) -> SealedReport:
    """Seal the shares of one report, each with the credential that its reader checks."""
    parts = [
        seal(
            credential(token, one.id) + share,
            one.sealing,
            part_context(batch, report, one.id, public_share),
        )
        for one, share in zip(batch.aggregators, input_shares, strict=True)
    ]
    return SealedReport(report, credential(token, RELAY), b"".join([public_share, *parts]))


def open_part(batch: Batch, aggregator: Identity, report: bytes, data: bytes) -> OpenedPart:
    """Open a part as the relay hands it out: the public share, then what is sealed.

    Arguments:
        batch: the batch.
        aggregator: with its keys of this batch.
        report: id of the report.
        data: public share and sealed part.
    """
    size = batch.prio3.sizes.public_share
    if len(data) != size + batch.part_bytes[batch.ids.index(aggregator.id)]:
        raise ProtocolError("a part of the wrong length")
    public_share = data[:size]
    context = part_context(batch, report, aggregator.id, public_share)
    content = aggregator.unseal(data[size:], context)
    return OpenedPart(content[:CREDENTIAL], public_share, content[CREDENTIAL:])


def _drawn(source: Source, n: int, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(source.read(n * size), np.uint8).reshape(n, size)
