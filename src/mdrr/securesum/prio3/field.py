"""The prime fields of the draft (section 6.1), and the bytes in which their numbers travel.

A prime p with p − 1 divisible by a large power of two has roots of unity of every such order, so
polynomials are multiplied by the number-theoretic transform. Field64 is the draft's; tests make its
Field128 of the same class, and tiny ones in which all randomness can be tried out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.prio3 import modular

Elements: TypeAlias = npt.NDArray[np.uint64]
"""Numbers of a field: uint64 (…, 2), the low word first, each below the prime."""
Octets: TypeAlias = npt.NDArray[np.uint8]
"""Encoded messages of a batch: uint8 (reports, size)."""


@dataclass(frozen=True)
class Field:
    """A prime field with roots of unity.

    Arguments:
        modulus: p, an odd prime below 2^128.
        generator: a number whose powers are all `order`-th roots of unity.
        order: a power of two that divides p − 1.
        size: the bytes of an encoded number, little-endian.

    Example:
        >>> tiny = Field(97, generator=28, order=32, size=1)
        >>> tiny.ints(tiny.multiply(tiny.elements([50]), tiny.elements([2, 3])))
        [3, 53]
    """

    modulus: int
    generator: int
    order: int
    size: int

    def __post_init__(self) -> None:
        p, g, n = self.modulus, self.generator, self.order
        if not (2 < p < 256**self.size and p % 2 and self.size <= 16):
            raise ProtocolError(f"a field of {p} numbers in {self.size} bytes is not offered")
        if n & (n - 1) or pow(g, n // 2, p) != p - 1:
            raise ProtocolError(f"{g} is not of order {n} modulo {p}")

    @cached_property
    def rule(self) -> npt.NDArray[np.uint64]:
        """What `modular` needs: p in two words, −1/p mod 2^64, R² mod p in two words."""
        p, square = self.modulus, 2**256 % self.modulus
        words = (p, p >> 64, pow(-p, -1, 2**64), square, square >> 64)
        return np.array([word % 2**64 for word in words], np.uint64)

    def elements(self, numbers: Iterable[int]) -> Elements:
        """Python integers as numbers of the field: uint64 (k, 2)."""
        reduced = [number % self.modulus for number in numbers]
        return np.array([[x % 2**64, x >> 64] for x in reduced], np.uint64).reshape(-1, 2)

    def ints(self, elements: Elements) -> list[int]:
        """Numbers of the field as Python integers, all axes in one list."""
        return [int(low) | int(high) << 64 for low, high in elements.reshape(-1, 2)]

    def bits(self, ones: npt.NDArray[np.bool_]) -> Elements:
        """0 or 1 of the field for each truth value."""
        out = np.zeros((*ones.shape, 2), np.uint64)
        out[..., 0] = ones
        return out

    def add(self, a: Elements, b: Elements) -> Elements:
        """a + b, broadcast."""
        return modular.each(modular.PLUS, a, b, self.rule)

    def subtract(self, a: Elements, b: Elements) -> Elements:
        """a − b, broadcast."""
        return modular.each(modular.MINUS, a, b, self.rule)

    def multiply(self, a: Elements, b: Elements) -> Elements:
        """a·b, broadcast."""
        return modular.each(modular.TIMES, a, b, self.rule)

    def dot(self, a: Elements, b: Elements) -> Elements:
        """Σ_k a_k·b_k over the last axis of numbers, broadcast."""
        return modular.dot(a, b, self.rule)

    def total(self, a: Elements) -> Elements:
        """Σ_k a_k over the last axis of numbers."""
        return modular.total(a, self.rule)

    def roots(self, order: int) -> list[int]:
        """The powers of the root of unity of that order, from 1 on."""
        if order > self.order:
            raise ProtocolError(f"the field of {self.modulus} numbers has no root of order {order}")
        root = pow(self.generator, self.order // order, self.modulus)
        return [pow(root, k, self.modulus) for k in range(order)]

    def is_reduced(self, elements: Elements) -> npt.NDArray[np.bool_]:
        """Which numbers are below p."""
        low, high = elements[..., 0], elements[..., 1]
        return np.asarray((high < self.rule[1]) | ((high == self.rule[1]) & (low < self.rule[0])))

    def pack(self, elements: Elements) -> Octets:
        """Numbers (n, k, 2) as bytes (n, k·size)."""
        octets = elements.astype("<u8", order="C").view(np.uint8)
        return octets[..., : self.size].reshape(len(elements), elements.shape[1] * self.size)

    def unpack(self, octets: Octets) -> Elements:
        """Bytes (n, k·size) as two words each, reduced or not: see `is_reduced`."""
        rows = octets.reshape(len(octets), octets.shape[1] // self.size, self.size)
        wide = np.zeros((*rows.shape[:2], 16), np.uint8)
        wide[..., : self.size] = rows
        return wide.view("<u8").astype(np.uint64)


FIELD64 = Field(2**64 - 2**32 + 1, pow(7, 2**32 - 1, 2**64 - 2**32 + 1), 2**32, 8)
"""The draft's Field64."""
