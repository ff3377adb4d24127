"""The short version of `make bench-accuracy`, and the tests of what it measures with."""

import json
import re
from dataclasses import replace
from html import unescape
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from benchmarks.accuracy import jobs, summary, work
from benchmarks.accuracy_book import Book, choices, each_peer, small_budgets
from benchmarks.accuracy_page import OVERVIEW_CHART, document, summits, write
from benchmarks.data import DATA, correlated, load, network
from benchmarks.methods import METHODS, REVISION, available
from benchmarks.metrics import METRICS, workload
from benchmarks.peers import calm, ldpy, maxent, oracle
from benchmarks.peers.ibu import ibu

import mdrr
from benchmarks import runner
from mdrr.estimation.project import nearest
from mdrr.estimation.unbiased import unbiased
from mdrr.randomizer import randomize_codes
from mdrr.tallies import tally_codes

ROOT = Path(__file__).resolve().parents[2]
Z = 4.42  # two-sided 1e-5
CHARTS = ("accuracy", "accuracy-held-out")


@pytest.fixture
def small(monkeypatch):
    """A few people of the network, under a name the methods can load."""
    monkeypatch.setitem(DATA, "small", lambda: replace(network(4000), name="small"))
    load.cache_clear()
    yield load("small")
    load.cache_clear()


def test_the_truth_has_no_error_and_a_wrong_table_does(small):
    asked = workload(small, queries=50, wide=5)
    assert asked.errors(small.table) == dict.fromkeys(METRICS, 0.0)
    flat = asked.errors(lambda names: np.full_like(small.table(names), 1 / small.table(names).size))
    assert all(value > 0.1 for value in flat.values())
    assert all(query.truth > 0 for query in asked.queries)


def test_what_is_not_a_distribution_is_refused(small):
    asked = workload(small, queries=5, wide=1)
    with pytest.raises(ValueError, match="not a distribution"):
        asked.errors(lambda names: 2 * small.table(names))


def test_every_pair_of_the_correlated_people_is_correlated():
    people = correlated(20_000)
    for pair in combinations(people.domain.names, 2):
        table = people.table(pair)
        product = np.outer(table.sum(axis=1), table.sum(axis=0))
        assert 0.5 * np.abs(table - product).sum() > 0.05


def test_light_methods_in_one_short_run(monkeypatch, tmp_path):
    """Where all is correlated: pairs reported beat ε split, ours the paper on the same reports."""
    monkeypatch.setitem(DATA, "small", lambda: replace(correlated(6000), name="small"))
    load.cache_clear()
    light = ["RR-Independent", "RR-Ind + Adj", "RR-Clusters 50", "Castell", "pair sampling", "CALM"]
    methods = [m for m in [*light, "latent", "auto"] if available(m)]
    done = runner.run(jobs(["small"], [10.0], 1, methods), work, tmp_path / "kept.jsonl", workers=0)
    rows = {row["method"]: row for row in summary(done)["rows"]}
    assert set(rows) == set(methods)
    assert rows["pair sampling"]["tv2"] < 0.7 * rows["RR-Independent"]["tv2"]
    assert rows["Castell"]["tv4"] > 2 * rows["pair sampling"]["tv4"]  # its inverse drowns
    assert rows["latent"]["tv2"] < 0.8 * rows["RR-Independent"]["tv2"]
    assert rows["auto"]["query"] < 0.8 * rows["RR-Independent"]["query"]
    assert rows["auto"]["tv2"] < 1.1 * rows["latent"]["tv2"]
    page = document(summary(done))
    for name, row in rows.items():
        assert f"| {name} |" in page
        assert f"{row['tv2']:.3f}" in page


def test_ours_against_the_best_peer_carries_its_standard_error():
    """Two seeds of .1 and .12 over two of .2: .55, and √2·.01/.11/√2 of it; one seed has none."""
    entries = {"plan + auto": [0.1, 0.12], "SMP": [0.2, 0.2], "CALM": [0.3]}
    done = {
        ("network", 2.0, seed, method): dict.fromkeys(METRICS, value)
        for method, values in entries.items()
        for seed, value in enumerate(values)
    }
    book = Book(summary(done))
    assert str(book.ratio("network", 2.0, "plan + auto", "SMP", "tv1")) == "0.55 ± 0.05"
    assert str(book.ratio("network", 2.0, "plan + auto", "CALM", "tv1")) == "0.37"
    made = "\n".join(small_budgets(book, ["network"])).splitlines()
    assert made.count("| network | 0.55 ± 0.05 (SMP) |") == 2
    assert made.count("| geometric mean | 0.55 ± 0.05 |") == 2
    assert "| SMP | 0.55 | 0.55 |" in "\n".join(each_peer(book)).splitlines()


