"""Privacy by shuffling: what a report reveals once nobody knows who sent it.

Each of n people sends one ε₀-LDP report and only the multiset of reports is seen. Write R(x) for
the report of a person whose truth is x. If for every truth x, and every pair x₀, x₁ of the victim,

    R(x) = c·½(R(x₀) + R(x₁)) + (1−c)·(anything),                                            (*)

then each other person is, with probability c, a *clone* whose report looks like the victim's with
her truth decided by a coin. Tell the adversary everything but which reports are the clones' and
the victim's: with C ~ Binomial(n−1, c) he sees C+1 reports, one of them hers. This is the argument
of Feldman, McMillan and Talwar, "Hiding among the clones" (2021), and it needs only (*).

- Any ε₀-LDP report satisfies (*) with c = e^(−ε₀), the value used there.
- Where the probabilities are known c is larger: the smallest over reports y of
  2·min P(y|x) / (the two largest P(y|x) together). For the constant matrix it is 2/(e^ε₀ + 1).

The guarantee is about replacing one person's record. n counts the reports of people who do not
share theirs with the adversary. Public answers stand in every report, so that only people with the
same public answers hide each other: n then counts those, and two records differ in the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mdrr.design import Design, Questionnaire
from mdrr.errors import MdrrError
from mdrr.matrix import Constant, Matrix
from mdrr.matrix.protocol import Codes
from mdrr.matrix.written import weights_of
from mdrr.privacy.clones import ROUNDING, Clones, crowd_of
from mdrr.privacy.fields import json_fields

_MOST = 10_000_000
"""Crowds beyond this count as this many: it keeps the numerical bound within seconds."""
_PRECISION = 1e-4
"""The relative amount by which the numerical ε is rounded up."""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """An (ε, δ) guarantee of shuffled reports.

    `method` says which bound gave it: "clones" (numerical), "closed form" (Theorem 3.1 of Feldman,
    McMillan and Talwar), or "local" when shuffling adds nothing and δ is not needed.
    """

    epsilon: float
    delta: float
    local_epsilon: float
    n: int
    method: str

    to_dict = json_fields


def shuffled(what: float | Matrix | Design, n: int, delta: float) -> Shuffled:
    """The (ε, δ) of n shuffled reports: the smallest of the valid bounds, never above ε₀.

    Arguments:
        what: how each person reports: a design (whole reports are shuffled), a matrix (the
            reports of one cluster are), or a number ε₀ for any ε₀-LDP report.
        n: how many reports are mixed, not counting people who work with the adversary. With public
            attributes, how many have the same public answers: the fewest, for all to be covered.
        delta: the probability δ, between 0 and 1; usual values are far below 1/n.

    Returns:
        The guarantee. Where it says "local", ε is ε₀ and holds with δ = 0.

    Example:
        >>> from mdrr.matrix import constant_matrix
        >>> round(shuffled(1.0, 10_000, 1e-6).epsilon, 3)
        0.053
        >>> round(shuffled(constant_matrix(9, epsilon=1.0), 10_000, 1e-6).epsilon, 3)
        0.024
        >>> shuffled(8.0, 100, 1e-6).method
        'local'
    """
    _check(n, delta)
    local = what if isinstance(what, int | float) else what.epsilon
    if not local >= 0:
        raise MdrrError(f"ε₀={local} must be a number, 0 or more")
    local = float(local)
    best = Shuffled(local, 0.0, local, n, "local")
    if n == 1 or local == 0 or delta == 0:
        return best
    closed = shuffled_closed_form(local, n, delta)
    if closed < best.epsilon:
        best = Shuffled(closed, delta, local, n, "closed form")
    clones = clones_of(what)
    crowd = crowd_of(clones, min(n, _MOST), delta * 1e-4)  # fewer people hide less: still a bound
    most = min(best.epsilon, math.log(delta / (2 * ROUNDING)))  # beyond, rounding hides δ
    found = _smallest(lambda e: clones.delta_at(e, crowd), delta, most)
    return Shuffled(found, delta, local, n, "clones") if found < best.epsilon else best


def _smallest(delta_at: Callable[[float], float], delta: float, most: float) -> float:
    """The smallest ε with δ(ε) ≤ δ, rounded up by a relative 1e-4; ∞ if it is above `most`."""
    if delta_at(0.0) <= delta:
        return 0.0
    if delta_at(most) > delta:
        return math.inf
    floor = delta * 1e-9

    def excess(epsilon: float) -> float:
        return math.log(max(delta_at(epsilon), floor) / delta)

    from scipy.optimize import brentq  # slow to import

    found = float(brentq(excess, 0.0, most, rtol=_PRECISION))
    while found < most and delta_at(found) * (1 + 1e-6) > delta:
        found = found * (1 + _PRECISION) + 1e-9
    return min(found, most)


def clones_of(what: float | Matrix | Design) -> Clones:
    """The clones that hide one report of a design, of a matrix, or any ε₀-LDP one, among others.

    For a constant matrix, c = 2/(e^ε + 1) and the victim's own two probabilities. Otherwise c from
    the probabilities of the design (or e^(−ε₀)), and the pair that every ε₀-LDP report is a
    function of: high = e^ε₀/(e^ε₀+1), low = 1/(e^ε₀+1).

    Example:
        >>> from mdrr.matrix import Constant
        >>> clones_of(Constant(2, 49152, 16384))
        Clones(chance=0.5, high=0.75, low=0.25)
        >>> round(clones_of(1.0).chance, 4)
        0.3679
    """
    if isinstance(what, Constant):
        a, b = what.diagonal, what.off
        return Clones(2 * b / (a + b), a / what.total, b / what.total)
    if isinstance(what, Design):
        what = what.randomized
    epsilon = float(what) if isinstance(what, int | float) else what.epsilon
    if isinstance(what, int | float):
        chance = math.exp(-what)
    elif not isinstance(what, Design):
        chance = _column_chance(what)
    elif len(what.questionnaires) == 1 and len(what.clusters) == 1:
        return clones_of(what.clusters[0].matrix)
    else:
        chance = min(_report_chance(q, len(what.domain)) for q in what.questionnaires)
    low = 1 / (1 + math.exp(epsilon)) if epsilon < 700 else 0.0
    return Clones(chance, 1 - low, low)


def _report_chance(questionnaire: Questionnaire, everything: int) -> float:
    """The smallest 2·min / (largest + second largest) over the reports of one questionnaire.

    Two records differ in some cluster, whose column's second-largest weight bounds the second
    largest product. Unless the questionnaire leaves out an attribute: then both can be largest.
    """
    whole = len(questionnaire.attributes) == everything
    second = max(_second(cluster.matrix) for cluster in questionnaire.clusters) if whole else 1.0
    return 2 * math.exp(-questionnaire.epsilon) / (1 + second)


def _second(matrix: Matrix) -> float:
    """The largest ratio of a column's second-largest weight to its largest."""
    if isinstance(matrix, Constant):
        return matrix.off / matrix.diagonal
    columns = _ordered(matrix)
    return float((columns[-2] / columns[-1]).max())


