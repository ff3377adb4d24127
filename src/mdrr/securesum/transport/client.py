"""The other end of the relay: post a message, wait for messages; retries while there is time."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from typing import TypeVar

import httpx

from mdrr.errors import ProtocolError
from mdrr.securesum.message import Message
from mdrr.securesum.wire import parse

T = TypeVar("T")


class RelayClient:
    """One member's connection to a relay.

    Arguments:
        url: where the relay listens, e.g. `https://relay.example.org`.
        me: the member's id.
        patience: seconds of silence from the relay (or from the others) before giving up.
        plain: take http:// to another machine too. Messages are sealed and signed all the same,
            but everybody on the way sees who takes part, and the totals.
    """

    def __init__(self, url: str, me: str, *, patience: float = 60.0, plain: bool = False) -> None:
        _check_url(url, plain)
        self._http = httpx.Client(
            base_url=url,
            timeout=httpx.Timeout(40.0, connect=5.0),
            verify=not url.startswith("http://"),  # without TLS there is no certificate to load
        )
        self._me = me
        self.patience = patience
        self._after = 0
        self.sent = self.received = 0

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def terms(self) -> Message:
        """The relay's terms."""
        return Message.from_json(self._retry(lambda: self._http.get("/v1/terms")).content)

    def enrolled(self) -> tuple[str, ...]:
        """Ids of the people enrolled."""
        body = parse(self._retry(lambda: self._http.get("/v1/enrolled")).content)
        names = body.get("enrolled")
        if not isinstance(names, list):
            raise ProtocolError("the relay's answer is not a list of people")
        return tuple(str(name) for name in names)

    def post(self, *messages: Message) -> None:
        """Send messages, together."""
        if not messages:
            return
        data = b"\n".join(message.to_json() for message in messages)
        self._retry(lambda: self._http.post("/v1/messages", content=data))
        self.sent += len(data)

    def fetch(
        self, wait: float, *, least: int = 1, kinds: tuple[str, ...] = ()
    ) -> list[Message | ProtocolError]:
        """New messages in order; one that cannot be read comes as the error it gave.

        Arguments:
            wait: seconds to wait for the first.
            least: how many are expected; the relay gathers that many if they come soon.
            kinds: only these kinds, when given.
        """
        params: dict[str, str | int | float] = {
            "to": self._me,
            "after": self._after,
            "wait": wait,
            "least": least,
            "kinds": ",".join(kinds),
        }
        answer = self._retry(lambda: self._http.get("/v1/messages", params=params))
        body = parse(answer.content)
        texts, cursor = body.get("messages"), body.get("next")
        if not isinstance(texts, list) or type(cursor) is not int:
            raise ProtocolError("the relay's answer is not a list of messages")
        self._after = cursor
        self.received += len(answer.content)
        return [_read(str(text)) for text in texts]

    def _retry(self, call: Callable[[], httpx.Response]) -> httpx.Response:
        deadline = time.monotonic() + self.patience
        pause = 0.05
        while True:
            try:
                answer = call()
            except httpx.TransportError as error:
                if time.monotonic() + pause > deadline:
                    raise ProtocolError(
                        f"the relay at {self._http.base_url} does not answer: {error}. "
                        "Is it running, and is the address right?"
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, 1.0)
                continue
            if answer.is_success:
                return answer
            raise ProtocolError(f"the relay refused: {_reason(answer)}")


def _check_url(url: str, plain: bool) -> None:
    """Refuse at once an address that no waiting makes right."""
    try:
        parsed = httpx.URL(url)
        good = parsed.scheme in ("http", "https") and bool(parsed.host)
    except (httpx.InvalidURL, ValueError):
        good = False
    if not good:
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


def _read(text: str) -> Message | ProtocolError:
    try:
        return Message.from_json(text)
    except ProtocolError as error:
        return error


def _reason(answer: httpx.Response) -> str:
    try:
        return str(parse(answer.content).get("error", answer.status_code))
    except ProtocolError:
        return str(answer.status_code)
