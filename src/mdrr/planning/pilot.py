"""From a pilot to the main survey: what its answers suggest to ask the others."""

from __future__ import annotations

from dataclasses import dataclass

from mdrr.clustering import cluster
from mdrr.dependence import dependences
from mdrr.design import Design
from mdrr.errors import DesignError
from mdrr.planning.plan import plan, tables_of
from mdrr.planning.predict import Predicted, predict
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