def _column_chance(matrix: Matrix) -> float:
    """The smallest over columns of 2·min / (largest + second largest)."""
    columns = _ordered(matrix)
    return float((2 * columns[0] / (columns[-1] + columns[-2])).min())


def _ordered(matrix: Matrix) -> Codes:
    """The weights of each report that can occur, in increasing order down the columns."""
    columns = np.sort(weights_of(matrix), axis=0)
    return columns[:, columns[-1] > 0]


def shuffled_closed_form(epsilon: float, n: int, delta: float) -> float:
    """Theorem 3.1 of "Hiding among the clones", infinite where it does not apply.

    ln(1 + (e^ε₀−1)/(e^ε₀+1) · (8·√(e^ε₀·ln(4/δ)/n) + 8·e^ε₀/n)) if ε₀ ≤ ln(n / (16·ln(2/δ))).

    >>> round(shuffled_closed_form(1.0, 100_000, 1e-6), 4)
    0.0726
    >>> shuffled_closed_form(1.0, 100, 1e-6)
    inf
    """
    _check(n, delta)
    if delta == 0 or not epsilon <= math.log(n) - math.log(16 * math.log(2 / delta)):
        return math.inf
    e = math.exp(epsilon)
    grow = 8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n
    return math.log1p((e - 1) / (e + 1) * grow)


def _check(n: int, delta: float) -> None:
    if n < 1:
        raise MdrrError(f"n={n}: there must be at least one report")
    if not 0 <= delta < 1:
        raise MdrrError(f"δ={delta} must lie between 0 and 1; take it well below 1/n")
