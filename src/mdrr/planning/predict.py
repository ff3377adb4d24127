"""The error of a design before anyone is asked, in closed form.

The unbiased table of r combinations has total variance V = Σ_x Var(π̂_x). For one questionnaire
asked of n_q people it is (F − Σπ²)/n_q with F = Σ_x E f_x², the product over the clusters it meets
of Σ_x f_C(x, y)²: the same for every report of a constant matrix, so that V hardly depends on the
truth. Questionnaires pool by the inverse of their variances; of the people who reported, what they
really are is no error, hence − (1 − Σπ²)/n. Even shares stand for the unknown ones.

The default estimator does better twice. A distribution drawn evenly from all of its k categories
lies S = (k − 1)/(k(k + 1)) from the even one, so that however loud the noise an attribute's squared
error is about V·S/(V + S), or (S²V + V²D)/(V + S)² if D is what it is known to lie from the even
one. And a report that names other attributes too, through a constant matrix of signal s, is the
likelier noise the rarer their combination: if their r combinations were e equally frequent ones, as
uneven as the margins (e = Π 1/Σπ², of evenly drawn margins Π (k + 1)/2), whoever knows which has
G = 1/(s + (1 − s)·e/r) times the information on a table. What a model learns of them lies between
nothing and all: √G is taken, after looking at both bounds on Adult, randhie and fresh draws of
network and correlated.

A table of several attributes is answered by its unbiased estimate or by its margins and pairs,
whichever errs less: what three attributes do beyond their pairs is not predicted.

A public attribute has F = 1 and no variance. A table of public and other attributes has the F of
the others: each of its parts is estimated from fewer people, and has as much less to be wrong in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from mdrr.dependence import Dependences, unknown_spread
from mdrr.design import Design
from mdrr.domain import Domain
from mdrr.errors import DesignError, is_number
from mdrr.matrix import Array, Constant, Matrix, Subset, Through

Names = tuple[str, ...]

_MOST_WORTH = 1e6

BORROWED = 4.0
"""κ: how much better a pair's departure from a product is known from all pairs together than from
its own table. With the assumed V of 0.2 it was chosen among five combinations (V, κ) by the errors
of plans on four data sets of the benchmark at ε = 1 to 4, one seed each; none won everywhere."""

WORTH = 5.0
"""Weight of the single attributes' error against that of wider tables: they come first. At small
budgets their error is then about a tenth above that of the best design for them alone. The weight
was chosen for that, among a twentieth, a tenth and a fifth, on data sets that are not held out."""

GUESSWORK = 0.5
"""Above it, what answers rest on is a guess more than reports; see `Predicted.guess`."""

GUESSED = "With so few people and so small an ε, the estimate is mostly a guess made beforehand."
"""Said where that is so."""


@dataclass(frozen=True)
class Shape:
    """What is known of an attribute's distribution: how uneven its k categories are.

    >>> some = Shape(2, 2 / 3)
    >>> some.held(math.inf), round(some.held(1e-4), 6), round(some.held(1e6), 3)
    (inf, 0.0001, 0.167)
    >>> round(Shape(2, 0.5).held(1e6), 3)  # even indeed, as whoever knows nothing guesses
    0.0
    """

    cells: int  # k
    square: float  # Σπ² ≥ 1/k; 2/(k + 1) is the mean of those drawn evenly from all there are

    @property
    def even(self) -> float:
        """1/(k·Σπ²), 1 if all categories are equally frequent."""
        return 1 / (self.cells * self.square)

    def held(self, variance: float) -> float:
        """Its squared error: the noise's V, or what it differs from the even one by, D."""
        if math.isinf(variance):
            return variance
        guess = self.guessed(variance)
        return (1 - guess) ** 2 * variance + guess**2 * max(self.square - 1 / self.cells, 0.0)

    def feared(self, variance: float) -> float:
        """What is held of an unknown distribution: never less for more noise."""
        if math.isinf(variance):
            return variance
        return unknown_spread(self.cells) * self.guessed(variance)

    def guessed(self, variance: float) -> float:
        """V/(V + S)."""
        return 1 / (1 + unknown_spread(self.cells) / variance) if variance > 0 else 0.0


def gain(others: Sequence[float], signal: float) -> float:
    """G: what knowing which combinations of the other attributes occur adds to the information.

    `others` says how even each other attribute of the report is, see `Shape`. `signal` is the
    probability that the report is the truth and not noise; 0 for reported sets, which win only
    where it is small.

    >>> gain([], 0.1), gain([2 / 3], 1.0), gain([2 / 3, 2 / 3], 0.0)
    (1.0, 1.0, 2.25)
    """
    return 1 / (signal + (1 - signal) * math.prod(others))


