"""The relay behind HTTP: it stores and hands out, and is trusted with nothing but availability.

GET  /b/RUN                        what the organiser signed
GET  /b/RUN/rolls/K                a roll of hashed credentials
PUT  /b/RUN/reports/ID             a report; the credential stands in the Authorization header
GET  /b/RUN/reports?after=N        ids of reports in the order of arrival, 16 bytes each
POST /b/RUN/parts                  for a signed `fetch` of an aggregator: its parts of some reports
PUT  /b/RUN/join                   a party's join; the credential as with a report
POST /b/RUN/messages               signed messages of a member, one a line
GET  /b/RUN/messages?to=ID&after=N what came for ID since a mark: the next mark, then one a line
GET  /b/RUN/messages/TOPIC         all messages on a topic for everybody, one a line

A body is refused before it is read: by the credential, by its declared length, and by the time.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from mdrr.errors import MdrrError, ProtocolError
from mdrr.securesum.message import Message
from mdrr.securesum.person import SealedReport
from mdrr.securesum.transport.postbox import MOST_IDS, Postbox, Run, quotas
from mdrr.server.app import run_server, server_config
from mdrr.server.limits import Guard, Limits, Metrics

TOGETHER = 500
"""Most reports that are written to disk in one transaction."""
WAITING = 2_000
"""Most reports that wait for it; others are told to come again."""
MOST_PARTS = 5_000
"""Most commas and brackets of one message: four times what a list of 200 members has."""

Mark = Annotated[int, Query(ge=0, lt=2**53)]
Shown = Annotated[str, Header(alias="authorization", max_length=100)]


async def _run(request: Request, run: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]) -> Run:
    box: Postbox = request.app.state.box
    return box.at(run) if run in box.kept else await run_in_threadpool(box.at, run)


Here = Annotated[Run, Depends(_run)]


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 takes any free one."""
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise ProtocolError(
            f"cannot listen on {host}:{port}: {error.strerror}. Name another --port"
        ) from None


def serve(box: Postbox, bound: socket.socket) -> None:
    """Answer requests on a bound socket until the process is told to stop."""
    app = create_service(box)
    sys.setswitchinterval(0.0005)  # the thread that writes needs the interpreter often and briefly
    server = uvicorn.Server(server_config(app, "", 0))
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(run_server(server, app, [bound]))


