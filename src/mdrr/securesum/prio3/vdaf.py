"""Prio3 (draft-irtf-cfrg-vdaf-20, section 7.2): sums of hidden measurements that are proved valid.

    person       shard                        → public share, one input share per aggregator
    aggregator   verify_init                  → what it remembers, its verifier share
    any of them  verifier_shares_to_message   → verifier message
    aggregator   verify_next                  → output share
    aggregator   aggregate                    → aggregate share, over all reports that count
    collector    unshard                      → the result

All functions take a batch of reports. Messages of one kind have one length (`Prio3.sizes`) and are
rows of bytes, written as in the draft's test vectors. A report that does not count is no error: the
functions say for every report whether it is refused, and why (`REASONS`). Errors are for whole
batches that are not of the right form. Batches of a few hundred reports are fastest.

The nonce of a report must be new, the verify key secret from all who send reports, and `ctx` the
same for everybody and bound to what is asked: the circuit's parameters are in no message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.prio3 import flp, xof
from mdrr.securesum.prio3.field import Elements, Octets
from mdrr.securesum.prio3.scheme import NONCE, PROVE, QUERY, VERIFY_KEY, Prio3

Refusals: TypeAlias = npt.NDArray[np.uint8]
"""For every report 0, or one of `REASONS`: uint8 (n,)."""
MALFORMED, INVALID, MISMATCH, UNUSABLE = 1, 2, 3, 4
REASONS = {
    MALFORMED: "a share holds a number outside the field",
    INVALID: "the proof does not hold",
    MISMATCH: "the joint randomness is not that of the shares",
    UNUSABLE: "the test point is a root of unity, by chance",
}


@dataclass(frozen=True, eq=False)
class VerifyState:
    """What an aggregator remembers between `verify_init` and `verify_next`.

    It can be computed again from the input shares, so it need not outlive a crash.

    Arguments:
        outputs: output shares (n, sums, 2).
        seeds: the joint randomness it used: uint8 (n, 32), or (n, 0) if there is none.
        refused: what is refused so far.
    """

    outputs: Elements
    seeds: Octets
    refused: Refusals


def rows(messages: Sequence[bytes], size: int) -> Octets:
    """Messages of one kind as a batch; one of another length is an error that names it.

    >>> rows([b"ab", b"cd"], 2)
    array([[ 97,  98],
           [ 99, 100]], dtype=uint8)
    """
    for i, message in enumerate(messages):
        if len(message) != size:
            raise ProtocolError(f"message {i} has {len(message)} bytes where {size} are expected")
    return np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), size)


def first_reason(*refused: Refusals) -> Refusals:
    """Why each report is refused, by the first who refused it.

    >>> first_reason(np.array([0, 0, 1], np.uint8), np.array([0, 2, 2], np.uint8))
    array([0, 2, 1], dtype=uint8)
    """
    out = refused[0].copy()
    for other in refused[1:]:
        out[out == 0] = other[out == 0]
    return out


def shard(
    prio3: Prio3, ctx: bytes, measurements: Any, nonces: Octets, rand: Octets
) -> tuple[Octets, list[Octets]]:
    """Split measurements into shares, with proofs that they are valid.

    Arguments:
        prio3: who sums what.
        ctx: the application, and what is asked.
        measurements: as the circuit's `encode` takes them.
        nonces: uint8 (n, 16), public and never used before.
        rand: uint8 (n, sizes.rand), secret.

    Returns:
        The public shares, uint8 (n, sizes.public_share), and one array of input shares for each
        aggregator: uint8 (n, sizes.leader_share) for the first, the others' are seeds.
    """
    circuit, field, sizes = prio3.circuit, prio3.circuit.field, prio3.sizes
    vectors = circuit.encode(measurements)
    n = len(vectors)
    _is_batch(nonces, n, NONCE, "nonces")
    _is_batch(rand, n, sizes.rand, "random bytes")
    *seeds, prover = rand.reshape(n, sizes.rand // xof.SEED, xof.SEED).swapaxes(0, 1)
    blinds = [seeds.pop(), *seeds[1::2]] if prio3.joint else []
    helpers = seeds[::2] if prio3.joint else seeds

    leader, parts = vectors, []
    for j, seed in enumerate(helpers, start=1):
        share = prio3.vector_share(ctx, j, seed)
        leader = field.subtract(leader, share)
        if prio3.joint:
            parts.append(prio3.part(ctx, j, blinds[j], share, nonces))
    if prio3.joint:
        parts.insert(0, prio3.part(ctx, 0, blinds[0], leader, nonces))
    public = np.concatenate([*parts, np.empty((n, 0), np.uint8)], axis=1)
    joint = prio3.joint_rands(ctx, prio3.joint_seed(ctx, public))
    own = prio3.numbers(ctx, PROVE, prover, [b""] * n, flp.prove_rands(circuit))
    proofs = np.concatenate(
        [flp.prove(circuit, vectors, own[:, k], joint[:, k]) for k in range(prio3.proofs)], axis=1
    )
    for j, seed in enumerate(helpers, start=1):
        proofs = field.subtract(proofs, prio3.proof_share(ctx, j, seed))
    first = [field.pack(leader), field.pack(proofs), *blinds[:1]]
    others = [[seed, *blinds[j : j + 1]] for j, seed in enumerate(helpers, start=1)]
    return public, [np.concatenate(share, axis=1) for share in (first, *others)]


def verify_init(
    prio3: Prio3,
    verify_key: bytes,
    ctx: bytes,
    aggregator: int,
    nonces: Octets,
    public_shares: Octets,
    input_shares: Octets,
) -> tuple[VerifyState, Octets]:
    """One aggregator's part of checking a batch.

    Arguments:
        prio3: who sums what.
        verify_key: 32 bytes that all aggregators know and no one who sends a report.
        ctx: as it was sharded with.
        aggregator: its position, from 0.
        nonces: uint8 (n, 16).
        public_shares: uint8 (n, sizes.public_share).
        input_shares: uint8 (n, sizes.leader_share or sizes.helper_share).

    Returns:
        What to remember, with what is refused already, and the verifier shares to send to the
        others: uint8 (n, sizes.verifier_share).
    """
    circuit, field, sizes, n = prio3.circuit, prio3.circuit.field, prio3.sizes, len(nonces)
    if not 0 <= aggregator < prio3.shares or len(verify_key) != VERIFY_KEY:
        raise ProtocolError(
            f"aggregator {aggregator} of {prio3.shares} with a key of {len(verify_key)} bytes: "
            f"count from 0, and use {VERIFY_KEY} bytes"
        )
    _is_batch(nonces, n, NONCE, "nonces")
    _is_batch(public_shares, n, sizes.public_share, "public shares")
    size = sizes.helper_share if aggregator else sizes.leader_share
    _is_batch(input_shares, n, size, "input shares")
    refused = np.zeros(n, np.uint8)
    if aggregator:
        seeds = input_shares[:, : xof.SEED]
        vectors = prio3.vector_share(ctx, aggregator, seeds)
        proofs = prio3.proof_share(ctx, aggregator, seeds)
    else:
        end = len(input_shares.T) - sizes.verifier_message
        numbers = field.unpack(np.ascontiguousarray(input_shares[:, :end]))
        refused[~field.is_reduced(numbers).all(axis=1)] = MALFORMED
        numbers[refused > 0] = 0
        vectors, proofs = numbers[:, : circuit.length], numbers[:, circuit.length :]
    parts = np.empty((n, 0), np.uint8)
    corrected = public_shares
    if prio3.joint:
        parts = prio3.part(ctx, aggregator, input_shares[:, -xof.SEED :], vectors, nonces)
        corrected = public_shares.copy()
        corrected[:, xof.SEED * aggregator : xof.SEED * (aggregator + 1)] = parts
    seed = prio3.joint_seed(ctx, corrected)
    joint = prio3.joint_rands(ctx, seed)
    keys = np.broadcast_to(np.frombuffer(verify_key, np.uint8), (n, VERIFY_KEY))
    bound = [nonce.tobytes() for nonce in nonces]
    rands = prio3.numbers(ctx, QUERY, keys, bound, flp.query_rands(circuit))
    proofs = proofs.reshape(n, prio3.proofs, flp.proof_length(circuit), 2)
    found = []
    for k in range(prio3.proofs):
        verifier, usable = flp.query(
            circuit, vectors, proofs[:, k], rands[:, k], joint[:, k], prio3.shares
        )
        refused[~usable & (refused == 0)] = UNUSABLE
        found.append(verifier)
    verifiers = field.pack(np.concatenate(found, axis=1))
    verifiers[refused > 0] = 0
    return (
        VerifyState(circuit.truncate(vectors), seed, refused),
        np.concatenate([verifiers, parts], axis=1),
    )


def verifier_shares_to_message(
    prio3: Prio3, ctx: bytes, verifier_shares: Sequence[Octets]
) -> tuple[Octets, Refusals]:
    """Decide about a batch from all aggregators' verifier shares.

    Arguments:
        prio3: who sums what.
        ctx: as it was sharded with.
        verifier_shares: one array for each aggregator, in their order.

    Returns:
        The verifier messages, uint8 (n, sizes.verifier_message), and what is refused.
    """
    field, sizes = prio3.circuit.field, prio3.sizes
    if len(verifier_shares) != prio3.shares:
        raise ProtocolError(f"{len(verifier_shares)} verifier shares of {prio3.shares} aggregators")
    n = len(verifier_shares[0])
    refused = np.zeros(n, np.uint8)
    end = sizes.verifier_share - sizes.verifier_message
    sums = np.zeros((n, end // field.size, 2), np.uint64)
    for share in verifier_shares:
        _is_batch(share, n, sizes.verifier_share, "verifier shares")
        numbers = field.unpack(np.ascontiguousarray(share[:, :end]))
        malformed = ~field.is_reduced(numbers).all(axis=1)
        refused[malformed] = MALFORMED
        numbers[malformed] = 0
        sums = field.add(sums, numbers)
    for verifier in np.split(sums, prio3.proofs, axis=1):
        refused[~flp.decide(prio3.circuit, verifier) & (refused == 0)] = INVALID
    parts = np.concatenate([share[:, end:] for share in verifier_shares], axis=1)
    return prio3.joint_seed(ctx, parts), refused


def verify_next(
    prio3: Prio3, state: VerifyState, verifier_messages: Octets
) -> tuple[Elements, Refusals]:
    """An aggregator's output shares, and what it refuses: what it did before, and mismatches.

    Arguments:
        prio3: who sums what.
        state: from `verify_init`.
        verifier_messages: uint8 (n, sizes.verifier_message).

    Returns:
        Output shares (n, sums, 2), those of refused reports zero, and what is refused.
    """
    n, size = len(state.refused), prio3.sizes.verifier_message
    _is_batch(verifier_messages, n, size, "verifier messages")
    refused = state.refused.copy()
    refused[(state.seeds != verifier_messages).any(axis=1) & (refused == 0)] = MISMATCH
    outputs = state.outputs.copy()
    outputs[refused > 0] = 0
    return outputs, refused


def aggregate(
    prio3: Prio3, outputs: Elements, counted: npt.NDArray[np.bool_], before: bytes | None = None
) -> bytes:
    """An aggregator's share of the sum over the reports that count, and of an earlier one.

    Arguments:
        prio3: who sums what.
        outputs: output shares (n, sums, 2) from `verify_next`.
        counted: bool (n,), the same for all aggregators: refused by none of them.
        before: an aggregate share to add to.

    Returns:
        The aggregate share.
    """
    field = prio3.circuit.field
    share = field.total(outputs[counted].swapaxes(0, 1))[None]
    if before is not None:
        share = field.add(share, _aggregate_shares(prio3, [before]))
    return field.pack(share).tobytes()


def unshard(prio3: Prio3, aggregate_shares: Sequence[bytes]) -> Any:
    """The result, from the aggregate shares of all aggregators over the same reports."""
    if len(aggregate_shares) != prio3.shares:
        raise ProtocolError(
            f"{len(aggregate_shares)} aggregate shares of {prio3.shares} aggregators"
        )
    field = prio3.circuit.field
    totals = field.total(_aggregate_shares(prio3, aggregate_shares).swapaxes(0, 1))
    return prio3.circuit.decode(field.ints(totals))


def _aggregate_shares(prio3: Prio3, shares: Sequence[bytes]) -> Elements:
    found = prio3.circuit.field.unpack(rows(shares, prio3.sizes.aggregate_share))
    if not prio3.circuit.field.is_reduced(found).all():
        raise ProtocolError("an aggregate share holds a number outside the field")
    return found


def _is_batch(octets: Octets, n: int, size: int, what: str) -> None:
    if octets.dtype != np.uint8 or octets.shape != (n, size):
        raise ProtocolError(
            f"{what} of {octets.dtype} {octets.shape} where uint8 {(n, size)} is expected"
        )
