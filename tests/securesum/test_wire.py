"""Canonical JSON and strict reading: one spelling, and nothing read that could not be written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdrr.errors import ProtocolError
from mdrr.securesum import keys
from mdrr.securesum.abort import Abort
from mdrr.securesum.keys import Identity, Public, check_signature, seal
from mdrr.securesum.message import KINDS, Message, write
from mdrr.securesum.wire import Fields, canonical, parse
from mdrr.source import SeededSource

ME = Identity.generate(SeededSource("me"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(
    body=st.dictionaries(st.text(max_size=8), VALUES, max_size=4),
    kind=st.sampled_from(KINDS),
    to=st.none() | st.just("ab" * 32),
)
def test_messages_travel_in_their_canonical_spelling_and_read_back(
    body: dict[str, Any], kind: str, to: str | None
) -> None:
    message = write(ME, kind, "0" * 64, body, to)
    data = message.to_json()
    assert data == canonical(json.loads(data))
    again = Message.from_json(data)
    assert again == message
    assert again.digest == message.digest
    assert again.signed_by(ME.public.signing)


@given(data=st.binary(max_size=200))
def test_noise_is_refused_cleanly(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Message.from_json(data)


@given(position=st.integers(0, 10_000), value=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_breaks_the_signature(position: int, value: int) -> None:
    message = write(ME, "commit", "0" * 64, {"commitment": "1" * 64})
    data = bytearray(message.to_json())
    data[position % len(data)] = value
    try:
        changed = Message.from_json(bytes(data))
    except ProtocolError:
        return
    assert changed == message or not changed.signed_by(ME.public.signing)


def test_a_spelling_that_is_not_canonical_reads_the_same() -> None:
    message = write(ME, "accept", "0" * 64, {"é": 1, "a": 2})
    loose = json.dumps(json.loads(message.to_json()), indent=3, ensure_ascii=False)
    assert Message.from_json(loose) == message
    assert Message.from_json(loose).to_json() == message.to_json()


def test_deep_nesting_and_lone_surrogates_are_refused_or_harmless() -> None:
    with pytest.raises(ProtocolError, match="not JSON"):
        parse("[" * 100_000)
    read = Message.from_json(write(ME, "accept", "0" * 64, {"x": "\ud800"}).to_json())
    assert read.signed_by(ME.public.signing)


def test_floats_that_are_not_numbers_cannot_be_written() -> None:
    with pytest.raises(ProtocolError, match="plain JSON"):
        canonical({"x": float("nan")})


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (lambda f: f.text("n"), "must be text"),
        (lambda f: f.text("t", 2), "at most 2"),
        (lambda f: f.hash("t"), "hex"),
        (lambda f: f.integer("n", 5, 9), "from 5 to 9"),
        (lambda f: f.integer("yes", 0, 9), "integer"),
        (lambda f: f.data("n"), "base64"),
        (lambda f: f.data("b", 7), "7 bytes"),
        (lambda f: f.array("n", 3), "list"),
        (lambda f: f.array("l", 1), "at most 1"),
        (lambda f: f.hashes("l", 5), "digests"),
        (lambda f: f.mapping("l"), "object"),
        (lambda f: f.nothing("n"), "null in this version"),
        (lambda f: f.text("absent"), "has no 'absent'"),
        (lambda f: f.finish(), "unknown field 'b'"),
    ],
)
def test_every_field_is_read_with_its_type(read: Any, reason: str) -> None:
    fields = Fields({"n": 3, "t": "abc", "b": "AAE=", "l": [1, 2], "yes": True}, "a thing")
    with pytest.raises(ProtocolError, match=reason):
        read(fields)


def test_keys_seals_and_signatures() -> None:
    other = Identity.generate(SeededSource("other"))
    sealed = seal(b"share", ME.public.sealing, b"run")
    assert ME.unseal(sealed, b"run") == b"share"
    for identity, context, data in (
        (other, b"run", sealed),
        (ME, b"another run", sealed),
        (ME, b"run", sealed[:-1] + bytes([sealed[-1] ^ 1])),
        (ME, b"run", b"short"),
    ):
        with pytest.raises(ProtocolError, match="does not open"):
            identity.unseal(data, context)
    assert not check_signature(other.public.signing, b"x", ME.sign(b"x"))
    assert Public.from_dict(ME.public.to_dict()) == ME.public
    for make in (lambda: Public(b"", b""), lambda: Identity(b"", b"")):
        with pytest.raises(ProtocolError, match="32 bytes"):
            make()
    with pytest.raises(ProtocolError, match="200 characters"):
        Public(bytes(32), bytes(32), "x" * 201)


def test_an_abort_says_where_why_and_who() -> None:
    abort = Abort("share", "no message arrived in time", tuple(f"{k:064x}" for k in range(7)))
    assert str(abort).startswith("stopped at step 'share': no message arrived in time (0000")
    assert "and 2 more" in str(abort)
    assert Abort.from_dict(abort.to_dict()) == abort


@pytest.mark.parametrize("depth", [300, 980, 990, 995, 2000, 100_000])
def test_a_message_nested_deeply_is_read_or_refused(depth: int) -> None:
    """Reading and spelling a message have different limits; neither may end in a traceback."""
    said = json.loads(write(ME, "accept", "0" * 64, {}).to_json())
    deep = "[" * depth + "]" * depth
    text = json.dumps({**said, "body": "deep"}).replace('"deep"', f'{{"a": {deep}}}')
    try:
        read = Message.from_json(text).kind == "accept"
    except ProtocolError:
        read = False
    assert read if depth == 300 else not read or depth < 2000


@pytest.mark.parametrize("high_bit", [0, 2**255])
def test_keys_nothing_can_be_sealed_to_are_refused(high_bit: int) -> None:
    for weak in keys._WEAK:
        data = (weak | high_bit).to_bytes(32, "little")
        with pytest.raises(ValueError, match="shared key"):
            keys.seal(b"share", data, b"")
        with pytest.raises(ProtocolError, match="nothing can be sealed"):
            keys.Public(bytes(32), data)
