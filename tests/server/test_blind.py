"""Blind signatures in Python and in the page: the RFC's vectors, each other, and what is bad."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.server import blind
from mdrr.server.blind import BlindError, FaultError, from_text, to_text
from tests.browser.conftest import program

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STATIC = ROOT / "src" / "mdrr" / "server" / "static"
VECTORS = ROOT / "vectors" / "rfc9474"


def packed(key: Any) -> bytes:
    if hasattr(key, "private_bytes"):
        kind = serialization.PrivateFormat.PKCS8
        return key.private_bytes(serialization.Encoding.DER, kind, serialization.NoEncryption())
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.DER, kind)


class Vector(NamedTuple):
    """One vector of the RFC, and its keys as we store them."""

    message: bytes
    salt: bytes
    inverse: int
    encoded: bytes
    blinded: bytes
    reply: bytes
    signature: bytes
    n: int
    private: bytes
    public: bytes

    @property
    def factor(self) -> int:
        return pow(self.inverse, -1, self.n)


def vectors() -> dict[str, Vector]:
    long, unsalted = json.loads((VECTORS / "deterministic.json").read_text("ascii"))
    changes = json.loads((VECTORS / "randomized.json").read_text("ascii"))
    found = {}
    for name, fields in (
        ("randomized", {**long, **changes}),
        ("deterministic", long),
        ("unsalted", unsalted),
    ):
        raw = {key: bytes.fromhex(text) for key, text in fields.items()}
        p, q, n, e, d, inverse = (
            int.from_bytes(raw[key]) for key in ("p", "q", "n", "e", "d", "inv")
        )
        numbers = rsa.RSAPrivateNumbers(
            p,
            q,
            d,
            rsa.rsa_crt_dmp1(d, p),
            rsa.rsa_crt_dmq1(d, q),
            rsa.rsa_crt_iqmp(p, q),
            rsa.RSAPublicNumbers(e, n),
        )
        private = packed(numbers.private_key())
        found[name] = Vector(
            blind.prepare(raw["msg"], prefix=raw.get("msg_prefix", b"")),
            raw["salt"],
            inverse,
            raw["encoded_msg"],
            raw["blinded_msg"],
            raw["blind_sig"],
            raw["sig"],
            n,
            private,
            blind.verifying_key(private),
        )
    return found


KNOWN = vectors()
SALTED = ("randomized", "deterministic")


@pytest.fixture(scope="module")
def private() -> bytes:
    return blind.new_signing_key()


@pytest.fixture(scope="module")
def public(private) -> bytes:
    return blind.verifying_key(private)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """`page(tasks)`: what the page's blind.js answers, under Node."""
    node, folder = program("node"), tmp_path_factory.mktemp("static")
    for path in STATIC.glob("*.js"):
        shutil.copy(path, folder)
    (folder / "package.json").write_text('{"type": "module"}', "ascii")

    def run(*tasks: dict[str, Any]) -> list[Any]:
        done = subprocess.run(
            [node, str(HERE / "blind.mjs")],
            input=json.dumps({"folder": str(folder), "tasks": tasks}).encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        found: list[Any] = json.loads(done.stdout)
        return found

    return run


# Vectors of the RFC


@pytest.mark.parametrize("name", KNOWN)
def test_encoding_blinding_and_signing_are_those_of_the_rfc(name):
    vector = KNOWN[name]
    bits = vector.n.bit_length() - 1
    assert blind.encode(vector.message, bits, vector.salt) == vector.encoded
    made = blind.blind(vector.message, vector.public, salt=vector.salt, factor=vector.factor)
    assert (made.message, made.inverse) == (vector.blinded, vector.inverse)
    reply = blind.blind_sign(vector.blinded, vector.private)
    assert reply == vector.reply
    unblinded = int.from_bytes(reply) * vector.inverse % vector.n
    assert unblinded == int.from_bytes(vector.signature)


@pytest.mark.parametrize("name", SALTED)
def test_the_signatures_of_the_rfc_are_valid(name):
    vector = KNOWN[name]
    reply = blind.blind_sign(vector.blinded, vector.private)
    signed = blind.finalize(vector.message, reply, vector.inverse, vector.public)
    assert signed == vector.signature
    assert blind.verify(vector.message, vector.signature, vector.public)


def test_a_signature_without_salt_is_of_another_variant_and_not_valid():
    vector = KNOWN["unsalted"]
    assert not blind.verify(vector.message, vector.signature, vector.public)


@pytest.mark.parametrize("name", SALTED)
@pytest.mark.parametrize("part", ["message", "salt", "inverse", "reply", "signature"])
def test_one_changed_bit_makes_a_vector_bad(name, part):
    vector = KNOWN[name]
    reply = blind.blind_sign(vector.blinded, vector.private)

    def flipped(value: bytes) -> bytes:
        return value[:-1] + bytes([value[-1] ^ 1])

    if part == "message":
        assert not blind.verify(flipped(vector.message), vector.signature, vector.public)
    elif part == "signature":
        assert not blind.verify(vector.message, flipped(vector.signature), vector.public)
    elif part == "salt":
        made = blind.blind(
            vector.message, vector.public, salt=flipped(vector.salt), factor=vector.factor
        )
        assert made.message != vector.blinded
    else:
        reply = flipped(reply) if part == "reply" else reply
        inverse = vector.inverse ^ (part == "inverse")
        with pytest.raises(BlindError, match="not valid"):
            blind.finalize(vector.message, reply, inverse, vector.public)


def test_the_page_reproduces_the_vectors(page):
    names = list(KNOWN)
    tasks = []
    for vector in KNOWN.values():
        shared = {
            "message": to_text(vector.message),
            "salt": to_text(vector.salt),
            "key": to_text(vector.public),
        }
        tasks += [
            {"name": "encode", **shared, "bits": vector.n.bit_length() - 1},
            {"name": "blind", **shared, "factor": str(vector.factor)},
            {
                "name": "finalize",
                **shared,
                "reply": to_text(blind.blind_sign(vector.blinded, vector.private)),
                "inverse": to_text(vector.inverse.to_bytes(len(vector.blinded))),
            },
            {"name": "verify", **shared, "signature": to_text(vector.signature)},
        ]
    answers = page(*tasks)
    for i, name in enumerate(names):
        vector = KNOWN[name]
        encoded, blinded, signed, valid = answers[4 * i : 4 * i + 4]
        bits = vector.n.bit_length() - 1
        assert from_text(encoded) == blind.encode(vector.message, bits, vector.salt)
        assert from_text(blinded["message"]) == vector.blinded
        assert int.from_bytes(from_text(blinded["inverse"])) == vector.inverse
        if name in SALTED:
            assert (from_text(signed), valid) == (vector.signature, True)
        else:
            assert ("not valid" in signed["refused"], valid) == (True, False)


# Python alone


@settings(max_examples=25, deadline=None)
@given(message=st.binary(max_size=200))
def test_what_was_signed_blindly_is_valid(private, public, message):
    prepared = blind.prepare(message)
    assert len(prepared) == len(message) + 32
    made = blind.blind(prepared, public)
    signature = blind.finalize(
        prepared, blind.blind_sign(made.message, private), made.inverse, public
    )
    assert blind.verify(prepared, signature, public)
    assert not blind.verify(prepared + b"\0", signature, public)


@settings(max_examples=50, deadline=None)
@given(message=st.binary(max_size=100), bits=st.integers(784, 1100), salt=st.binary(max_size=48))
def test_an_encoding_opens_again(message, bits, salt):
    """EMSA-PSS-VERIFY of RFC 8017, written down here as it stands there."""
    encoded = blind.encode(message, bits, salt)
    length = -(-bits // 8)
    assert (len(encoded), encoded[-1]) == (length, 0xBC)
    masked, digest = encoded[: length - 49], encoded[-49:-1]
    assert masked[0] >> (8 - (8 * length - bits)) == 0
    mask = b"".join(hashlib.sha384(digest + bytes([0, 0, 0, i])).digest() for i in range(3))
    opened = bytearray(a ^ b for a, b in zip(masked, mask, strict=False))
    opened[0] &= 0xFF >> (8 * length - bits)
    assert bytes(opened) == bytes(len(opened) - len(salt) - 1) + b"\x01" + salt
    inner = bytes(8) + hashlib.sha384(message).digest() + salt
    assert digest == hashlib.sha384(inner).digest()


def test_signing_again_gives_the_same_signature(private, public):
    made = blind.blind(blind.prepare(b"token"), public)
    assert blind.blind_sign(made.message, private) == blind.blind_sign(made.message, private)


def test_what_is_sent_to_be_signed_can_hide_every_token(private, public):
    """For each blinded message and each signed token there is a factor that joins the two."""
    key = serialization.load_der_private_key(private, None).private_numbers()
    n, d = key.public_numbers.n, key.d
    tokens = [blind.prepare(bytes([i])) for i in range(3)]
    made = [blind.blind(token, public) for token in tokens]
    signatures = [
        blind.finalize(token, blind.blind_sign(each.message, private), each.inverse, public)
        for token, each in zip(tokens, made, strict=True)
    ]
    factors = set()
    for i, each in enumerate(made):
        for j, signature in enumerate(signatures):
            m = pow(int.from_bytes(signature), 65537, n)
            factor = pow(int.from_bytes(each.message) * pow(m, -1, n), d, n)
            assert m * pow(factor, 65537, n) % n == int.from_bytes(each.message)
            assert (pow(factor, -1, n) == each.inverse) == (i == j)
            factors.add(factor)
    assert len(factors) == 9


def test_the_same_token_is_never_hidden_the_same_way(public):
    prepared = blind.prepare(b"token")
    assert len({blind.blind(prepared, public).message for _ in range(5)}) == 5
    assert blind.prepare(b"token") != prepared


def test_another_key_neither_signs_nor_verifies(private, public):
    other = KNOWN["unsalted"]
    prepared = blind.prepare(b"token")
    made = blind.blind(prepared, public)
    below = int.from_bytes(made.message) % other.n
    reply = blind.blind_sign(below.to_bytes(256), other.private)
    with pytest.raises(BlindError, match="not valid"):
        blind.finalize(prepared, reply, made.inverse, public)
    signature = blind.finalize(
        prepared, blind.blind_sign(made.message, private), made.inverse, public
    )
    assert not blind.verify(prepared, signature, other.public)


def test_what_cannot_be_signed_is_refused(private, public):
    n = serialization.load_der_public_key(public).public_numbers().n
    for bad in (b"", bytes(255), bytes(257), n.to_bytes(256), b"\xff" * 256):
        with pytest.raises(BlindError, match="below n"):
            blind.blind_sign(bad, private)
        with pytest.raises(BlindError, match="below n"):
            blind.check_blinded(bad, public)
    largest = (n - 1).to_bytes(256)
    blind.check_blinded(largest, public)
    assert blind.blind_sign(largest, private) == largest  # (−1)^d = −1
    with pytest.raises(BlindError, match="wrong length"):
        blind.finalize(b"", bytes(255), 1, public)


def test_a_faulty_result_is_not_given_away(private, monkeypatch):
    key = blind._private(private).private_numbers()
    wrong = rsa.RSAPrivateNumbers(
        key.p, key.q, key.d, key.dmp1 ^ 2, key.dmq1, key.iqmp, key.public_numbers
    )

    class Faulty:
        def private_numbers(self):
            return wrong

    monkeypatch.setattr(blind, "_private", lambda _: Faulty())
    with pytest.raises(FaultError):
        blind.blind_sign(b"\x01" * 256, private)


def bad_keys() -> dict[str, bytes]:
    small = rsa.generate_private_key(65537, 1024).public_key()
    three = rsa.generate_private_key(3, 2048).public_key()
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    good = KNOWN["unsalted"].public
    return {
        "small": packed(small),
        "exponent": packed(three),
        "curve": packed(curve),
        "cut": good[:-1],
        "empty": b"",
        "private": KNOWN["unsalted"].private,
    }


def test_keys_that_are_not_ours_are_refused(page):
    known = bad_keys()
    prepared = to_text(bytes(64))
    for key in known.values():
        with pytest.raises(BlindError, match="key"):
            blind.blind(bytes(64), key)
    tasks = [{"name": "blind", "message": prepared, "key": to_text(k)} for k in known.values()]
    for name, answer in zip(known, page(*tasks), strict=True):
        assert "key" in answer["refused"], name
    for bad in (b"", KNOWN["unsalted"].public, packed(ec.generate_private_key(ec.SECP256R1()))):
        with pytest.raises(BlindError, match="signing key"):
            blind.verifying_key(bad)
    with pytest.raises(BlindError, match="2048 to 4096"):
        blind.new_signing_key(1024)


def test_secrets_do_not_show(public):
    made = blind.blind(bytes(64), public)
    assert str(made.inverse) not in repr(made)


# What goes with an answer


def signed_ticket(private: bytes, public: bytes) -> tuple[bytes, str]:
    prepared = blind.prepare(bytes(32))
    made = blind.blind(prepared, public)
    reply = blind.blind_sign(made.message, private)
    signature = blind.finalize(prepared, reply, made.inverse, public)
    return prepared, blind.ticket(prepared, signature)


def test_a_ticket_is_known_by_its_token_and_written_in_one_way(private, public):
    prepared, ticket = signed_ticket(private, public)
    assert blind.ticket_hash(ticket, public) == hashlib.sha256(prepared).digest()
    left, right = ticket.split(".")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    next_one = letters[letters.index(left[-1]) + 1]  # the same bytes, written otherwise
    for bad in (
        f"{left[:-1]}{next_one}.{right}",
        f"{left}=.{right}",
        f"{left}.{right}=",
        f"{left}.{right}\n",
        f"{left}.{right}.",
        f" {left}.{right}",
        f"{right}.{left}",
        f"{left}{right}",
        f"{left}.",
        f".{right}",
        ".",
        "",
        "é.é",
        ticket.replace(".", ".A"),
    ):
        assert blind.ticket_hash(bad, public) is None, bad


def test_a_valid_signature_of_something_else_is_no_ticket(private, public):
    made = blind.blind(b"short", public)
    signature = blind.finalize(
        b"short", blind.blind_sign(made.message, private), made.inverse, public
    )
    assert blind.verify(b"short", signature, public)
    assert blind.ticket_hash(blind.ticket(b"short", signature), public) is None


@given(st.binary(max_size=100))
def test_base64url_there_and_back(value):
    assert from_text(to_text(value)) == value


# Python and the page


def test_the_page_blinds_and_python_signs_and_the_other_way_round(page, private, public):
    key = to_text(public)
    messages = [blind.prepare(bytes([i])) for i in range(5)]
    hidden = page(*({"name": "blind", "message": to_text(m), "key": key} for m in messages))
    mine = [blind.blind(m, public) for m in messages]
    tasks = []
    for message, theirs, ours in zip(messages, hidden, mine, strict=True):
        reply = blind.blind_sign(from_text(theirs["message"]), private)
        inverse = int.from_bytes(from_text(theirs["inverse"]))
        signature = blind.finalize(message, reply, inverse, public)
        reply = blind.blind_sign(ours.message, private)
        tasks += [
            {"name": "verify", "message": to_text(message), "signature": to_text(signature)},
            {
                "name": "finalize",
                "message": to_text(message),
                "reply": to_text(reply),
                "inverse": to_text(ours.inverse.to_bytes(256)),
            },
        ]
    answers = page(*({**task, "key": key} for task in tasks))
    for message, valid, signature in zip(messages, answers[::2], answers[1::2], strict=True):
        assert valid is True
        assert blind.verify(message, from_text(signature), public)


def test_the_page_keeps_what_it_sent_until_it_is_signed(page, private, public):
    """After a lost reply it sends the same again; then it keeps the ticket alone."""
    task = {"name": "redeem", "invitation": "invited", "key": to_text(public)}
    [lost] = page({**task, "replies": [None, {"status": 503}]})
    first, second = lost["sent"]
    assert first == second == {**first, "url": "/sign", "invitation": "invited"}
    assert [each["status"] for each in lost["outcomes"]] == [None, 503]
    reply = {"signature": to_text(blind.blind_sign(from_text(first["blinded"]), private))}
    wrong = {"signature": to_text(bytes(256))}
    [done] = page({**task, "replies": [wrong, reply, None], "kept": lost["stored"]})
    assert "not valid" in done["outcomes"][0]["refused"]
    ticket = done["outcomes"][1]
    assert blind.ticket_hash(ticket, public) is not None
    assert done["outcomes"][2] == ticket
    assert done["sent"] == [first, first]
    assert done["stored"] == {"invitation": "invited", "key": to_text(public), "ticket": ticket}
    [other] = page({**task, "invitation": "new", "replies": [None], "kept": done["stored"]})
    assert other["sent"][0]["blinded"] != first["blinded"]