def test_a_run_goes_on_where_it_stopped(tmp_path):
    kept, calls = tmp_path / "kept.jsonl", []

    def count(job):
        calls.append(job)
        return {"value": job[1]}

    todo = [("a", 1), ("a", 2), ("b", 3)]
    runner.run(todo[:2], count, kept, workers=0)
    kept.write_text(kept.read_text() + '{"job": ["b", 3], "val')  # torn by a crash
    kept.write_text(kept.read_text() + "\n")
    done = runner.run(todo, count, kept, workers=0)
    assert calls == todo
    assert [done[job]["value"] for job in todo] == [1, 2, 3]
    runner.forget(kept, [3])
    assert set(runner.read(kept)) == set(todo[:2])


@pytest.mark.parametrize(("cells", "epsilon"), [(4, 1.0), (40, 1.0)], ids=["GRR", "OUE"])
def test_oracles_are_unbiased_with_the_variance_they_state(cells, epsilon):
    made = oracle.Oracle(cells, epsilon)
    assert made.grr_is_better == (cells == 4)
    codes = np.repeat(np.arange(cells - 1), 2000)  # the last cell is empty
    n, rng = len(codes), np.random.default_rng(3)
    found = np.array([made.estimate(codes, rng) for _ in range(200)])
    truth = np.bincount(codes, minlength=cells) / n
    spread = np.sqrt(made.noise / n)
    assert abs(found[:, -1].mean()) < Z * spread / np.sqrt(200)
    assert np.all(np.abs(found.mean(axis=0) - truth) < Z * 2 * spread / np.sqrt(200))
    assert found[:, -1].std() == pytest.approx(spread, rel=Z / np.sqrt(2 * 200))


def test_rs_fd_spends_more_than_its_epsilon_on_whole_records():
    """RS+FD[GRR] over three binary attributes, written out: the worst pair of records."""
    epsilon, d = 1.0, 3
    p, q = oracle.grr_parameters(2, ldpy.record_epsilon(epsilon, d))

    def chance(report, record):
        return sum(
            (p if y == x else q) / d / 2 ** (d - 1) for y, x in zip(report, record, strict=True)
        )

    every = list(product((0, 1), repeat=d))
    assert sum(chance(report, every[0]) for report in every) == pytest.approx(1)
    ratio = max(chance(y, a) / chance(y, b) for y in every for a in every for b in every)
    near = max(
        chance(y, a) / chance(y, b)
        for y in every
        for a in every
        for b in every
        if sum(i != j for i, j in zip(a, b, strict=True)) == 1
    )
    assert np.log(ratio) == pytest.approx(ldpy.record_epsilon(epsilon, d))
    assert np.log(near) <= epsilon + 1e-9 < np.log(ratio)
    assert ldpy.matched(ldpy.record_epsilon(epsilon, d), d) == pytest.approx(epsilon)


def test_norm_sub_is_the_nearest_distribution():
    table = np.random.default_rng(0).normal(0.05, 0.2, size=(4, 5))
    np.testing.assert_allclose(maxent.norm_sub(table).ravel(), nearest(table.ravel()), atol=1e-12)


def test_maximum_entropy_meets_its_marginals_and_adds_nothing():
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    names = ("a", "b", "c")
    known = {kept: maxent.marginal(joint, names, kept) for kept in [("a", "b"), ("b", "c")]}
    found = maxent.fit(names, (2, 3, 4), known, tolerance=1e-8)
    for kept, target in known.items():
        np.testing.assert_allclose(maxent.marginal(found, names, kept), target, atol=1e-6)
    ab, bc = known["a", "b"], known["b", "c"]  # a and c independent given b
    np.testing.assert_allclose(found, ab[:, :, None] * bc / ab.sum(axis=0)[:, None], atol=1e-6)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_views_cover_every_pair(size):
    covered = {pair for view in calm.cover(8, size) for pair in combinations(view, 2)}
    assert covered == set(combinations(range(8), 2))


def test_calm_widens_its_views_with_the_budget(small):
    narrow = calm.best_views(small.domain, small.n, 1.0)
    wide = calm.best_views(small.domain, small.n, 20.0)
    assert len(narrow[0]) == 2 < len(wide[0])


