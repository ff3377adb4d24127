"""Latent classes seen through a design: one estimator for every design, at any dimension.

x ~ Σ_z w_z Π_j θ_zj(x_j), and a report's likelihood is Σ_z w_z Π_C P_C(y_C | z) over the clusters
she was asked. EM climbs it in closed form: with responsibilities r_iz ∝ w_z Π_C P_C(y_iC | z),
θ_zj(v) ∝ Σ_i r_iz · P(x_ij = v, not noise | z, y_i) + α·π_j(v) and w_z ∝ Σ_i r_iz + α
(Dempster, Laird and Rubin 1977; Goodman 1974). The numbers of classes and of passes are those that
predict reports held out best. Stopping there is a regularization, which is why EM is not
accelerated: a faster march to the maximum overfits sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from mdrr.design import Design
from mdrr.domain import Domain
from mdrr.errors import EstimateError, is_number, whole
from mdrr.estimation.channel import Stack, multiplied, stacks
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.kernel import add_cells, expect, in_parts
from mdrr.estimation.mixture import MixtureJoint, average
from mdrr.estimation.result import Estimate
from mdrr.estimation.strata import strata_of
from mdrr.matrix import Array
from mdrr.tallies import Away, Tally

CLASSES = (1, 2, 5, 15, 40)
"""The numbers of classes tried."""

_NO_EVIDENCE = 2.0
"""A difference in log-likelihood, over all people, that says nothing (a Bayes factor below 8)."""

_EVERY = 10
_MOST_PASSES = 150
_FITS = 3
_PRIOR = 0.3

_PEOPLE = 10.0
"""A stratum of public answers has the classes' shares of 10·α people before anyone is looked at."""

Halves = tuple[Evidence, Evidence]
Reports: TypeAlias = Sequence[Stack | Away]


@dataclass(frozen=True, eq=False)
class Fit:
    """One run of EM: where it ended, how well the reports fit, and why it stopped."""

    mixture: MixtureJoint
    log_likelihood: float
    passes: int
    stopped: Literal["tolerance", "passes"]


@dataclass(frozen=True, eq=False)
class Choice:
    """How many classes and passes predict held-out reports best; `tried` holds the evidence.

    `tried` are (classes, passes, mean log-likelihood of a held-out report), the best of each.
    `crossed` are fits to each half of the people, stopped where the fit to the other half predicts
    this half best. The people they are compared with gave them no report to fit.
    """

    classes: int
    passes: int
    tried: tuple[tuple[int, int, float], ...]
    crossed: tuple[MixtureJoint, ...] = ()


@dataclass(frozen=True, eq=False)
class Classes:
    """Latent classes fitted from several starts, their mean, and how they were chosen."""

    mixture: MixtureJoint
    choice: Choice
    runs: tuple[Fit, ...]

    @property
    def notes(self) -> dict[str, object]:
        """What there is to say of the fit."""
        return {
            "classes": self.choice.classes,
            "passes": self.choice.passes,
            "held_out": self.choice.tried,
            "fits": len(self.runs),
            "log_likelihood": float(np.mean([run.log_likelihood for run in self.runs])),
            "stopped": self.runs[0].stopped,
        }


def latent(
    tally: Tally,
    design: Design,
    *,
    classes: int | None = None,
    passes: int | None = None,
    fits: int = _FITS,
    prior: float = _PRIOR,
    seed: int = 0,
) -> Estimate:
    """Fit latent classes through any design and average several fits.

    Arguments:
        tally: the reports. Of sums the sample is fitted, or all reports where an engine has them.
        design: how they were made.
        classes: how many classes; chosen by held-out likelihood when not given.
        passes: how many EM passes; chosen likewise.
        fits: how many random starts are averaged, which again is a mixture.
        prior: α, pseudo-reports of every class at the one-attribute distributions.
        seed: for the starts and the choice of held-out reports.

    Returns:
        An estimate whose joint is a mixture of products, within each combination of public
        answers if there are any.
    """
    evidence = Evidence(tally, design)
    classes = None if classes is None else whole("classes", classes, 1, EstimateError)
    passes = None if passes is None else whole("passes", passes, 1, EstimateError)
    fits, seed = whole("fits", fits, 1, EstimateError), whole("seed", seed, 0, EstimateError)
    if not (is_number(prior) and prior >= 0):
        raise EstimateError(f"prior={prior!r} must be a number, not negative")
    strata = strata_of(evidence)
    found = fitted(
        strata.merged,
        None if classes and passes else strata.merged.halves(seed),
        classes=classes,
        passes=passes,
        fits=fits,
        prior=float(prior),
        seed=seed,
    )
    return Estimate("latent", strata.spread(found.mixture), evidence, found.notes)


