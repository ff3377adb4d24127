"""What section 6 says, checked: each claim holds, does not, or cannot be told, with its number.

A claim's criterion is fixed here and the same for any number of runs. Its thresholds were chosen
before any run, but for that of equality (within a tenth), which came with the rule that intervals
decide, after the first results were seen. "Beyond chance" means that two medians differ by more
than 2.58 of their joint Monte-Carlo standard errors (99 %); those of Figure 3 answer the same
queries, so that their intervals are wider than they need to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from mdrr.estimation.project import clip_rescale, nearest
from mdrr.reproduction.outcome import Outcome
from mdrr.reproduction.population import adult_population
from mdrr.reproduction.printed import COVERAGES, KEEPS
from mdrr.reproduction.results import Median
from mdrr.reproduction.table_claims import check_adult6, check_thresholds
from mdrr.reproduction.verdict import (
    Claim,
    Known,
    alike,
    all_of,
    below,
    claim,
    most_of,
    percent,
)

_SIMILAR = 0.05
_SMALL = 0.1
_MUCH = 0.8
_EQUAL = 0.1


def check(outcome: Outcome) -> list[Claim]:
    """Every claim that the outcome has the experiments for, in the paper's order."""
    found = [*_formulas()]
    if outcome.joint and outcome.figure3:
        found += _joint(outcome)
    if outcome.figure2:
        found += _base(outcome)
    found += check_thresholds(outcome)
    if outcome.figure3:
        found += _methods(outcome)
    return [*found, *check_adult6(outcome)]


def _formulas() -> Iterable[Claim]:
    size = adult_population().domain.size
    yield claim(
        "6.2",
        "The eight attributes of Adult have 1,814,400 possible combinations.",
        size == 1_814_400,
        f"{size:,}",
    )
    rows = {r: 0.1 + (r - 1) * 0.9 / r for r in (2, 9, 16)}
    listed = ", ".join(f"{total:.2f} for {r} categories" for r, total in rows.items())
    yield claim(
        "6.3",
        "p on the diagonal and (1−p)/|A| elsewhere is a randomization matrix.",
        all(math.isclose(total, 1) for total in rows.values()),
        f"at p = 0.1 its rows sum to {listed}; its ε for 9 categories is |ln 1| = 0",
    )
    budget = 3 * math.log(1 + 0.5 * 2 / 0.5)
    printed = 1 / (1 + (1 - 8) * math.exp(-budget))
    yield claim(
        "6.3",
        "The printed p_C makes every row sum to 1.",
        math.isclose(printed * (1 + 7 * math.exp(-budget)), 1),
        f"three binary attributes at p = 0.5: row sum {printed * (1 + 7 * math.exp(-budget)):.3f}; "
        "with (Π|A| − 1) instead of (1 − Π|A|) it is 1",
    )
    values = np.array([0.7, 0.5, -0.2])
    clipped, closest = (float(np.linalg.norm(values - f(values))) for f in (clip_rescale, nearest))
    yield claim(
        "6.4",
        "Clipping and rescaling gives the closest proper distribution.",
        clipped <= closest,
        f"for (0.7, 0.5, −0.2) it is at distance {clipped:.4f}, the closest one at {closest:.4f}",
    )


def _joint(outcome: Outcome) -> Iterable[Claim]:
    yield claim(
        "6.2",
        "RR-Joint on all eight attributes is computationally infeasible.",
        False,
        f"done here {next(iter(outcome.joint.values())).runs} times for each p: a constant matrix "
        "is inverted by one subtraction and one division a cell",
    )
    pairs = {
        p: (outcome.joint[p, "whole"], outcome.figure3[p, COVERAGES[0], "RR-Independent"])
        for p in KEEPS
    }
    asked = {p: outcome.joint[p, "queried"] for p in KEEPS}
    yield claim(
        "6.2",
        "RR-Joint would be extremely inaccurate.",
        all_of(below(single, whole) for whole, single in pairs.values()),
        "relative error at σ = 0.1, RR-Joint against RR-Independent at the same ε: "
        + "; ".join(
            f"p = {p}: {whole.value:.3f} against {single.value:.3f}"
            for p, (whole, single) in pairs.items()
        )
        + ". Making only the queried table proper: "
        + ", ".join(f"{found.value:.3f}" for found in asked.values()),
    )


