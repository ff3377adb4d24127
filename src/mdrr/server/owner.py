"""What an owner may see with her token: how the survey stands, estimates, counts, and files."""

from __future__ import annotations

import asyncio
import hmac
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from mdrr.frozen import shortfall
from mdrr.protocols import MAX_CELLS, MIN_DEPENDENCE
from mdrr.server.answers import NO_SURVEY, SurveyId, problems
from mdrr.server.findings import METHODS, Findings
from mdrr.server.held import Held, token_hash
from mdrr.server.limits import Limits
from mdrr.server.published import PARQUET, parquet
from mdrr.server.store import Store

WATCH_SECONDS = 1.0
"""How often a dashboard is told of new answers, at most."""
QUIET_SECONDS = 15.0
"""After how long without news it is told that the server is there."""
MOST_RECORDS = 1_000_000
PHASES = ("Pilot", "Main survey")

KNOWN = f"^({'|'.join(METHODS)})$"
Method = Annotated[str, Query(pattern=KNOWN, description="The estimator.")]
Level = Annotated[float, Query(gt=0, lt=1, description="The confidence level of intervals.")]
OnePhase = Annotated[
    int | None, Query(ge=1, le=2, description="The phase; the one asked now by default.")
]
Number = Annotated[
    int | None, Query(ge=1, le=2, description="One phase. Default: all that were begun, as one.")
]


class PhaseStatus(BaseModel):
    """How one phase stands."""

    number: int
    answers: int
    epsilon: float | None
    fingerprint: str


class Arrivals(BaseModel):
    """How many answers came in one hour."""

    phase: int
    hour: str = Field(description="UTC, as 2026-11-16T07:00Z.")
    count: int


class Invitations(BaseModel):
    """How many invitations were made and used."""

    kind: Literal["none", "required", "blind"]
    made: int
    used: int


class Status(BaseModel):
    """How a survey stands."""

    id: str
    state: Literal["draft", "open", "closed", "published"]
    phase: int
    phases: list[PhaseStatus]
    answers: int
    most: int
    arrivals: list[Arrivals]
    invitations: Invitations
    epsilon: float | None
    fingerprint: str
    link: str = Field(description="The respondents' link, under the address of this server.")


class CountOf(BaseModel):
    """A count with its interval."""

    value: float
    low: float
    high: float
    level: float
    n: int


BEARER = HTTPBearer(auto_error=False, description="The owner's token.")


def owned(
    request: Request,
    survey: SurveyId,
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
) -> Held:
    """The survey, if the request comes with its owner's token."""
    store: Store = request.app.state.store
    held = store.survey(survey)
    if held is None:
        raise HTTPException(404, NO_SURVEY)
    if given is None or not hmac.compare_digest(token_hash(given.credentials), held.owner):
        raise HTTPException(
            401,
            "This needs the token of the survey's owner, as 'Authorization: Bearer TOKEN'.",
            {"www-authenticate": "Bearer"},
        )
    return held


Owned = Annotated[Held, Depends(owned)]


def owner_router() -> APIRouter:
    """Routes that need the owner's token."""
    refused = problems(401, 404, 409, 422)
    return APIRouter(prefix="/api/surveys/{survey}/owner", tags=["owner"], responses=refused)


def content(media: str) -> dict[str, Any]:
    """How a reply that is not JSON is described."""
    return {"response_class": Response, "responses": {200: {"content": {media: {}}}}}


def attachment(held: Held, data: bytes | str, name: str, media: str) -> Response:
    """A file to be saved."""
    named = {"content-disposition": f'attachment; filename="{held.id}-{name}"'}
    return Response(data, media_type=media, headers=named)


