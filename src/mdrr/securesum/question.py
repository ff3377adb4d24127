"""What is summed: every pair table of a domain as one vector (paper sections 4.2 and 4.3).

The paper runs its protocol once per cell of each pair table; here one run carries them all. A
person's vector has Σ_{i<j} r_i·r_j entries and holds one 1 per pair: at her true cell (4.2), or at
a cell drawn from that pair's randomization matrix (4.3). The sum over people is all pair tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.domain import Domain
from mdrr.errors import ProtocolError, SchemaError
from mdrr.matrix import Matrix, constant_matrix, matrix_from_dict
from mdrr.matrix.protocol import add_up
from mdrr.securesum.wire import Fields
from mdrr.source import Source

Tables = dict[tuple[str, str], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Question:
    """All pair tables of a domain, exact or randomized.

    Arguments:
        domain: at least two attributes.
        matrices: one per pair in the order of `pairs` (section 4.3), or empty for exact tables.

    Example:
        >>> from mdrr import Attribute
        >>> d = Domain((Attribute("a", ("x", "y")), Attribute("b", ("u", "v", "w"))))
        >>> q = Question(d)
        >>> q.cells, q.encode([1, 2])
        (6, array([0, 0, 0, 0, 0, 1], dtype=uint8))
    """

    domain: Domain
    matrices: tuple[Matrix, ...] = ()

    def __post_init__(self) -> None:
        if len(self.domain) < 2:
            raise ProtocolError("a domain of one attribute has no pairs to ask about")
        object.__setattr__(self, "matrices", tuple(self.matrices))
        if self.matrices and len(self.matrices) != len(self.pairs):
            raise ProtocolError(f"{len(self.pairs)} pairs need as many matrices")
        for (i, j), matrix in zip(self.pairs, self.matrices, strict=False):
            cells = self.domain.shape[i] * self.domain.shape[j]
            if matrix.cells != cells or not matrix.reports_cells:
                raise ProtocolError(
                    f"the matrix of {self.domain.names[i]!r} × {self.domain.names[j]!r} must "
                    f"report one of its {cells} cells"
                )

    @classmethod
    def randomized(
        cls, domain: Domain, *, p: float | None = None, epsilon: float | None = None
    ) -> Question:
        """Section 4.3 with constant matrices, all of the same p, or of the same ε per pair."""
        sizes = [a * b for a, b in combinations(domain.shape, 2)]
        return cls(domain, tuple(constant_matrix(size, p=p, epsilon=epsilon) for size in sizes))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of attribute positions i < j, in order."""
        return tuple(combinations(range(len(self.domain)), 2))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each pair's table starts in the vector, and where the last one ends."""
        sizes = [self.domain.shape[i] * self.domain.shape[j] for i, j in self.pairs]
        return (0, *(int(end) for end in np.cumsum(sizes)))

    @property
    def cells(self) -> int:
        """Length of the vector, Σ_{i<j} r_i·r_j."""
        return self.offsets[-1]

    @property
    def promise(self) -> str:
        """What answering reveals, for the person who is asked."""
        if not self.matrices:
            return "Exact tables: no differential privacy (ε = ∞); a count of one is a person."
        epsilon = add_up([matrix.epsilon for matrix in self.matrices])
        return (
            f"Every pair of answers is randomized on this device: ε = {epsilon:.2f}, the sum over "
            f"{len(self.pairs)} tables."
        )

    def positions(
        self, codes: Sequence[npt.ArrayLike], source: Source | None = None
    ) -> npt.NDArray[np.int64]:
        """Where the ones stand: int (n, pairs) for codes (n,) per attribute, in domain order.

        With matrices a source is needed: every pair of every person is drawn on its own.
        """
        columns = self._columns(codes)
        out = np.empty((len(columns[0]), len(self.pairs)), np.int64)
        for k, (i, j) in enumerate(self.pairs):
            cell = columns[i] * self.domain.shape[j] + columns[j]
            if self.matrices:
                cell = self._draw(self.matrices[k], cell, source)
            out[:, k] = self.offsets[k] + cell
        return out

    def _columns(self, codes: Sequence[npt.ArrayLike]) -> list[npt.NDArray[np.int64]]:
        if len(codes) != len(self.domain):
            raise SchemaError(f"{len(self.domain)} attributes need as many codes: {len(codes)}")
        columns = [np.atleast_1d(np.asarray(column)).astype(np.int64) for column in codes]
        for attribute, column in zip(self.domain.attributes, columns, strict=True):
            if column.shape != columns[0].shape or column.ndim != 1:
                raise SchemaError(f"the codes of {attribute.name!r} differ in number from others")
            if len(column) and not (column.min() >= 0 and column.max() < attribute.size):
                raise SchemaError(
                    f"a code of {attribute.name!r} is not from 0 to {attribute.size - 1}"
                )
        return columns

    @staticmethod
    def _draw(
        matrix: Matrix, cell: npt.NDArray[np.int64], source: Source | None
    ) -> npt.NDArray[np.int64]:
        if source is None:
            raise ProtocolError("randomized pairs need a source of randomness")
        size = (matrix.total.bit_length() - 1) // 8
        raw = np.frombuffer(source.read(size * len(cell)), np.uint8).reshape(-1, size)
        uniform = np.zeros((len(cell), 8), np.uint8)
        uniform[:, :size] = raw
        drawn = matrix.draw(cell.astype(np.uint64), uniform.view("<u8").ravel())
        return drawn.astype(np.int64)

    def encode(self, record: Sequence[int], source: Source | None = None) -> npt.NDArray[np.uint8]:
        """One person's vector: uint8 (cells,) with a single 1 in each pair's table."""
        vector = np.zeros(self.cells, np.uint8)
        vector[self.positions([[code] for code in record], source)[0]] = 1
        return vector

    def sums(
        self, codes: Sequence[npt.ArrayLike], source: Source | None = None
    ) -> npt.NDArray[np.int64]:
        """What the protocol opens, computed in the clear: int64 (cells,)."""
        return np.bincount(self.positions(codes, source).ravel(), minlength=self.cells)

    def check(self, totals: npt.NDArray[np.int64], people: int) -> None:
        """Refuse totals no group of well-formed vectors can have.

        Every pair's table must hold exactly `people`; exact tables that share an attribute must
        agree on it. A cheat who keeps both true is not found without a proof of validity.
        """
        if totals.shape != (self.cells,) or (totals < 0).any() or (totals > people).any():
            raise ProtocolError(f"a total is not from 0 to {people}: some vector was ill-formed")
        margins: dict[int, npt.NDArray[np.int64]] = {}
        for k, (i, j) in enumerate(self.pairs):
            table = self._table(totals, k)
            if table.sum() != people:
                raise ProtocolError(
                    f"the table {self.domain.names[i]!r} × {self.domain.names[j]!r} counts "
                    f"{table.sum()} of {people} people: some vector was ill-formed"
                )
            if self.matrices:
                continue
            for attribute, margin in ((i, table.sum(axis=1)), (j, table.sum(axis=0))):
                if not np.array_equal(margins.setdefault(attribute, margin), margin):
                    raise ProtocolError(
                        f"two tables disagree on {self.domain.names[attribute]!r}: "
                        "some vector was ill-formed"
                    )

    def _table(self, totals: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
        i, j = self.pairs[k]
        cells = totals[self.offsets[k] : self.offsets[k + 1]]
        return cells.reshape(self.domain.shape[i], self.domain.shape[j])

    def tables(self, totals: npt.NDArray[np.int64]) -> Tables:
        """The pair tables in counts, estimated from randomized ones by eq. (2): (Pᵀ)⁻¹λ."""
        out: Tables = {}
        for k, (i, j) in enumerate(self.pairs):
            table = self._table(totals, k).astype(np.float64)
            if self.matrices:
                table = self.matrices[k].solve(table.ravel()).reshape(table.shape)
            out[self.domain.names[i], self.domain.names[j]] = table
        return out

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values; part of the terms everybody signs."""
        return {
            "domain": self.domain.to_dict(),
            "matrices": [matrix.to_dict() for matrix in self.matrices],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Question:
        """The question described by `to_dict`, validated again."""
        with Fields(fields, "a question") as read:
            domain = Domain.from_dict(read.array("domain", 1000))
            return cls(domain, tuple(map(matrix_from_dict, read.array("matrices", 500_000))))


def spent_on(question: Question) -> float | None:
    """ε of answering: the sum over the pairs; None if the tables are exact."""
    if not question.matrices:
        return None
    return math.fsum(matrix.epsilon for matrix in question.matrices)


def asked_again(names: Iterable[str], question: Question) -> tuple[str, ...]:
    """Those of some attributes that a question asks about, whatever their case."""
    asked = {name.casefold() for name in question.domain.names}
    return tuple(name for name in names if name.casefold() in asked)


def randomized_in_all(domain: Domain, epsilon: float) -> Question:
    """Section 4.3 with one ε for everything: split evenly over the m(m−1)/2 pairs."""
    return Question.randomized(domain, epsilon=epsilon / math.comb(len(domain), 2))
