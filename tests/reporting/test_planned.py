"""The page of a plan: its numbers, its words, and nothing from outside."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mdrr
from mdrr.planning import Plan
from mdrr.plots.style import percent
from mdrr.privacy import in_words
from mdrr.reporting import report_plan
from mdrr.reporting.alternatives import why_first
from tests.reporting.parsed import Page

DOMAIN = mdrr.Domain(
    tuple(
        mdrr.Attribute(name, tuple(range(size)))
        for name, size in {"colour": 3, "smokes": 2, "<grade>": 5}.items()
    )
)
PLAN = mdrr.plan(DOMAIN, n=5000, epsilon=3.0)


def text_of(tmp_path: Path, plan: Plan = PLAN) -> str:
    return report_plan(plan, path=tmp_path / "plan.html").read_text("utf-8")


def test_page_stands_alone_and_is_accessible(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    found = Page(text)
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<grade>", text)
    assert len(found.all("h1")) == 1
    assert len(found.all("table")) == len(found.all("caption")) == 1
    assert all("scope" in attrs for attrs in found.all("th"))
    assert [attrs["role"] for attrs in found.all("svg")] == ["img"]


def test_page_holds_the_numbers_of_the_plan(tmp_path: Path) -> None:
    words = Page(text_of(tmp_path)).text
    first, second = PLAN.candidates[:2]
    assert (
        f"With 5,000 people, each spending at most ε = 3, the design “{first.name}” is predicted "
        f"to err by {percent(first.predicted.error)} % on a typical count; the next best, "
        f"“{second.name}”, by {percent(second.predicted.error)} %."
    ) in words
    for c in (first, second):
        kinds = (c.predicted.error, c.predicted.alone, c.predicted.together, c.predicted.worst)
        asked = len(c.design.questionnaires)
        assert f" {' '.join(map(percent, kinds))} {asked} " in words
    for sentence in in_words(PLAN.design):
        assert sentence in words
    assert PLAN.design.fingerprint in words
    assert "in use" not in words


def test_page_says_on_what_it_rests(tmp_path: Path) -> None:
    assert "A pilot of enough people tells how much they do" in Page(text_of(tmp_path)).text
    learnt = Page(text_of(tmp_path, replace(PLAN, assumed=False))).text
    assert "but the dependences that were given." in learnt
    assert "Dependences tell what is lost" in learnt
    assert "A pilot of enough people tells" not in learnt


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ("both", "1 or 2 attributes"),
        ("pairs", "2 attributes"),
        ("singles", "1 attribute"),
        ([("colour", "smokes", "<grade>")], "each table planned for"),
        ([("colour",), ("colour", "smokes")], "each table planned for"),
    ],
)
def test_page_says_what_was_planned_for(tmp_path: Path, workload: Any, words: str) -> None:
    found = mdrr.plan(DOMAIN, n=5000, epsilon=3.0, workload=workload)
    assert f"the combinations of {words}, all" in Page(text_of(tmp_path, found)).text


def test_page_says_how_designs_are_ranked(tmp_path: Path) -> None:
    both = mdrr.plan(DOMAIN, n=5000, epsilon=3.0, worth=2.5)
    words = Page(text_of(tmp_path, both)).text
    assert "single attributes' errors weigh 2.5 times as much as wider tables'" in words
    pairs = mdrr.plan(DOMAIN, n=5000, epsilon=3.0, workload="pairs")
    assert "times as much" not in Page(text_of(tmp_path, pairs)).text


def test_page_says_why_the_best_need_not_err_least(tmp_path: Path) -> None:
    first, *others = PLAN.candidates
    for other, covered, said in (
        (others[0], True, "comes first for single attributes, which count more"),
        (others[0], False, "asks nobody some pair"),
    ):
        less = replace(
            other.predicted,
            error=first.predicted.error / 2,
            alone=2 * first.predicted.alone,
            covered=covered,
        )
        plan = replace(PLAN, candidates=(first, replace(other, predicted=less)))
        assert said in Page(text_of(tmp_path, plan)).text
    assert why_first(PLAN, first) is None
    known = replace(plan, assumed=False)
    assert "comes first for single attributes" in why_first(known, known.candidates[1])
    rare = replace(less, alone=first.predicted.alone / 2)  # then neither is the reason
    assert why_first(known, replace(others[0], predicted=rare)) is None


def test_one_attribute_and_a_hopeless_budget(tmp_path: Path) -> None:
    words = Page(text_of(tmp_path, mdrr.plan(DOMAIN.project(["smokes"]), n=1, epsilon=0.01))).text
    assert "the next best" not in words
    assert "mostly a guess" in words
    assert "A pilot of enough people tells" not in words
