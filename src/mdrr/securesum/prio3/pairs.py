"""Our circuit: a vector is the pair tables of one record, and of nothing else.

A group of attributes has a table for each of its pairs; B_ij is a person's table of the pair i, j.
Let u_i be the margin of attribute i in one of the tables, s_i random public numbers for its
categories, and

    L = Σ_i s_i·u_i        Q = Σ_i Σ_a s_ia²·u_ia + 2·Σ_{i<j} s_iᵀ B_ij s_j.

L² − Q is a polynomial of degree 2 in s. It is zero for all s if and only if u_ia² = u_ia,
u_ia·u_ib = 0 and B_ij = u_i u_jᵀ: every margin is one-hot or zero, and all tables agree with it.
None is zero if the entries of all margins add up to the number of attributes. So a group has two
outputs, L² − Q and what that sum lacks, and takes a single multiplication however many its cells.

**Soundness.** A vector that is not valid passes one proof with probability at most

    2/p + 2(P − 1)/p.

First, L² − Q is zero by chance of s (degree 2). Otherwise some output is not zero: an honest
polynomial of the gadget passes if the outputs, added up with random factors, vanish (1/p), a false
one if it is right at the test point (degree 2(P − 1), at least 2). P is the smallest power of two
above the number of groups: 2 for exact tables, which gives 4/p.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.prio3 import flp
from mdrr.securesum.prio3.field import FIELD64, Elements, Field
from mdrr.securesum.prio3.scheme import Prio3
from mdrr.securesum.question import Question

PROOFS = 3
"""Proofs in Field64: with three, 2^64 tries leave a cheat a chance below 2^-120."""


@dataclass(frozen=True)
class PairTables:
    """The tables of all pairs within each group of attributes.

    Arguments:
        shape: categories of each attribute.
        groups: which attributes belong to one record; pairs within a group are in order.
        field: where the numbers lie.

    Example:
        >>> one_record = PairTables((2, 3, 2), ((0, 1, 2),))
        >>> one_record.length, one_record.joint_rands, one_record.outputs
        (16, 7, 2)
    """

    shape: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    field: Field = FIELD64
    algorithm: int = 0xFFFF4D44
    products: int = 1

    def __post_init__(self) -> None:
        for group in self.groups:
            known = set(group) <= set(range(len(self.shape)))
            if len(group) < 2 or len(set(group)) < len(group) or not known:
                raise ProtocolError(f"{group} are not two or more of {len(self.shape)} attributes")
            if len(group) >= self.field.modulus:
                raise ProtocolError(f"{len(group)} attributes are too many for this field")
        if not self.groups or min(self.shape) < 1:
            raise ProtocolError("a vector of no tables, or of an attribute without categories")

    @cached_property
    def blocks(self) -> tuple[tuple[int, int, int], ...]:
        """Every table: first attribute, second attribute, where it starts in the vector."""
        pairs = [pair for group in self.groups for pair in combinations(group, 2)]
        starts = np.cumsum([0, *(self.shape[i] * self.shape[j] for i, j in pairs)])
        return tuple((i, j, int(start)) for (i, j), start in zip(pairs, starts, strict=False))

    @property
    def length(self) -> int:
        """Cells of all tables."""
        i, j, start = self.blocks[-1]
        return start + self.shape[i] * self.shape[j]

    @property
    def sums(self) -> int:
        """Cells of all tables: all are summed."""
        return self.length

    @property
    def joint_rands(self) -> int:
        """One number per category of each attribute."""
        return sum(self.shape)

    @property
    def calls(self) -> int:
        """One multiplication per group."""
        return len(self.groups)

    @property
    def outputs(self) -> int:
        """Two per group."""
        return 2 * len(self.groups)

    def encode(self, measurements: Any) -> Elements:
        """Where the ones stand, int (n, tables), as vectors (n, cells, 2); see `Question`."""
        at = np.asarray(measurements)
        starts = [start for _, _, start in self.blocks]
        ends = [*starts[1:], self.length]
        if at.ndim != 2 or at.shape[1] != len(starts) or ((at < starts) | (at >= ends)).any():
            raise ProtocolError(f"positions must be int (n, {len(starts)}), one in each table")
        ones = np.zeros((len(at), self.length), np.bool_)
        np.put_along_axis(ones, at, True, axis=1)
        return self.field.bits(ones)

    def wires(self, vectors: Elements, joint: Elements, _shares: int) -> Elements:
        """L of each group, twice: its square is wanted."""
        forms = []
        for blocks in self._by_group(vectors):
            terms = [self.field.dot(u, self._of(joint, i)) for i, u in self._margins(blocks)]
            forms.append(self.field.total(np.stack(terms, axis=1)))
        linear = np.stack(forms, axis=1)
        return np.stack([linear, linear], axis=2)

    def check(self, vectors: Elements, joint: Elements, gadget: Elements, shares: int) -> Elements:
        """L² − Q, and Σ margins − attributes, of each group."""
        field = self.field
        squares = field.multiply(joint, joint)
        twice = field.add(joint, joint)
        outputs = []
        for k, blocks in enumerate(self._by_group(vectors)):
            margins = self._margins(blocks)
            terms = [field.dot(u, self._of(squares, i)) for i, u in margins]
            for i, j, block in blocks:
                rows = field.dot(block, self._of(joint, j)[:, None])
                terms.append(field.dot(rows, self._of(twice, i)))
            quadratic = field.total(np.stack(terms, axis=1))
            ones = field.total(np.concatenate([u for _, u in margins], axis=1))
            wanted = len(self.groups[k]) * pow(shares, -1, field.modulus)
            outputs += [
                field.subtract(gadget[:, k], quadratic),
                field.subtract(ones, field.elements([wanted])),
            ]
        return np.stack(outputs, axis=1)

    def truncate(self, vectors: Elements) -> Elements:
        """The vector itself."""
        return vectors

    def decode(self, totals: list[int]) -> npt.NDArray[np.int64]:
        """The tables over all people, cell by cell: int64 (cells,)."""
        if max(totals) >= 2**63:
            raise ProtocolError("a total exceeds any number of people: a wrong aggregate share")
        return np.array(totals, np.int64)

    def _by_group(self, vectors: Elements) -> Iterator[list[tuple[int, int, Elements]]]:
        blocks = iter(self.blocks)
        for group in self.groups:
            found = []
            for _ in range(math.comb(len(group), 2)):
                i, j, start = next(blocks)
                rows, columns = self.shape[i], self.shape[j]
                cells = vectors[:, start : start + rows * columns]
                found.append((i, j, cells.reshape(len(vectors), rows, columns, 2)))
            yield found

    def _margins(self, blocks: list[tuple[int, int, Elements]]) -> list[tuple[int, Elements]]:
        """u_i of each attribute of a group, from the tables that its first one is in."""
        first, _, block = blocks[0]
        own = (first, self.field.total(block))
        with_first = [(j, block.swapaxes(1, 2)) for i, j, block in blocks if i == first]
        return [own, *((j, self.field.total(block)) for j, block in with_first)]

    def _of(self, joint: Elements, attribute: int) -> Elements:
        start = sum(self.shape[:attribute])
        return joint[:, start : start + self.shape[attribute]]

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """A cheat's largest chances at one proof: by the joint randomness, by the verifiers'."""
        degree = 2 * (flp.points(self) - 1)
        return Fraction(2, self.field.modulus), Fraction(degree, self.field.modulus)


def prio3_of(question: Question, aggregators: int) -> Prio3:
    """Prio3 for the tables of a question: one record if they are exact, else one for each pair.

    Randomized pairs are drawn on their own, so each table is one-hot and none need agree.

    Arguments:
        question: what is summed.
        aggregators: at least two.

    Returns:
        What `shard` and the aggregators use; measurements are `question.positions(…)`.
    """
    groups = question.pairs if question.matrices else (tuple(range(len(question.domain))),)
    return Prio3(PairTables(tuple(question.domain.shape), groups), aggregators, PROOFS)


def forgery(circuit: PairTables, proofs: int, tries: int = 1) -> Fraction:
    """At most the chance that an invalid vector is counted.

    The joint randomness follows from the report, so a cheat may make many reports and send the
    luckiest; the verifiers' randomness she does not know. With k proofs won by trying, the others
    are left to chance: Σ_k min(1, tries·C(proofs, k)·joint^k)·verifiers'^(proofs − k).

    Arguments:
        circuit: what is proved.
        proofs: how many proofs there are.
        tries: how many reports the cheat made before she sent one.
    """
    joint, query = circuit.chances
    ways = (
        min(Fraction(1), tries * math.comb(proofs, k) * joint**k) * query ** (proofs - k)
        for k in range(proofs + 1)
    )
    return min(Fraction(1), sum(ways, Fraction(0)))
