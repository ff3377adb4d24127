"""A collector as people see it: the link they were given, the survey behind it, and sending.

What a collector says is not believed: the design must have the fingerprint that the link states,
and its ε is computed from its integers.
"""

from __future__ import annotations

import ipaddress
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from mdrr.columns import require
from mdrr.design import Design
from mdrr.errors import MdrrError
from mdrr.frozen import read_texts, texts
from mdrr.respondent import fingerprint
from mdrr.response import Report
from mdrr.survey import Survey

MOST_BYTES = 50_000_000
"""Longer answers of a collector are not read."""
AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
"""With these statuses the same bytes may be sent again."""
_INVITATION = re.compile("[A-Za-z0-9_-]{43}")
_FRAGMENT = {"design": "fingerprint", "words": "words", "key": "key", "invitation": "invitation"}
"""What a link says after `#`, and the field of `Link` that holds it."""


class CollectorError(MdrrError):
    """A collector that cannot be reached, or that says something it should not."""


class UninvitedError(CollectorError):
    """A link without the invitation that its survey needs."""


@dataclass(frozen=True)
class Link:
    """A respondent's link. What is after `#` never leaves the device by itself.

    Arguments:
        base: the collector's address, as in `https://survey.example.org`.
        survey: the survey's id.
        fingerprint: of the design that the person was promised.
        invitation: her invitation, used once.
        key: SHA-256 of the key that signs blind invitations, as `blind.key_hash` gives it.
        words: the fingerprint of the questions and labels in people's words.

    Example:
        >>> link = Link.parse("https://example.org/s/abcdefgh#design=15f2&invitation=x")
        >>> link.base, link.survey, link.fingerprint, link.invitation
        ('https://example.org', 'abcdefgh', '15f2', 'x')
        >>> str(link)
        'https://example.org/s/abcdefgh#design=15f2&invitation=x'
    """

    base: str
    survey: str
    fingerprint: str | None = None
    invitation: str | None = field(default=None, repr=False)
    key: str | None = None
    words: str | None = None

    @classmethod
    def parse(cls, text: str) -> Link:
        """The link that a text is."""
        try:
            parts = urlsplit(text.strip())
            host = parts.hostname
        except ValueError:
            host = None
        found = None if host is None else re.fullmatch(r"(.*)/s/([A-Za-z0-9]{1,32})/?", parts.path)
        if found is None or parts.scheme not in ("http", "https"):
            raise CollectorError(
                "this is no link to a survey, as in 'https://example.org/s/abcdefgh#design=…'. Put "
                "the link between quotes"
            )
        said = {
            key: re.sub(r"[^A-Za-z0-9_-]+$", "", values[0])  # a full stop behind a link, a bracket
            for key, values in parse_qs(parts.fragment).items()
        }
        base = f"{parts.scheme}://{parts.netloc}{found[1]}"
        return cls(base, found[2], **{field: said.get(key) for key, field in _FRAGMENT.items()})

    def __str__(self) -> str:
        said = {key: getattr(self, field) for key, field in _FRAGMENT.items()}
        fragment = urlencode({key: value for key, value in said.items() if value})
        return f"{self.base}/s/{self.survey}" + (f"#{fragment}" if fragment else "")

    @property
    def api(self) -> str:
        """Where a program asks for the survey."""
        return f"{self.base}/api/surveys/{self.survey}"

    @property
    def travels_open(self) -> bool:
        """Whether others on the way could read and change what is sent."""
        parts = urlsplit(self.base)
        try:
            here = ipaddress.ip_address(parts.hostname or "").is_loopback
        except ValueError:
            here = parts.hostname == "localhost"
        return parts.scheme == "http" and not here


def dashboard(base: str, survey: str, token: str) -> str:
    """The owner's link."""
    return f"{base.rstrip('/')}/d/{survey}#{urlencode({'token': token})}"


