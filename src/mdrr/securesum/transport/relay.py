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
from mdrr.securesum import ring
from mdrr.securesum.message import Message
from mdrr.securesum.organiser import Organiser
from mdrr.securesum.roster import Batch
from mdrr.securesum.terms import Terms
from mdrr.securesum.transport.mailbox import Mailbox
from mdrr.securesum.wire import canonical

MAX_WAIT = 30.0
GATHER = 1.0
"""Seconds to wait for more once something is there, when more is expected."""
POLL = 5.0
"""Seconds after which who waits looks at the clock, since a batch may be late."""


def largest_share(terms: Terms) -> int:
    """The bytes of a message with one vector in base64, generously."""
    paper = terms.mode == "paper"
    size = ring.width(terms.wanted + 1) if paper else ring.ring_bits(terms.wanted) // 8
    return 2_000 + 4 * terms.question.cells * size // 3


def largest_message(terms: Terms) -> int:
    """The bytes of any message: an aggregator's list has two digests for each person."""
    return largest_share(terms) + 150 * terms.wanted


def largest_body(terms: Terms) -> int:
    """The bytes of a request: a party sends all her shares at once, an aggregator few messages."""
    shares = terms.wanted if terms.mode == "paper" else 3
    return shares * largest_share(terms) + 2 * largest_message(terms)


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
        self.longest = largest_message(organiser.terms)
        self.quota = 2 * largest_body(organiser.terms)
        self._kept: dict[str, int] = {}
        self._bells: dict[str, asyncio.Event] = {}
        self._reported: dict[str, set[str]] = {}
        self._whole = 0
        self._closed = False
        self._frozen_at = 0.0

    def post(self, data: bytes) -> None:
        """Take in one message, refusing what nobody could use."""
        if len(data) > self.longest:
            raise ProtocolError(f"a message of more than {self.longest} bytes")
        message = Message.from_json(data)
        if message.kind == "join":
            for said in self.organiser.receive(message):
                self._keep(said)
                self._frozen_at = time.monotonic()
        else:
            self._check_sender(message)
            kept = self._kept.get(message.sender, 0) + len(data)
            if kept > self.quota:
                raise ProtocolError(f"one sender's messages of more than {self.quota} bytes in all")
            if self._keep(message):
                self._kept[message.sender] = kept
                self._note_report(message)

    def _keep(self, message: Message) -> bool:
        """Put a message into the mailbox and wake those it is for; False if it is there already."""
        fresh = self.mailbox.add(message)
        names = self._bells if message.to is None else (message.to,)
        for name in names:
            if name in self._bells:
                self._bells[name].set()
        return fresh

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
        reached = self._reported.setdefault(message.sender, set())
        before = len(reached)
        reached.add(str(message.to))
        self._whole += before < len(reached) == len(batch.ids)
        if self._whole == batch.people:
            self.close()

    def close(self) -> None:
        """Close the batch, once."""
        if not self._closed:
            self._keep(self.organiser.close())
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
                await self._wait(to, min(left, POLL))
        return self.mailbox.fetch(to, after, kinds)

    async def _wait(self, to: str, seconds: float) -> None:
        bell = self._bells.setdefault(to, asyncio.Event())
        bell.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(bell.wait(), seconds)


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
        for line in (await _body(request, largest_body(relay.organiser.terms))).splitlines():
            relay.post(line)
            await asyncio.sleep(0)  # others are served between two messages
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


async def _body(request: Request, limit: int) -> bytes:
    """The body of a request, of which never more than the limit is kept in memory."""
    declared = request.headers.get("content-length", "0")
    data = bytearray()
    if declared.isdigit() and int(declared) <= limit:
        async for chunk in request.stream():
            data += chunk
            if len(data) > limit:
                break
        else:
            return bytes(data)
    raise ProtocolError(f"a request of more than {limit} bytes")


def _json(data: bytes) -> Response:
    return Response(data, media_type="application/json")


def _text(data: bytes) -> Any:
    return data.decode("utf-8", "replace")
