"""The three ways to learn dependences: simulation gives what the network would, and its cost."""

import json
import math

import numpy as np
import polars as pl
import pytest

import mdrr
from mdrr.dependence import from_codes
from mdrr.dependence.association import cramers_v
from mdrr.errors import MdrrError
from mdrr.securesum import ways
from mdrr.securesum.question import Question
from mdrr.securesum.statement import Statement
from mdrr.securesum.ways import FEW, assess, assess_opened, simulate_dependences
from mdrr.source import SeededSource
from tests.securesum.group import DOMAIN, codes


@pytest.fixture(scope="module")
def adult() -> tuple[mdrr.Domain, list[np.ndarray]]:
    domain = mdrr.datasets.adult_domain()
    return domain, mdrr.encode(mdrr.datasets.adult(), domain)


def linked(n: int, seed: int = 0) -> list[np.ndarray]:
    """Records in which region decides about smoking in half of the cases."""
    columns = codes(n, seed)
    rng = np.random.default_rng(seed + 1)
    columns[0] = np.where(rng.random(n) < 0.5, columns[1] % 2, columns[0])
    return columns


def test_the_secure_sum_gives_exact_dependences_and_the_known_clusters(adult) -> None:
    domain, columns = adult
    found = simulate_dependences(columns, domain, via="securesum")
    exact = from_codes(columns, domain)
    assert np.array_equal(found.dependences.values, exact.values)
    for margin, known in zip(found.dependences.margins, exact.margins, strict=True):
        np.testing.assert_allclose(margin, known)
    assert found.people == 32_561
    groups = [one for one in found.cluster(max_cells=50, min_dependence=0.1) if len(one) > 1]
    assert groups == [("relationship", "sex", "income")]


@pytest.mark.parametrize("mode", ["paper", "aggregators"])
@pytest.mark.parametrize("via", ["securesum", "pairs"])
def test_sending_every_message_changes_nothing(mode: str, via: str) -> None:
    """With the same seed, the randomized pairs are the same too: they are drawn first."""
    options = {"p": 0.6} if via == "pairs" else {}
    columns = linked(12)
    quiet, loud = (
        simulate_dependences(columns, DOMAIN, via=via, mode=mode, messages=messages,
                    source=SeededSource(4), **options)
        for messages in (False, True)
    )  # fmt: skip
    assert np.array_equal(quiet.dependences.values, loud.dependences.values)
    assert quiet.privacy == loud.privacy


@pytest.mark.parametrize("via", ["attributes", "pairs"])
def test_randomized_ways_come_near_the_truth(via: str) -> None:
    """Between the linked pair and the others lies more than the noise, at n = 20,000."""
    columns = linked(20_000)
    truth = from_codes(columns, DOMAIN)
    found = simulate_dependences(
        columns, DOMAIN, via=via, p=0.7, source=SeededSource(3)
    ).dependences
    # V's noise here is below 1/(s·√n) ≈ 0.02 per degree; five of them stay far from 0.47.
    assert found["smokes", "region"] == pytest.approx(truth["smokes", "region"], abs=0.1)
    assert found["region", "age"] < 0.15 < found["smokes", "region"]
    for margin, known in zip(found.margins, truth.margins, strict=True):
        np.testing.assert_allclose(margin, known, atol=0.1)


def test_frames_and_codes_give_the_same() -> None:
    columns = linked(30)
    frame = pl.DataFrame(
        {
            one.name: [one.categories[code] for code in column]
            for one, column in zip(DOMAIN.attributes, columns, strict=True)
        }
    )
    by_frame = mdrr.simulate_dependences(frame, DOMAIN, via="securesum")
    by_codes = mdrr.simulate_dependences(columns, DOMAIN, via="securesum")
    assert np.array_equal(by_frame.dependences.values, by_codes.dependences.values)
    again = mdrr.simulate_dependences(by_codes.tables, DOMAIN, via="securesum")
    assert np.array_equal(again.dependences.values, by_codes.dependences.values)
    assert again.people == 30


