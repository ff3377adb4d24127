"""What stands in a report: numbers and sentences, before they are laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdrr.dependence import Dependences, from_codes
from mdrr.design import Cluster, Design
from mdrr.domain import Attribute
from mdrr.errors import EstimateError
from mdrr.estimation import Count, Estimate, Table
from mdrr.frames import encode
from mdrr.matrix import Array, Constant
from mdrr.plots import Answer, truth_sent
from mdrr.privacy import in_words
from mdrr.query import Query, Where
from mdrr.randomizer import Codes
from mdrr.reporting.alternatives import Alternatives, alternatives
from mdrr.reporting.words import design_words, made_words, protocol_name, query_words

MOST_CLUSTERS = 40
"""A design with more clusters than this is listed in part."""


@dataclass(frozen=True, eq=False)
class Margin:
    """One attribute: its estimated table and, in a simulation, the true shares."""

    attribute: Attribute
    table: Table
    truth: Array | None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a category, in the domain's order; shares in percent."""
        return [
            {
                "label": str(label),
                "value": 100 * float(self.table.values[i]),
                "low": 100 * float(self.table.low[i]),
                "high": 100 * float(self.table.high[i]),
                "truth": None if self.truth is None else 100 * float(self.truth[i]),
            }
            for i, label in enumerate(self.attribute.categories)
        ]


@dataclass(frozen=True)
class Asked:
    """A count query: its words, whether one cluster holds it, its counts by method, the truth."""

    words: str
    together: bool
    counts: Mapping[str, Count]
    truth: int | None

    def miss(self, count: Count) -> float | None:
        """The relative error in percent, where the truth is known and not 0."""
        return 100 * (count.value / self.truth - 1) if self.truth else None

    @property
    def answer(self) -> Answer:
        """The same for a chart."""
        return Answer(self.words, self.counts, self.truth)


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
    others: tuple[Estimate, ...]
    simulated: bool
    protocol: str
    asked_words: tuple[str, ...]
    made: tuple[str, ...]
    privacy: tuple[str, ...]
    story: tuple[str, ...]
    margins: tuple[Margin, ...]
    queries: tuple[Asked, ...]
    parts: tuple[Part, ...]
    parts_in_all: int
    dependences: Dependences | None
    true_dependences: Dependences | None
    clusters: tuple[tuple[str, ...], ...]
    alternatives: Alternatives


def gather(
    estimate: Estimate,
    design: Design,
    *,
    truth: Any,
    dependences: Dependences | None,
    clusters: Sequence[Sequence[str]] | None,
    queries: Sequence[Where] | Mapping[str, Where],
    others: Sequence[Estimate],
    story: Sequence[str],
    title: str,
) -> Contents:
    """All numbers and sentences of a report; the arguments are those of `report`."""
    for other in others:
        if other.domain != estimate.domain or other.n != estimate.n:
            raise EstimateError(
                "an estimate to compare with is not of the same people and attributes"
            )
    methods = {each.method: each for each in (estimate, *others)}
    if len(methods) <= len(others):
        raise EstimateError(f"compare different methods; these are {', '.join(methods)} only")
    codes = None if truth is None else _true_codes(truth, estimate)
    listed = list(dict.fromkeys(c for q in design.questionnaires for c in q.clusters))
    if clusters is None:
        alone = len(design.questionnaires) == 1
        clusters = [c.attributes for c in design.clusters] if alone else []
    true_dependences = None
    if codes is not None and dependences is not None:
        true_dependences = from_codes(codes, estimate.domain)
    return Contents(
        title=title,
        estimate=estimate,
        design=design,
        others=tuple(others),
        simulated=codes is not None,
        protocol=protocol_name(design),
        asked_words=design_words(design),
        made=made_words(estimate, design),
        privacy=in_words(design),
        story=tuple(story),
        margins=tuple(
            Margin(a, estimate.table(a.name), _shares(a, codes[j]) if codes else None)
            for j, a in enumerate(estimate.domain.attributes)
        ),
        queries=_asked(methods, design, queries, codes),
        parts=tuple(_part(cluster) for cluster in listed[:MOST_CLUSTERS]),
        parts_in_all=len(listed),
        dependences=dependences,
        true_dependences=true_dependences,
        clusters=tuple(tuple(names) for names in clusters),
        alternatives=alternatives(design, estimate.n, dependences),
    )


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
    found = []
    for words, where in listed:
        query = Query.of(where, domain)
        true = None
        if codes is not None:
            columns = dict(zip(domain.names, codes, strict=True))
            true = int(query.holds(columns).sum())
        found.append(
            Asked(
                words,
                held_together(query, design),
                {name: each.count(query) for name, each in methods.items()},
                true,
            )
        )
    return tuple(found)


def held_together(query: Query, design: Design) -> bool:
    """Whether some cluster holds all attributes a query looks at, so that no model is needed."""
    wanted = set(query.attributes)
    return any(
        wanted <= set(cluster.attributes) for q in design.questionnaires for cluster in q.clusters
    )


def _part(cluster: Cluster) -> Part:
    matrix = cluster.matrix
    weights = f"{matrix.total:,} in all"
    if isinstance(matrix, Constant):
        weights = f"{matrix.diagonal:,} and {matrix.off:,} of {matrix.total:,}"
    sent = 100 * truth_sent(cluster) if matrix.reports_cells else None
    return Part(cluster.attributes, matrix.cells, weights, sent, cluster.epsilon)
