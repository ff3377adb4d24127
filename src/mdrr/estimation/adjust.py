"""RR-Adjustment (Algorithm 2): re-weight the randomized records to the estimated marginals.

This is raking. It keeps the randomized data's attenuated odds ratios, so it stays biased however
many people report, and it cannot revive a category that no randomized record has.

Reports that an engine holds are raked there: raking multiplies a report's weight by a factor for
each of its codes, so the factors are the whole state, and a pass adds up weights by code wherever
the reports are. That gives the weights that `rake` gives reports that are here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.joint import ProductJoint
from mdrr.estimation.mixture import MixtureJoint
from mdrr.estimation.product import product
from mdrr.estimation.project import Projection
from mdrr.estimation.raking import (
    CONTRADICTION,
    LARGEST,
    Adjustment,
    check_stop,
    margin_of,
    rake,
    reachable,
    why_stopped,
)
from mdrr.estimation.result import Estimate
from mdrr.estimation.strata import strata_of
from mdrr.matrix import Array
from mdrr.randomizer import Codes, cells_of
from mdrr.tallies import Away, Tally

_BLOCK = 1 << 14
"""The most cells of several margins that one pass adds up."""


@dataclass(frozen=True, eq=False)
class Factors:
    """A factor for each code: the product of a report's is its weight, n times its own share.

    `clusters[j]` are the clusters that the factors `values[j]` are about, together; `sizes` says
    how many codes each cluster of the questionnaire has.
    """

    clusters: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    values: tuple[Array, ...]

    def cells(self, codes: Sequence[Codes], margin: int) -> npt.NDArray[np.int64]:
        """Where reports stand in a margin."""
        met = self.clusters[margin]
        return cells_of([codes[c] for c in met], [self.sizes[c] for c in met])

    def weights(self, codes: Sequence[Codes]) -> Array:
        """The weight of each report, `(k,)`."""
        found = np.ones(len(codes[0]))
        for j, values in enumerate(self.values):
            found *= values[self.cells(codes, j)]
        return found


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
        tally: the reports, to one questionnaire. Of sums the sample is re-weighted.
        design: how they were made; every matrix must report cells.
        projection: how each cluster's estimate becomes proper (see `product`).
        tolerance: largest distance of a margin from its target.
        sweeps: the most sweeps.

    Returns:
        An estimate whose joint is the weighted randomized records; `notes["adjustment"]` says
        why it stopped.
    """
    _check(design)
    tally.need_reports("adjustment")
    base = product(tally, design, projection=projection)
    group, homes = tally.groups[0], _homes(design)
    assert isinstance(base.joint, ProductJoint)
    noisy = [factor for factor in base.joint.factors if factor.names[0] not in design.domain.public]
    targets = [factor.values.ravel() for factor in noisy]
    codes_of = [group.codes[homes[factor.names]] for factor in noisy]
    strata = strata_of(base.evidence)
    if strata.places:  # what is public together is known; raked last, it is met exactly
        targets.append(strata.shares)
        codes_of.append(strata.of[0])
    found = rake(codes_of, targets, group.counts, tolerance=tolerance, sweeps=sweeps)
    columns: dict[str, Codes] = {}
    for cluster, codes in zip(design.clusters, group.codes, strict=True):
        parts = np.unravel_index(codes.astype(np.int64), design.shape(cluster))
        columns.update(zip(cluster.attributes, parts, strict=True))
    ordered = [columns[name] for name in design.domain.names]
    joint = MixtureJoint.of_records(design.domain, ordered, found.weights)
    notes = {
        "projection": projection,
        "adjustment": found,
        "unreached": tuple(("+".join(noisy[j].names), code) for j, code in found.unreached),
    }
    return Estimate("adjust", strata.settled(joint), base.evidence, notes)


def adjust_away(
    away: Away,
    tally: Tally,
    design: Design,
    *,
    projection: Projection | str = "euclidean",
    tolerance: float = 1e-9,
    sweeps: int = 1000,
) -> tuple[Factors, Adjustment]:
    """The factors whose products weigh reports that an engine holds, and why raking stopped.

    The tally is of the same reports; its margins give the targets. The rest is as in `adjust`.
    """
    _check(design)
    base = product(tally, design, projection=projection)
    assert isinstance(base.joint, ProductJoint)
    homes, public = _homes(design), design.domain.public
    factors = sorted(base.joint.factors, key=lambda factor: factor.names[0] in public)
    clusters = [
        (homes[f.names],) if f.names in homes else tuple(homes[(name,)] for name in f.names)
        for f in factors
    ]
    targets = [factor.values.ravel() for factor in factors]
    (sizes,) = design.outcomes
    return rake_away(away, clusters, targets, sizes, tolerance=tolerance, sweeps=sweeps)


