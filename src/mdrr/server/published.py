"""What anybody may read: the survey as people are asked it, and its results once published."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from mdrr.columns import require
from mdrr.frozen import texts
from mdrr.report_frames import report_table
from mdrr.server.answers import SurveyId, Surveys, answer_bytes, problems
from mdrr.server.blind import to_text
from mdrr.server.held import Phase
from mdrr.server.order import shuffled
from mdrr.server.store import Store

PARQUET = "application/vnd.apache.parquet"


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
    router = APIRouter(prefix="/api/surveys/{survey}", tags=["anybody"])

    @router.get("", response_model=Survey, responses=problems(404))
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
                "answer_bytes": answer_bytes(phase.design, held.invitations),
                "blind_key": None if held.blind_key is None else to_text(held.blind_key),
            },
            headers={"cache-control": "no-store"},
        )

    @router.get("/results", responses=problems(404))
    async def results(survey: SurveyId) -> dict[str, Any]:
        """The published estimate."""
        held = await surveys.results(survey)
        found: dict[str, Any] = json.loads(held.results or "{}")
        return found

    @router.get("/results/survey.json", responses=problems(404))
    async def frozen(survey: SurveyId) -> dict[str, Any]:
        """The frozen survey with the designs of all its phases, to read the reports with."""
        return (await surveys.results(survey)).frozen.to_dict()

    @router.get(
        "/results/reports.parquet",
        response_class=Response,
        responses={200: {"content": {PARQUET: {}}}, **problems(404)},
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
