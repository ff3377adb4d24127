"""How many answers a second the collector acknowledges, and how long each waits.

    python -m benchmarks.collector            # writes the page
    python -m benchmarks.collector --short    # a few seconds, prints only

Generator and server share one machine over loopback. Answers are made before the clock starts, and
each connection sends its next one when the last was acknowledged. The framework alone is the same
server with a handler that reads the same requests as JSON and replies, or with a plain route that
takes the body without parsing it. The handler is measured before and after the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import uvloop
from benchmarks.processes import cpu_seconds

import mdrr
from benchmarks import pages
from mdrr.frozen import FrozenSurvey, freeze
from mdrr.server.held import answer_bytes
from mdrr.server.store import Store
from mdrr.survey import Question, Survey
from tests.server.conftest import Cluster, postgres_folder

PAGE = Path("docs/benchmarks/collector.md")
EPSILON = 4.0
CONNECTIONS = 64

HANDLER = """
import sys, uvicorn
from fastapi import FastAPI, Request, Response
from mdrr.server.app import server_config
app = FastAPI(telemetry={"tracing": False, "metrics": False, "logs": False})
@app.post("/api/surveys/{survey}/answers")
async def answers(survey: str, request: Request) -> Response:
    id = (await request.json())["report"]["id"]
    return Response(b'{"received":"%s"}' % id.encode(), media_type="application/json")
uvicorn.Server(server_config(app, "127.0.0.1", int(sys.argv[1]))).run()
"""
ROUTE = """
import sys, uvicorn
from fastapi import FastAPI, Request, Response
from starlette.routing import Route
from mdrr.server.app import server_config
app = FastAPI(telemetry={"tracing": False, "metrics": False, "logs": False})
async def answers(request: Request) -> Response:
    await request.body()
    return Response(b'{"received":"0"}', media_type="application/json")