def shapes_of(domain: Domain, dependences: Dependences | None) -> dict[str, Shape]:
    """Every attribute's, as its margin says or as an unknown one's."""
    sizes = {name: domain.attribute(name).size for name in domain.names}
    found = {name: Shape(size, 2 / (size + 1)) for name, size in sizes.items()}
    if dependences is not None and dependences.margins is not None:
        for name, margin in zip(dependences.names, dependences.margins, strict=True):
            if len(margin) != sizes.get(name, len(margin)):
                raise DesignError(
                    f"the dependences know {len(margin)} categories of {name!r}, the domain "
                    f"{sizes[name]}: they are of another domain"
                )
            found[name] = Shape(len(margin), float((margin**2).sum()))
    return found


@dataclass(frozen=True)
class Predicted:
    """What a design is expected to do for a workload.

    Arguments:
        error: the typical relative error of a count: the standard error of a set holding a tenth
            of a table's combinations over its mean size. It is the mean over the workload's tables,
            those of one attribute together weighing as much as those of two.
        worst: the largest such error of a table.
        forged: how many people one forged report adds to a cell at most, the worst table.
        covered: whether somebody is asked each pair of a table's attributes together.
        loss: what designs are ranked by. ln(error) if the workload's tables are of one kind,
            otherwise ln(error of wider tables) + worth·ln(error of single attributes). It takes
            margins to be unknown: a design must not win because a guess happens to be right.
        guess: how much of the single attributes' answers is a guess, 0 to 1: the mean of V/(V + S).
            Near 1 the error is how far the margins are from even ones, if they are known.
            Otherwise it is how far evenly drawn distributions are; real ones may be further.
        alone: the mean error of the workload's single attributes, None if it has none.
        together: the mean error of its wider tables, None likewise.
    """

    error: float
    worst: float
    forged: float
    covered: bool
    loss: float
    guess: float
    alone: float | None
    together: float | None


def predict(
    design: Design,
    n: int,
    tables: Sequence[Names],
    *,
    dependences: Dependences | None = None,
    coverage: float = 0.1,
    worth: float = WORTH,
) -> Predicted:
    """Predict the error of counts over some tables' combinations.

    With dependences, a table may also be answered by the product of its margins, whose error they
    give: the predicted variance is then that of the better mixture of the two. If they bring the
    margins too, errors are predicted for those instead of margins drawn evenly.

    Arguments:
        design: the design.
        n: how many people will report.
        tables: which attributes are counted together.
        dependences: from a pilot, if any.
        coverage: σ, the share of a table's combinations in a count.
        worth: the weight of the single attributes' error against that of wider tables.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent, joint
        >>> domain = Domain(tuple(Attribute(name, tuple("uvwxyz")) for name in "abc"))
        >>> pairs = [("a", "b"), ("a", "c"), ("b", "c")]
        >>> [round(predict(d(domain, epsilon=9.0), 10_000, pairs).error, 3)
        ...     for d in (independent, joint)]
        [0.038, 0.007]
    """
    check_numbers(n, coverage, worth)
    if not tables:
        raise DesignError("the workload is empty: name at least one table")
    domain, shapes = design.domain, shapes_of(design.domain, dependences)

    @cache
    def total(names: Names) -> tuple[float, float]:
        return _total(design, n, names, shapes)

    noise = {name: total((name,))[0] for name in dict.fromkeys(chain.from_iterable(tables))}

    def by_pairs(names: Names, singles: Mapping[str, float]) -> float:
        """The squared error of the table that has its attributes' margins and pairs, and no more.

        Errors of a part are spread evenly over the other attributes' combinations.
        """
        found = sum(singles[name] * cells_in(domain, (name,)) for name in names)
        for pair in combinations(names, 2):
            bias, variance = product_bias(domain, pair, dependences), total(pair)[0]
            if bias > 0 and variance > 0:
                found += cells_in(domain, pair) / (1 / bias + BORROWED / variance)
        return found / cells_in(domain, names)

    def errors_of(singles: Mapping[str, float]) -> Array:
        found = []
        for names in tables:
            variance = singles[names[0]] if len(names) == 1 else total(names)[0]
            if len(names) > 1 and dependences is not None:
                variance = min(variance, by_pairs(names, singles))
            found.append(relative_error(variance, cells_in(domain, names), coverage))
        return np.array(found)

    errors = errors_of({name: shapes[name].held(v) for name, v in noise.items()})
    feared = errors_of({name: shapes[name].feared(v) for name, v in noise.items()})
    widths = Counter(len(names) for names in tables)
    shares = np.array([1 / widths[len(names)] / len(widths) for names in tables])
    alone = np.array([len(names) == 1 for names in tables])

    def mean(values: Array, kind: npt.NDArray[np.bool_]) -> float | None:
        return float(np.average(values[kind], weights=shares[kind])) if kind.any() else None

    fears = ((mean(feared, alone), worth), (mean(feared, ~alone), 1.0))
    guesses = [shapes[name].guessed(v) for name, v in noise.items() if name in domain.private]
    parts = [p for t in tables for p in (combinations(t, 2) if len(t) > 1 else [t])]
    return Predicted(
        error=float(shares @ errors),
        worst=float(errors.max()),
        forged=max(total(names)[1] for names in tables),
        covered=all(math.isfinite(total(part)[0]) for part in parts),
        loss=sum(weight * math.log(max(e, 1e-300)) for e, weight in fears if e is not None),
        guess=float(np.mean(guesses)) if guesses else 0.0,
        alone=mean(errors, alone),
        together=mean(errors, ~alone),
    )


