"""A person's report to two or three aggregators: one share each, together her vector.

The paper's section 4.2 with the n parties' shares replaced by k aggregators' (as in Prio): she
draws k−1 seeds, expands each to a mask on Z_2^bits, and subtracts the masks from her one-hot
vector. The first aggregator gets the remainder, the others a 32-byte seed. Any k−1 of the shares
are uniform whatever she answered.

    report   {"signing": …, "parts": [digest of each sealed share], "sealed": …, "proof": null}

one message per aggregator, signed. All of them list the digests of all sealed shares, so that
aggregators agree on whole reports and never mix shares of two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.securesum.keys import KEY_BYTES, SEALED_EXTRA, Identity, name_of, seal
from mdrr.securesum.message import Message, write
from mdrr.securesum.roster import Batch
from mdrr.securesum.wire import FORMAT, Fields, digest, encode64
from mdrr.source import Source

Expander = Callable[[bytes, bytes, int, int], ring.Vector]


def share_context(batch: Batch, person: str, aggregator: str) -> bytes:
    """What a sealed share and the mask of a seed are bound to."""
    return f"{FORMAT} report\n{batch.digest}\n{person}\n{aggregator}".encode()


def split(
    vector: npt.NDArray[np.uint8],
    batch: Batch,
    person: str,
    source: Source,
    expand: Expander = ring.expand,
) -> tuple[bytes, ...]:
    """One share per aggregator: a packed vector for the first, seeds for the others.

    Arguments:
        vector: unsigned (cells,), one-hot per pair.
        batch: the aggregators and the ring.
        person: her id.
        source: where the seeds come from.
        expand: how a seed becomes a mask; a seam for tests that plant a bug.

    Returns:
        The shares in the clear, in the order of the aggregators.
    """
    cells = batch.terms.question.cells
    if vector.shape != (cells,):
        raise ProtocolError(f"a vector of {vector.shape} where the batch has {cells} cells")
    rest = vector.astype(ring.ring_type(batch.bits))
    seeds = tuple(source.read(ring.SEED_BYTES) for _ in batch.aggregators[1:])
    for seed, name in zip(seeds, batch.ids[1:], strict=True):
        rest = rest - expand(seed, share_context(batch, person, name), batch.bits, cells)
    return (rest.tobytes(), *seeds)


def make_report(
    identity: Identity,
    batch: Batch,
    vector: npt.NDArray[np.uint8],
    source: Source,
    expand: Expander = ring.expand,
) -> list[Message]:
    """A person's whole report: one sealed, signed message per aggregator.

    Arguments:
        identity: her keys, enrolled for the batch.
        batch: as `Batch.read` returned it.
        vector: from `Question.encode`.
        source: where her masks come from.
        expand: see `split`.

    Returns:
        The messages, in the order of the aggregators.

    Example:
        See `mdrr.securesum.simulate_batch.run_aggregators`.
    """
    shares = split(vector, batch, identity.id, source, expand)
    sealed = [
        seal(share, one.sealing, share_context(batch, identity.id, one.id))
        for share, one in zip(shares, batch.aggregators, strict=True)
    ]
    parts = [hashlib.sha256(envelope).hexdigest() for envelope in sealed]
    signing = encode64(identity.public.signing)
    return [
        write(
            identity,
            "report",
            batch.digest,
            {"signing": signing, "parts": parts, "sealed": encode64(envelope), "proof": None},
            to=name,
        )
        for envelope, name in zip(sealed, batch.ids, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Part:
    """One aggregator's part of a report, signature and form checked.

    Arguments:
        person: id of the sender.
        report: digest that names the whole report, the same for every aggregator.
        sealed: the envelope for this aggregator.
    """

    person: str
    report: str
    sealed: bytes


def read_part(message: Message, batch: Batch, aggregator: str) -> Part:
    """The part for one aggregator, or an error that says why it does not count."""
    if message.kind != "report" or message.run != batch.digest:
        raise ProtocolError("a report for another batch (replayed, or sent to the wrong place)")
    if message.to != aggregator:
        raise ProtocolError("a report for another aggregator")
    position = batch.ids.index(aggregator)
    read = Fields(message.body, "a report")
    signing, parts = read.data("signing", KEY_BYTES), read.hashes("parts", 3)
    sealed = read.data("sealed", share_bytes(batch, position) + SEALED_EXTRA)
    read.nothing("proof")
    read.finish()
    if name_of(signing) != message.sender or not message.signed_by(signing):
        raise ProtocolError("a report whose signature is not its sender's")
    if len(parts) != len(batch.ids) or parts[position] != hashlib.sha256(sealed).hexdigest():
        raise ProtocolError("a report whose list of shares does not name the share it brings")
    return Part(message.sender, digest([message.sender, *parts]), sealed)


def share_bytes(batch: Batch, position: int) -> int:
    """The length of the share of the aggregator at that position."""
    if position:
        return ring.SEED_BYTES
    return batch.terms.question.cells * batch.bits // 8


def open_share(
    part: Part, batch: Batch, aggregator: Identity, expand: Expander = ring.expand
) -> ring.Vector:
    """This aggregator's share of a report as a vector: unsigned (cells,)."""
    context = share_context(batch, part.person, aggregator.id)
    share = aggregator.unseal(part.sealed, context)
    position = batch.ids.index(aggregator.id)
    if len(share) != share_bytes(batch, position):
        raise ProtocolError("a share of the wrong length")
    if position:
        return expand(share, context, batch.bits, batch.terms.question.cells)
    return np.frombuffer(share, ring.ring_type(batch.bits))
