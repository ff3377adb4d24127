import math
from itertools import combinations

import numpy as np
import pytest
from experiments.printed import KEEPS, LEAST_DEPENDENCES, MOST_CELLS
from experiments.runs import dependences, exact_clusters, jobs, once, rr_joint, spent, table, work
from experiments.simulation import adult_people

from experiments import runs
from mdrr.clustering import cluster
from mdrr.dependence import from_codes
from mdrr.protocols import independent
from tests.experiments.made_up import small_people

KNOWN = {
    50: [("relationship", "sex", "income")],
    100: [("education", "income"), ("marital-status", "relationship", "sex")],
    300: [("workclass", "occupation"), ("marital-status", "relationship", "sex", "income")],
}


def test_clusters_of_adult_do_not_change_with_t_d():
    people = adult_people()
    found = exact_clusters(people)
    assert {most: [c for c in found[most] if len(c) > 1] for most in MOST_CELLS} == KNOWN
    exact = from_codes(people.codes, people.domain)
    for most in MOST_CELLS:
        for least in LEAST_DEPENDENCES:
            again = cluster(exact, people.domain, max_cells=most, min_dependence=least)
            assert again == found[most]


def test_every_run_is_in_one_job():
    listed = jobs(1000, 1)
    assert len(set(listed)) == len(listed)
    counts = {}
    for *what, start, stop, _ in listed:
        assert start < stop
        counts.setdefault(tuple(what), []).extend(range(start, stop))
    assert all(sorted(found) == list(range(len(found))) for found in counts.values())
    assert len(counts["figure3", "corrected", "as stated", 1, 0.1]) == 1000
    assert len(counts["table", "corrected", "as stated", 6, 0.7]) == 60_000
    assert {job[5:7] for job in jobs(1, 1) if job[0] == "once"} == {(0, 1)}


def test_a_seed_gives_the_same_numbers_and_another_gives_others():
    job = ("table", "each", "repeated", 1, 0.5, 0, 60, 1)
    found = work(job)
    assert work(job) == found
    assert work((*job[:7], 2)) != found
    assert work((*job[:5], 60, 120, 1)) != found
    assert set(found["errors"]) == {"50", "100", "300"}
    assert all(len(errors) == 60 for errors in found["errors"].values())


def test_both_data_sets_and_all_p_answer_the_same_queries():
    """At p near 1 the error is the bias of independence alone: nearly the same, run by run."""
    one, six = (work(("table", "corrected", "as stated", c, 0.999, 0, 200, 1)) for c in (1, 6))
    near = np.isclose(one["errors"]["300"], six["errors"]["300"], rtol=0.1, atol=0.005)
    assert near.mean() > 0.9


def test_one_data_set_shares_its_luck(monkeypatch):
    """Medians over 1000 queries to one data set vary more than medians over 1000 fresh runs."""
    monkeypatch.setattr(runs, "adult_people", lambda copies=1: small_people(copies=copies))
    shared = once(("once", "corrected", "as stated", 1, 0.1, 0, 60, 1))["50"]
    fresh = table(("table", "corrected", "as stated", 1, 0.1, 0, 30_000, 1))["50"]
    apart = np.median(np.reshape(fresh, (30, 1000)), axis=1)
    assert np.std(shared) > 3 * np.std(apart)
    assert np.median(shared) == pytest.approx(np.median(apart), rel=0.3)


def test_rr_joint_with_almost_no_noise_is_exact(monkeypatch):
    monkeypatch.setattr(runs, "adult_people", lambda copies=1: small_people(9000, copies=copies))
    found = rr_joint(("joint", "corrected", "as stated", 1, 0.99, 0, 5, 1))
    for name in ("whole", "queried", "distance"):
        assert max(found[name]) < 0.02
    assert min(found["independent distance"]) > 0.1  # attributes are dependent


def test_rr_joint_queried_tables_are_unbiased_before_they_are_made_proper(monkeypatch):
    """Their error shrinks with the number of people; that of the whole made proper does not."""
    found = {}
    for rows in (1000, 64_000):
        people = small_people(rows)
        monkeypatch.setattr(runs, "adult_people", lambda copies=1, people=people: people)
        found[rows] = rr_joint(("joint", "corrected", "as stated", 1, 0.2, 0, 40, 1))["queried"]
    assert np.median(found[64_000]) < 0.3 * np.median(found[1000])  # 1/8 expected


def test_ways_to_learn_dependences():
    people, rng = adult_people(), np.random.default_rng(1)
    exact = from_codes(people.codes, people.domain).values
    for way in ("attributes", "pairs"):
        near = dependences(people, way, 0.9, rng).values
        assert np.abs(near - exact).max() < 0.1
    weak = dependences(people, "attenuated", 0.3, rng)
    found = cluster(weak, people.domain, max_cells=50, min_dependence=0.1)
    assert len(found) == 8  # nothing is clustered at small p
    assert (weak.values <= exact + 0.02).all()


def test_what_learning_costs():
    people = adult_people()
    single = independent(people.domain, p=0.3).epsilon
    assert spent(people, "attributes", 0.3) == spent(people, "attenuated", 0.3) == single
    sizes = [a * b for a, b in combinations(people.domain.shape, 2)]
    total = sum(math.log1p(0.3 * r / 0.7) for r in sizes)
    assert spent(people, "pairs", 0.3) == pytest.approx(total, rel=1e-3)


def test_learnt_clusters_that_are_the_same_have_the_same_error():
    found = work(("learnt", "attenuated", "as stated", 1, 0.1, 0, 3, 1))["errors"]
    for most in MOST_CELLS:
        assert found[f"{most} 0.1 clusters"] == [8.0] * 3
        assert found[f"{most} 0.1"] == found[f"{most} 0.3"] == found["50 0.1"]


def test_p_are_the_paper_s():
    assert {job[4] for job in jobs(1, 1)} == set(KEEPS)
