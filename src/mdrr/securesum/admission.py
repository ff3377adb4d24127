"""Who may report: single-use invitations, and what each reader of a report can check of them.

An invitation is a token of 256 bits, drawn as the collector draws its own. From it follow several
credentials that tell nothing of each other: one for the relay, so that strangers cannot fill its
disk, and one for each aggregator, which travels inside that aggregator's sealed share. So neither
the relay nor all other aggregators together can invent a person for an honest one. Everybody holds
a *roll*, the hashes of the credentials shown to it, and every credential counts once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mdrr.errors import ProtocolError
from mdrr.securesum.wire import FORMAT

CREDENTIAL = 32
"""Bytes of a credential, and of its hash on a roll."""
RELAY = "relay"
"""The reader that is no aggregator; the others are named by their ids."""

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}\Z")


def credential(token: str, reader: str) -> bytes:
    """What an invitation shows to one reader, 32 bytes.

    Arguments:
        token: the invitation, 43 characters.
        reader: `RELAY`, or the id of an aggregator.

    Example:
        >>> token = "A" * 43
        >>> credential(token, RELAY) == credential(token, "0" * 64)
        False
    """
    if not _TOKEN.match(token):
        raise ProtocolError(
            "this is not an invitation, which has 43 letters, digits, '-' and '_'. Copy it whole"
        )
    info = f"{FORMAT} invitation\n{reader}".encode()
    return HKDF(SHA256(), CREDENTIAL, salt=None, info=info).derive(token.encode())


def hashed(shown: bytes) -> bytes:
    """A credential as it stands on a roll."""
    return hashlib.sha256(shown).digest()


def make_roll(tokens: Iterable[str], reader: str) -> bytes:
    """The hashes of all credentials for one reader, sorted, so that their order tells nothing."""
    return b"".join(sorted(hashed(credential(token, reader)) for token in tokens))


def read_roll(data: bytes, digest: str) -> frozenset[bytes]:
    """The hashes on a roll, if it is the one of that SHA-256."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise ProtocolError("this roll is not the one that the organiser signed")
    return frozenset(data[at : at + CREDENTIAL] for at in range(0, len(data), CREDENTIAL))
