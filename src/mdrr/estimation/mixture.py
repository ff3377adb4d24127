"""The one joint: classes of people, of some of whom some answers are known.

Within a class the attributes are independent, so any table, count or record follows from the
classes' distributions, at any dimension. Where reports are nearly exact they say more than classes
can: such a report is a record. Its known answers are pinned, the others follow from its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.domain import Domain
from mdrr.errors import EstimateError
from mdrr.estimation.joint import Columns, draw_cells, typed
from mdrr.estimation.kernel import add_cells
from mdrr.matrix import Array
from mdrr.query import MOST_CELLS, Query, Term, cells_shape
from mdrr.randomizer import cells_of

_CHUNK = 65_536
"""Records whose class is drawn at a time."""


@dataclass(frozen=True, eq=False)
class Pinned:
    """Records with some answers known."""

    places: tuple[int, ...]  # which attributes, increasing
    codes: npt.NDArray[Any]  # their categories, unsigned (k, places)
    shares: Array  # (k, Z), the probability of each record together with each class

    @cached_property
    def weights(self) -> Array:
        """The share of all of them in each class, `(Z,)`."""
        return np.asarray(self.shares.sum(axis=0))


@dataclass(frozen=True, eq=False)
class MixtureJoint:
    """x ~ Σ_z w_z Π_j θ_zj(x_j) + Σ_iz s_iz 1[x agrees with record i] Π_{j not pinned} θ_zj(x_j).

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
        >>> twin = MixtureJoint(d, np.array([0.5, 0.5]), (np.eye(2), np.eye(2)))
        >>> twin.table(["a", "b"])
        array([[0.5, 0. ],
               [0. , 0.5]])
    """

    domain: Domain
    weights: Array  # w, (Z,); all weights and shares together sum to 1
    tables: tuple[Array, ...]  # θ, one (r_j, Z) array per attribute, every column summing to 1
    pinned: tuple[Pinned, ...] = ()

    def __post_init__(self) -> None:
        shapes = tuple(table.shape for table in self.tables)
        if shapes != tuple((size, len(self.weights)) for size in self.domain.shape):
            raise EstimateError(f"tables of shapes {shapes} do not fit the domain")
        total = self.weights.sum() + sum(group.shares.sum() for group in self.pinned)
        if not (abs(total - 1) <= 1e-6 and (self.weights >= 0).all()):
            raise EstimateError("the weights of a mixture are shares that sum to 1")
        stacked = np.concatenate(self.tables)
        starts = np.cumsum([0, *self.domain.shape[:-1]])
        wrong = np.abs(np.add.reduceat(stacked, starts) - 1).max(axis=1, initial=0) > 1e-6
        wrong |= np.minimum.reduceat(stacked, starts).min(axis=1, initial=0) < 0
        if wrong.any():
            name = self.domain.names[int(np.argmax(wrong))]
            raise EstimateError(f"the classes' distributions of {name!r} do not sum to 1")
        for group in self.pinned:
            self._check(group)

    def _check(self, group: Pinned) -> None:
        """Refuse records that are not of this domain and these classes."""
        places, codes = group.places, group.codes
        known = tuple(j for j in range(len(self.domain)) if j in places)
        sizes = [self.domain.shape[j] for j in known]
        if (
            places != known
            or codes.shape != (len(group.shares), len(places))
            or group.shares.shape != (len(codes), len(self.weights))
            or (codes >= np.array(sizes)).any()
            or (codes < 0).any()
            or (group.shares < 0).any()
        ):
            raise EstimateError(f"the records of attributes {places} do not fit the mixture")

    @classmethod
    def of_records(cls, domain: Domain, columns: Sequence[Any], weights: Array) -> MixtureJoint:
        """Records with weights that sum to 1, every answer known."""
        margins = tuple(
            np.bincount(column, weights, size).astype(np.float64)[:, None]
            for column, size in zip(columns, domain.shape, strict=True)
        )
        codes = np.stack(typed([np.asarray(c) for c in columns], domain), axis=1)
        everything = Pinned(tuple(range(len(domain))), codes, weights[:, None])
        return cls(domain, np.zeros(1), margins, (everything,))

    def table(self, names: Sequence[str], /) -> Array:
        """Every class's product, and every record where it is, or may be."""
        shape = cells_shape(names, self.domain)
        places = [self.domain.index(name) for name in names]
        total, weights = np.zeros(shape), self.weights
        for group in self.pinned:
            if set(places).isdisjoint(group.places):
                weights = weights + group.weights
            else:
                total += self._pinned_table(group, places)
        if weights.any():
            half = (len(places) + 1) // 2
            left, right = self._product(places[:half]), self._product(places[half:])
            total += ((left * weights) @ right.T).reshape(shape)
        return total

    def _product(self, places: Sequence[int]) -> Array:
        """Π_j θ_zj over all combinations of some attributes, `(cells, Z)`."""
        product = np.ones((1, len(self.weights)))
        for j in places:
            product = (product[:, None, :] * self.tables[j]).reshape(-1, len(self.weights))
        return product

    def _pinned_table(self, group: Pinned, places: Sequence[int]) -> Array:
        known = [j for j in places if j in group.places]
        free = [j for j in places if j not in group.places]
        shape = [self.domain.shape[j] for j in (*known, *free)]
        size = int(np.prod(shape[: len(known)]))
        columns = [group.codes[:, group.places.index(j)] for j in known]
        cells = cells_of(columns, [self.domain.shape[j] for j in known])
        if free:
            met = np.arange(size)
            if size > len(cells):
                met, cells = np.unique(cells, return_inverse=True)
            held = np.zeros((len(met), len(self.weights)))
            add_cells(held, group.shares, cells.reshape(-1, 1))
            flat = np.zeros((size, int(np.prod(shape[len(known) :]))))
            flat[met] = held @ self._product(free).T
        else:
            flat = np.bincount(cells, group.shares.sum(axis=1), size).astype(np.float64)[:, None]
        order = [*known, *free]
        return np.transpose(flat.reshape(shape), [order.index(j) for j in places])

    def mass(self, query: Query, /) -> float:
        """Terms share no attribute, so within a class their masses multiply."""
        total, weights = 0.0, self.weights
        places = {self.domain.index(name) for term in query.terms for name in term.names}
        for group in self.pinned:
            if places.isdisjoint(group.places):
                weights = weights + group.weights
                continue
            codes, inside = group.codes, group.shares
            for term in query.terms:
                known = [self.domain.index(name) for name in term.names]
                at = tuple(codes[:, group.places.index(j)] for j in known if j in group.places)
                if len(at) == len(known):
                    met = term.mask[at]
                    codes, inside = codes[met], inside[met]
                else:
                    inside = inside * self._inside(term, group.places)[at]
            total += float(inside.sum())
        total += float(np.prod([self._inside(t, ()) for t in query.terms] + [weights], 0).sum())
        return min(total, 1.0)

    def _inside(self, term: Term, kept: Sequence[int]) -> Array:
        """The mass of a term in every class, `(…, Z)`, with an axis for each attribute kept."""
        places = [self.domain.index(name) for name in term.names]
        inside = np.repeat(term.mask.astype(np.float64)[..., None], len(self.weights), axis=-1)
        for at in reversed(range(len(places))):
            if places[at] not in kept:
                inside = np.einsum(
                    "a...z,az->...z", np.moveaxis(inside, at, 0), self.tables[places[at]]
                )
        return inside

    def sample(self, n: int, rng: np.random.Generator, /) -> Columns:
        """A record or a class is drawn, of a record its class, then each answer not known."""
        sizes = [group.shares.sum(axis=1) for group in self.pinned]
        drawn = draw_cells(np.concatenate([self.weights, *sizes]), n, rng)
        classes = np.minimum(drawn, len(self.weights) - 1)
        ends = len(self.weights) + np.cumsum([0, *map(len, sizes)])
        held: list[tuple[Pinned, npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
        for group, start, stop in zip(self.pinned, ends[:-1], ends[1:], strict=True):
            rows = np.flatnonzero((drawn >= start) & (drawn < stop))
            records = drawn[rows] - start
            classes[rows] = _classes(group.shares, records, rng)
            held.append((group, rows, records))
        columns = self._answers(classes, rng)
        for group, rows, records in held:
            for at, j in enumerate(group.places):
                columns[j][rows] = group.codes[records, at]
        return typed(columns, self.domain)

    def _answers(self, classes: npt.NDArray[np.int64], rng: np.random.Generator) -> Columns:
        """Every attribute drawn from each person's class."""
        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], np.arange(len(self.weights) + 1))
        columns: Columns = []
        for table in self.tables:
            column = np.empty(len(classes), dtype=np.int64)
            for z, (start, stop) in enumerate(pairwise(starts)):
                if stop > start:
                    column[order[start:stop]] = draw_cells(table[:, z], stop - start, rng)
            columns.append(column)
        return columns

    def combinations(self) -> tuple[Columns, Array]:
        """The whole domain, where it is small enough to write out; or the records, if all known."""
        everything = all(len(group.places) == len(self.domain) for group in self.pinned)
        if self.domain.size > MOST_CELLS and self.pinned and everything and not self.weights.any():
            codes = np.concatenate([group.codes for group in self.pinned])
            found, at = np.unique(codes, axis=0, return_inverse=True)
            each = np.concatenate([group.shares.sum(axis=1) for group in self.pinned])
            sums = np.bincount(at.ravel(), each).astype(np.float64)
            return typed(list(found.T), self.domain), sums
        if self.domain.size > MOST_CELLS:
            raise EstimateError(
                f"the domain has {self.domain.size:,} combinations, too many to write out "
                f"(the most is {MOST_CELLS:,}); ask for tables or counts, or draw records with "
                ".sample(n)"
            )
        values = self.table(self.domain.names).ravel()
        kept = np.flatnonzero(values > 0)
        columns = [np.asarray(c) for c in np.unravel_index(kept, self.domain.shape)]
        return typed(columns, self.domain), values[kept]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Weights, distributions and records."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "weights": self.weights,
            "tables": np.concatenate(self.tables),
        }
        for i, group in enumerate(self.pinned):
            arrays[f"places{i}"] = np.array(group.places)
            arrays[f"codes{i}"], arrays[f"shares{i}"] = group.codes, group.shares
        return arrays

    @classmethod
    def from_arrays(cls, domain: Domain, arrays: Mapping[str, npt.NDArray[Any]]) -> MixtureJoint:
        """The joint that `to_arrays` describes."""
        tables = np.split(arrays["tables"], np.cumsum(domain.shape)[:-1])
        groups: list[Pinned] = []
        while f"codes{len(groups)}" in arrays:
            i = len(groups)
            places = tuple(int(j) for j in arrays[f"places{i}"])
            groups.append(Pinned(places, arrays[f"codes{i}"], arrays[f"shares{i}"]))
        return cls(domain, arrays["weights"], tuple(tables), tuple(groups))