def _base(outcome: Outcome) -> Iterable[Claim]:
    def at(coverage: float, method: str, error: str) -> Median:
        return outcome.figure2[coverage, method, error]

    for error in ("absolute", "relative"):
        pairs = [(at(c, "RR-Independent", error), at(c, "Randomized", error)) for c in COVERAGES]
        ratios = [single.value / raw.value for single, raw in pairs]
        yield claim(
            "6.5, Figure 2",
            f"RR-Independent significantly reduces the {error} error of Randomized.",
            all_of(below(single, raw) for single, raw in pairs),
            f"its error is {percent(min(ratios))} to {percent(max(ratios))} of Randomized's",
        )
    for method in ("RR-Independent", "Randomized"):
        errors = {c: at(c, method, "absolute") for c in COVERAGES}
        top = max(errors, key=lambda c: errors[c].value)
        yield claim(
            "6.5, Figure 2",
            f"The absolute error of {method} peaks at σ = 0.5.",
            all_of(below(errors[c], errors[0.5]) for c in COVERAGES if c != 0.5),
            f"{errors[0.5].value:,.0f} people at 0.5, the largest is {errors[top].value:,.0f} at "
            f"{top}, 0.1 and 0.9 have {errors[0.1].value:,.0f} and {errors[0.9].value:,.0f}",
        )
        yield claim(
            "6.5, Figure 2",
            f"The absolute error of {method} at σ = 0.6 is that at σ = 0.4.",
            alike(errors[0.4], errors[0.6], _EQUAL),
            f"{errors[0.4].value:,.0f} at 0.4, {errors[0.6].value:,.0f} at 0.6 (criterion: within "
            f"{percent(_EQUAL)})",
        )
        relative = [at(c, method, "relative") for c in COVERAGES]
        rises = [
            f"{c}"
            for c, a, b in zip(COVERAGES[1:], relative, relative[1:], strict=False)
            if below(a, b)
        ]
        yield claim(
            "6.5, Figure 2",
            f"The relative error of {method} decreases as σ grows.",
            False if rises else below(relative[-1], relative[0]),
            f"from {relative[0].value:.3f} at 0.1 to {relative[-1].value:.3f} at 0.9"
            + (f"; it rises at {', '.join(rises)}" if rises else ""),
        )


def _methods(outcome: Outcome) -> Iterable[Claim]:
    def at(p: float, coverage: float, method: str) -> Median:
        return outcome.figure3[p, coverage, method]

    single, joined = "RR-Independent", "RR-Clusters"
    others = (joined, f"{single} + Adjustment", f"{joined} + Adjustment")
    for p in (0.1, 0.3):
        worse = {
            other: [below(at(p, c, single), at(p, c, other)) for c in COVERAGES] for other in others
        }
        counts = {
            truth: ", ".join(f"{other} {found.count(truth)}" for other, found in worse.items())
            for truth in (True, False)
        }
        yield claim(
            "6.5, Figure 3",
            f"At p = {p} RR-Independent is the most accurate.",
            all_of(truth for found in worse.values() for truth in found),
            f"coverages (of 9) where another is better beyond chance: {counts[False]}; where it is "
            f"worse: {counts[True]}; at σ = 0.1 {_row(outcome, p, 0.1)}",
        )
        yield claim(
            "6.5, Figure 3",
            f"At p = {p} RR-Clusters and RR-Adjustment are counter-productive.",
            all_of(most_of(found) for found in worse.values()),
            f"coverages (of 9) where it is worse than RR-Independent beyond chance: "
            f"{counts[True]}; where it is better: {counts[False]}",
        )
    for p in (0.5, 0.7):
        wide = [[at(p, c, m) for m in (single, *others)] for c in COVERAGES if c >= 0.3]
        close = [below(a, b, plus=_SIMILAR) for row in wide for a in row for b in row if a is not b]
        small = [below(found, Known(_SMALL)) for row in wide for found in row]
        spans = [(min(m.value for m in row), max(m.value for m in row)) for row in wide]
        gap, top = max(high - low for low, high in spans), max(high for _, high in spans)
        yield claim(
            "6.5, Figure 3",
            f"At p = {p} and σ ≥ 0.3 all methods are similar, with a very small relative error.",
            all_of([*close, *small]),
            f"they are at most {gap:.3f} apart and at most {top:.3f} (criterion: {_SIMILAR}, "
            f"{_SMALL})",
        )
        ratios = {c: at(p, c, joined).value / at(p, c, single).value for c in (0.1, 0.2)}
        yield claim(
            "6.5, Figure 3",
            f"At p = {p} and σ < 0.3 RR-Clusters is much more accurate than RR-Independent.",
            all_of(below(at(p, c, joined), at(p, c, single), _MUCH) for c in ratios),
            "its error is "
            + " and ".join(f"{percent(r)} at σ = {c}" for c, r in ratios.items())
            + f" of RR-Independent's (criterion: at most {percent(_MUCH)})",
        )
        for method in (single, joined):
            adjusted = f"{method} + Adjustment"
            gains = {c: at(p, c, adjusted).value / at(p, c, method).value for c in (0.1, 0.2)}
            yield claim(
                "6.5, Figure 3",
                f"At p = {p} and σ < 0.3 RR-Adjustment substantially improves {method}.",
                all_of(below(at(p, c, adjusted), at(p, c, method), _MUCH) for c in gains),
                "its error is "
                + " and ".join(f"{percent(r)} at σ = {c}" for c, r in gains.items())
                + f" of that without (criterion: at most {percent(_MUCH)})",
            )


def _row(outcome: Outcome, p: float, coverage: float) -> str:
    listed = {m: f for (q, c, m), f in outcome.figure3.items() if (q, c) == (p, coverage)}
    return ", ".join(f"{m} {f.value:.3f}" for m, f in listed.items() if m != "Randomized")
