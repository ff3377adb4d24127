"""What an organiser signs, a batch or the terms of a group: its limits, its rolls, its folder."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import ProtocolError
from mdrr.securesum.admission import RELAY, credential, hashed, make_roll, read_roll
from mdrr.securesum.batch import (
    MOST_CELLS,
    MOST_PEOPLE,
    Batch,
    Folder,
    default_minimum,
    make_batch,
    make_group,
    make_offer,
    read_offer,
    read_signed,
)
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Message, write
from mdrr.securesum.question import Question
from mdrr.securesum.signed import MOST_BYTES, MOST_PARTIES, Roster, Terms
from mdrr.securesum.wire import encode64
from mdrr.source import BytesSource, SeededSource
from tests.securesum.group import CLOSES, QUESTION, organiser, people, token

NONCE = bytes(range(32))
SERVERS = [Identity.generate(SeededSource(f"server {k}"), f"Office {k}") for k in range(6)]
TOKENS = [token(k) for k in range(12)]


def batch_and_folder(servers: int = 3) -> tuple[Batch, Folder]:
    offers = [make_offer(one) for one in SERVERS[:servers]]
    return make_batch(organiser(), QUESTION, offers, TOKENS, BytesSource(NONCE), closes=CLOSES)


def terms_and_folder() -> tuple[Terms, Folder]:
    return make_group(organiser(), QUESTION, TOKENS, BytesSource(NONCE), closes=CLOSES)


BATCH, TERMS = batch_and_folder()[0], terms_and_folder()[0]


def wide(cells: int) -> Question:
    """A question of so many cells, an even number."""
    half = tuple(f"c{k}" for k in range(cells // 2))
    return Question(Domain((Attribute("a", ("x", "y")), Attribute("b", half))))


# Invitations.


def test_a_credential_tells_its_reader_nothing_of_the_others() -> None:
    shown = {credential(TOKENS[0], reader) for reader in (RELAY, "0" * 64, "1" * 64)}
    assert len(shown) == 3
    assert {len(one) for one in shown} == {32}
    assert credential(TOKENS[0], RELAY) != credential(TOKENS[1], RELAY)
    for wrong in ("A" * 42, "A" * 44, "A" * 42 + "!", "A" * 43 + "\n", ""):
        with pytest.raises(ProtocolError, match="this is not an invitation"):
            credential(wrong, RELAY)


def test_a_roll_is_sorted_and_read_only_as_it_was_signed() -> None:
    roll = make_roll(TOKENS, RELAY)
    marks = [hashed(credential(one, RELAY)) for one in TOKENS]
    assert roll == b"".join(sorted(marks)) == make_roll(TOKENS[::-1], RELAY)
    assert read_roll(roll, hashlib.sha256(roll).hexdigest()) == frozenset(marks)
    with pytest.raises(ProtocolError, match="not the one that the organiser signed"):
        read_roll(roll, hashlib.sha256(roll[32:]).hexdigest())


# Offers.


def test_an_offer_holds_the_keys_of_its_signer() -> None:
    public = SERVERS[0].public
    assert read_offer(make_offer(SERVERS[0])) == public
    body, run = public.to_dict(), make_offer(SERVERS[0]).run
    for wrong, reason in (
        (write(SERVERS[0], "key", run, dict(body)), "this is not an aggregator's offer"),
        (write(SERVERS[0], "offer", "0" * 64, dict(body)), "this is not an aggregator's offer"),
        (write(SERVERS[1], "offer", run, dict(body)), "did not sign"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            read_offer(wrong)


@pytest.mark.parametrize(
    ("people", "minimum"), [(10, 10), (20, 10), (21, 11), (60, 30), (61, 31), (1001, 501)]
)
def test_nothing_opens_for_fewer_than_ten_or_than_half(people: int, minimum: int) -> None:
    assert default_minimum(people) == minimum


@pytest.mark.parametrize("people", [3, 9])
def test_who_invites_fewer_than_the_default_minimum_is_told_what_to_type(people: int) -> None:
    advice = f"the default minimum of 10. Give --minimum with a number from 3 to {people}, or"
    with pytest.raises(ProtocolError, match=advice):
        default_minimum(people)


# The batch and the terms: what they say, and what is refused.


def test_a_batch_says_what_it_was_made_from() -> None:
    batch, folder = batch_and_folder()
    assert (batch.purpose, batch.question, batch.closes) == ("", QUESTION, CLOSES)
    assert (batch.minimum, batch.people, batch.nonce) == (10, 12, NONCE)
    assert batch.organiser == organiser().public.signing
    assert batch.aggregators == tuple(one.public for one in SERVERS[:3])
    readers = (RELAY, *(one.id for one in SERVERS[:3]))
    assert folder.rolls == tuple(make_roll(TOKENS, reader) for reader in readers)
    given, _ = make_batch(
        organiser(), QUESTION, batch.offers, TOKENS, BytesSource(NONCE),
        closes=CLOSES, minimum=4, purpose="test",
    )  # fmt: skip
    assert (given.minimum, given.purpose, given.digest == batch.digest) == (4, "test", False)


def test_terms_say_what_they_were_made_from() -> None:
    terms, folder = terms_and_folder()
    assert (terms.purpose, terms.question, terms.closes) == ("", QUESTION, CLOSES)
    assert (terms.minimum, terms.people, terms.nonce) == (10, 12, NONCE)
    assert terms.organiser == organiser().public.signing
    assert folder.rolls == (make_roll(TOKENS, RELAY),)
    given, _ = make_group(
        organiser(), QUESTION, TOKENS, BytesSource(NONCE),
        closes=CLOSES, minimum=4, purpose="test",
    )  # fmt: skip
    assert (given.minimum, given.purpose, given.digest == terms.digest) == (4, "test", False)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (BATCH, {"offers": BATCH.offers[:1], "rolls": BATCH.rolls[:2]}, "two to five aggregators"),
    (
        BATCH,
        {"offers": tuple(make_offer(one) for one in SERVERS)},
        "two to five aggregators, not 6",
    ),
    (BATCH, {"offers": (BATCH.offers[0],) * 3}, "one aggregator made two of the offers"),
    (
        BATCH,
        {
            "offers": (
                BATCH.offers[0],
                BATCH.offers[1],
                make_offer(Identity(SERVERS[5].signing_secret, SERVERS[1].sealing_secret)),
            )
        },
        "two aggregators share a sealing key",
    ),
    (BATCH, {"minimum": 2}, "a minimum of 2"),
    (BATCH, {"minimum": 13}, "a minimum of 13 among 12"),
    (BATCH, {"people": MOST_PEOPLE + 1}, "at most 1,000,000"),
    (BATCH, {"question": wide(MOST_CELLS + 2)}, "cells are more than 100,000"),
    (BATCH, {"rolls": BATCH.rolls[1:]}, "a roll for the relay and one for each"),
    (BATCH, {"rolls": (*BATCH.rolls, "0" * 64)}, "a roll for the relay and one for each"),
    (BATCH, {"nonce": NONCE[1:]}, "32 bytes each"),
    (BATCH, {"organiser": NONCE[1:]}, "32 bytes each"),
    (TERMS, {"minimum": 2}, "a minimum of 2"),
    (TERMS, {"minimum": 13}, "a minimum of 13 among 12"),
    (TERMS, {"people": MOST_PARTIES + 1}, "201 people .* at most 200 people and 250 MB"),
    (TERMS, {"people": 200, "question": wide(4_640)}, "too many.* this is 250 MB"),
    (TERMS, {"rolls": ()}, "one roll"),
    (TERMS, {"rolls": TERMS.rolls * 2}, "one roll"),
    (TERMS, {"nonce": NONCE[1:]}, "32 bytes each"),
    (TERMS, {"organiser": NONCE[1:]}, "32 bytes each"),
]


@pytest.mark.parametrize(("signed", "change", "reason"), REFUSED)
def test_what_protects_nobody_or_does_not_fit_is_refused(
    signed: Any, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ProtocolError, match=reason):
        replace(signed, **change)


def test_what_just_fits_is_taken() -> None:
    five = make_batch(
        organiser(), QUESTION, [make_offer(one) for one in SERVERS[:5]], TOKENS[:3],
        SeededSource(1), closes=CLOSES, minimum=3,
    )[0]  # fmt: skip
    assert (len(five.offers), five.minimum, five.people) == (5, 3, 3)
    assert replace(BATCH, people=MOST_PEOPLE).people == MOST_PEOPLE
    assert replace(BATCH, question=wide(MOST_CELLS)).question.cells == MOST_CELLS
    for signed in (BATCH, TERMS):
        assert replace(signed, minimum=3).minimum == 3
        assert replace(signed, minimum=12).minimum == 12
    full = replace(TERMS, people=MOST_PARTIES, question=wide(4_638))
    assert MOST_BYTES - 120_000 < MOST_PARTIES**2 * full.share_bytes <= MOST_BYTES


def test_two_aggregators_are_enough() -> None:
    assert len(batch_and_folder(2)[0].ids) == 2


# Reading what somebody else wrote.


@pytest.mark.parametrize("signed", [BATCH, TERMS])
def test_what_is_written_reads_back(signed: Any) -> None:
    purpose = replace(signed, purpose="p" * 10_000, closes=2**40)
    for one in (signed, purpose, replace(signed, closes=0)):
        written = json.loads(json.dumps(one.to_dict()))
        assert type(one).from_dict(written) == one
        assert type(one).from_dict(written).digest == one.digest
    for name in signed.to_dict():
        rest = {key: value for key, value in signed.to_dict().items() if key != name}
        with pytest.raises(ProtocolError, match=f"(a batch has|the terms has) no '{name}'"):
            type(signed).from_dict(rest)
    with pytest.raises(ProtocolError, match=r"(a batch|the terms) has an unknown field 'more'"):
        type(signed).from_dict({**signed.to_dict(), "more": 1})


@pytest.mark.parametrize(
    ("signed", "change", "reason"),
    [
        (signed, change, reason)
        for signed, most in ((BATCH, MOST_PEOPLE), (TERMS, MOST_PARTIES))
        for change, reason in (
            ({"purpose": "p" * 10_001}, "at most 10000 characters"),
            ({"minimum": 2}, f"an integer from 3 to {most}"),
            ({"minimum": most + 1}, f"an integer from 3 to {most}"),
            ({"people": 2}, f"an integer from 3 to {most}"),
            ({"people": most + 1}, f"an integer from 3 to {most}"),
            ({"closes": -1}, f"an integer from 0 to {2**40}"),
            ({"closes": 2**40 + 1}, f"an integer from 0 to {2**40}"),
            ({"nonce": encode64(NONCE[1:])}, "32 bytes in base64"),
            ({"organiser": encode64(NONCE[1:])}, "32 bytes in base64"),
            ({"question": []}, "a JSON object"),
        )
    ]
    + [
        (BATCH, {"offers": [{}] * 6}, "a list of at most 5"),
        (BATCH, {"rolls": ["0" * 64] * 7}, "a list of at most 6"),
        (TERMS, {"rolls": ["0" * 64] * 2}, "a list of at most 1"),
        (BATCH, {"field": "Field128"}, "this version makes 3 proofs over Field64"),
        (BATCH, {"proofs": 1}, "this version makes 3 proofs over Field64"),
        (BATCH, {"proofs": 256}, "an integer from 1 to 255"),
        (BATCH, {"proofs": 0}, "an integer from 1 to 255"),
    ],
)
def test_what_no_organiser_could_have_written_is_refused(
    signed: Any, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ProtocolError, match=reason):
        type(signed).from_dict({**signed.to_dict(), **change})


@pytest.mark.parametrize(("signed", "kind"), [(BATCH, "batch"), (TERMS, "terms")])
def test_only_what_its_own_organiser_signed_is_read(signed: Any, kind: str) -> None:
    read = type(signed).read
    said, thief = signed.message(organiser()), people(1)[0]
    assert (said.kind, said.run, said.to) == (kind, signed.digest, None)
    assert read(said) == read(said, organiser().id) == read_signed(said) == signed
    names = f"organiser {organiser().id}, not from {thief.id}. If .* do not take part"
    with pytest.raises(ProtocolError, match=names):
        read(said, thief.id)
    other = "terms" if kind == "batch" else "batch"
    for wrong in (
        write(thief, kind, signed.digest, signed.to_dict()),
        write(organiser(), kind, "0" * 64, signed.to_dict()),
        write(organiser(), other, signed.digest, signed.to_dict()),
    ):
        with pytest.raises(ProtocolError, match=f"signature under the {kind} is not valid"):
            read(wrong)


def test_the_aggregators_are_those_that_were_named() -> None:
    BATCH.check_ids(BATCH.ids[::-1])
    stranger = SERVERS[5].id
    lacks = f"it has nobody else, and lacks {stranger[:16]}…"
    with pytest.raises(ProtocolError, match=lacks):
        BATCH.check_ids([*BATCH.ids, stranger])
    has = f"it has {BATCH.ids[0][:16]}…, and lacks nobody"
    with pytest.raises(ProtocolError, match=has):
        BATCH.check_ids(BATCH.ids[1:])
    both = sorted([stranger, SERVERS[4].id])
    with pytest.raises(ProtocolError, match=f"lacks {both[0][:16]}…, {both[1][:16]}…"):
        BATCH.check_ids([*BATCH.ids, *both])
    two = ", ".join(f"{one[:16]}…" for one in sorted(BATCH.ids[:2]))
    with pytest.raises(ProtocolError, match=f"it has {two}, and lacks nobody"):
        BATCH.check_ids(BATCH.ids[2:])


# The folder for the relay.


@pytest.mark.parametrize("made", [batch_and_folder, terms_and_folder])
def test_a_folder_reads_back_and_holds_the_signed_rolls(
    tmp_path: Path, made: Callable[[], tuple[Any, Folder]]
) -> None:
    folder = made()[1]
    folder.save(tmp_path / "relay")
    assert Folder.load(tmp_path / "relay") == folder
    assert (tmp_path / "relay/batch.json").read_bytes() == folder.message.to_json()
    with pytest.raises(ProtocolError, match=r"has no batch\.json"):
        Folder.load(tmp_path)
    first, *rest = folder.rolls
    for rolls in ((first[32:], *rest), (first + first[:32], *rest), (bytes(len(first)), *rest), ()):
        with pytest.raises(ProtocolError, match="not the ones that were signed"):
            Folder(folder.message, rolls)
    (tmp_path / "relay/rolls.bin").write_bytes(b"".join(folder.rolls)[::-1])
    with pytest.raises(ProtocolError, match="not the ones that were signed"):
        Folder.load(tmp_path / "relay")


def test_a_roll_with_more_places_than_people_is_refused() -> None:
    """Whoever signed it: places nobody was invited to are places for puppets."""
    roll = make_roll([*TOKENS, token(99)], RELAY)
    terms = replace(TERMS, rolls=(hashlib.sha256(roll).hexdigest(),))
    with pytest.raises(ProtocolError, match="not the ones that were signed"):
        Folder(terms.message(organiser()), (roll,))


# The roster.


def test_a_roster_is_in_the_order_of_ids_and_reads_back() -> None:
    terms = replace(TERMS, minimum=3)
    members = [one.public for one in people(4)]
    roster = Roster.of(terms, members[::-1])
    assert roster.ids == tuple(sorted(one.id for one in members))
    assert roster.modulus == 5
    assert roster.member(members[0].id) == members[0]
    assert roster.member("0" * 64) is None
    said = roster.message(organiser())
    assert (said.kind, said.run) == ("roster", terms.digest)
    assert Roster.read(said, terms) == roster
    assert Roster.read(said, terms).digest == roster.digest
    for other in (Roster.of(terms, members[1:]), Roster.of(replace(terms, minimum=4), members)):
        assert other.digest != roster.digest


def test_a_roster_is_refused_unless_its_organiser_signed_it_for_these_terms() -> None:
    terms = replace(TERMS, minimum=3)
    roster = Roster.of(terms, [one.public for one in people(4)])
    good = roster.message(organiser())
    for wrong, reason in (
        (write(organiser(), "accept", terms.digest, good.body), "'accept' of other terms"),
        (write(organiser(), "roster", "0" * 64, good.body), "'roster' of other terms"),
        (write(people(1)[0], "roster", terms.digest, good.body), "under the roster is not valid"),
        (said(good, more=1), "a roster has an unknown field"),
        (said(good, members=[{}] * 201), "'members' of a roster must be a list of at most 200"),
        (said(good, members=good.body["members"][::-1]), "once each, in the order of their ids"),
        (said(good, members=good.body["members"][:1] * 3), "once each, in the order of their ids"),
        (said(good, members=good.body["members"][:2]), "2 came of 12 invited; .* at least 3"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            Roster.read(wrong, terms)


def said(good: Message, **change: Any) -> Message:
    """A roster of the organiser's with another body."""
    return write(organiser(), good.kind, good.run, {**good.body, **change})


def test_two_members_of_a_roster_never_share_a_key() -> None:
    terms = replace(TERMS, minimum=3, people=4)
    members = people(5)
    twin = Identity(members[4].signing_secret, members[0].sealing_secret)
    with pytest.raises(ProtocolError, match="two members of the roster share a sealing key"):
        Roster.of(terms, [one.public for one in (*members[:3], twin)])
    assert len(Roster.of(terms, [one.public for one in members[:4]]).ids) == 4
    assert len(Roster.of(terms, [one.public for one in members[:3]]).ids) == 3
    with pytest.raises(ProtocolError, match="5 came of 4 invited"):
        Roster.of(terms, [one.public for one in members])
