"""Sentences of the report."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mdrr
from mdrr.reporting.words import protocol_name, query_words, reported_words, size_words

DOMAIN = mdrr.Domain(tuple(mdrr.Attribute(name, ("x", "y")) for name in "abc"))
PUBLIC = mdrr.Domain((mdrr.Attribute("a", ("x", "y"), public=True), *DOMAIN.attributes[1:]))
(ALL,) = mdrr.independent(DOMAIN, p=0.5).questionnaires
FIRST, SECOND, LAST = mdrr.sampled(DOMAIN, 2, epsilon=1.0).questionnaires
MIXED = mdrr.Design(DOMAIN, tuple(replace(q, weight=2**14) for q in (ALL, FIRST, SECOND, LAST)))


@pytest.mark.parametrize(
    ("design", "name"),
    [
        (mdrr.independent(DOMAIN, p=0.5), "RR-Independent"),
        (mdrr.joint(DOMAIN, p=0.5), "RR-Joint"),
        (mdrr.clustered(DOMAIN, [["a", "b"], ["c"]], p=0.5), "RR-Clusters"),
        (mdrr.sampled(DOMAIN, 1, epsilon=1.0), "a sampled design"),
    ],
)
def test_every_protocol_has_its_name(design: mdrr.Design, name: str) -> None:
    assert protocol_name(design) == name


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (mdrr.independent(DOMAIN, p=0.5), "every attribute, each on its own"),
        (mdrr.joint(DOMAIN, p=0.5), "every attribute, as one answer"),
        (mdrr.clustered(DOMAIN, [["a", "b"], ["c"]], p=0.5), "every attribute, in 2 clusters"),
        (MIXED, "2 to 3 attributes"),
        (mdrr.independent(PUBLIC, p=0.5), "a as it is, and every other attribute, each on its own"),
        (mdrr.sampled(PUBLIC, 1, epsilon=1.0), "a as it is, and 1 other attribute"),
        (mdrr.sampled(DOMAIN, 1, epsilon=1.0), "1 attribute"),
        (
            mdrr.split_questionnaire(DOMAIN, ["ab", "bc"], epsilon=1.0),
            "2 attributes, as one answer",
        ),
        (
            mdrr.split_questionnaire(DOMAIN, ["ab", "c"], epsilon=1.0),
            "1 to 2 attributes, as one answer",
        ),
        (mdrr.independent(DOMAIN.project(["a"]), p=0.5), "the attribute"),
    ],
)
def test_what_a_person_reports_is_a_phrase(design: mdrr.Design, words: str) -> None:
    assert reported_words(design) == words


def test_sizes_too_large_to_read_are_powers_of_ten() -> None:
    assert size_words(10**15 - 1) == "999,999,999,999,999"
    assert size_words(3 * 10**40) == "about 10^40"


def test_queries_in_words() -> None:
    assert query_words({"a": "x", ("b", "c"): [("x", "y")]}) == "a: x; b with c: x/y"
    assert query_words("a == 'x'") == "a == 'x'"
    assert query_words(mdrr.Query.of({"c": ["x"]}, DOMAIN)) == "a set over c"
