"""What stands in a report: numbers and sentences, before they are laid out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mdrr.dependence import Dependences, from_codes
from mdrr.design import Cluster, Design
from mdrr.domain import Attribute
from mdrr.errors import EstimateError
from mdrr.estimation import Estimate, Table
from mdrr.frames import encode
from mdrr.matrix import Array, Constant
from mdrr.planning import Plan
from mdrr.plots import category_order, truth_sent
from mdrr.plots.style import percent
from mdrr.privacy import in_words
from mdrr.query import Query, Where
from mdrr.randomizer import Codes
from mdrr.reporting.alternatives import OWN, Alternatives, alternatives
from mdrr.reporting.outcomes import Asked, Outcome, outcomes
from mdrr.reporting.words import (
    design_words,
    made_words,
    pairs_words,
    protocol_name,
    query_words,
    strongest_words,
    warning_words,
)

MOST_CLUSTERS = 40
"""A design with more clusters than this is listed in part."""
_APART = ("product", "adjust")
"""Methods that take attributes reported apart as unrelated, or as less related than they are."""


@dataclass(frozen=True, eq=False)
class Margin:
    """One attribute: its estimated table and, in a simulation, the true shares."""

    attribute: Attribute
    table: Table
    truth: Array | None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a category, in the order of the charts; shares in percent."""
        return [
            {
                "label": str(self.attribute.categories[i]),
                "value": 100 * float(self.table.values[i]),
                "low": 100 * float(self.table.low[i]),
                "high": 100 * float(self.table.high[i]),
                "truth": None if self.truth is None else 100 * float(self.truth[i]),
            }
            for i in category_order(self.attribute, self.table.values)
        ]

    @property
    def top(self) -> float:
        """The largest share of a row, which the drawn ones are as wide as."""
        return float(max(max(r["value"], r["high"], r["truth"] or 0.0) for r in self.rows))

    @property
    def leading(self) -> dict[str, Any]:
        """The row of the most frequent category, named with its attribute."""
        row = max(self.rows, key=lambda row: float(row["value"]))
        return row | {"label": f"{self.attribute.name}: {row['label']}"}


