"""Reports as records: what each says of its own person, given the latent classes.

Given a class, a report y of a wide cluster is the truth with probability g = s·φ(y)/(s·φ(y) + o).
With g near 1 it is a record, worth more than any class; with g near 0 it says only which class its
person may be in. So the joint of all people, given their reports, is Σ_i r_iz (g·record + (1 − g)·
class): one step of EM from the classes towards the reports themselves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.estimation.mixture import MixtureJoint, Pinned
from mdrr.groups import Group
from mdrr.matrix import Array, Constant, Public
from mdrr.randomizer import smallest_unsigned
from mdrr.tallies import Tally

_WIDE = 3
"""Attributes of a cluster from which on its records are kept: pair tables carry the others."""
_MOST_RECORDS = 2**15
"""The most records in a joint; what is left of the others stays with their classes."""
_FAINT = 1e-3
"""A record is worth keeping if it stands for so much of a person."""
_CHUNK = 16_384
_MOST = 50.0
"""The most by which a likelihood is scaled up, as a logarithm."""


def with_records(mixture: MixtureJoint, tally: Tally, design: Design) -> MixtureJoint:
    """Latent classes fitted to the reports, with those that are nearly records as such.

    Where one attribute is public (`mdrr.estimation.strata` makes it the last) every record holds
    it, and what stays with the classes stays with them in each of its categories.
    """
    strata = mixture.tables[-1] if design.domain.public else np.ones((1, len(mixture.weights)))
    left = np.zeros_like(strata)
    groups: list[Pinned] = []
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        if not group.n:
            continue
        pins = _wide(questionnaire, design)
        if not pins:
            left += group.n / tally.n * mixture.weights * strata
            continue
        known, rest = _records(mixture, tally.n, group, questionnaire, design, pins)
        np.add.at(left, *rest)
        groups.append(known)
    if not groups:
        return mixture
    left, groups = _trimmed(left, groups, 1 / tally.n)
    if not design.domain.public:
        return MixtureJoint(mixture.domain, left[0], mixture.tables, tuple(groups))
    last = len(design.domain) - 1
    codes = np.arange(len(left)).astype(smallest_unsigned(max(design.domain.shape)))[:, None]
    groups.append(Pinned((last,), codes, left))
    none = np.zeros_like(mixture.weights)
    return MixtureJoint(mixture.domain, none, mixture.tables, tuple(groups))


def _wide(questionnaire: Questionnaire, design: Design) -> list[int]:
    """The clusters whose reports are taken as records: those that may well all be true."""
    wide = [
        (cluster.matrix.keep, at)
        for at, cluster in enumerate(questionnaire.clusters)
        if len(cluster.attributes) >= _WIDE and isinstance(cluster.matrix, Constant)
    ]
    chosen: list[int] = []
    together = 1.0
    for keep, at in sorted(wide, reverse=True):
        together *= keep
        if not chosen or together >= 0.5:
            chosen.append(at)
    if chosen:
        chosen += [j for j, c in enumerate(questionnaire.clusters) if isinstance(c.matrix, Public)]
    return sorted(chosen)


def _records(
    mixture: MixtureJoint,
    people: int,
    group: Group,
    questionnaire: Questionnaire,
    design: Design,
    pins: list[int],
) -> tuple[Pinned, tuple[npt.NDArray[np.int64], Array]]:
    """One questionnaire's records; and what of its people stays with the classes, in which stratum.

    Without a public attribute there is one stratum, 0.
    """
    weights, keeping, shares, rests = group.weights, [], [], []
    scales = {at: _underrated(mixture, group, questionnaire, design, at) for at in pins}
    for start in range(0, len(group.counts), _CHUNK):
        rows = slice(start, start + _CHUNK)
        like = np.repeat(mixture.weights[None], len(group.counts[rows]), axis=0)
        true = np.ones_like(like)
        for at, cluster in enumerate(questionnaire.clusters):
            codes = group.codes[at][rows]
            both, told = _told(mixture, cluster, codes, design, scales.get(at, 1.0))
            like *= both
            if at in pins and not isinstance(cluster.matrix, Public):
                true *= told / both
        sums = np.maximum(like.sum(axis=1), 1e-300)
        like *= (weights[rows] / people / sums)[:, None]
        known = like * true
        kept = known.sum(axis=1) > _FAINT / people
        rests.append(np.where(kept[:, None], like - known, like))
        shares.append(known[kept])
        keeping.append(kept)
    found = np.concatenate(keeping)
    columns: dict[int, Array] = {}
    for at in pins:
        cluster = questionnaire.clusters[at]
        digits = np.unravel_index(group.codes[at][found].astype(np.int64), design.shape(cluster))
        columns.update(zip(map(design.domain.index, cluster.attributes), digits, strict=True))
    places = tuple(sorted(columns))
    codes = np.stack([columns[j] for j in places], axis=1)
    small = codes.astype(smallest_unsigned(max(design.domain.shape)))
    strata = group.codes[-1] if design.domain.public else np.zeros(len(found))
    pinned = Pinned(places, small, np.concatenate(shares))
    return pinned, (strata.astype(np.int64), np.concatenate(rests))


def _underrated(
    mixture: MixtureJoint, group: Group, questionnaire: Questionnaire, design: Design, at: int
) -> float:
    """By how much to scale up φ of a cluster, so that no more reports than expected are untrue.

    With a the likelihood of a report as the truth and b that of any other, both over all classes
    and other clusters, it is untrue with probability b/(κa + b). The least κ ≥ 1 is wanted for
    which these sum to at most n·(1 − s).
    """
    matrix = questionnaire.clusters[at].matrix
    if isinstance(matrix, Public):
        return 1.0
    assert isinstance(matrix, Constant)
    true, others = np.empty(len(group.counts)), np.empty(len(group.counts))
    for start in range(0, len(true), _CHUNK):
        rows = slice(start, start + _CHUNK)
        like = np.repeat(mixture.weights[None], len(true[rows]), axis=0)
        for j, cluster in enumerate(questionnaire.clusters):
            if j != at:
                like *= _told(mixture, cluster, group.codes[j][rows], design)[0]
        others[rows] = like.sum(axis=1) * matrix.floor
        like *= _told(mixture, questionnaire.clusters[at], group.codes[at][rows], design)[1]
        true[rows] = like.sum(axis=1)

    def untrue(scale: float) -> float:
        parts = others / np.maximum(np.exp(scale) * true + others, 1e-300)
        return float(group.weights @ parts) - group.n * (1 - matrix.signal)

    if untrue(0.0) <= 0:
        return 1.0
    from scipy.optimize import brentq  # slow to import, and seldom needed

    return float(np.exp(brentq(untrue, 0.0, _MOST) if untrue(_MOST) < 0 else _MOST))


def _told(
    mixture: MixtureJoint, cluster: Cluster, codes: Array, design: Design, scale: float = 1.0
) -> tuple[Array, Array]:
    """P(code | class), and the part of it that is the truth's, both scaled: `(k, Z)` each."""
    matrix, shape = cluster.matrix, design.shape(cluster)
    cells, signal = np.arange(matrix.cells), 1.0
    if isinstance(matrix, Constant | Public):
        cells, signal = codes.astype(np.int64), scale * matrix.signal
    told = np.full((len(cells), len(mixture.weights)), signal)
    for name, digits in zip(cluster.attributes, np.unravel_index(cells, shape), strict=True):
        told *= mixture.tables[design.domain.index(name)][digits]
    if isinstance(matrix, Constant | Public):
        return told + matrix.floor, told
    met, at = np.unique(codes, return_inverse=True)
    both = (matrix.likelihood(met) @ told)[at.ravel()]
    return both, both


def _trimmed(left: Array, groups: list[Pinned], person: float) -> tuple[Array, list[Pinned]]:
    """Only the most telling records, where there are too many; what is left of the others."""
    sizes = [group.shares.sum(axis=1) for group in groups]
    every = np.sort(np.concatenate(sizes))[::-1]
    least = every[_MOST_RECORDS] if len(every) > _MOST_RECORDS else 0.0
    kept = []
    for group, size in zip(groups, sizes, strict=True):
        some = size > least
        if some.any() and group.shares[some].sum() > person:
            kept.append(Pinned(group.places, group.codes[some], group.shares[some]))
        else:
            some[:] = False
        strata = group.codes[:, -1].astype(np.int64) if len(left) > 1 else np.zeros(len(some), int)
        np.add.at(left, strata[~some], group.shares[~some])
    return left, kept
