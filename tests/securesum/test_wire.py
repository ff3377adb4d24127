"""Canonical JSON and strict reading: one spelling, and nothing read that could not be written."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdrr.errors import ProtocolError
from mdrr.securesum import keys
from mdrr.securesum.keys import Identity, Public, check_signature, seal
from mdrr.securesum.message import KINDS, Abort, Message, write
from mdrr.securesum.wire import Fields, canonical, digest, parse
from mdrr.source import BytesSource, SeededSource

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


FIELDS: dict[str, Any] = {"n": 3, "t": "abc", "b": "AAE=", "l": [1, 2], "yes": True, "none": None}
HASHES = {"h": "0f" * 32, "two": ["0f" * 32, "1e" * 32], "to": None, "m": {"a": 1}}


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (lambda f: f.text("n"), "'n' of a thing must be text of at most 1000 characters"),
        (lambda f: f.text("t", 2), "'t' of a thing must be text of at most 2 characters"),
        (lambda f: f.hash("t"), "'t' of a thing must be 64 lower-case hex digits"),
        (lambda f: f.hash("n"), "'n' of a thing must be 64 lower-case hex digits"),
        (lambda f: f.optional_hash("t"), "'t' of a thing must be 64 lower-case hex digits"),
        (lambda f: f.optional_hash("absent"), "a thing has no 'absent'"),
        (lambda f: f.integer("n", 4, 9), "'n' of a thing must be an integer from 4 to 9"),
        (lambda f: f.integer("n", 0, 2), "'n' of a thing must be an integer from 0 to 2"),
        (lambda f: f.integer("yes", 0, 9), "'yes' of a thing must be an integer from 0 to 9"),
        (lambda f: f.data("n"), "'n' of a thing must be base64"),
        (lambda f: f.data("t"), "'t' of a thing must be base64"),
        (lambda f: f.data("b", 7), "'b' of a thing must be 7 bytes in base64"),
        (lambda f: f.data("b", 0), "'b' of a thing must be 0 bytes in base64"),
        (lambda f: f.array("n", 3), "'n' of a thing must be a list of at most 3"),
        (lambda f: f.array("l", 1), "'l' of a thing must be a list of at most 1"),
        (lambda f: f.hashes("l", 5), "'l' of a thing must be a list of digests"),
        (lambda f: f.mapping("l"), "'l' of a thing must be a JSON object"),
        (lambda f: f.text("absent"), "a thing has no 'absent'"),
        (lambda f: f.finish(), "a thing has an unknown field 'b'"),
    ],
)
def test_every_field_is_read_with_its_type(read: Any, reason: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        read(Fields(FIELDS, "a thing"))
    assert str(refused.value) == reason


def test_every_field_is_read_up_to_its_limit_and_only_once() -> None:
    fields = Fields({**FIELDS, **HASHES}, "a thing")
    assert fields.text("t", 3) == "abc"
    assert fields.integer("n", 3, 3) == 3
    assert fields.data("b", 2) == b"\x00\x01"
    assert fields.array("l", 2) == [1, 2]
    assert fields.hash("h") == "0f" * 32
    assert fields.hashes("two", 2) == ("0f" * 32, "1e" * 32)
    assert (fields.optional_hash("none"), fields.optional_hash("to")) == (None, None)
    assert fields.mapping("m") == {"a": 1}
    with pytest.raises(ProtocolError, match="has no 't'"):
        fields.text("t")
    with pytest.raises(ProtocolError, match="unknown field 'yes'"):
        fields.finish()
    with pytest.raises(ProtocolError, match="unknown field 'b'"), Fields({"b": 1}, "a thing"):
        pass
    with pytest.raises(KeyError), Fields({"b": 1}, "a thing"):
        raise KeyError  # what went wrong first is told
    assert Fields({"t": "x" * 1000}, "a thing").text("t") == "x" * 1000
    for what in ([], "text", None):
        with pytest.raises(ProtocolError, match="a thing must be a JSON object"):
            Fields(what, "a thing")  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match="must be 64 lower-case"):
        Fields({"h": "0f" * 32 + "\n"}, "a thing").hash("h")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('{"a": 1, "a": 2}', "a message gives one key twice"),
        ('{"a": NaN}', "a message contains NaN"),
        ('{"a": -Infinity}', "a message contains -Infinity"),
        ("[]", "a message is a JSON object"),
        ("{", "a message is not JSON"),
    ],
)
def test_what_is_not_one_plain_object_is_refused_with_its_reason(data: str, reason: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        parse(data)
    assert str(refused.value) == reason


def test_a_message_says_to_whom_it_goes_whatever_its_body_says() -> None:
    message = write(ME, "accept", "0" * 64, {"a": 1, "to": 2}, "ab" * 32)
    assert message.to_json() == canonical(json.loads(message.to_json()))
    assert Message.from_json(message.to_json()) == message
    assert Message.from_json(message.to_json()).to == "ab" * 32
    spelt = hashlib.sha256(canonical(message.content)).hexdigest()
    assert message.digest == digest(message.content) == spelt


@pytest.mark.parametrize(
    "change",
    [
        {"format": "mdrr securesum/2"},
        {"kind": "gossip"},
        {"run": "0" * 63},
        {"from": "0" * 63},
        {"to": "everybody"},
        {"body": []},
        {"signature": "AAAA"},
        {"more": 1},
    ],
)
def test_a_message_with_one_wrong_field_is_refused(change: dict[str, Any]) -> None:
    good = json.loads(write(ME, "accept", "0" * 64, {}).to_json())
    assert Message.from_json(json.dumps(good)).signed_by(ME.public.signing)
    with pytest.raises(ProtocolError):
        Message.from_json(json.dumps({**good, **change}))
    if "more" not in change:
        del good[next(iter(change))]
        with pytest.raises(ProtocolError, match="a message has no"):
            Message.from_json(json.dumps(good))


def test_only_the_owner_of_the_key_has_signed_and_only_this() -> None:
    other = Identity.generate(SeededSource("other"))
    said = write(ME, "terms", "0" * 64, {"a": 1})
    assert said.signed_by(ME.public.signing)
    assert not said.signed_by(other.public.signing)
    stolen = replace(said, sender=other.id, _canonical=b"")
    assert not stolen.signed_by(ME.public.signing)  # her signature, another name
    assert not stolen.signed_by(other.public.signing)
    for field in ({"kind": "batch"}, {"run": "1" * 64}, {"to": "2" * 64}, {"body": {"a": 2}}):
        assert not replace(said, _canonical=b"", **field).signed_by(ME.public.signing)
    with pytest.raises(ProtocolError, match="64 bytes"):
        replace(said, signature=said.signature[:-1])


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
    for kind in (Public, Identity):
        for one, two in ((31, 32), (32, 31), (33, 32), (32, 33)):
            with pytest.raises(ProtocolError, match="32 bytes"):
                kind(b"\x09" * one, b"\x09" * two)
    for operator in ("x" * 201, 3):
        with pytest.raises(ProtocolError, match="200 characters"):
            Public(ME.public.signing, ME.public.sealing, operator)  # type: ignore[arg-type]


def test_keys_come_from_the_source_and_keep_their_operator() -> None:
    made = Identity.generate(BytesSource(bytes(range(64))), "x" * 200)
    assert (made.signing_secret, made.sealing_secret) == (bytes(range(32)), bytes(range(32, 64)))
    assert check_signature(made.public.signing, b"x", made.sign(b"x"))
    assert made.unseal(seal(b"x", made.public.sealing, b""), b"") == b"x"
    assert made.operator == made.public.operator == "x" * 200
    assert made.public.id == made.id == hashlib.sha256(made.public.signing).hexdigest()
    written = made.public.to_dict()
    assert Public.from_dict(written) == made.public  # type: ignore[arg-type]
    assert Identity.generate(SeededSource(1)).public.operator == ""
    for change in ({"signing": "AAAA"}, {"sealing": "AAAA"}, {"operator": "x" * 201}, {"more": 1}):
        with pytest.raises(ProtocolError, match="a member"):
            Public.from_dict({**written, **change})


def test_a_signature_of_another_length_or_key_is_no_signature() -> None:
    assert check_signature(ME.public.signing, b"x", ME.sign(b"x"))
    assert not check_signature(ME.public.signing, b"y", ME.sign(b"x"))
    assert not check_signature(ME.public.signing, b"x", b"short")
    assert not check_signature(b"short", b"x", ME.sign(b"x"))


def test_an_abort_says_where_why_and_who() -> None:
    names = tuple(f"{k:012x}".ljust(64, "f") for k in range(7))
    told = "stopped at step 'share': nobody came"
    six, last = (
        ", ".join(name[:12] for name in names[:5]),
        "; so says abcdefabcdef, who ended the run",
    )
    by = "abcdef" * 5
    assert str(Abort("share", "nobody came")) == told
    assert str(Abort("share", "nobody came", names[:1])) == f"{told} (000000000000)"
    assert str(Abort("share", "nobody came", names[:5])) == f"{told} ({six})"
    assert str(Abort("share", "nobody came", names[:6])) == f"{told} ({six} and 1 more)"
    assert str(Abort("share", "nobody came", names)) == f"{told} ({six} and 2 more)"
    assert str(Abort("share", "nobody came", (), by)) == told + last
    assert str(Abort("share", "nobody came", names, by)) == f"{told} ({six} and 2 more){last}"
    error = Abort("share", "nobody came").error
    assert (str(error), error.abort) == (told, Abort("share", "nobody came"))


def test_an_abort_travels_with_a_reason_of_bounded_length() -> None:
    abort = Abort("s" * 40, "r" * 1001, ("0f" * 32,), "by")
    written = abort.to_dict()
    assert written == {"step": "s" * 40, "reason": "r" * 1000, "who": ["0f" * 32]}
    assert Abort.from_dict(written) == Abort("s" * 40, "r" * 1000, ("0f" * 32,))
    for change in ({"step": "s" * 41}, {"reason": "r" * 1001}, {"who": ["x"]}, {"more": 1}):
        with pytest.raises(ProtocolError, match=r"(^| of )an abort (must|has)"):
            Abort.from_dict({**written, **change})


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