class _Uploads:
    """Reports to one run that arrive while others are written go to the disk together."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: list[tuple[SealedReport, asyncio.Future[ProtocolError | None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def take(self, report: SealedReport) -> None:
        """Returns once the report is on disk, or raises why it is not."""
        if len(self._waiting) >= WAITING:
            raise HTTPException(503, "Too many reports at once; send it again in a moment.")
        done: asyncio.Future[ProtocolError | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((report, done))
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        if (refused := await done) is not None:
            raise refused

    async def _write(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            try:
                reports = [report for report, _ in some]
                found: Any = await run_in_threadpool(self._run.upload_all, reports)
            except Exception as error:  # the database; who waits is told to send again
                for _, done in some:
                    if not done.cancelled():
                        done.set_exception(error)
                continue
            for (_, done), refused in zip(some, found, strict=True):
                if not done.cancelled():  # who sent it may have hung up
                    done.set_result(refused)
        self._task = None


def create_service(box: Postbox) -> FastAPI:
    """The relay as an ASGI application.

    Arguments:
        box: its database, with the runs it serves.
    """
    uploads: dict[str, _Uploads] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        box.dispose()

    app = FastAPI(
        title="mdrr relay", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )  # fmt: skip
    limits = Limits(body=64_000_000)  # every route has its own, smaller one
    app.state.box, app.state.limits, app.state.connections = box, limits, ()
    app.add_middleware(Guard, limits=limits, metrics=Metrics())

    @app.exception_handler(MdrrError)
    async def refuse(_: Request, error: MdrrError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=400)

    @app.get("/b/{run}")
    def document(run: Here) -> Response:
        return Response(run.document().to_json(), media_type="application/json")

    @app.get("/b/{run}/rolls/{reader}")
    def roll(run: Here, reader: Annotated[int, Path(ge=0, le=5)]) -> Response:
        return _bytes(run.roll(reader))

    @app.put("/b/{run}/reports/{report}")
    async def upload(
        run: Here,
        report: Annotated[str, Path(pattern="^[0-9a-f]{32}$")],
        request: Request,
        shown: Shown = "",
    ) -> dict[str, bool]:
        credential = _credential(run, shown)
        data = await _body(request, run.batch.report_bytes, exactly=True)
        queue = uploads.setdefault(run.id, _Uploads(run))
        await queue.take(SealedReport(bytes.fromhex(report), credential, data))
        return {"taken": True}

    @app.get("/b/{run}/reports")
    def arrivals(run: Here, after: Mark = 0, limit: Mark = MOST_IDS) -> Response:
        return _bytes(b"".join(run.arrivals(after, limit)))

    @app.post("/b/{run}/parts")
    async def parts(run: Here, request: Request) -> Response:
        asked = Message.from_json(await _body(request, 20_000))
        found = await run_in_threadpool(run.parts, asked)
        rows = [one + part for one, part in found.items()]
        size = len(rows[0]) if rows else 0  # all have one length
        return _bytes(size.to_bytes(4, "big") + b"".join(rows))

    @app.put("/b/{run}/join")
    async def join(run: Here, request: Request, shown: Shown = "") -> dict[str, bool]:
        credential = _credential(run, shown)
        data = await _body(request, 4_000)
        await run_in_threadpool(lambda: run.join(credential, Message.from_json(data)))
        return {"taken": True}

    @app.post("/b/{run}/messages")
    async def say(run: Here, request: Request) -> dict[str, bool]:
        most, longest, _ = quotas(run.signed)
        lines = (await _body(request, longest)).splitlines()
        if len(lines) > most or any(map(_is_laden, lines)):
            raise ProtocolError("more messages, or parts of a message, than anybody has to say")
        await run_in_threadpool(lambda: run.say(*map(Message.from_json, lines)))
        return {"taken": True}

    @app.get("/b/{run}/messages")
    def mail(
        run: Here, to: Annotated[str, Query(pattern="^[0-9a-f]{64}$")], after: Mark = 0
    ) -> Response:
        found, mark = run.mail_bytes(to, after)
        return _bytes(b"\n".join([str(mark).encode(), *found]))

    @app.get("/b/{run}/messages/{topic}")
    def hear(run: Here, topic: Annotated[str, Path(pattern="^[a-z]+( [0-9]+)?$")]) -> Response:
        return _bytes(b"\n".join(run.hear_bytes(topic)))

    return app


def _credential(run: Run, shown: str) -> bytes:
    """The credential in a header, if it is on the relay's roll."""
    try:
        credential = bytes.fromhex(shown.removeprefix("Bearer "))
    except ValueError:
        raise ProtocolError("a request without the relay's credential") from None
    run.check(credential)
    return credential


async def _body(request: Request, limit: int, *, exactly: bool = False) -> bytes:
    """The body of a request, of which nothing is read if its length is not right."""
    declared = request.headers.get("content-length", "")
    if not declared.isdigit() or int(declared) > limit or (exactly and int(declared) != limit):
        wanted = f"{'exactly' if exactly else 'at most'} {limit:,} bytes"
        raise HTTPException(413, f"The request must declare its length, {wanted}.")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
    return bytes(data)


def _is_laden(line: bytes) -> bool:
    """Whether a message has so many parts that reading it would keep others waiting.

    The longest honest one lists a group's members; the rest is text in base64.
    """
    return sum(map(line.count, (b",", b"[", b"{"))) > MOST_PARTS


def _bytes(data: bytes) -> Response:
    return Response(data, media_type="application/octet-stream")
