"""The paper's estimator: each cluster inverted on its own, clusters taken as independent.

One questionnaire gives one factor per cluster (Protocols 1 and 2, RR-Clusters). With several
questionnaires each attribute is pooled over all clusters that hold it.
"""

from __future__ import annotations

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.evidence import Evidence, smoothed
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.project import Projection, project
from mdrr.estimation.result import Estimate
from mdrr.estimation.unbiased import view_of
from mdrr.estimation.update import bayesian_update
from mdrr.tallies import Tally


def product(
    tally: Tally, design: Design, *, projection: Projection | str = "euclidean"
) -> Estimate:
    """Estimate every cluster by (Pᵀ)⁻¹λ̂ and multiply (Protocol 1; RR-Clusters).

    Arguments:
        tally: the reports.
        design: how they were made.
        projection: how each cluster becomes a proper distribution: `"euclidean"` (nearest),
            `"clip"` (the paper's clip and rescale), or `"bayes"` (iterative Bayesian update; one
            questionnaire only). An attribute reported through a banded matrix is estimated by
            smoothed EM instead, whose inverse would be mostly noise.

    Returns:
        An estimate whose joint is a product of factors. It assumes that clusters are independent,
        but for public attributes: their joint distribution is known and is one factor.
    """
    evidence = Evidence(tally, design)
    if projection == "bayes" and len(design.questionnaires) > 1:
        raise EstimateError(
            "projection='bayes' needs a design with one questionnaire; use 'euclidean' or 'clip'"
        )
    if len(design.questionnaires) == 1:
        homes = [cluster.attributes for cluster in design.clusters]
    else:
        homes = [(name,) for name in design.domain.names]
    factors, smoothing = [], {}
    public = design.domain.public
    if len(public) > 1 and (known := evidence.table(public)) is not None:
        factors.append(Factor(public, known.values))
        homes = [names for names in homes if names[0] not in public]
    for names in homes:
        found = evidence.table(names) if len(names) == 1 else None
        if len(names) == 1 and found is None:
            raise EstimateError(f"nobody has reported {names[0]!r} yet: it cannot be estimated")
        if found is not None and (smooth := smoothed(found)) is not None:
            factors.append(Factor(names, smooth.distribution))
            smoothing[names[0]] = smooth.strength
        elif projection == "bayes":
            view = view_of(tally, design, 0, names)
            likeliest = bayesian_update(view.n * view.reported, view.axes[0]).distribution
            factors.append(Factor(names, likeliest.reshape(view.shape)))
        else:
            values = view_of(tally, design, 0, names).table() if found is None else found.values
            factors.append(Factor(names, project(values, projection)))  # type: ignore[arg-type]
    joint = ProductJoint(design.domain, tuple(factors))
    notes = {"projection": projection, "smoothing": smoothing}
    return Estimate("product", joint, evidence, notes)
