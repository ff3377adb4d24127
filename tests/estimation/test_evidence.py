"""What reports say, worked out once: tables, margins, banded ones smoothed, halves."""

import numpy as np
import pytest

from mdrr import numeric
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, TallyError
from mdrr.estimation import METHODS, estimate
from mdrr.estimation.evidence import Evidence, is_banded, smoothed, split
from mdrr.estimation.unbiased import unbiased
from mdrr.estimation.update import smoothed_update
from mdrr.planning import pool
from mdrr.protocols import clustered, independent, sampled
from mdrr.tallies import tally_codes
from tests.cases import domain_of
from tests.people import distribution, records, reported

AGES = Domain(
    (
        Attribute("age", kind="numeric", edges=range(61)),
        Attribute("smokes", ("no", "yes")),
    )
)
N = 20_000


def people(seed=0, n=N):
    rng = np.random.default_rng(seed)
    ages = np.clip(rng.gamma(9.0, 2.2, n).astype(np.int64), 0, 59)
    return [ages, (rng.random(n) < 0.2 + ages / 120).astype(np.int64)]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "adjust"])
def test_every_method_knows_the_mean_of_banded_reports(method):
    codes = people()
    design = independent(AGES, epsilon={"age": 2.0, "smokes": 2.0}, ordered="banded")
    found = estimate(reported(codes, design, 1), design, method)
    true = codes[0].mean() + 0.5
    # The mean of the codes themselves, unbiased, errs by 0.2 or so here.
    assert numeric.mean(found, "age") == pytest.approx(true, abs=1.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_default_keeps_what_is_smoothed(seed):
    """The inverse's noise lies in few directions: now and then it looks like more than chance."""
    alone = AGES.project(["age"])
    design = independent(alone, epsilon=1.0, ordered="banded")
    tally = reported(people()[:1], design, seed)
    wanted = estimate(tally, design, "product").table("age").values
    found = estimate(tally, design).table("age").values
    assert np.abs(np.cumsum(found - wanted)).sum() < 0.5


def test_the_noise_of_a_banded_inverse_has_few_directions():
    design = independent(AGES, epsilon=2.0, ordered="banded")
    tally = reported(people(n=2_000), design, 1)
    banded = unbiased(tally, design, ["age"])
    matrix = design.clusters[0].matrix
    codes = np.random.default_rng(0).choice(
        matrix.outcomes, (4_000, 300), p=matrix.forward(np.full(60, 1 / 60))
    )
    scores = matrix.scores(np.eye(60))
    drawn = np.stack([scores[:, row].mean(axis=1) for row in codes])
    squares = ((drawn - drawn.mean(axis=0)) ** 2).sum(axis=1)
    freedom = 2 * squares.mean() ** 2 / squares.var()  # of a multiple of χ²
    assert banded.evenness * 59 == pytest.approx(freedom, rel=0.15)
    assert banded.evenness < 0.5
    assert unbiased(tally, design, ["smokes"]).evenness == 1


def test_the_default_keeps_more_of_a_banded_relation_than_products_do():
    codes = people()
    codes[1] = (codes[0] > 20).astype(np.int64)
    design = independent(AGES, epsilon={"age": 4.0, "smokes": 3.0}, ordered="banded")
    tally = reported(codes, design, 1)
    exact = np.zeros((60, 2))
    np.add.at(exact, tuple(codes), 1 / N)

    def error(method):
        return np.abs(estimate(tally, design, method).table("age", "smokes").values - exact).sum()

    assert error("auto") < 0.6 * error("product")


def test_one_survey_in_two_parts_is_smoothed_as_one():
    codes = people()
    designs = [independent(AGES, epsilon=e, ordered="banded") for e in (3.0, 3.5)]
    halves = [c[: N // 2] for c in codes], [c[N // 2 :] for c in codes]
    parts = [(reported(h, d, 1), d) for h, d in zip(halves, designs, strict=True)]
    tally, design = pool(parts)
    assert len(design.questionnaires) == 2
    true = codes[0].mean() + 0.5
    for method in ("product", "auto"):
        assert numeric.mean(estimate(tally, design, method), "age") == pytest.approx(true, abs=1.0)
    margins = Evidence(tally, design).margins
    assert all((m > 0).all() and m.sum() == pytest.approx(1) for m in margins)


def test_several_matrices_side_by_side_are_one_matrix():
    codes = people(n=3_000)
    designs = [
        independent(AGES, epsilon=4.0, ordered="banded"),
        independent(AGES, epsilon=5.0),
    ]
    parts = [(reported(codes, d, 1), d) for d in designs]
    found = unbiased(*pool(parts), ["age"])
    made = smoothed(found)
    matrices = [d.clusters[0].matrix for d in designs]
    counts = [t.groups[0].marginal(0) for t, _ in parts]

    class Whole:
        cells = 60
        table = np.concatenate([m.forward(np.eye(60)) / 2 for m in matrices], axis=1)

        def forward(self, shares):
            return shares @ self.table

        def backward(self, values):
            return self.table @ values

    wanted = smoothed_update(np.concatenate(counts), Whole(), strength=made.strength)
    assert made.distribution == pytest.approx(wanted.distribution, abs=1e-8)


def test_other_matrices_are_not_smoothed():
    design = independent(AGES, epsilon=3.0)
    assert smoothed(unbiased(reported(people(), design, 1), design, ["age"])) is None
    assert not is_banded(unbiased(reported(people(), design, 1), design, ["age"]))


D = domain_of(2, 3, 4)


def evidence_of(design, n=2_000, seed=1):
    return Evidence(reported(records(distribution(D, 5), n, seed), design, seed), design)


@pytest.mark.parametrize(
    "design",
    [independent(D, p=0.5), clustered(D, [["a", "c"], ["b"]], p=0.5), sampled(D, 2, epsilon=3.0)],
    ids=["independent", "clustered", "sampled"],
)
def test_a_table_is_the_unbiased_one_and_made_once(design):
    evidence = evidence_of(design)
    for names in (("a",), ("a", "c"), ("b", "c")):
        wanted = unbiased(evidence.tally, design, names)
        found = evidence.table(names)
        assert found is evidence.table(names)
        np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)
        np.testing.assert_allclose(found.variances(), wanted.variances(), atol=1e-12)
    assert evidence.people == 2_000
    assert evidence.pairs == [("a", "b"), ("a", "c"), ("b", "c")]


def test_what_cannot_be_written_out_or_was_asked_of_nobody_is_none():
    assert evidence_of(sampled(D, 2, epsilon=3.0)).table(("a", "b", "c")) is None
    large = domain_of(*[100] * 5)
    design = independent(large, p=0.5)
    rng = np.random.default_rng(1)
    tally = tally_codes([[rng.integers(0, 100, 30) for _ in range(5)]], design)
    assert Evidence(tally, design).table(large.names) is None


def test_margins_are_proper_positive_and_near_the_unbiased_ones():
    evidence = evidence_of(independent(D, p=0.5), n=100_000)
    for name, margin in zip(D.names, evidence.margins, strict=True):
        found = evidence.table((name,))
        assert (margin > 0).all()
        assert margin.sum() == pytest.approx(1)
        assert np.abs(margin - found.values).max() < 4.5 * np.sqrt(found.variances().max())


def test_empty_tallies_and_other_designs_are_refused():
    design = independent(D, p=0.5)
    with pytest.raises(EstimateError, match="the tally is empty"):
        Evidence(tally_codes([[np.array([], int)] * 3], design), design)
    with pytest.raises(TallyError, match="design"):
        Evidence(evidence_of(design).tally, independent(D, p=0.4))


def test_halves_share_nobody_and_leave_out_nobody():
    evidence = evidence_of(sampled(D, 2, epsilon=3.0))
    for share, seed in ((0.5, 0), (0.2, 3)):
        kept, held = split(evidence.tally, share, seed)
        whole = kept + held
        for group, again in zip(evidence.tally.groups, whole.groups, strict=True):
            assert group.n == again.n
            for at in range(len(group.codes)):
                assert (group.marginal(at) == again.marginal(at)).all()
        sd = np.sqrt(share * (1 - share) * 2_000)
        assert abs(held.n - share * 2_000) < 4.5 * sd
    first, second = evidence.halves(7)
    assert first.people + second.people == evidence.people
    assert first.people == evidence.halves(7)[0].people != evidence.halves(8)[0].people


def test_the_noise_of_an_interaction_is_the_one_seen():
    """Of 300 randomizations: interactions without rows' and columns' means, squared."""
    design, codes = independent(D, p=0.5), records(distribution(D, 5, 4.0), 500, 1)
    exact = np.zeros((3, 4))
    np.add.at(exact, tuple(codes[1:]), 1 / 500)
    squares, stated = [], []
    for seed in range(300):
        evidence = Evidence(reported(codes, design, seed), design)
        gap = evidence.table(("b", "c")).values - exact
        gap = gap - gap.mean(axis=0) - gap.mean(axis=1, keepdims=True) + gap.mean()
        squares.append(float((gap**2).sum()) / 6)
        stated.append(evidence.interaction_noise("b", "c"))
    # The mean of 300 means of six squares, each 1 ± √2 of the noise.
    assert np.mean(squares) / np.mean(stated) == pytest.approx(1, abs=4.5 * np.sqrt(2 / 1800))
