"""What stands in a report: numbers and sentences, before they are laid out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from mdrr.dependence import Dependences, from_codes
from mdrr.design import Cluster, Design
from mdrr.domain import Domain
from mdrr.errors import EstimateError
from mdrr.estimation import Count, Estimate, Table
from mdrr.frames import encode
from mdrr.matrix import Array
from mdrr.planning import Plan
from mdrr.planning.predict import Predicted, relative_error
from mdrr.plots import Answer, category_order
from mdrr.plots.counted import MOST_METHODS
from mdrr.plots.style import percent
from mdrr.query import Query, Where
from mdrr.randomizer import Codes
from mdrr.reporting import words
from mdrr.reporting.alternatives import OWN, Alternatives, alternatives
from mdrr.survey import Question, Survey

Shares: TypeAlias = "Sequence[float] | np.ndarray[Any, Any]"

TYPICAL = 0.1
"""A typical count holds this share of a table's combinations, as in predictions."""
_MOST_PAIRS = 200
_MOST_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class Margin:
    """One attribute's estimated shares, in the words of its question."""

    question: Question
    table: Table
    truth: Shares | None = None  # the true shares in the attribute's order, in a simulation
    raw: Shares | None = None  # the shares of the randomized reports

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each category, in the order of the charts; shares in percent."""
        table = self.table
        columns: dict[str, Shares | None] = {"truth": self.truth, "raw": self.raw}
        columns |= {"value": table.values, "low": table.low, "high": table.high}
        return [
            {"label": self.question.labels[i]}
            | {key: None if x is None else 100 * float(x[i]) for key, x in columns.items()}
            for i in category_order(self.question.attribute, table.values)
        ]

    @property
    def top(self) -> float:
        """The largest number of a row, which the drawn ones are as wide as."""
        return max(
            float(max(r["value"], r["high"], r["truth"] or 0, r["raw"] or 0)) for r in self.rows
        )

    @property
    def leading(self) -> dict[str, Any]:
        """The row of the most frequent category, named with its question."""
        row, text = (
            max(self.rows, key=lambda row: round(float(row["value"]), 9)),
            self.question.text,
        )
        between = " " if text.endswith(("?", "؟", "？")) else ": "
        return {**row, "label": f"{text}{between}{row['label']}"}


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


@dataclass(frozen=True)
class Outcome:
    """What became of one estimate, beside what was predicted of its design.

    `typical` is the error of a count over a tenth of a table's combinations, as a share of such
    counts' mean size, single attributes weighing as much as pairs; `worst` is the largest of a
    table; `misses` are the relative errors of the groups asked about, in percent.
    """

    name: str
    predicted: Predicted | None
    typical: float
    worst: float
    misses: Mapping[str, float]

    @property
    def median(self) -> float | None:
        """The median size of the groups' errors, in percent."""
        return median(map(abs, self.misses.values())) if self.misses else None

    @property
    def largest(self) -> float | None:
        """The groups' largest error with its sign, in percent."""
        return max(self.misses.values(), key=abs, default=None)

    @property
    def words(self) -> str:
        """The same in one or two sentences."""
        foreseen = f" (predicted: {percent(self.predicted.error)} %)" if self.predicted else ""
        text = (
            f"With {self.name}, a typical count is off by {percent(self.typical)} %{foreseen}. "
            f"In the worst table it is off by {percent(self.worst)} %."
        )
        if self.largest is None or self.median is None:
            return text
        group = max(self.misses, key=lambda words: abs(self.misses[words]))
        return (
            f"{text} Of the groups asked about, half are off by less than {self.median:.0f} %; "
            f"the worst, {group}, by {self.largest:+.0f} %.".replace("-", "−")
        )


