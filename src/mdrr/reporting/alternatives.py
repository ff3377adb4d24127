"""What other designs are predicted to do for the same people at the same budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from mdrr.dependence import Dependences
from mdrr.design import Design
from mdrr.errors import DesignError, MdrrError
from mdrr.planning import Candidate, Plan, plan, predict
from mdrr.planning.predict import GUESSED, GUESSWORK
from mdrr.plots.style import percent

MOST_ATTRIBUTES = 12
"""Planning for more takes longer than a reader of a report should wait."""
MOST_QUESTIONNAIRES = 2048
"""A design with more of them takes as long to predict."""
OWN = "this survey's design"
"""The name of the design in use where it is none of a plan's."""
MOST_NOISE = 0.25
"""Dependences are planned with where unbiased counts of pairs are predicted to err by no more. On
Adult, estimated ones are then nearer to the true ones than the assumed value is."""


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Designs compared, the best first, or why there are none."""

    words: tuple[str, ...]  # what the comparison says
    plan: Plan | None = None  # the designs, of those that ask the same only the first
    used: Candidate | None = None  # the one in use, if it is among them
    note: str = ""  # where the plan, or its dependences, come from
    command: str | None = None  # how to get the comparison, or the best design, by oneself


def alternatives(
    design: Design, n: int, dependences: Dependences | None = None, made: Plan | None = None
) -> Alternatives:
    """Compare a survey's design with those a plan proposes for its people and its ε.

    Dependences are used where they are more than noise. With `made`, the plan that the design comes
    from, no new one is made. Where nothing can be compared, the words say why.

    >>> from mdrr.domain import Attribute, Domain
    >>> from mdrr.protocols import independent
    >>> d = Domain(tuple(Attribute(name, tuple("uvwxyz")) for name in "abcd"))
    >>> found = alternatives(independent(d, epsilon=4.0), 10_000)
    >>> found.plan.best.name, found.used.name
    ('sampled 2', 'independent')
    """
    if n < 1:
        return Alternatives(("Nobody has reported, so there is nothing to compare designs for.",))
    if not math.isfinite(design.epsilon):
        words = (
            "Some answer of this design rules out some truth for certain (ε is infinite), so "
            "there is no budget at which other designs could be compared."
        )
        return Alternatives((words,))
    command = f"mdrr plan design.json --n {n} --epsilon {design.epsilon:.6g}"
    if len(design.domain) > MOST_ATTRIBUTES or len(design.questionnaires) > MOST_QUESTIONNAIRES:
        words = "Comparing designs takes a while in a survey of this size, so it is left out here."
        return Alternatives((words,), command=command)
    note = ""
    if made is not None:
        if made.domain != design.domain:
            raise DesignError("the plan is not of this design's attributes. Give the plan it is of")
        note = "This is the plan made before anyone was asked."
    elif dependences is not None:
        note = "The dependences shown above were used:"
        if not _telling(design, n):
            dependences = None
            note = "The dependences shown above are too uncertain to predict with."
    try:
        proposed = made or plan(design.domain, n=n, epsilon=design.epsilon, dependences=dependences)
    except (MdrrError, ArithmeticError) as error:
        return Alternatives((f"No other design could be compared: {error}.",))
    kept, failed = distinct(proposed), ""
    used = next((c for c in kept if _alike(c.design, design)), None)
    if used is None:
        try:
            mine = predict(design, proposed.n, proposed.tables, dependences=proposed.dependences)
        except (MdrrError, ArithmeticError) as error:
            failed = f". The one in use cannot be predicted: {error}"
        else:
            used = Candidate(OWN, design, mine)
            if len(design.questionnaires) > 1:  # as a plan's split one is, so tell them apart
                kept = [
                    replace(c, name=f"another {c.name}") if c.name.startswith("split") else c
                    for c in kept
                ]
            kept.append(used)
    found = proposed.among(kept)
    return Alternatives(_words(found, used, failed), found, used, note, f"{command} -o next.json")


def planned(made: Plan) -> Alternatives:
    """A plan's designs before anyone is asked, so that none is in use."""
    shown = replace(made, candidates=tuple(distinct(made)))
    second = ""
    if len(shown.candidates) > 1:
        other = shown.candidates[1]
        second = f"; the next best, “{other.name}”, by {percent(other.predicted.error)} %"
    return Alternatives(_words(shown, None, second), shown)


