"""Every variant is what its name says, and the page is made of its results."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from benchmarks.ablation import (
    DESIGNS,
    EPSILONS,
    VARIANTS,
    WHOLE,
    WIDE_ONLY,
    _without,
    invented,
    jobs,
    summary,
    work,
)
from benchmarks.ablation_page import METRICS, Book, document, sentences, verdict
from benchmarks.data import SEEN
from benchmarks.methods import collected
from benchmarks.people import coded

import mdrr

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/ablation.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def people():
    """Four attributes that mostly follow the first: there is something for every part to see."""
    rng = np.random.default_rng(5)
    first = rng.integers(3, size=3000)
    columns = {"a": first}
    for name in "bcd":
        columns[name] = np.where(rng.random(3000) < 0.7, first, rng.integers(3, size=3000))
    return coded("made", columns, dict.fromkeys("abcd", 3), "made here")


@pytest.fixture(scope="module")
def reports(people):
    """Three attributes as one, most reports true, and the fourth alone; or all alone and noisy."""
    designs = {
        "nearly exact": mdrr.clustered(people.domain, [["a", "b", "c"], ["d"]], p=0.75),
        "noisy": mdrr.independent(people.domain, epsilon=3.0),
    }
    return {kind: (collected(people, design, 0), design) for kind, design in designs.items()}


@pytest.fixture(scope="module")
def found(reports):
    """Each variant's estimate from some reports, made once."""
    return cache(lambda name, kind: VARIANTS[name](*reports[kind]))


def apart(first, second, *names):
    return float(np.abs(first.table(*names).values - second.table(*names).values).sum())


@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("auto without")])
def test_a_part_that_is_taken_away_is_gone(name, found):
    """A variant that changes nothing would call its part useless."""
    kind = "noisy" if name == "auto without the check on halves" else "nearly exact"
    gaps = [
        apart(found(name, kind), found(WHOLE, kind), *names)
        for names in ("ab", "ad", "cd", "abc", "abcd")
    ]
    assert max(gaps) > 1e-4


def test_auto_is_whole_again_afterwards(found, reports):
    for name in VARIANTS:
        found(name, "noisy")
    assert apart(VARIANTS[WHOLE](*reports["noisy"]), found(WHOLE, "noisy"), *"abcd") < 1e-9


def test_what_is_left_says_so(found):
    def shares(name):
        return found(name, "nearly exact").notes["shares"]

    assert set(shares(WHOLE)) == {"product", "correspondence", "latent"}
    assert set(shares("auto without axes")) == {"product", "latent"}
    assert set(shares("auto without latent classes")) == {"product", "correspondence"}
    undrawn = found("auto without drawing to unbiased tables", "nearly exact")
    assert undrawn.notes["unbiased_weight"] == 0
    assert found(WHOLE, "nearly exact").joint.pinned
    assert not found("auto without records in the joint", "nearly exact").joint.pinned
    assert found("latent with records", "nearly exact").joint.pinned


def test_a_name_that_auto_no_longer_has_is_an_error(reports):
    with pytest.raises(AttributeError, match="gone"):
        _without(gone=1)(*reports["noisy"])


@pytest.mark.parametrize("name", WIDE_ONLY)
def test_what_is_left_out_with_rr_independent_makes_no_difference(name, found):
    same = "latent" if name.startswith("latent") else WHOLE
    assert apart(found(name, "noisy"), found(same, "noisy"), *"abcd") < 1e-9


def test_jobs_go_seed_by_seed_over_everything():
    todo = jobs(SEEN, EPSILONS, 2)
    assert len(set(todo)) == len(todo)
    assert [job[3] for job in todo] == sorted(job[3] for job in todo)
    assert {job[1] for job in todo} == set(DESIGNS)
    planned = [job for job in todo if job[1] == "planned"]
    assert len(planned) == 2 * len(SEEN) * len(EPSILONS) * len(VARIANTS)
    assert len(todo) - len(planned) == len(planned) / len(VARIANTS) * (
        len(VARIANTS) - len(WIDE_ONLY)
    )


def test_one_job():
    found = work(("network", "independent", 4.0, 0, "product"))
    assert set(METRICS) < set(found)
    assert 0 < found["tv1"] < found["tv2"] < found["tv3"] < found["tv4"] < 1
    assert found["cpu"] > 0


def made_up(ratios, seeds=(0, 1)):
    """Results in which a variant's errors are its ratio times the default's."""
    return {
        (name, kind, 1.0, seed, variant): {**dict.fromkeys(METRICS, 0.1 * ratio * (1 + seed))}
        | {"cpu": 2.0 * ratio}
        for name in ("one", "two")
        for kind in DESIGNS
        for seed in seeds
        for variant in VARIANTS
        if kind == "planned" or variant not in WIDE_ONLY
        for ratio in [ratios.get((name, variant), 1.0)]
    }


