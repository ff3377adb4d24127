"""The report: one HTML page that says what was estimated, how well, and what it cost in privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdrr.dependence import Dependences
from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation import Estimate
from mdrr.files import write_text
from mdrr.planning import Plan
from mdrr.query import Where
from mdrr.reporting.contents import gather
from mdrr.reporting.page import render
from mdrr.reporting.planned import report_plan

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
    title: str = "What the randomized answers say",
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
        title: the page's heading.

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
    if estimate.domain != design.domain:
        raise EstimateError(
            "the estimate is not of this design's attributes. Give the design of its reports"
        )
    contents = gather(
        estimate,
        design,
        truth=truth,
        dependences=dependences,
        clusters=clusters,
        queries=queries,
        others=others,
        plan=plan,
        story=story,
        title=title,
    )
    write_text(path, render(contents))
    return Path(path)
