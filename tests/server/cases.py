"""Surveys, answers and servers for the tests of the collector."""

import asyncio
import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn

from mdrr.design import Design
from mdrr.frozen import FrozenSurvey, freeze
from mdrr.protocols import independent, sampled
from mdrr.respondent import respond
from mdrr.response import Report
from mdrr.server.accept import Answer
from mdrr.server.app import create_app, run_server, server_config
from mdrr.server.held import Held, token_hash
from mdrr.server.limits import Limits
from mdrr.survey import Survey

TEXT = """
title = "Health"
[[attributes]]
name = "smokes"
categories = ["no", "yes"]
[[attributes]]
name = "age"
kind = "ordinal"
categories = ["young", "middle", "old"]
[[attributes]]
name = "town"
categories = ["A", "B", "C", "D"]
"""
SURVEY = Survey.from_toml(TEXT)
DESIGN = independent(SURVEY.domain, p=0.5)
SAMPLED = sampled(SURVEY.domain, 2, epsilon=2.0)
PERSON = {"smokes": "no", "age": "old", "town": "B"}


def frozen(design: Design = DESIGN) -> FrozenSurvey:
    return freeze(SURVEY, design)


def report(design: Design = DESIGN) -> Report:
    """What one person reports, under a fresh id."""
    made = respond(PERSON, design)
    return Report(made.fingerprint, made.questionnaire, made.codes, secrets.token_hex(16))


def body(made: Report, length: int, invitation: str | None = None) -> bytes:
    text = json.dumps({"report": made.to_dict(), "invitation": invitation}).encode()
    return text + b" " * (length - len(text))


def answer(held: Held, made: Report, invitation: str | None = None) -> Answer:
    """A report as the store takes it."""
    return Answer(
        held.id,
        held.by_fingerprint[made.fingerprint].key,
        bytes.fromhex(made.id or ""),
        made.questionnaire,
        ",".join(map(str, made.codes)),
        None if invitation is None else token_hash(invitation),
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(url: str, limits: Limits | None = None) -> Iterator[tuple[str, object]]:
    """A real server in a thread; gives its address and its store."""
    app = create_app(url, limits=limits)
    server = uvicorn.Server(server_config(app, "127.0.0.1", port := free_port()))
    thread = threading.Thread(target=lambda: asyncio.run(run_server(server, app)))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}", app.state.store
    finally:
        server.should_exit = True
        thread.join()