app.router.routes.append(Route("/api/surveys/{survey}/answers", answers, methods=["POST"]))
uvicorn.Server(server_config(app, "127.0.0.1", int(sys.argv[1]))).run()
"""
COLLECTOR = """
import sys
from mdrr.server.app import serve
from mdrr.server.limits import Limits
serve(sys.argv[2], port=int(sys.argv[1]), limits=Limits(rate=1e6, burst=1e6))
"""


def adult_survey(n: int) -> FrozenSurvey:
    domain = mdrr.datasets.adult_domain()
    design = mdrr.plan(domain, n=n, epsilon=EPSILON).best.design
    return freeze(Survey("Adult", tuple(Question(a) for a in domain.attributes)), design)


def requests(frozen: FrozenSurvey, length: int, invitations: list[str]) -> list[bytes]:
    """The whole requests of people of Adult, randomized one by one."""
    people = mdrr.datasets.adult().head(len(invitations)).to_dicts()
    people *= -(-len(invitations) // len(people))
    design = frozen.phases[0].to_dict()
    head = (
        f"POST /api/surveys/{frozen.id}/answers HTTP/1.1\r\nhost: localhost\r\n"
        f"content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    ).encode()
    made = []
    for person, invitation in zip(people, invitations, strict=False):
        report = mdrr.respond(person, design).to_dict() | {"id": secrets.token_hex(16)}
        text = json.dumps({"report": report, "invitation": invitation}).encode()
        made.append(head + text.ljust(length))
    return made


class Client(asyncio.Protocol):
    """One connection: sends, waits for the reply, sends the next."""

    def __init__(self, waiting: list[bytes], seconds: list[float], refused: list[bytes]) -> None:
        self.waiting, self.seconds, self.refused = waiting, seconds, refused
        self.done = asyncio.get_running_loop().create_future()
        self.reply = b""
        self.usual = (b"", 0)  # the head and the length of the last good reply

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.next()

    def next(self) -> None:
        if not self.waiting:
            self.transport.close()
            self.done.set_result(None)
            return
        self.began = time.perf_counter()
        self.transport.write(self.waiting.pop())

    def data_received(self, data: bytes) -> None:
        self.reply = reply = self.reply + data if self.reply else data
        usual, length = self.usual
        if len(reply) != length or not reply.startswith(usual):
            head, end, body = reply.partition(b"\r\n\r\n")
            stated = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
            if not end or len(body) < int(stated):
                return
            if head.startswith(b"HTTP/1.1 20"):
                self.usual = (head, len(reply))
            else:
                self.refused.append(reply)
        self.seconds.append(time.perf_counter() - self.began)
        self.reply = b""
        self.next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed a connection"))


async def send_all(port: int, waiting: list[bytes], connections: int) -> dict[str, float]:
    seconds: list[float] = []
    refused: list[bytes] = []
    n, loop = len(waiting), asyncio.get_running_loop()
    began = time.perf_counter()
    clients = [
        (await loop.create_connection(lambda: Client(waiting, seconds, refused), "127.0.0.1", port))
        for _ in range(connections)
    ]
    await asyncio.gather(*(client.done for _, client in clients))
    took = time.perf_counter() - began
    if refused:
        raise RuntimeError(f"{len(refused)} answers were refused, as in {refused[0]!r}")
    seconds.sort()
    return {
        "people": n,
        "seconds": took,
        "rate": n / took,
        "p50": seconds[n // 2] * 1000,
        "p99": seconds[n * 99 // 100] * 1000,
    }


def measure(script: str, waiting: list[bytes], connections: int, *more: str) -> dict[str, float]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", script, str(port), *more], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        before, own = cpu_seconds(server.pid), time.process_time()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            found = runner.run(send_all(port, list(waiting), connections))
        own = time.process_time() - own
        used = {"cpu": cpu_seconds(server.pid) - before, "own": own, "load": os.getloadavg()[0]}
        return found | used
    finally:
        server.terminate()
        server.wait()


def on(url: str, n: int, connections: int) -> dict[str, float]:
    """The collector on a fresh database, with an invitation for each answer."""
    store, frozen = Store(url), adult_survey(n)
    store.create(frozen, invitations="required")
    store.open(frozen.id)
    length = answer_bytes(frozen.phases[0], "required")
    waiting = requests(frozen, length, store.invite(frozen.id, n))
    found = measure(COLLECTOR, waiting, connections, url)
    held = store.need(frozen.id)
    if store.tally(held.phase()).n != n or store.status(frozen.id)["invitations"]["used"] != n:
        raise RuntimeError("the collector acknowledged what it did not store")
    store.dispose()
    return found | {"bytes": length}


def run(n: int, connections: int, folder: str) -> dict[str, Any]:
    frozen = adult_survey(n)
    length = answer_bytes(frozen.phases[0], "required")
    plain = requests(frozen, length, [secrets.token_urlsafe(32) for _ in range(n)])
    found: dict[str, Any] = {"route": measure(ROUTE, plain, connections)}
    found["handler"] = measure(HANDLER, plain, connections)
    found["sqlite"] = on(f"sqlite:///{folder}/answers.db", n, connections)
    programs = postgres_folder()
    if programs is not None:
        cluster = Cluster(programs)
        try:
            found["postgresql"] = on(cluster.new_database(), n, connections)
        finally:
            cluster.stop()
    found["handler again"] = measure(HANDLER, plain, connections)
    return found


NAMES = {
    "route": "framework, a plain route, body not parsed",
    "handler": "framework, a JSON handler, before",
    "sqlite": "collector on SQLite",
    "postgresql": "collector on PostgreSQL",
    "handler again": "framework, a JSON handler, after",
}


def document(found: dict[str, Any], connections: int) -> str:
    ceiling = max(found["handler"]["rate"], found["handler again"]["rate"])
    people = found["sqlite"]["people"]
    heads = ["", "answers/s", "of the framework's", "p50 in ms", "p99 in ms", "all, in s"]
    heads += ["server's CPU in µs each", "generator's", "load"]
    rows = []
    for key, run in found.items():
        cells = [NAMES[key], f"{run['rate']:,.0f}", f"{run['rate'] / ceiling:.0%}"]
        cells += [f"{run[name]:.1f}" for name in ("p50", "p99", "seconds")]
        cells += [f"{run[name] / people * 1e6:.0f}" for name in ("cpu", "own")]
        rows.append([*cells, f"{run['load']:.1f}"])
    return "\n".join(
        [
            "# The collector under load",
            "",
            "Written by `make bench-collector`. How many answers a second the collector "
            "acknowledges, each after it is on disk and its invitation is marked used, and how "
            "long one waits for its acknowledgement.",
            "",
            f"{people:,} people of Adult answer a survey planned for "
            f"ε = {EPSILON:g}, over {connections} connections that each send the next answer when "
            f"the last was acknowledged. An answer has {found['sqlite']['bytes']} bytes. Server, "
            f"generator and database share {os.cpu_count()} cores "
            f"(Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}). "
            "The framework alone is the same server (FastAPI on uvicorn) with a handler that reads "
            "the same requests as JSON and replies with the id: no check, no database. Its faster "
            "run is the 100 %. The first row is a plain route that takes the body without parsing "
            "it.",
            "",
            pages.table(heads, rows),
            "",
            "The load is the average number of running processes in the minute before a run ended, "
            "two or three of which are the benchmark's own. If it is higher, others used the "
            "machine too, and the rates are lower than they would be alone.",
            "",
            "After each run the database's own count, and the number of used invitations, equal "
            "the number of acknowledged answers; otherwise this page is not written.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=32_561)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    n = min(given.people, 4_000) if given.short else given.people
    with tempfile.TemporaryDirectory() as folder:
        found = run(n, given.connections, folder)
    print(document(found, given.connections))
    if not given.short:
        PAGE.write_text(document(found, given.connections), encoding="utf-8")


if __name__ == "__main__":
    main()
