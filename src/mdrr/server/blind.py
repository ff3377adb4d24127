"""Blind signatures for invitations: RSABSSA-SHA384-PSS-Randomized of RFC 9474.

    person                                        server
    prepared = prefix ‖ token                     private key d, public key (n, e)
    m = EMSA-PSS(prepared), z = m · r^e mod n  →  z
    s = z' · r⁻¹ mod n                         ←  z' = z^d mod n

The server sees z, which is uniform whatever m is, and later (prepared, s). For every pair of the
two there is one r that joins them, so it cannot tell which belong together, even with its key.
"""

from __future__ import annotations

import base64
import hashlib
import math
import secrets
from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from mdrr.errors import MdrrError

MODULUS_BITS = 2048
"""A key lives as long as its survey is open, and what it protects is that nobody forges a ticket.
Nothing about people depends on it."""
LEAST_BITS, MOST_BITS = 2048, 4096
EXPONENT = 65537
SALT_BYTES = HASH_BYTES = 48
PREFIX_BYTES = TOKEN_BYTES = 32
MASK_BITS = 64
"""By how many random bits a secret exponent is lengthened."""


class BlindError(MdrrError):
    """A key, a blinded message or a signature that cannot be right."""


class FaultError(Exception):
    """The arithmetic went wrong: the machine or the signing key is damaged."""


@dataclass(frozen=True)
class Blinded:
    """What is sent to be signed, and the secret that turns the reply into a signature."""

    message: bytes
    inverse: int = field(repr=False)


# Keys


