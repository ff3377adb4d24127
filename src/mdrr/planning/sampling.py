"""Which attributes to ask whom: the shares of people per questionnaire that give the least error.

Asking fewer attributes leaves more budget for each and fewer people for a table. The best trade is
an optimal design (Kiefer 1959): over a pool of subsets, each reported jointly with the whole
budget, minimise the mean standard error of the workload's tables over the shares w of people. Where
single attributes matter beside wider tables they come first: a per cent of their accuracy is given
up where that gains several of the others'.

Information adds: asking a share w_q of the people questionnaire q tells I_t = Σ_q w_q·J_tq of table
t, and errors are convex in w.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mdrr.dependence import Dependences
from mdrr.design import Cluster, Design
from mdrr.domain import Domain
from mdrr.errors import DesignError, MatrixError
from mdrr.matrix import Array, Matrix, Through, constant_matrix, subset_matrix
from mdrr.matrix.differences import Shape
from mdrr.matrix.subset import best_shape
from mdrr.planning.predict import BORROWED, WORTH, Names, cells_in, product_bias, relative_error
from mdrr.protocols import beside_public

_STEPS = 400
_WHOLE_POOL = 10
_POOL = 600
_MOST_CELLS = 256
_MOST_CODES = 600
_LEAST_GAIN = 0.03
_LEAST_SHARE = 2e-3
_SMALLEST_SHARE = 1e-6
"""Of a questionnaire that is kept only because nobody else is asked some table."""
_KNOWN = 1e30
"""The information of what is known."""
_SPARE = 0.05
_MOST_SUBSET_EPSILON = 30.0
"""Above it sets of more than one cell never win: the best size is about r/(e^ε + 1)."""


@lru_cache(maxsize=4096)
def quietest_matrix(cells: int, epsilon: float) -> Matrix:
    """The matrix of least noise over some cells: subset selection where it wins, else constant.

    >>> quietest_matrix(60, 1.0).kind, quietest_matrix(60, 5.0).kind
    ('subset', 'constant')
    """
    if _shape(cells, epsilon) is None:
        return constant_matrix(cells, epsilon=epsilon)
    return subset_matrix(cells, epsilon=epsilon, most_codes=_MOST_CODES, least_gain=_LEAST_GAIN)


@lru_cache(maxsize=2**14)
def _shape(cells: int, epsilon: float) -> Shape | None:
    if cells > _MOST_CELLS or epsilon > _MOST_SUBSET_EPSILON:
        return None
    return best_shape(cells, epsilon, most_codes=_MOST_CODES, least_gain=_LEAST_GAIN)


def split_questionnaire(
    domain: Domain,
    subsets: Sequence[Iterable[str]],
    *,
    epsilon: float,
    shares: Sequence[float] | None = None,
) -> Design:
    """Each person reports one of some subsets of the attributes, jointly, with the whole budget.

    Public attributes are reported beside them by everybody.

    Arguments:
        domain: what can be asked.
        subsets: the attributes of each questionnaire.
        epsilon: the budget of each person.
        shares: the share of people asked each; even by default.

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "abc"))
        >>> design = split_questionnaire(d, ["ab", "bc"], epsilon=2, shares=[0.75, 0.25])
        >>> [q.weight / 2**32 for q in design.questionnaires]
        [0.75, 0.25]
    """
    groups = [tuple(sorted(subset, key=domain.index)) for subset in subsets]
    if not groups or len(set(groups)) < len(groups):
        raise DesignError("give at least one subset of the attributes, and none twice")
    for name in domain.public:
        if any(name in names for names in groups):
            raise DesignError(f"{name!r} is public; leave it out of the subsets")
    weights = [1.0] * len(groups) if shares is None else list(shares)
    if len(weights) != len(groups) or not all(0 < w < math.inf for w in weights):
        raise DesignError("every subset needs a positive share of the people")
    questionnaires = []
    for names, weight in zip(groups, whole_shares(weights), strict=True):
        matrix = quietest_matrix(cells_in(domain, names), float(epsilon))
        questionnaires.append(beside_public(domain, [Cluster(names, matrix)], weight))
    return Design(domain, tuple(questionnaires))


def whole_shares(shares: Sequence[float]) -> list[int]:
    """Questionnaires' weights: positive integers that sum to 2^32, in proportion to the shares.

    >>> whole_shares([3, 1]) == [3 * 2**30, 2**30], whole_shares([5])
    (True, [1])
    """
    if len(shares) == 1:
        return [1]
    total = sum(shares) or 1
    whole = [max(int(2**32 * share / total), 1) for share in shares]
    whole[whole.index(max(whole))] += 2**32 - sum(whole)
    return whole


def best_split(
    domain: Domain,
    tables: Sequence[Names],
    epsilon: float,
    *,
    n: int,
    dependences: Dependences | None = None,
    coverage: float = 0.1,
    worth: float = WORTH,
) -> Design | None:
    """The split questionnaire whose unbiased tables err least, or None where no subset fits.

    Single attributes that matter beside wider tables come first: a per cent of their accuracy is
    given up where that gains `worth` of the others'. Attributes that no table needs still count a
    little, each alone: a design asks everything.

    With few people, weak dependences are not worth measuring; without `dependences`, a pair may be
    at any distance from the product of its margins. The other arguments are those of `plan`.
    """
    tables = [table for table in tables if _asked(domain, table)]
    wide: list[Names] = [table for table in tables if len(table) > 1]
    alone: list[Names] = [table for table in tables if len(table) == 1]
    spare: list[Names] = [(name,) for name in domain.private if not any(name in t for t in tables)]
    pool = [s for s in _pool(domain, [*tables, *spare], epsilon) if _possible(domain, s, epsilon)]
    if not pool:
        return None
    every: list[Names] = list(dict.fromkeys([*((name,) for name in domain.names), *wide]))
    told = _information(domain, every, pool, epsilon, n)
    before, margins = np.zeros(len(every)), sparse.dok_array((len(every), len(every)))
    for row, table in enumerate(every):
        bias = product_bias(domain, table, dependences)
        if math.isinf(bias):
            continue
        before[row] = 1 / bias if bias > 0 else math.inf
        told[row] *= BORROWED
        first, last = map(domain.index, table)
        margins[row, first], margins[row, last] = 1 / domain.shape[last], 1 / domain.shape[first]
    kinds = [(wide, 1.0), (alone, worth)] if wide and alone else [(tables, 1.0)]
    goal = Goal(
        information=sparse.csr_array(told),
        before=before,
        margins=sparse.csr_array(margins),
        scales=_scales(domain, every, [wanted for wanted, _ in kinds], spare, coverage),
        weights=np.array([weight for _, weight in kinds]),
    )
    if not goal.reached:
        return None
    shares = best_shares(goal)
    kept = np.flatnonzero(shares >= _LEAST_SHARE)
    if not kept.size or not goal.among(kept).reached:
        kept = np.flatnonzero(shares > 0)
    shares = best_shares(goal.among(kept))
    used = shares > _SMALLEST_SHARE
    if not goal.among(kept[used]).reached:
        shares, used = np.maximum(shares, _SMALLEST_SHARE), np.ones_like(used)
    return split_questionnaire(
        domain, [pool[i] for i in kept[used]], epsilon=epsilon, shares=shares[used].tolist()
    )


@dataclass(frozen=True, eq=False)
class Goal:
    """Σ_g weight_g·ln Σ_t scale_gt·√E_t of the shares w; E is the squared error of table t.

    With I = information·w, a pair has E = 1/(I_a·r_b) + 1/(I_b·r_a) + 1/(1/B + I_t): the noise of
    its margins, and of its departure from their product, which is B when nobody reports both. Other
    tables, and all when B is unknown, have E = 1/I_t.
    """

    information: sparse.csr_array  # J, (tables, questionnaires), κ·J of pairs whose B is known
    before: Array  # 1/B of each table, 0 where it is unknown
    margins: sparse.csr_array  # 1/r_b at table a, 1/r_a at b, of pairs with B, (tables, tables)
    scales: Array  # what a unit of each table's standard error costs, (goals, tables)
    weights: Array  # a goal of weight 5 gives up a per cent only where one of 1 gains 5, (goals,)

    @property
    def reached(self) -> bool:
        """Whether somebody's answers, or B, tell of every table."""
        told = self.information.max(axis=1).toarray().ravel()
        return bool(((told > 0) | (self.before > 0)).all())

    def among(self, kept: npt.NDArray[np.int64]) -> Goal:
        """The goal when only some questionnaires are used."""
        return replace(self, information=self.information[:, kept])

    def fall(self, shares: Array) -> tuple[float, Array]:
        """Its value, and how fast it falls as each share grows."""
        told = np.maximum(self.information @ shares, 1e-100)
        own = 1 / (self.before + told)
        roots = np.sqrt(self.margins @ (1 / told) + own)
        errors = self.scales @ roots
        rates = (self.weights / errors) @ self.scales / (2 * roots)
        information, margins = self._turned
        slope = information @ (margins @ rates / told**2 + rates * own**2)
        return float(self.weights @ np.log(errors)), np.asarray(slope)

    @cached_property
    def _turned(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The matrices' transposes."""
        return sparse.csr_array(self.information.T), sparse.csr_array(self.margins.T)


def best_shares(goal: Goal) -> Array:
    """The shares of least value, by Fellman's (1974) steps: w_q ← w_q·√(slope_q)."""
    questionnaires = goal.information.shape[1]
    shares = np.full(questionnaires, 1 / questionnaires)
    for _ in range(_STEPS):
        shares = shares * np.sqrt(goal.fall(shares)[1])
        shares /= shares.sum()
    return shares


def _scales(
    domain: Domain,
    tables: Sequence[Names],
    kinds: Sequence[Sequence[Names]],
    spare: Sequence[Names],
    coverage: float,
) -> Array:
    """What a unit of standard error costs: tables of each width weigh as much as another's."""
    costs = np.array([relative_error(1.0, cells_in(domain, t), coverage) for t in tables])
    rows = {table: row for row, table in enumerate(tables)}
    times = np.zeros((len(kinds), len(tables)))
    for goal, wanted in zip(times, kinds, strict=True):
        widths = Counter(map(len, wanted))
        for table in wanted:
            goal[rows[table]] += 1 / widths[len(table)]
    times[0, [rows[table] for table in spare]] = _SPARE / len(domain)
    return np.asarray(times * costs)


def _information(
    domain: Domain, tables: Sequence[Names], pool: Sequence[Names], epsilon: float, n: int
) -> Array:
    """n/F of every table in every jointly reported subset; 0 where the subset does not hold it.

    Everybody reports what is public, so that a table of it alone is known.
    """
    found = np.zeros((len(tables), len(pool)))
    asking = {name: {j for j, s in enumerate(pool) if name in s} for name in domain.private}
    shapes = [tuple(domain.attribute(name).size for name in subset) for subset in pool]
    for i, table in enumerate(tables):
        asked = _asked(domain, table)
        if not asked:
            found[i] = _KNOWN
            continue
        for j in set.intersection(*(asking[name] for name in asked)):
            places = tuple(sorted(pool[j].index(name) for name in asked))
            square = _square(shapes[j], places, epsilon)
            found[i, j] = n / max(square - 1 / cells_in(domain, table), 1e-300)
    return found


def _asked(domain: Domain, table: Names) -> Names:
    """The attributes of a table that are not public."""
    return tuple(name for name in table if name in domain.private)


@lru_cache(maxsize=2**16)
def _square(shape: tuple[int, ...], places: tuple[int, ...], epsilon: float) -> float:
    """F without building the matrix.

    For the v shifts of a (v, k, λ) block and even shares, a cell is in the reported set with
    probability k/v and two cells with λ/v; a cell of the table is the sum of `fibre` cells' scores.
    """
    cells = math.prod(shape)
    found = _shape(cells, epsilon)
    if found is None:
        return Through(constant_matrix(cells, epsilon=epsilon), shape, places).square
    own, other = found.chances(epsilon)
    one, two = found.size / found.codes, found.pairs / found.codes
    alone = (one * (1 - 2 * other) + other**2) / (own - other) ** 2
    both = (two - 2 * other * one + other**2) / (own - other) ** 2
    fibre = cells // math.prod(shape[place] for place in places)
    return cells * alone + cells * (fibre - 1) * both


def _possible(domain: Domain, subset: Names, epsilon: float) -> bool:
    try:
        constant_matrix(cells_in(domain, subset), epsilon=epsilon)
    except MatrixError:
        return False
    return True


def _pool(domain: Domain, tables: Sequence[Names], epsilon: float) -> list[Names]:
    """All subsets of few attributes; of many, the tables and sets grown from them to fit e^ε."""
    names = domain.private
    tables = [_asked(domain, table) for table in tables]
    if len(names) <= _WHOLE_POOL:
        return [s for size in range(1, len(names) + 1) for s in combinations(names, size)]
    found = dict.fromkeys(tuple(sorted(t, key=domain.index)) for t in tables)
    rng = np.random.default_rng(0)  # the pool is public and the same for everybody
    for room in (math.exp(min(epsilon, 40.0)) * factor for factor in (0.1, 0.5, 2.0)):
        for start in range(_POOL // 3):
            grown = list(tables[start * len(tables) // (_POOL // 3)])
            for at in rng.permutation(len(names)):
                name = names[at]
                if name not in grown and cells_in(domain, (*grown, name)) <= room:
                    grown.append(name)
            found[tuple(sorted(grown, key=domain.index))] = None
    return list(found)