@dataclass(frozen=True)
class Part:
    """A cluster of the design as a row: its cells, integers, how often the truth is sent, ε."""

    names: tuple[str, ...]
    cells: int
    weights: str
    sent: float | None
    epsilon: float


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything a report says. Nothing in it is a true answer unless `simulated`."""

    title: str
    estimate: Estimate
    design: Design
    methods: Mapping[str, Estimate]
    simulated: bool
    protocol: str
    made: Mapping[str, tuple[str, ...]]
    story: tuple[str, ...]
    margins: tuple[Margin, ...]
    queries: tuple[Asked, ...]
    outcomes: tuple[Outcome, ...]
    parts: tuple[Part, ...]
    parts_in_all: int
    dependences: Dependences | None
    true_dependences: Dependences | None
    clusters: tuple[tuple[str, ...], ...]
    alternatives: Alternatives

    @property
    def asked_words(self) -> tuple[str, ...]:
        """What each person was asked."""
        return design_words(self.design)

    @property
    def privacy(self) -> tuple[str, ...]:
        """What a respondent should know; the last sentence is what is not protected."""
        return in_words(self.design)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the reports are doubtful, if they are."""
        return warning_words(self.methods.values())

    @property
    def held(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of every cluster: what some person reports as one answer."""
        return held(self.design)

    @property
    def pairs_held(self) -> str:
        """Which pairs are reported as one answer by somebody: all, some or none (empty)."""
        names = self.design.domain.names
        together = [within({a, b}, self.held) for a, b in combinations(names, 2)]
        return "all" if all(together) else "some" if any(together) else ""

    @property
    def pairs_words(self) -> str:
        """What that means for their estimates."""
        return pairs_words(self.design, self.pairs_held)

    @property
    def takes_apart(self) -> bool:
        """Whether an estimate is by a method that takes reported-apart attributes as unrelated."""
        return any(each.method in _APART for each in self.methods.values())

    @property
    def findings(self) -> tuple[str, ...]:
        """What the reader should know first."""
        words = [outcome.words for outcome in self.outcomes[:1]]
        mine = self.alternatives.mine
        if mine is not None and not self.outcomes:
            words.append(
                f"Predicted of this design: a typical count is off by {percent(mine.error)} %, in "
                f"the worst table by {percent(mine.worst)} %."
            )
        if self.queries:
            top = [margin.leading for margin in self.margins[:8]]
            listed = "; ".join(f"{row['label']} {row['value']:.0f} %" for row in top)
            words.append(f"The most frequent answers: {listed}.")
        if self.dependences is not None:
            words.append(strongest_words(self.dependences))
        return tuple(words)


def gather(
    estimate: Estimate,
    design: Design,
    *,
    truth: Any,
    dependences: Dependences | None,
    clusters: Sequence[Sequence[str]] | None,
    queries: Sequence[Where] | Mapping[str, Where],
    others: Sequence[Estimate] | Mapping[str, Estimate],
    plan: Plan | None,
    story: Sequence[str],
    title: str,
) -> Contents:
    """All numbers and sentences of a report; the arguments are those of `report`."""
    compared = alternatives(design, estimate.n, dependences, plan)
    protocol = _protocol(design, compared.used)
    methods = _methods(estimate, others, protocol)
    codes = None if truth is None else _true_codes(truth, estimate)
    listed = list(dict.fromkeys(c for q in design.questionnaires for c in q.clusters))
    if clusters is None:
        alone = len(design.questionnaires) == 1
        clusters = [c.attributes for c in design.clusters] if alone else []
    asked = _asked(methods, design, queries, codes)
    known = codes is not None and dependences is not None
    predicted = compared.mine if estimate.method == "auto" else None
    return Contents(
        title=title,
        estimate=estimate,
        design=design,
        methods=methods,
        simulated=codes is not None,
        protocol=protocol,
        made={
            name: made_words(each, design if each is estimate else None)
            for name, each in methods.items()
        },
        story=tuple(story),
        margins=tuple(
            Margin(a, estimate.table(a.name), _shares(a, codes[j]) if codes else None)
            for j, a in enumerate(estimate.domain.attributes)
        ),
        queries=asked,
        outcomes=(() if codes is None else outcomes(methods, codes, asked, predicted)),
        parts=tuple(_part(cluster) for cluster in listed[:MOST_CLUSTERS]),
        parts_in_all=len(listed),
        dependences=dependences,
        true_dependences=from_codes(codes, estimate.domain) if codes and known else None,
        clusters=tuple(tuple(names) for names in clusters),
        alternatives=compared,
    )


def _protocol(design: Design, planned: str | None) -> str:
    """The design's name: the paper's, or a plan's where people get different questions."""
    if planned in (None, OWN) or len(design.questionnaires) == 1:
        return protocol_name(design)
    return str(planned)


def _methods(
    estimate: Estimate, others: Sequence[Estimate] | Mapping[str, Estimate], protocol: str
) -> dict[str, Estimate]:
    """The estimates by the names they are shown under, the one that is reported first."""
    if isinstance(others, Mapping):
        named = [(f"{protocol}, {estimate.method}", estimate), *others.items()]
    else:
        named = [(each.method, each) for each in (estimate, *others)]
    for _, other in named:
        if other.domain != estimate.domain or other.n != estimate.n:
            raise EstimateError(
                "an estimate to compare with is not of the same people and attributes"
            )
    methods = dict(named)
    if len(methods) < len(named):
        raise EstimateError(f"compare different methods; these are {', '.join(methods)} only")
    return methods


def _true_codes(truth: Any, estimate: Estimate) -> list[Codes]:
    codes = encode(truth, estimate.domain)
    if len(codes[0]) != estimate.n:
        raise EstimateError(
            f"the truth has {len(codes[0]):,} records, but {estimate.n:,} people reported. "
            "Give the true records of those who reported, and of nobody else"
        )
    return codes


def _shares(attribute: Attribute, codes: Codes) -> Array:
    return np.bincount(codes, minlength=attribute.size) / len(codes)


def _asked(
    methods: Mapping[str, Estimate],
    design: Design,
    queries: Sequence[Where] | Mapping[str, Where],
    codes: list[Codes] | None,
) -> tuple[Asked, ...]:
    domain = design.domain
    if isinstance(queries, Mapping):
        listed = list(queries.items())
    else:
        listed = [(query_words(where, domain), where) for where in queries]
    columns = None if codes is None else dict(zip(domain.names, codes, strict=True))
    found = []
    for words, where in listed:
        query = Query.of(where, domain)
        counts = {name: each.count(query) for name, each in methods.items()}
        truth = None if columns is None else int(query.holds(columns).sum())
        found.append(Asked(words, within(query.attributes, held(design)), counts, truth))
    return tuple(found)


def held(design: Design) -> tuple[tuple[str, ...], ...]:
    """The attributes of every cluster of a design, each once."""
    listed = (c.attributes for q in design.questionnaires for c in q.clusters)
    return tuple(dict.fromkeys(listed))


def within(names: Iterable[str], groups: Iterable[Sequence[str]]) -> bool:
    """Whether some group has all the names: somebody reports them as one answer."""
    wanted = set(names)
    return any(wanted <= set(group) for group in groups)


def _part(cluster: Cluster) -> Part:
    matrix = cluster.matrix
    weights = f"{matrix.total:,} in all"
    if isinstance(matrix, Constant):
        weights = f"{matrix.diagonal:,} and {matrix.off:,} of {matrix.total:,}"
    sent = 100 * truth_sent(cluster) if matrix.reports_cells else None
    return Part(cluster.attributes, matrix.cells, weights, sent, cluster.epsilon)
