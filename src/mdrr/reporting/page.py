"""Lay the contents out as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata, resources
from math import isfinite
from statistics import median
from typing import Any

from mdrr import plots
from mdrr.columns import require
from mdrr.reporting.alternatives import Alternatives
from mdrr.reporting.contents import Asked, Contents, Margin
from mdrr.reporting.words import made_words, size_words


def render(contents: Contents) -> str:
    """The page as text."""
    return fill(
        "page.html",
        _figures(contents),
        it=contents,
        margins=[(margin, _margin_figure(contents, margin)) for margin in contents.margins],
        missed=_median_misses(contents),
        others_made=[(other, made_words(other, contents.design)) for other in contents.others],
    )


def fill(name: str, figures: Mapping[str, str], **values: Any) -> str:
    """A page from its template, the figures by name and what else it speaks of."""
    jinja = require("jinja2", "report")
    folder = resources.files("mdrr.reporting")
    files = {each: (folder / each).read_text(encoding="utf-8") for each in {name, "compared.html"}}
    environment = jinja.Environment(
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja.DictLoader(files),
    )
    safe = jinja.utils.markupsafe.Markup
    environment.filters.update(
        whole=_whole, one=_one, signed=_signed, size=size_words, budget=_budget, people=_people
    )
    environment.filters["drawn"] = safe
    text: str = environment.get_template(name).render(
        style=safe((folder / "page.css").read_text(encoding="utf-8")),
        figures={each: safe(svg) for each, svg in figures.items()},
        version=metadata.version("mdrr"),
        **values,
    )
    return text


def _median_misses(contents: Contents) -> dict[str, float]:
    """The median relative error of the queries by method, in percent, where the truth is known."""
    misses: dict[str, list[float]] = {}
    for asked in contents.queries:
        for method, count in asked.counts.items():
            if (miss := asked.miss(count)) is not None:
                misses.setdefault(method, []).append(abs(miss))
    return {method: median(sizes) for method, sizes in misses.items()}


def _margin_figure(contents: Contents, margin: Margin) -> str:
    name = margin.attribute.name
    chart = plots.marginal(contents.estimate, name, truth=margin.truth)
    also = " and the true shares" if margin.truth is not None else ""
    words = f"Estimated shares of {name} with intervals{also}; the numbers are in the table below."
    return plots.to_svg(chart, words)


def _figures(contents: Contents) -> dict[str, str]:
    """The figures that the contents allow, by name."""
    charts: dict[str, tuple[Any, str]] = {}
    if any(c.matrix.reports_cells for q in contents.design.questionnaires for c in q.clusters):
        words = "; ".join(
            f"{' + '.join(part.names)}: {part.sent:.0f} times in 100, blind guess "
            f"{100 / part.cells:.2g}"
            for part in contents.parts[:12]
            if part.sent is not None
        )
        charts["privacy"] = plots.privacy(contents.design), f"How often the truth is sent. {words}."
    if contents.dependences is not None:
        charts |= _dependence_charts(contents)
    drawn = [asked for asked in contents.queries if _drawable(asked, contents)]
    if drawn:
        answers = [asked.answer for asked in drawn]
        words = "Count queries with their intervals; the numbers are in the table above."
        charts["counts"] = plots.counts(answers), words
    drawings = {name: plots.to_svg(chart, words) for name, (chart, words) in charts.items()}
    return drawings | compared_figure(contents.alternatives)


def compared_figure(found: Alternatives) -> dict[str, str]:
    """The chart of designs, by its name; none where there are not two to compare."""
    if found.plan is None or len(found.plan.candidates) < 2:
        return {}
    words = "; ".join(f"{row.name} {row.error} %" for row in found.rows[:12])
    chart = plots.candidates(found.plan, used=found.used)
    return {"alternatives": plots.to_svg(chart, f"Predicted error of each design: {words}.")}


def _drawable(asked: Asked, contents: Contents) -> bool:
    return not contents.simulated or bool(asked.truth)


def _dependence_charts(contents: Contents) -> dict[str, tuple[Any, str]]:
    found, clusters = contents.dependences, contents.clusters
    assert found is not None
    strongest = "; ".join(f"{a} and {b} {value:.2f}" for a, b, value in found.ranked()[:6])
    return {
        "heat": (
            plots.heat_map(found, clusters=clusters),
            f"Dependence of every pair of attributes. Strongest: {strongest}.",
        ),
        "pairs": (
            plots.pairs(found, clusters=clusters, truth=contents.true_dependences),
            f"The strongest pairs and whether a cluster holds both. {strongest}.",
        ),
    }


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _one(value: float) -> str:
    return f"{value:.1f}"


def _budget(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if isfinite(value) else "∞"


def _people(value: float) -> str:
    """A few people, to two digits."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}".replace("-", "−")
