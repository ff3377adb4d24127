"""Beliefs against Bayes, and words against the probabilities they state."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import MatrixError, MdrrError
from mdrr.matrix import Constant, Dense, banded_matrix, constant_matrix, subset_matrix
from mdrr.privacy import belief, in_words, posterior, times_in
from mdrr.protocols import clustered, independent, sampled
from tests.chance import z

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


def test_belief_ends():
    assert belief(0.0, 5.0).high == 0.0
    assert belief(1.0, 5.0).low == 1.0
    assert belief(0.3, 0.0).high == pytest.approx(0.3)
    assert belief(0.3, math.inf).high == 1.0
    assert belief(0.3, math.inf).low == 0.0
    assert belief(0.3, 800.0).to_dict() == {"prior": 0.3, "low": 0.0, "high": 1.0}


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
        (1e-20, "almost never"),
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
