"""Predictions against simulated errors, and plans that beat what they rank below."""

import numpy as np
import pytest

from mdrr.dependence import Dependences, dependences, from_codes
from mdrr.design import Design
from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError
from mdrr.estimation import estimate
from mdrr.estimation.unbiased import unbiased
from mdrr.planning import best_split, plan, pool, predict, quietest_matrix, split_questionnaire
from mdrr.planning.predict import relative_error
from mdrr.protocols import clustered, independent, joint, sampled
from tests.estimation.simulated import people, reports, truth

SHAPE = (5, 2, 7, 3)
DOMAIN = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abcd", SHAPE, strict=True))
)
PAIRS = [(a, b) for i, a in enumerate("abcd") for b in "abcd"[i + 1 :]]
N = 5_000

DESIGNS = {
    "independent": independent(DOMAIN, epsilon=6.0),
    "joint": joint(DOMAIN, epsilon=6.0),
    "clustered": clustered(DOMAIN, [["a", "c"], ["b", "d"]], epsilon=6.0),
    "sampled": sampled(DOMAIN, 2, epsilon=3.0),
    "subsets": split_questionnaire(
        DOMAIN, [["a", "b", "c", "d"], ["a", "c"], ["b", "d"]], epsilon=1.0
    ),
}


def simulated(design, n=N, seeds=8):
    """The mean over tables of the relative error of counts, from true squared errors."""
    columns = people(n, domain=DOMAIN)
    totals = dict.fromkeys(PAIRS, 0.0)
    for seed in range(seeds):
        tally = reports(columns, design, seed)
        for pair in PAIRS:
            gap = unbiased(tally, design, pair).values - truth(columns, pair, DOMAIN)
            totals[pair] += float((gap**2).sum()) / seeds
    sizes = {p: DOMAIN.attribute(p[0]).size * DOMAIN.attribute(p[1]).size for p in PAIRS}
    return np.mean([relative_error(totals[p], sizes[p], 0.1) for p in PAIRS])


def estimated(design, seeds=3):
    """The mean total variation of all pairs under the method that plans speak of."""
    columns = people(N, domain=DOMAIN)
    found = [estimate(reports(columns, design, seed), design, "pairwise") for seed in range(seeds)]
    gaps = [e.table(*p).values - truth(columns, p, DOMAIN) for e in found for p in PAIRS]
    return np.mean([np.abs(gap).sum() for gap in gaps])


@pytest.mark.parametrize("name", DESIGNS)
def test_predictions_are_within_a_factor_of_the_simulated_error(name):
    if name == "subsets":
        tables = [p for p in PAIRS if p in (("a", "c"), ("b", "d"))]
        assert predict(DESIGNS[name], N, tables).covered
    predicted = predict(DESIGNS[name], N, PAIRS).error
    assert predicted / 1.5 < simulated(DESIGNS[name]) < predicted * 1.5


def test_predictions_with_dependences_hold_for_the_default_estimator():
    epsilon, rounds = 2.0, 3
    columns = people(N, domain=DOMAIN)
    exact = from_codes(columns, DOMAIN)
    sizes = {p: DOMAIN.attribute(p[0]).size * DOMAIN.attribute(p[1]).size for p in PAIRS}
    for design in (
        best_split(DOMAIN, [*((name,) for name in "abcd"), *PAIRS], epsilon, n=N),
        sampled(DOMAIN, 2, epsilon=epsilon),
    ):
        totals = dict.fromkeys(PAIRS, 0.0)
        for seed in range(rounds):
            found = estimate(reports(columns, design, seed), design)
            for pair in PAIRS:
                gap = found.table(*pair).values - truth(columns, pair, DOMAIN)
                totals[pair] += float((gap**2).sum()) / rounds
        error = np.mean([relative_error(totals[p], sizes[p], 0.1) for p in PAIRS])
        predicted = predict(design, N, PAIRS, dependences=exact).error
        assert error / 1.5 < predicted < 1.5 * error


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 8.0])
def test_the_best_plan_is_best_in_simulation(epsilon):
    found = plan(DOMAIN, n=N, epsilon=epsilon)
    ranks = [(not c.predicted.covered, c.predicted.loss) for c in found.candidates]
    assert ranks == sorted(ranks)
    assert found.design.epsilon <= epsilon
    best = estimated(found.design)
    for other in found.candidates[2::3]:
        assert best < 1.15 * estimated(other.design)


