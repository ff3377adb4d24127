"""The application: one server, many surveys. `create_app` makes it, `serve` runs it."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import socket
from typing import Any
from weakref import WeakKeyDictionary

import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException as AnyHTTPException

from mdrr.errors import MdrrError
from mdrr.server.answers import ANSWERS, Door, Received, SentAnswer, SurveyId, Surveys, problems
from mdrr.server.charts import chart_routes
from mdrr.server.findings import Findings
from mdrr.server.limits import Guard, JsonLines, Limits, Metrics, refusal
from mdrr.server.owner import owner_routes
from mdrr.server.published import published_routes, results_page
from mdrr.server.schema import StoreError
from mdrr.server.sign import sign_routes
from mdrr.server.steps import step_routes
from mdrr.server.store import Store
from mdrr.server.writer import Writer

NOTHING_HERE = "There is nothing at this address. Check the link."
STATIC = Path(__file__).with_name("static")
REPORT_STYLE = STATIC.parents[1] / "reporting" / "page.css"


def create_app(store_url: str, *, limits: Limits | None = None) -> FastAPI:
    """The collector's application.

    Arguments:
        store_url: the database, `sqlite:///mdrr.db` or `postgresql://host/name`.
        limits: what one process allows.
    """
    limits = limits or Limits()
    store, metrics = Store(store_url), Metrics()
    writer = Writer(store, waiting=limits.waiting)
    findings = Findings(store)
    surveys = Surveys(store)
    metrics.gauges["mdrr_answers_waiting"] = lambda: writer.waiting
    metrics.gauges["mdrr_commits_total"] = lambda: writer.batches
    metrics.gauges["mdrr_commits_failed_total"] = lambda: writer.failures

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        writer.start(asyncio.get_running_loop())
        yield
        await writer.stop()
        findings.stop()
        store.dispose()

    app = FastAPI(
        title="mdrr collector",
        description="Surveys whose answers are randomized before they leave a device.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        # The framework would tell a tracer on this machine when each answer came.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.store, app.state.limits, app.state.connections = store, limits, ()
    app.add_middleware(Door, surveys=surveys, writer=writer, limits=limits)
    app.add_middleware(Guard, limits=limits, metrics=metrics)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(MdrrError, _bad_request)

    @app.get("/healthz", tags=["server"], responses=problems(503))
    def healthz() -> dict[str, str]:
        """Whether the server and its database work."""
        try:
            store.states()
        except Exception:
            raise HTTPException(503, "The database does not answer.") from None
        return {"status": "ok"}

    @app.get("/metrics", tags=["server"], response_class=PlainTextResponse)
    def counts() -> str:
        """Counts since the process started, as Prometheus reads them."""
        return metrics.text()

    html: dict[int | str, Any] = {200: {"content": {"text/html": {}}}, **problems(404, 422)}
    pages = APIRouter(tags=["pages"], default_response_class=Response, responses=html)

    @pages.get("/s/{survey}", responses={303: {"description": "To the published results."}})
    async def form_page(survey: SurveyId) -> Response:
        """The page itself; it asks for the survey. A published survey's link leads to results."""
        with suppress(DBAPIError):  # the page itself waits for a database that is away
            held = await surveys.get(survey)
            if held is not None and held.state == "published":
                return RedirectResponse(f"../r/{survey}", 303)
        return FileResponse(STATIC / "form.html", headers={"cache-control": "no-cache"})

    @pages.get("/d/{survey}")
    async def dashboard_page(survey: SurveyId) -> Response:
        """The page itself; it asks for the survey."""
        return FileResponse(STATIC / "dashboard.html", headers={"cache-control": "no-cache"})

    @pages.get("/r/{survey}")
    async def page(survey: SurveyId) -> Response:
        """The published estimate, for people."""
        return HTMLResponse(results_page(await surveys.results(survey)))

    app.include_router(pages)

    @app.post(
        ANSWERS,
        status_code=201,
        response_model=Received,
        responses=problems(403, 404, 408, 409, 410, 413, 422, 429, 503),
        tags=["anybody"],
    )
    def answers(survey: SurveyId, answer: SentAnswer) -> None:  # `Door` takes it before this
        """Send an answer. Sending the same answer again is safe: it gets the same reply."""

    app.include_router(published_routes(store, surveys))
    app.include_router(sign_routes(store))
    app.include_router(owner_routes(store, findings, limits))
    app.include_router(step_routes(store, surveys, findings))
    app.include_router(chart_routes(store, findings))

    @app.get("/static/report.css", include_in_schema=False)
    async def report_style() -> FileResponse:
        """The style of the report, which the dashboard shares."""
        return FileResponse(REPORT_STYLE)

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AnyHTTPException)
    plain = {"Not Found": NOTHING_HERE, "Method Not Allowed": "This address takes other requests."}
    text = plain.get(error.detail, error.detail)
    return JSONResponse({"error": text}, error.status_code, headers=error.headers)


async def _not_valid(_: Request, error: Exception) -> JSONResponse:
    """Say where a request is wrong, and never what was in it."""
    assert isinstance(error, RequestValidationError)
    where = sorted({".".join(map(str, each["loc"])) for each in error.errors()})
    return refusal(422, f"The request is not as described: look at {', '.join(where)[:200]}.")


async def _bad_request(_: Request, error: Exception) -> JSONResponse:
    sentence = f"{str(error).rstrip('.')}."
    return refusal(409 if isinstance(error, StoreError) else 422, sentence)


def serve(
    store_url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    log: bool = False,
) -> None:
    """Run the server until it is told to stop; `log` writes a line for each request, but answers.

    Trouble is always written. Requests say when somebody was here, so they are not, by default.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("mdrr.server", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if log and name == "mdrr.server" else logging.WARNING)
    # The writer's thread needs the interpreter for a moment after every statement; by default it
    # would wait 5 ms each time.
    sys.setswitchinterval(0.0005)
    app = create_app(store_url, limits=limits)
    server = uvicorn.Server(server_config(app, host, port))
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(run_server(server, app))


def server_config(app: Any, host: str, port: int) -> uvicorn.Config:
    """How uvicorn runs the application: no log of requests, no name of the server."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=16_384,
    )


async def run_server(
    server: uvicorn.Server, app: FastAPI, sockets: list[socket] | None = None
) -> None:
    """Serve within the application's limits on connections and on the time of a request."""
    app.state.connections = server.server_state.connections
    sweeper = asyncio.create_task(_sweep(server, app.state.limits.seconds))
    try:
        await server.serve(sockets)
    finally:
        sweeper.cancel()


async def _sweep(server: uvicorn.Server, seconds: float) -> None:
    """Close connections on which a request's head or body does not arrive in time.

    uvicorn would wait for ever.
    """
    seen: WeakKeyDictionary[Any, tuple[object, float]] = WeakKeyDictionary()
    while True:
        await asyncio.sleep(min(1.0, seconds / 4))
        now = time.monotonic()
        for connection in list(server.server_state.connections):
            cycle: Any = getattr(connection, "cycle", None)
            arriving = cycle is not None and cycle.more_body
            if not (cycle is None or cycle.response_complete or arriving):
                seen.pop(connection, None)  # the server is at work
                continue
            stage = (id(cycle), arriving)
            before, since = seen.get(connection, (None, now))
            if before != stage:
                seen[connection] = (stage, now)
            elif now - since > seconds:
                connection.transport.close()