def test_agreeing_views_share_their_marginals(small):
    rng = np.random.default_rng(5)
    views = calm.collect(small, 2.0, calm.cover(len(small.domain.shape), 2), rng)
    before = _apart(views, [view.table for view in views])
    assert _apart(views, calm.consistent(views)) < before / 4


def _apart(views, tables):
    margins = {}
    for view, table in zip(views, tables, strict=True):
        for name in view.names:
            margins.setdefault(name, []).append(maxent.marginal(table, view.names, (name,)))
    return max(np.ptp(np.array(found), axis=0).max() for found in margins.values())


def results_of(names, *, held_out=()):
    """Results as if two methods had been run: ours better than the peer by a ratio per data set."""
    about = {"n": 1000, "attributes": 1, "cells": 2, "sizes": [2], "about": "made for a test"}
    rows = [
        {"data": name, "epsilon": epsilon, "method": method, "seeds": 1}
        | dict.fromkeys(METRICS, error * (ratio if method == "CALM" else 1.0))
        for name, ratio in names.items()
        for epsilon, error in ((1.0, 0.2), (4.0, 0.1))
        for method in ("CALM", "auto", "pairwise")
    ]
    groups = {"CALM": "peer", "auto": "ours", "pairwise": "ours"}
    return {
        "queries": 10,
        "adult_queries": 20,
        "wide": 1,
        "versions": {"mbi": "2.0.0"},
        "people": {name: about | {"held_out": name in held_out} for name in names},
        "methods": {name: {"group": group, "about": ""} for name, group in groups.items()},
        "choices": choices(
            {(row["data"], row["epsilon"], row["method"]): {0: row} for row in rows}
        ),
        "rows": rows,
    }


def test_choosing_is_compared_over_common_seeds():
    """`ibu` was run once, where `auto` erred by .3: 1.5 times its .2, not the .2 of all seeds."""
    entries = {"auto": [0.3, 0.1], "latent": [0.2, 0.2], "ibu": [0.2]}
    grouped = {
        ("fair", 2.0, method): {seed: dict.fromkeys(METRICS, v) for seed, v in enumerate(values)}
        for method, values in entries.items()
    }
    (found,) = choices(grouped)
    assert found["tv2"] == (1.5, "ibu")


def section(page, start, end):
    return page.split(start, 1)[1].split(end, 1)[0]


def test_held_out_data_sets_are_judged_apart(tmp_path):
    results = results_of({"adult": 2.0, "fair": 3.0, "potts": 0.5}, held_out=["potts"])
    page = document(results)
    seen = section(page, "### Data sets the defaults were chosen on: adult and fair\n", "###")
    held = section(page, "### Held-out data sets: potts\n", "###")
    assert "| Count queries | 4 | 0 | 0 | 2.50 | 2.00 | 3.0 |" in seen
    assert "A peer is better" not in seen
    assert "| Count queries | 0 | 0 | 2 | 0.50 | 0.50 | 0.5 |" in held
    assert "| Count queries | potts | 1 | CALM | 0.100 | 0.200 | 2.00 |" in held
    costs = section(page, "## What choosing costs", "## Data\n")
    assert "4 of 4" in section(costs, "adult and fair\n", "###")
    assert "2 of 2" in costs.split("Held-out data sets: potts\n")[1]
    head = " ".join(page.split("## Who wins")[0].split())
    assert "looking at errors on adult and fair, mostly on Adult" in head
    assert "Held out: potts." in head
    assert "| fair | chosen on it | 1,000 |" in page
    assert "| potts | held out | 1,000 |" in page
    pytest.importorskip("altair")
    write(results, tmp_path / "page.md", tmp_path)
    drawn = {name: (tmp_path / f"{name}.svg").read_text() for name in CHARTS}
    assert ["potts" in drawn[name] for name in CHARTS] == [False, True]
    assert ["adult" in drawn[name] for name in CHARTS] == [True, False]


def test_a_note_stands_until_our_methods_are_measured_anew():
    """Rows say under which revision they were measured; those without are older than all."""
    results = results_of({"adult": 2.0})
    note = '--again "auto,pairwise"'
    assert note in document(results)
    for row in results["rows"]:
        if row["method"] == "auto":
            row["revision"] = REVISION
    assert '--again "pairwise"' in document(results)
    for row in results["rows"]:
        if row["method"] != "CALM":  # a peer's results do not age with our estimators
            row["revision"] = REVISION
    assert "older than the code" not in document(results)


