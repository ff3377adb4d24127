"""What anybody may read: the survey as people are asked it, and its results once published.

The page of results shows the estimate as tables, in the survey's words.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from html import escape
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from mdrr.columns import require
from mdrr.frozen import texts
from mdrr.randomizer import Batch, Reports
from mdrr.report_frames import report_table
from mdrr.server.answers import SurveyId, Surveys, problems
from mdrr.server.blind import to_text
from mdrr.server.held import Held, Phase
from mdrr.server.store import Store
from mdrr.tallies import Tally

PARQUET = "application/vnd.apache.parquet"
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


class Survey(BaseModel):
    """What the respondent page needs."""

    id: str
    state: Literal["open", "closed", "published"]
    phase: int
    survey: dict[str, Any] = Field(description="Titles, texts and questions by language.")
    design: dict[str, Any] = Field(description="How answers are randomized.")
    fingerprint: str = Field(description="SHA-256 of the design.")
    earlier: list[str] = Field(description="The fingerprints of earlier phases, which are over.")
    invitations: Literal["none", "required", "blind"]
    answer_bytes: int = Field(description="How long the body of every answer is.")
    blind_key: str | None = Field(description="The key of blind invitations, base64url.")


def published_routes(store: Store, surveys: Surveys) -> APIRouter:
    """The routes that read, and need no token."""
    refused = problems(404, 422)
    router = APIRouter(prefix="/api/surveys/{survey}", tags=["anybody"], responses=refused)

    @router.get("", response_model=Survey)
    async def survey(survey: SurveyId) -> JSONResponse:
        """The survey's texts and the design of the phase that is asked now."""
        held = await surveys.need(survey)
        phase = held.phase()
        return JSONResponse(
            {
                "id": held.id,
                "state": held.state,
                "phase": held.number,
                "survey": texts(held.frozen.survey),
                "design": phase.design.to_dict(),
                "fingerprint": phase.design.fingerprint,
                "earlier": [each.design.fingerprint for each in held.begun()[:-1]],
                "invitations": held.invitations,
                "answer_bytes": held.lengths[phase.design.fingerprint],
                "blind_key": None if held.blind_key is None else to_text(held.blind_key),
            },
            headers={"cache-control": "no-store"},
        )

    @router.get("/results")
    async def results(survey: SurveyId) -> dict[str, Any]:
        """The published estimate."""
        held = await surveys.results(survey)
        found: dict[str, Any] = json.loads(held.results or "{}")
        return found

    @router.get("/results/survey.json")
    async def frozen(survey: SurveyId) -> dict[str, Any]:
        """The frozen survey with the designs of all its phases, to read the reports with."""
        return (await surveys.results(survey)).frozen.to_dict()

    @router.get(
        "/results/reports.parquet",
        response_class=Response,
        responses={200: {"content": {PARQUET: {}}}},
    )
    async def open_data(
        survey: SurveyId,
        phase: Annotated[int | None, Query(ge=1, le=2, description="The last by default.")] = None,
    ) -> Response:
        """The randomized reports of a phase in random order, if the owner published them."""
        held = await surveys.need(survey)
        if held.state != "published" or not held.open_data:
            raise HTTPException(404, "The reports of this survey are not published.")
        content = await asyncio.to_thread(parquet, store, held.phase(phase))
        return Response(content, media_type=PARQUET)

    return router


def parquet(store: Store, phase: Phase) -> bytes:
    """The reports of a phase as a Parquet file, in random order."""
    pyarrow = require("pyarrow", "frames")
    parquet = require("pyarrow.parquet", "frames")
    out = pyarrow.BufferOutputStream()
    reports = shuffled(store.tally(phase, keep="reports"))
    parquet.write_table(report_table(reports, phase.design), out)
    return bytes(out.getvalue())


def shuffled(tally: Tally) -> Reports:
    """Every report of a tally of all reports, in random order."""
    rows = np.random.default_rng(secrets.randbits(128)).permutation(tally.n)
    batches, before = [], 0
    for group in tally.groups:
        codes = tuple(np.repeat(column, group.counts) for column in group.codes)
        batches.append(Batch(rows[before : before + group.n], codes))
        before += group.n
    return Reports(tally.fingerprint, tally.n, tuple(batches))


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
