"""A survey as the database holds it, with its phases; and the tokens that open something of it."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import urlencode

from mdrr.design import Design
from mdrr.frozen import FrozenSurvey
from mdrr.server.blind import key_hash
from mdrr.server.schema import StoreError

TOKEN_BYTES = 32
"""Random bytes of a token, an owner's or an invitation."""
INVITATION_CHARACTERS = {"none": 0, "required": 43, "blind": 800}
"""How long an invitation in an answer can be."""


def token_hash(token: str) -> bytes:
    """What is kept of a token: its SHA-256."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def new_token() -> str:
    """A fresh token of 256 bits, 43 characters."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_tokens(count: int) -> list[str]:
    """Fresh tokens for so many invitations."""
    if not 1 <= count <= 1_000_000:
        raise StoreError("make between 1 and 1,000,000 invitations at once")
    return [new_token() for _ in range(count)]


@lru_cache(1000)
def answer_bytes(design: Design, invitations: str) -> int:
    """The length of every answer under a design: the longest possible, up to a multiple of 64."""
    longest = max(
        len(
            json.dumps(
                {
                    "report": {
                        "design": design.fingerprint,
                        "questionnaire": q,
                        "codes": [size - 1 for size in sizes],
                        "id": "0" * 32,
                    },
                    "invitation": "x" * max(INVITATION_CHARACTERS[invitations], 2),
                }
            )
        )
        for q, sizes in enumerate(design.outcomes)
    )
    return -(-longest // 64) * 64


@dataclass(frozen=True)
class Phase:
    """One phase of a survey: its number, its design, and its key in the database."""

    key: int
    number: int
    design: Design


@dataclass(frozen=True)
class Held:
    """A survey as the database holds it."""

    id: str
    frozen: FrozenSurvey
    state: str
    number: int
    invitations: str
    owner: bytes
    most: int
    open_data: bool
    results: str | None
    blind_key: bytes | None
    phases: tuple[Phase, ...]

    def phase(self, number: int | None = None) -> Phase:
        """A phase by its number; the one that is asked now by default."""
        for phase in self.phases:
            if phase.number == (self.number if number is None else number):
                return phase
        raise StoreError(f"survey {self.id} has no phase {number}; it has {len(self.phases)}")

    def begun(self, number: int | None = None) -> tuple[Phase, ...]:
        """What to estimate from: one phase by its number, or by default all that were begun."""
        return self.phases[: self.number] if number is None else (self.phase(number),)

    def link(self, invitation: str | None = None) -> str:
        """A person's link under the server's address: after # it says what she was promised."""
        said = {"design": self.phase().design.fingerprint, "words": self.frozen.words}
        if self.blind_key is not None:
            said["key"] = key_hash(self.blind_key)
        if invitation is not None:
            said["invitation"] = invitation
        return f"s/{self.id}#{urlencode(said)}"

    @cached_property
    def by_fingerprint(self) -> dict[str, Phase]:
        """The phases by the fingerprints of their designs."""
        return {phase.design.fingerprint: phase for phase in self.phases}

    @cached_property
    def lengths(self) -> dict[str, int]:
        """How long an answer to each phase is, by the fingerprint of its design."""
        return {
            mark: answer_bytes(phase.design, self.invitations)
            for mark, phase in self.by_fingerprint.items()
        }


def finite(value: float) -> float | None:
    """A number as JSON can hold it: None for one that is not finite."""
    return float(value) if math.isfinite(value) else None
