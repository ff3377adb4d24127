"""EM for latent classes seen through a design, and what it needs.

Responsibilities r_iz ∝ w_z Π_C P_C(y_iC | z); then
θ_zj(v) ∝ Σ_i r_iz · P(x_ij = v, not noise | z, y_i) + α·π_j(v) and w_z ∝ Σ_i r_iz + α
(Dempster, Laird and Rubin 1977; Goodman 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from mdrr.design import Design
from mdrr.domain import Domain
from mdrr.estimation.channel import Cells, Stack, multiplied, stacks
from mdrr.estimation.kernel import add_cells, in_parts
from mdrr.estimation.mixture import MixtureJoint
from mdrr.matrix import Array
from mdrr.tallies import Away, Tally

Reports: TypeAlias = Sequence[Stack | Cells | Away]

_PEOPLE = 10.0
"""A stratum of public answers has the classes' shares of 10·α people before anyone is looked at."""


@dataclass(frozen=True, eq=False)
class Fit:
    """One run of EM: where it ended, how well the reports fit, and why it stopped."""

    mixture: MixtureJoint
    log_likelihood: float
    passes: int
    stopped: Literal["tolerance", "passes"]


def random_start(domain: Domain, margins: Sequence[Array], classes: int, seed: int) -> MixtureJoint:
    """Classes that scatter at random around the attributes' own distributions.

    But for public ones: those are known, and classes that start apart there take long to find what
    the others have in common.
    """
    rng = np.random.default_rng(seed)
    tables = []
    for attribute, margin in zip(domain.attributes, margins, strict=True):
        apart = classes > 1 and not attribute.public
        scatter = rng.gamma(2.0, 1.0, (len(margin), classes)) if apart else 1.0
        table = (margin[:, None] + 1e-3) * scatter * np.ones((1, classes))
        tables.append(table / table.sum(axis=0))
    return MixtureJoint(domain, np.full(classes, 1 / classes), tuple(tables))


def em(
    reports: Reports,
    start: MixtureJoint,
    margins: Sequence[Array],
    *,
    passes: int,
    prior: float,
    tolerance: float = 1e-9,
) -> Fit:
    """EM from a start, for some passes or until a pass gains less than the tolerance a report."""
    n = sum(float(s.counts.sum()) if isinstance(s, Stack | Cells) else s.n for s in reports)
    mixture, last = start, -np.inf
    for done in range(1, passes + 1):
        mixture, value = step(reports, mixture, margins, prior)
        if 0 <= value - last < tolerance * n:
            return Fit(mixture, value, done, "tolerance")
        last = value
    return Fit(mixture, last, passes, "passes")


def step(
    reports: Reports, mixture: MixtureJoint, margins: Sequence[Array], prior: float
) -> tuple[MixtureJoint, float]:
    """One EM pass over the reports: the next mixture, and the log-likelihood of the one given."""
    domain, classes = mixture.domain, len(mixture.weights)
    tables = _stacked(mixture)
    sums = np.repeat(prior * np.concatenate([*margins, [0.0]])[:, None], classes, axis=1)
    ends = np.cumsum(domain.shape)
    starts = ends - np.array(domain.shape)
    for name in domain.public:  # strata: so many more people each, in the classes' shares
        j = domain.index(name)
        sums[starts[j] : ends[j]] = _PEOPLE * prior * mixture.weights
    sizes = np.full(classes, prior)
    value = sum(_visit(stack, tables, mixture.weights, sums, sizes) for stack in reports)
    mass = np.repeat(np.add.reduceat(sums[:-1], starts), domain.shape, axis=0)
    found = np.divide(sums[:-1], mass, out=tables[:-1], where=mass > 0)
    return MixtureJoint(domain, sizes / sizes.sum(), tuple(np.split(found, ends[:-1]))), value


def log_likelihood(reports: Reports, mixture: MixtureJoint) -> float:
    """Of the reports under a mixture."""
    tables, weights = _stacked(mixture), mixture.weights
    return sum(_visit(stack, tables, weights, None, np.zeros_like(weights)) for stack in reports)


def _stacked(mixture: MixtureJoint) -> Array:
    """The attributes' tables and a row of ones below them."""
    return np.concatenate([*mixture.tables, np.ones((1, len(mixture.weights)))])


def _visit(
    stack: Stack | Cells | Away, tables: Array, weights: Array, sums: Array | None, sizes: Array
) -> float:
    """The log-likelihood of some reports; what they say is added to `sums` and `sizes`."""
    if not isinstance(stack, Stack | Cells):  # asking whether it is Away, a protocol, takes long
        found = stack.add_up(_visited, (tables, weights, sums is not None))
        if sums is not None:
            sizes += found[1 : 1 + len(sizes)]
            sums += found[1 + len(sizes) :].reshape(sums.shape)
        return float(found[0])
    phi, like = stack.seen.likelihood(tables) if isinstance(stack, Stack) else (tables, tables)
    together = multiplied(like, stack.places.cells)

    def part(start: int, stop: int) -> tuple[float, Array, Array]:
        tallied, counted = np.zeros_like(together), np.zeros_like(weights)
        value = stack.expect(start, stop, together, weights, tallied, counted)
        return value, tallied, counted

    parts = in_parts(len(stack.counts), part)
    if sums is not None:
        sizes += sum(p[2] for p in parts)
        tallied = np.zeros_like(like) if isinstance(stack, Stack) else sums
        add_cells(tallied, sum((p[1] for p in parts[1:]), parts[0][1]), stack.places.cells)
        if isinstance(stack, Stack):
            stack.seen.collect(phi, like, tallied, sums)
    return sum(p[0] for p in parts)


def _visited(tally: Tally, design: Design, state: tuple[Array, Array, bool]) -> Array:
    """Where the reports are: their log-likelihood, and if asked what they add to sizes and sums."""
    tables, weights, wanted = state
    sums, sizes = np.zeros_like(tables), np.zeros_like(weights)
    into = sums if wanted else None
    value = sum(_visit(stack, tables, weights, into, sizes) for stack in stacks(tally, design))
    return np.concatenate([[value], sizes, sums.ravel()] if wanted else [[value]])
