"""Lay the contents out as one HTML page."""

from __future__ import annotations

from importlib import metadata, resources
from math import isfinite
from statistics import median
from typing import Any

from mdrr import plots
from mdrr.columns import require
from mdrr.reporting.contents import Asked, Contents, Margin
from mdrr.reporting.words import made_words, size_words


def render(contents: Contents) -> str:
    """The page as text."""
    jinja = require("jinja2", "report")
    folder = resources.files("mdrr.reporting")
    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        whole=_whole, one=_one, signed=_signed, size=size_words, budget=_budget, people=_people
    )
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    safe = jinja.utils.markupsafe.Markup
    text: str = template.render(
        it=contents,
        style=safe((folder / "page.css").read_text(encoding="utf-8")),
        figures={name: safe(svg) for name, svg in _figures(contents).items()},
        margins=[(margin, safe(_margin_figure(contents, margin))) for margin in contents.margins],
        missed=_median_misses(contents),
        others_made=[(other, made_words(other, contents.design)) for other in contents.others],
        version=metadata.version("mdrr"),
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
    compared = contents.alternatives
    if compared.plan is not None and len(compared.plan.candidates) > 1:
        words = "; ".join(f"{row.name} {row.error} %" for row in compared.rows[:12])
        chart = plots.candidates(compared.plan, used=compared.used)
        charts["alternatives"] = chart, f"Predicted error of each design: {words}."
    drawn = [asked for asked in contents.queries if _drawable(asked, contents)]
    if drawn:
        answers = [asked.answer for asked in drawn]
        words = "Count queries with their intervals; the numbers are in the table above."
        charts["counts"] = plots.counts(answers), words
    return {name: plots.to_svg(chart, words) for name, (chart, words) in charts.items()}


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