def test_every_way_states_its_privacy_honestly() -> None:
    columns = linked(2_000)
    source = SeededSource(1)
    pilot = simulate_dependences(
        columns, DOMAIN, via="attributes", epsilon=3.0, source=source
    ).privacy
    assert pilot.epsilon <= 3.0
    assert pilot.shuffled is None
    exact = simulate_dependences(columns, DOMAIN, via="securesum").privacy
    assert math.isinf(exact.epsilon)
    assert "No differential privacy" in str(exact)
    assert exact.to_dict()["epsilon"] is None
    pairs = simulate_dependences(columns, DOMAIN, via="pairs", epsilon=3.0, source=source).privacy
    question = Question.randomized(DOMAIN, epsilon=1.0)
    assert pairs.epsilon == pytest.approx(sum(one.epsilon for one in question.matrices), rel=1e-9)
    assert 2.9 < pairs.epsilon <= 3.0 + 1e-9  # the sum over three tables, not one table's
    assert pairs.shuffled is not None
    assert pairs.shuffled[0] < pairs.epsilon
    assert pairs.shuffled[1] == 1e-6


def test_few_people_gain_nothing_from_shuffling() -> None:
    privacy = simulate_dependences(
        linked(12), DOMAIN, via="pairs", p=0.9, source=SeededSource(1)
    ).privacy
    assert privacy.shuffled is not None
    assert privacy.shuffled[0] <= privacy.epsilon


def test_randomized_pairs_have_intervals_and_exact_ones_need_none() -> None:
    """40 surveys of three pairs: more than 17 misses of 120 happen once in 10,000 times."""
    columns = linked(1_500)
    truth = from_codes(columns, DOMAIN)
    pairs = [pair[:2] for pair in truth.ranked()]
    missed = 0
    for seed in range(40):
        found = simulate_dependences(
            columns, DOMAIN, via="pairs", p=0.4, source=SeededSource(seed)
        ).dependences
        ends = [found.interval(*pair) for pair in pairs]
        missed += sum(
            not low <= truth[pair] <= high for pair, (low, high) in zip(pairs, ends, strict=True)
        )
    assert missed <= 17
    exact = simulate_dependences(columns, DOMAIN, via="securesum").dependences
    assert exact.interval("smokes", "region") is None
    assert exact.is_clear("smokes", "region")


@pytest.mark.parametrize("p", [0.3, 0.999])
def test_of_few_people_randomized_pairs_say_nothing_sure(p: float) -> None:
    columns = [np.array([0, 1, 1]), np.array([0, 1, 1]), np.array([0, 1, 2])]
    question = Question.randomized(DOMAIN, p=p)
    found = assess(question, question.sums(columns, SeededSource(1)), 3)
    for pair in found.dependences.ranked():
        assert found.dependences.interval(*pair[:2]) == (0.0, 1.0)
        assert not found.dependences.is_clear(*pair[:2])
    assert found.dependences.interval("age", "age") == (1.0, 1.0)
    assert "3 people are too few to tell" in found.caution
    assert "need 20 people or more" in found.caution
    exact = simulate_dependences(columns, DOMAIN, via="securesum", minimum=3)
    assert (exact.caution, exact.dependences.interval("smokes", "age")) == ("", None)
    few = simulate_dependences(columns, DOMAIN, p=p, source=SeededSource(1))
    assert few.caution == ""  # no pairs were randomized


