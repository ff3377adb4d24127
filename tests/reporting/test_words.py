"""Sentences of the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import mdrr
from mdrr.estimation import Estimate
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.reporting.words import (
    design_words,
    made_words,
    pairs_words,
    protocol_name,
    query_words,
    reported_words,
    size_words,
)
from mdrr.tallies import tally_codes

DOMAIN = mdrr.Domain(tuple(mdrr.Attribute(name, ("x", "y")) for name in "abc"))


@pytest.mark.parametrize(
    ("design", "name", "words"),
    [
        (mdrr.independent(DOMAIN, p=0.5), "RR-Independent", "on its own"),
        (mdrr.joint(DOMAIN, p=0.5), "RR-Joint", "All attributes were randomized together"),
        (mdrr.clustered(DOMAIN, [["a", "b"], ["c"]], p=0.5), "RR-Clusters", "in 2 clusters"),
        (mdrr.sampled(DOMAIN, 1, epsilon=1.0), "a sampled design", "one of 3 questionnaires"),
    ],
)
def test_every_protocol_has_its_name_and_words(design: mdrr.Design, name: str, words: str) -> None:
    assert protocol_name(design) == name
    assert words in " ".join(design_words(design))
    assert "3 attributes with 8 possible" in design_words(design)[0]


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (mdrr.independent(DOMAIN, p=0.5), "every attribute, each on its own"),
        (mdrr.joint(DOMAIN, p=0.5), "every attribute, as one answer"),
        (mdrr.clustered(DOMAIN, [["a", "b"], ["c"]], p=0.5), "every attribute, in 2 groups"),
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


@pytest.mark.parametrize(
    ("design", "together", "words"),
    [
        (mdrr.joint(DOMAIN, p=0.5), "all", "Everybody reports all attributes as one answer"),
        (mdrr.sampled(DOMAIN, 2, epsilon=1.0), "all", "Some people report each pair as one answer"),
        (mdrr.independent(DOMAIN, p=0.5), "", "every pair's questions are randomized apart"),
        (
            mdrr.clustered(DOMAIN, [["a", "b"], ["c"]], p=0.5),
            "some",
            "a grey pair's questions are randomized apart",
        ),
        (mdrr.sampled(DOMAIN, 1, epsilon=1.0), "", "Nobody is asked both of every pair's"),
    ],
)
def test_how_pairs_reach_the_collector(design: mdrr.Design, together: str, words: str) -> None:
    assert words in pairs_words(design, together)


def test_sizes_too_large_to_read_are_powers_of_ten() -> None:
    assert size_words(10**15 - 1) == "999,999,999,999,999"
    assert size_words(3 * 10**40) == "about 10^40"


@dataclass(frozen=True)
class Note:
    stopped: str
    iterations: int


def test_an_estimator_not_known_here_still_says_why_it_stopped() -> None:
    joint = ProductJoint(DOMAIN, tuple(Factor((n,), np.array([0.5, 0.5])) for n in "abc"))
    notes = {"fit": Note("the likelihood rose by less than 1e-6", 1200), "classes": 16}
    design = mdrr.independent(DOMAIN, p=0.5)
    tally = tally_codes([[[0, 1]] * 3], design, counts=[[5, 5]])
    made = Estimate("oracle", joint, Evidence(tally, design), notes)
    words = " ".join(made_words(made, design))
    assert "“oracle”" in words
    assert "The fit stopped after 1,200 iterations because the likelihood rose" in words


def test_queries_in_words() -> None:
    assert query_words({"a": "x", ("b", "c"): [("x", "y")]}) == "a: x; b with c: x/y"
    assert query_words("a == 'x'") == "a == 'x'"
    assert query_words(mdrr.Query.of({"c": ["x"]}, DOMAIN)) == "a set over c"
