"""What the dashboard shows: the survey's words, and the report's own charts of its estimates.

Whatever draws or estimates is loaded when a chart is first asked for: a server starts at once.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from mdrr.errors import MdrrError
from mdrr.frozen import texts
from mdrr.protocols import MAX_CELLS, MIN_DEPENDENCE
from mdrr.server.findings import Findings, raw_shares
from mdrr.server.held import Held, finite
from mdrr.server.owner import Method, Number, OnePhase, Owned, content, owner_router
from mdrr.server.schema import StoreError
from mdrr.server.store import Store

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.estimation import Count, Estimate
    from mdrr.plots import Chart
    from mdrr.query import Where

COMPARED = ("auto", "product", "pairwise", "latent")
"""The estimators that are compared, as many as a chart can tell apart."""
MOST_COMPARED = 5
"""So many groups are compared where none is asked for."""

Width = Annotated[int, Query(ge=160, le=900, description="Of the plot, in pixels.")]
Asked = Annotated[str | None, Query(max_length=10_000, description="A group, as in count.")]


def chart_routes(store: Store, findings: Findings) -> APIRouter:
    """The dashboard's routes; all need the owner's token."""
    router = owner_router()
    drawn = content("image/svg+xml")

    @router.get("/survey")
    def survey(held: Owned, phase: OnePhase = None) -> dict[str, Any]:
        """The survey's words, its attributes, and what one person's answer spends."""
        from mdrr.privacy import account, in_words

        design = held.phase(phase).design
        spent = {each.name: finite(each.epsilon) for each in account(design).attributes}
        return {
            "id": held.id,
            "survey": texts(held.frozen.survey),
            "epsilon": finite(design.epsilon),
            "fingerprint": design.fingerprint,
            "attributes": [
                {
                    "name": attribute.name,
                    "categories": list(attribute.categories),
                    "public": attribute.public,
                    "epsilon": spent.get(attribute.name),
                }
                for attribute in design.domain.attributes
            ],
            "told": in_words(design),
            "methods": COMPARED,
        }

    @router.get("/charts/shares.html", **content("text/html"))
    @findings.computed
    def shares(held: Owned, method: Method = "auto", phase: Number = None) -> Response:
        """The shares of every attribute beside the raw ones, as a part of a page."""
        from mdrr.reporting import fill, marks
        from mdrr.reporting.contents import Margin

        found = findings.estimate(held.begun(phase), method)
        raw = raw_shares(found.evidence.tally, found.evidence.design)
        survey = held.frozen.survey
        margins = [
            Margin(question, found.table(name), raw=raw[name])
            for name, question in zip(survey.domain.names, survey.questions, strict=True)
        ]
        text = fill("shares.html", margins=margins, marks=marks(survey.language))
        return Response(text, media_type="text/html")

    @router.get("/charts/arrivals.svg", **drawn)
    @findings.computed
    def arrivals(held: Owned, phase: Number = None, width: Width = 372) -> Response:
        """When answers came, by the hour."""
        from mdrr import plots

        numbers = {each.number for each in held.begun(phase)}
        hours: Counter[datetime] = Counter()
        for each in store.status(held.id)["arrivals"]:
            if each["phase"] in numbers:
                hours[datetime.fromisoformat(each["hour"])] += each["count"]
        words = f"When {sum(hours.values()):,} answers came."
        return _svg(plots.arrivals(hours, width=width), words)

    @router.get("/charts/dependences.svg", **drawn)
    @findings.computed
    def heat(held: Owned, phase: Number = None) -> Response:
        """The dependence of every pair, with the clusters framed."""
        from mdrr import plots
        from mdrr.clustering import cluster
        from mdrr.reporting.words import strongest_words

        related = findings.dependences(held.begun(phase))
        if related is None:
            raise MdrrError("some pair was reported by nobody, so there is nothing to draw")
        domain = held.frozen.survey.domain
        groups = cluster(related, domain, max_cells=MAX_CELLS, min_dependence=MIN_DEPENDENCE)
        held_in = {name for names in groups for name in names}  # public ones are in none
        alone = [(name,) for name in domain.names if name not in held_in]
        chart = plots.heat_map(related, clusters=[*alone, *groups])
        words = strongest_words(related, most=6)
        return _svg(chart, f"Dependence of every pair of attributes. {words}")

    @router.get("/charts/privacy.svg", **drawn)
    @findings.computed
    def privacy(held: Owned, phase: OnePhase = None, width: Width = 372) -> Response:
        """How often the truth is sent."""
        from mdrr import plots

        words = "How often the true answer is sent. The sentences beside the chart say the same."
        return _svg(plots.privacy(held.phase(phase).design, width=width), words)

    def compare(
        held: Held, number: int | None, where: str | None
    ) -> tuple[dict[str, dict[str, Count]], dict[str, str]]:
        """Each group's counts by method, and why a method has none."""
        asked, found, refused = held.begun(number), {}, {}
        for method in COMPARED:
            try:
                found[method] = findings.estimate(asked, method)
            except StoreError:
                raise
            except MdrrError as error:
                refused[method] = f"{error}."
        if not found:
            raise MdrrError(next(iter(refused.values())).rstrip("."))
        related = None if where else findings.dependences(asked)
        groups: dict[str, Where] = (
            {where: where} if where else _leading(held, next(iter(found.values())), related)
        )
        answers = {
            label: {method: each.count(group) for method, each in found.items()}
            for label, group in groups.items()
        }
        return answers, refused

    @router.get("/compared")
    @findings.computed
    def compared(held: Owned, phase: Number = None, where: Asked = None) -> dict[str, Any]:
        """A group, or frequent pairs of answers, counted by several estimators."""
        found, refused = compare(held, phase, where)
        answers = [
            {"label": label, "counts": {method: _ends(count) for method, count in counts.items()}}
            for label, counts in found.items()
        ]
        return {"answers": answers, "refused": refused}

    @router.get("/charts/compared.svg", **drawn)
    @findings.computed
    def compared_chart(
        held: Owned, phase: Number = None, where: Asked = None, width: Width = 372
    ) -> Response:
        """The same as a chart."""
        from mdrr import plots

        found, _ = compare(held, phase, where)
        answers = [plots.Answer(label, counts) for label, counts in found.items()]
        words = "Counts by several estimators; the numbers are in the table below."
        return _svg(plots.counts(answers, width=width), words)

    return router


def _svg(chart: Chart, words: str) -> Response:
    """A chart, and what is said of it."""
    from mdrr import plots

    svg = plots.to_svg(chart, words)
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return Response(svg, media_type="image/svg+xml")


def _leading(held: Held, found: Estimate, related: Dependences | None) -> dict[str, Where]:
    """The most frequent answers to the pairs of questions that go together most, as groups.

    Estimators agree on single questions; they differ in how these go together.
    """
    survey = held.frozen.survey
    names = survey.domain.names
    if len(names) == 1:
        pairs: list[tuple[str, ...]] = [names]
    elif related is None:
        pairs = list(combinations(names, 2))
    else:
        pairs = [(a, b) for a, b, _ in related.ranked()]
    groups: dict[str, Where] = {}
    for pair in pairs[:MOST_COMPARED]:
        labels, where = [], {}
        for question in map(survey.question, pair):
            top = int(found.table(question.attribute.name).values.argmax())
            labels.append(question.labels[top])
            where[question.attribute.name] = [question.attribute.categories[top]]
        groups[" and ".join(labels)] = where
    return groups


def _ends(count: Count) -> dict[str, float]:
    return {"value": count.value, "low": count.low, "high": count.high}
