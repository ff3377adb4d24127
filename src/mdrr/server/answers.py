"""What anybody may ask: the survey, a place to send an answer, and published results."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from mdrr.columns import require
from mdrr.errors import MdrrError
from mdrr.frozen import texts
from mdrr.report_frames import report_table
from mdrr.response import Report
from mdrr.server.accept import Answer, Outcome
from mdrr.server.blind import ticket_hash, to_text
from mdrr.server.limits import ROUTE, Buckets, Limits, refusal
from mdrr.server.store import Held, Phase, Store, shuffled, token_hash
from mdrr.server.writer import UnavailableError, Writer

INVITATION_CHARACTERS = {"none": 0, "required": 43, "blind": 800}
"""How long an invitation in an answer can be."""
ANSWERS = "/api/surveys/{survey}/answers"
FRESH_SECONDS = 1.0
"""How long a survey read from the database is shown without looking again."""

REFUSALS = {
    Outcome.OTHER: (409, "Another answer was sent under this id. Nothing was changed."),
    Outcome.UNINVITED: (403, "This invitation is not known or was used. Use the link you got."),
    Outcome.CLOSED: (410, "This survey does not take answers now."),
    Outcome.FULL: (410, "This survey has as many answers as it takes."),
}


def answer_bytes(phase: Phase, invitations: str) -> int:
    """The length of every answer to a phase: the longest there can be, up to a multiple of 64."""
    design = phase.design
    longest = max(
        len(
            json.dumps(
                {
                    "report": {
                        "design": design.fingerprint,
                        "questionnaire": q,
                        "codes": [size - 1 for size in sizes],
                        "id": "0" * 32,
                    },
                    "invitation": "x" * max(INVITATION_CHARACTERS[invitations], 2),
                }
            )
        )
        for q, sizes in enumerate(design.outcomes)
    )
    return -(-longest // 64) * 64


class Surveys:
    """Surveys read from the database a moment ago; what can change is checked when it matters."""

    def __init__(self, store: Store, *, most: int = 1000) -> None:
        self._store, self._most = store, most
        self._held: OrderedDict[str, tuple[float, Held | None, dict[str, int]]] = OrderedDict()

    async def get(self, id: str, fingerprint: str | None = None) -> Held | None:
        """A survey, read again after a moment unless it has the phase that is asked for."""
        if id in self._held:
            read, held, _ = self._held[id]
            known = held is not None and fingerprint in held.by_fingerprint
            if known or time.monotonic() - read < FRESH_SECONDS:
                return held
        held = await asyncio.to_thread(self._store.survey, id) if id.isascii() else None
        lengths = {}
        if held is not None:
            for phase in held.phases:
                lengths[phase.design.fingerprint] = answer_bytes(phase, held.invitations)
        self._held.pop(id, None)
        self._held[id] = (time.monotonic(), held, lengths)
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return held

    def length(self, held: Held, phase: Phase) -> int:
        """How long an answer to a phase is."""
        return self._held[held.id][2][phase.design.fingerprint]

    def longest(self, id: str) -> int:
        """How long an answer to any phase of a survey can be."""
        return max(self._held[id][2].values())


class Door:
    """Takes answers: reads, checks, and hands them to the writer."""

    def __init__(self, surveys: Surveys, writer: Writer, limits: Limits) -> None:
        self.surveys, self.writer = surveys, writer
        self._rate = Buckets(limits.rate, limits.burst)

    async def __call__(self, request: Request) -> Response:
        """One answer; a plain route, since most requests come here."""
        request.scope[ROUTE] = ANSWERS
        id = request.path_params["survey"]
        if not self._rate.take("answers"):
            return refusal(429, "Too many answers at once; send it again.", retry_after="1")
        held = await self.surveys.get(id)
        if held is None or held.state == "draft":
            return refusal(404, NO_SURVEY)
        most = self.surveys.longest(id)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > most:
                return refusal(413, f"An answer has {most} bytes. Send it as the page does.")
        try:
            answer = await self._read(bytes(body), id)
        except MdrrError as error:
            return refusal(422, f"The answer cannot be read: {error}.")
        if isinstance(answer, Response):
            return answer
        try:
            outcome = await self.writer.submit(answer)
        except UnavailableError:
            return refusal(
                503, "The answer could not be stored; send it again later.", retry_after="5"
            )
        if outcome in (Outcome.STORED, Outcome.AGAIN):
            return Response(
                b'{"received":"%s"}' % answer.id.hex().encode(),
                201,
                media_type="application/json",
            )
        return refusal(*REFUSALS[outcome])

    async def _read(self, body: bytes, id: str) -> Answer | Response:
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            raise MdrrError("it is not JSON") from None
        if type(fields) is not dict or fields.keys() != {"report", "invitation"}:
            raise MdrrError("it needs a 'report' and an 'invitation', and nothing else")
        report = Report.from_dict(fields["report"])
        if not (report.id and len(report.id) == 32 and set(report.id) <= _HEX):
            raise MdrrError("the report's 'id' is not 32 hexadecimal digits in lower case")
        held = await self.surveys.get(id, report.fingerprint)
        if held is None or (phase := held.by_fingerprint.get(report.fingerprint)) is None:
            return refusal(
                422, "The answer was made under another design. Open the survey's link again."
            )
        if len(body) != self.surveys.length(held, phase):
            raise MdrrError(
                f"it must have exactly {self.surveys.length(held, phase)} bytes, "
                "with spaces at the end"
            )
        report.check(phase.design)
        invitation = fields["invitation"]
        if invitation is not None and not (
            isinstance(invitation, str)
            and 0 < len(invitation) <= INVITATION_CHARACTERS[held.invitations]
        ):
            raise MdrrError(
                "this survey takes no invitations; send null"
                if held.invitations == "none"
                else "the invitation is not as it was given out"
            )
        return Answer(
            survey=id,
            phase=phase.key,
            id=bytes.fromhex(report.id),
            questionnaire=report.questionnaire,
            codes=",".join(map(str, report.codes)),
            invitation=_redeemed(invitation, held),
        )


def _redeemed(invitation: str | None, held: Held) -> bytes | None:
    """What the store knows an invitation by; None if its signature is not right."""
    if invitation is None:
        return None
    if held.blind_key is None:
        return token_hash(invitation)
    return ticket_hash(invitation, held.blind_key)


_HEX = frozenset("0123456789abcdef")


class Problem(BaseModel):
    """What went wrong, in one sentence that says what to do."""

    error: str


class Survey(BaseModel):
    """What the respondent page needs."""

    id: str
    state: Literal["open", "closed", "published"]
    phase: int
    survey: dict[str, Any] = Field(description="Titles, texts and questions by language.")
    design: dict[str, Any] = Field(description="How answers are randomized.")
    fingerprint: str = Field(description="SHA-256 of the design.")
    invitations: Literal["none", "required", "blind"]
    answer_bytes: int = Field(description="How long the body of every answer is.")
    blind_key: str | None = Field(description="The key of blind invitations, base64url.")


class SentReport(BaseModel):
    """A report and the id that its device made."""

    model_config = ConfigDict(extra="forbid")
    design: str = Field(description="The fingerprint of the design.")
    questionnaire: int = Field(ge=0)
    codes: list[Annotated[int, Field(ge=0)]]
    id: str = Field(pattern="^[0-9a-f]{32}$", description="128 random bits, made by the client.")


class SentAnswer(BaseModel):
    """An answer, padded with spaces at the end to exactly `answer_bytes` bytes."""

    model_config = ConfigDict(extra="forbid")
    report: SentReport
    invitation: str | None


class Received(BaseModel):
    """The answer is stored, now or before."""

    received: str = Field(pattern="^[0-9a-f]{32}$")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How refusals are described."""
    return {status: {"model": Problem} for status in statuses}


