"""The paper's estimator: each cluster inverted on its own, clusters taken as independent.

One questionnaire gives one factor per cluster (Protocols 1 and 2, RR-Clusters). With several
questionnaires each attribute is pooled over all clusters that hold it.
"""

from __future__ import annotations

import numpy as np

from mdrr.design import Cluster, Design
from mdrr.errors import EstimateError
from mdrr.estimation.invert import bayesian_update, frequencies
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.margins import smoothed
from mdrr.estimation.project import Projection, project
from mdrr.estimation.result import Estimate
from mdrr.estimation.smooth import Smoothed
from mdrr.estimation.unbiased import unbiased
from mdrr.estimation.variance import Part, ProductSpread
from mdrr.matrix import Array, Constant
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
        An estimate whose joint is a product of factors.
    """
    tally.check(design)
    if not tally.n:
        raise EstimateError("the tally is empty: there are no reports to estimate from")
    homes = _homes(tally, design)
    raw, proper, smoothing = [], [], {}
    for names, parts in homes:
        values = _pooled(names, parts, tally, design)
        raw.append(Factor(names, values))
        if (smooth := _smoothed(names, tally, design)) is not None:
            proper.append(Factor(names, smooth.distribution))
            smoothing[names[0]] = smooth.strength
        elif projection == "bayes":
            proper.append(Factor(names, _bayes(parts, tally, design).reshape(values.shape)))
        else:
            proper.append(Factor(names, project(values, projection)))  # type: ignore[arg-type]
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="product",
        joint=ProductJoint(design.domain, tuple(proper)),
        spread=ProductSpread(
            tally, design, ProductJoint(design.domain, tuple(raw)), tuple(p for _, p in homes)
        ),
        notes={"projection": projection, "smoothing": smoothing},
    )


def _homes(tally: Tally, design: Design) -> list[tuple[tuple[str, ...], tuple[Part, ...]]]:
    """The factors and the clusters each is estimated from, with pooling weights."""
    if len(design.questionnaires) == 1:
        return [(c.attributes, (Part(0, i, 1.0),)) for i, c in enumerate(design.clusters)]
    homes: list[tuple[tuple[str, ...], tuple[Part, ...]]] = []
    for name in design.domain.names:
        found = []
        for q, (questionnaire, group) in enumerate(
            zip(design.questionnaires, tally.groups, strict=True)
        ):
            for c, cluster in enumerate(questionnaire.clusters):
                if name in cluster.attributes and group.n:
                    found.append((q, c, group.n / _noise(name, cluster, design)))
        if not found:
            raise EstimateError(f"nobody has reported {name!r} yet: it cannot be estimated")
        total = sum(weight for _, _, weight in found)
        homes.append(((name,), tuple(Part(q, c, w / total) for q, c, w in found)))
    return homes


def _noise(name: str, cluster: Cluster, design: Design) -> float:
    """The variance of one report's score for one category, as if all cells were equally likely."""
    matrix = cluster.matrix
    share = 1 / design.domain.attribute(name).size
    if isinstance(matrix, Constant):
        inside = matrix.signal * share + matrix.floor * matrix.cells * share
        return inside * (1 - inside) / matrix.signal**2
    shape = design.shape(cluster)
    category = np.zeros(shape)
    category[(slice(None),) * cluster.attributes.index(name) + (0,)] = 1
    scores = matrix.scores(category.ravel())
    shares = matrix.forward(np.full(matrix.cells, 1 / matrix.cells))
    return float(shares @ scores**2 - (shares @ scores) ** 2)


def _pooled(names: tuple[str, ...], parts: tuple[Part, ...], tally: Tally, design: Design) -> Array:
    """The weighted mean of the unbiased estimates of some attributes' distribution."""
    total = np.zeros(design.domain.project(names).shape)
    for part in parts:
        cluster = design.questionnaires[part.questionnaire].clusters[part.cluster]
        shares = frequencies(tally.groups[part.questionnaire].marginal(part.cluster))
        values = cluster.matrix.solve(shares).reshape(design.shape(cluster))
        gone = tuple(i for i, name in enumerate(cluster.attributes) if name not in names)
        total += part.weight * values.sum(axis=gone)
    return total


def _smoothed(names: tuple[str, ...], tally: Tally, design: Design) -> Smoothed | None:
    """The smoothed estimate of an attribute that has banded matrices to itself."""
    found = unbiased(tally, design, names) if len(names) == 1 else None
    return None if found is None else smoothed(found)


def _bayes(parts: tuple[Part, ...], tally: Tally, design: Design) -> Array:
    if len(design.questionnaires) > 1:
        raise EstimateError(
            "projection='bayes' needs a design with one questionnaire; use 'euclidean' or 'clip'"
        )
    (part,) = parts
    counts = tally.groups[0].marginal(part.cluster)
    return bayesian_update(counts, design.clusters[part.cluster].matrix).distribution
