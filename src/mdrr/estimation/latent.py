"""Latent classes seen through a design: one estimator for every design, at any dimension.

x ~ Σ_z w_z Π_j θ_zj(x_j), and a report's likelihood is Σ_z w_z Π_C P_C(y_C | z) over the clusters
she was asked; EM climbs it in closed form. The numbers of classes and of passes are those that
predict reports held out best. Stopping there is a regularization, which is why EM is not
accelerated: a faster march to the maximum overfits sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.design import Design
from mdrr.domain import Domain
from mdrr.errors import EstimateError, is_number, whole
from mdrr.estimation.bootstrap import BootstrapSpread
from mdrr.estimation.channel import Stack, stacks
from mdrr.estimation.em import em, log_likelihood, random_start, step
from mdrr.estimation.margins import one_way
from mdrr.estimation.misfit import FittedSpread
from mdrr.estimation.mixture import average
from mdrr.estimation.result import Estimate
from mdrr.matrix import Array
from mdrr.tallies import Tally

CLASSES = (1, 2, 5, 15, 40)
"""The numbers of classes tried."""

_NO_EVIDENCE = 2.0
"""A difference in log-likelihood, over all people, that says nothing (a Bayes factor below 8)."""

_FOLDS = 2
_EVERY = 10


@dataclass(frozen=True, eq=False)
class Choice:
    """How many classes and passes predict held-out reports best; `tried` holds the evidence.

    `tried` are (classes, passes, mean log-likelihood of a held-out report), the best of each.
    """

    classes: int
    passes: int
    tried: tuple[tuple[int, int, float], ...]


def latent(
    tally: Tally,
    design: Design,
    *,
    classes: int | None = None,
    passes: int | None = None,
    fits: int = 3,
    prior: float = 0.3,
    seed: int = 0,
) -> Estimate:
    """Fit latent classes through any design and average several fits.

    Arguments:
        tally: the reports.
        design: how they were made.
        classes: how many classes; chosen by held-out likelihood when not given.
        passes: how many EM passes; chosen likewise.
        fits: how many random starts are averaged, which again is a mixture.
        prior: α, pseudo-reports of every class at the one-attribute distributions.
        seed: for the starts and the choice of held-out reports.

    Returns:
        An estimate whose joint is a mixture of products, with intervals by bootstrap that allow
        for what the model may miss.
    """
    tally.check(design)
    if not tally.n:
        raise EstimateError("the tally is empty: there are no reports to estimate from")
    classes = None if classes is None else whole("classes", classes, 1, EstimateError)
    passes = None if passes is None else whole("passes", passes, 1, EstimateError)
    fits, seed = whole("fits", fits, 1, EstimateError), whole("seed", seed, 0, EstimateError)
    if not (is_number(prior) and prior >= 0):
        raise EstimateError(f"prior={prior!r} must be a number, not negative")
    prior = float(prior)
    reports = stacks(tally, design)
    margins = one_way(tally, design)
    choice = choose(reports, design.domain, margins, classes, passes, prior=prior, seed=seed)
    runs = []
    for start in range(fits if choice.classes > 1 else 1):
        first = random_start(design.domain, margins, choice.classes, seed + start)
        runs.append(em(reports, first, margins, passes=choice.passes, prior=prior))
    mixture = average([run.mixture for run in runs])
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="latent",
        joint=mixture,
        spread=FittedSpread(
            BootstrapSpread(tally, design, tuple(run.mixture for run in runs), margins, prior),
            mixture,
        ),
        notes={
            "classes": choice.classes,
            "passes": choice.passes,
            "held_out": choice.tried,
            "fits": len(runs),
            "log_likelihood": float(np.mean([run.log_likelihood for run in runs])),
            "stopped": runs[0].stopped,
        },
    )


def choose(
    reports: Sequence[Stack],
    domain: Domain,
    margins: Sequence[Array],
    classes: int | None,
    passes: int | None,
    *,
    prior: float,
    seed: int,
    most_passes: int = 150,
) -> Choice:
    """The numbers of classes and passes that predict each half of the people best from the other.

    People are dealt out one by one, so a report given by many is split as well. Of numbers of
    classes between which held-out reports do not decide, the largest is taken: it is the early stop
    that keeps a fit from following noise, and more classes bend less to their random starts.
    """
    if passes is not None and classes is not None:
        return Choice(classes, passes, ())
    folds = list(_folds(reports, seed))
    tried = []
    for count in CLASSES if classes is None else (classes,):
        mixtures = [random_start(domain, margins, count, seed)] * len(folds)
        path: list[tuple[float, int]] = []
        for done in range(1, (passes or most_passes) + 1):
            for f, (train, _) in enumerate(folds):
                mixtures[f], _ = step(train, mixtures[f], margins, prior)
            if done % _EVERY == 0 or done == passes:
                values = [
                    log_likelihood(fold[1], m) for fold, m in zip(folds, mixtures, strict=True)
                ]
                path.append((sum(values), done))
                if len(path) > 2 and path[-1][0] < path[-2][0] < path[-3][0]:
                    break
        best = max(path) if passes is None else path[-1]
        tried.append((count, best[1], best[0] / sum(float(s.counts.sum()) for s in reports)))
        if len(tried) > 2 and tried[-1][2] < min(tried[-2][2], tried[-3][2]):
            break
    people = sum(float(s.counts.sum()) for s in reports)
    enough = max(entry[2] for entry in tried) - _NO_EVIDENCE / people
    chosen = max(entry for entry in tried if entry[2] >= enough)
    return Choice(chosen[0], chosen[1], tuple(tried))


def _folds(reports: Sequence[Stack], seed: int) -> Iterator[tuple[list[Stack], list[Stack]]]:
    """Each half of the people in turn: the reports of the others, and theirs."""
    rng = np.random.default_rng(seed)
    left = [stack.counts.astype(np.int64) for stack in reports]
    for fold in range(_FOLDS):
        held = [rng.binomial(counts, 1 / (_FOLDS - fold)) for counts in left]
        left = [counts - taken for counts, taken in zip(left, held, strict=True)]
        pairs = list(zip(reports, held, strict=True))
        yield (
            [s.with_counts(s.counts - h) for s, h in pairs if (s.counts > h).any()],
            [s.with_counts(h.astype(np.float64)) for s, h in pairs if h.any()],
        )
