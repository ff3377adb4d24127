"""Beliefs against Bayes, and words against the probabilities they state."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import MatrixError, MdrrError
from mdrr.matrix import (
    Banded,
    Constant,
    Dense,
    Subset,
    banded_matrix,
    constant_matrix,
    subset_matrix,
)
from mdrr.privacy import Belief, belief, in_words, posterior, reveal, times_in
from mdrr.protocols import clustered, independent, sampled
from tests.cases import domain_of, public
from tests.chance import z


def spread(codes):
    """21 cells, each reported with 2,000 of 2^16 by every code but its own."""
    rows = np.full((21, codes), 2000) + (2**16 - 2000 * codes) * np.eye(21, codes, dtype=int)
    return Dense(tuple(map(tuple, rows.tolist())))


BAND = Dense(((40000, 20000, 5536), (15000, 35536, 15000), (5000, 25000, 35536)))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0.05, 6.0))
def test_no_report_moves_a_belief_out_of_its_range(seed, cells, epsilon):
    """Any event, any prior, any report: Bayes stays within `belief`."""
    rng = np.random.default_rng(seed)
    matrix = constant_matrix(cells, epsilon=epsilon)
    prior = rng.dirichlet(np.ones(cells))
    event = rng.random(cells) < 0.5
    for reported in range(cells):
        after = posterior(matrix, prior, reported)
        assert after.sum() == pytest.approx(1)
        odds = after[:, None] / after[None, :] / (prior[:, None] / prior[None, :])
        assert odds.max() <= math.exp(matrix.epsilon) * (1 + 1e-9)
        bounds = belief(float(min(prior[event].sum(), 1.0)), matrix.epsilon)
        assert bounds.low - 1e-12 <= after[event].sum() <= bounds.high + 1e-12


def test_belief_is_reached():
    """Power: the bound is attained by binary randomized response, so it cannot be smaller."""
    coin = Constant(2, diagonal=49152, off=16384)
    bounds = belief(0.2, coin.epsilon)
    assert posterior(coin, [0.2, 0.8], 0)[0] == pytest.approx(bounds.high)
    assert posterior(coin, [0.2, 0.8], 1)[0] == pytest.approx(bounds.low)


def test_posterior_by_hand_for_a_dense_matrix():
    prior = np.array([0.5, 0.3, 0.2])
    weights = prior * [20000, 35536, 25000]
    assert posterior(BAND, prior, 1) == pytest.approx(weights / weights.sum())


def test_a_prior_may_be_of_any_numbers():
    coin = Constant(2, diagonal=49152, off=16384)
    found = posterior(coin, [Fraction(1, 10), Fraction(9, 10)], 0)
    assert found.dtype == np.float64
    assert found == pytest.approx([0.25, 0.75])
    assert posterior(coin, [0, 1], 0).tolist() == [0.0, 1.0]


def test_belief_ends():
    assert belief(0.0, 5.0).high == 0.0
    assert belief(1.0, 5.0).low == 1.0
    assert belief(0.3, 0.0).high == pytest.approx(0.3)
    assert belief(0.3, math.inf).high == 1.0
    assert belief(0.3, math.inf).low == 0.0
    assert belief(0.3, 800.0).to_dict() == {"prior": 0.3, "low": 0.0, "high": 1.0}
    assert belief(0.0, math.inf) == Belief(0.0, 0.0, 0.0)
    assert belief(1.0, math.inf) == Belief(1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.7, "in 70 of 100 cases"),
        (0.1, "in 10 of 100 cases"),
        (0.85, "in 85 of 100 cases"),
        (0.69998, "in 70 of 100 cases"),
        (11 / 15, "in about 73 of 100 cases"),
        (0.999, "in 999 of 1,000 cases"),
        (1e-4, "in 1 of 10,000 cases"),
        (0.0, "never"),
        (1.0, "always"),
        (3e-15, "in 3 of 1,000,000,000,000,000 cases"),
        (1e-16, "almost never"),
        (1e-20, "almost never"),
        (1 - 3e-15, "in 999,999,999,999,997 of 1,000,000,000,000,000 cases"),
        # Off by just 2 % of what is rare, or by just 0.1 %.
        (3 / 10_200, "in about 3 of 10,000 cases"),
        (123 / 10_010_000_000_000, "in 123 of 10,000,000,000,000 cases"),
        (1 - 1e-16, "almost always"),
    ],
)
def test_probabilities_read_like_counts(probability, text):
    assert times_in(probability) == text


@given(st.floats(1e-9, 1 - 1e-9))
def test_counts_are_close_to_what_they_say(probability):
    text = times_in(probability).replace(",", "")
    times, base = (int(word) for word in text.split() if word.isdigit())
    rarer = min(probability, 1 - probability)
    assert abs(times / base - probability) <= 0.02 * rarer * (1 + 1e-9)


def test_words_state_what_is_kept_and_what_is_sent():
    """p = 0.7 over 9 answers: kept 7 in 10, but sent with 0.7 + 0.3/9."""
    domain = Domain((Attribute("work", tuple("abcdefghi")),))
    words = in_words(independent(domain, p=0.7))
    assert words[0].startswith("work: your true answer is sent in about 73 of 100 cases.")
    assert "In 70 of 100 cases your device keeps it" in words[0]
    assert "one of the 9 answers" in words[0]
    assert "ε = 3.1)" in words[1]
    assert "took part" in words[-1]


NOT_HIDDEN = (
    "Not hidden by this: that you took part, when, from which network address, and whatever the "
    "collector knows about you already. Answering again reveals more."
)


def revealed(percent, odds, epsilon):
    return (
        "Somebody who sees your report can guess better about you: a guess that was right with 50 "
        f"chances in 100 is then right with at most {percent} in 100. The odds {odds} times "
        f"(ε = {epsilon})."
    )


def test_all_words_of_a_design_with_public_answers():
    """ε = 2: odds grow e² = 7.39 times, to 88.08 in 100; a/D = e²/(e²+3) = 0.711, s = 0.615."""
    domain = public(domain_of(3, 2, 4), "a", "b")
    assert in_words(independent(domain, epsilon=2.0)) == (
        "a: your answer is sent as it is, since it is no secret here. ε does not cover it.",
        "b: your answer is sent as it is, since it is no secret here. ε does not cover it.",
        "c: your true answer is sent in about 71 of 100 cases. In about 61 of 100 cases your "
        "device keeps it; otherwise it draws one of the 4 answers blindly, which may be the true "
        "one.",
        revealed("89", "grow at most 7.4", "2"),
        "This holds beyond your public answers (a, b). Whoever knows those of you can look among "
        "the reports that have the same.",
        NOT_HIDDEN,
    )


def test_all_words_of_questionnaires_of_unlike_lengths():
    """Of 1 to 3 questions; the least protected has ε = ln 3 + ln 2 = 1.79."""
    domain = domain_of(2, 3, 4)
    a, b, c = Constant(2, 49152, 16384), Constant(3, 32768, 16384), Constant(4, 16387, 16383)
    clusters = [Cluster((name,), m) for name, m in zip("abc", (a, b, c), strict=True)]
    asked = (
        clusters[:1],
        clusters[:2],
        [*clusters[:1], clusters[2]],
        clusters[::2] + clusters[1:2],
    )
    few, two, other, all_three = (tuple(each) for each in asked)
    thirds = (Questionnaire(few, 2**15), Questionnaire(all_three, 2**14), Questionnaire(two, 2**14))
    words = in_words(Design(domain, thirds))
    assert words[0] == (
        "You are asked 1 to 3 of the 3 questions, drawn at random; nothing is sent about the "
        "others."
    )
    of_a = (
        "At the least protected, a: your true answer is sent in 75 of 100 cases. In 50 of 100 "
        "cases your device keeps it; otherwise it draws one of the 2 answers blindly, which may be "
        "the true one."
    )
    assert words[1] == of_a
    assert words[-2:] == (revealed("86", "grow at most 6.1", "1.8"), NOT_HIDDEN)
    pairs = in_words(Design(domain, (Questionnaire(two, 2**15), Questionnaire(other, 2**15))))
    assert pairs[0] == (
        "You are asked 2 of the 3 questions, drawn at random; nothing is sent about the others."
    )
    assert pairs[1] == of_a
    assert pairs[2].startswith("At the least protected, b: your true answer is sent in 50 of 100 ")


@pytest.mark.parametrize(
    ("matrix", "first", "joint"),
    [
        (
            Subset(21, 31, (1, 2, 15, 21, 25, 30), low=103969970, total=2**32),
            "a set of up to 6 answers out of 21 is sent. It holds your true one in about 39 of 100 "
            "cases.",
            "a set of up to 6 combinations out of 21 is sent. It holds your true one in about 39 "
            "of 100 cases.",
        ),
        (
            # The 21 + 2·3 codes have 0.0256 each, and what is left falls into the band.
            Banded(21, 3, low=110048435, total=2**32),
            "a place on the scale is sent, within 3 of your true answer in about 49 of 100 cases.",
            "a place on the scale is sent, within 3 of your true combination of answers in about "
            "49 of 100 cases.",
        ),
        (
            spread(22),
            "a randomized code is sent in place of your true answer.",
            "a randomized code is sent in place of your true combination of answers.",
        ),
        (
            spread(21),
            "your true answer is sent in 39 of 100 cases at most.",
            "your true combination of answers is sent in 39 of 100 cases at most.",
        ),
    ],
    ids=["set", "band", "codes", "dense"],
)
def test_words_for_matrices_of_answers_and_of_combinations(matrix, first, joint):
    for domain, sentence in ((domain_of(21), first), (domain_of(3, 7), joint)):
        cluster = Cluster(domain.names, matrix)
        words = in_words(Design(domain, (Questionnaire((cluster,)),)))
        assert words[0] == f"{cluster.name}: {sentence}"


WEAK = "This bound is weak: even a guess with 1 chance in 100 can become more likely than not."


@pytest.mark.parametrize(
    ("odds", "percent", "grow", "epsilon", "weak"),
    [
        (2.0, "67", "grow at most 2", "0.7", False),
        (5.41, "85", "grow at most 5.5", "1.69", False),
        (5.75, "86", "grow at most 5.8", "1.75", False),
        (98.0, "99", "grow at most 98", "4.59", False),
        (99.9, "99.01", "grow at most 99.9", "4.61", True),
        (199.04, "99.51", "grow at most 199.1", "5.3", True),
        (999.91, "99.91", "grow at most 1,000", "6.91", True),
        (1000.4, "99.91", "grow at most 1,001", "6.91", True),
        (123456.2, "100", "grow at most 123,457", "11.73", True),
        (1000000.4, "100", "can grow more than a million", "13.82", True),
    ],
)
def test_what_a_report_reveals_is_rounded_up(odds, percent, grow, epsilon, weak):
    """A guess at even odds becomes odds/(1 + odds), one of 1 : 99 more likely than not above 99."""
    found = reveal._reveals(math.log(odds))
    assert found == [revealed(percent, grow, epsilon)] + [WEAK] * weak


def test_what_a_report_reveals_at_the_ends(monkeypatch):
    assert reveal._reveals(math.inf) == [
        "A report can prove that some answers are not yours: ε is infinite."
    ]
    assert reveal._reveals(800.0) == [revealed("100", "can grow more than a million", "800"), WEAK]
    monkeypatch.setattr(reveal, "_DOUBT", 0.5)  # as likely as not is not more likely than not
    assert reveal._reveals(0.0) == [revealed("50", "grow at most 1", "0")]


@pytest.mark.parametrize(
    ("bound", "unit", "text"),
    [
        (3.0, 1, "3"),
        (3.0, 100, "3"),
        (3.0001, 1, "4"),
        (2.31, 10, "2.4"),
        (0.1 + 0.2, 10, "0.3"),
        (1234567.0, 1, "1,234,567"),
        (1234.56, 100, "1,234.56"),
    ],
)
def test_bounds_are_rounded_up_but_not_for_the_error_of_a_float(bound, unit, text):
    assert reveal._upwards(bound, unit) == text


def test_words_for_every_cluster_and_for_weak_bounds():
    domain = Domain(tuple(Attribute(n, ("p", "q", "r")) for n in "abc"))
    words = in_words(clustered(domain, [["a", "c"], ["b"]], p=0.7))
    assert words[0].startswith("a+c: your true combination of answers is sent")
    assert "one of the 9 combinations" in words[0]
    assert words[1].startswith("b: your true answer is sent in 80 of 100 cases")
    assert any("bound is weak" in sentence for sentence in words)
    assert not any("weak" in sentence for sentence in in_words(independent(domain, p=0.1)))


def test_words_for_sampled_designs():
    domain = Domain(tuple(Attribute(n, ("p", "q")) for n in "abcd"))
    words = in_words(sampled(domain, 2, epsilon=1.0))
    assert words[0].startswith("You are asked 2 of the 4 questions")
    assert words[1].startswith("At the least protected, ")


def test_words_take_the_answer_sent_most_often_where_budgets_differ_by_rounding():
    """16 answers round to the larger ε, yet the truth of two is sent far more often."""
    domain = Domain((Attribute("sex", ("F", "M")), Attribute("job", tuple("abcdefghijklmnop"))))
    design = sampled(domain, 1, epsilon=4.0)
    asked = {q.attributes: q for q in design.questionnaires}
    sex, job = asked["sex",], asked["job",]
    assert sex.epsilon < job.epsilon
    assert in_words(design)[1].startswith("At the least protected, sex: your true answer is sent ")
    weaker = Questionnaire((Cluster(("job",), constant_matrix(16, epsilon=4.5)),), job.weight)
    words = in_words(Design(domain, (sex, weaker)))
    assert words[1].startswith("At the least protected, job: ")


def test_budgets_that_differ_by_all_of_the_rounding_are_not_close(monkeypatch):
    domain = Domain((Attribute("sex", ("F", "M")), Attribute("job", tuple("abcdefghijklmnop"))))
    design = sampled(domain, 1, epsilon=4.0)
    sex, job = sorted(design.questionnaires, key=lambda q: q.epsilon)
    monkeypatch.setattr(reveal, "_ROUNDING", job.epsilon - sex.epsilon)
    assert reveal._least_protected(design) is job
    monkeypatch.setattr(reveal, "_ROUNDING", (job.epsilon - sex.epsilon) * 1.01)
    assert reveal._least_protected(design) is sex


def test_words_prefer_an_answer_to_a_set():
    """Of about the same ε, a report that is an answer is told, not a set that holds it."""
    sets = subset_matrix(13, epsilon=1.0)
    answers = constant_matrix(13, epsilon=sets.epsilon)
    domain = domain_of(13, 13)
    asked = [
        Questionnaire((Cluster((name,), matrix),), 2**15)
        for name, matrix in (("a", sets), ("b", answers))
    ]
    for order in (asked, asked[::-1]):
        words = in_words(Design(domain, tuple(order)))
        assert words[1].startswith("At the least protected, b: your true answer is sent ")


def test_words_for_dense_matrices_and_certain_ones():
    domain = Domain((Attribute("a", ("p", "q", "r")),))
    words = in_words(Design(domain, (Questionnaire((Cluster(("a",), BAND),)),)))
    assert words[0] == "a: your true answer is sent in 61 of 100 cases at most."
    sure = Dense(((2**16, 0), (2**15, 2**15)))
    domain = Domain((Attribute("a", ("p", "q")),))
    words = in_words(Design(domain, (Questionnaire((Cluster(("a",), sure),)),)))
    assert "infinite" in words[1]


def test_words_for_sets_and_bands():
    """The words' probabilities against those of drawing."""
    n, rng = 40_000, np.random.default_rng(2)
    domain = Domain((Attribute("a", tuple(f"v{i}" for i in range(13))),))
    truth = np.full(n, 4)
    sets, bands = subset_matrix(13, epsilon=1.0), banded_matrix(13, epsilon=1.0)
    draws = [m.draw(truth, rng.integers(0, m.total, n, dtype=np.uint64)) for m in (sets, bands)]
    held = np.isin((4 - draws[0].astype(int)) % sets.codes, sets.block).mean()
    near = (np.abs(draws[1].astype(int) - bands.width - 4) <= bands.width).mean()
    for matrix, share, start in ((sets, held, "a: a set of"), (bands, near, "a: a place")):
        words = in_words(Design(domain, (Questionnaire((Cluster(("a",), matrix),)),)))[0]
        assert words.startswith(start)
        numbers = [int(word) for word in re.findall(r"(\d+) of (\d+) cases", words)[0]]
        allowed = z() * math.sqrt(share * (1 - share) / n) + 0.02 * min(share, 1 - share)
        assert abs(numbers[0] / numbers[1] - share) < allowed


def test_words_for_large_epsilon_do_not_pretend_a_bound():
    domain = Domain(tuple(Attribute(f"a{i}", tuple("pqrstu")) for i in range(8)))
    words = in_words(independent(domain, p=0.7))
    odds = next(sentence for sentence in words if "odds" in sentence)
    assert "more than a million" in odds
    assert "at most 100 in 100" in odds


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: belief(1.2, 1.0), MdrrError, "not a probability"),
        (lambda: belief(0.5, -1.0), MdrrError, "0 or more"),
        (lambda: times_in(1.5), MdrrError, "not a probability"),
        (lambda: posterior(BAND, [0.5, 0.5], 0), MatrixError, "3 entries"),
        (lambda: posterior(BAND, [0.5, 0.5, 0.5], 0), MatrixError, "sum to 1"),
        (lambda: posterior(BAND, [0.5, 0.5, 0.0], 3), MatrixError, "outside"),
        (
            lambda: posterior(Dense(((2**16, 0), (2**15, 2**15))), [1.0, 0.0], 1),
            MatrixError,
            "cannot be reported",
        ),
    ],
)
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