def test_twenty_people_are_the_fewest_for_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 150 independent pairs 2.5 % should look dependent; more than 13 do once in 10,000 times.

    Without the limit no more do. But intervals of three people end below a strong dependence in a
    fifth of the surveys: in 12 or fewer of 150 once in 10,000 times.
    """
    domain = mdrr.Domain((mdrr.Attribute("a", ("x", "y")), mdrr.Attribute("b", ("u", "v", "w"))))
    question, rng = Question.randomized(domain, epsilon=2.0), np.random.default_rng(7)

    def intervals(people: int, copied: float) -> list[tuple[float, float]]:
        found = []
        for seed in range(150):
            first, other = (rng.integers(0, size, people) for size in domain.shape)
            columns = [first, np.where(rng.random(people) < copied, first, other)]
            totals = question.sums(columns, SeededSource(seed))
            found.append(assess(question, totals, people).dependences.interval("a", "b"))
        return found

    assert intervals(FEW - 1, 0.0) == [(0.0, 1.0)] * 150
    assert 0 < sum(low > 0 for low, _ in intervals(FEW, 0.0)) <= 13
    monkeypatch.setattr(ways, "FEW", 0)
    assert sum(low > 0 for low, _ in intervals(3, 0.0)) <= 13
    truth = 0.95 * np.eye(2, 3) / 2 + 0.05 / 6
    assert sum(high < cramers_v(truth) for _, high in intervals(3, 0.95)) > 12


def test_a_category_that_nobody_reported_does_not_make_a_pair_dependent() -> None:
    """Its noise is what rounding leaves of 0: χ² divided by it, and the interval was [1, 1]."""
    domain = mdrr.Domain((mdrr.Attribute("a", ("x", "y")), mdrr.Attribute("b", tuple("stuvwxyz"))))
    counts = [[1, 2, 1, 2, 5, 2, 1, 0], [2, 2, 1, 4, 3, 2, 2, 0]]
    question = Question.randomized(domain, epsilon=2.0)
    found = assess(question, np.ravel(counts), 30).dependences
    assert found.interval("a", "b")[0] == 0.0
    assert not found.is_clear("a", "b")
    known = [row[:-1] for row in counts]  # as if the category did not exist
    smaller = mdrr.Domain((domain.attributes[0], mdrr.Attribute("b", tuple("stuvwxy"))))
    asked = Question.randomized(smaller, epsilon=2.0)
    high = assess(asked, np.ravel(known), 30).dependences.interval("a", "b")[1]
    assert found.interval("a", "b")[1] == pytest.approx(high, abs=0.2)


def test_what_was_opened_is_assessed_from_its_json() -> None:
    question = Question.randomized(DOMAIN, p=0.6)
    totals = question.sums(codes(200), SeededSource(2))
    fields = {"n": 200, "question": question.to_dict(), "totals": totals.tolist(), "note": ""}
    found, known = assess_opened(json.loads(json.dumps(fields))), assess(question, totals, 200)
    assert found.dependences.to_dict() == known.dependences.to_dict()
    assert found.privacy == known.privacy
    for wrong in ({**fields, "totals": "many"}, {"n": 200, "totals": totals.tolist()}):
        with pytest.raises(MdrrError, match="has 'n', 'question' and 'totals'"):
            assess_opened(wrong)


def test_totals_that_cannot_be_are_not_assessed() -> None:
    question = Question(DOMAIN)
    totals = question.sums(codes(20))
    totals[0] += 1
    with pytest.raises(MdrrError, match="ill-formed"):
        assess(question, totals, 20)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"via": "magic"}, "not known"),
        ({"via": "securesum", "mode": "papers"}, "mode='papers' is not known"),
        ({"via": "securesum", "p": 0.5}, "not randomized"),
        ({"via": "securesum", "minimum": 31}, "fewer than the minimum of 31"),
        ({"via": "attributes"}, "p|epsilon"),
        ({"via": "pairs"}, "p or epsilon, exactly one"),
        ({"via": "pairs", "p": 0.5, "epsilon": 1.0}, "p or epsilon, exactly one"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(MdrrError, match=reason):
        simulate_dependences(codes(30), DOMAIN, **options)


def test_opened_tables_are_for_the_exact_way_and_count_the_same_people() -> None:
    tables = simulate_dependences(codes(30), DOMAIN, via="securesum").tables
    with pytest.raises(MdrrError, match="needs records"):
        simulate_dependences(tables, DOMAIN, via="pairs", p=0.5)
    tables["smokes", "age"] = tables["smokes", "age"] + 1
    with pytest.raises(MdrrError, match="same people"):
        simulate_dependences(tables, DOMAIN, via="securesum")


def test_a_statement_is_a_loss() -> None:
    with pytest.raises(MdrrError, match="not a privacy loss"):
        Statement(-1.0, None, "")
