"""The bytes on the wire: canonical JSON, and strict reading of what others sent.

Canonical means sorted keys, no spaces, ASCII: what is hashed and signed has one spelling. Reading
checks every field's type and refuses fields it does not know, so a message that was read is a
message that could have been written.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from mdrr.errors import ProtocolError

FORMAT = "mdrr securesum/1"
"""Name and version of the format; every message says it, and it is part of everything signed."""

_HEX = re.compile(r"[0-9a-f]{64}\Z")


def canonical(value: Any) -> bytes:
    r"""The one spelling of a JSON value.

    >>> canonical({"b": 1, "a": ["é"]})
    b'{"a":["\\u00e9"],"b":1}'
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError:  # the reader allows a little more depth than the writer
        raise ProtocolError("a message is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"a message must be plain JSON: {error}") from None
    return text.encode("ascii")


def digest(value: Any) -> str:
    """SHA-256 of the canonical spelling, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def parse(data: bytes | str) -> dict[str, Any]:
    """A JSON object, with no key given twice and no number that is not finite."""
    try:
        value = json.loads(data, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ProtocolError):
            raise
        raise ProtocolError("a message is not JSON") from None
    if not isinstance(value, dict):
        raise ProtocolError("a message is a JSON object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ProtocolError("a message gives one key twice")
    return fields


def _constant(name: str) -> NoReturn:
    raise ProtocolError(f"a message contains {name}")


def encode64(data: bytes) -> str:
    """Base64 text."""
    return base64.b64encode(data).decode("ascii")


class Fields:
    r"""The fields of an object someone else wrote, each read once with its type.

    Example:
        >>> with Fields({"n": 3, "key": "AAE="}, "a roster") as read:  # what is left is refused
        ...     read.integer("n", 1, 10), read.data("key", 2)
        (3, b'\x00\x01')
    """

    def __init__(self, fields: Mapping[str, Any], what: str) -> None:
        if not isinstance(fields, Mapping):
            raise ProtocolError(f"{what} must be a JSON object")
        self._fields = dict(fields)
        self._what = what

    def __enter__(self) -> Fields:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            self.finish()

    def _take(self, name: str) -> Any:
        try:
            return self._fields.pop(name)
        except KeyError:
            raise ProtocolError(f"{self._what} has no {name!r}") from None

    def _wrong(self, name: str, wanted: str) -> NoReturn:
        raise ProtocolError(f"{name!r} of {self._what} must be {wanted}")

    def text(self, name: str, limit: int = 1000) -> str:
        """A text of at most `limit` characters."""
        value = self._take(name)
        if not isinstance(value, str) or len(value) > limit:
            self._wrong(name, f"text of at most {limit} characters")
        return value

    def hash(self, name: str) -> str:
        """A SHA-256 digest in lower-case hex."""
        value = self._take(name)
        if not isinstance(value, str) or not _HEX.match(value):
            self._wrong(name, "64 lower-case hex digits")
        return value

    def optional_hash(self, name: str) -> str | None:
        """A digest, or null."""
        if self._fields.get(name, "") is None:
            self._take(name)
            return None
        return self.hash(name)

    def integer(self, name: str, low: int, high: int) -> int:
        """An integer between two bounds, both allowed."""
        value = self._take(name)
        if type(value) is not int or not low <= value <= high:
            self._wrong(name, f"an integer from {low} to {high}")
        return int(value)

    def data(self, name: str, size: int | None = None) -> bytes:
        """Bytes in base64, of an exact size if one is given."""
        value = self._take(name)
        try:
            raw = base64.b64decode(value, validate=True) if isinstance(value, str) else None
        except (binascii.Error, ValueError):
            raw = None
        if raw is None or encode64(raw) != value or (size is not None and len(raw) != size):
            self._wrong(name, "base64" if size is None else f"{size} bytes in base64")
        return raw

    def array(self, name: str, limit: int) -> list[Any]:
        """A list of at most `limit` values."""
        value = self._take(name)
        if not isinstance(value, list) or len(value) > limit:
            self._wrong(name, f"a list of at most {limit}")
        return value

    def hashes(self, name: str, limit: int) -> tuple[str, ...]:
        """A list of digests."""
        values = self.array(name, limit)
        if not all(isinstance(value, str) and _HEX.match(value) for value in values):
            self._wrong(name, "a list of digests")
        return tuple(values)

    def mapping(self, name: str) -> dict[str, Any]:
        """A JSON object."""
        value = self._take(name)
        if not isinstance(value, dict):
            self._wrong(name, "a JSON object")
        return value

    def finish(self) -> None:
        """Refuse whatever was not read."""
        if self._fields:
            raise ProtocolError(f"{self._what} has an unknown field {min(self._fields)!r}")