@dataclass(frozen=True, eq=False)
class Contents:
    """What a report is made of, which are the arguments of `report`, and what it says.

    Nothing in it is a true answer unless `truth` is given.
    """

    estimate: Estimate
    design: Design
    truth: Any
    dependences: Dependences | None
    clusters: Sequence[Sequence[str]] | None
    queries: Sequence[Where] | Mapping[str, Where]
    others: Sequence[Estimate] | Mapping[str, Estimate]
    plan: Plan | None
    story: Sequence[str]
    title: str
    survey: Survey | None = None
    phases: Mapping[str, Design] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.survey is not None and self.survey.domain != self.design.domain:
            raise EstimateError(
                "the survey does not ask what the reports are of. Give the survey file that the "
                "design was made from"
            )
        if self.estimate.domain != self.design.domain:
            raise EstimateError(
                "the estimate is not of this design's attributes. Give the design of its reports"
            )

    @property
    def simulated(self) -> bool:
        """Whether true records are at hand."""
        return self.truth is not None

    @cached_property
    def alternatives(self) -> Alternatives:
        """The design beside those a plan proposes; nobody was asked under that of two phases."""
        if self.phases:
            return Alternatives(())
        return alternatives(self.design, self.estimate.n, self.dependences, self.plan)

    @property
    def protocol(self) -> str:
        """The design's name: the paper's, or a plan's where people get different questions."""
        if self.phases:
            return f"{len(self.phases)} phases"
        used = self.alternatives.used
        if used is None or used.name == OWN or len(self.design.questionnaires) == 1:
            return words.protocol_name(self.design)
        return used.name

    @cached_property
    def methods(self) -> dict[str, Estimate]:
        """The estimates by the names they are shown under, the one that is reported first."""
        mine = self.estimate
        if isinstance(self.others, Mapping):
            named = [(f"{self.protocol}, {mine.method}", mine), *self.others.items()]
        else:
            named = [(each.method, each) for each in (mine, *self.others)]
        if any(other.domain != mine.domain or other.n != mine.n for _, other in named):
            raise EstimateError(
                "an estimate to compare with is not of the same people and attributes"
            )
        methods = dict(named)
        if len(methods) < len(named):
            raise EstimateError(f"compare different methods; these are {', '.join(methods)} only")
        return methods

    @cached_property
    def codes(self) -> list[Codes] | None:
        """The true records, if this is a simulation."""
        if self.truth is None:
            return None
        codes = encode(self.truth, self.design.domain)
        if len(codes[0]) != self.estimate.n:
            raise EstimateError(
                f"the truth has {len(codes[0]):,} records, but {self.estimate.n:,} people "
                "reported. Give the true records of those who reported, and of nobody else"
            )
        return codes

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """Every attribute's estimated shares."""
        attributes, found = self.design.domain.attributes, []
        questions = self.survey.questions if self.survey else map(Question, attributes)
        for place, (attribute, question) in enumerate(zip(attributes, questions, strict=True)):
            truth = None
            if self.codes is not None:
                counts = np.bincount(self.codes[place], minlength=attribute.size)
                truth = counts / self.estimate.n
            found.append(Margin(question, self.estimate.table(attribute.name), truth))
        return tuple(found)

    @property
    def designs(self) -> Mapping[str, Design]:
        """The designs people were asked under: by phase, or the one under an empty name."""
        return self.phases or {"": self.design}

    @cached_property
    def asked(self) -> tuple[Asked, ...]:
        """The count queries, answered."""
        domain, found = self.design.domain, []
        if isinstance(self.queries, Mapping):
            named = list(self.queries.items())
        else:
            named = [(words.query_words(where), where) for where in self.queries]
        for said, where in named:
            query = Query.of(where, domain)
            counts = {name: each.count(query) for name, each in self.methods.items()}
            truth = None
            if self.codes is not None:
                truth = int(query.holds(dict(zip(domain.names, self.codes, strict=True))).sum())
            found.append(Asked(said, self.is_held(query.attributes), counts, truth))
        return tuple(found)

    @property
    def drawn(self) -> list[Answer]:
        """Those that a chart can show, by as many methods as it can tell apart."""
        return [
            Answer(asked.words, dict(islice(asked.counts.items(), MOST_METHODS)), asked.truth)
            for asked in self.asked
            if asked.truth or not self.simulated
        ]

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """How far off each estimate turned out, in a simulation."""
        if self.codes is None:
            return ()
        used = self.alternatives.used if self.estimate.method == "auto" else None
        predicted = used.predicted if used else None
        return outcomes(self.methods, self.codes, self.asked, predicted)

    @cached_property
    def true_dependences(self) -> Dependences | None:
        """The dependences of the true records, where there are others to compare with them."""
        if self.codes is None or self.dependences is None:
            return None
        return from_codes(self.codes, self.design.domain)

    @cached_property
    def parts(self) -> list[Cluster]:
        """Every cluster of the design, once."""
        return list(dict.fromkeys(c for q in self.design.questionnaires for c in q.clusters))

    @property
    def framed(self) -> Sequence[Sequence[str]]:
        """The clusters to show beside the dependences."""
        if self.clusters is not None:
            held = {name for names in self.clusters for name in names}
            public = [(name,) for name in self.design.domain.public if name not in held]
            return [*self.clusters, *public]
        alone = len(self.design.questionnaires) == 1
        return [c.attributes for c in self.design.clusters] if alone else []

    def is_held(self, names: Iterable[str]) -> bool:
        """Whether some person reports all these attributes as one answer."""
        return any(set(names) <= set(part.attributes) for part in self.parts)

    @property
    def pairs_held(self) -> str:
        """Which pairs are reported as one answer by somebody: all, some or none (empty)."""
        together = [self.is_held(pair) for pair in combinations(self.design.domain.names, 2)]
        return "all" if all(together) else "some" if any(together) else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the reports are doubtful, if they are."""
        return words.warning_words(self.methods.values())


def outcomes(
    methods: Mapping[str, Estimate],
    codes: Sequence[Codes],
    queries: Sequence[Asked],
    predicted: Predicted | None,
) -> tuple[Outcome, ...]:
    """What became of each estimate; `predicted` is of the first."""
    truths = dict(_true_tables(next(iter(methods.values())).domain, codes))
    found: list[Outcome] = []
    for name, estimate in methods.items():
        errors: dict[int, list[float]] = {}
        for names, true in truths.items():
            gap = float(((estimate.table(*names).values - true) ** 2).sum())
            errors.setdefault(len(names), []).append(relative_error(gap, true.size, TYPICAL))
        typical = float(np.mean([np.mean(kind) for kind in errors.values()]))
        misses = {asked.words: asked.miss(asked.counts[name]) for asked in queries}
        known = {words: miss for words, miss in misses.items() if miss is not None}
        foreseen = None if found else predicted
        found.append(Outcome(name, foreseen, typical, max(map(max, errors.values())), known))
    return tuple(found)


def _true_tables(domain: Domain, codes: Sequence[Codes]) -> Iterator[tuple[tuple[str, ...], Array]]:
    """The true distribution of every attribute and of pairs, by their names."""
    m = len(domain)
    for places in [(j,) for j in range(m)] + list(islice(combinations(range(m), 2), _MOST_PAIRS)):
        shape = tuple(domain.attributes[j].size for j in places)
        if np.prod(shape) <= _MOST_CELLS:
            cells = np.ravel_multi_index([codes[j] for j in places], shape)
            table = np.bincount(cells, minlength=int(np.prod(shape))) / len(cells)
            yield tuple(domain.names[j] for j in places), table.reshape(shape)
