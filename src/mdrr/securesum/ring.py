"""Residues: the shares of a secure sum (paper section 4.2, steps 1 and 3).

The paper's protocol counts modulo n+1, the smallest modulus that holds every count 0..n. Shares
must be uniform there, so bytes beyond the last full multiple of n+1 are rejected (a plain remainder
would favour small residues), and they are reduced before anything is broadcast.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.source import Source

Vector: TypeAlias = npt.NDArray[np.unsignedinteger]


def width(modulus: int) -> int:
    """The bytes a residue takes: 1, 2 or 4, the fewest that hold every residue.

    >>> width(101), width(257), width(70_000)
    (1, 2, 4)
    """
    for size in (1, 2, 4):
        if 2 <= modulus <= 256**size:
            return size
    raise ProtocolError(f"the modulus {modulus} is not between 2 and 2^32")


def uniform(source: Source, modulus: int, count: int) -> Vector:
    """`count` residues, each exactly uniform on 0..modulus−1, by rejection.

    A draw u of w bytes is kept when u < ⌊256^w / q⌋·q, and then u mod q is uniform. At least half
    of all draws are kept.

    Arguments:
        source: where the bytes come from.
        modulus: q, at least 2.
        count: how many residues.

    Returns:
        unsigned (count,), in the narrowest type that holds q−1.

    Example:
        >>> from mdrr.source import BytesSource
        >>> uniform(BytesSource(bytes([7, 255, 100])), 101, 2)  # 255 is beyond 2·101: rejected
        array([  7, 100], dtype=uint8)
    """
    size = width(modulus)
    dtype = np.dtype(f"<u{size}")
    limit = (256**size // modulus) * modulus
    kept = np.empty(0, dtype)
    while len(kept) < count:
        draws = np.frombuffer(source.read(size * (count - len(kept))), dtype)
        kept = np.concatenate([kept, draws[draws < limit]])
    return kept if modulus == 256**size else kept % dtype.type(modulus)


def zero_shares(source: Source, parties: int, cells: int) -> Vector:
    """Step 1: vectors r_1..r_n on Z_{n+1} that sum to zero, any n−1 of them uniform.

    Arguments:
        source: where the bytes come from.
        parties: n.
        cells: how many counts are summed at once.

    Returns:
        unsigned (n, cells); row j goes to party j.

    Example:
        >>> from mdrr.source import SeededSource
        >>> shares = zero_shares(SeededSource(1), parties=5, cells=4)
        >>> shares.sum(axis=0) % 6
        array([0, 0, 0, 0], dtype=uint64)
    """
    modulus = parties + 1
    free = uniform(source, modulus, (parties - 1) * cells).reshape(parties - 1, cells)
    last = (modulus - free.sum(axis=0, dtype=np.uint64) % modulus) % modulus
    return np.vstack([free, last.astype(free.dtype)])


def add(vectors: Vector, modulus: int) -> Vector:
    """The sum of the rows, reduced: unsigned (k, cells) to (cells,), every entry below the modulus.

    >>> add(np.array([[3, 5], [4, 0]], np.uint8), 6)
    array([1, 5], dtype=uint8)
    """
    total = vectors.sum(axis=0, dtype=np.uint64) % np.uint64(modulus)
    reduced: Vector = total.astype(f"<u{width(modulus)}")
    return reduced


def pack(vector: Vector, modulus: int) -> bytes:
    """Little-endian residues, each in `width(modulus)` bytes."""
    return vector.astype(f"<u{width(modulus)}").tobytes()


def unpack(data: bytes, modulus: int, cells: int) -> Vector:
    r"""The residues packed in `data`, or an error when their number or a value is wrong.

    >>> unpack(b"\x01\x05", 6, 2)
    array([1, 5], dtype=uint8)
    """
    size = width(modulus)
    if len(data) != size * cells:
        raise ProtocolError(
            f"a vector of {cells} residues takes {size * cells} bytes, these are {len(data)}"
        )
    vector = np.frombuffer(data, f"<u{size}")
    if bool((vector >= modulus).any()):
        raise ProtocolError(f"a residue is not below {modulus}: it was not reduced before sending")
    return vector
