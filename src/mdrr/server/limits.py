"""Limits on what strangers can make the server do, and what it says of itself: counts and logs.

Addresses are used in memory alone, to hand out turns. Nothing of them is stored or logged. Each
process has limits of its own.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import time
import traceback
from collections import Counter, OrderedDict
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mdrr.server.schema import StoreError, why

log = logging.getLogger("mdrr.server")

ROUTE = "mdrr.route"
"""Under which a plain route says which it is."""
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
"""Sent with everything."""
ANYWHERE = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
]
"""Sent with what needs no token, so that the respondent page may be served by somebody else."""
QUIET = ("/answers", "/invitation", "/sign")
"""How routes end of which what went well is not logged."""
_TOO_LARGE = "The request is too large; send at most {} bytes."


@dataclass(frozen=True)
class Limits:
    """What one process of the server allows.

    Arguments:
        body: bytes of a request, counted while they arrive. An answer has its own exact length.
        seconds: for a request's head, and again for its body, to arrive; `serve` ends others.
        rate: answers a second, over all surveys. `burst` may come at once.
        burst: how many answers may come at once.
        each: requests a second from one address; loopback, where a proxy is, has no such limit.
        each_burst: how many requests may come from one address at once.
        waiting: answers that may wait for the disk.
        events: dashboards that may watch at once.
        connections: open connections whose requests are answered; `serve` counts them.
    """

    body: int = 4_000_000
    seconds: float = 20.0
    rate: float = 10_000.0
    burst: float = 20_000.0
    each: float = 50.0
    each_burst: float = 500.0
    waiting: int = 10_000
    events: int = 100
    connections: int = 2_000

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise StoreError(f"the limit {field.name!r} must be more than 0")


class Buckets:
    """Token buckets by key: `rate` turns a second, at most `burst` saved up. In memory alone."""

    def __init__(self, rate: float, burst: float, *, most: int = 10_000) -> None:
        self._rate, self._burst, self._most = rate, burst, most
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now: float | None = None) -> bool:
        """Whether there is a turn left for the key; takes it."""
        now = time.monotonic() if now is None else now
        left, since = self._held.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._held[key] = (left - 1 if left >= 1 else left, now)
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return left >= 1


@lru_cache(10_000)
def address_key(host: str) -> str | None:
    """Under what an address has its turns; IPv6 by its /64, and None for loopback."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None  # a Unix socket or a test: no address
    if address.is_loopback:
        return None
    if address.version == 6:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host


class Metrics:
    """Counts since the process started, in the text format that Prometheus reads."""

    def __init__(self) -> None:
        self.responses: Counter[tuple[str, int]] = Counter()
        self.gauges: dict[str, Any] = {}

    def text(self) -> str:
        """Everything that is counted."""
        lines = ["# TYPE mdrr_responses_total counter"]
        for (route, status), count in sorted(self.responses.items()):
            lines.append(f'mdrr_responses_total{{route="{route}",status="{status}"}} {count}')
        for name, value in self.gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE {name} {kind}", f"{name} {value()}"]
        return "\n".join(lines) + "\n"


def refusal(status: int, sentence: str, **headers: str) -> JSONResponse:
    """An answer that says in one sentence what to do."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"error": sentence}, status, headers=named)


class Guard:
    """Stands before every route: limits, headers, counts, and a line for who wants a log.

    Answers that were taken and invitations that were good or signed are counted, but not logged:
    their times say when somebody answered.
    """

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics) -> None:
        self.app, self.limits, self.metrics = app, limits, metrics
        self.each = Buckets(limits.each, limits.each_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        for_all = path.startswith("/api/surveys/") and "/owner" not in path
        status = 0
        began = time.monotonic()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = ANYWHERE if for_all else ()
                message["headers"] = [*message.get("headers", ()), *HEADERS, *extra]
            await send(message)

        refused = self._refused(scope)
        try:
            if refused is not None:
                await refused(scope, receive, answer)
            elif for_all and scope["method"] == "OPTIONS":  # a browser asks before it sends JSON
                await Response(status_code=204)(scope, receive, answer)
            else:
                await self.app(scope, _measured(receive, self.limits.body), answer)
        except Exception as error:  # a fault of ours; its message may hold values and is not logged
            log.error("fault", extra={"fields": _fault(error)})
            if not status:
                away = isinstance(error, DBAPIError | PoolTimeout)
                text = "The database does not answer" if away else "The server failed"
                text += "; please send it again later."
                await refusal(503 if away else 500, text)(scope, receive, answer)
        route = str(scope.get(ROUTE) or getattr(scope.get("route"), "path", "none"))
        self.metrics.responses[route, status] += 1
        if status not in (200, 201) or not route.endswith(QUIET):
            took = round((time.monotonic() - began) * 1000)
            said = {"method": scope["method"], "route": route, "status": status, "ms": took}
            log.info("request", extra={"fields": said})

    def _refused(self, scope: Scope) -> JSONResponse | None:
        if len(scope["app"].state.connections) > self.limits.connections:
            sentence = "Too many people are connected; send it again in a moment."
            return refusal(503, sentence, retry_after="5", connection="close")
        client = scope.get("client")
        key = address_key(client[0]) if client else None
        if key is not None and not self.each.take(key):
            sentence = "Too many requests came from here; wait a minute."
            return refusal(429, sentence, retry_after="60")
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length) > self.limits.body:
            return refusal(413, _TOO_LARGE.format(self.limits.body))
        return None


def _measured(receive: Receive, most: int) -> Receive:
    """A request's body, counted while it arrives; refused once it is too large."""
    left = most

    async def part() -> Message:
        nonlocal left
        message = await receive()
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, _TOO_LARGE.format(most))
        return message

    return part


def _fault(error: BaseException) -> dict[str, Any]:
    """Where a fault happened, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    known = why(error)
    return {
        "error": type(error).__name__,
        **({} if known is None else {"why": known}),
        "at": [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in frames],
    }


class JsonLines(logging.Formatter):
    """Log records as JSON, one a line. What people did has the hour alone, trouble its second."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        coarse = record.levelno < logging.WARNING
        when = datetime.fromtimestamp(record.created, UTC).isoformat(
            timespec="hours" if coarse else "seconds"
        )
        fields = getattr(record, "fields", {})
        line = {"time": when, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps(line | fields, ensure_ascii=False)
