"""Every claim can hold and can fail, by its own numbers."""

from dataclasses import replace

import pytest

from mdrr.reproduction.claims import check
from mdrr.reproduction.explanation import explains_all, fits
from mdrr.reproduction.outcome import Outcome, VariantOutcome
from mdrr.reproduction.printed import COVERAGES, KEEPS, TABLES
from mdrr.reproduction.results import median
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.verdict import FEWEST, below
from tests.reproduction.made_up import like_the_paper, sharp, table

FALSE_ANYWAY = (  # formulas, and what is done here whatever the numbers
    "is a randomization matrix",
    "makes every row sum to 1",
    "closest proper distribution",
    "computationally infeasible",
)


def verdicts(outcome):
    return {claim.text: claim.holds for claim in check(outcome)}


def verdict(outcome, words):
    (found,) = (holds for text, holds in verdicts(outcome).items() if words in text)
    return found


def test_what_the_paper_says_of_its_own_numbers():
    """Its tables bear out most of its claims; those they do not are listed here."""
    found = verdicts(like_the_paper())
    false = {text for text, holds in found.items() if holds is False}
    surprising = {text for text in false if not any(words in text for words in FALSE_ANYWAY)}
    assert len(false) == len(surprising) + len(FALSE_ANYWAY)
    assert surprising == {
        "A larger T_d is better for small p, a smaller one for large p.",
        "At p = 0.5 the reduction is more remarkable for T_v = 50 and 100 than for 300.",
        "The effect of T_d does not change with the data set's size.",
    }
    assert len(verdicts(like_the_paper())) == len(check(like_the_paper()))
    assert all(claim.evidence for claim in check(like_the_paper()))


def widened(found, width):
    """The same medians with bands of another width, as of another number of runs."""
    return {cell: sharp(m.value, m.paper, width) for cell, m in found.items()}


def blurred(width, settings=None):
    right = like_the_paper(settings)
    variants = {
        kind: tuple(
            VariantOutcome(v.variant, {n: widened(t, width) for n, t in v.tables.items()})
            for v in listed
        )
        for kind, listed in right.variants.items()
    }
    return replace(
        right,
        figure2=widened(right.figure2, width),
        figure3=widened(right.figure3, width),
        joint=widened(right.joint, width),
        tables={name: widened(table, width) for name, table in right.tables.items()},
        variants=variants,
    )


ALWAYS = (*FALSE_ANYWAY, "1,814,400", "A larger T_d is better", "The effect of T_d does not")
"""Claims whose verdict does not hang on the bands: facts, and what exact dependences settle."""


def test_wide_bands_leave_every_claim_about_medians_undecided():
    wide = verdicts(blurred(20.0))
    told = {text for text, holds in wide.items() if holds is not None}
    assert {text for text in told if not any(words in text for words in ALWAYS)} == set()
    assert len(told) == len(ALWAYS)
    assert len(wide) == len(verdicts(like_the_paper()))


def test_more_runs_decide_and_never_turn_a_verdict_round():
    widths = (20.0, 1.0, 0.3, 0.1, 0.02, 0.001)
    found = [verdicts(blurred(width)) for width in widths]
    counts = [sum(holds is None for holds in each.values()) for each in found]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0
    for text in set(found[0]) - {t for t in found[0] if any(words in t for words in ALWAYS)}:
        said = [each[text] for each in found if each[text] is not None]
        assert len(set(said)) == 1, text


def test_dependences_learnt_from_reports_leave_t_d_open():
    words = "A larger T_d is better for small p"
    assert verdict(blurred(20.0, Settings(dependences="attributes")), words) is None


def test_too_few_runs_decide_nothing():
    for runs, told in ((FEWEST - 1, None), (FEWEST, True)):
        one, two = (replace(sharp(value), runs=runs) for value in (0.1, 0.2))
        assert below(one, two) is told
    errors = [float(k) for k in range(FEWEST)]
    assert (median(errors).low, median(errors).high) == (0, FEWEST - 1)


def test_criteria_are_met_by_the_interval_and_not_by_the_number():
    words = "At p = 0.7 and σ < 0.3 RR-Clusters is much"
    right = like_the_paper()
    for factor, said in ((0.75, True), (0.79, None), (0.81, None), (0.85, False)):
        figure = {
            (p, c, m): sharp(right.figure3[p, c, "RR-Independent"].value * factor)
            if (p, m) == (0.7, "RR-Clusters")
            else found
            for (p, c, m), found in right.figure3.items()
        }
        assert verdict(replace(right, figure3=figure), words) is said


