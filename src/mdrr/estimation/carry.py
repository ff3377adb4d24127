"""One joint that carries many pair tables: classes, and records, re-weighted until they do.

For tables B_ab of all pairs and M_ab those of the joint, EM climbs Σ_ab Σ B_ab log M_ab: with
R = B/M, whatever a class or a record adds to a cell (x, y) of a pair is scaled by R_ab(x, y), and
its weight by the mean of that over pairs. All pairs stand in one symmetric matrix, a block each, so
a sweep is a few matrix products, whatever the number of people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mdrr.domain import Domain
from mdrr.estimation.em import random_start
from mdrr.estimation.kernel import LEAST, compare, longer
from mdrr.estimation.mixture import MixtureJoint, Pinned, average
from mdrr.estimation.strata import Strata
from mdrr.matrix import Array

_CLASSES = 128
"""Enough to carry all pairs of the benchmark's data sets to .0006 in total variation."""
_STARTS = 3
"""Random starts that are averaged: one alone errs more on tables of three attributes."""
_SWEEPS = 500
_RECORD_SWEEPS = 60
"""With records: they start near the tables, and a sweep over them costs more."""
_STRIDE = 8.0
"""The longest step, in steps of EM: all pairs pull at once, each by its own share alone."""
_WORK = 4e11
"""Multiplications spent on carrying at most; with thousands of categories sweeps are fewer."""


