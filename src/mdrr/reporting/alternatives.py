"""What other designs are predicted to do for the same people at the same budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from mdrr.dependence import Dependences
from mdrr.design import Design
from mdrr.errors import DesignError, MdrrError
from mdrr.planning import Candidate, Plan, Predicted, plan, predict
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

_WEAK = "every two attributes are taken to depend on each other a little"
_Asked: TypeAlias = list[tuple[tuple[tuple[tuple[str, ...], str], ...], tuple[float, ...]]]


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Designs compared, the best first, or why there are none."""

    words: tuple[str, ...]  # what the comparison says
    known: str = ""  # on which dependences it rests; empty where there is no pair
    plan: Plan | None = None  # the designs, of those that ask the same only the first
    used: str | None = None  # the name of the one in use, if it is among them
    command: str | None = None  # how to get the comparison, or the best design, by oneself

    @property
    def mine(self) -> Predicted | None:
        """What is predicted of the design in use, if it is."""
        found = () if self.plan is None else self.plan.candidates
        return next((c.predicted for c in found if c.name == self.used), None)

    @property
    def tables(self) -> str:
        """What was planned for, as a phrase."""
        widths = set() if self.plan is None else {len(names) for names in self.plan.tables}
        if widths <= {1}:
            return "one attribute"
        if widths <= {1, 2}:
            return "two attributes" if 1 not in widths else "one or two attributes"
        return "the tables that matter"


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
    >>> found.plan.best.name, found.used
    ('sampled 2', 'independent')
    """
    command = f"mdrr plan design.json --n {max(n, 1)} --epsilon {design.epsilon:.6g}"
    if n < 1:
        return Alternatives(("Nobody has reported, so there is nothing to compare designs for.",))
    if not math.isfinite(design.epsilon):
        words = (
            "Some answer of this design rules out some truth for certain (ε is infinite), so "
            "there is no budget at which other designs could be compared."
        )
        return Alternatives((words,))
    if len(design.domain) > MOST_ATTRIBUTES or len(design.questionnaires) > MOST_QUESTIONNAIRES:
        words = "Comparing designs takes a while in a survey of this size, so it is left out here."
        return Alternatives((words,), command=command)
    if made is not None:
        if made.domain != design.domain:
            raise DesignError("the plan is not of this design's attributes. Give the plan it is of")
        given = f": {_WEAK}" if made.assumed else ", with the dependences given to it"
        known = f"This is the plan made before anyone was asked{given}."
        return _compared(made, design, known, command)
    learnt = dependences if dependences is not None and _telling(design, n) else None
    try:
        proposed = plan(design.domain, n=n, epsilon=design.epsilon, dependences=learnt)
    except MdrrError as error:
        return Alternatives((f"No other design could be compared: {error}.",))
    except ArithmeticError:
        proposed = None
    if proposed is None or not proposed.candidates:
        return Alternatives(("No other design could be computed at this budget.",))
    if len(design.domain) < 2:
        known = ""
    elif learnt is not None:
        known = (
            "The dependences shown above were used: they tell what is lost where attributes are "
            "asked apart."
        )
    elif dependences is not None:
        known = (
            f"The dependences shown above are too uncertain to predict with; instead, {_WEAK}. A "
            "design that learns dependences better may do better than predicted."
        )
    else:
        known = f"No dependences were at hand, so {_WEAK}."
    return _compared(proposed, design, known, command)


def planned(made: Plan, learnt: bool) -> Alternatives:
    """A plan's designs before anyone is asked, so that none is in use."""
    if not made.candidates:
        raise DesignError("the plan has no design to show: its domain is too large at this budget")
    shown = replace(made, candidates=tuple(distinct(made)))
    best, *others = shown.candidates
    second = ""
    if others:
        error = percent(others[0].predicted.error)
        second = f"; the next best, “{others[0].name}”, by {error} %"
    words = [
        f"With {made.n:,} people, each spending at most ε = {made.epsilon:g}, the design "
        f"“{best.name}” is predicted to err by {percent(best.predicted.error)} % on a typical "
        f"count{second}.",
        *least_words(shown),
    ]
    if best.predicted.guess > GUESSWORK:
        words.append(GUESSED)
    if len(made.domain) < 2:
        known = ""
    elif learnt:
        known = (
            "The dependences that were given tell what is lost where attributes are asked apart."
        )
    else:
        known = (
            f"{_WEAK.capitalize()}. A pilot tells how much they do: plan again with its "
            "dependences."
        )
    return Alternatives(tuple(words), known, shown)


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