SurveyId = Annotated[str, Path(pattern="^[A-Za-z0-9]{1,32}$", description="The survey's id.")]

NO_SURVEY = "There is no such survey. Check the link."


def answer_routes(store: Store, door: Door) -> APIRouter:
    """The routes that need no token."""
    router = APIRouter(prefix="/api/surveys/{survey}", tags=["anybody"])

    async def shown(survey: str) -> Held:
        held = await door.surveys.get(survey)
        if held is None or held.state == "draft":
            raise HTTPException(404, NO_SURVEY)
        return held

    @router.get("", response_model=Survey, responses=problems(404))
    async def survey(survey: SurveyId) -> JSONResponse:
        """The survey's texts and the design of the phase that is asked now."""
        held = await shown(survey)
        phase = held.phase()
        return JSONResponse(
            {
                "id": held.id,
                "state": held.state,
                "phase": held.number,
                "survey": texts(held.frozen.survey),
                "design": phase.design.to_dict(),
                "fingerprint": phase.design.fingerprint,
                "invitations": held.invitations,
                "answer_bytes": answer_bytes(phase, held.invitations),
                "blind_key": None if held.blind_key is None else to_text(held.blind_key),
            },
            headers={"cache-control": "no-store"},
        )

    @router.get("/results", responses=problems(404))
    async def results(survey: SurveyId) -> dict[str, Any]:
        """The published estimate."""
        held = await shown(survey)
        if held.results is None:
            raise HTTPException(404, "This survey has no published results.")
        found: dict[str, Any] = json.loads(held.results)
        return found

    @router.get(
        "/results/reports.parquet",
        response_class=Response,
        responses={200: {"content": {PARQUET: {}}}, **problems(404)},
    )
    async def open_data(survey: SurveyId, phase: int | None = None) -> Response:
        """The randomized reports in random order, if the owner published them."""
        held = await shown(survey)
        if held.state != "published" or not held.open_data:
            raise HTTPException(404, "The reports of this survey are not published.")
        content = await asyncio.to_thread(parquet, store, held.phase(phase))
        return Response(content, media_type=PARQUET)

    return router


PARQUET = "application/vnd.apache.parquet"


def parquet(store: Store, phase: Phase) -> bytes:
    """The reports of a phase as a Parquet file, in random order."""
    pyarrow = require("pyarrow", "frames")
    parquet = require("pyarrow.parquet", "frames")
    out = pyarrow.BufferOutputStream()
    parquet.write_table(report_table(shuffled(store.tally(phase)), phase.design), out)
    return bytes(out.getvalue())
