"""Relays that misbehave, by name: each changes what the relay hands out.

The relay is trusted with nothing, so all of these are within the threat model.
"""

import json
import random
from collections.abc import Callable, Iterable
from typing import Any

Meddler = Callable[[bytes, str], Iterable[bytes]]


def drop(kind: str, sender: str) -> Meddler:
    """Nobody gets that message of that sender."""

    def meddle(data: bytes, to: str) -> Iterable[bytes]:
        return [] if _is(data, kind, sender) else [data]

    return meddle


def withhold(kind: str, sender: str, victim: str) -> Meddler:
    """One member does not get that message."""

    def meddle(data: bytes, to: str) -> Iterable[bytes]:
        return [] if _is(data, kind, sender) and to == victim else [data]

    return meddle


def tamper(kind: str, sender: str, victim: str) -> Meddler:
    """One member gets it with one character of its content changed."""

    def meddle(data: bytes, to: str) -> Iterable[bytes]:
        if not _is(data, kind, sender) or to != victim:
            return [data]
        fields = json.loads(data)
        fields["body"] = _spoil(fields["body"])
        return [json.dumps(fields).encode()]

    return meddle


def replay(kind: str, old: list[bytes]) -> Meddler:
    """Before each message of a kind, all messages of an earlier run, and this one twice."""

    def meddle(data: bytes, to: str) -> Iterable[bytes]:
        return [*old, data, data] if json.loads(data)["kind"] == kind else [data]

    return meddle


def reorder(kind: str, seed: int = 1) -> Meddler:
    """Messages of a kind are held back and come later, in another order."""
    held: dict[str, list[bytes]] = {}
    rng = random.Random(seed)

    def meddle(data: bytes, to: str) -> Iterable[bytes]:
        waiting = held.setdefault(to, [])
        if json.loads(data)["kind"] == kind and len(waiting) < 2:
            waiting.append(data)
            return []
        out = [data, *waiting]
        waiting.clear()
        rng.shuffle(out)
        return out

    return meddle


def swap(kind: str, victim: str, instead: bytes) -> Meddler:
    """One member is shown another list of participants."""

    def meddle(data: bytes, to: str) -> Iterable[bytes]:
        return [instead] if json.loads(data)["kind"] == kind and to == victim else [data]

    return meddle


def _is(data: bytes, kind: str, sender: str) -> bool:
    fields = json.loads(data)
    return bool(fields["kind"] == kind and fields["from"] == sender)


def _spoil(body: dict[str, Any]) -> dict[str, Any]:
    for name, value in body.items():
        if isinstance(value, str) and value:
            return {**body, name: ("B" if value[0] != "B" else "C") + value[1:]}
    return {**body, "extra": 1}