def least_words(found: Plan) -> tuple[str, ...]:
    """Which design is shown to err less than the best on the whole, and why it is not the best."""
    least = min(found.candidates, key=lambda c: c.predicted.error)
    shown = percent(least.predicted.error)
    if shown == percent(found.best.predicted.error):
        return ()
    less = f"“{least.name}” is predicted to err by less on the whole, {shown} %."
    return less, why_first(found, least) or found.ranking


def distinct(proposed: Plan) -> list[Candidate]:
    """The candidates of a plan, of those that ask the same only the first."""
    kept: list[Candidate] = []
    seen: list[_Asked] = []
    for candidate in proposed.candidates:
        asked = _asked(candidate.design)
        if not any(_alike(asked, other) for other in seen):
            kept.append(candidate)
            seen.append(asked)
    return kept


def _telling(design: Design, n: int) -> bool:
    """Whether dependences learnt from n reports are more than noise."""
    pairs = list(combinations(design.domain.names, 2))
    try:
        return bool(pairs) and predict(design, n, pairs).error <= MOST_NOISE
    except (MdrrError, ArithmeticError):
        return False


def _compared(proposed: Plan, design: Design, known: str, command: str) -> Alternatives:
    kept = distinct(proposed)
    asked = _asked(design)
    used = next((c.name for c in kept if _alike(_asked(c.design), asked)), None)
    failed = ""
    if used is None:
        try:
            mine = predict(design, proposed.n, proposed.tables, dependences=proposed.dependences)
            failed = "" if math.isfinite(mine.error) else "some attributes are never asked"
        except (MdrrError, ArithmeticError) as error:
            failed = str(error)
    if used is None and not failed:
        used = OWN
        if len(design.questionnaires) > 1:  # as a plan's split questionnaire is, so tell them apart
            kept = [
                replace(c, name=f"another {c.name}") if c.name.startswith("split") else c
                for c in kept
            ]
        kept.append(Candidate(used, design, mine))
    found = proposed.among(kept)
    words = _verdict(found, used, failed)
    return Alternatives(words, known, found, used, f"{command} -o next.json")


def _alike(one: _Asked, other: _Asked) -> bool:
    """Whether two designs ask the same in the same way, up to the rounding of budgets."""
    return [clusters for clusters, _ in one] == [clusters for clusters, _ in other] and all(
        math.isclose(x, y, rel_tol=1e-2, abs_tol=1e-3)
        for (_, mine), (_, theirs) in zip(one, other, strict=True)
        for x, y in zip(mine, theirs, strict=True)
    )


def _asked(design: Design) -> _Asked:
    """Each questionnaire's clusters and kinds of matrix; its share and the clusters' ε."""
    total = design.weights
    return sorted(
        (
            tuple((c.attributes, c.matrix.kind) for c in q.clusters),
            (q.weight / total, *(c.epsilon for c in q.clusters)),
        )
        for q in design.questionnaires
    )


def _verdict(found: Plan, used: str | None, failed: str) -> tuple[str, ...]:
    """How the design in use compares, in words a survey's owner understands."""
    budget = f"{found.epsilon:.2f}" if found.epsilon >= 0.01 else f"{found.epsilon:.1g}"
    people = f"these {found.n:,} people" if found.n > 1 else "one person"
    best = found.best
    mine = next((c for c in found.candidates if c.name == used), None)
    name = "" if mine is None or mine.name == OWN else f", “{mine.name}”"
    errs = f"is predicted to err by {percent(best.predicted.error)} % on a typical count"
    more: list[str | None] = []
    if mine is None:
        first = f"the design “{best.name}” {errs}. The one in use cannot be predicted: {failed}."
    elif len(found.candidates) == 1:
        first = f"the design in use is the only one there is to compare: it {errs}."
    elif mine is best:
        more += least_words(found)
        first = f"no design compared here is predicted to do better than the one in use{name}"
        if more:
            first = f"the design in use{name and name + ','} comes first of those compared here"
        first += f": it {errs}."
    else:
        times = mine.predicted.error / max(best.predicted.error, 1e-300)
        much = "hardly more" if times < 1.2 else f"{times:,.{int(times < 10)}f} times as much"
        first = (
            f"the design “{best.name}” {errs}; the one in use{name and name + ','} by "
            f"{percent(mine.predicted.error)} %, {'less' if times < 1 else much}."
        )
        more.append(why_first(found, mine))
        heavy, light = best.predicted.forged, mine.predicted.forged
        if heavy > 1.2 * light:
            more.append(
                f"But one forged report would weigh as much as {heavy:,.0f} people under "
                f"“{best.name}”, and {light:,.0f} under the one in use."
            )
    if best.predicted.guess > GUESSWORK:
        more.append(GUESSED)
    setting = f"With this budget (ε = {budget}) and {people}"
    return f"{setting}, {first}", *filter(None, more)