def test_optimal_shares_beat_even_ones():
    design = best_split(DOMAIN, PAIRS, 2.0, n=N)
    for size in (2, 3):
        assert (
            predict(design, N, PAIRS).error
            <= predict(sampled(DOMAIN, size, epsilon=2.0), N, PAIRS).error
        )
    assert isinstance(Design.from_json(design.to_json()), Design)
    only = best_split(DOMAIN, [("a", "c")], 2.0, n=N)
    asked = {q.attributes: q.weight for q in only.questionnaires}
    assert max(asked, key=asked.get) == ("a", "c")
    assert {name for names in asked for name in names} == set("abcd")


def test_subset_selection_where_budgets_are_small():
    assert quietest_matrix(35, 0.5).kind == "subset"
    assert quietest_matrix(35, 8.0).kind == "constant"
    kinds = {
        c.matrix.kind
        for q in plan(DOMAIN, n=N, epsilon=0.5).design.questionnaires
        for c in q.clusters
    }
    assert "subset" in kinds


def test_few_people_and_small_budgets_are_asked_one_attribute_each():
    asked = [len(q.attributes) for q in plan(DOMAIN, n=300, epsilon=0.5).design.questionnaires]
    many = [len(q.attributes) for q in plan(DOMAIN, n=300_000, epsilon=4.0).design.questionnaires]
    assert np.mean(asked) < np.mean(many)
    assert min(asked) == 1


def test_dependences_let_products_answer():
    none = Dependences(DOMAIN.names, np.eye(4))
    design = independent(DOMAIN, epsilon=2.0)
    without, with_them = predict(design, N, PAIRS), predict(design, N, PAIRS, dependences=none)
    assert with_them.error < without.error
    strong = Dependences(DOMAIN.names, np.full((4, 4), 0.9) + 0.1 * np.eye(4))
    assert with_them.error < predict(design, N, PAIRS, dependences=strong).error <= without.error
    names = [c.name for c in plan(DOMAIN, n=N, epsilon=4.0, dependences=strong).candidates]
    assert any(name.startswith("clusters") for name in names)


