"""What section 6 says, checked: each claim holds, does not, or cannot be told, with its number.

A claim's criterion is fixed here and the same for any number of runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.medians import (
    Median,
    Number,
    Outcome,
    Truth,
    alike,
    all_of,
    any_of,
    below,
    known,
    mean,
    most_of,
)
from experiments.printed import COPIES, COVERAGES, JOINED, KEEPS, METHODS, MOST_CELLS, SINGLE
from experiments.simulation import adult_people
from mdrr.estimation.project import clip_rescale, nearest
from mdrr.protocols import epsilon_of
from mdrr.theory import compare, compare_printed

SIMILAR = 0.05  # relative errors this far apart are similar
SMALL = 0.1  # a relative error below this is very small
MUCH = 0.8  # a method is much better if its error is at most this share of the other's
EQUAL = 0.1  # errors within this share of each other are the same
MOST_WRONG = 0.5  # extremely inaccurate: more than this share of people is in wrong cells


@dataclass(frozen=True)
class Claim:
    """What the paper says and where, whether it holds here, and the number that shows it."""

    section: str
    text: str
    holds: Truth
    evidence: str

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "holds", False: "does not hold", None: "cannot be told"}[self.holds]


def check(outcome: Outcome) -> list[Claim]:
    """Every claim, in the paper's order."""
    return [
        *_formulas(),
        *_joint(outcome),
        *_figure2(outcome),
        *_table1(outcome),
        *_figure3(outcome),
        *_table2(outcome),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _formulas() -> Iterator[Claim]:
    size = adult_people().domain.size
    text = "The eight attributes of Adult have 1,814,400 possible combinations."
    yield Claim("6.2", text, size == 1_814_400, f"{size:,}")
    rows = {r: 0.1 + (r - 1) * 0.9 / r for r in (2, 9, 16)}
    yield Claim(
        "6.3",
        "p on the diagonal and (1−p)/|A| elsewhere is a randomization matrix.",
        all(math.isclose(total, 1) for total in rows.values()),
        "at p = 0.1 its rows sum to "
        + ", ".join(f"{total:.2f} for {r} categories" for r, total in rows.items())
        + "; its ε for 9 categories is |ln 1| = 0",
    )
    left = math.exp(-3 * epsilon_of(0.5, 2))
    row = (1 + 7 * left) / (1 + (1 - 8) * left)
    yield Claim(
        "6.3",
        "The printed p_C makes every row sum to 1.",
        math.isclose(row, 1),
        f"three binary attributes at p = 0.5: row sum {row:.3f}; with (Π|A| − 1) instead of "
        "(1 − Π|A|) it is 1",
    )
    values = np.array([0.7, 0.5, -0.2])
    clipped, closest = (float(np.linalg.norm(values - f(values))) for f in (clip_rescale, nearest))
    yield Claim(
        "6.4",
        "Clipping and rescaling gives the closest proper distribution.",
        clipped <= closest,
        f"for (0.7, 0.5, −0.2) it is at distance {clipped:.4f}, the closest one at {closest:.4f}",
    )


def _joint(outcome: Outcome) -> Iterator[Claim]:
    text = "RR-Joint on all eight attributes is computationally infeasible."
    done = "done here for every p: a constant matrix is inverted by one division a cell"
    yield Claim("6.2", text, False, done)
    people = adult_people()
    shape, said = people.domain.shape, "RR-Joint would be extremely inaccurate: "
    printed = compare_printed(shape, people.n).joint
    theory = {
        p: compare(shape, people.n, sum(epsilon_of(p, r) for r in shape)).cell_joint for p in KEEPS
    }
    yield Claim(
        "6.2, 3.3",
        said + "the frequencies of all combinations in a population.",
        min(printed, *theory.values()) > 1,
        f"by section 3.3 the reports' relative error e_rel is {100 * printed:,.0f} % (even "
        "frequencies); the estimates' is "
        + ", ".join(f"{100 * e:,.0f} % at p = {p}" for p, e in theory.items()),
    )
    for p in KEEPS:
        far, alone = (outcome.joint[p, f"{name}distance"] for name in ("", "independent "))
        yield Claim(
            "6.2",
            f"{said}the joint distribution of the records, p = {p}.",
            below(known(MOST_WRONG), far.number),
            f"total variation {far.value:.3f}, RR-Independent's {alone.value:.3f} (criterion: "
            f"above {MOST_WRONG})",
        )
    for p in KEEPS:
        whole, asked, alone = (outcome.joint[p, n] for n in ("whole", "queried", "independent"))
        yield Claim(
            "6.2",
            f"{said}counts over two attributes, p = {p}.",
            below(alone.number, whole.number),
            f"relative error at σ = 0.1 {whole.value:.3f}, RR-Independent's {alone.value:.3f} at "
            f"the same ε (criterion: larger); {asked.value:.4f} if only the queried table, not the "
            "whole, is made proper",
        )


def _figure2(outcome: Outcome) -> Iterator[Claim]:
    section = "6.5, Figure 2"

    def at(coverage: float, method: str, error: str) -> Median:
        return outcome.figure2[coverage, method, error]

    for error in ("absolute", "relative"):
        pairs = [(at(c, "RR-Independent", error), at(c, "Randomized", error)) for c in COVERAGES]
        ratios = [single.value / raw.value for single, raw in pairs]
        yield Claim(
            section,
            f"RR-Independent significantly reduces the {error} error of Randomized.",
            all_of(below(single.number, raw.number) for single, raw in pairs),
            f"its error is {_percent(min(ratios))} to {_percent(max(ratios))} of Randomized's",
        )
    for method in ("RR-Independent", "Randomized"):
        errors = {c: at(c, method, "absolute") for c in COVERAGES}
        halves = {
            c: mean([errors[c].number, errors[round(1 - c, 1)].number])
            for c in COVERAGES
            if c < 0.5
        }
        yield Claim(
            section,
            f"The absolute error of {method} peaks at σ = 0.5.",
            all_of(below(half, errors[0.5].number) for half in halves.values()),
            f"{errors[0.5].value:,.0f} people; "
            + ", ".join(f"{half.value:,.0f} at {c} and {1 - c:.1f}" for c, half in halves.items())
            + " (means of the two, since |Y_S − X_S| = |Y_Sᶜ − X_Sᶜ|)",
        )
        yield Claim(
            section,
            f"The absolute error of {method} at σ = 0.6 is that at σ = 0.4.",
            alike(errors[0.4].number, errors[0.6].number, EQUAL),
            f"{errors[0.4].value:,.0f} and {errors[0.6].value:,.0f} people (criterion: within "
            f"{_percent(EQUAL)}); estimate and truth both sum to n, so the error of S is that of "
            "its complement",
        )
        relative = [at(c, method, "relative") for c in COVERAGES]
        falls = zip(relative[1:], relative, strict=False)
        yield Claim(
            section,
            f"The relative error of {method} decreases as σ grows.",
            all_of(below(after.number, before.number) for after, before in falls),
            f"from {relative[0].value:.3f} at 0.1 to {relative[-1].value:.3f} at 0.9",
        )


def _table1(outcome: Outcome) -> Iterator[Claim]:
    section, table = "6.5, Table 1", outcome.fresh["corrected", "as stated", 1]
    rises = [below(table[p, 50].number, table[p, 300].number) for p in KEEPS]
    yield Claim(
        section,
        "As a rule, the relative error increases with T_v.",
        most_of(rises),
        f"from T_v = 50 to 300 it rises at {rises.count(True)} of 4 p and falls at "
        f"{rises.count(False)}: "
        + "; ".join(
            f"p = {p}: " + " → ".join(f"{table[p, most].value:.3f}" for most in MOST_CELLS)
            for p in KEEPS
        ),
    )
    learnt, clusters = outcome.learnt["attenuated", 1], outcome.clusters["attenuated", 1]
    for size, better, worse in (("small", 0.3, 0.1), ("large", 0.1, 0.3)):
        cases = [(p, m) for p in KEEPS for m in MOST_CELLS if (p < 0.5) == (size == "small")]
        right = [below(learnt[p, m, better].number, learnt[p, m, worse].number) for p, m in cases]
        same = sum(clusters[p, m, 0.1] == clusters[p, m, 0.3] == 8 for p, m in cases)
        yield Claim(
            section,
            f"For {size} p a {'larger' if better > worse else 'smaller'} T_d is better.",
            None if same == len(cases) else most_of(right),
            "with dependences learnt as in section 4.1 (exact ones give the same clusters for "
            f"every T_d and cannot tell): better in {right.count(True)} of 6 cases, not better in "
            f"{right.count(False)}; in {same} of 6 nothing is clustered at T_d = 0.1 nor at 0.3",
        )
    other = outcome.fresh["corrected", "three attributes", 1]
    pairs = [(table[cell].number, other[cell].number) for cell in table]
    differ = [True in (below(two, three), below(three, two)) for two, three in pairs]
    equal = [alike(two, three, EQUAL) for two, three in pairs]
    ratios = [other[cell].value / table[cell].value for cell in table]
    yield Claim(
        "6.5",
        "Queries over more than two attributes do not give significantly different results.",
        False if any(differ) else all_of(equal),
        f"over 3 attributes {sum(differ)} of {len(table)} cells of Table 1 differ beyond chance; "
        f"errors are {min(ratios):.2f} to {max(ratios):.2f} times as large",
    )


def _figure3(outcome: Outcome) -> Iterator[Claim]:
    section = "6.5, Figure 3"

    def at(p: float, coverage: float, method: str) -> Number:
        return outcome.figure3[p, coverage, method].number

    for p in (0.1, 0.3):
        worse = {
            other: [below(at(p, c, SINGLE), at(p, c, other)) for c in COVERAGES]
            for other in METHODS[1:]
        }
        better, lost = (
            ", ".join(f"{other} {found.count(truth)}" for other, found in worse.items())
            for truth in (False, True)
        )
        listed = ", ".join(f"{m} {at(p, 0.1, m).value:.3f}" for m in METHODS)
        yield Claim(
            section,
            f"At p = {p} RR-Independent is the most accurate.",
            all_of(truth for found in worse.values() for truth in found),
            f"coverages (of 9) where another is better: {better}; worse: {lost}; at σ = 0.1 "
            f"{listed}",
        )
        yield Claim(
            section,
            f"At p = {p} RR-Clusters and RR-Adjustment are counter-productive.",
            all_of(most_of(found) for found in worse.values()),
            f"coverages (of 9) where it is worse than RR-Independent: {lost}; better: {better}",
        )
    for p in (0.5, 0.7):
        wide = [[at(p, c, m) for m in METHODS] for c in COVERAGES if c >= 0.3]
        close = [below(a, b, plus=SIMILAR) for row in wide for a in row for b in row if a is not b]
        small = [below(found, known(SMALL)) for row in wide for found in row]
        gap = max(max(m.value for m in row) - min(m.value for m in row) for row in wide)
        yield Claim(
            section,
            f"At p = {p} and σ ≥ 0.3 all methods are similar, with a very small relative error.",
            all_of([*close, *small]),
            f"they are at most {gap:.3f} apart and at most "
            f"{max(m.value for row in wide for m in row):.3f} (criterion: {SIMILAR}, {SMALL})",
        )
        pairs = [(JOINED, SINGLE, "RR-Clusters is much more accurate than RR-Independent")]
        pairs += [
            (f"{m} + Adjustment", m, f"RR-Adjustment substantially improves {m}")
            for m in (SINGLE, JOINED)
        ]
        for new, old, text in pairs:
            shares = {c: at(p, c, new).value / at(p, c, old).value for c in (0.1, 0.2)}
            yield Claim(
                section,
                f"At p = {p} and σ < 0.3 {text}.",
                all_of(below(at(p, c, new), at(p, c, old), MUCH) for c in shares),
                "its error is "
                + " and ".join(f"{_percent(r)} at σ = {c}" for c, r in shares.items())
                + f" of the other's (criterion: at most {_percent(MUCH)})",
            )


def _share(number: Number) -> str:
    """A logarithm of a share, with its standard error."""
    share = math.exp(number.value)
    return f"{100 * share:.1f} % ± {100 * share * number.deviation:.1f}"


def _listed(shares: Sequence[Number]) -> str:
    return "Adult6's error as a share of Adult's for T_v = 50, 100, 300: " + ", ".join(
        _share(share) for share in shares
    )


def _table2(outcome: Outcome) -> Iterator[Claim]:
    section = "6.5, Table 2"
    one, six = (outcome.fresh["corrected", "as stated", copies] for copies in COPIES)
    fell = [below(six[cell].number, one[cell].number) for cell in one]
    yield Claim(
        section,
        "The relative error decreases for all parameterizations from Adult to Adult6.",
        all_of(fell),
        f"it falls beyond chance in {fell.count(True)} of {len(one)} cells and rises in "
        f"{fell.count(False)}",
    )
    kept = {cell: six[cell].number.log() - one[cell].number.log() for cell in one}
    shares = {p: [kept[p, most] for most in MOST_CELLS] for p in KEEPS}
    overall = mean(shares[0.7])
    yield Claim(
        section,
        "At p = 0.7 the reduction is small.",
        below(known(math.log(MUCH)), overall),
        f"Adult6's error is {_share(overall)} of Adult's (criterion: at least {_percent(MUCH)})",
    )
    yield Claim(
        section,
        "At p = 0.7 the reduction is highest for T_v = 300.",
        all_of(below(kept[0.7, 300], kept[0.7, most]) for most in (50, 100)),
        _listed(shares[0.7]),
    )
    errors = {p: ", ".join(f"{six[p, most].value:.3f}" for most in MOST_CELLS) for p in KEEPS}
    yield Claim(
        section,
        "On Adult6 at p = 0.7 the lowest error is at T_v = 300.",
        all_of(below(six[0.7, 300].number, six[0.7, most].number) for most in (50, 100)),
        f"for T_v = 50, 100, 300: {errors[0.7]}",
    )
    for p in (0.1, 0.3, 0.5):
        yield Claim(
            section,
            f"At p = {p} the reduction is more remarkable for T_v = 50 and 100 than for 300.",
            all_of(below(kept[p, most], kept[p, 300]) for most in (50, 100)),
            _listed(shares[p]),
        )
        yield Claim(
            section,
            f"On Adult6 at p = {p} T_v = 300 does not have the lowest error.",
            any_of(below(six[p, most].number, six[p, 300].number) for most in (50, 100)),
            f"for T_v = 50, 100, 300: {errors[p]}",
        )
    yield _same_effect(outcome, section)


def _same_effect(outcome: Outcome, section: str) -> Claim:
    """Whether error at T_d = 0.3 over error at T_d = 0.1 is the same on both data sets."""
    one, six = (outcome.learnt["attenuated", copies] for copies in COPIES)
    effects = {
        (p, most): [t[p, most, 0.3].number.log() - t[p, most, 0.1].number.log() for t in (one, six)]
        for p in KEEPS
        for most in MOST_CELLS
    }
    near = math.log(1 + EQUAL)
    truths = [all_of([below(a, b, plus=near), below(b, a, plus=near)]) for a, b in effects.values()]
    p, most = max(effects, key=lambda cell: abs((effects[cell][0] - effects[cell][1]).value))
    here, there = (math.exp(effect.value) for effect in effects[p, most])
    return Claim(
        section,
        "The effect of T_d does not change with the data set's size.",
        all_of(truths),
        "with dependences learnt as in section 4.1, the error at T_d = 0.3 over that at 0.1 is the "
        f"same within {_percent(EQUAL)} in {truths.count(True)} of 12 cases and not in "
        f"{truths.count(False)}; the largest difference is at p = {p}, T_v = {most}: "
        f"{here:.2f} on Adult, {there:.2f} on Adult6",
    )
