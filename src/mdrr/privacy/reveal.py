"""What a report reveals, to Bayes and in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import MatrixError, MdrrError
from mdrr.matrix import Array, Banded, Constant, Matrix, Subset
from mdrr.privacy.fields import json_fields

_DOUBT = 0.01
_ROUNDING = 0.01
"""What is sampled has a rounded ε; ε are shown to this precision."""


@dataclass(frozen=True, slots=True)
class Belief:
    """How sure someone can be of something about a person: before, and after her report."""

    prior: float
    low: float
    high: float

    to_dict = json_fields


def belief(prior: float, epsilon: float) -> Belief:
    """The range in which a belief can end, whatever is reported and whatever else is known.

    A report multiplies the odds of any statement about the record by a factor between e^(−ε) and
    e^ε, so a probability q becomes at most q·e^ε / (1 − q + q·e^ε).

    `prior` is q; `epsilon` is that of the report, the record or a whole ledger. Public answers are
    known: q is then what is believed of a person with her public answers.

    Example:
        >>> after = belief(0.5, np.log(3))
        >>> round(after.low, 6), round(after.high, 6)
        (0.25, 0.75)
    """
    if not 0 <= prior <= 1:
        raise MdrrError(f"prior={prior} is not a probability")
    if not epsilon >= 0:
        raise MdrrError(f"ε={epsilon} must be 0 or more")
    if prior in (0.0, 1.0):
        return Belief(prior, prior, prior)
    factor = math.exp(-epsilon)
    high = prior / (prior + (1 - prior) * factor)
    low = prior * factor / (prior * factor + 1 - prior)
    return Belief(prior, low, high)


def posterior(matrix: Matrix, prior: npt.ArrayLike, reported: int) -> Array:
    """The distribution of the true cell once a code y is reported: π_u·P[u, y] / Σ_v π_v·P[v, y].

    `prior` is what is believed beforehand, (r,), non-negative with sum 1. Where attributes are
    public, it is the distribution among people with her public answers.

    Example:
        >>> from mdrr.matrix import Constant
        >>> posterior(Constant(2, diagonal=49152, off=16384), [0.1, 0.9], 0).round(3)
        array([0.25, 0.75])
    """
    before = np.asarray(prior, dtype=np.float64)
    if before.shape != (matrix.cells,):
        raise MatrixError(f"the prior has shape {before.shape}; it needs {matrix.cells} entries")
    if not (before >= 0).all() or abs(before.sum() - 1) > 1e-9:
        raise MatrixError("the prior must be non-negative and sum to 1")
    if not 0 <= reported < matrix.outcomes:
        raise MatrixError(f"code {reported} is outside 0 … {matrix.outcomes - 1}")
    weights = before * matrix.likelihood(np.array([reported]))[0]
    if weights.sum() == 0:
        raise MatrixError(f"code {reported} cannot be reported under this prior")
    return np.asarray(weights / weights.sum())


def times_in(probability: float) -> str:
    """A probability as "in k of N cases", N a power of ten; "about" unless it is that to 0.1 %.

    >>> times_in(0.7), times_in(0.7 + 0.3 / 9), times_in(1.0)
    ('in 70 of 100 cases', 'in about 73 of 100 cases', 'always')
    """
    if not 0 <= probability <= 1:
        raise MdrrError(f"{probability} is not a probability")
    if probability in (0.0, 1.0):
        return "always" if probability else "never"
    scarce = min(probability, 1 - probability)
    for base in (10**digits for digits in range(2, 16)):
        times = round(probability * base)
        if abs(times / base - probability) <= 0.02 * scarce:
            about = "" if abs(times / base - probability) <= 1e-3 * scarce else "about "
            return f"in {about}{times:,} of {base:,} cases"
    return "almost always" if probability > 0.5 else "almost never"


def in_words(design: Design) -> tuple[str, ...]:
    """What a respondent should know before she answers, as sentences.

    A constant matrix keeps her answer with probability s = (a−b)/D and otherwise draws one of all
    r answers, the true one included: the true answer is *sent* with probability a/D = s + (1−s)/r.

    One sentence per public attribute, which is not hidden, and one per cluster; then what a report
    can reveal, then what it does not hide. Of several
    questionnaires, one sentence says what is asked, and the clusters are those of the least
    protected: of those whose ε differ by rounding alone, the one that sends the truth most often.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> smokes = Domain((Attribute("smokes", ("no", "yes")),))
        >>> for sentence in in_words(independent(smokes, p=0.7))[:2]: print(sentence)
        smokes: your true answer is sent in 85 of 100 cases. In 70 of 100 cases your device keeps \
it; otherwise it draws one of the 2 answers blindly, which may be the true one.
        Somebody who sees your report can guess better about you: a guess that was right with 50 \
