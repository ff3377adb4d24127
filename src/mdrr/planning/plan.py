"""Which design to use: every candidate's predicted error, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, TypeAlias

import numpy as np

from mdrr.clustering import cluster
from mdrr.columns import make_frame
from mdrr.dependence import Dependences
from mdrr.design import Design
from mdrr.display import charts, on_white, plan_html
from mdrr.domain import Domain
from mdrr.errors import DesignError, MatrixError, is_number
from mdrr.planning.predict import WORTH, Names, Predicted, check_numbers, predict
from mdrr.planning.sampling import best_split, split_questionnaire
from mdrr.protocols import clustered, independent, joint, subsets

Workload: TypeAlias = "str | Iterable[Iterable[str]]"

_CLUSTER_CELLS = (50, 100, 300, 1000, 3000, 10_000)
_MOST_SUBSETS = 2048
_MOST_TABLES = 2000
_LEAST_EPSILON = 1e-9
_EXACT = 33.0
"""Near ln 2^48: a report of 48 random bits cannot spend more, and is as good as exact."""

DEPENDENCE = 0.2
"""Cramér's V that every pair is taken to have where nothing is known."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A design and what is predicted of it."""

    name: str
    design: Design
    predicted: Predicted


@dataclass(frozen=True, eq=False)
class Plan:
    """Candidates, the best first: single attributes count more, see `Predicted.loss`.

    Example:
        >>> from mdrr.domain import Attribute
        >>> domain = Domain(tuple(Attribute(name, tuple("uvwxyz")) for name in "abcd"))
        >>> found = plan(domain, n=10_000, epsilon=4.0)
        >>> found.best.name, found.design.epsilon <= 4.0
        ('sampled 2', True)
    """

    domain: Domain
    n: int
    epsilon: float
    tables: tuple[Names, ...]
    candidates: tuple[Candidate, ...]
    dependences: Dependences
    """What errors were predicted with: as given, or as assumed."""
    assumed: bool
    worth: float = WORTH

    def __repr__(self) -> str:
        rows = [f"<Plan for {self.n:,} people at ε = {self.epsilon:.4g}, the best first"]
        for c in self.candidates:
            text = f"{c.name}: error {c.predicted.error:.3g}"
            if self.has_both:
                alone, together = c.predicted.alone, c.predicted.together
                text += f" (single attributes {alone:.3g}, wider {together:.3g})"
            rows.append(text)
        return "\n  ".join(rows) + ">"

    def _repr_html_(self) -> str:
        return plan_html(self)

    @property
    def best(self) -> Candidate:
        """The candidate ranked first."""
        return self.candidates[0]

    @property
    def design(self) -> Design:
        """Its design."""
        return self.best.design

    @property
    def has_both(self) -> bool:
        """Whether single attributes and wider tables matter."""
        return {len(names) == 1 for names in self.tables} == {True, False}

    @property
    def ranking(self) -> str:
        """How candidates are ranked, as a sentence."""
        text = "The best comes first"
        if self.has_both:
            text += (
                f"; single attributes' errors weigh {self.worth:g} times as much as wider tables'"
            )
        if self.assumed and not all(c.predicted.covered for c in self.candidates):
            text += "; designs in which nobody is asked some pair of attributes come last"
        return f"{text}."

    def among(self, candidates: Iterable[Candidate]) -> Plan:
        """The plan with other candidates, ranked as its own: those that rest on guesses last."""

        def rank(found: Candidate) -> tuple[bool, float]:
            return self.assumed and not found.predicted.covered, found.predicted.loss

        return replace(self, candidates=tuple(sorted(candidates, key=rank)))

    def plot(self) -> Any:
        """A chart (Altair) of the predicted error of every candidate."""
        return on_white(charts().candidates(self))

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per candidate: predicted errors, ε, questionnaires, weight of a forgery."""
        kinds = ("error", "alone", "together", "worst")
        columns: dict[str, list[Any]] = {
            "design": [c.name for c in self.candidates],
            **{kind: [getattr(c.predicted, kind) for c in self.candidates] for kind in kinds},
            "epsilon": [c.design.epsilon for c in self.candidates],
            "questionnaires": [len(c.design.questionnaires) for c in self.candidates],
            "forged": [c.predicted.forged for c in self.candidates],
        }
        return make_frame(columns, backend)


def plan(
    domain: Domain,
    *,
    n: int,
    epsilon: float,
    dependences: Dependences | None = None,
    workload: Workload = "both",
    coverage: float = 0.1,
    worth: float = WORTH,
) -> Plan:
    """Predict the error of every candidate design at one budget, and rank them.

    The candidates are RR-Independent, RR-Joint, RR-Clusters at several sizes (with dependences),
    sampled subsets of 1, 2, … attributes, and the split questionnaire whose subsets and shares of
    people are optimal for the workload. Errors are those expected of the default estimator. A pair
    is estimated by its unbiased table, by the product of its margins, or between them, whichever
    errs less. A wider table is estimated by its own reports or by its pairs. What three attributes
    do beyond their pairs is not predicted.

    Without `dependences`, Cramér's V of every pair is taken to be 0.2. Designs in which nobody is
    asked some pair then come last, since they could not show its dependence.

    Public attributes are in every report. Tables of them alone are known, and the named workloads
    leave them out; tables of them and others are counted among the people with each answer.

    For two phases, plan a pilot for some of the people, estimate dependences from it, plan again
    for the others with `dependences`, and pool both with `mdrr.pool`. Nobody should answer twice.

    Arguments:
        domain: what is asked.
        n: how many people will report.
        epsilon: the budget of each person.
        dependences: from a pilot or a secure sum, if any.
        workload: the tables that matter. `"both"` (all attributes and all pairs, each kind counting
            one half), `"pairs"`, `"singles"`, or the attributes of each table.
        coverage: the share of a table's combinations in a typical count.
        worth: the weight of the single attributes' error against that of wider tables, in the
            ranking. With a large weight more people are asked one attribute alone, with a small
            one more are asked several.

    Returns:
        The plan; `.design` is the best design.
    """
    given: tuple[Any, Any] = domain, dependences
    if not isinstance(given[0], Domain):
        raise DesignError(f"a plan is made for an mdrr.Domain, not a {type(domain).__name__}")
    if not isinstance(given[1], Dependences | None):
        raise DesignError(
            f"dependences are an mdrr.Dependences, not a {type(dependences).__name__}: "
            "mdrr.dependences(tally, design) makes one"
        )
    if dependences is not None and dependences.measure == "covariance":
        raise DesignError("plans need dependences from 0 to 1: learn them with measure='auto'")
    if not (is_number(epsilon) and epsilon > 0):
        raise DesignError(f"epsilon={epsilon!r} must be a positive number")
    epsilon = float(epsilon)
    if epsilon < _LEAST_EPSILON:
        raise DesignError(f"ε={epsilon:g} says nothing in 48 random bits; choose a larger ε")
    if not domain.private:
        raise DesignError("all attributes are public, so there is nothing to plan")
    check_numbers(n, coverage, worth)
    n, coverage, worth = int(n), float(coverage), float(worth)
    tables = tables_of(domain, workload)
    used, found = dependences or assume(domain), []
    empty = Plan(domain, n, epsilon, tables, (), used, assumed=dependences is None, worth=worth)
    for name, design in _designs(empty, coverage):
        predicted = predict(design, n, tables, dependences=used, coverage=coverage, worth=worth)
        if math.isfinite(predicted.error):
            found.append(Candidate(name, design, predicted))
    if not found:
        raise DesignError(f"no design spends ε={epsilon:g} on this domain; choose another ε")
    return empty.among(found)


def tables_of(domain: Domain, workload: Workload = "both") -> tuple[Names, ...]:
    """The attributes of every table of a workload."""
    public = set(domain.public)
    singles: list[Names] = [(name,) for name in domain.private]
    pairs: list[Names] = [p for p in combinations(domain.names, 2) if not set(p) <= public]
    pairs = pairs[:: max(1, math.ceil(len(pairs) / _MOST_TABLES))]
    kinds = {"singles": singles, "pairs": pairs or singles, "both": [*singles, *pairs]}
    if isinstance(workload, str) and workload in kinds:
        return tuple(kinds[workload])
    if isinstance(workload, str) or not isinstance(workload, Iterable):
        raise DesignError(
            f"workload={workload!r}: choose 'both', 'pairs', 'singles' or list the tables"
        )
    tables = tuple(_table(domain, names) for names in workload)
    if not tables or not all(tables):
        raise DesignError("the workload is empty: name the attributes of at least one table")
    return tables


def _table(domain: Domain, names: Iterable[str]) -> Names:
    if isinstance(names, str) and not set(names) <= set(domain.names):
        raise DesignError(
            f"the workload has {names!r} for a table; list the table's attributes: ({names!r},)"
        )
    table = tuple(sorted(names, key=domain.index))
    if len(set(table)) < len(table):
        raise DesignError(f"a table of the workload names an attribute twice: {', '.join(table)}")
    return table


def assume(domain: Domain) -> Dependences:
    """What is taken for granted when nothing is known."""
    m = len(domain)
    values = np.full((m, m), DEPENDENCE)
    np.fill_diagonal(values, 1.0)
    return Dependences(domain.names, values)


def _designs(empty: Plan, coverage: float) -> Iterable[tuple[str, Design]]:
    """The candidates, without those of more combinations than 48 random bits can tell apart."""
    domain, n, epsilon, worth = empty.domain, empty.n, empty.epsilon, empty.worth
    asked = domain.private
    dependences = None if empty.assumed else empty.dependences
    most = min(epsilon, _EXACT)
    apart = min(epsilon, _EXACT * len(asked))
    for name, make, spent in (("independent", independent, apart), ("joint", joint, most)):
        with suppress(MatrixError):
            yield name, make(domain, epsilon=spent)
    if dependences is not None:
        seen: set[tuple[Names, ...]] = {tuple((name,) for name in asked)}
        for cells in _CLUSTER_CELLS:
            groups = cluster(dependences, domain, max_cells=cells, min_dependence=0.1)
            if groups not in seen:
                seen.add(groups)
                with suppress(MatrixError):
                    made = clustered(domain, groups, epsilon=epsilon)
                    yield f"clusters up to {cells} cells", made
    for size in range(1, max(len(asked), 2)):  # all of them are `joint`
        if math.comb(len(asked), size) > _MOST_SUBSETS:
            break
        try:
            chosen = [[asked[j] for j in places] for places in subsets(len(asked), size)]
            yield f"sampled {size}", split_questionnaire(domain, chosen, epsilon=most)
        except MatrixError:
            break
    kinds = {"split questionnaire": empty.tables}
    if any(len(names) > 2 for names in empty.tables):
        kinds["split questionnaire, by pairs"] = _parts(empty.tables)
    for name, wanted in kinds.items():
        best = best_split(
            domain, wanted, most, n=n, dependences=dependences, coverage=coverage, worth=worth
        )
        if best is not None:
            yield name, best


def _parts(tables: Sequence[Names]) -> tuple[Names, ...]:
    """The attributes and pairs that make up some tables."""
    pairs = (combinations(names, 2) for names in tables)
    singles = ((name,) for names in tables for name in names)
    return tuple(dict.fromkeys(chain(singles, *pairs)))
