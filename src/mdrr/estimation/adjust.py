"""RR-Adjustment (Algorithm 2): re-weight the randomized records to the estimated marginals.

This is raking. It keeps the randomized data's attenuated odds ratios, so it stays biased however
many people report, and it cannot revive a category that no randomized record has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse.linalg
from scipy import sparse

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.joint import ProductJoint, WeightedJoint, typed
from mdrr.estimation.product import product
from mdrr.estimation.project import Projection
from mdrr.estimation.result import Deviation, Estimate, Of
from mdrr.estimation.unbiased import of_query
from mdrr.matrix import Array
from mdrr.query import Query
from mdrr.randomizer import Codes, smallest_unsigned
from mdrr.tallies import Tally

_MOST_DENSE = 2000
"""Margins with more categories than this are regressed on without a dense matrix."""


@dataclass(frozen=True, eq=False)
class Adjustment:
    """The weights found, how far the margins are from their targets, and why it stopped."""

    weights: Array
    residual: float
    sweeps: int
    stopped: Literal["tolerance", "sweeps"]
    unreached: tuple[tuple[int, int], ...] = ()


def rake(
    columns: Sequence[Codes],
    targets: Sequence[Array],
    start: npt.ArrayLike,
    *,
    tolerance: float = 1e-9,
    sweeps: int = 1000,
) -> Adjustment:
    """Algorithm 2: scale weights to each target marginal in turn until none moves.

    Arguments:
        columns: codes of the records, one `(k,)` array per attribute or cluster.
        targets: the wanted distribution of each, `(s,)`, summing to 1.
        start: initial weights, `(k,)`; how often each record occurs, or all ones.
        tolerance: stop when no margin is further than this from its target before a sweep's end.
        sweeps: stop after so many sweeps.

    Returns:
        The weights, summing to 1. Target mass on categories that no record has cannot be reached:
        those are listed in `unreached` as (column, code), and the rest is rescaled to sum 1.

    Example:
        The paper's toy data set ends at (1/2, 0, 0, 1/2).

        >>> first, second = np.array([0, 1, 1]), np.array([0, 0, 1])
        >>> half = np.array([0.5, 0.5])
        >>> found = rake([first, second], [half, half], [4, 2, 4], tolerance=1e-4, sweeps=10_000)
        >>> found.weights.round(3), found.stopped
        (array([0.5, 0. , 0.5]), 'tolerance')
    """
    weights = np.array(start, dtype=np.float64)
    _check_stop(tolerance, sweeps)
    _check_margins(columns, targets, weights)
    weights /= weights.sum()
    unreached: list[tuple[int, int]] = []
    wanted = []
    for j, (column, target) in enumerate(zip(columns, targets, strict=True)):
        seen = np.bincount(column, weights=weights, minlength=len(target)) > 0
        unreached += [(j, int(v)) for v in np.flatnonzero(~seen & (target > 0))]
        mass = target[seen].sum()
        if not mass > 0:
            raise EstimateError(f"no record has a category that target {j} allows")
        wanted.append(np.where(seen, target, 0) / mass)
    starts = np.cumsum([0, *map(len, wanted)])
    kind = smallest_unsigned(max(map(len, wanted)))
    codes = np.stack([column.astype(kind) for column in columns])
    residual, used = _scale(codes, np.concatenate(wanted), starts, weights, tolerance, sweeps)
    if residual < 0:
        raise EstimateError(
            "the targets contradict the randomized records: no record is left with weight"
        )
    stopped: Literal["tolerance", "sweeps"] = "tolerance" if residual < tolerance else "sweeps"
    return Adjustment(weights, residual, used, stopped, tuple(unreached))


@numba.njit(cache=True, nogil=True)
def _scale(
    codes: Codes,
    wanted: Array,
    starts: npt.NDArray[np.int64],
    weights: Array,
    tolerance: float,
    sweeps: int,
) -> tuple[float, int]:
    """Rake the weights in place; gives the residual (−1 when no weight is left) and the sweeps.

    Scaling to one margin and summing for the next happen in the same pass over the records. Four
    sets of sums are kept, so that records of the same category do not wait for each other.
    """
    m, n = codes.shape
    sums = np.zeros((4, np.max(np.diff(starts))))
    factors = np.empty(sums.shape[1])
    for i in range(n):
        sums[0, codes[0, i]] += weights[i]
    residual = np.inf
    for sweep in range(1, sweeps + 1):
        residual = 0.0
        for j in range(m):
            target = wanted[starts[j] : starts[j + 1]]
            for v in range(len(target)):
                total = sums[0, v] + sums[1, v] + sums[2, v] + sums[3, v]
                residual = max(residual, abs(total - target[v]))
                factors[v] = target[v] / total if total > 0 else 0.0
            sums[:] = 0.0
            here, after = codes[j], codes[(j + 1) % m]
            for i in range(0, n - 3, 4):
                for k in range(4):
                    scaled = weights[i + k] * factors[here[i + k]]
                    weights[i + k] = scaled
                    sums[k, after[i + k]] += scaled
            for i in range(n - n % 4, n):
                scaled = weights[i] * factors[here[i]]
                weights[i] = scaled
                sums[0, after[i]] += scaled
        whole = sums.sum()
        if not whole > 0:
            return -1.0, sweep
        weights /= whole  # below 1 where a margin lost the records of a wanted category
        sums /= whole
        if residual < tolerance:
            return residual, sweep
    return residual, sweeps


def _check_stop(tolerance: float, sweeps: int) -> None:
    if not tolerance >= 0:
        raise EstimateError(f"tolerance={tolerance} must be 0 or more")
    if sweeps < 1:
        raise EstimateError(f"sweeps={sweeps}: there must be at least one")


def _check_margins(columns: Sequence[Codes], targets: Sequence[Array], weights: Array) -> None:
    if not len(weights) or not weights.sum() > 0:
        raise EstimateError("there are no reports to adjust")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise EstimateError("the weights to start from must be finite and not negative")
    if not columns or len(columns) != len(targets):
        raise EstimateError(f"{len(columns)} columns and {len(targets)} targets: give one for each")
    for j, (column, target) in enumerate(zip(columns, targets, strict=True)):
        if not np.isfinite(target).all() or (target < 0).any() or abs(target.sum() - 1) > 1e-6:
            raise EstimateError(f"target {j} is not a distribution: not negative, summing to 1")
        if len(column) != len(weights) or column.min() < 0 or column.max() >= len(target):
            raise EstimateError(
                f"column {j} needs one code per record, each in 0…{len(target) - 1}"
            )


def adjust(
    tally: Tally,
    design: Design,
    *,
    projection: Projection | str = "euclidean",
    tolerance: float = 1e-9,
    sweeps: int = 1000,
) -> Estimate:
    """RR-Adjustment over the design's clusters (over attributes when each is alone).

    Arguments:
        tally: the reports, to one questionnaire.
        design: how they were made; every matrix must report cells.
        projection: how each cluster's estimate becomes proper (see `product`).
        tolerance: largest distance of a margin from its target.
        sweeps: the most sweeps.

    Returns:
        An estimate whose joint is the weighted randomized records; `notes["adjustment"]` says
        why it stopped.
    """
    if len(design.questionnaires) > 1:
        raise EstimateError(
            "adjustment re-weights whole records; with several questionnaires nobody reports one. "
            "Use method='auto' for tables and counts, synthesize (mdrr synth) for records"
        )
    strange = [c.name for c in design.clusters if not c.matrix.reports_cells]
    if strange:
        raise EstimateError(
            f"the reports of {strange[0]!r} are not cells and cannot be re-weighted"
        )
    base = product(tally, design, projection=projection)
    group = tally.groups[0]
    assert isinstance(base.joint, ProductJoint)
    targets = [factor.values.ravel() for factor in base.joint.factors]
    found = rake(group.codes, targets, group.counts, tolerance=tolerance, sweeps=sweeps)
    columns: dict[str, Codes] = {}
    for cluster, codes in zip(design.clusters, group.codes, strict=True):
        parts = np.unravel_index(codes.astype(np.int64), design.shape(cluster))
        columns.update(zip(cluster.attributes, parts, strict=True))
    ordered = typed([columns[name] for name in design.domain.names], design.domain)
    joint = WeightedJoint(design.domain, tuple(ordered), found.weights)
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="adjust",
        joint=joint,
        spread=AdjustedSpread(tally, design, joint),
        notes={
            "projection": projection,
            "adjustment": found,
            "unreached": tuple((design.clusters[j].name, code) for j, code in found.unreached),
        },
    )


@dataclass(frozen=True, eq=False)
class AdjustedSpread:
    """The sampling spread of raked weights, linearized as a regression estimator.

    Raking and the generalized regression estimator agree to first order (Deville and Särndal
    1992): a set's weighted share varies like the residual of its indicator on the margins, plus
    the fitted part carried by the margins' own estimates, before they were made proper. What one
    cluster tells is its unbiased count. The bias of RR-Adjustment is not in it.
    """

    tally: Tally
    design: Design
    joint: WeightedJoint

    @cached_property
    def _margins(self) -> sparse.csr_array:
        """Which category of each cluster every distinct report has, `(k, Σ s)`."""
        group = self.tally.groups[0]
        offsets = np.cumsum([0, *group.sizes[:-1]])
        rows = np.tile(np.arange(len(group.counts)), len(group.codes))
        columns = np.concatenate(
            [codes.astype(np.int64) + at for codes, at in zip(group.codes, offsets, strict=True)]
        )
        shape = (len(group.counts), sum(group.sizes))
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    @cached_property
    def _inverse(self) -> Array:
        margins = self._margins
        weighted = sparse.diags_array(self.joint.weights) @ margins
        return np.linalg.pinv((margins.T @ weighted).toarray(), hermitian=True)

    def _regressed(self, inside: Array) -> Array:
        """The coefficients of an indicator on the margins, by weighted least squares."""
        weights = self.joint.weights
        if self._margins.shape[1] <= _MOST_DENSE:
            return np.asarray(self._inverse @ (self._margins.T @ (weights * inside)))
        root = np.sqrt(weights)
        found = scipy.sparse.linalg.lsqr(
            sparse.diags_array(root) @ self._margins, root * inside, atol=1e-9, btol=1e-9
        )
        return np.asarray(found[0])

    def deviation(self, query: Query, of: Of, /) -> Deviation:
        """The adjusted share and its standard error; across clusters it is the population's."""
        group = self.tally.groups[0]
        asked = set(query.attributes)
        one = asked and any(asked <= set(c.attributes) for c in self.design.clusters)
        if one and group.n > 1 and (deviation := of_query(self.tally, self.design, query, of)):
            return deviation
        weights = self.joint.weights
        names = self.design.domain.names
        inside = query.holds(dict(zip(names, self.joint.columns, strict=True))).astype(np.float64)
        beta = self._regressed(inside)
        scores = (weights * group.n / group.counts) * (inside - self._margins @ beta)
        at = 0
        for cluster, codes, size in zip(
            self.design.clusters, group.codes, group.sizes, strict=True
        ):
            scores += cluster.matrix.scores(beta[at : at + size])[codes]
            at += size
        shares = group.counts / group.n
        if group.n == 1:
            return Deviation(float(weights @ inside), 1.0)  # one report tells nothing of spread
        centre = float(scores @ shares)
        variance = float(((scores - centre) ** 2) @ shares) / (group.n - 1)
        return Deviation(centre, float(np.sqrt(variance)))
