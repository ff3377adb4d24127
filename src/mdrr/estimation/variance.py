"""Standard errors from influence: what one more report of each kind would change.

The unbiased estimate of a linear functional w·π through a matrix is the mean over people of
f(y) = scores(w)(y), since E[f(Y) | x] = w(x). A probability under a product of factors is
multilinear, so to first order it is the sum over factors of such means with w the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.design import Design
from mdrr.estimation.joint import Factor, ProductJoint, marginal, tied
from mdrr.estimation.result import Deviation, Of
from mdrr.estimation.unbiased import of_query
from mdrr.matrix import Array, Matrix
from mdrr.query import Query
from mdrr.tallies import Tally


@dataclass(frozen=True)
class Part:
    """A share of a factor's estimate: the cluster of a questionnaire it was inverted from."""

    questionnaire: int
    cluster: int
    weight: float


@dataclass(frozen=True, eq=False)
class ProductSpread:
    """The spread of a product of factors, each pooled from clusters that hold its attributes.

    Arguments:
        tally: the reports.
        design: how they were made.
        raw: the product of the unbiased factors, before projection.
        parts: for each factor, where its estimate came from; weights sum to 1.
    """

    tally: Tally
    design: Design
    raw: ProductJoint
    parts: tuple[tuple[Part, ...], ...]

    def deviation(self, query: Query, of: Of, /) -> Deviation:
        """The unbiased mass and its standard error, clusters' covariance included.

        What one factor tells is the unbiased count of its attributes (`unbiased.py`). Otherwise,
        for the people who reported, only the randomization varies: given the true records the
        clusters' noises are independent, so Σ_C (E[f_C²] − E[w_C²]) / n. For a population the
        records vary too: Var(Σ_C f_C) / n, about the mean that all questionnaires together give,
        so that one asked of a single person counts as well, and never less than the noise alone.
        With several questionnaires the people's interval is the population's: who was asked what
        is random too.
        """
        names = set(query.attributes)
        one = names and any(names <= set(factor.names) for factor in self.raw.factors)
        if one and (known := of_query(self.tally, self.design, query, of)):
            return known
        gradients = gradient(query, self.raw)
        alone = len(self.design.questionnaires) == 1
        variance = 0.0
        for q, group in enumerate(self.tally.groups):
            if not group.n:
                continue
            scores = np.zeros(len(group.counts))
            mean, noise = 0.0, 0.0
            for factor, slope, parts in zip(self.raw.factors, gradients, self.parts, strict=True):
                for part in parts if slope is not None else ():
                    if part.questionnaire != q or slope is None:
                        continue
                    wanted = part.weight * self._widened(factor, slope, part)
                    found = self._matrix(part).scores(wanted)
                    scores += found[group.codes[part.cluster]]
                    mean += part.weight * float((slope * factor.values).sum())
                    shares = group.marginal(part.cluster) / group.n
                    noise += float(shares @ found**2)
                    noise -= float(self._matrix(part).solve(shares) @ wanted**2)
            if of == "people" and alone:
                variance += max(noise, 0.0) / group.n
            else:
                moment = float((scores - mean) ** 2 @ group.counts) / group.n
                variance += max(moment, noise) / group.n
        return Deviation(self.raw.mass(query), math.sqrt(variance))

    def _matrix(self, part: Part) -> Matrix:
        return self.design.questionnaires[part.questionnaire].clusters[part.cluster].matrix

    def _widened(self, factor: Factor, slope: Array, part: Part) -> Array:
        """A functional on a factor as one on the cells of the cluster that reported it."""
        cluster = self.design.questionnaires[part.questionnaire].clusters[part.cluster]
        shape = self.design.shape(cluster)
        axes = tuple(
            size if name in factor.names else 1
            for name, size in zip(cluster.attributes, shape, strict=True)
        )
        return np.broadcast_to(slope.reshape(axes), shape).ravel()


def gradient(query: Query, joint: ProductJoint) -> list[Array | None]:
    """∂mass/∂(each factor), with the factor's shape; None where the query does not look."""
    masses = []
    found: list[Array | None] = [None] * len(joint.factors)
    groups = list(tied(query, joint.factors))
    for terms in groups:
        part = Query(joint.domain, terms)
        masses.append(float(joint.table(part.attributes)[part.mask()].sum()))
    for at, terms in enumerate(groups):
        others = math.prod(masses[:at] + masses[at + 1 :])
        part = Query(joint.domain, terms)
        names = part.attributes
        mask = part.mask().astype(np.float64)
        for i, factor in enumerate(joint.factors):
            mine = [name for name in factor.names if name in names]
            if not mine:
                continue
            slope = _contract(mask, names, mine, [f for f in joint.factors if f is not factor])
            shape = [
                s if n in mine else 1
                for n, s in zip(factor.names, factor.values.shape, strict=True)
            ]
            found[i] = others * np.broadcast_to(slope.reshape(shape), factor.values.shape)
    return found


def _contract(
    mask: Array, names: Sequence[str], kept: Sequence[str], factors: Sequence[Factor]
) -> Array:
    """The mask summed against the other factors' marginals, over all axes but the kept ones."""
    operands: list[object] = [mask, list(range(len(names)))]
    for factor in factors:
        met = [name for name in factor.names if name in names]
        if met:
            operands += [marginal(factor, met), [names.index(name) for name in met]]
    operands.append([names.index(name) for name in kept])
    return np.asarray(np.einsum(*operands, optimize=True))  # type: ignore[call-overload]
