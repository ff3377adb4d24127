"""What everybody agrees on before reports are made: the circuit, the aggregators, the tags.

Also what is derived from seeds, the same way by people and by aggregators (draft section 7.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mdrr.errors import ProtocolError
from mdrr.securesum.prio3 import flp, xof
from mdrr.securesum.prio3.field import Elements, Octets
from mdrr.securesum.prio3.flp import Circuit

VERSION = 18
"""The draft's number for what goes into the tags; since draft 18."""
NONCE = 16
"""Bytes of a nonce."""
VERIFY_KEY = xof.SEED
"""Bytes of the key that the aggregators share."""

_MEASUREMENT, _PROOF, _JOINT, PROVE, QUERY, _JOINT_SEED, _JOINT_PART = range(1, 8)
"""What randomness is for; part of its tag."""


class Sizes(NamedTuple):
    """Bytes of each kind of message."""

    rand: int
    public_share: int
    leader_share: int
    helper_share: int
    verifier_share: int
    verifier_message: int
    aggregate_share: int


@dataclass(frozen=True)
class Prio3:
    """A circuit, shared among some aggregators, with one or more proofs.

    Arguments:
        circuit: what a measurement must satisfy.
        shares: aggregators, from 2 to 255.
        proofs: independent proofs of the same, from 1 to 255; small fields need several.
    """

    circuit: Circuit
    shares: int = 2
    proofs: int = 1

    def __post_init__(self) -> None:
        if not (2 <= self.shares <= 255 and 1 <= self.proofs <= 255):
            raise ProtocolError(
                f"{self.shares} aggregators and {self.proofs} proofs: there must be 2 to 255 "
                "aggregators and 1 to 255 proofs"
            )

    @property
    def joint(self) -> bool:
        """Whether the circuit needs public randomness."""
        return self.circuit.joint_rands > 0

    @property
    def sizes(self) -> Sizes:
        """The lengths of all messages, in bytes."""
        circuit, number, joint = self.circuit, self.circuit.field.size, self.joint
        blind = xof.SEED if joint else 0
        proofs = self.proofs * flp.proof_length(circuit)
        return Sizes(
            rand=self.shares * (xof.SEED + blind),
            public_share=self.shares * blind,
            leader_share=(circuit.length + proofs) * number + blind,
            helper_share=xof.SEED + blind,
            verifier_share=self.proofs * flp.verifier_length(circuit) * number + blind,
            verifier_message=blind,
            aggregate_share=circuit.sums * number,
        )

    def tag(self, usage: int, ctx: bytes) -> bytes:
        """The domain separation tag of one use."""
        head = bytes([VERSION, 0]) + self.circuit.algorithm.to_bytes(4, "big")
        return head + usage.to_bytes(2, "big") + ctx

    def numbers(
        self, ctx: bytes, usage: int, seeds: Octets, binders: Sequence[bytes], each: int
    ) -> Elements:
        """Randomness of all proofs: (n, proofs, each, 2)."""
        bound = [bytes([self.proofs]) + binder for binder in binders]
        field, length = self.circuit.field, self.proofs * each
        numbers = xof.expand(field, seeds, self.tag(usage, ctx), bound, length)
        return numbers.reshape(len(numbers), self.proofs, each, 2)

    def vector_share(self, ctx: bytes, aggregator: int, seeds: Octets) -> Elements:
        """The share of the vector that a seed stands for: (n, length, 2)."""
        tag, bound = self.tag(_MEASUREMENT, ctx), [bytes([aggregator])] * len(seeds)
        return xof.expand(self.circuit.field, seeds, tag, bound, self.circuit.length)

    def proof_share(self, ctx: bytes, aggregator: int, seeds: Octets) -> Elements:
        """The share of all proofs that a seed stands for: (n, proofs·proof_length, 2)."""
        bound = [bytes([aggregator])] * len(seeds)
        each = flp.proof_length(self.circuit)
        shares = self.numbers(ctx, _PROOF, seeds, bound, each)
        return shares.reshape(len(seeds), self.proofs * each, 2)

    def part(
        self, ctx: bytes, aggregator: int, blinds: Octets, vectors: Elements, nonces: Octets
    ) -> Octets:
        """An aggregator's part of the joint randomness: a digest of its share of the vector."""
        packed = self.circuit.field.pack(vectors)
        bound = [
            bytes([aggregator]) + nonce.tobytes() + row.tobytes()
            for nonce, row in zip(nonces, packed, strict=True)
        ]
        return xof.derive(blinds, self.tag(_JOINT_PART, ctx), bound)

    def joint_seed(self, ctx: bytes, parts: Octets) -> Octets:
        """The seed of the joint randomness from all parts; nothing if there is none."""
        if not self.joint:
            return np.empty((len(parts), 0), np.uint8)
        zeros = np.zeros((len(parts), xof.SEED), np.uint8)
        return xof.derive(zeros, self.tag(_JOINT_SEED, ctx), [row.tobytes() for row in parts])

    def joint_rands(self, ctx: bytes, seeds: Octets) -> Elements:
        """The joint randomness of all proofs: (n, proofs, joint_rands, 2)."""
        if not self.joint:
            return np.empty((len(seeds), self.proofs, 0, 2), np.uint64)
        each = self.circuit.joint_rands
        return self.numbers(ctx, _JOINT, seeds, [b""] * len(seeds), each)