def test_only_what_was_run_is_judged():
    assert len(check(Outcome(Settings()))) == 4
    only = replace(Outcome(Settings()), tables={"table1": like_the_paper().tables["table1"]})
    assert {claim.section for claim in check(only)} == {"6.2", "6.3", "6.4", "6.5, Table 1"}


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("reduces the absolute error", lambda c, m, e, v: v * (6 if m[0:2] == "RR" else 1)),
        ("absolute error of RR-Independent peaks", lambda c, m, e, v: v * (9 if c == 0.2 else 1)),
        ("absolute error of Randomized at σ = 0.6", lambda c, m, e, v: v * (2 if c == 0.6 else 1)),
        ("relative error of Randomized decreases", lambda c, m, e, v: v * (1 + 90 * (c == 0.9))),
    ],
)
def test_claims_about_figure_2_fail_on_other_numbers(words, change):
    right = like_the_paper()
    assert verdict(right, words) is True
    figure = {(c, m, e): sharp(change(c, m, e, f.value)) for (c, m, e), f in right.figure2.items()}
    assert verdict(replace(right, figure2=figure), words) is False


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
    assert verdict(right, words)
    figure = {
        (q, c, m): sharp(f.value * (factor if (q, m) == (p, method) else 1))
        for (q, c, m), f in right.figure3.items()
    }
    assert verdict(replace(right, figure3=figure), words) is False


@pytest.mark.parametrize(
    ("words", "one", "six"),
    [
        ("As a rule", lambda p, v, d: 1 / v, None),
        ("decreases for all parameterizations", None, lambda p, v, d: 0.9),
        ("At p = 0.7 the reduction is small", None, lambda p, v, d: 0.01),
        ("reduction is highest for T_v = 300", None, lambda p, v, d: v / 6000),
        ("the lowest error is at T_v = 300", None, lambda p, v, d: v / 6000),
        ("At p = 0.1 the reduction is more remarkable", None, lambda p, v, d: 1 / v**2),
        ("p = 0.1 T_v = 300 does not have", None, lambda p, v, d: 1 / v),
    ],
)
def test_claims_about_tables_fail_on_other_numbers(words, one, six):
    right = like_the_paper()
    assert verdict(right, words)
    tables = dict(right.tables)
    if one:
        tables["table1"] = table("table1", one)
    if six:
        tables["table2"] = table("table2", six)
    assert verdict(replace(right, tables=tables), words) is False


def test_t_d_matters_when_it_does():
    right = like_the_paper()
    words = "A larger T_d is better for small p"
    steep = table("table1", lambda p, v, d: 0.2 * ((1 - d) if p < 0.5 else (1 + d)))
    assert verdict(replace(right, tables={"table1": steep}), words)
    flat = table("table1", lambda p, v, d: 0.2)
    assert verdict(replace(right, tables={"table1": flat}), words) is False


def test_joint_is_inaccurate_only_if_worse_everywhere():
    right = like_the_paper()
    words = "RR-Joint would be extremely inaccurate"
    assert verdict(right, words)
    better = {**right.joint, (0.7, "whole"): sharp(0.001)}
    assert verdict(replace(right, joint=better), words) is False


def test_wider_queries_differ_when_they_do():
    right = like_the_paper()
    words = "more than two attributes"
    assert verdict(right, words)
    changed = tuple(
        VariantOutcome(v.variant, {"table1": table("table1", lambda p, m, d: 0.9)})
        if v.variant.settings.query_size == 3
        else v
        for v in right.variants["choices"]
    )
    assert verdict(replace(right, variants={"choices": changed}), words) is False


def test_explanations():
    right = like_the_paper().variants["readings"]
    assert len(explains_all(right)) == len(right)
    off = [
        VariantOutcome(
            v.variant,
            {
                name: table(
                    name,
                    lambda p, m, d, name=name, i=i: (
                        TABLES[name][p, m, d] * (1.5 if i or p == 0.3 else 1)
                    ),
                )
                for name in TABLES
            },
        )
        for i, v in enumerate(right)
    ]
    assert explains_all(off) == []
    found = fits(off)
    assert found["table1", 0.1][0].name == right[0].variant.name
    assert found["table1", 0.1][0].agree == 9
    assert found["table2", 0.3][0].ratio == pytest.approx(1.5)
    assert not found["table2", 0.3][0].explains


def test_coverages_and_ps_are_the_paper_s():
    assert tuple(i / 10 for i in range(1, 10)) == COVERAGES
    assert KEEPS == (0.1, 0.3, 0.5, 0.7)