def _words(found: Plan, used: Candidate | None, rest: str) -> tuple[str, ...]:
    """What the best design does, and the one in use; `rest` ends the sentence if there is none."""
    best = found.best
    people = f"{found.n:,} people, each" if found.n > 1 else "one person"
    design = "this survey's design" if best.name == OWN else f"the design “{best.name}”"
    more: list[str | None] = []
    if used is None or used is best:
        least = min(found.candidates, key=lambda c: c.predicted.error)
        shown = percent(least.predicted.error)
        if shown != percent(best.predicted.error):
            more.append(f"“{least.name}” is predicted to err by less on the whole, {shown} %.")
            more.append(why_first(found, least) or found.ranking)
    else:
        times = used.predicted.error / max(best.predicted.error, 1e-300)
        much = f", {times:,.{int(times < 10)}f} times as much" if times >= 1.2 else ""
        name = "" if used.name == OWN else f", “{used.name}”,"
        rest = f"; the one in use{name} by {percent(used.predicted.error)} %{much}"
        more.append(why_first(found, used))
        heavy, light = best.predicted.forged, used.predicted.forged
        if heavy > 1.2 * light:
            more.append(
                f"But one forged report would weigh as much as {heavy:,.0f} people under "
                f"“{best.name}”, and {light:,.0f} under the one in use."
            )
    if used is best:
        first = "comes first of those compared here"
        only = "the only one there is to compare"
        rest = f". It is in use, and {first if len(found.candidates) > 1 else only}"
    if best.predicted.guess > GUESSWORK:
        more.append(GUESSED)
    return (
        f"With {people} spending at most ε = {found.epsilon:.3g}, {design} "
        f"is predicted to err by {percent(best.predicted.error)} % on a typical count{rest}.",
        *filter(None, more),
    )


def why_first(found: Plan, other: Candidate) -> str | None:
    """Why a plan's best comes before another that errs less on the whole, if that is so."""
    best, alone = found.best, (found.best.predicted.alone, other.predicted.alone)
    if other.predicted.error >= best.predicted.error:
        return None
    if found.assumed and not other.predicted.covered:
        return f"“{other.name}” asks nobody some pair, and could not find out how it is related."
    if alone[0] is None or alone[1] is None or alone[0] >= alone[1]:
        return None
    return (
        f"“{best.name}” comes first for single attributes, which count more: it errs by "
        f"{percent(alone[0])} % on them, “{other.name}” by {percent(alone[1])} %."
    )


def distinct(proposed: Plan) -> list[Candidate]:
    """The candidates of a plan, of those that ask the same only the first."""
    kept: list[Candidate] = []
    for candidate in proposed.candidates:
        if not any(_alike(candidate.design, other.design) for other in kept):
            kept.append(candidate)
    return kept


def _telling(design: Design, n: int) -> bool:
    """Whether dependences learnt from n reports are more than noise."""
    try:
        return predict(design, n, [*combinations(design.domain.names, 2)]).error <= MOST_NOISE
    except (MdrrError, ArithmeticError):
        return False


def _alike(one: Design, other: Design) -> bool:
    """Whether two designs ask the same in the same way, up to the rounding of budgets."""
    if len(one.questionnaires) != len(other.questionnaires):
        return False
    (asked, mine), (same, theirs) = (zip(*_asked(each), strict=True) for each in (one, other))
    return asked == same and np.allclose(np.hstack(mine), np.hstack(theirs), rtol=1e-2, atol=1e-3)


def _asked(design: Design) -> list[tuple[tuple[object, ...], tuple[float, ...]]]:
    """Each questionnaire's clusters and kinds of matrix; its share and the clusters' ε."""
    return sorted(
        (
            tuple((c.attributes, c.matrix.kind) for c in q.clusters),
            (q.weight / design.weights, *(c.epsilon for c in q.clusters)),
        )
        for q in design.questionnaires
    )
