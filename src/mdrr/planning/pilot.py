"""Surveys in phases: what a pilot suggests to ask the others, and several estimated as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdrr.clustering import cluster
from mdrr.dependence import dependences
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import DesignError
from mdrr.groups import Group, merged
from mdrr.planning.plan import plan, tables_of
from mdrr.planning.predict import Predicted, predict
from mdrr.planning.sampling import whole_shares
from mdrr.protocols import MAX_CELLS, MIN_DEPENDENCE, clustered
from mdrr.tallies import Tally


@dataclass(frozen=True, eq=False)
class MainSurvey:
    """What a pilot suggests.

    Arguments:
        name: of the design, as plans call it.
        design: for people who were not in the pilot.
        predicted: of that design.
        clusters: the attributes that go together in the pilot's answers, by Algorithm 1.
    """

    name: str
    design: Design
    predicted: Predicted
    clusters: tuple[tuple[str, ...], ...]


def main_survey(
    tally: Tally,
    pilot: Design,
    *,
    people: int,
    epsilon: float | None = None,
    max_cells: int | None = None,
    min_dependence: float = MIN_DEPENDENCE,
) -> MainSurvey:
    """Learn dependences from a pilot, and choose the design of the main survey with them.

    Arguments:
        tally: the pilot's answers.
        pilot: its design.
        people: how many are expected in the main survey.
        epsilon: of the main survey; that of the pilot by default.
        max_cells: ask the clusters of at most so many combinations; the best plan by default.
        min_dependence: the least dependence of attributes to join in a cluster.

    Example:
        >>> import mdrr
        >>> domain = mdrr.datasets.adult_domain(["sex", "relationship", "income"])
        >>> people = mdrr.datasets.adult(columns=list(domain.names))
        >>> pilot = mdrr.independent(domain, epsilon=6.0)
        >>> tally = mdrr.tally(mdrr.randomize(people[:8000], pilot), pilot)
        >>> main_survey(tally, pilot, people=20_000, max_cells=12).clusters
        (('sex', 'relationship'), ('income',))
    """
    domain, budget = pilot.domain, pilot.epsilon if epsilon is None else epsilon
    learnt = dependences(tally, pilot)
    cells = MAX_CELLS if max_cells is None else max_cells
    groups = cluster(learnt, domain, max_cells=cells, min_dependence=min_dependence)
    if max_cells is None:
        best = plan(domain, n=people, epsilon=budget, dependences=learnt).best
        name, design, predicted = best.name, best.design, best.predicted
    else:
        name, design = f"clusters up to {cells} cells", clustered(domain, groups, epsilon=budget)
        predicted = predict(design, people, tables_of(domain), dependences=learnt)
    if design == pilot:
        raise DesignError(
            "the pilot suggests its own design for the main survey. Go on with the survey as it "
            "is, or choose another ε"
        )
    return MainSurvey(name, design, predicted, groups)


def pool(surveys: Sequence[tuple[Tally, Design]]) -> tuple[Tally, Design]:
    """One tally and one design out of several over the same domain, for any estimator.

    Pool a pilot and a main survey, or the old and the new version of one survey. The pooled design
    has the questionnaires of all of them, weighted by how many people answered each; those that ask
    the same in the same way are there once. Its ε is the largest of theirs. A person spent no more
    than that only if nobody took part twice.

    The pooled design is not for asking anyone, only for estimating.

    Example:
        >>> import numpy as np
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> from mdrr.tallies import tally_codes
        >>> domain = Domain((Attribute("a", ("x", "y")),))
        >>> designs = [independent(domain, epsilon=e) for e in (1.0, 2.0)]
        >>> tally, design = pool([(tally_codes([[np.array([0, 1])]], d), d) for d in designs])
        >>> tally.n, design.epsilon <= 2.0, len(design.questionnaires)
        (4, True, 2)
    """
    if not surveys:
        raise DesignError("give at least one survey")
    domain = surveys[0][1].domain
    asked: dict[tuple[Cluster, ...], list[Group]] = {}
    for tally, design in surveys:
        tally.check(design)
        if design.domain != domain:
            raise DesignError("surveys are pooled over one domain; theirs differ")
        for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
            asked.setdefault(questionnaire.clusters, []).append(group)
    groups = [merged(parts) for parts in asked.values()]
    parts = zip(asked, whole_shares([group.n for group in groups]), strict=True)
    design = Design(domain, tuple(Questionnaire(clusters, weight) for clusters, weight in parts))
    libraries = {tally.library for tally, _ in surveys}
    library = libraries.pop() if len(libraries) == 1 else None
    return Tally(design.fingerprint, tuple(groups), library=library), design