def test_ratios_are_geometric_means_over_data_sets():
    book = Book(summary(made_up({("one", "product"): 4.0})))
    assert book.mean("product", "planned", ["tv2"]) == pytest.approx(2.0, rel=1e-5)
    assert book.mean("pairwise", "planned", ["tv2"]) == pytest.approx(1.0)
    assert book.mean(WIDE_ONLY[0], "independent", ["tv2"]) is None
    assert book.worst("product")[0] == pytest.approx(4.0, rel=1e-5)
    assert book.cpu("product", "independent") == pytest.approx(5.0)


def test_only_seeds_that_all_variants_have_are_compared():
    done = made_up({})
    del done["one", "planned", 1.0, 1, "latent"]
    rows = summary(done)["rows"]
    seeds = {(row["data"], row["design"]): row["seeds"] for row in rows}
    assert seeds == {
        ("one", "planned"): 1,
        ("one", "independent"): 2,
        ("two", "planned"): 2,
        ("two", "independent"): 2,
    }
    del done["one", "planned", 1.0, 0, "latent"]
    assert ("one", "planned") not in {(r["data"], r["design"]) for r in summary(done)["rows"]}


@pytest.mark.parametrize(
    ("planned", "independent", "worst", "words"),
    [
        (1.02, 1.0, 1.02, "worth its place"),
        (1.0, 1.004, 1.3, "of use in few cases"),
        (1.0, 1.004, 1.02, "not worth its place"),
        (0.95, 1.0, 1.0, "harmful"),
        (1.1, 0.9, 1.2, "worth its place with planned designs, harmful with RR-Independent"),
    ],
)
def test_verdicts(planned, independent, worst, words):
    assert verdict({"planned": planned, "independent": independent}, worst) == words


def test_sentences_follow_the_numbers():
    axes, halves = "auto without axes", "auto without the check on halves"
    told = sentences(Book(summary(made_up({("one", axes): 1.21, ("two", axes): 1.21}))))
    (about,) = [sentence for sentence in told if sentence.startswith("**Axes")]
    assert about.startswith("**Axes: worth its place.**")
    assert "1.21 with planned designs and 1.21 with RR-Independent" in about
    (about,) = [sentence for sentence in told if "check on halves" in sentence]
    assert "not worth its place" in about
    told = sentences(Book(summary(made_up({("one", halves): 0.8, ("two", halves): 0.9}))))
    assert any(s.startswith("**The check on halves: harmful.**") for s in told)


def test_nothing_measured_is_said():
    assert "Nothing has been measured yet." in document(summary({}))


def test_a_run_that_was_stopped_says_so():
    results = summary(made_up({}))
    assert "this one has 4." in " ".join(document(results).split())
    assert "first numbers" not in document(results | {"cases": 4, "seeds": 2})
    assert "first numbers" in document(results | {"cases": 4, "seeds": 3})


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs/benchmarks/ablation.md").read_text("utf-8") == document(RESULTS)


def test_the_results_are_of_these_variants():
    assert RESULTS["variants"] == list(VARIANTS)
    assert {row["variant"] for row in RESULTS["rows"]} == set(VARIANTS)
    assert {row["data"] for row in RESULTS["rows"]} <= set(SEEN)
    book = Book(RESULTS)
    for design in DESIGNS:
        assert book.mean(WHOLE, design, list(METRICS)) == 1
        assert book.mean("pairwise without shrinkage", design, ["tv2", "tv3"]) > 1


def test_what_is_invented_is_what_a_pair_errs_beyond_its_own_margins():
    even, twins = np.full((2, 2), 0.25), np.eye(2) / 2
    truths = {("a", "b"): even, ("a", "c"): twins, ("a",): np.array([0.5, 0.5])}
    assert invented(truths, lambda names: twins) == pytest.approx(0.5)  # of a and b; c is right
    assert invented(truths, lambda names: even) == 0
    askew = np.outer([0.9, 0.1], [0.5, 0.5])  # wrong margins are no dependence
    assert invented({("a", "b"): even}, lambda names: askew) == pytest.approx(0, abs=1e-12)


def test_a_part_that_keeps_dependence_from_being_invented_is_said_to():
    rows = [
        {"variant": name, "design": "planned", "data": "made", "epsilon": 1.0, "seeds": 1, "cpu": 1}
        | dict.fromkeys(METRICS, 0.1)
        | {"invented": most}
        for name, most in ((WHOLE, 0.02), ("auto without axes", 0.05), ("auto without it", 0.021))
    ]
    variants = [row["variant"] for row in rows]
    axes, other = sentences(Book({"whole": WHOLE, "variants": variants, "rows": rows}))
    assert "is 0.020 in total variation, and 0.050 without" in axes
    assert "invented" not in other