def check_numbers(n: int, coverage: float, worth: float) -> None:
    """Refuse numbers of people, sizes of counts and weights that nothing can be predicted for."""
    if not (is_number(n) and 1 <= n < 2**63 and n == int(n)):
        raise DesignError(f"n={n!r}: give the number of people who will report, 1 or more")
    if not (is_number(coverage) and 0 < coverage < 1):
        raise DesignError(f"coverage={coverage!r} must lie strictly between 0 and 1")
    if not (is_number(worth) and 0 < worth <= _MOST_WORTH):
        raise DesignError(
            f"worth={worth!r} must be a positive number, at most {_MOST_WORTH:,.0f}; for one kind "
            "of tables alone choose workload='singles' or 'pairs'"
        )


def relative_error(variance: float, cells: int, coverage: float) -> float:
    """√(V σ(1−σ) r/(r−1)) / σ: the errors of a table's cells sum to zero."""
    share = max(coverage, 1 / cells)
    return math.sqrt(variance * (1 - share) / share * cells / (cells - 1))


@lru_cache(maxsize=2**14)
def squares(matrix: Matrix, shape: tuple[int, ...], places: tuple[int, ...]) -> tuple[float, float]:
    """Σ_x E f(x, Y)² over the cells of some of a cluster's attributes, and f's largest swing."""
    seen = Through(matrix, shape, places)
    return seen.square, seen.swing


def _total(
    design: Design, n: int, names: Names, shapes: Mapping[str, Shape]
) -> tuple[float, float]:
    """V and the most that one report adds to a cell's count.

    Where nobody is asked the whole table, V is infinite and the product of the margins answers: a
    report that adds d people to a category adds d times the others' shares to a cell, at most d.
    """
    cells = cells_in(design.domain, names)
    parts = []
    for questionnaire in map(design.questionnaires.__getitem__, design.asking(names)):
        square = swing = known = 1.0
        for cluster in questionnaire.clusters:
            met = [name for name in cluster.attributes if name in names]
            if not met:
                continue
            matrix, places = cluster.matrix, tuple(map(cluster.attributes.index, met))
            found = squares(matrix, design.shape(cluster), places)  # type: ignore[arg-type]
            square, swing = square * found[0], swing * found[1]
            if isinstance(matrix, Constant | Subset):
                others = [shapes[name].even for name in cluster.attributes if name not in met]
                signal = matrix.signal if isinstance(matrix, Constant) else 0.0
                known *= math.sqrt(gain(others, signal))
        share = questionnaire.weight / design.weights
        told = share / max(square - 1 / cells, 1e-300)
        parts.append((told, told * known, swing / share))
    if not parts:
        alone = names if len(names) > 1 else ()
        return math.inf, max((_total(design, n, (name,), shapes)[1] for name in alone), default=0.0)
    told, learnt = (sum(part[i] for part in parts) for i in (0, 1))
    variance = max(1 / told - (1 - 1 / cells), 0.0) / n * told / learnt
    forged = max(part[0] / told * part[2] for part in parts)
    return variance, forged


def cells_in(domain: Domain, names: Iterable[str]) -> int:
    """How many combinations some attributes have."""
    return math.prod(domain.attribute(name).size for name in names)


def product_bias(domain: Domain, names: Names, dependences: Dependences | None) -> float:
    """The squared error of the product of a pair's margins, evenly spread; infinite if unknown.

    φ² = V²·(min(r, s) − 1) is Σ (π − π_a π_b)²/(π_a π_b).
    """
    if dependences is None or len(names) != 2:
        return math.inf
    first, second = (domain.attribute(name).size for name in names)
    strength = dependences[names[0], names[1]]
    return strength**2 * (min(first, second) - 1) / (first * second)