chances in 100 is then right with at most 85 in 100. The odds grow at most 5.7 times (ε = 1.74).
    """
    sentences = [
        f"{name}: your answer is sent as it is, since it is no secret here. ε does not cover it."
        for name in design.domain.public
    ]
    joined, design = _joined(design), design.randomized
    worst, prefix = design.questionnaires[0], ""
    if len(design.questionnaires) > 1:
        sizes = sorted({len(q.attributes) for q in design.questionnaires})
        count = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        sentences.append(
            f"You are asked {count} of the {len(design.domain.names)} {joined and 'other '}"
            "questions, drawn at random; nothing is sent about the others."
        )
        worst, prefix = _least_protected(design), "At the least protected, "
    sentences += [prefix + _cluster_in_words(cluster) for cluster in worst.clusters]
    sentences += _reveals(design.epsilon)
    sentences += [joined] if joined else []
    sentences.append(
        "Not hidden by this: that you took part, when, from which network address, and whatever "
        "the collector knows about you already. Answering again reveals more."
    )
    return tuple(sentences)


def _joined(design: Design) -> str:
    """What public answers mean for the others; empty if there are none."""
    public = ", ".join(design.domain.public)
    return public and (
        f"This holds beyond your public answers ({public}). Whoever knows those of you can look "
        "among the reports that have the same."
    )


def _least_protected(design: Design) -> Questionnaire:
    """The largest ε; of those within its rounding, the one that sends a true answer most often."""
    most = max(q.epsilon for q in design.questionnaires)
    close = [q for q in design.questionnaires if q.epsilon == most or most - q.epsilon < _ROUNDING]
    return max(close, key=lambda q: max(_sent(cluster.matrix) for cluster in q.clusters))


def _sent(matrix: Matrix) -> float:
    """The largest probability with which a true answer is sent; 0 where no report is an answer."""
    if isinstance(matrix, Constant):
        return matrix.keep
    if not matrix.reports_cells:
        return 0.0
    return max(float(matrix.likelihood(np.array([u]))[0, u]) for u in range(matrix.cells))


def _cluster_in_words(cluster: Cluster) -> str:
    matrix, joint = cluster.matrix, len(cluster.attributes) > 1
    what = "combination of answers" if joint else "answer"
    if isinstance(matrix, Constant):
        kept = times_in(matrix.signal)
        drawn = f"one of the {matrix.cells:,} {'combinations' if joint else 'answers'}"
        return (
            f"{cluster.name}: your true {what} is sent {times_in(matrix.keep)}. "
            f"{kept[0].upper()}{kept[1:]} your device keeps it; otherwise it draws {drawn} "
            "blindly, which may be the true one."
        )
    if matrix.reports_cells:
        return f"{cluster.name}: your true {what} is sent {times_in(_sent(matrix))} at most."
    if isinstance(matrix, Subset):
        few = f"{len(matrix.block)} {'combinations' if joint else 'answers'}"
        return (
            f"{cluster.name}: a set of up to {few} out of {matrix.cells:,} is sent. It holds your "
            f"true one {times_in(matrix.keep)}."
        )
    if isinstance(matrix, Banded):
        band = float(matrix.probabilities[0, : 2 * matrix.width + 1].sum())
        return (
            f"{cluster.name}: a place on the scale is sent, within {matrix.width} of your true "
            f"{what} {times_in(band)}."
        )
    return f"{cluster.name}: a randomized code is sent in place of your true {what}."


def _reveals(epsilon: float) -> list[str]:
    if math.isinf(epsilon):
        return ["A report can prove that some answers are not yours: ε is infinite."]
    factor = math.exp(min(epsilon, 700.0))
    grow = f"grow at most {_upwards(factor, 10 if factor < 1000 else 1)}"
    if factor >= 1e6:
        grow = "can grow more than a million"
    sure = belief(0.5, epsilon).high
    sentences = [
        "Somebody who sees your report can guess better about you: a guess that was right with 50 "
        "chances in 100 is then right with at most "
        f"{_upwards(100 * sure, 100 if sure > 0.99 else 1)} in 100. The odds {grow} times "
        f"(ε = {_upwards(epsilon, 100)})."
    ]
    if belief(_DOUBT, epsilon).high > 0.5:
        sentences.append(
            "This bound is weak: even a guess with 1 chance in 100 can become more likely than not."
        )
    return sentences


def _upwards(bound: float, unit: int) -> str:
    """An upper bound, rounded up to a multiple of 1/unit, as the respondent page shows it."""
    up = math.ceil(bound * unit - 1e-9)
    return f"{up // unit:,}" if up % unit == 0 else f"{up / unit:,}"
