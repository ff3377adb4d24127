"""What the dashboard shows: the survey's words, and the report's own charts of its estimates.

Whatever draws or estimates is loaded when a chart is first asked for: a server starts at once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
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

    async def draw(make: Callable[[Any], tuple[Chart, str]]) -> Response:
        """What `make` draws with `mdrr.plots`, and says of it."""

        def made() -> str:
            from mdrr import plots

            svg = plots.to_svg(*make(plots))
            return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)

        return Response(await findings.compute(made), media_type="image/svg+xml")

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
    async def shares(held: Owned, method: Method = "auto", phase: Number = None) -> Response:
        """The shares of every attribute beside the raw ones, as a part of a page."""

        def written() -> str:
            from mdrr.reporting import fill, marks
            from mdrr.reporting.contents import Margin

            found = findings.estimate(held.begun(phase), method)
            raw = raw_shares(found.evidence.tally, found.evidence.design)
            survey = held.frozen.survey
            margins = [
                Margin(question, found.table(name), raw=raw[name])
                for name, question in zip(survey.domain.names, survey.questions, strict=True)
            ]
            return fill("shares.html", margins=margins, marks=marks(survey.language))

        return Response(await findings.compute(written), media_type="text/html")

    @router.get("/charts/arrivals.svg", **drawn)
    async def arrivals(held: Owned, phase: Number = None, width: Width = 372) -> Response:
        """When answers came, by the hour."""
        status = await asyncio.to_thread(store.status, held.id)
        numbers = {each.number for each in held.begun(phase)}
        hours: Counter[datetime] = Counter()
        for each in status["arrivals"]:
            if each["phase"] in numbers:
                hours[datetime.fromisoformat(each["hour"])] += each["count"]
        words = f"When {sum(hours.values()):,} answers came."
        return await draw(lambda plots: (plots.arrivals(hours, width=width), words))

    @router.get("/charts/dependences.svg", **drawn)
    async def heat(held: Owned, phase: Number = None) -> Response:
        """The dependence of every pair, with the clusters framed."""

        def made(plots: Any) -> tuple[Chart, str]:
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
            return chart, f"Dependence of every pair of attributes. {words}"

        return await draw(made)

    @router.get("/charts/privacy.svg", **drawn)
    async def privacy(held: Owned, phase: OnePhase = None, width: Width = 372) -> Response:
        """How often the truth is sent."""
        design = held.phase(phase).design
        words = "How often the true answer is sent. The sentences beside the chart say the same."
        return await draw(lambda plots: (plots.privacy(design, width=width), words))

    def compare(held: Held, number: int | None, where: str | None) -> dict[str, Any]:
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
        return {"answers": answers, "refused": refused}

    @router.get("/compared")
    async def compared(held: Owned, phase: Number = None, where: Asked = None) -> dict[str, Any]:
        """A group, or frequent pairs of answers, counted by several estimators."""
        found = await findings.compute(compare, held, phase, where)
        answers = [
            {"label": label, "counts": {method: _ends(count) for method, count in counts.items()}}
            for label, counts in found["answers"].items()
        ]
        return {"answers": answers, "refused": found["refused"]}

    @router.get("/charts/compared.svg", **drawn)
    async def compared_chart(
        held: Owned, phase: Number = None, where: Asked = None, width: Width = 372
    ) -> Response:
        """The same as a chart."""

        def made(plots: Any) -> tuple[Chart, str]:
            found = compare(held, phase, where)["answers"]
            chart = plots.counts(
                [plots.Answer(label, counts) for label, counts in found.items()], width=width
            )
            return chart, "Counts by several estimators; the numbers are in the table below."

        return await draw(made)

    return router


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
