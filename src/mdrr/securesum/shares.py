"""What the messages of a paper-mode run contain (paper section 4.2, steps 2 to 4).

    share    {"sealed": …}        residues of Z_{n+1}, packed, sealed for (run, sender, recipient)
    commit   {"commitment": …}    SHA-256 of run, sender, a 32-byte nonce and the packed sum
    reveal   {"commitments": …, "nonce": …, "sum": …}   digest of all commitments seen, the opening

Every reader checks what it reads; what it returns can be used as it stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.securesum.keys import SEALED_EXTRA, Identity, Public, seal
from mdrr.securesum.signed import Roster
from mdrr.securesum.wire import FORMAT, Fields, digest, encode64


def share_body(roster: Roster, sender: str, to: Public, share: ring.Vector) -> dict[str, Any]:
    """A share, sealed to its recipient."""
    content = ring.pack(share, roster.modulus)
    return {"sealed": encode64(seal(content, to.sealing, _context(roster, sender, to.id)))}


def read_share(body: dict[str, Any], roster: Roster, sender: str, me: Identity) -> ring.Vector:
    """The share in a message to me: unsigned (cells,), reduced."""
    cells = roster.terms.question.cells
    with Fields(body, "a share") as read:
        sealed = read.data("sealed", cells * ring.width(roster.modulus) + SEALED_EXTRA)
    return ring.unpack(me.unseal(sealed, _context(roster, sender, me.id)), roster.modulus, cells)


def _context(roster: Roster, sender: str, to: str) -> bytes:
    return f"{FORMAT} share\n{roster.digest}\n{sender}\n{to}".encode()


def commitment(roster: Roster, sender: str, nonce: bytes, packed: bytes) -> str:
    """What binds a party to her sum before she has seen the others'."""
    head = f"{FORMAT} commitment\n{roster.digest}\n{sender}\n".encode()
    return hashlib.sha256(head + nonce + packed).hexdigest()


def read_commitment(body: dict[str, Any]) -> str:
    """The commitment in a message."""
    with Fields(body, "a commitment") as read:
        return read.hash("commitment")


def reveal_body(committed: Mapping[str, str], nonce: bytes, packed: bytes) -> dict[str, Any]:
    """The opening of a commitment, bound to all commitments the sender has seen."""
    return {
        "commitments": digest(dict(committed)),
        "nonce": encode64(nonce),
        "sum": encode64(packed),
    }


def read_reveal(
    body: dict[str, Any], roster: Roster, sender: str, committed: str
) -> tuple[ring.Vector, str]:
    """The sum a party opened, and the digest of the commitments that she saw.

    The sum is unsigned (cells,), reduced, and the one she committed to. An error is proved by what
    she signed herself. What she saw is for the caller to compare: others chose what to show her.
    """
    with Fields(body, "a revealed sum") as read:
        seen, nonce, packed = read.hash("commitments"), read.data("nonce", 32), read.data("sum")
    vector = ring.unpack(packed, roster.modulus, roster.terms.question.cells)
    if commitment(roster, sender, nonce, packed) != committed:
        raise ProtocolError("a revealed sum is not the one that was committed to")
    return vector, seen
