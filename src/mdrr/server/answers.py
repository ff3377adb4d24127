"""Answers: what they look like, and the door that takes them."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import OrderedDict
from typing import Annotated, Any

from fastapi import Path
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from mdrr.errors import MdrrError
from mdrr.response import Report
from mdrr.server.accept import Answer, Outcome
from mdrr.server.blind import ticket_hash
from mdrr.server.held import INVITATION_CHARACTERS, Held, token_hash
from mdrr.server.limits import ROUTE, Buckets, Limits, refusal
from mdrr.server.store import Store
from mdrr.server.writer import UnavailableError, Writer

ANSWERS = "/api/surveys/{survey}/answers"
_PLACE = re.compile("/api/surveys/([A-Za-z0-9]{1,32})/answers")
_ID = re.compile("[0-9a-f]{32}")
RECEIVED = [(b"content-length", b"47"), (b"content-type", b"application/json")]
"""The headers of every acknowledgement."""
FRESH_SECONDS = 1.0
"""How long a survey read from the database is shown without looking again."""
MOST_KEPT = 1000

REFUSALS = {
    Outcome.OTHER: (409, "Another answer was sent under this id. Nothing was changed."),
    Outcome.UNINVITED: (403, "This invitation is not known or was used. Use the link you got."),
    Outcome.CLOSED: (410, "This survey does not take answers now."),
    Outcome.FULL: (410, "This survey has as many answers as it takes."),
}


class Surveys:
    """Surveys that are not drafts, kept for a moment; what can change is checked in time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[Held, float]] = OrderedDict()
        self._reading = asyncio.Lock()  # one reads, the others wait for what it read

    def forget(self, id: str) -> None:
        """Read a survey again when it is next asked for."""
        self._kept.pop(id, None)

    def kept(self, id: str) -> Held | None:
        """A survey that was read before, however long ago."""
        held, _ = self._kept.get(id, (None, 0.0))
        return held

    async def get(self, id: str) -> Held | None:
        """A survey as it was at most a moment ago; None if it is a draft or there is none."""
        async with self._reading:
            held, read = self._kept.get(id, (None, 0.0))
            if held is not None and time.monotonic() - read < FRESH_SECONDS:
                return held
            held = await asyncio.to_thread(self._store.survey, id)
            self._kept.pop(id, None)
            if held is None or held.state == "draft":
                return None
            self._kept[id] = held, time.monotonic()
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return held

    async def need(self, id: str) -> Held:
        """A survey that is not a draft; refused if there is none."""
        held = await self.get(id)
        if held is None:
            raise AnyHTTPException(404, NO_SURVEY)
        return held

    async def results(self, id: str) -> Held:
        """A survey that is published; refused if it is not."""
        held = await self.need(id)
        if held.results is None:
            raise AnyHTTPException(404, "This survey has no published results.")
        return held


class Door:
    """Takes answers: reads, checks, and hands them to the writer.

    It stands before the framework's routes, since most requests come here and few need a route.
    """

    def __init__(self, app: ASGIApp, surveys: Surveys, writer: Writer, limits: Limits) -> None:
        self.app, self.surveys, self.writer = app, surveys, writer
        self._rate = Buckets(limits.rate, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take an answer; pass everything else on."""
        place = _PLACE.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if place is None or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        scope[ROUTE] = ANSWERS
        try:
            reply = await self._take(place[1], receive)
        except AnyHTTPException as error:  # the body is too large
            reply = refusal(error.status_code, str(error.detail))
        except MdrrError as error:
            reply = refusal(422, f"The answer cannot be read: {error}.")
        if isinstance(reply, bytes):
            await send({"type": "http.response.start", "status": 201, "headers": RECEIVED})
            await send({"type": "http.response.body", "body": b'{"received":"%s"}' % reply})
        elif reply is not None:
            await reply(scope, receive, send)

    async def _take(self, id: str, receive: Receive) -> Response | bytes | None:
        """The id of the answer once it is stored, or why it is not; None if its sender left."""
        if not self._rate.take("answers"):
            return refusal(429, "Too many answers at once; send it again.", retry_after="1")
        held = self.surveys.kept(id) or await self.surveys.get(id)
        if held is None:
            return refusal(404, NO_SURVEY)
        most = max(held.lengths.values())
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > most:
                return refusal(413, f"An answer has {most} bytes. Send it as the page does.")
        answer = await self._read(body, held)
        try:
            outcome = await self.writer.submit(answer)
        except UnavailableError:
            return refusal(
                503, "The answer could not be stored; send it again later.", retry_after="5"
            )
        if outcome in (Outcome.STORED, Outcome.AGAIN):
            return answer.id.hex().encode()
        return refusal(*REFUSALS[outcome])

    async def _read(self, body: bytes, held: Held) -> Answer:
        try:
            fields = json.loads(body.decode())
        except (ValueError, RecursionError):
            raise MdrrError("it is not JSON") from None
        if type(fields) is not dict or fields.keys() != {"report", "invitation"}:
            raise MdrrError("it needs a 'report' and an 'invitation', and nothing else")
        report = Report.from_dict(fields["report"])
        if not (report.id and _ID.fullmatch(report.id)):
            raise MdrrError("the report's 'id' is not 32 hexadecimal digits in lower case")
        if report.fingerprint not in held.lengths:  # perhaps of a phase that has just begun
            held = await self.surveys.get(held.id) or held
        if (phase := held.by_fingerprint.get(report.fingerprint)) is None:
            raise MdrrError("it was made under another design; open the survey's link again")
        if len(body) != (length := held.lengths[report.fingerprint]):
            raise MdrrError(f"it must have exactly {length} bytes, with spaces at the end")
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
            survey=held.id,
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


class Problem(BaseModel):
    """What went wrong, in one sentence that says what to do."""

    error: str


class SentReport(BaseModel, extra="forbid"):
    """A report and the id that its device made."""

    design: str = Field(description="The fingerprint of the design.")
    questionnaire: int = Field(ge=0)
    codes: list[Annotated[int, Field(ge=0)]]
    id: str = Field(pattern="^[0-9a-f]{32}$", description="128 random bits, made by the client.")


class SentAnswer(BaseModel, extra="forbid"):
    """An answer, padded with spaces at the end to exactly `answer_bytes` bytes."""

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
