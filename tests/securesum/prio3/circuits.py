"""The draft's circuits (section 7.4), by which our Prio3 is held to the draft's vectors.

Count, Histogram, SumVec and MultihotCountVec, and Field128. The package itself needs none of them.
In all of them an encoded measurement is a vector of zeros and ones. That is one check for all
entries: Σ r^j·x_j·(x_j − 1) = 0 in each chunk of the vector, r public and random. Histogram and
MultihotCountVec add a sum that must be right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.prio3.field import FIELD64, Elements, Field

_P128 = 2**66 * 4611686018427387897 + 1
FIELD128 = Field(_P128, pow(7, 4611686018427387897, _P128), 2**66, 16)
"""The draft's Field128."""


@dataclass(frozen=True)
class Count:
    """A yes (1) or no (0) of each person, by the product x·x − x alone."""

    field: Field = FIELD64
    algorithm: int = 1
    length: int = 1
    sums: int = 1
    joint_rands: int = 0
    outputs: int = 1
    calls: int = 1
    products: int = 1

    def encode(self, measurements: Any) -> Elements:
        """Zeros and ones (n,) as vectors."""
        return self.field.bits(_whole(measurements, 1)[:, None] == 1)

    def wires(self, vectors: Elements, _joint: Elements, _shares: int) -> Elements:
        """x and x."""
        return np.stack([vectors, vectors], axis=2)

    def check(
        self, vectors: Elements, _joint: Elements, gadget: Elements, _shares: int
    ) -> Elements:
        """x² − x."""
        return self.field.subtract(gadget, vectors)

    def truncate(self, vectors: Elements) -> Elements:
        """The vector itself."""
        return vectors

    def decode(self, totals: list[int]) -> int:
        """How many said yes."""
        return totals[0]


