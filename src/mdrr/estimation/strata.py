"""Strata: the combinations of public answers, whose shares are known and not estimated.

Every report holds its person's public answers. So a joint is a distribution of the others within
each stratum g, and the strata have the shares n_g/n that were reported: in `MixtureJoint`, records
on which the public answers are pinned. The latent class fit sees all public attributes as one whose
categories are the strata. Its classes are then free in each stratum, w(z | g), and none is spent on
how public answers go together, which is known. Where nothing is public all people are one stratum,
and joints stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.mixture import MixtureJoint, Pinned
from mdrr.groups import Group
from mdrr.matrix import Array, Public
from mdrr.randomizer import cells_of, smallest_unsigned
from mdrr.tallies import Tally

_MOST = 2**15
"""The most strata: each has a weight in every class."""
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Strata:
    """The k combinations of public answers that were reported."""

    evidence: Evidence
    places: tuple[int, ...]  # the public attributes' places in the domain
    codes: npt.NDArray[np.int64]  # their categories, (k, places), in lexicographic order
    shares: Array  # n_g/n, (k,)
    of: tuple[npt.NDArray[np.int64], ...]  # each distinct report's stratum, by questionnaire

    @property
    def domain(self) -> Domain:
        """Over what."""
        return self.evidence.design.domain

    @property
    def _private(self) -> list[int]:
        return [j for j in range(len(self.domain)) if j not in self.places]

    def within(self, groups: Sequence[Pinned]) -> npt.NDArray[np.int64]:
        """The stratum of every record, group after group."""
        found = [np.zeros(0, np.int64)]
        for group in groups:
            at = [group.places.index(j) for j in self.places]
            found.append(np.searchsorted(self._cells(self.codes), self._cells(group.codes[:, at])))
        return np.concatenate(found)

    def _cells(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Combinations of public answers as numbers, `(k, places)` to `(k,)`; 0 if none is."""
        sizes = [self.domain.shape[j] for j in self.places]
        return cells_of([np.zeros(len(codes), np.int64), *codes.T], [1, *sizes])

    def scaled(
        self, of: npt.NDArray[np.int64], weights: Array, shares: Array
    ) -> tuple[Array, Array]:
        """Classes' weights and records' shares, `(k, Z)`, with each stratum's share exact.

        Where something is public all people are in records.
        """
        if not self.places:
            whole = weights.sum() + shares.sum()
            return weights / whole, shares / whole
        masses = np.bincount(of, shares.sum(axis=1), len(self.shares))
        return weights, shares * (self.shares / np.maximum(masses, _LEAST))[of][:, None]

    def pinned(self, joint: MixtureJoint) -> MixtureJoint:
        """Classes alone, made classes within each stratum: w(z | g) ∝ w_z Π θ_zj(g_j)."""
        if not self.places:
            return joint
        shares = np.repeat(joint.weights[None], len(self.shares), axis=0)
        for at, j in enumerate(self.places):
            shares = shares * np.maximum(joint.tables[j], _LEAST**0.1)[self.codes[:, at]]
        group = Pinned(self.places, self._typed(self.codes), shares)
        none = np.zeros_like(joint.weights)
        return MixtureJoint(self.domain, none, joint.tables, self._exact([group]))

    def settled(self, joint: MixtureJoint) -> MixtureJoint:
        """A joint of records that hold all public answers, with each stratum's share exact."""
        if not self.places:
            return joint
        return MixtureJoint(joint.domain, joint.weights, joint.tables, self._exact(joint.pinned))

    def _exact(self, groups: Sequence[Pinned]) -> tuple[Pinned, ...]:
        shares = np.concatenate([group.shares for group in groups])
        _, shares = self.scaled(self.within(groups), np.zeros(1), shares)
        parts = np.split(shares, np.cumsum([len(group.codes) for group in groups])[:-1])
        return tuple(
            Pinned(group.places, group.codes, part)
            for group, part in zip(groups, parts, strict=True)
        )

    @cached_property
    def merged(self) -> Evidence:
        """The same reports with the strata as the one public attribute, the last of the domain."""
        if not self.places:
            return self.evidence
        domain, design = self.domain, self.evidence.design
        name = "stratum"
        while name in domain.names:
            name += "_"
        size = max(len(self.shares), 2)
        kept = tuple(a for a in domain.attributes if not a.public)
        strata = Attribute(name, tuple(range(size)), public=True)
        asked, groups = [], []
        for q, group, of in zip(
            design.questionnaires, self.evidence.tally.groups, self.of, strict=True
        ):
            noisy = [at for at, c in enumerate(q.clusters) if not isinstance(c.matrix, Public)]
            clusters = [q.clusters[at] for at in noisy]
            codes, sizes = [group.codes[at] for at in noisy], [group.sizes[at] for at in noisy]
            own = of.astype(smallest_unsigned(size))
            asked.append(Questionnaire((*clusters, Cluster((name,), Public(size))), q.weight))
            groups.append(Group((*codes, own), group.counts, (*sizes, size)))
        seen = Design(Domain((*kept, strata)), tuple(asked))
        return Evidence(Tally(seen.fingerprint, tuple(groups)), seen)

    def among(self, seen: Evidence) -> Strata:
        """The same strata, with the shares they have among some of the merged reports."""
        return replace(self, shares=seen.margins[-1][: len(self.shares)]) if self.places else self

    def spread(self, joint: MixtureJoint) -> MixtureJoint:
        """A joint over the merged domain as one over the domain itself."""
        if not self.places:
            return joint
        k, private = len(self.shares), self._private
        last = len(private)
        tables: list[Array] = [np.zeros(0)] * len(self.domain)
        for at, j in enumerate(private):
            tables[j] = joint.tables[at]
        strata = joint.tables[last]
        for at, j in enumerate(self.places):
            table = np.zeros((self.domain.shape[j], len(joint.weights)))
            np.add.at(table, self.codes[:, at], strata[:k])
            table[-1] += np.maximum(1 - table.sum(axis=0), 0.0)
            tables[j] = table / table.sum(axis=0)
        groups = []
        if joint.weights.any():
            shares = joint.weights * np.maximum(strata[:k], _LEAST)
            groups.append(Pinned(self.places, self._typed(self.codes), shares))
        for group in joint.pinned:
            of = group.codes[:, group.places.index(last)].astype(np.int64)
            known = [at for at in group.places if at != last]
            columns = {private[at]: group.codes[:, group.places.index(at)] for at in known}
            columns.update(zip(self.places, self.codes[of].T, strict=True))
            places = tuple(sorted(columns))
            codes = np.stack([columns[j].astype(np.int64) for j in places], axis=1)
            groups.append(Pinned(places, self._typed(codes), group.shares))
        none = np.zeros_like(joint.weights)
        return MixtureJoint(self.domain, none, tuple(tables), self._exact(groups))

    def gathered(self, joint: MixtureJoint) -> MixtureJoint:
        """Classes within strata and no other records, as classes over the merged domain."""
        if not self.places:
            return joint
        (group,) = joint.pinned
        of = self.within(joint.pinned)
        weights = group.shares.sum(axis=0)
        strata = np.zeros((max(len(self.shares), 2), len(weights)))
        strata[of] = group.shares / np.maximum(weights, _LEAST)
        strata[-1] += np.maximum(1 - strata.sum(axis=0), 0.0)
        tables = [joint.tables[j] for j in self._private]
        domain = self.merged.design.domain
        return MixtureJoint(domain, weights / weights.sum(), (*tables, strata))

    def _typed(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.unsignedinteger]:
        return codes.astype(smallest_unsigned(max(self.domain.shape)))


def strata_of(evidence: Evidence) -> Strata:
    """The strata of some reports; one of all people if nothing is public."""
    design, tally = evidence.design, evidence.tally
    public = design.domain.public
    if not public:
        return Strata(evidence, (), np.zeros((1, 0), np.int64), np.ones(1), ())
    places = tuple(design.domain.index(name) for name in public)
    sizes = [design.domain.shape[j] for j in places]
    cells = []
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        at = {c.attributes[0]: j for j, c in enumerate(questionnaire.clusters)}
        cells.append(cells_of([group.codes[at[name]] for name in public], sizes))
    met, of = np.unique(np.concatenate(cells), return_inverse=True)
    codes = np.stack(np.unravel_index(met, sizes), axis=1)
    if len(codes) > _MOST:
        raise EstimateError(
            f"the public attributes {', '.join(map(repr, public))} occur in {len(codes):,} "
            f"combinations (the most is {_MOST:,}); use method='product', or leave one out"
        )
    counts = np.concatenate([group.counts for group in tally.groups])
    shares = np.bincount(of.ravel(), counts, len(codes)) / tally.n
    ends = np.cumsum([len(each) for each in cells])[:-1]
    return Strata(evidence, places, codes, shares, tuple(np.split(of.ravel(), ends)))
