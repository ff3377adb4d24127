"""Who speaks and who can read: Ed25519 signatures (RFC 8032) and HPKE envelopes (RFC 9180).

All primitives are those of the `cryptography` package. Sealing is HPKE in base mode with
DHKEM(X25519, HKDF-SHA-256) and ChaCha20-Poly1305. Its fresh key per envelope comes from the
library, which takes it from the system; all other randomness of the protocols is an argument.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from mdrr.errors import ProtocolError
from mdrr.securesum.wire import Fields, encode64
from mdrr.source import Source

KEY_BYTES = 32
SIGNATURE_BYTES = 64
SEALED_EXTRA = 48
"""How much longer an envelope is than its content: 32 bytes of key, 16 of authentication."""

_PRIME = 2**255 - 19
_WEAK = frozenset(
    (
        *(0, 1, _PRIME - 1, _PRIME, _PRIME + 1),
        325606250916557431795983626356110631294008115727848805560023387167927233504,
        39382357235489614581723060781553021112529911719440698176882885853963445705823,
    )
)
"""X25519 keys of small order (RFC 7748 section 6.1): nothing can be sealed to them."""

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


@dataclass(frozen=True, slots=True)
class Public:
    """What others know of a member: a key to check signatures, a key to seal to, an operator.

    Arguments:
        signing: Ed25519 public key, 32 bytes.
        sealing: X25519 public key, 32 bytes.
        operator: who runs it; matters for aggregators only.
    """

    signing: bytes
    sealing: bytes
    operator: str = ""

    def __post_init__(self) -> None:
        if len(self.signing) != KEY_BYTES or len(self.sealing) != KEY_BYTES:
            raise ProtocolError(f"a public key has {KEY_BYTES} bytes")
        if not isinstance(self.operator, str) or len(self.operator) > 200:
            raise ProtocolError("an operator's name is text of at most 200 characters")
        if int.from_bytes(self.sealing, "little") % 2**255 in _WEAK:
            raise ProtocolError("nothing can be sealed to this sealing key: its order is small")

    @property
    def id(self) -> str:
        """SHA-256 of the signing key: the name of its owner in every message."""
        return name_of(self.signing)

    def to_dict(self) -> dict[str, str]:
        """JSON-ready values."""
        return {
            "signing": encode64(self.signing),
            "sealing": encode64(self.sealing),
            "operator": self.operator,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, object]) -> Public:
        """The keys described by `to_dict`, validated again."""
        with Fields(fields, "a member") as read:
            signing, sealing = read.data("signing", KEY_BYTES), read.data("sealing", KEY_BYTES)
            return cls(signing, sealing, read.text("operator", 200))


@dataclass(frozen=True, slots=True)
class Identity:
    """A member's own keys; the secrets never show in its repr.

    Example:
        >>> from mdrr.source import SeededSource
        >>> me = Identity.generate(SeededSource(1))
        >>> check_signature(me.public.signing, b"hello", me.sign(b"hello"))
        True
    """

    signing_secret: bytes = field(repr=False)
    sealing_secret: bytes = field(repr=False)
    operator: str = ""
    public: Public = field(init=False)
    _signer: Ed25519PrivateKey = field(init=False, repr=False, compare=False)
    _opener: X25519PrivateKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.signing_secret) != KEY_BYTES or len(self.sealing_secret) != KEY_BYTES:
            raise ProtocolError(f"a secret key has {KEY_BYTES} bytes")
        signer = Ed25519PrivateKey.from_private_bytes(self.signing_secret)
        opener = X25519PrivateKey.from_private_bytes(self.sealing_secret)
        object.__setattr__(self, "_signer", signer)
        object.__setattr__(self, "_opener", opener)
        public = Public(
            signer.public_key().public_bytes_raw(),
            opener.public_key().public_bytes_raw(),
            self.operator,
        )
        object.__setattr__(self, "public", public)

    @classmethod
    def generate(cls, source: Source, operator: str = "") -> Identity:
        """Fresh keys from 64 bytes of the source."""
        return cls(source.read(KEY_BYTES), source.read(KEY_BYTES), operator)

    @property
    def id(self) -> str:
        """The name others know the owner by."""
        return self.public.id

    def sign(self, data: bytes) -> bytes:
        """An Ed25519 signature, 64 bytes."""
        return self._signer.sign(data)

    def unseal(self, sealed: bytes, context: bytes) -> bytes:
        """The content of an envelope sealed to this identity for this context, or an error."""
        try:
            return _SUITE.decrypt(sealed, self._opener, context)
        except (InvalidTag, ValueError):
            raise ProtocolError(
                "an envelope does not open: it was sealed to another key or for another purpose, "
                "or it was changed on its way"
            ) from None


def name_of(signing: bytes) -> str:
    """SHA-256 of a signing key, in hex."""
    return hashlib.sha256(signing).hexdigest()


@lru_cache(maxsize=4096)
def _verifier(signing: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(signing)


@lru_cache(maxsize=4096)
def _recipient(sealing: bytes) -> X25519PublicKey:
    return X25519PublicKey.from_public_bytes(sealing)


def check_signature(signing: bytes, data: bytes, signature: bytes) -> bool:
    """Whether the owner of the signing key signed the data."""
    try:
        _verifier(signing).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def seal(content: bytes, sealing: bytes, context: bytes) -> bytes:
    """An envelope only the owner of the sealing key opens, and only for this context.

    >>> from mdrr.source import SeededSource
    >>> me = Identity.generate(SeededSource(1))
    >>> me.unseal(seal(b"share", me.public.sealing, b"run 7"), b"run 7")
    b'share'
    """
    return _SUITE.encrypt(content, _recipient(sealing), context)
