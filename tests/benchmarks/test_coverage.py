"""The page on coverage is made of its results, those are what is promised, and misses are seen."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.coverage import (
    BLOCK,
    FEW,
    ROUNDS,
    Questions,
    Setting,
    asked_both,
    design_of,
    gathered,
    jobs,
    judged,
    measured,
    people_of,
    rows_of,
    settings,
    summary,
    totals,
    work,
)
from benchmarks.coverage_page import HIGH, KINDS, LOW, document
from benchmarks.data import HELD_OUT, load
from benchmarks.methods import collected

import mdrr
from mdrr.estimation import METHODS
from tests.chance import z

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/coverage.json").read_text("utf-8"))
SMALL = Setting("network", 500, "independent", 4.0, "pairwise")


def entry(kinds, seeds):
    return {"rounds": {str(seed): kinds for seed in seeds}}


def page(kinds, setting=SMALL, seeds=range(10)):
    auto = Setting(*jobs([setting], 1)[0][:4])
    done = {jobs([auto], len(seeds))[0]: entry(kinds, seeds)}
    return " ".join(document(gathered([auto], done)).split())


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs/benchmarks/coverage.md").read_text("utf-8") == document(RESULTS)


def test_every_setting_of_the_results_is_one_of_the_list():
    listed = {jobs([setting], 1)[0][:-2] for setting in settings()}
    names = ("data", "n", "design", "epsilon", "method", "of")
    assert {tuple(row[name] for name in names) for row in RESULTS["rows"]} <= listed


def test_intervals_hold_the_truth_in_93_to_97_of_100_cases():
    """Within the standard error over randomizations; more where the estimate makes them longer."""
    known = [
        (row, kind, row["kinds"][kind])
        for row in RESULTS["rows"]
        for kind in KINDS
        if kind in row["kinds"]
    ]
    assert len(known) > 50
    for row, kind, found in known:
        assert found["held"] > LOW - z() * found["error"], (row, kind)


def test_settings_are_balanced():
    listed = settings()
    assert len(set(listed)) == len(listed)
    main = [s for s in listed if s.method == "auto" and s.of == "people"]
    assert len(main) == 40
    assert {s.n for s in main} == {500, 2_000, 10_000, 32_561, 100_000}
    for n in {s.n for s in main}:
        some = [s for s in main if s.n == n]
        pairs = {(s.design, s.epsilon) for s in some}
        assert {(d, e) for d in ("planned", "independent") for e in (1.0, 4.0, 16.0)} <= pairs
        assert n == 32_561 or {s.data in HELD_OUT for s in some} == {True, False}
    assert {2.0, 8.0} < {s.epsilon for s in main}
    assert min(sum(s.data == name for s in main) for name in {s.data for s in main}) >= 3
    assert {s.method for s in listed} == set(METHODS)


def test_jobs_take_all_settings_before_the_next_block():
    listed = settings()
    todo = jobs(listed, ROUNDS)
    assert len(set(todo)) == len(todo) == len(listed) * ROUNDS // BLOCK
    assert [job[-2] for job in todo] == sorted(job[-2] for job in todo)
    assert [job[-2:] for job in jobs(listed[:1], 25)] == [(0, 10), (10, 10), (20, 5)]


def test_people_are_as_many_as_asked():
    assert people_of("network", 500).n == 500
    drawn, whole = people_of("adult", 20_000), load("adult")
    assert drawn.n == 20_000
    assert people_of("adult", whole.n) is whole
    one = whole.domain.names[:1]
    away = np.abs(drawn.table(one) - whole.table(one))
    assert (away <= z() * np.sqrt(whole.table(one) / drawn.n)).all()


def test_questions_are_of_the_kind_they_are_called():
    people = people_of("network", 500)
    names = people.domain.names
    apart = mdrr.clustered(people.domain.project(names[:4]), [names[:4]], p=0.5)
    questions = Questions(people, apart)
    asked = list(questions.drawn(np.random.default_rng(1)))
    counts = {}
    for one in asked:
        counts.setdefault(one.kind, []).append(one.truth * people.n)
        together = set(one.query.attributes) <= set(names[:4]) or len(one.query.attributes) == 1
        assert together != one.kind.startswith("apart")
    assert min(counts["cells"]) > FEW - 0.5
    assert min(counts["rare"]) > 0.5
    assert max(counts["rare"]) < FEW - 0.5
    assert max(counts["empty"]) == 0
    assert len(counts["categories"]) > 0.9 * sum(people.domain.shape)
    assert min(counts["sets"]) > 0
    assert min(counts["apart cells"]) > FEW - 0.5
    assert "apart sets" not in counts
    assert all(len(o.query.terms) == 2 for o in asked if o.kind == "apart cells")


def test_a_short_run_covers_and_a_surer_interval_is_found_out():
    """Twelve randomizations; intervals of 60 % called 95 % are outside by far."""
    done = {job: work(job) for job in jobs([SMALL], 12)}
    (row,) = gathered([SMALL], done)["rows"]
    assert row["rounds"] == 12
    for kind in KINDS:
        found = row["kinds"][kind]
        assert found["held"] > LOW - z() * found["error"], kind
        assert 0 < found["width"] < 0.5
    people = people_of(SMALL.data, SMALL.n)
    design = mdrr.independent(people.domain, epsilon=SMALL.epsilon)
    asked = list(Questions(people, design).drawn(np.random.default_rng(0)))
    short = [
        judged(
            mdrr.estimate(collected(people, design, seed), design, "product"), asked, "people", 0.6
        )
        for seed in range(6)
    ]
    found = summary(totals([sums["categories"] for sums in short]))
    assert found["held"] < LOW - z() * found["error"]


def test_a_randomization_is_the_same_each_time():
    setting = Setting("network", 500, "independent", 4.0, "product")
    assert measured(setting, 3) == measured(setting, 3)
    assert measured(setting, 3) != measured(setting, 4)


def test_for_a_population_people_are_drawn_anew():
    of = Setting("network", 500, "independent", 16.0, "product", "population")
    people = Setting("network", 500, "independent", 16.0, "product")
    wide, narrow = measured(of, 0)["categories"], measured(people, 0)["categories"]
    assert wide[2] > narrow[2]


def test_a_randomization_that_was_done_twice_counts_once():
    kinds = {"categories": [50, 48, 5.0]}
    done = {
        (*jobs([SMALL], 1)[0][:-2], 0, 2): entry(kinds, range(2)),
        (*jobs([SMALL], 1)[0][:-2], 0, 10): entry(kinds, range(10)),
    }
    (row,) = gathered([SMALL], done)["rows"]
    assert row["rounds"] == 10
    assert row["kinds"]["categories"]["count"] == 500


def test_the_error_is_that_of_a_mean_over_randomizations():
    """Held by all or by none: the share of randomizations, however many questions each has."""
    found = summary(totals([[100, 100, 1.0]] * 30 + [[100, 0, 1.0]] * 10))
    assert found["held"] == 0.75
    assert found["error"] == pytest.approx((0.75 * 0.25 / 39) ** 0.5, abs=1e-5)
    assert found["width"] == 0.01
    assert summary(totals([[100, 100, 1.0]] * 4))["error"] == pytest.approx(
        (0.05 * 0.95 / 400) ** 0.5, abs=1e-5
    )


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (90, "1 are below 93% and 0 above 97%"),
        (95, "0 are below 93% and 0 above 97%"),
        (99, "0 are below 93% and 1 above 97%"),
    ],
)
def test_the_page_counts_what_is_outside(held, words):
    assert words in page({"categories": [100, held, 5.0]})


def test_the_page_names_what_is_above_and_how_many_people_are_asked_a_pair():
    text = page({"categories": [100, 99, 5.0], "cells": [100, 95, 5.0]})
    assert "Above are single attributes of network, 500 people, independent, ε = 4 (500" in text
    assert "Above are" not in page({"categories": [100, 95, 5.0]})


def test_people_asked_a_pair_are_those_of_the_questionnaires_that_have_it():
    """Everybody, or of 45 pairs of ten attributes an even share."""
    assert asked_both(SMALL) == 500
    small = Setting("network", 500, "planned", 1.0)
    design = design_of("network", 500, "planned", 1.0)
    pairs = [q.weight for q in design.questionnaires if len(q.attributes) == 2]
    assert all(len(q.attributes) <= 2 for q in design.questionnaires)
    assert asked_both(small) == round(500 * np.median(pairs) / design.weights)


def test_the_page_says_how_many_randomizations_there_are():
    kinds = {"categories": [100, 95, 5.0]}
    assert "with 10 randomizations" in page(kinds)
    assert "**These are first numbers.**" in page(kinds)
    assert "A whole run has 200." in page(kinds)
    assert "first numbers" not in page(kinds, seeds=range(ROUNDS))
    assert "| network | 500 | independent | 4 | 200 |" in page(kinds, seeds=range(ROUNDS))


def test_the_page_tells_bounds_from_confidence():
    text = page({"categories": [100, 95, 5.0], "apart cells": [60, 60, 20.0]})
    assert "no confidence interval" in text
    assert "| 100.0% ± 0.9 (33) | |" in text
    assert HIGH < 1


def test_the_page_marks_held_out_data_sets():
    kinds = {"categories": [100, 95, 5.0]}
    held_out = Setting("potts", 500, "independent", 4.0)
    assert "| potts\\* |" in page(kinds, held_out)
    assert "| held out | single attributes | 1 |" in page(kinds, held_out)
    assert "| held out |" not in page(kinds)


def test_another_run_goes_on_from_the_results():
    """Ten randomizations and ten more have the results of twenty; none is made or counted twice."""
    rng, seeds = np.random.default_rng(3), range(20)
    rounds = {
        str(seed): {"cells": [8, int(rng.integers(6, 9)), float(rng.random())]} for seed in seeds
    }
    first, second = jobs([SMALL], 20)
    parts = [{"rounds": {str(s): rounds[str(s)] for s in seeds[at : at + 10]}} for at in (0, 10)]
    whole = gathered([SMALL], {first: parts[0], second: parts[1]})
    before = rows_of(gathered([SMALL], {first: parts[0]}))
    assert jobs([SMALL], 20, before) == [second]
    assert gathered([SMALL], {first: parts[0], second: parts[1]}, before) == whole
    (row,) = whole["rows"]
    held = np.array([each["cells"][1] for each in rounds.values()])
    assert row["rounds"] == 20
    assert row["kinds"]["cells"]["held"] == pytest.approx(held.sum() / 160, abs=1e-5)
    spread = held.std(ddof=1) / np.sqrt(20) / 8
    assert row["kinds"]["cells"]["error"] == pytest.approx(
        max(spread, np.sqrt(0.05 * 0.95 / 160)), abs=1e-5
    )
