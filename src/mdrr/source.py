"""Where randomness comes from: the system's CSPRNG, or a stated seed for tests and simulation.

A source gives bytes. Everything that is sampled for a respondent is computed from those bytes by
integer arithmetic alone, so the same bytes give the same report in every implementation.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Protocol

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from mdrr.errors import MdrrError

_DIRECT = 4096
_ZEROS = memoryview(bytes(1 << 22))


class Source(Protocol):
    """Anything that gives uniform random bytes."""

    def read(self, count: int, /) -> bytes:
        """The next `count` bytes."""
        ...


def _keystream(key: bytes) -> CipherContext:
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


def _zeros(count: int) -> bytes | memoryview:
    """What is encrypted. Memory that is there costs less than fresh memory does."""
    return _ZEROS[:count] if count <= len(_ZEROS) else bytes(count)


class Keystream:
    """AES-256 in counter mode under a key: as many bytes as are wanted, one after the other.

    It is the counter mode inside GCM, which begins at 2: OpenSSL's is faster than the plain one.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.GCM(bytes(12))).encryptor()

    def fill(self, room: Any, /) -> None:
        """Put the next bytes into a `bytearray` or an array of bytes."""
        self._cipher.update_into(_zeros(len(room)), room)


class SystemSource:
    """The system's CSPRNG; large requests expand a fresh 256-bit system key with AES-CTR."""

    def read(self, count: int, /) -> bytes:
        """The next `count` bytes."""
        room = bytearray(count)
        self.fill(room)
        return bytes(room)

    def fill(self, room: Any, /) -> None:
        """Fill bytes that are there, a `bytearray` or an array: large ones under a key each."""
        if len(room) <= _DIRECT:
            memoryview(room)[:] = os.urandom(len(room))
        else:
            self.stream().fill(room)

    def stream(self) -> Keystream:
        """Bytes under a fresh key, for work that takes many of them in turn."""
        return Keystream(os.urandom(32))

    def __repr__(self) -> str:
        return "SystemSource()"


class SeededSource:
    """A reproducible stream, for tests and simulation: who knows the seed can undo the noise.

    The stream is AES-256-CTR under SHA-256 of the seed, and does not depend on how it is cut.

    Example:
        >>> a, b = SeededSource(7), SeededSource(7)
        >>> a.read(2) + a.read(3) == b.read(5)
        True
    """

    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        self._stream = _keystream(hashlib.sha256(f"mdrr seed {seed}".encode()).digest())

    def read(self, count: int, /) -> bytes:
        """The next `count` bytes of the stream."""
        return self._stream.update(_zeros(count))

    def __repr__(self) -> str:
        return f"SeededSource({self.seed!r})  # simulation only"


class BytesSource:
    """Given bytes, once: what the test vectors feed to every implementation."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def read(self, count: int, /) -> bytes:
        """The next `count` of the given bytes, or an error when they run out."""
        if count > len(self._data):
            raise MdrrError(f"{count} random bytes are needed, {len(self._data)} are left")
        head, self._data = self._data[:count], self._data[count:]
        return bytes(head)
