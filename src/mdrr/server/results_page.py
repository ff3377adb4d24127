"""The page of published results, for everybody: the estimate as tables, in the survey's words."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from mdrr.server.held import Held

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="../static/report.css">
</head>
<body>
<main>
<p class="kicker">Published results</p>
<h1>{title}</h1>
<p class="lead">Estimated from {answers:,} randomized answers, with ε = {epsilon} at most.</p>
<p>‘Low’ and ‘high’ are the ends of {level:.0%} intervals. ‘As sent’ are the shares of the
randomized answers, before the estimate.</p>
{tables}
<p><a href="../api/surveys/{id}/results">The same for programs, with dependences</a>{data}</p>
</main>
</body>
</html>
"""
_DATA = ' · <a href="../api/surveys/{id}/results/reports.parquet?phase={phase}">{words}</a>'
_ONE = ("The randomized answers",)
_TWO = ("The randomized answers of the pilot", "of the main survey")


def results_page(held: Held) -> str:
    """The page of a published survey, in its first language."""
    found: dict[str, Any] = json.loads(held.results or "{}")
    survey = held.frozen.survey
    tables = "\n".join(
        _table(question.text, question.labels, each)
        for question, each in zip(survey.questions, found["attributes"], strict=True)
    )
    epsilon = found["epsilon"]
    return _PAGE.format(
        language=escape(survey.language),
        title=escape(survey.title),
        answers=found["answers"],
        epsilon="∞" if epsilon is None else f"{epsilon:.2f}",
        level=found["level"],
        tables=tables,
        id=held.id,
        data=_data(held) if held.open_data else "",
    )


def _data(held: Held) -> str:
    """A link to the reports of each phase."""
    words = _ONE if held.number == 1 else _TWO
    return "".join(
        _DATA.format(id=held.id, phase=phase, words=said) for phase, said in enumerate(words, 1)
    )


def _table(text: str, labels: tuple[str, ...], found: dict[str, Any]) -> str:
    heads = ("share", "low", "high", "as sent")
    columns = [found[key] or [None] * len(labels) for key in ("shares", "low", "high", "raw")]
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        + "".join(f"<td>{'–' if value is None else f'{value:.1%}'}</td>" for value in values)
        + "</tr>\n"
        for label, *values in zip(labels, *columns, strict=True)
    )
    head = "".join(f'<th scope="col">{each}</th>' for each in ("answer", *heads))
    return (
        f'<section><h2>{escape(text)}</h2>\n<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(text)}"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div></section>"
    )
