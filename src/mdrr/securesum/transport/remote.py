"""One batch at a relay behind HTTP, as roles see it; tries again while there is time."""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import httpx

from mdrr.errors import ProtocolError
from mdrr.securesum.message import Message
from mdrr.securesum.post import REPORT_ID, RelayError
from mdrr.securesum.wire import parse

if TYPE_CHECKING:
    from mdrr.securesum.person import SealedReport


class RemotePost:
    """One run at a relay.

    Arguments:
        url: its address there, as the relay prints it: `https://relay.example.org/b/…`.
        patience: seconds of silence from the relay before giving up.
        plain: take http:// to another machine too. Reports are sealed and messages signed all the
            same, but everybody on the way sees who takes part.
    """

    def __init__(self, url: str, *, patience: float = 60.0, plain: bool = False) -> None:
        _check(url, plain)
        self._url = url.rstrip("/")
        self._http = httpx.Client(
            timeout=httpx.Timeout(60.0, connect=5.0), verify=not url.startswith("http://")
        )
        self.patience = patience
        self.sent = 0

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def document(self) -> Message:
        """What the organiser signed."""
        return Message.from_json(self._ask("GET", ""))

    def roll(self, reader: int, /) -> bytes:
        """A roll."""
        return self._ask("GET", f"/rolls/{reader}")

    def upload(self, report: SealedReport, /) -> None:
        """Leave a report."""
        shown = {"authorization": f"Bearer {report.credential.hex()}"}
        self._ask("PUT", f"/reports/{report.id.hex()}", report.data, shown)

    def arrivals(self, after: int, limit: int, /) -> list[bytes]:
        """Ids of reports."""
        data = self._ask("GET", f"/reports?after={after}&limit={limit}")
        return [data[at : at + REPORT_ID] for at in range(0, len(data), REPORT_ID)]

    def parts(self, request: Message, /) -> dict[bytes, bytes]:
        """Sealed parts for an aggregator; all have one length."""
        data = self._ask("POST", "/parts", request.to_json())
        size = int.from_bytes(data[:4], "big")
        rows = [data[at : at + size] for at in range(4, len(data), size)] if size else []
        return {row[:REPORT_ID]: row[REPORT_ID:] for row in rows}

    def join(self, shown: bytes, message: Message, /) -> None:
        """Leave a join."""
        headers = {"authorization": f"Bearer {shown.hex()}"}
        self._ask("PUT", "/join", message.to_json(), headers)

    def say(self, *messages: Message) -> None:
        """Leave messages."""
        if messages:
            self._ask("POST", "/messages", b"\n".join(one.to_json() for one in messages))

    def hear(self, topic: str, /) -> list[Message]:
        """All messages on a topic; what is no message is passed over."""
        return _readable(self._ask("GET", f"/messages/{topic}").splitlines())

    def mail(self, recipient: str, after: int, /) -> tuple[list[Message], int]:
        """What came since a mark; what is no message is passed over."""
        first, *lines = self._ask("GET", f"/messages?to={recipient}&after={after}").split(b"\n")
        if not first.isdigit():
            raise ProtocolError("the relay's answer is not a list of messages")
        return _readable(lines), int(first)

    def _ask(
        self, method: str, path: str, data: bytes = b"", headers: dict[str, str] | None = None
    ) -> bytes:
        deadline, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                answer = self._http.request(method, self._url + path, content=data, headers=headers)
                if answer.status_code not in (429, 500, 502, 503, 504):
                    break
                trouble = f"says {_reason(answer)}"
            except httpx.TransportError as error:
                trouble = f"does not answer: {error}"
            if time.monotonic() + pause > deadline:
                raise RelayError(
                    f"the relay at {self._url} {trouble}. Is it running, and is the address right?"
                )
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        self.sent += len(data)
        if not path and answer.status_code in (404, 422):
            raise RelayError(
                f"no batch has the address {self._url}. Give the whole address that the relay "
                "printed: it ends in /b/ and the batch's 64 digits and letters"
            )
        if not answer.is_success:
            raise RelayError(f"the relay refused: {_reason(answer)}")
        return answer.content


def _readable(lines: Iterable[bytes]) -> list[Message]:
    found = []
    for line in lines:
        with contextlib.suppress(ProtocolError):
            found.append(Message.from_json(line))
    return found


def _check(url: str, plain: bool) -> None:
    """Refuse at once an address that no waiting makes right."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ProtocolError(
            f"{url!r} is not the address of a relay: it starts with http:// or https://"
        )
    if parsed.scheme == "http" and not plain and not _is_here(parsed.host):
        raise ProtocolError(
            f"{url!r} is another machine without TLS: everybody on the way sees who takes part, "
            "and the totals. Use its https:// address, or say --plain-http if the way is safe, "
            "such as a tunnel"
        )


def _is_here(host: str) -> bool:
    """Whether an address stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(answer: httpx.Response) -> str:
    """Why a request was refused."""
    try:
        return str(parse(answer.content).get("error", answer.status_code))
    except ProtocolError:
        return str(answer.status_code)
