"""The page of a plan: which design to use, before anyone is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mdrr.errors import DesignError
from mdrr.files import write_text
from mdrr.planning import Plan
from mdrr.planning.predict import GUESSED, GUESSWORK
from mdrr.plots.style import percent
from mdrr.privacy import in_words
from mdrr.reporting.alternatives import Alternatives, distinct, least_words
from mdrr.reporting.page import compared_figure, fill


def report_plan(
    plan: Plan, *, path: str | Path, learnt: bool = False, title: str = "Which design to use"
) -> Path:
    """Write a self-contained page of a plan: every design's predicted error, and the best.

    Arguments:
        plan: what was planned.
        path: the file to write; its folder must exist.
        learnt: whether it was planned with dependences; otherwise the page says what was assumed.
        title: the page's heading.

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
    if not plan.candidates:
        raise DesignError("the plan has no design to show: its domain is too large at this budget")
    shown = replace(plan, candidates=tuple(distinct(plan)))
    found = Alternatives(_verdict(shown), _known(shown, learnt), shown)
    text = fill(
        "plan.html",
        compared_figure(found),
        title=title,
        plan=shown,
        found=found,
        learnt=learnt,
        privacy=in_words(shown.design),
    )
    write_text(path, text)
    return Path(path)


def _verdict(plan: Plan) -> tuple[str, ...]:
    best, *others = plan.candidates
    words = [
        f"With {plan.n:,} people, each spending at most ε = {plan.epsilon:g}, the design "
        f"“{best.name}” is predicted to err by {percent(best.predicted.error)} % on a typical count"
    ]
    if others:
        words[0] += (
            f"; the next best, “{others[0].name}”, by {percent(others[0].predicted.error)} %"
        )
    words[0] += "."
    words += least_words(plan)
    if best.predicted.guess > GUESSWORK:
        words.append(GUESSED)
    return tuple(words)


def _known(plan: Plan, learnt: bool) -> str:
    if len(plan.domain) < 2:
        return ""
    if learnt:
        return "The dependences that were given tell what is lost where attributes are asked apart."
    return (
        "Every two attributes are taken to depend on each other a little. A pilot tells how much "
        "they do: plan again with its dependences."
    )