@dataclass(frozen=True)
class Bits:
    """Vectors of zeros and ones, with a sum that may be demanded of them.

    Arguments:
        field: where the numbers lie.
        algorithm: the draft's number.
        length: bits of a measurement.
        products: how many bits one call of the gadget checks.
        demanded: factors of the bits and what Σ factor·bit must be; no factors, no demand.
        worth: what each bit of an entry adds to its sum; an entry has `len(worth)` bits.
        sums: how many entries are summed, from the first on.
        read: measurements to bits (n, length).
    """

    field: Field
    algorithm: int
    length: int
    products: int
    demanded: tuple[tuple[int, ...], int]
    worth: tuple[int, ...]
    sums: int
    read: Callable[[Any], npt.NDArray[np.bool_]]

    def __post_init__(self) -> None:
        if self.length < 1 or self.products < 1:
            raise ProtocolError("a circuit has at least one bit and one product in a call")
        if max(sum(self.worth), self.length) >= self.field.modulus:
            raise ProtocolError("sums of this measurement do not fit into the field")

    @property
    def calls(self) -> int:
        """Chunks of the vector."""
        return -(-self.length // self.products)

    @property
    def joint_rands(self) -> int:
        """One r for each chunk."""
        return self.calls

    @property
    def outputs(self) -> int:
        """The check of the bits, and that of their sum."""
        return 2 if self.demanded[0] else 1

    def encode(self, measurements: Any) -> Elements:
        """Measurements as vectors (n, length, 2)."""
        return self.field.bits(self.read(measurements))

    def wires(self, vectors: Elements, joint: Elements, shares: int) -> Elements:
        """r^j·x_j and x_j − 1 for every bit of a chunk, j from 1."""
        n, field = len(vectors), self.field
        padded = np.zeros((n, self.calls * self.products, 2), np.uint64)
        padded[:, : self.length] = vectors
        chunks = padded.reshape(n, self.calls, self.products, 2)
        out = np.empty((n, self.calls, self.products, 2, 2), np.uint64)
        out[:, :, :, 1] = field.subtract(chunks, _inverse(field, shares))
        power = joint
        for j in range(self.products):
            out[:, :, j, 0] = field.multiply(power, chunks[:, :, j])
            power = field.multiply(power, joint)
        return out.reshape(n, self.calls, 2 * self.products, 2)

    def check(self, vectors: Elements, _joint: Elements, gadget: Elements, shares: int) -> Elements:
        """Σ r^j·x_j·(x_j − 1) over all chunks, and what the sum lacks."""
        in_range = self.field.total(gadget)[:, None]
        factors, wanted = self.demanded
        if not factors:
            return in_range
        constant = self.field.multiply(self.field.elements([wanted]), _inverse(self.field, shares))
        found = self.field.dot(vectors, self.field.elements(factors))
        return np.concatenate([in_range, self.field.subtract(found[:, None], constant)], axis=1)

    def truncate(self, vectors: Elements) -> Elements:
        """The entries: Σ worth·bit."""
        bits = vectors[:, : self.sums * len(self.worth)]
        entries = bits.reshape(len(vectors), self.sums, len(self.worth), 2)
        return self.field.dot(entries, self.field.elements(self.worth))

    def decode(self, totals: list[int]) -> list[int]:
        """The sum of each entry."""
        return totals


def histogram(length: int, chunk: int, field: Field = FIELD128) -> Bits:
    """One of `length` buckets for each person: a single one."""

    def read(measurements: Any) -> npt.NDArray[np.bool_]:
        return np.equal(_whole(measurements, length - 1)[:, None], np.arange(length))

    return Bits(field, 4, length, chunk, ((1,) * length, 1), (1,), length, read)


def sum_vec(length: int, top: int, chunk: int, field: Field = FIELD128, algorithm: int = 3) -> Bits:
    """`length` numbers from 0 to `top` for each person. With several proofs: 0xFFFFFFFF."""
    worth = _worth(top)

    def read(measurements: Any) -> npt.NDArray[np.bool_]:
        numbers = _whole(measurements, top)
        return _in_bits(numbers, worth).reshape(len(numbers), -1)

    return Bits(field, algorithm, length * len(worth), chunk, ((), 0), worth, length, read)


def multihot(length: int, most: int, chunk: int, field: Field = FIELD128) -> Bits:
    """`length` times yes or no for each person, at most `most` times yes.

    How often is part of the vector, in bits that cannot say more than `most`.
    """
    worth = _worth(most)
    demanded = (*(1,) * length, *(-one for one in worth))

    def read(measurements: Any) -> npt.NDArray[np.bool_]:
        marks = _whole(measurements, 1)
        often = _whole(marks.sum(axis=1), most)
        return np.concatenate([marks == 1, _in_bits(often, worth)], axis=1)

    return Bits(field, 5, length + len(worth), chunk, (demanded, 0), (1,), length, read)


def _inverse(field: Field, number: int) -> Elements:
    return field.elements([pow(number, -1, field.modulus)])


def _whole(measurements: Any, top: int) -> npt.NDArray[np.int64]:
    found = np.asarray(measurements).astype(np.int64)
    if found.size and not (found.min() >= 0 and found.max() <= top):
        raise ProtocolError(f"a measurement is not from 0 to {top}")
    return found


def _worth(top: int) -> tuple[int, ...]:
    """1, 2, 4, … and a last one with which all together are `top`."""
    if top < 1:
        raise ProtocolError(f"a largest value of {top} leaves nothing to count")
    powers = [2**k for k in range(top.bit_length() - 1)]
    return (*powers, top - sum(powers))


def _in_bits(numbers: npt.NDArray[np.int64], worth: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Numbers as bits of that worth, one more axis; the last bit is set only if it must be."""
    last = numbers > sum(worth[:-1])
    rest = numbers - last * worth[-1]
    low = (rest[..., None] >> np.arange(len(worth) - 1)) & 1
    return np.concatenate([low == 1, last[..., None]], axis=-1)
