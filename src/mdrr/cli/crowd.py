"""`mdrr crowd`: simulated people answer a survey over HTTP, each with a request of her own."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from typer import Argument, Option

from mdrr.cli.options import AsJson, Seed
from mdrr.cli.screen import print_answer, progress, step
from mdrr.columns import require
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.collector import Asked, Link
    from mdrr.design import Design
    from mdrr.response import Report

EXAMPLES = {"crowd": "mdrr crowd 'http://127.0.0.1:8000/s/abcdefgh#design=…' --data adult --n 1000"}
_ATTEMPTS = 8
_SECONDS = 30.0
_INVITED = "this survey needs invitations. Name the file of their links with --invitations FILE"


def crowd(
    url: Annotated[str, Argument(help="A link to the survey, between quotes.")],
    data: Annotated[
        str, Option(help="Who answers: 'adult', or a file of true records (CSV or Parquet).")
    ] = "adult",
    n: Annotated[
        int | None, Option("--n", "-n", min=1, help="How many answer. Default: all of them.")
    ] = None,
    invitations: Annotated[
        Path | None, Option(help="A file of links, one per person, as 'mdrr survey open' writes.")
    ] = None,
    workers: Annotated[int, Option(min=1, max=1000, help="Requests under way at once.")] = 64,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Let simulated people answer a survey over HTTP; their true answers are in a file."""
    import httpx

    from mdrr.collector import Link, UninvitedError, fetch

    links = [Link.parse(url)]
    if invitations is not None:
        links = [Link.parse(line) for line in invitations.read_text(encoding="utf-8").split()]
    if not links:
        raise MdrrError(f"{invitations} holds no links. Name the file of the invitations")
    with httpx.Client(timeout=30.0) as client:
        try:
            asked = fetch(links[0], client)
        except UninvitedError:
            raise MdrrError(_INVITED) from None
    people = _people(data, asked.design)
    if invitations is not None:
        n = min(n or len(links), len(links))
    elif asked.invitations != "none":
        raise MdrrError(_INVITED)
    step("A simulation: these people exist only in a file.")
    reports = drawn(people, asked.design, n, seed=None if seed is None else str(seed))
    with progress("Answering") as done:
        sent = asyncio.run(answer(reports, links, asked, workers, done))
    text = (
        f"{sent.answered:,} simulated people answered in {sent.seconds:.1f} s, "
        f"{sent.answered / sent.seconds:,.0f} a second. ε = {asked.design.epsilon:.4f} each."
    )
    if sent.refused:
        text += f" {sent.refused:,} were refused, the first because: {sent.reason}"
        text = f"{text.rstrip('.')}."
    print_answer({"simulated": True, **vars(sent)}, text, as_json=as_json)


def _people(data: str, design: Design) -> Any:
    from mdrr.datasets import adult
    from mdrr.files import read_people

    if data == "adult":
        return adult()
    return require("pyarrow", "frames").concat_tables(read_people(data, design.domain))


@dataclass(frozen=True)
class Sent:
    """What became of a crowd's answers."""

    answered: int
    refused: int
    reason: str | None
    seconds: float


def drawn(people: Any, design: Design, n: int | None = None, *, seed: str | None) -> list[Report]:
    """What the first n people of a frame report, all by default; too few answer in turns."""
    from mdrr.collector import new_id
    from mdrr.frames import encode
    from mdrr.randomizer import randomize_codes
    from mdrr.response import Report
    from mdrr.source import SeededSource

    columns = encode(people, design.domain)
    count = len(columns[0]) if n is None else n
    columns = [column.take(range(count), mode="wrap") for column in columns]
    source = None if seed is None else SeededSource(seed)
    randomized = randomize_codes(columns, design, source)
    found: dict[int, Report] = {}
    for number, batch in enumerate(randomized.batches):
        rows = zip(*(codes.tolist() for codes in batch.codes), strict=True)
        for row, codes in zip(batch.rows.tolist(), rows, strict=True):
            found[row] = Report(randomized.fingerprint, number, tuple(codes), new_id())
    return [found[row] for row in range(count)]


def answer_database(database: str, survey: str, reports: Sequence[Report]) -> Sent:
    """Send every report to a survey of a database that nobody serves yet."""
    import httpx

    from mdrr.collector import Link, fetch

    with served(database) as url, httpx.Client(timeout=30.0) as client:
        link = Link(url, survey)
        asked = fetch(link, client)
        link = replace(link, fingerprint=asked.design.fingerprint)
        return asyncio.run(answer(reports, [link], asked))


