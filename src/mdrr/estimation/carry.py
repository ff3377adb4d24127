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

from mdrr.domain import Domain
from mdrr.estimation.evidence import Names, Tables
from mdrr.estimation.kernel import LEAST, add_cells, add_pairs, compare, grow
from mdrr.estimation.latent import random_start
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
_NEAR = 0.25
"""How near tables of a given noise are met, in standard errors: that adds 3 % to an error as large
as the noise."""
_STRIDE = 8.0
"""The longest step, in steps of EM: all pairs pull at once, each by its own share alone."""
_WORK = 4e11
"""Multiplications spent on carrying at most; with thousands of categories sweeps are fewer."""


@dataclass(frozen=True)
class Carried:
    """The joint, how far its pair tables are from the wanted ones (mean total variation), and after
    how many sweeps it stopped.
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
    def make(cls, domain: Domain, targets: Tables) -> _Blocks:
        starts = np.cumsum([0, *domain.shape])
        wanted = np.zeros((starts[-1], starts[-1]))
        for (first, second), table in targets.items():
            i, j = domain.index(first), domain.index(second)
            wanted[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = table
            wanted[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] = table.T
        return cls(starts, np.repeat(np.arange(len(domain)), domain.shape), wanted, len(targets))


def from_tables(tables: Tables, strata: Strata, seed: int = 0) -> Carried:
    """A joint with the given pair tables, made of classes alone, or of classes within strata.

    All tables have the margins given beside them; the shares of strata are kept exactly.
    """
    domain = strata.domain
    margins = [tables[(name,)] for name in domain.names]
    if len(domain) == 2 and domain.names in tables:
        table = tables[domain.names]
        codes = np.unravel_index(np.flatnonzero(table), table.shape)
        pair = MixtureJoint.of_records(domain, codes, table[codes])
        return Carried(strata.settled(pair), 0.0, 0)
    targets = _unknown(domain, tables)
    if all(
        np.abs(table - np.outer(tables[(a,)], tables[(b,)])).sum() < 1e-6
        for (a, b), table in targets.items()
    ):
        product = MixtureJoint(domain, np.ones(1), tuple(margin[:, None] for margin in margins))
        return Carried(strata.pinned(product), 0.0, 0)
    blocks = _Blocks.make(domain, targets)
    sweeps = int(min(_SWEEPS, max(_WORK / _STARTS / (4 * blocks.wanted.size * _CLASSES), 20)))
    runs = []
    for at in range(_STARTS):
        start = strata.pinned(random_start(domain, margins, _CLASSES, seed + at))
        runs.append(_climbed(start, blocks, sweeps, strata))
    joint = average([run.joint for run in runs])
    return Carried(joint, max(run.distance for run in runs), max(run.sweeps for run in runs))


def refitted(
    joint: MixtureJoint,
    tables: Tables,
    strata: Strata,
    noise: Mapping[Names, float] | None = None,
) -> Carried:
    """A joint with records made to carry the given pair tables, from where it stands.

    With the tables' `noise`, the sum of their cells' variances, they are met to a quarter of a
    standard error. Further sweeps make tables of three and more attributes worse.
    """
    wanted = _unknown(joint.domain, tables)
    blocks = _Blocks.make(joint.domain, wanted)
    if noise is None:
        return _climbed(joint, blocks, _RECORD_SWEEPS, strata)
    scale = 2 * len(wanted) * _NEAR**2  # every pair stands twice in the matrix
    known = {pair: scale * max(noise[pair], LEAST) for pair in wanted if pair in noise}
    each = {pair: np.full(wanted[pair].shape, 1 / known[pair]) for pair in known}
    return _climbed(joint, blocks, _RECORD_SWEEPS, strata, _Blocks.make(joint.domain, each).wanted)


def _unknown(domain: Domain, tables: Tables) -> Tables:
    """The pair tables that strata do not have already: not of two public attributes."""
    pairs = ((names, table) for names, table in tables.items() if len(names) == 2)
    return {pair: table for pair, table in pairs if not set(pair) <= set(domain.public)}


def _climbed(
    joint: MixtureJoint,
    blocks: _Blocks,
    sweeps: int,
    strata: Strata,
    precision: Array | None = None,
) -> Carried:
    """EM with longer steps, as long as they bring the tables nearer; strata keep their shares.

    It ends after so many sweeps, once one brought the tables nearer, or after twice as many; or
    before, if all are met: if their squared distances times `precision` sum to 1 or less.
    """
    weights, theta = joint.weights, np.concatenate(joint.tables)
    of = strata.within(joint.pinned)
    groups = [_Records.make(group, blocks) for group in joint.pinned]
    shares = np.concatenate([np.zeros((0, len(weights))), *(g.shares for g in joint.pinned)])
    ends = np.cumsum([len(group.codes) for group in joint.pinned])[:-1]
    each = list(zip(groups, np.split(shares, ends), strict=True)) if groups else []
    distance, stride, done = np.inf, 1.0, 0
    while True:
        totals = [records.totals(theta, part) for records, part in each]
        model = (theta * weights) @ theta.T
        for (records, part), total in zip(each, totals, strict=True):
            model += records.tables(total, part)
        met = precision is not None and np.vdot((model - blocks.wanted) ** 2, precision) <= 1
        before, distance = distance, compare(model, blocks.wanted) / (4 * blocks.pairs)
        if met or distance < 1e-5 or done == 2 * sweeps or (done >= sweeps and distance <= before):
            break
        stride = min(stride * 1.2, _STRIDE) if distance < before else 1.0
        ratio = model  # `compare` has put it there
        pulled = ratio @ theta
        gained = weights * theta * pulled
        for (records, _), total in zip(each, totals, strict=True):
            gained += theta * records.gained(ratio, total)
        grown = (theta * pulled).sum(axis=0) / (2 * blocks.pairs)
        weights = weights * grown**stride
        for records, part in each:
            part *= (records.grown(theta, ratio) / blocks.pairs) ** stride
        weights, shares[:] = strata.scaled(of, weights, shares)
        theta = _longer(theta, gained, stride, blocks.starts)
        done += 1
    tables = tuple(np.split(theta, blocks.starts[1:-1]))
    pinned = tuple(Pinned(r.pinned.places, r.pinned.codes, part) for r, part in each)
    return Carried(MixtureJoint(joint.domain, weights, tables, pinned), distance, done)


def _longer(theta: Array, gained: Array, stride: float, starts: npt.NDArray[np.int64]) -> Array:
    """The classes' distributions: EM's next ones, `gained` made to sum to 1, or further that way.

    A step of EM multiplies θ by a factor; a longer one by that factor to the power of the stride.
    Distributions of which nothing is left stay as they were.
    """

    def whole(values: Array) -> Array:
        return np.repeat(np.add.reduceat(values, starts[:-1]), np.diff(starts), axis=0)

    mass, there = whole(gained), theta > LEAST
    ratio = np.divide(gained, mass, out=theta.copy(), where=mass > LEAST)
    with np.errstate(divide="ignore"):  # what gains nothing is 0 from now on
        steps = stride * np.log(np.divide(ratio, theta, out=np.ones_like(theta), where=there))
    further = np.where(there, theta * np.exp(steps), 0.0)
    total = whole(further)
    return np.divide(further, total, out=theta.copy(), where=total > LEAST)


@dataclass(frozen=True, eq=False)
class _Records:
    """A joint's records with the same attributes pinned; C categories in all, Z classes."""

    pinned: Pinned
    rows: npt.NDArray[np.int64]  # (k, places), where each record's categories stand among all
    known: npt.NDArray[np.bool_]  # (C,), which categories are of pinned attributes

    @classmethod
    def make(cls, group: Pinned, blocks: _Blocks) -> _Records:
        rows = group.codes.astype(np.int64) + blocks.starts[list(group.places)]
        return cls(group, rows, np.isin(blocks.of, group.places))

    def totals(self, theta: Array, shares: Array) -> Array:
        """The mass of every category in every class, `(C, Z)`."""
        held = np.zeros_like(theta)
        add_cells(held, shares, self.rows)
        return np.where(self.known[:, None], held, theta * shares.sum(axis=0))

    def tables(self, totals: Array, shares: Array) -> Array:
        """The records' part of all pair tables, `(C, C)`."""
        tables = (totals / np.maximum(shares.sum(axis=0), LEAST)) @ totals.T
        tables[np.ix_(self.known, self.known)] = 0.0
        add_pairs(tables, shares.sum(axis=1), self.rows)
        return np.asarray(tables)

    def gained(self, ratio: Array, totals: Array) -> Array:
        """By what the records multiply the classes' distributions, `(C, Z)`."""
        return np.where(self.known[:, None], 0.0, ratio @ totals)

    def grown(self, theta: Array, ratio: Array) -> Array:
        """By how much each record's share in each class grows, summed over pairs: `(k, Z)`."""
        free = np.where(self.known[:, None], 0.0, theta)
        toward = ratio @ free
        grown = np.empty((len(self.rows), theta.shape[1]))
        grow(grown, toward, (free * toward).sum(axis=0) / 2, ratio, self.rows)
        return grown