@dataclass(frozen=True)
class Asked:
    """A survey as a collector offers it, checked.

    Arguments:
        survey: its texts.
        design: how answers are randomized.
        invitations: `"none"`, `"required"` or `"blind"`.
        answer_bytes: how long every answer is.
        blind_key: the key that signs blind invitations, if there is one.
    """

    survey: Survey
    design: Design
    invitations: str
    answer_bytes: int
    blind_key: str | None

    @classmethod
    def from_dict(cls, fields: object, link: Link) -> Asked:
        """What the collector answered; refused if it is not what the link promised."""
        if not isinstance(fields, Mapping):
            raise CollectorError("the collector did not answer with a survey")
        try:
            if fields["state"] != "open":
                raise CollectorError("this survey does not take answers now")
            design = Design.from_dict(fields["design"])
            survey = read_texts(fields["survey"], design)
            length, kind = fields["answer_bytes"], fields["invitations"]
            key, earlier = fields.get("blind_key"), fields.get("earlier")
            if type(length) is not int or not 0 < length < MOST_BYTES:
                raise ValueError
            if kind not in ("none", "required", "blind"):
                raise ValueError
            signer = sha256(str(key).encode()).hexdigest()
            promises = (
                ("asks under another design", link.fingerprint, design.fingerprint),
                ("asks in other words", link.words, fingerprint(texts(survey))),
                # A key for each person would tell people apart: the link says which one all have.
                ("signs invitations with another key", link.key, signer),
            )
        except CollectorError:
            raise
        except (MdrrError, KeyError, TypeError, AttributeError, ValueError):
            raise CollectorError("the collector's survey cannot be read. Tell its owner") from None
        over = isinstance(earlier, list) and link.fingerprint in earlier
        if over and link.fingerprint not in (None, design.fingerprint):
            raise CollectorError(
                "this link was for the first part of the survey, which has ended. Nothing was "
                "sent. Ask the people who sent it for the new link"
            )
        for otherwise, promised, found in promises:
            if promised not in (None, found):
                raise CollectorError(
                    f"the collector {otherwise} than your link promises. Nothing was sent. Ask the "
                    "survey's owner"
                )
        if kind != "none" and link.invitation is None:
            raise UninvitedError(
                "this survey needs an invitation, and the link has none. Use the whole link you "
                "got, between quotes"
            )
        return cls(survey, design, kind, length, key)


def fetch(link: Link, client: Any) -> Asked:
    """Ask a collector for the survey of a link; the client is an `httpx.Client`."""
    httpx = require("httpx", "server")
    try:
        reply = client.get(link.api)
        fields = reply.json() if len(reply.content) < MOST_BYTES else None
    except httpx.HTTPError as error:
        raise CollectorError(
            f"{link.base} cannot be reached ({type(error).__name__}). Check the link, and that the "
            "server runs"
        ) from None
    except (ValueError, RecursionError):
        raise CollectorError(f"{link.base} is no collector: it did not answer in JSON") from None
    if reply.status_code == 404:
        raise CollectorError(
            f"{link.base} has no survey {link.survey}. Check the link, its port too, and that the "
            "server there serves the survey's database"
        )
    if reply.status_code != 200:
        raise CollectorError(said(reply.status_code, fields))
    return Asked.from_dict(fields, link)


def said(status: int, fields: object) -> str:
    """A collector's refusal in its own words, shown safely."""
    words = fields.get("error") if isinstance(fields, Mapping) else None
    text = words if isinstance(words, str) else "it gave no reason"
    shown = "".join(c if c.isprintable() else " " for c in text)[:300]
    return f"the collector refused ({status}): {shown}"


def new_id() -> str:
    """128 random bits by which a collector tells that an answer came twice."""
    return secrets.token_hex(16)


def body(report: Report, invitation: str | None, length: int) -> bytes:
    """An answer as it is sent: JSON, with spaces at the end so that all have one length.

    >>> len(body(Report("15f2", 0, (2,), "00"), None, 128))
    128
    """
    fields = {"report": report.to_dict(), "invitation": invitation}
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    if len(text) > length:
        raise CollectorError("the answer is longer than the collector says answers are")
    return text.ljust(length)


def check_invitation(asked: Asked, link: Link, client: Any) -> None:
    """Ask whether an invitation is good, before any question; one that is signed says so itself."""
    httpx = require("httpx", "server")
    if asked.invitations != "none" and not _INVITATION.fullmatch(link.invitation or ""):
        raise CollectorError("your link is incomplete: copy the whole of it, between quotes")
    if asked.invitations != "required":
        return
    try:
        reply = client.post(f"{link.api}/invitation", json={"invitation": link.invitation})
        fields = reply.json()
    except (httpx.HTTPError, ValueError, RecursionError):
        return  # it does not say; it will when the answer comes
    if reply.status_code in (403, 410):
        raise CollectorError(f"{said(reply.status_code, fields)} No answer was sent")


def hide(asked: Asked, link: Link) -> dict[str, str]:
    """A fresh token for a blind invitation, hidden: what is signed, and what unhides it."""
    from mdrr.server import blind

    key = blind.from_text(asked.blind_key or "")
    prepared = blind.prepare(secrets.token_bytes(blind.TOKEN_BYTES))
    made = blind.blind(prepared, key)
    return {
        "invitation": link.invitation or "",
        "prepared": blind.to_text(prepared),
        "blinded": blind.to_text(made.message),
        "inverse": f"{made.inverse:x}",
    }


def unhide(asked: Asked, hidden: Mapping[str, str], reply: object) -> str:
    """What goes with an answer instead of a blind invitation, from the collector's signature."""
    from mdrr.server import blind

    signature = reply.get("signature") if isinstance(reply, Mapping) else None
    if not isinstance(signature, str):
        raise CollectorError("the collector did not sign the invitation. Tell its owner")
    key, prepared = blind.from_text(asked.blind_key or ""), blind.from_text(hidden["prepared"])
    made = blind.finalize(prepared, blind.from_text(signature), int(hidden["inverse"], 16), key)
    return blind.ticket(prepared, made)