def owner_routes(store: Store, findings: Findings, limits: Limits) -> APIRouter:
    """What an owner sees, and downloads."""
    router = owner_router()
    watching = 0

    @router.get("/status", response_model=Status)
    def status(held: Owned) -> dict[str, Any]:
        """State, answers, arrivals by the hour, and invitations."""
        return store.status(held.id)

    @router.get("/estimate")
    @findings.computed
    def estimate(
        held: Owned,
        method: Method = "auto",
        phase: Number = None,
        level: Level = 0.95,
        max_cells: Annotated[int, Query(ge=1, le=10**9)] = MAX_CELLS,
        min_dependence: Annotated[float, Query(ge=0, le=1)] = MIN_DEPENDENCE,
    ) -> dict[str, Any]:
        """Shares with intervals beside the raw ones, dependences, clusters, and how it was made.

        `shortfall` says what it costs that fewer people answered than were planned for.
        """
        made = findings.described(held.begun(phase), method, level, max_cells, min_dependence)
        asked = held.phase()
        return made | {"shortfall": shortfall(held.frozen, asked.design, store.answers(asked))}

    @router.get("/count", response_model=CountOf)
    @findings.computed
    def count(
        held: Owned,
        where: Annotated[str, Query(max_length=10_000, description="As in smokes == 'yes'.")],
        method: Method = "auto",
        phase: Number = None,
        level: Level = 0.95,
        of: Literal["people", "population"] = "people",
    ) -> dict[str, Any]:
        """How many people there are of a kind, with an interval."""
        found = findings.estimate(held.begun(phase), method).count(where, level=level, of=of)
        return {key: getattr(found, key) for key in CountOf.model_fields}

    @router.get(
        "/events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}, **problems(429)},
    )
    async def events(held: Owned, request: Request) -> StreamingResponse:
        """Server-sent events: `status` when it changes, at most one a second."""
        if watching >= limits.events:
            raise HTTPException(429, "Too many dashboards watch at once; close one.")

        async def told() -> AsyncIterator[str]:
            nonlocal watching
            watching += 1
            last, quiet = "", 0.0
            try:
                while not await request.is_disconnected():
                    now = json.dumps(await asyncio.to_thread(store.status, held.id))
                    if now != last or quiet >= QUIET_SECONDS:
                        yield f"event: status\ndata: {now}\n\n" if now != last else ": quiet\n\n"
                        last, quiet = now, 0.0
                    await asyncio.sleep(WATCH_SECONDS)
                    quiet += WATCH_SECONDS
            finally:
                watching -= 1

        return StreamingResponse(
            told(), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    @router.get("/tally")
    def tally(held: Owned, phase: OnePhase = None) -> Response:
        """The distinct reports of a phase with their counts, as `mdrr.Tally` reads them."""
        text = store.tally(held.phase(phase)).to_json()
        return Response(text, media_type="application/json")

    @router.get("/survey.json", **content("application/json"))
    def frozen(held: Owned) -> Response:
        """The frozen survey with the designs of all its phases, as every command reads it."""
        return attachment(held, held.frozen.to_json(), "survey.json", "application/json")

    @router.get("/reports.parquet", **content(PARQUET))
    @findings.computed
    def reports(held: Owned, phase: OnePhase = None) -> Response:
        """The randomized reports of a phase, in random order."""
        return attachment(held, parquet(store, held.phase(phase)), "reports.parquet", PARQUET)

    @router.get("/synthetic.csv", **content("text/csv"))
    @findings.computed
    def synthetic(
        held: Owned,
        n: Annotated[int | None, Query(ge=1, le=MOST_RECORDS)] = None,
        method: Method = "auto",
        phase: Number = None,
    ) -> Response:
        """Synthetic records drawn from the estimate, by default as many as there are answers."""
        found = findings.estimate(held.begun(phase), method)
        drawn = found.sample(n or min(found.n, MOST_RECORDS), backend="polars")
        return attachment(held, drawn.write_csv(), "synthetic.csv", "text/csv")

    @router.get("/report.html", **content("text/html"))
    @findings.computed
    def page(
        held: Owned,
        method: Method = "auto",
        phase: Number = None,
        language: Annotated[
            str | None, Query(max_length=40, description="Of the survey's own words.")
        ] = None,
    ) -> Response:
        """The report as one page, in the survey's words."""
        from mdrr.reporting import report

        asked, survey = held.begun(phase), held.frozen.survey
        named = {
            f"{name}, {n:,} people": each.design
            for name, each in zip(PHASES, asked, strict=False)
            if (n := store.answers(each))
        }
        found, related = findings.estimate(asked, method), findings.dependences(asked)
        with tempfile.TemporaryDirectory() as folder:
            path = report(
                found,
                found.evidence.design,
                path=Path(folder, "report.html"),
                dependences=related,
                survey=survey.spoken(language or survey.language),
                phases=named if len(named) > 1 else None,
            )
            return attachment(held, path.read_bytes(), "report.html", "text/html")

    @router.get("/estimate.npz", **content("application/zip"))
    @findings.computed
    def saved(held: Owned, method: Method = "auto", phase: Number = None) -> Response:
        """The estimate, as `mdrr.Estimate.load` reads it."""
        packed = findings.estimate(held.begun(phase), method).to_bytes()
        return attachment(held, packed, "estimate.npz", "application/zip")

    return router