def new_signing_key(bits: int = MODULUS_BITS) -> bytes:
    """A fresh private key, as PKCS #8 in DER."""
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise BlindError(f"a signing key has {LEAST_BITS} to {MOST_BITS} bits")
    return rsa.generate_private_key(EXPONENT, bits).private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def verifying_key(signing_key: bytes) -> bytes:
    """The public key of a private one, as SubjectPublicKeyInfo in DER."""
    return (
        _private(signing_key)
        .public_key()
        .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def key_hash(key: bytes) -> str:
    """By what a link names a public key: SHA-256 of its text."""
    return hashlib.sha256(to_text(key).encode()).hexdigest()


def _private(key: bytes) -> rsa.RSAPrivateKey:
    # Its primes are not tested again: every signature is checked before it is given away.
    try:
        loaded = serialization.load_der_private_key(key, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BlindError("the signing key cannot be read") from None
    if not isinstance(loaded, rsa.RSAPrivateKey):
        raise BlindError("the signing key is not an RSA key")
    return loaded


@lru_cache(maxsize=256)
def _public(key: bytes) -> tuple[rsa.RSAPublicKey, int]:
    """A public key and its modulus."""
    try:
        loaded = serialization.load_der_public_key(key)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BlindError("the key of blind invitations cannot be read") from None
    if not isinstance(loaded, rsa.RSAPublicKey):
        raise BlindError("the key of blind invitations is not an RSA key")
    if not LEAST_BITS <= loaded.key_size <= MOST_BITS or loaded.public_numbers().e != EXPONENT:
        raise BlindError(
            f"the key of blind invitations needs {LEAST_BITS} to {MOST_BITS} bits "
            f"and the exponent {EXPONENT}"
        )
    return loaded, loaded.public_numbers().n


# The person's side


def prepare(token: bytes, *, prefix: bytes | None = None) -> bytes:
    """A token behind 32 random bytes, so that a dishonest key cannot tell tokens apart."""
    return (secrets.token_bytes(PREFIX_BYTES) if prefix is None else prefix) + token


def encode(message: bytes, bits: int, salt: bytes) -> bytes:
    """EMSA-PSS-ENCODE of RFC 8017, section 9.1.1, with SHA-384 and MGF1."""
    length = -(-bits // 8)
    room = length - HASH_BYTES - 1
    if room < len(salt) + 1:
        raise BlindError("the key is too short for SHA-384 and its salt")
    digest = _sha384(bytes(8) + _sha384(message) + salt)
    block = int.from_bytes(b"\x01" + salt) ^ int.from_bytes(_mask(digest, room))
    block &= (1 << (bits - 8 * (HASH_BYTES + 1))) - 1
    return block.to_bytes(room) + digest + b"\xbc"


def _sha384(text: bytes) -> bytes:
    return hashlib.sha384(text).digest()


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 of RFC 8017, appendix B.2.1."""
    blocks = (_sha384(seed + i.to_bytes(4)) for i in range(-(-length // HASH_BYTES)))
    return b"".join(blocks)[:length]


def blind(
    prepared: bytes, key: bytes, *, salt: bytes | None = None, factor: int | None = None
) -> Blinded:
    """Hide a prepared token (`Blind`, section 4.2).

    Arguments:
        prepared: from `prepare`.
        key: the public key.
        salt: 48 random bytes by default; tests give it.
        factor: r, uniform in 1 … n − 1 by default; tests give it.
    """
    _, n = _public(key)
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    m = int.from_bytes(encode(prepared, n.bit_length() - 1, salt))
    r = 1 + secrets.randbelow(n - 1) if factor is None else factor
    if math.gcd(m, n) != 1 or math.gcd(r, n) != 1:
        raise BlindError("the key of blind invitations has a small factor; do not use it")
    z = m * pow(r, EXPONENT, n) % n
    return Blinded(z.to_bytes(_length(n)), pow(r, -1, n))


def finalize(prepared: bytes, reply: bytes, inverse: int, key: bytes) -> bytes:
    """The signature of a prepared token from the server's reply (`Finalize`, section 4.4)."""
    _, n = _public(key)
    if len(reply) != _length(n):
        raise BlindError("the signature that came back has the wrong length")
    signature = (int.from_bytes(reply) * inverse % n).to_bytes(_length(n))
    if not verify(prepared, signature, key):
        raise BlindError("the signature that came back is not valid; tell the survey's owner")
    return signature


# The server's side


def blind_sign(blinded: bytes, signing_key: bytes) -> bytes:
    """Sign what is hidden (`BlindSign`, section 4.3).

    Python's arithmetic does not take constant time. So the base is multiplied by a fresh random
    number and the exponents are lengthened by fresh random multiples of p − 1 and q − 1: how long
    it takes depends on numbers that nobody chose. The result is checked before it is given away,
    since a faulty one would reveal the key.
    """
    numbers = _private(signing_key).private_numbers()
    n, e = numbers.public_numbers.n, numbers.public_numbers.e
    z = _representative(blinded, n)
    r = 1 + secrets.randbelow(n - 1)
    base = z * pow(r, e, n) % n
    at_p, at_q = (
        pow(base, exponent + (prime - 1) * secrets.randbits(MASK_BITS), prime)
        for prime, exponent in ((numbers.p, numbers.dmp1), (numbers.q, numbers.dmq1))
    )
    s = at_q + numbers.q * ((at_p - at_q) * numbers.iqmp % numbers.p)
    s = s * pow(r, -1, n) % n
    if pow(s, e, n) != z:
        raise FaultError("signing failed; try again")
    return s.to_bytes(_length(n))


def check_blinded(blinded: bytes, key: bytes) -> None:
    """An error if this cannot be signed."""
    _representative(blinded, _public(key)[1])


def _representative(blinded: bytes, n: int) -> int:
    if len(blinded) != _length(n) or (z := int.from_bytes(blinded)) >= n:
        raise BlindError(f"the blinded message is not a number of {_length(n)} bytes below n")
    return z


def verify(prepared: bytes, signature: bytes, key: bytes) -> bool:
    """Whether a signature of a prepared token is right: RSASSA-PSS with SHA-384."""
    scheme = padding.PSS(padding.MGF1(hashes.SHA384()), SALT_BYTES)
    try:
        _public(key)[0].verify(signature, prepared, scheme, hashes.SHA384())
    except InvalidSignature:
        return False
    return True


def _length(n: int) -> int:
    return -(-n.bit_length() // 8)


# What goes with an answer


def to_text(value: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def from_text(text: str) -> bytes:
    """The bytes of base64url without padding; an error if they would be written otherwise."""
    try:
        value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        value = b""
    if to_text(value) != text:
        raise BlindError("a text is not base64url without padding")
    return value


def ticket(prepared: bytes, signature: bytes) -> str:
    """A signed token as it goes with an answer."""
    return f"{to_text(prepared)}.{to_text(signature)}"


def ticket_hash(text: str, key: bytes) -> bytes | None:
    """What is kept of a signed token, or None if its signature is not right.

    It is the hash of the token alone. The signature could be written in two ways, and a token must
    not be spent twice.
    """
    try:
        prepared, signature = map(from_text, text.split(".", 1))
    except ValueError:  # BlindError among them, and a text without a dot
        return None
    if len(prepared) != PREFIX_BYTES + TOKEN_BYTES or not verify(prepared, signature, key):
        return None
    return hashlib.sha256(prepared).digest()
