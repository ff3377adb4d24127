"""Cyclic difference sets: blocks whose shifts meet every pair of cells equally often.

A (v, k, λ) difference set is a set B of k residues mod v such that every non-zero difference occurs
λ times. Its v shifts are subsets of size k in which every cell lies k times and every pair of cells
λ times: the balance that makes subset selection as accurate as with all subsets of the size, while
a report is one number below v (Park, Nam and Lee 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import product

Block = tuple[int, ...]

_MOST_CODES = 4096


@dataclass(frozen=True)
class Shape:
    """The numbers of a difference set that can be built here; `field` is 0 for residues."""

    codes: int
    size: int
    pairs: int
    field: int = 0
    dimension: int = 0

    def chances(self, epsilon: float) -> tuple[float, float]:
        """P(x ∈ S) of the reported set S, for the truth and for any other cell."""
        odds = math.exp(epsilon)
        beta = 1 / (self.size * odds + self.codes - self.size)
        return self.size * odds * beta, (self.pairs * odds + self.size - self.pairs) * beta

    def rare_variance(self, epsilon: float) -> float:
        """The variance per report of the estimated share of a rare cell: p₀(1−p₀)/(p₁−p₀)².

        >>> Shape(100, 1, 0).rare_variance(1.0) > Shape(121, 40, 13, 3, 5).rare_variance(1.0)
        True
        """
        own, other = self.chances(epsilon)
        return other * (1 - other) / (own - other) ** 2

    def block(self) -> Block:
        """The difference set itself."""
        if self.field == 0:
            return quadratic_residues(self.codes)
        return hyperplane(self.field, self.dimension)


@cache
def shapes() -> tuple[Shape, ...]:
    """What can be built with v up to 4096, by v.

    Quadratic residues mod a prime v ≡ 3 (mod 4) hold half the cells; Singer's hyperplanes over a
    prime field of q elements hold about one in q.

    >>> [(s.codes, s.size, s.pairs) for s in shapes()[:4]]
    [(7, 3, 1), (7, 3, 1), (11, 5, 2), (13, 4, 1)]
    """
    found = [Shape(v, (v - 1) // 2, (v - 3) // 4) for v in _primes(_MOST_CODES) if v % 4 == 3 < v]
    for q in _primes(64):
        size = 3
        while (v := (q**size - 1) // (q - 1)) <= _MOST_CODES:
            k, pairs = (q ** (size - 1) - 1) // (q - 1), (q ** (size - 2) - 1) // (q - 1)
            found.append(Shape(v, k, pairs, q, size))
            size += 1
    return tuple(sorted(found, key=lambda shape: (shape.codes, shape.size, shape.field)))


def quadratic_residues(v: int) -> Block:
    """The non-zero squares mod a prime v ≡ 3 (mod 4): a (v, (v−1)/2, (v−3)/4) difference set.

    >>> quadratic_residues(11)
    (1, 3, 4, 5, 9)
    """
    return tuple(sorted({x * x % v for x in range(1, v)}))


@cache
def hyperplane(q: int, size: int) -> Block:
    """Singer's difference set: the points of a hyperplane, as powers of a primitive element.

    The v = (q^size − 1)/(q − 1) points of a projective space over the field of a prime q are the
    powers of an element α of the field of q^size; those without a constant term are a hyperplane.

    >>> hyperplane(2, 3), len(hyperplane(3, 3))
    ((1, 2, 6), 4)
    """
    v = (q**size - 1) // (q - 1)
    for tail in product(range(q), repeat=size):
        if tail[0] and (powers := _powers(tail, q, v)) is not None:
            return tuple(i for i, power in enumerate(powers) if power[0] == 0)
    raise AssertionError(f"there is no primitive polynomial of degree {size} over {q} elements")


def _powers(tail: tuple[int, ...], q: int, v: int) -> list[tuple[int, ...]] | None:
    """1, α, …, α^(v−1) for α^size = Σ tail_i α^i, or None when they meet a constant too early.

    If they do not, the polynomial is irreducible, and α^v is a constant: the norm of α.
    """
    power = (1, *(0 for _ in tail[1:]))
    powers = []
    for i in range(v):
        if i and not any(power[1:]):
            return None
        powers.append(power)
        top = power[-1]
        power = tuple((low + top * t) % q for low, t in zip((0, *power[:-1]), tail, strict=True))
    return powers


def _primes(limit: int) -> list[int]:
    return [n for n in range(2, limit + 1) if all(n % d for d in range(2, int(n**0.5) + 1))]