def _homes(design: Design) -> dict[tuple[str, ...], int]:
    """Which cluster has these attributes."""
    return {cluster.attributes: at for at, cluster in enumerate(design.clusters)}


def _check(design: Design) -> None:
    """Refuse designs whose reports are not whole records."""
    if len(design.questionnaires) > 1:
        raise EstimateError(
            "adjustment re-weights whole records; with several questionnaires nobody reports one. "
            "Use the method 'auto' for tables and counts, synthesize (mdrr synth) for records"
        )
    strange = [c.name for c in design.clusters if not c.matrix.reports_cells]
    if strange:
        raise EstimateError(
            f"the reports of {strange[0]!r} are not cells and cannot be re-weighted"
        )


def rake_away(
    away: Away,
    clusters: Sequence[tuple[int, ...]],
    targets: Sequence[Array],
    sizes: Sequence[int],
    *,
    tolerance: float = 1e-9,
    sweeps: int = 1000,
) -> tuple[Factors, Adjustment]:
    """Algorithm 2 over reports to one questionnaire: the factors, and why it stopped.

    One pass adds up the weights in the cells of a block of margins, which are then scaled one after
    the other here, as `rake` would. Each target is about some clusters together; `sizes` says how
    many codes each cluster has. The other arguments are those of `rake`.
    """
    check_stop(tolerance, sweeps)
    values = [np.ones(len(target)) for target in targets]
    blocks = _blocks([len(target) for target in targets])

    def table_of(block: tuple[int, ...]) -> Array:
        factors = Factors(tuple(clusters), tuple(sizes), tuple(values))
        found = away.add_up(_weights_in, (factors, block)) / away.n
        return found.reshape([len(targets[j]) for j in block])

    tables = [table_of(block) for block in blocks]
    margins = [margin_of(table, at) for table in tables for at in range(table.ndim)]
    wanted, unreached = reachable(margins, targets)
    table, residual, used = tables[0], np.inf, 0
    while used < sweeps and not residual < tolerance:
        used, residual = used + 1, 0.0
        for block in blocks:
            if used > 1 or block is not blocks[0]:
                table = table_of(block)
            for at, j in enumerate(block):
                total = margin_of(table, at)
                residual = max(residual, float(np.abs(total - wanted[j]).max()))
                factor = np.divide(wanted[j], total, out=np.zeros_like(total), where=total > 0)
                values[j] = values[j] * factor
                table = table * factor.reshape(
                    [-1 if axis == at else 1 for axis in range(table.ndim)]
                )
        if not table.sum() > 0:
            raise EstimateError(CONTRADICTION)
        if max(float(each.max()) for each in values) > LARGEST:
            raise EstimateError(
                "no weights meet all targets, and raking drives some of them to 0 without end. "
                f"After {used} sweeps no margin was further than {residual:.2g} from its target: "
                f"give sweeps={max(used // 2, 1)}, or a tolerance above that"
            )
        values[-1] = values[-1] / table.sum()
    found = Adjustment(np.empty(0), residual, used, why_stopped(residual, tolerance), unreached)
    return Factors(tuple(clusters), tuple(sizes), tuple(values)), found


def _weights_in(tally: Tally, design: Design, state: tuple[Factors, Any]) -> Array:
    """Where the reports are: their weights, added up by the cells of some margins."""
    factors, block = state
    (group,) = tally.groups
    shape = [len(factors.values[j]) for j in block]
    cells = cells_of([factors.cells(group.codes, j) for j in block], shape)
    weights = group.counts * factors.weights(group.codes)
    return np.asarray(np.bincount(cells, weights, math.prod(shape)), np.float64)


def _blocks(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Margins in order, as many together as have few cells."""
    blocks: list[tuple[int, ...]] = []
    for j, size in enumerate(sizes):
        if blocks and math.prod(sizes[i] for i in blocks[-1]) * size <= _BLOCK:
            blocks[-1] += (j,)
        else:
            blocks.append((j,))
    return blocks