async def answer(
    reports: Sequence[Report],
    links: Sequence[Link],
    asked: Asked,
    workers: int = 64,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Sent:
    """Send every report, each with a link of its own if there are several."""
    from mdrr.collector import body, hide, said, unhide

    todo = iter(enumerate(reports))
    counts = {"answered": 0, "refused": 0}
    reason: str | None = None
    began = time.monotonic()

    async def work() -> None:
        nonlocal reason
        with closing(_Connection(links[0])) as connection:
            for place, report in todo:
                link = links[place % len(links)]
                status, reply, invitation = 201, b"", link.invitation
                if asked.invitations == "blind":
                    hidden = hide(asked, link)
                    wanted = {key: hidden[key] for key in ("invitation", "blinded")}
                    status, reply = await connection.post("sign", json.dumps(wanted).encode())
                    if status == 200:
                        status, invitation = 201, unhide(asked, hidden, _fields(reply))
                if status == 201:
                    content = body(report, invitation, asked.answer_bytes)
                    status, reply = await connection.post("answers", content)
                counts["answered" if status == 201 else "refused"] += 1
                if status != 201 and reason is None:
                    reason = said(status, _fields(reply)) if reply else "no answer came"
                on_progress(sum(counts.values()) / len(reports))

    await asyncio.gather(*(work() for _ in range(min(workers, len(reports)))))
    seconds = max(time.monotonic() - began, 1e-9)
    return Sent(**counts, reason=reason, seconds=seconds)


class _Connection:
    """One connection to a collector, kept open: lean, since a crowd makes many requests."""

    def __init__(self, link: Link) -> None:
        self._parts = parts = urlsplit(link.api)
        tls = parts.scheme == "https"
        self._to: dict[str, Any] = {"host": parts.hostname, "port": parts.port or (80, 443)[tls]}
        self._to["ssl"] = tls or None
        self._writer: asyncio.StreamWriter | None = None

    def close(self) -> None:
        """Close it, if it is open; the next request opens another."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    async def post(self, path: str, content: bytes) -> tuple[int, bytes]:
        """The status and the reply; the same bytes go again if a reply is lost or says so."""
        from mdrr.collector import AGAIN

        status, reply = 503, b""
        for attempt in range(_ATTEMPTS):
            try:
                async with asyncio.timeout(_SECONDS):
                    status, reply = await self._post(path, content)
            except (OSError, EOFError, ValueError):
                self.close()
                status, reply = 503, b""
            if status not in AGAIN:
                break
            await asyncio.sleep(0.05 * 2**attempt)
        return status, reply

    async def _post(self, path: str, content: bytes) -> tuple[int, bytes]:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(**self._to)
        head = (
            f"POST {self._parts.path}/{path} HTTP/1.1\r\nHost: {self._parts.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self._writer.write(head.encode() + content)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = re.search(r"\r\ncontent-length: *(\d+)", head)
        reply = await self._reader.readexactly(int(length[1]) if length else 0)
        if length is None or "\r\nconnection: close" in head:
            self.close()
        return int(head.split(" ", 2)[1]), reply


def _fields(reply: bytes) -> object:
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        return None


@contextmanager
def served(database: str) -> Iterator[str]:
    """A server of a database, a process of its own, while the block runs; gives its address."""
    import httpx

    port = free_port("127.0.0.1")
    url = f"http://127.0.0.1:{port}"
    words = ["-m", "mdrr", "serve", "--database", database, "--port", str(port)]
    with tempfile.TemporaryFile() as said:
        server = subprocess.Popen([sys.executable, *words], stdout=said, stderr=said)
        try:
            while True:
                if server.poll() is not None:
                    said.seek(0)
                    last = said.read().decode(errors="replace").strip().splitlines()[-1:]
                    raise MdrrError(f"the server did not start: {' '.join(last)}")
                try:
                    if httpx.get(f"{url}/healthz").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield url
        finally:
            server.terminate()
            server.wait()


def free_port(host: str, port: int = 0) -> int:
    """The port if it can be listened on, or any such port for 0; otherwise says why not."""
    try:
        family = socket.getaddrinfo(host, port, flags=socket.AI_PASSIVE)[0][0]
        with socket.create_server((host, port), family=family) as probe:
            return int(probe.getsockname()[1])
    except PermissionError:
        raise MdrrError(f"you may not use port {port}. Choose one above 1023 with --port") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise MdrrError(
                f"port {port} is in use. Stop what runs there, or choose another with --port (0 "
                "takes a free one) and write it into links that you have made already"
            ) from None
        raise MdrrError(
            f"{host} is no address of this machine. Leave out --host, or give 0.0.0.0 for all its "
            "addresses"
        ) from None
