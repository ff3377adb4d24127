"""A small collector that speaks the service's contract, and can be told to fail."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mdrr.design import Design
from mdrr.respondent import fingerprint
from mdrr.server.blind import blind_sign, from_text, to_text
from scripts.vector_designs import band, cluster, constant, design, subset

STATIC = Path(__file__).resolve().parents[2] / "src" / "mdrr" / "server" / "static"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
ID = "abcdefgh"
INVITATION = "secret-invitation".ljust(43, "0")
ANOTHER = "another-one".ljust(43, "0")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


def question(name: str, text: str, labels: list[str], *, public: bool = False) -> dict[str, Any]:
    """One question in English, German and Arabic."""
    others = {"de": "DE ", "ar": "نص "}

    def spoken(words: str) -> dict[str, str]:
        return {"en": words, **{code: mark + words for code, mark in others.items()}}

    kind = {"kind": "nominal", "missing": None, "public": public}
    return {"name": name, "text": spoken(text), "labels": [spoken(x) for x in labels], **kind}


QUESTIONS = [
    question("region", "In which region do you live?", ["Highlands", "Lowlands"], public=True),
    question("smokes", "Do you smoke?", ["Never smoked", "Smoke sometimes", "Smoke daily"]),
    question("cheat", "Have you ever cheated on your taxes?", ["Not cheated", "Have cheated"]),
    question("income", "What is your income?", ["Low", "Below middle", "Upper", "Top"]),
    question("party", "Which party would you vote for?", [f"Party {x}" for x in "ABCDEF"]),
    question("vote", "Did you vote last time?", ["Voted", "Stayed home"]),
]


def attributes() -> list[dict[str, Any]]:
    """The categories are short codes, as owners write them."""
    found: list[dict[str, Any]] = []
    for each in QUESTIONS:
        categories = [f"{each['name'][:2]}{k}" for k in range(len(each["labels"]))]
        fields = {"name": each["name"], "kind": "nominal", "categories": categories}
        found.append({**fields, **({"public": True} if each["public"] else {})})
    return found


OPEN = cluster(["region"], {"kind": "public", "cells": 2})
PLAIN = design(
    attributes(),
    (
        1,
        [
            OPEN,
            cluster(["smokes"], constant(3, 13_000, 2**16)),
            cluster(["cheat", "vote"], constant(4, 9_000, 2**16)),
            cluster(["income"], band(4, 1, 6_553, 2**16)),
            cluster(["party"], subset(6, 7, [1, 2, 4], 6_000, 2**16)),
        ],
    ),
)
"""Every kind of matrix but dense: what a person is told differs for each."""

PAIR = [("income", 4), ("party", 6)]
SMOKES = cluster(["smokes"], constant(3, 13_000, 2**16))
PICKED = design(
    attributes(),
    (2**15, [OPEN, SMOKES, cluster(["cheat"], constant(2, 9_000, 2**16))]),
    (2**14, [OPEN, *(cluster([name], constant(k, 8_000, 2**16)) for name, k in PAIR)]),
    (2**14, [OPEN, SMOKES, cluster(["vote"], constant(2, 9_000, 2**16))]),
)
"""Three of the questions each."""


def info(fields: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What `GET /api/surveys/{id}` says."""
    mark = Design.from_dict(fields).fingerprint if "mdrr" in fields else ""
    survey = {
        "languages": ["en", "de", "ar"],
        "title": {"en": "Habits and votes", "de": "Gewohnheiten", "ar": "العادات"},
        "introduction": {
            "en": "Five minutes.\n\nThank you.",
            "de": "Fünf Minuten.",
            "ar": "دقائق.",
        },
        "purpose": {"en": "To plan services.", "de": "Zur Planung.", "ar": "للتخطيط."},
        "consent": {"en": "Taking part is voluntary.", "de": "Freiwillig.", "ar": "طوعية."},
        "retention": {"en": "Reports are kept for 2 years.", "de": "2 Jahre.", "ar": "سنتان."},
        "contact": {
            "en": "survey@example.org",
            "de": "survey@example.org",
            "ar": "survey@example.org",
        },
        "questions": QUESTIONS,
    }
    said = {"id": ID, "state": "open", "phase": 1, "survey": survey, "design": fields}
    rest = {"invitations": "required", "answer_bytes": 400, "blind_key": None}
    return {**said, "fingerprint": mark, "earlier": [], **rest, **changes}


@dataclass
class Collector:
    """What it says, what it was sent, and with which status it answers."""

    info: dict[str, Any]
    status: int = 201
    bodies: list[bytes] = field(default_factory=list)
    url: str = ""
    signing_key: bytes = b""
    signed: list[dict[str, str]] = field(default_factory=list)  # what came to be signed
    invited: int = 200  # what it answers to whether an invitation is good
    shown: list[str] = field(default_factory=list)  # the invitations it was asked about

    def link(self, **changes: str) -> str:
        """A person's link."""
        words = fingerprint(self.info["survey"])
        parts = {"design": self.info["fingerprint"], "words": words}
        parts["invitation"] = INVITATION
        if self.info["blind_key"]:
            parts["key"] = hashlib.sha256(self.info["blind_key"].encode()).hexdigest()
        parts |= changes
        fragment = "&".join(f"{key}={value}" for key, value in parts.items() if value)
        return f"{self.url}/s/{ID}#{fragment}"

    @property
    def sent(self) -> dict[str, Any]:
        """The one answer that arrived."""
        (body,) = self.bodies
        return json.loads(body)


def handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def parse_request(self) -> bool:
            """Of a connection that outlives the server nothing is read."""
            if self.server.socket.fileno() < 0:
                self.close_connection = True
                return False
            return super().parse_request()

        def reply(self, status: int, content: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            if self.path == f"/api/surveys/{ID}":
                self.reply(200, json.dumps(collector.info).encode())
                return
            name = "form.html" if self.path == f"/s/{ID}" else self.path.removeprefix("/static/")
            path = STATIC / name
            if path.parent == STATIC and path.is_file():
                self.reply(200, path.read_bytes(), KINDS[path.suffix])
            else:
                self.reply(404, b'{"error":"there is no such survey"}')

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.endswith("/sign"):
                self.sign(json.loads(body))
                return
            if self.path.endswith("/invitation"):
                collector.shown.append(json.loads(body)["invitation"])
                self.reply(collector.invited, b"{}")
                return
            collector.bodies.append(body)
            self.reply(collector.status, b"{}")

        def sign(self, asked: dict[str, str]) -> None:
            before = [each["blinded"] for each in collector.signed]
            collector.signed.append(asked)
            if before and before[0] != asked["blinded"]:
                self.reply(403, b"{}")
                return
            made = blind_sign(from_text(asked["blinded"]), collector.signing_key)
            self.reply(200, json.dumps({"signature": to_text(made)}).encode())

    return Handler


@contextmanager
def serving(collector: Collector, port: int = 0) -> Iterator[Collector]:
    """The collector on a free port of this machine, or on one that it had before."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(collector))
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
