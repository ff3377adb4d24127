"""RR-Adjustment (Algorithm 2): re-weight the randomized records to the estimated marginals.

This is raking. It keeps the randomized data's attenuated odds ratios, so it stays biased however
many people report, and it cannot revive a category that no randomized record has.
"""

from __future__ import annotations

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.factored import Factors, rake_away
from mdrr.estimation.joint import ProductJoint, typed
from mdrr.estimation.mixture import MixtureJoint
from mdrr.estimation.product import product
from mdrr.estimation.project import Projection
from mdrr.estimation.raking import Adjustment, rake
from mdrr.estimation.result import Estimate
from mdrr.estimation.strata import strata_of
from mdrr.randomizer import Codes
from mdrr.tallies import Away, Tally


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
    ordered = typed([columns[name] for name in design.domain.names], design.domain)
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
            "Use method='auto' for tables and counts, synthesize (mdrr synth) for records"
        )
    strange = [c.name for c in design.clusters if not c.matrix.reports_cells]
    if strange:
        raise EstimateError(
            f"the reports of {strange[0]!r} are not cells and cannot be re-weighted"
        )
