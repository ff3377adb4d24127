"""Every claim can hold and can fail, by its own numbers."""

import pytest
from experiments.claims import check
from experiments.printed import KEEPS, METHODS, TABLES

from tests.experiments.made_up import like_the_paper, sharp, table

FALSE_ANYWAY = (  # formulas, and what is done here whatever the numbers
    "is a randomization matrix",
    "makes every row sum to 1",
    "closest proper distribution",
    "computationally infeasible",
)
ALWAYS = (*FALSE_ANYWAY, "1,814,400", "all combinations in a population")


def verdicts(outcome):
    return {claim.text: claim.holds for claim in check(outcome)}


def verdict(outcome, words):
    (found,) = (holds for text, holds in verdicts(outcome).items() if words in text)
    return found


def test_what_the_paper_says_of_its_own_numbers():
    """Its first column of T_d bears out its claims, but for one."""
    claims = check(like_the_paper())
    false = {claim.text for claim in claims if claim.holds is not True}
    assert {text for text in false if not any(words in text for words in FALSE_ANYWAY)} == {
        "At p = 0.5 the reduction is more remarkable for T_v = 50 and 100 than for 300.",
    }
    assert len({claim.text for claim in claims}) == len(claims)
    assert all(claim.evidence for claim in claims)


def test_wide_bands_leave_every_claim_about_medians_undecided():
    told = {
        text for text, holds in verdicts(like_the_paper(width=9.0)).items() if holds is not None
    }
    assert {text for text in told if not any(words in text for words in ALWAYS)} == set()
    assert len(told) == len(ALWAYS)


def test_more_runs_decide_and_never_turn_a_verdict_round():
    found = [verdicts(like_the_paper(width)) for width in (9.0, 0.3, 0.1, 0.03, 0.01, 1e-4)]
    counts = [sum(holds is None for holds in each.values()) for each in found]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0
    for text in found[0]:
        assert len({each[text] for each in found if each[text] is not None}) == 1, text


def test_rr_joint_is_judged_by_target_and_p():
    """Large for all combinations of a population, whatever happens to counts or to one p."""
    right = like_the_paper()
    texts = [text for text in verdicts(right) if "RR-Joint would be extremely inaccurate" in text]
    assert len(texts) == 1 + 2 * len(KEEPS)
    (claim,) = (c for c in check(right) if "in a population" in c.text)
    assert claim.holds is True
    assert "4,148 %" in claim.evidence
    better = {**right.joint, (0.7, "whole"): sharp(0.001), (0.5, "distance"): sharp(0.1)}
    changed = verdicts(like_the_paper(joint=better))
    assert {text for text in texts if changed[text] is False} == {
        "RR-Joint would be extremely inaccurate: counts over two attributes, p = 0.7.",
        "RR-Joint would be extremely inaccurate: the joint distribution of the records, p = 0.5.",
    }


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("reduces the absolute error", lambda c, m, e: 6 if m == METHODS[0] else 1),
        ("absolute error of RR-Independent peaks", lambda c, m, e: 9 if c == 0.2 else 1),
        ("absolute error of Randomized at σ = 0.6", lambda c, m, e: 2 if c == 0.6 else 1),
        ("relative error of Randomized decreases", lambda c, m, e: 90 if c == 0.9 else 1),
    ],
)
def test_claims_about_figure_2_fail_on_other_numbers(words, change):
    right = like_the_paper()
    assert verdict(right, words) is True
    figure = {key: sharp(found.value * change(*key)) for key, found in right.figure2.items()}
    assert verdict(like_the_paper(figure2=figure), words) is False


@pytest.mark.parametrize(
    ("words", "p", "method", "factor"),
    [
        ("At p = 0.1 RR-Independent is the most", 0.1, "RR-Clusters", 0.5),
        ("At p = 0.3 RR-Clusters and RR-Adj", 0.3, "RR-Clusters + Adjustment", 0.7),
        ("At p = 0.5 and σ ≥ 0.3 all methods", 0.5, "RR-Clusters", 9),
        ("At p = 0.7 and σ < 0.3 RR-Clusters is much", 0.7, "RR-Clusters", 1.2),
        ("At p = 0.5 and σ < 0.3 RR-Adjustment substantially improves RR-Independent", 0.5,
         "RR-Independent + Adjustment", 1.3),
        ("At p = 0.7 and σ < 0.3 RR-Adjustment substantially improves RR-Clusters", 0.7,
         "RR-Clusters + Adjustment", 1.5),
    ],
)  # fmt: skip
def test_claims_about_figure_3_fail_on_other_numbers(words, p, method, factor):
    right = like_the_paper()
    assert verdict(right, words) is True
    figure = {
        (q, c, m): sharp(f.value * (factor if (q, m) == (p, method) else 1))
        for (q, c, m), f in right.figure3.items()
    }
    assert verdict(like_the_paper(figure3=figure), words) is False


@pytest.mark.parametrize(
    ("words", "choice", "copies", "error"),
    [
        ("As a rule", "as stated", 1, lambda p, v: 1 / v),
        ("decreases for all parameterizations", "as stated", 6, lambda p, v: 0.9),
        ("At p = 0.7 the reduction is small", "as stated", 6, lambda p, v: 0.01),
        ("reduction is highest for T_v = 300", "as stated", 6, lambda p, v: v / 6000),
        ("the lowest error is at T_v = 300", "as stated", 6, lambda p, v: v / 6000),
        ("At p = 0.1 the reduction is more remarkable", "as stated", 6, lambda p, v: 1 / v**2),
        ("p = 0.1 T_v = 300 does not have", "as stated", 6, lambda p, v: 1 / v),
        ("more than two attributes", "three attributes", 1, lambda p, v: 0.9),
    ],
)
def test_claims_about_tables_fail_on_other_numbers(words, choice, copies, error):
    right = like_the_paper()
    assert verdict(right, words) is True
    fresh = {**right.fresh, ("corrected", choice, copies): table(error)}
    assert verdict(like_the_paper(fresh=fresh), words) is False


def test_t_d_is_judged_where_it_can_matter():
    """With exact dependences T_d changes nothing; only what was learnt from reports decides."""
    words = ("For small p a larger T_d", "For large p a smaller T_d", "The effect of T_d does not")
    right = like_the_paper()
    assert [verdict(right, each) for each in words] == [True, True, True]
    once = {(p, most): sharp(TABLES[1][p, most, 0.1]) for p, most, _ in TABLES[1]}
    flat = {(p, most, least): once[p, most] for p, most, least in TABLES[1]}  # the same runs
    same = {**right.learnt, ("attenuated", 1): flat, ("attenuated", 6): flat}
    assert [verdict(like_the_paper(learnt=same), each) for each in words] == [False, False, True]
    apart = {**right.clusters, ("attenuated", 1): dict.fromkeys(TABLES[1], 8.0)}
    nothing = like_the_paper(learnt=same, clusters=apart)  # no clusters: T_d had nothing to decide
    assert [verdict(nothing, each) for each in words[:2]] == [None, None]
    other = {**right.learnt, ("attenuated", 6): flat}
    assert verdict(like_the_paper(learnt=other), words[2]) is False
