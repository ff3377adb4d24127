"""What an owner may do with her token: watch, estimate, download, invite, open and close."""

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
from pydantic import BaseModel, ConfigDict, Field

from mdrr.design import Design
from mdrr.server.answers import NO_SURVEY, PARQUET, SurveyId, Surveys, parquet, problems
from mdrr.server.findings import MAX_CELLS, METHODS, MIN_DEPENDENCE, Findings
from mdrr.server.limits import Limits
from mdrr.server.store import Held, Store, token_hash

WATCH_SECONDS = 1.0
"""How often a dashboard is told of new answers, at most."""
QUIET_SECONDS = 15.0
"""After how long without news it is told that the server is there."""
MOST_RECORDS = 1_000_000

KNOWN = f"^({'|'.join(METHODS)})$"
Method = Annotated[str, Query(pattern=KNOWN, description="The estimator.")]
Level = Annotated[float, Query(gt=0, lt=1, description="The confidence level of intervals.")]
Number = Annotated[
    int | None, Query(ge=1, le=2, description="The phase; the one asked now by default.")
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


class Wanted(BaseModel):
    """How many invitations to make."""

    model_config = ConfigDict(extra="forbid")
    count: int = Field(ge=1, le=100_000)


class Tokens(BaseModel):
    """Invitations; they are shown this once."""

    invitations: list[str]


class Publication(BaseModel):
    """What to publish."""

    model_config = ConfigDict(extra="forbid")
    method: str = Field("auto", pattern=KNOWN)
    open_data: bool = Field(False, description="Publish the randomized reports too.")


class NextPhase(BaseModel):
    """The frozen design of the second phase."""

    model_config = ConfigDict(extra="forbid")
    design: dict[str, Any]


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


def owner_routes(store: Store, surveys: Surveys, findings: Findings, limits: Limits) -> APIRouter:
    """The routes that need the owner's token."""
    router = APIRouter(
        prefix="/api/surveys/{survey}/owner",
        tags=["owner"],
        responses=problems(401, 404, 409),
    )
    watching = 0

    def status_of(id: str) -> dict[str, Any]:
        return Status(**store.status(id)).model_dump()

    def moved(id: str) -> dict[str, Any]:
        surveys.forget(id)
        return status_of(id)

    @router.get("/status", response_model=Status)
    def status(held: Owned) -> dict[str, Any]:
        """State, answers, arrivals by the hour, and invitations."""
        return status_of(held.id)

    @router.get("/tally")
    def tally(held: Owned, phase: Number = None) -> Response:
        """The distinct reports with their counts, as `mdrr.Tally` reads them."""
        text = store.tally(held.phase(phase)).to_json()
        return Response(text, media_type="application/json")

    @router.get("/estimate")
    async def estimate(
        held: Owned,
        method: Method = "auto",
        phase: Number = None,
        level: Level = 0.95,
        max_cells: Annotated[int, Query(ge=1, le=10**9)] = MAX_CELLS,
        min_dependence: Annotated[float, Query(ge=0, le=1)] = MIN_DEPENDENCE,
    ) -> dict[str, Any]:
        """Shares with intervals beside the raw ones, dependences, clusters, and how it was made."""
        return await findings.compute(
            findings.described, held.phase(phase), method, level, max_cells, min_dependence
        )

    @router.get("/count", response_model=CountOf)
    async def count(
        held: Owned,
        where: Annotated[str, Query(max_length=10_000, description="As in smokes == 'yes'.")],
        method: Method = "auto",
        phase: Number = None,
        level: Level = 0.95,
        of: Literal["people", "population"] = "people",
    ) -> dict[str, Any]:
        """How many people there are of a kind, with an interval."""

        def asked() -> dict[str, Any]:
            found = findings.estimate(held.phase(phase), method).count(where, level=level, of=of)
            return {key: getattr(found, key) for key in CountOf.model_fields}

        return await findings.compute(asked)

    def download(media: str) -> dict[str, Any]:
        described: dict[int | str, dict[str, Any]] = {200: {"content": {media: {}}}}
        return {"response_class": Response, "responses": described}

    def attachment(held: Held, content: bytes | str, name: str, media: str) -> Response:
        named = {"content-disposition": f'attachment; filename="{held.id}-{name}"'}
        return Response(content, media_type=media, headers=named)

    @router.get("/reports.parquet", **download(PARQUET))
    async def reports(held: Owned, phase: Number = None) -> Response:
        """The randomized reports in random order."""
        content = await findings.compute(parquet, store, held.phase(phase))
        return attachment(held, content, "reports.parquet", PARQUET)

    @router.get("/synthetic.csv", **download("text/csv"))
    async def synthetic(
        held: Owned,
        n: Annotated[int | None, Query(ge=1, le=MOST_RECORDS)] = None,
        method: Method = "auto",
        phase: Number = None,
    ) -> Response:
        """Synthetic records drawn from the estimate, by default as many as there are answers."""

        def drawn() -> str:
            found = findings.estimate(held.phase(phase), method)
            text: str = found.sample(n or min(found.n, MOST_RECORDS), backend="polars").write_csv()
            return text

        return attachment(held, await findings.compute(drawn), "synthetic.csv", "text/csv")

    @router.get("/report.html", **download("text/html"))
    async def page(held: Owned, method: Method = "auto", phase: Number = None) -> Response:
        """The report as one page."""

        def written() -> bytes:
            from mdrr.reporting import report

            asked = held.phase(phase)
            found, related = findings.estimate(asked, method), findings.dependences(asked)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "report.html")
                title = held.frozen.survey.title or "What the randomized answers say"
                report(found, asked.design, path=path, dependences=related, title=title)
                return path.read_bytes()

        return attachment(held, await findings.compute(written), "report.html", "text/html")

    @router.get("/estimate.npz", **download("application/zip"))
    async def saved(held: Owned, method: Method = "auto", phase: Number = None) -> Response:
        """The estimate, as `mdrr.Estimate.load` reads it."""

        def packed() -> bytes:
            return findings.estimate(held.phase(phase), method).to_bytes()

        return attachment(held, await findings.compute(packed), "estimate.npz", "application/zip")

    @router.post("/invitations", status_code=201, response_model=Tokens)
    def invitations(held: Owned, wanted: Wanted) -> dict[str, Any]:
        """Make invitations. They are shown this once; only their hashes are kept."""
        return {"invitations": store.invite(held.id, wanted.count)}

    @router.post("/open", response_model=Status)
    def open_(held: Owned) -> dict[str, Any]:
        """Take answers."""
        store.open(held.id)
        return moved(held.id)

    @router.post("/close", response_model=Status)
    def close(held: Owned) -> dict[str, Any]:
        """Take no more answers, and rewrite the tables so that no order of arrival is left."""
        store.close(held.id)
        return moved(held.id)

    @router.post("/publish", response_model=Status)
    async def publish(held: Owned, wanted: Publication) -> dict[str, Any]:
        """Publish the estimate of a closed survey, and the reports if wanted. It is final."""
        results = await findings.compute(findings.described, held.phase(), wanted.method)
        await asyncio.to_thread(store.publish, held.id, results, open_data=wanted.open_data)
        return await asyncio.to_thread(moved, held.id)

    @router.post("/phase", response_model=Status, responses=problems(422))
    def next_phase(held: Owned, wanted: NextPhase) -> dict[str, Any]:
        """Start the second phase; the first takes no more answers."""
        store.start_phase(held.id, Design.from_dict(wanted.design))
        return moved(held.id)

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
                    now = json.dumps(await asyncio.to_thread(status_of, held.id))
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

    return router