@dataclass(frozen=True)
class Carried:
    """The joint, how far its pair tables are from the wanted ones (mean total variation), and why
    it stopped.
    """

    joint: MixtureJoint
    distance: float
    sweeps: int


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Pair tables as one symmetric matrix; `of` says whose attribute a row is."""

    starts: npt.NDArray[np.int64]
    of: npt.NDArray[np.int64]
    wanted: Array
    pairs: int

    @classmethod
    def make(cls, domain: Domain, targets: Mapping[tuple[str, str], Array]) -> _Blocks:
        starts = np.cumsum([0, *domain.shape])
        wanted = np.zeros((starts[-1], starts[-1]))
        for (first, second), table in targets.items():
            i, j = domain.index(first), domain.index(second)
            wanted[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = table
            wanted[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] = table.T
        return cls(starts, np.repeat(np.arange(len(domain)), domain.shape), wanted, len(targets))


def from_tables(
    domain: Domain,
    margins: Mapping[str, Array],
    targets: Mapping[tuple[str, str], Array],
    *,
    seed: int = 0,
    strata: Strata | None = None,
) -> Carried:
    """A joint with the given pair tables, made of classes alone, or of classes within strata.

    Arguments:
        domain: over what.
        margins: every attribute's distribution.
        targets: tables of pairs of attributes, all with those margins.
        seed: for the random starts.
        strata: the combinations of public answers, if any; their shares are kept exactly.
    """
    singles = [margins[name] for name in domain.names]
    if len(domain) == 1:
        return Carried(MixtureJoint(domain, np.ones(1), (singles[0][:, None],)), 0.0, 0)
    if len(domain) == 2 and targets:
        (table,) = targets.values()
        codes = np.unravel_index(np.flatnonzero(table), table.shape)
        pair = MixtureJoint.of_records(domain, codes, table[codes])
        return Carried(pair if strata is None else strata.settled(pair), 0.0, 0)
    targets = _unknown(domain, targets)
    if _independent(margins, targets):
        product = MixtureJoint(domain, np.ones(1), tuple(margin[:, None] for margin in singles))
        return Carried(product if strata is None else strata.pinned(product), 0.0, 0)
    blocks = _Blocks.make(domain, targets)
    sweeps = int(min(_SWEEPS, max(_WORK / _STARTS / (4 * blocks.wanted.size * _CLASSES), 20)))
    starts = [random_start(domain, singles, _CLASSES, seed + start) for start in range(_STARTS)]
    if strata is not None:
        starts = [strata.pinned(start) for start in starts]
    runs = [_climbed(start, blocks, sweeps, strata) for start in starts]
    joint = average([run.joint for run in runs])
    return Carried(joint, max(run.distance for run in runs), sweeps)


def _independent(margins: Mapping[str, Array], targets: Mapping[tuple[str, str], Array]) -> bool:
    return all(
        np.abs(table - np.outer(margins[a], margins[b])).sum() < 1e-6
        for (a, b), table in targets.items()
    )


def refitted(
    joint: MixtureJoint, targets: Mapping[tuple[str, str], Array], strata: Strata | None = None
) -> Carried:
    """A joint with records made to carry the given pair tables, from where it stands."""
    blocks = _Blocks.make(joint.domain, _unknown(joint.domain, targets))
    return _climbed(joint, blocks, _RECORD_SWEEPS, strata)


def _unknown(
    domain: Domain, targets: Mapping[tuple[str, str], Array]
) -> Mapping[tuple[str, str], Array]:
    """The tables that strata do not have already: not of two public attributes."""
    return {pair: table for pair, table in targets.items() if not set(pair) <= set(domain.public)}


def _climbed(
    joint: MixtureJoint, blocks: _Blocks, sweeps: int, strata: Strata | None = None
) -> Carried:
    """EM with longer steps, as long as they bring the tables nearer; strata keep their shares."""
    records = _Records.make(joint, blocks)
    of = None if strata is None else np.concatenate(strata.within(joint.pinned))
    weights, theta, shares = joint.weights, np.concatenate(joint.tables), records.shares
    distance, stride, done = np.inf, 1.0, 0
    while True:
        totals = records.totals(theta, shares)
        model = (theta * weights) @ theta.T + records.tables(totals, shares)
        before, distance = distance, compare(model, blocks.wanted) / (4 * blocks.pairs)
        if distance < 1e-5 or done == sweeps:
            break
        stride = min(stride * 1.2, _STRIDE) if distance < before else 1.0
        ratio = model  # `compare` has put it there
        pulled = ratio @ theta
        gained = weights * theta * pulled + records.gained(theta, ratio, totals)
        grown = (theta * pulled).sum(axis=0) / (2 * blocks.pairs)
        weights = weights * grown**stride
        shares = shares * (records.grown(theta, ratio) / blocks.pairs) ** stride
        if strata is None or of is None:
            total = float(weights.sum() + shares.sum())
            weights, shares = weights / total, shares / total
        else:
            shares = strata.scaled(of, shares)
        theta = longer(theta, gained, stride, blocks.starts)
        done += 1
    tables = tuple(np.split(theta, blocks.starts[1:-1]))
    pinned = records.pinned(shares)
    return Carried(MixtureJoint(joint.domain, weights, tables, pinned), distance, done)


@dataclass(frozen=True, eq=False)
class _Records:
    """All records of a joint, in groups g with the same attributes pinned.

    Arguments:
        groups: as they stand in the joint.
        group: which group each record is in, `(k,)`.
        known: which categories are of pinned attributes, `(g, C)`.
        hot: `(k, g·C)`, 1 at every record's pinned categories, in its own group's columns.
        pairs: of every record and pair of its pinned attributes, the record and the two categories.
    """

    groups: tuple[Pinned, ...]
    group: npt.NDArray[np.int64]
    known: npt.NDArray[np.bool_]
    hot: sparse.csr_array
    pairs: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
    shares: Array

    @classmethod
    def make(cls, joint: MixtureJoint, blocks: _Blocks) -> _Records:
        size = len(blocks.of)
        whose, columns, firsts, seconds, holders = [], [], [], [], []
        begun = 0
        for g, group in enumerate(joint.pinned):
            rows = group.codes.astype(np.int64) + blocks.starts[list(group.places)]
            records = begun + np.arange(len(rows))
            begun += len(rows)
            for a in range(rows.shape[1]):
                whose.append(records)
                columns.append(rows[:, a] + g * size)
                for b in range(a):
                    holders.append(records)
                    firsts.append(rows[:, a])
                    seconds.append(rows[:, b])
        sizes = [len(group.codes) for group in joint.pinned]
        known = [np.isin(blocks.of, group.places) for group in joint.pinned]
        flat = _joined(columns)
        shape = (begun, len(joint.pinned) * size)
        empty = np.zeros((0, len(joint.weights)))
        return cls(
            joint.pinned,
            np.repeat(np.arange(len(sizes)), sizes),
            np.array(known, dtype=np.bool_).reshape(len(sizes), size),
            sparse.csr_array((np.ones(len(flat)), (_joined(whose), flat)), shape=shape),
            (_joined(holders), _joined(firsts), _joined(seconds)),
            np.concatenate([group.shares for group in joint.pinned]) if sizes else empty,
        )

    def _masses(self, shares: Array) -> Array:
        """The mass of every group in every class, `(g, Z)`."""
        starts = np.searchsorted(self.group, np.arange(len(self.groups)))
        return np.asarray(np.add.reduceat(shares, starts))

    def totals(self, theta: Array, shares: Array) -> Array:
        """The mass of every category in every class, group by group: `(g, C, Z)`."""
        if not self.groups:
            return np.zeros((0, *theta.shape))
        held = np.asarray(self.hot.T @ shares).reshape(len(self.groups), *theta.shape)
        free = theta * self._masses(shares)[:, None, :]
        return np.where(self.known[:, :, None], held, free)

    def tables(self, totals: Array, shares: Array) -> Array:
        """The records' part of all pair tables, `(C, C)`."""
        size = self.known.shape[1]
        if not self.groups:
            return np.zeros((size, size))
        masses = np.maximum(self._masses(shares), LEAST)[:, None, :]
        tables = (totals / masses) @ totals.transpose(0, 2, 1)
        tables[self.known[:, :, None] & self.known[:, None, :]] = 0.0
        holders, firsts, seconds = self.pairs
        each = shares.sum(axis=1)[holders]
        both = np.bincount(firsts * size + seconds, each, size * size).reshape(size, size)
        return np.asarray(tables.sum(axis=0) + both + both.T)

    def gained(self, theta: Array, ratio: Array, totals: Array) -> Array:
        """What the records add to the classes' distributions, `(C, Z)`."""
        if not self.groups:
            return np.zeros_like(theta)
        pulled = np.where(self.known[:, :, None], 0.0, ratio @ totals)
        return np.asarray(theta * pulled.sum(axis=0))

    def grown(self, theta: Array, ratio: Array) -> Array:
        """By how much each record's share in each class grows, summed over pairs: `(k, Z)`."""
        if not self.groups:
            return np.zeros((0, theta.shape[1]))
        free = np.where(self.known[:, :, None], 0.0, theta)
        toward = ratio @ free
        holders, firsts, seconds = self.pairs
        pinned = np.bincount(holders, ratio[firsts, seconds], len(self.group))
        grown = np.asarray(self.hot @ toward.reshape(-1, theta.shape[1]))
        grown += pinned[:, None]
        grown += ((free * toward).sum(axis=1) / 2)[self.group]
        return grown

    def pinned(self, shares: Array) -> tuple[Pinned, ...]:
        """The groups with new shares."""
        ends = np.cumsum([len(group.codes) for group in self.groups])[:-1]
        parts = zip(self.groups, np.split(shares, ends), strict=True) if self.groups else ()
        return tuple(Pinned(group.places, group.codes, part) for group, part in parts)


def _joined(parts: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