def test_results_are_as_old_as_their_oldest_seed():
    entry = dict.fromkeys(METRICS, 0.1)
    done = {("network", 1.0, seed, "auto"): entry | {"revision": REVISION} for seed in (0, 1)}
    assert [row["revision"] for row in summary(done)["rows"]] == [REVISION]
    done["network", 1.0, 2, "auto"] = entry
    assert [row["revision"] for row in summary(done)["rows"]] == [1]


def test_the_page_opens_with_one_table_and_one_chart():
    page = document(results_of({"adult": 2.0, "fair": 8.0}))
    opening = section(page, "## In short", "## What is measured")
    assert "| best peer | 0.400 | 0.200 |" in opening
    assert "| auto | 0.200 | 0.100 |" in opening
    assert "| *all 2 data sets:* auto ÷ best peer | 0.25 | 0.25 |" in opening  # of 1/2 and 1/8
    assert "Best peer: CALM (ε = 1, 4)." in opening
    assert "img/accuracy-adult.svg" in opening


def test_a_page_without_held_out_data_sets_says_so():
    page = document(results_of({"adult": 2.0}))
    assert "No data set here is held out." in page.replace("\n", " ")
    assert "Held-out data sets" not in page
    assert "accuracy-held-out.svg" not in page


def test_summaries_say_what_is_held_out():
    entry = dict.fromkeys(METRICS, 0.1)
    done = {(name, 1.0, 0, "SMP"): entry for name in ("network", "potts")}
    people = summary(done)["people"]
    assert {name: people[name]["held_out"] for name in people} == {"network": False, "potts": True}


def test_the_page_is_made_of_the_committed_results():
    results = json.loads((ROOT / "benchmarks/results/accuracy.json").read_text("utf-8"))
    assert (ROOT / "docs/benchmarks/accuracy.md").read_text("utf-8") == document(results)
    held_out = any(people.get("held_out") for people in results["people"].values())
    for name in ("accuracy-adult", *CHARTS[: 1 + held_out]):
        assert (ROOT / f"docs/benchmarks/img/{name}.svg").exists()
    listed = {m.name: {"group": m.group, "about": m.about} for m in METHODS.values()}
    assert results["methods"] == listed


def test_the_readme_shows_a_chart_of_the_committed_results():
    """Every point of the chart is a number of the results, and every number is a point."""
    results = json.loads((ROOT / "benchmarks/results/accuracy.json").read_text("utf-8"))
    image = ROOT / "docs/benchmarks/img" / OVERVIEW_CHART
    assert f"](docs/benchmarks/img/{OVERVIEW_CHART})" in (ROOT / "README.md").read_text("utf-8")
    pattern = r'aria-label="total ε: ([\d.]+); error: ([\d.e-]+); method: ([^"]+)"'
    drawn = re.findall(pattern, unescape(image.read_text("utf-8")))
    shown = {(method, float(epsilon)): float(error) for epsilon, error, method in drawn}
    wanted = {(p["method"], p["epsilon"]): p["error"] for p in summits(Book(results))}
    assert shown == pytest.approx(wanted, rel=1e-4)
    assert len(wanted) == 32


def test_our_own_methods_need_no_other_package():
    ours = [m for m in METHODS.values() if m.group in ("ours", "paper")]
    assert "plan + auto" in [m.name for m in ours]
    assert all(m.needs is None for m in ours)


def test_the_bayesian_update_is_the_inverse_where_that_is_proper():
    """And its tables, in any order of the attributes, agree with its margins."""
    domain = mdrr.Domain(tuple(mdrr.Attribute(n, tuple(range(r))) for n, r in (("a", 2), ("b", 3))))
    design = mdrr.independent(domain, p=0.6)
    rng = np.random.default_rng(2)
    codes = [rng.integers(0, 2, 20_000), rng.integers(0, 3, 20_000)]
    codes[1] = np.where(rng.random(20_000) < 0.4, codes[0], codes[1])
    tally = tally_codes(randomize_codes(codes, design, mdrr.SeededSource(1)), design)
    answer = ibu(tally, design)
    inverse = unbiased(tally, design, ("b", "a")).values
    assert (inverse > 0).all()
    assert answer(("b", "a")) == pytest.approx(inverse, abs=1e-4)
    assert answer(("a", "b")) == pytest.approx(answer(("b", "a")).T, abs=1e-6)
    assert answer(("a", "b")).sum(axis=0) == pytest.approx(answer(("b",)), abs=1e-9)