def test_two_phases_pool_into_one_estimate():
    columns = people(N, domain=DOMAIN)
    first, second = [c[: N // 4] for c in columns], [c[N // 4 :] for c in columns]
    pilot = plan(DOMAIN, n=N // 4, epsilon=4.0).design
    heard = reports(first, pilot, 1)
    main = plan(DOMAIN, n=3 * N // 4, epsilon=4.0, dependences=dependences(heard, pilot)).design
    tally, design = pool([(heard, pilot), (reports(second, main, 2), main)])
    assert tally.n == N
    assert design.epsilon <= 4.0
    found = estimate(tally, design, "auto")
    alone = estimate(heard, pilot, "auto")

    def error(e):
        return sum(np.abs(e.table(*p).values - truth(columns, p, DOMAIN)).sum() for p in PAIRS)

    assert error(found) < error(alone)


def test_workloads_and_refusals():
    assert plan(DOMAIN, n=N, epsilon=1.0, workload="singles").tables == tuple((n,) for n in "abcd")
    assert plan(DOMAIN, n=N, epsilon=2.0, workload=[("c", "a")]).tables == (("a", "c"),)
    frame = plan(DOMAIN, n=N, epsilon=1.0).to_frame("polars")
    assert {"design", "error", "forged"} <= set(frame.columns)
    with pytest.raises(DesignError, match="workload"):
        plan(DOMAIN, n=N, epsilon=1.0, workload="triples")
    with pytest.raises(DesignError, match="n=0"):
        plan(DOMAIN, n=0, epsilon=1.0)
    with pytest.raises(DesignError, match="epsilon"):
        plan(DOMAIN, n=N, epsilon=-1.0)
    with pytest.raises(DesignError, match="n=nan"):
        plan(DOMAIN, n=float("nan"), epsilon=1.0)
    for coverage in (0.0, 1.0, 2.0, float("nan")):
        with pytest.raises(DesignError, match="coverage"):
            plan(DOMAIN, n=N, epsilon=1.0, coverage=coverage)
    with pytest.raises(DesignError, match="empty"):
        plan(DOMAIN, n=N, epsilon=1.0, workload=[])
    with pytest.raises(DesignError, match="twice: a, a"):
        plan(DOMAIN, n=N, epsilon=1.0, workload=[("a", "a")])
    named = Domain((Attribute("sex", ("x", "y")), Attribute("age", ("x", "y"))))
    with pytest.raises(DesignError, match=r"\('sex',\)"):
        plan(named, n=N, epsilon=1.0, workload=["sex"])
    with pytest.raises(DesignError, match="share"):
        split_questionnaire(DOMAIN, ["ab", "cd"], epsilon=1.0, shares=[1.0, 0.0])
    with pytest.raises(DesignError, match="twice"):
        split_questionnaire(DOMAIN, ["ab", "ba"], epsilon=1.0)
    other = Domain((Attribute("a", ("x", "y")),))
    tally = reports([np.array([0, 1], dtype=np.uint8)], independent(other, epsilon=1.0), 1)
    survey = (tally, independent(other, epsilon=1.0))
    with pytest.raises(DesignError, match="domain"):
        pool([survey, (reports(people(5, domain=DOMAIN), DESIGNS["joint"], 1), DESIGNS["joint"])])


def test_many_attributes():
    wide = Domain(tuple(Attribute(f"x{i}", tuple(range(4))) for i in range(14)))
    found = plan(wide, n=N, epsilon=4.0)
    assert found.best.predicted.covered
    assert found.design.epsilon <= 4.0


def test_clusters_that_cannot_spend_the_budget_are_left_out():
    known = Dependences(tuple("abcd"), np.full((4, 4), 0.9))
    found = plan(DOMAIN, n=N, epsilon=60.0, dependences=known)
    assert not any(c.name.startswith("clusters") for c in found.candidates)
    assert found.best.predicted.error < 1e-3


def test_so_many_subsets_that_each_is_asked_of_few():
    wide = Domain(tuple(Attribute(f"x{i}", ("u", "v")) for i in range(40)))
    tables = [(a, b) for i, a in enumerate(wide.names) for b in wide.names[i + 1 :]]
    found = best_split(wide, tables, 1e-3, n=1)
    assert len(found.questionnaires) == len(tables)


def test_forging_a_pair_that_nobody_is_asked_shifts_its_margins():
    alone = split_questionnaire(DOMAIN, ["a", "b", "c", "d"], epsilon=1.0)
    known = Dependences(tuple("abcd"), np.eye(4))
    pair = predict(alone, N, [("a", "b")], dependences=known)
    singles = [predict(alone, N, [(name,)]).forged for name in "ab"]
    assert pair.forged == max(singles) > 0


def test_a_plan_is_shown_with_a_line_per_candidate():
    found = plan(DOMAIN, n=N, epsilon=3.0)
    head, *rows = repr(found).splitlines()
    assert head == "<Plan for 5,000 people at ε = 3, the best first"
    assert [row.split(":")[0].strip() for row in rows] == [c.name for c in found.candidates]


def test_the_size_of_counts_decides_who_is_asked_what():
    """Counts of half of a table weigh a pair of 4 cells against one of 36 otherwise than rare ones.

    A count of half of the combinations costs √(r/(r−1)) a unit of standard error, about the same
    for both; one of a thousandth is one cell, which costs √r: three times as much of 36 as of 4.
    """
    sizes = (2, 2, 6, 6)
    domain = Domain(
        tuple(Attribute(f"x{j}", tuple(map(str, range(k)))) for j, k in enumerate(sizes))
    )
    tables = [("x0", "x1"), ("x2", "x3")]

    def asked(coverage):
        design = best_split(domain, tables, 2.0, n=1000, coverage=coverage)
        total = sum(q.weight for q in design.questionnaires)
        large = [q.weight for q in design.questionnaires if {"x2", "x3"} <= set(q.attributes)]
        return sum(large) / total

    assert asked(0.001) > asked(0.5) + 0.05
    rare, common = (
        plan(domain, n=1000, epsilon=2.0, workload=tables, coverage=share) for share in (0.001, 0.5)
    )
    designs = [
        next(c.design for c in found.candidates if c.name == "split questionnaire")
        for found in (rare, common)
    ]
    assert designs[0] != designs[1]