def _classes(
    shares: Array, records: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """A class for each drawn record, by the record's shares."""
    drawn = np.empty(len(records), dtype=np.int64)
    for start in range(0, len(records), _CHUNK):
        cumulated = np.cumsum(shares[records[start : start + _CHUNK]], axis=1)
        at = rng.random(len(cumulated))[:, None] * cumulated[:, -1:]
        drawn[start : start + _CHUNK] = (cumulated <= at).sum(axis=1)
    return np.asarray(np.minimum(drawn, shares.shape[1] - 1))


def average(mixtures: Sequence[MixtureJoint]) -> MixtureJoint:
    """The mean of several mixtures over one domain: again a mixture, of all their classes.

    They have the same records, if any, each with its own shares.
    """
    if len({mixture.domain for mixture in mixtures}) != 1:
        raise EstimateError("only mixtures over one domain have a mean")
    weights = np.concatenate([m.weights for m in mixtures]) / len(mixtures)
    tables = zip(*(m.tables for m in mixtures), strict=True)
    pinned = []
    for groups in zip(*(m.pinned for m in mixtures), strict=True):
        shares = np.concatenate([group.shares for group in groups], axis=1) / len(mixtures)
        pinned.append(Pinned(groups[0].places, groups[0].codes, shares))
    joined = tuple(np.concatenate(parts, axis=1) for parts in tables)
    return MixtureJoint(mixtures[0].domain, weights, joined, tuple(pinned))
