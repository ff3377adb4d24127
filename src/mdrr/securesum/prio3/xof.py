"""XofTurboShake128 of the draft (section 6.2): seeds to bytes, and bytes to uniform numbers.

The stream is TurboSHAKE128, domain byte 1, of: the length of the tag in two bytes, the tag, the
length of the seed in one byte, the seed, the binder. A number is read little-endian, cut to the
bits of the prime, and dropped if it is not below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mdrr.columns import require
from mdrr.errors import ProtocolError
from mdrr.securesum.prio3.field import Elements, Field, Octets

SEED = 32
"""Bytes of a seed."""
_TAG_LIMIT = 2**16


def stream(seed: bytes, tag: bytes, binder: bytes) -> Any:
    """The stream of one seed; `read(count)` gives its next bytes."""
    if len(tag) >= _TAG_LIMIT:
        raise ProtocolError(f"a tag of {len(tag)} bytes: it must be below {_TAG_LIMIT}")
    head = len(tag).to_bytes(2, "little") + tag + len(seed).to_bytes(1, "little")
    turboshake = require("Crypto.Hash.TurboSHAKE128", "server")
    return turboshake.new(domain=1, data=head + seed + binder)


def derive(seeds: Octets, tag: bytes, binders: Sequence[bytes]) -> Octets:
    """One new seed for each seed and binder: uint8 (n, 32)."""
    out = np.empty((len(binders), SEED), np.uint8)
    for row, seed, binder in zip(out, seeds, binders, strict=True):
        row[:] = np.frombuffer(stream(seed.tobytes(), tag, binder).read(SEED), np.uint8)
    return out


def expand(
    field: Field, seeds: Octets, tag: bytes, binders: Sequence[bytes], length: int
) -> Elements:
    """`length` uniform numbers for each seed and binder.

    Arguments:
        field: where the numbers lie.
        seeds: uint8 (n, 32).
        tag: what the numbers are for.
        binders: what they are bound to, one per seed.
        length: how many.

    Returns:
        uint64 (n, length, 2).
    """
    octets = np.empty((len(binders), length * field.size), np.uint8)
    for row, seed, binder in zip(octets, seeds, binders, strict=True):
        drawn = stream(seed.tobytes(), tag, binder).read(octets.shape[1])
        row[:] = np.frombuffer(drawn, np.uint8)
    mask = 2 ** field.modulus.bit_length() - 1
    numbers = field.unpack(octets) & np.array([mask % 2**64, mask >> 64], np.uint64)
    for i in np.flatnonzero(~field.is_reduced(numbers).all(axis=1)).tolist():
        again = stream(seeds[i].tobytes(), tag, binders[i])
        numbers[i] = field.elements(_one_by_one(field, again, mask, length))
    return numbers


def _one_by_one(field: Field, again: Any, mask: int, length: int) -> list[int]:
    """The same numbers where some draws are dropped and later ones move up."""
    kept: list[int] = []
    while len(kept) < length:
        drawn = int.from_bytes(again.read(field.size), "little") & mask
        if drawn < field.modulus:
            kept.append(drawn)
    return kept
