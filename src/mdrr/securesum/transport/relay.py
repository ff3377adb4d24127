"""The relay: organiser and mailbox behind HTTP (paper section 4.2 between real machines).

GET  /v1/terms                                  the signed terms
GET  /v1/enrolled                               ids of the people enrolled, for aggregators
POST /v1/messages                               a signed message; a join goes to the organiser
GET  /v1/messages?to=ID&after=N&wait=S&kinds=   what came for ID since N, waiting up to S seconds
POST /v1/close                                  close a batch early (organiser's token)
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from mdrr.errors import ProtocolError
from mdrr.securesum.message import Message
from mdrr.securesum.organiser import Organiser
from mdrr.securesum.roster import Batch
from mdrr.securesum.transport.mailbox import Mailbox
from mdrr.securesum.wire import canonical

MAX_BYTES = 64_000_000
MAX_WAIT = 30.0
GATHER = 1.0
"""Seconds to wait for more once something is there, when more is expected."""


class Relay:
    """What the HTTP routes do.

    Arguments:
        organiser: signs terms and lists.
        mailbox: keeps the messages.
        patience: seconds after the batch was signed, after which it closes with what arrived.
    """

    def __init__(
        self, organiser: Organiser, mailbox: Mailbox | None = None, *, patience: float = 600.0
    ) -> None:
        self.organiser = organiser
        self.mailbox = Mailbox() if mailbox is None else mailbox
        self.patience = patience
        self.token = secrets.token_hex(16)
        self._changed = asyncio.Condition()
        self._reported: dict[str, set[str]] = {}
        self._closed = False
        self._frozen_at = 0.0

    async def post(self, data: bytes) -> None:
        """Take in one message, refusing what nobody could use."""
        message = Message.from_json(data)
        if message.kind == "join":
            for said in self.organiser.receive(message):
                self.mailbox.add(said)
                self._frozen_at = time.monotonic()
        else:
            self._check_sender(message)
            self.mailbox.add(message)
            self._note_report(message)
        async with self._changed:
            self._changed.notify_all()

    def _check_sender(self, message: Message) -> None:
        frozen = self.organiser.frozen
        if frozen is None or message.run != frozen.digest:
            raise ProtocolError("a message of a run that is not this relay's")
        key = self.organiser.key_of(message.sender)
        if key is None or not message.signed_by(key):
            raise ProtocolError("a message nobody in this run signed")

    def _note_report(self, message: Message) -> None:
        batch = self.organiser.frozen
        if message.kind != "report" or not isinstance(batch, Batch):
            return
        self._reported.setdefault(message.sender, set()).add(str(message.to))
        whole = sum(len(to) == len(batch.ids) for to in self._reported.values())
        if whole == batch.people:
            self.close()

    def close(self) -> None:
        """Close the batch, once."""
        if not self._closed:
            self.mailbox.add(self.organiser.close())
            self._closed = True

    def _close_if_late(self) -> None:
        late = self._frozen_at and time.monotonic() - self._frozen_at > self.patience
        if late and isinstance(self.organiser.frozen, Batch):
            self.close()

    async def fetch(
        self, to: str, after: int, wait: float, least: int, kinds: tuple[str, ...]
    ) -> tuple[list[bytes], int]:
        """What came for a recipient since a cursor; waits when there is nothing, or too little."""
        deadline = time.monotonic() + min(max(wait, 0.0), MAX_WAIT)
        waiting = True
        while waiting:
            self._close_if_late()
            count = self.mailbox.count(to, after, kinds)
            if count:
                deadline = min(deadline, time.monotonic() + GATHER)
            left = deadline - time.monotonic()
            waiting = count < max(least, 1) and left > 0
            if waiting:
                await self._wait(min(left, 0.5))
        return self.mailbox.fetch(to, after, kinds)

    async def _wait(self, seconds: float) -> None:
        async with self._changed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)


def create_relay(relay: Relay) -> FastAPI:
    """The relay as an ASGI application."""
    app = FastAPI(title="mdrr relay", docs_url=None, redoc_url=None, openapi_url=None)

    @app.exception_handler(ProtocolError)
    async def refuse(request: Request, error: ProtocolError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=400)

    @app.get("/v1/terms")
    async def terms() -> Response:
        return _json(relay.organiser.invite().to_json())

    @app.get("/v1/enrolled")
    async def enrolled() -> Response:
        return _json(canonical({"enrolled": list(relay.organiser.enrolled)}))

    @app.post("/v1/messages")
    async def post(request: Request) -> dict[str, bool]:
        data = await request.body()
        if len(data) > MAX_BYTES:
            raise ProtocolError(f"a message of more than {MAX_BYTES} bytes")
        for line in data.splitlines():
            await relay.post(line)
        return {"taken": True}

    @app.get("/v1/messages")
    async def fetch(
        to: str, after: int = 0, wait: float = 0.0, least: int = 1, kinds: str = ""
    ) -> Response:
        wanted = tuple(kind for kind in kinds.split(",") if kind)
        messages, cursor = await relay.fetch(to, after, wait, least, wanted)
        return _json(canonical({"messages": [_text(data) for data in messages], "next": cursor}))

    @app.post("/v1/close")
    async def close(request: Request) -> dict[str, bool]:
        given = request.headers.get("authorization", "")
        if not secrets.compare_digest(given, f"Bearer {relay.token}"):
            raise ProtocolError("closing a batch needs the organiser's token")
        relay.close()
        return {"closed": True}

    return app


def _json(data: bytes) -> Response:
    return Response(data, media_type="application/json")


def _text(data: bytes) -> Any:
    return data.decode("utf-8", "replace")