def fitted(
    evidence: Evidence,
    halves: Halves | None,
    *,
    classes: int | None = None,
    passes: int | None = None,
    fits: int = _FITS,
    prior: float = _PRIOR,
    seed: int = 0,
) -> Classes:
    """Latent classes, as many and fitted as long as predicts each half from the other best."""
    if halves is None:
        choice = Choice(classes or 1, passes or _EVERY, ())
    else:
        choice = choose(halves, classes, passes, prior=prior, seed=seed)
    domain, margins = evidence.design.domain, evidence.margins
    away = evidence.tally.away
    reports: Reports = stacks(evidence.tally, evidence.design) if away is None else [away]
    runs = []
    for start in range(fits if choice.classes > 1 else 1):
        first = random_start(domain, margins, choice.classes, seed + start)
        runs.append(em(reports, first, margins, passes=choice.passes, prior=prior))
    return Classes(average([run.mixture for run in runs]), choice, tuple(runs))


def choose(
    halves: Halves, classes: int | None, passes: int | None, *, prior: float, seed: int
) -> Choice:
    """The numbers of classes and passes that predict each half of the people best from the other.

    Of numbers of classes between which held-out reports do not decide, the largest is taken: it is
    the early stop that keeps a fit from following noise, and more classes bend less to their random
    starts.
    """
    design = halves[0].design
    people = sum(half.people for half in halves)
    reports = [stacks(half.tally, design) for half in halves]
    seen: dict[tuple[int, int], tuple[list[float], list[MixtureJoint]]] = {}
    tried: list[tuple[int, int, float]] = []
    for count in CLASSES if classes is None else (classes,):
        mixtures = [random_start(design.domain, half.margins, count, seed) for half in halves]
        path: list[tuple[float, int]] = []
        for done in range(1, (passes or _MOST_PASSES) + 1):
            for f, half in enumerate(halves):
                mixtures[f], _ = step(reports[f], mixtures[f], half.margins, prior)
            if done % _EVERY == 0 or done == passes:
                values = [log_likelihood(reports[1 - f], mixtures[f]) for f in (0, 1)]
                seen[count, done] = (values, list(mixtures))
                path.append((sum(values), done))
                if len(path) > 2 and path[-1][0] < path[-2][0] < path[-3][0]:
                    break
        best = max(path) if passes is None else path[-1]
        tried.append((count, best[1], best[0] / people))
        if len(tried) > 2 and tried[-1][2] < min(tried[-2][2], tried[-3][2]):
            break
    enough = max(entry[2] for entry in tried) - _NO_EVIDENCE / people
    chosen = max(entry for entry in tried if entry[2] >= enough)
    best_of = [max(seen, key=lambda key: seen[key][0][f]) for f in (0, 1)]
    crossed = tuple(seen[best_of[1 - f]][1][f] for f in (0, 1))
    return Choice(chosen[0], chosen[1], tuple(tried), crossed)


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
) -> Fit:
    """EM from a start, for some passes or until a pass gains less than 1e-9 nats a report."""
    n = sum(float(s.counts.sum()) if isinstance(s, Stack) else s.n for s in reports)
    mixture, last = start, -np.inf
    for done in range(1, passes + 1):
        mixture, value = step(reports, mixture, margins, prior)
        if 0 <= value - last < 1e-9 * n:
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
    stack: Stack | Away, tables: Array, weights: Array, sums: Array | None, sizes: Array
) -> float:
    """The log-likelihood of some reports; what they say is added to `sums` and `sizes`."""
    if not isinstance(stack, Stack):  # asking whether it is Away, a protocol, takes long
        found = stack.add_up(_visited, (tables, weights, sums is not None))
        if sums is not None:
            sizes += found[1 : 1 + len(sizes)]
            sums += found[1 + len(sizes) :].reshape(sums.shape)
        return float(found[0])
    phi, like = (tables, tables) if stack.seen is None else stack.seen.likelihood(tables)
    together = multiplied(like, stack.cells)
    given = (stack.rows, stack.counts, stack.signal, stack.floor)

    def part(start: int, stop: int) -> tuple[float, Array, Array]:
        tallied, counted = np.zeros_like(together), np.zeros_like(weights)
        value = expect(*given, start, stop, together, weights, tallied, counted)
        return value, tallied, counted

    parts = in_parts(len(stack.counts), part)
    if sums is not None:
        sizes += sum(p[2] for p in parts)
        tallied = sums if stack.seen is None else np.zeros_like(like)
        add_cells(tallied, sum((p[1] for p in parts[1:]), parts[0][1]), stack.cells)
        if stack.seen is not None:
            stack.seen.collect(phi, like, tallied, sums)
    return sum(p[0] for p in parts)


def _visited(tally: Tally, design: Design, state: tuple[Array, Array, bool]) -> Array:
    """Where the reports are: their log-likelihood, and if asked what they add to sizes and sums."""
    tables, weights, wanted = state
    sums, sizes = np.zeros_like(tables), np.zeros_like(weights)
    into = sums if wanted else None
    value = sum(_visit(stack, tables, weights, into, sizes) for stack in stacks(tally, design))
    return np.concatenate([[value], sizes, sums.ravel()] if wanted else [[value]])
