"""What a collector says is checked before anybody answers it."""

from dataclasses import replace
from functools import partial

import pytest

from mdrr.collector import Asked, CollectorError, Link, body, dashboard, said
from mdrr.frozen import texts
from mdrr.respondent import fingerprint
from mdrr.response import Report
from mdrr.server.blind import key_hash, to_text
from tests.server.cases import DESIGN, SAMPLED, SURVEY

LINK = Link(
    "https://example.org", "abcdefgh", DESIGN.fingerprint, "secret-invitation".ljust(43, "x")
)


def offered(**changes: object) -> dict:
    return {
        "state": "open",
        "survey": texts(SURVEY),
        "design": DESIGN.to_dict(),
        "invitations": "required",
        "answer_bytes": 512,
        "blind_key": None,
        **changes,
    }


def test_links_are_read_as_they_are_written():
    assert Link.parse(str(LINK)) == LINK
    assert "secret-invitation" not in repr(LINK)
    below = Link.parse("https://example.org/surveys/s/abcdefgh")
    assert (below.base, below.fingerprint, below.invitation) == (
        "https://example.org/surveys",
        None,
        None,
    )
    assert below.api == "https://example.org/surveys/api/surveys/abcdefgh"
    assert dashboard("https://example.org/", "abcdefgh", "a&b").endswith("#token=a%26b")


def test_a_link_says_which_key_signs_blind_invitations():
    """Whoever gets a key of her own could be told apart by it."""
    mine, other = b"a public key", b"another"
    link = replace(LINK, key=key_hash(mine))
    assert Link.parse(str(link)) == link
    offer = partial(offered, invitations="blind")
    assert Asked.from_dict(offer(blind_key=to_text(mine)), link).blind_key == to_text(mine)
    for bad in (to_text(other), to_text(mine) + "=", None, 7):
        with pytest.raises(CollectorError, match="another key than your link promises"):
            Asked.from_dict(offer(blind_key=bad), link)


def test_a_link_says_in_which_words_a_survey_asks():
    """A collector that swaps two labels under the same design is found out."""
    link = replace(LINK, words=fingerprint(texts(SURVEY)))
    assert Link.parse(str(link)) == link
    assert Asked.from_dict(offered(), link).survey == SURVEY
    swapped = texts(SURVEY)
    swapped["questions"][0]["labels"].reverse()
    assert Asked.from_dict(offered(survey=swapped), LINK).survey != SURVEY
    with pytest.raises(CollectorError, match="other words than your link promises"):
        Asked.from_dict(offered(survey=swapped), link)


@pytest.mark.parametrize(
    "text",
    ["", "abc", "ftp://x/s/abcdefgh", "https://x/t/abcdefgh", "http://[/s/a", "https:///s/a"],
)
def test_what_is_no_link_is_refused(text):
    with pytest.raises(CollectorError, match="no link to a survey"):
        Link.parse(text)


@pytest.mark.parametrize(
    ("base", "is_open"),
    [
        ("http://example.org", True),
        ("https://example.org", False),
        ("http://127.0.0.1:8000", False),
        ("http://[::1]:8000", False),
        ("http://localhost", False),
        ("http://127.0.0.1.example.org", True),
        ("http://10.0.0.1", True),
    ],
)
def test_plain_http_is_told_apart(base, is_open):
    assert Link.parse(f"{base}/s/abcdefgh").travels_open is is_open


def test_a_good_offer_is_taken():
    asked = Asked.from_dict(offered(), LINK)
    assert (asked.design, asked.survey, asked.answer_bytes) == (DESIGN, SURVEY, 512)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (offered(design=SAMPLED.to_dict()), "another design than your link promises"),
        (offered(state="closed"), "does not take answers"),
        (offered(survey={}), "cannot be read"),
        (offered(design={}), "cannot be read"),
        (offered(answer_bytes="512"), "cannot be read"),
        (offered(answer_bytes=-1), "cannot be read"),
        (offered(invitations="some"), "cannot be read"),
        ({}, "cannot be read"),
        ([], "did not answer with a survey"),
    ],
)
def test_a_bad_offer_is_refused(fields, complaint):
    with pytest.raises(CollectorError, match=complaint):
        Asked.from_dict(fields, LINK)


def test_an_invitation_is_needed_where_the_survey_needs_one():
    with pytest.raises(CollectorError, match="needs an invitation"):
        Asked.from_dict(offered(), Link("https://example.org", "abcdefgh", DESIGN.fingerprint))


def test_all_answers_have_one_length():
    short, long = Report("f", 0, (1,), "0" * 32), Report("f", 0, (123456,), "0" * 32)
    assert len(body(short, None, 300)) == len(body(long, "x" * 43, 300)) == 300
    with pytest.raises(CollectorError, match="longer than"):
        body(long, None, 50)


def test_a_refusal_commands_no_terminal():
    text = said(403, {"error": "no\x1b[2J" + "x" * 1000})
    assert "\x1b" not in text
    assert len(text) < 400
    assert "gave no reason" in said(500, None)
