"""The one envelope of every step: who says what to whom in which run, signed.

    {"format": "mdrr securesum/1", "kind": …, "run": …, "from": …, "to": … | null,
     "body": {…}, "signature": …}

The signature is over the canonical spelling of all other fields, so a message cannot be moved to
another run, step, sender or recipient. A run that cannot end in a total ends in an *abort*: the
protocol of paper section 4.2 has no tolerance for absence, since with one share missing the totals
are noise. So a run stops at the first thing amiss, says at which step, and opens nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.keys import SIGNATURE_BYTES, Identity, check_signature, name_of
from mdrr.securesum.wire import FORMAT, Fields, canonical, encode64, parse

KINDS = (
    *("terms", "join", "roster", "accept", "share", "commit", "reveal"),  # the paper's mode
    *("offer", "batch", "fetch", "key", "job", "verify", "ready", "result"),  # aggregators
    "abort",
)
"""Every kind of message, in the order in which a run uses them."""


@dataclass(frozen=True, slots=True)
class Message:
    """A signed message.

    Arguments:
        kind: one of `KINDS`.
        run: digest of what the run is bound to (its terms, its roster or its batch).
        sender: id of the signer.
        to: id of the only recipient, or None for everybody.
        body: what the kind says; JSON-ready.
        signature: Ed25519, 64 bytes.
    """

    kind: str
    run: str
    sender: str
    to: str | None
    body: dict[str, Any]
    signature: bytes
    _canonical: bytes = field(default=b"", repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ProtocolError(f"a message of unknown kind {self.kind!r}. Known: {KINDS}")
        if len(self.signature) != SIGNATURE_BYTES:
            raise ProtocolError(f"a signature has {SIGNATURE_BYTES} bytes")
        # What is signed is spelt out once: shares are long, and every step needs the spelling.
        object.__setattr__(self, "_canonical", self._canonical or canonical(self.content))

    @property
    def content(self) -> dict[str, Any]:
        """Everything but the signature."""
        return _content(self.kind, self.run, self.sender, self.to, self.body)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self._canonical).hexdigest()

    def signed_by(self, signing: bytes) -> bool:
        """Whether the sender is the owner of this key and signed the content."""
        return name_of(signing) == self.sender and check_signature(
            signing, self._canonical, self.signature
        )

    def to_json(self) -> bytes:
        """The message as it travels: its canonical spelling, the signature in its place."""
        head, _, to = self._canonical.rpartition(b',"to":')  # the last key; its value has no comma
        return b'%b,"signature":"%b","to":%b' % (head, encode64(self.signature).encode(), to)

    @classmethod
    def from_json(cls, data: bytes | str) -> Message:
        """The message in the given bytes, validated; its signature is checked by `signed_by`."""
        with Fields(parse(data), "a message") as read:
            if (form := read.text("format")) != FORMAT:
                raise ProtocolError(f"a message of format {form!r}; this version speaks {FORMAT!r}")
            return cls(
                kind=read.text("kind"),
                run=read.hash("run"),
                sender=read.hash("from"),
                to=read.optional_hash("to"),
                body=read.mapping("body"),
                signature=read.data("signature", SIGNATURE_BYTES),
            )


def _content(
    kind: str, run: str, sender: str, to: str | None, body: dict[str, Any]
) -> dict[str, Any]:
    return {"format": FORMAT, "kind": kind, "run": run, "from": sender, "to": to, "body": body}


def write(
    identity: Identity, kind: str, run: str, body: dict[str, Any], to: str | None = None
) -> Message:
    """A message signed by its sender.

    Arguments:
        identity: who signs.
        kind: one of `KINDS`.
        run: digest of the terms, roster or batch it belongs to.
        body: what it says.
        to: the only recipient, or None.

    Returns:
        The message.

    Example:
        >>> from mdrr.source import SeededSource
        >>> me = Identity.generate(SeededSource(1))
        >>> said = write(me, "accept", "0" * 64, {})
        >>> said.signed_by(me.public.signing), Message.from_json(said.to_json()) == said
        (True, True)
    """
    spelt = canonical(_content(kind, run, identity.id, to, body))
    return Message(kind, run, identity.id, to, body, identity.sign(spelt), spelt)


class StoppedError(AbortedError):
    """An abort as it is raised.

    Arguments:
        abort: what happened.
    """

    def __init__(self, abort: Abort) -> None:
        super().__init__(str(abort))
        self.abort = abort


@dataclass(frozen=True, slots=True)
class Abort:
    """Why a run stopped.

    Arguments:
        step: the step during which it stopped.
        reason: in words; never contains an answer or a share.
        who: ids of those who were missing or misbehaved, if that is known.
        by: id of the member who says so, if it is another one; it does not travel.
    """

    step: str
    reason: str
    who: tuple[str, ...] = ()
    by: str = ""

    def __str__(self) -> str:
        names = ", ".join(name[:12] for name in self.who[:5])
        more = f" and {len(self.who) - 5} more" if len(self.who) > 5 else ""
        told = f"; so says {self.by[:12]}, who ended the run" if self.by else ""
        return f"stopped at step '{self.step}': {self.reason}" + (
            f" ({names}{more}){told}" if names else told
        )

    @property
    def error(self) -> StoppedError:
        """The same as an exception."""
        return StoppedError(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {"step": self.step, "reason": self.reason[:1000], "who": list(self.who)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Abort:
        """The abort described by `to_dict`, validated again."""
        with Fields(fields, "an abort") as read:
            return cls(read.text("step", 40), read.text("reason"), read.hashes("who", 100_000))
