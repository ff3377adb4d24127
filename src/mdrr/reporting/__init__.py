"""The report: one HTML page that says what was estimated, how well, and what it cost in privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata, resources
from math import isfinite
from pathlib import Path
from typing import Any

from mdrr import plots
from mdrr.columns import require
from mdrr.dependence import Dependences
from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation import Estimate
from mdrr.files import write_text
from mdrr.planning import Plan
from mdrr.plots.style import percent
from mdrr.privacy import in_words
from mdrr.query import Where
from mdrr.reporting.alternatives import planned
from mdrr.reporting.contents import Contents
from mdrr.reporting.words import reported_words, size_words, strongest_words
from mdrr.survey import Survey

__all__ = ["report", "report_plan"]


def report(
    estimate: Estimate,
    design: Design,
    *,
    path: str | Path,
    truth: Any = None,
    dependences: Dependences | None = None,
    clusters: Sequence[Sequence[str]] | None = None,
    queries: Sequence[Where] | Mapping[str, Where] = (),
    others: Sequence[Estimate] | Mapping[str, Estimate] = (),
    plan: Plan | None = None,
    story: Sequence[str] = (),
    survey: Survey | None = None,
    phases: Mapping[str, Design] | None = None,
    title: str | None = None,
) -> Path:
    """Write a self-contained page: no script, nothing fetched, whole or not at all.

    Arguments:
        estimate: what was estimated.
        design: the design the reports were made under.
        path: the file to write; its folder must exist.
        truth: a frame of the same people's true records. Only a simulation has one: the page then
            compares with it and says that it is a simulation. Without it no true answer is used.
        dependences: of all pairs of attributes, as learnt from reports.
        clusters: the clusters found with them; those of the design by default.
        queries: count queries to answer, as a list, or by the words to show for each.
        others: estimates of the same people to compare with: a list of other methods' estimates of
            the same reports, or estimates by the words to show for each, such as of other designs.
        plan: the plan that the design comes from. Its prediction stands on the page; without it,
            designs are compared by a new plan.
        story: how the reports came about, one step each.
        survey: its title, questions and labels stand on the page, in the survey's first language;
            `survey.spoken("de")` is the survey in another.
        phases: the designs of several surveys that were pooled, by what to call each.
        title: the page's heading; by default the survey's.

    Returns:
        The path written.

    Example:
        >>> import tempfile, mdrr
        >>> people = mdrr.datasets.adult(columns=["sex", "income"])
        >>> design = mdrr.independent(mdrr.datasets.adult_domain(["sex", "income"]), p=0.5)
        >>> found = mdrr.estimate(mdrr.tally(mdrr.randomize(people, design), design), design)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = report(found, design, path=f"{folder}/report.html")
        ...     "RR-Independent" in page.read_text(encoding="utf-8")
        True
    """
    if not isinstance(estimate, Estimate) or not isinstance(design, Design):
        raise EstimateError("a report is of an estimate and its design, in this order")
    heading = title or (survey.title if survey else "") or "What the randomized answers say"
    contents = Contents(
        estimate,
        design,
        truth,
        dependences,
        clusters,
        queries,
        others,
        plan,
        story,
        heading,
        survey,
        phases or {},
    )
    write_text(path, render(contents))
    return Path(path)


def report_plan(plan: Plan, *, path: str | Path) -> Path:
    """Write a self-contained page of a plan: every design's predicted error, and the best.

    Arguments:
        plan: what was planned.
        path: the file to write; its folder must exist.

    Returns:
        The path written.

    Example:
        >>> import tempfile, mdrr
        >>> found = mdrr.plan(mdrr.datasets.adult_domain(["sex", "race"]), n=1000, epsilon=2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = report_plan(found, path=f"{folder}/plan.html")
        ...     found.best.name in page.read_text(encoding="utf-8")
        True
    """
    write_text(path, fill("plan.html", title="Which design to use", found=planned(plan)))
    return Path(path)


def render(contents: Contents) -> str:
    """The page as text."""
    return fill("page.html", title=contents.title, it=contents)


def marks(language: str) -> Any:
    """The attributes that mark a survey's own words on a page that is in English."""
    return require("markupsafe", "report").Markup(' lang="{}" dir="auto"').format(language)


def fill(name: str, **values: Any) -> str:
    """A page from its template and what it speaks of."""
    jinja = require("jinja2", "report")
    folder = resources.files("mdrr.reporting")
    environment = jinja.Environment(
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja.FunctionLoader(lambda each: (folder / each).read_text(encoding="utf-8")),
    )
    safe = jinja.utils.markupsafe.Markup
    environment.filters |= {
        "whole": "{:,.0f}".format,
        "one": lambda value: "–" if value is None else f"{value:.1f}",
        "signed": lambda value: "–" if value is None else f"{value:+.1f}".replace("-", "−"),
        "percent": lambda share: "–" if share is None else percent(share),
        "people": lambda value: f"{value:.1f}" if value < 9.95 else f"{value:,.0f}",
        "budget": lambda value, digits=2: f"{value:.{digits}f}" if isfinite(value) else "∞",
        "marks": marks,
        "size": size_words,
        "reported": reported_words,
        "privacy": in_words,
        "strongest": strongest_words,
        "svg": lambda chart, words: safe(plots.to_svg(chart, words)),
    }
    text: str = environment.get_template(name).render(
        style=safe((folder / "page.css").read_text(encoding="utf-8")),
        plots=plots,
        version=metadata.version("mdrr"),
        **values,
    )
    return text
