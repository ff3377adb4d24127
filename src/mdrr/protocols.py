"""The paper's protocols as designs: RR-Independent, RR-Joint, RR-Clusters; and sampled ones.

All are constant matrices. Given p, an attribute spends ε_A = ln(1 + p·r/(1−p)) (Corollary 1's
mechanism) and a cluster Σ ε_A, so designs made with the same p are equally private (section 6.3).
Public attributes are reported as they are beside the others: no cluster and no budget names them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, Literal

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.display import counted
from mdrr.domain import Domain, known
from mdrr.errors import DesignError, MatrixError, is_number
from mdrr.matrix import Matrix, Public, banded_matrix, constant_matrix, subset_matrix
from mdrr.matrix.protocol import LEAST_EPSILON, most_epsilon, shown_below

MAX_CELLS, MIN_DEPENDENCE = 100, 0.1
"""Algorithm 1's thresholds for RR-Clusters, unless others are given."""
_MOST_QUESTIONNAIRES = 2048


def epsilon_of(p: float, cells: int) -> float:
    """ε = ln(1 + p·r/(1−p)): keep the truth with probability p, else uniform over all r cells.

    >>> round(epsilon_of(0.7, 9), 3)
    3.091
    """
    if not (is_number(p) and 0 < p < 1):
        raise MatrixError(f"p={p!r} must lie strictly between 0 (nothing learnt) and 1 (ε = ∞)")
    p = float(p)
    return math.log1p(p * cells / (1 - p))


def p_of(epsilon: float, shape: Sequence[int]) -> float:
    """The p that makes Σ_A ln(1 + p·r_A/(1−p)) equal ε: every attribute keeps the truth as often.

    >>> round(p_of(epsilon_of(0.3, 4) + epsilon_of(0.3, 9), (4, 9)), 12)
    0.3
    """
    return 1 / (1 + math.exp(-_odds_of(epsilon, [(r,) for r in shape])))


def _odds_of(epsilon: float, groups: Sequence[Sequence[int]]) -> float:
    """ln(p/(1−p)) of the p that spends ε on groups of attributes, given by their sizes.

    If a group of r cells would then spend more than 48 random bits can, ln(2^48 − r + 1), the error
    says what all groups can spend together.
    """
    if not (is_number(epsilon) and epsilon > 0):
        raise MatrixError(f"ε={epsilon!r} must be a positive number")
    epsilon = float(epsilon)  # a narrower one would round what is spent
    if epsilon < LEAST_EPSILON:
        raise MatrixError(f"ε={epsilon:g} says nothing in 48 random bits; choose a larger ε")

    from scipy.optimize import brentq  # slow to load, and few programs that import this need it

    shape = [size for group in groups for size in group]
    limits = [(group, most_epsilon(math.prod(group))) for group in groups]
    limits = [(group, most) for group, most in limits if most > 0]  # others have no matrix at all

    def spent(odds: float, sizes: Sequence[int]) -> float:
        return sum(math.log1p(math.exp(odds) * r) for r in sizes)

    def solved(budget: float, sizes: Sequence[int]) -> float:
        return float(
            brentq(lambda at: spent(at, sizes) - budget, -750.0, 50.0, xtol=1e-14, rtol=1e-14)
        )

    odds = solved(epsilon, shape) if epsilon < spent(50.0, shape) else 50.0
    if any(spent(odds, group) > most for group, most in limits):
        least = min(solved(most, group) for group, most in limits)
        raise MatrixError(
            f"ε={epsilon} over {counted(len(shape), 'attribute')} needs more than 48 random bits "
            f"a draw; choose ε of at most {shown_below(spent(least, shape))}"
        )
    return odds


def independent(
    domain: Domain,
    *,
    p: float | None = None,
    epsilon: float | Mapping[str, float] | None = None,
    ordered: Literal["constant", "banded"] = "constant",
) -> Design:
    """RR-Independent (Protocol 1): every attribute is randomized on its own.

    Arguments:
        domain: what is asked.
        p: probability of keeping each true answer, else uniform over all categories.
        epsilon: instead of p, the whole budget (split so that every attribute gets the same p),
            or one budget per attribute that is not public, `{name: ε}`.
        ordered: the matrix of ordinal and numeric attributes: `"constant"` as for all others, or
            `"banded"`, which spends the same ε and makes near answers likelier than far ones.

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y", "z"))))
        >>> [round(c.matrix.keep, 3) for c in independent(d, p=0.7).clusters]
        [0.85, 0.8]
        >>> independent(d, epsilon={"a": 1.0, "b": 2.0}).epsilon <= 3.0
        True
    """
    asked = _check(domain, p, epsilon)
    if ordered not in ("constant", "banded"):
        raise DesignError(f"ordered={ordered!r}: choose 'constant' or 'banded'")
    if isinstance(epsilon, Mapping):
        for name in epsilon:
            if domain.attribute(name).public:
                raise DesignError(f"{name!r} is public and spends nothing; leave its ε out")
        left = [name for name in asked.names if name not in epsilon]
        if left:
            raise DesignError(f"no ε is given for {known(left)}; every attribute needs one")
        budgets = [epsilon[name] for name in asked.names]
    else:
        budgets = _budgets(asked, [(name,) for name in asked.names], p, epsilon)
    clusters = []
    for a, budget in zip(asked.attributes, budgets, strict=True):
        banded = ordered == "banded" and a.is_ordered
        matrix = banded_matrix(a.size, epsilon=budget) if banded else _constant(a.size, p, budget)
        clusters.append(Cluster((a.name,), matrix))
    return Design(domain, (beside_public(domain, clusters),))


def joint(domain: Domain, *, p: float | None = None, epsilon: float | None = None) -> Design:
    """RR-Joint (Protocol 2): all attributes are randomized as one.

    Arguments:
        domain: what is asked; the product of all that is not public is one cluster.
        p: as private as RR-Independent at this p, that is ε = Σ_A ln(1 + p·r_A/(1−p)).
        epsilon: instead of p, the budget.
    """
    _check(domain, p, epsilon)
    return clustered(domain, [domain.private], p=p, epsilon=epsilon)


def clustered(
    domain: Domain,
    clusters: Iterable[Iterable[str]],
    *,
    p: float | None = None,
    epsilon: float | None = None,
) -> Design:
    """RR-Clusters: attributes of a cluster are randomized as one, clusters independently.

    Arguments:
        domain: what is asked.
        clusters: a partition of its attributes; public ones are left out.
        p: each cluster spends Σ_{A∈C} ln(1 + p·r_A/(1−p)), as RR-Independent would at this p.
        epsilon: instead of p, the whole budget; p is then the one that spends it.

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "abc"))
        >>> design = clustered(d, [["c", "a"], ["b"]], p=0.5)
        >>> [c.attributes for c in design.clusters]
        [('a', 'c'), ('b',)]
        >>> design.epsilon <= independent(d, p=0.5).epsilon + 1e-3
        True
    """
    asked = _check(domain, p, epsilon)
    groups = _partition(domain, clusters)
    made = []
    for names, budget in zip(groups, _budgets(asked, groups, p, epsilon), strict=True):
        cells = math.prod(asked.attribute(n).size for n in names)
        made.append(Cluster(names, _constant(cells, p if len(names) == 1 else None, budget)))
    return Design(domain, (beside_public(domain, made),))


def beside_public(domain: Domain, clusters: Iterable[Cluster], weight: int = 1) -> Questionnaire:
    """A questionnaire with some clusters, and beside them what is public."""
    exact = [Cluster((name,), Public(domain.attribute(name).size)) for name in domain.public]
    return Questionnaire((*clusters, *exact), weight)


def _budgets(
    domain: Domain, groups: list[tuple[str, ...]], p: float | None, epsilon: float | None
) -> list[float]:
    """What each group of attributes spends: never more than ε together, if that is given."""
    sizes = [[domain.attribute(name).size for name in names] for names in groups]
    if epsilon is None:
        assert p is not None
        return [sum(epsilon_of(p, size) for size in each) for each in sizes]
    odds = math.exp(_odds_of(epsilon, sizes))
    budgets = [sum(math.log1p(odds * size) for size in each) for each in sizes]
    over = max(math.fsum(budgets) - float(epsilon), 0.0)
    return [budget - over for budget in budgets]


def _constant(cells: int, p: float | None, budget: float) -> Matrix:
    """The constant matrix of p, or else of a budget."""
    if p is None:
        return constant_matrix(cells, epsilon=budget)
    return constant_matrix(cells, p=p)


def _partition(domain: Domain, clusters: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """Clusters as tuples, attributes in the domain's order, or an error if they are no partition.

    Of the attributes that are not public; a public one may stand alone, which says nothing new.
    """
    if not isinstance(clusters, Iterable):
        raise DesignError(f"clusters are lists of attributes, not a {type(clusters).__name__}")
    groups = []
    for cluster in clusters:
        if isinstance(cluster, str):
            raise DesignError(f"a cluster is a list of attributes; write [{cluster!r}]")
        if not isinstance(cluster, Iterable):
            raise DesignError(f"a cluster is a list of attributes, not a {type(cluster).__name__}")
        groups.append(tuple(sorted(cluster, key=domain.index)))
    if not all(groups):
        raise DesignError("a cluster needs at least one attribute")
    for name in domain.public:
        if any(name in names and len(names) > 1 for names in groups):
            raise DesignError(f"{name!r} is public; leave it out of the clusters")
    held = Counter(name for names in groups for name in names)
    twice = [name for name in domain.names if held[name] > 1]
    if twice:
        raise DesignError(f"the clusters name {known(twice)} twice; each belongs in one of them")
    left = [name for name in domain.private if not held[name]]
    if left:
        raise DesignError(f"no cluster holds {known(left)}; add each, alone if need be")
    return [names for names in groups if names[0] not in domain.public]


def sampled(
    domain: Domain, size: int, *, epsilon: float, report: Literal["cell", "subset"] = "cell"
) -> Design:
    """A split questionnaire: each person reports a random subset of the attributes, jointly.

    She spends the whole budget on the few attributes she is asked, so there is less noise in them
    than in a whole record at the same ε. All subsets of the size are used, or a balanced choice of
    them if there are more than 2048.

    Arguments:
        domain: what can be asked.
        size: how many attributes each person reports, 1 to all that are not public.
        epsilon: the budget of each person.
        report: `"cell"`, one combination of the attributes' categories, which reads like a record;
            or `"subset"`, a set of combinations where that is more accurate (small ε, many cells).

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "abcd"))
        >>> design = sampled(d, 2, epsilon=1.0)
        >>> len(design.questionnaires), design.epsilon <= 1.0
        (6, True)
    """
    asked = _check(domain, None, epsilon)
    given: Any = size
    if not (isinstance(given, Integral) and 1 <= size <= len(asked)):
        raise DesignError(
            f"size={size!r}: a person can be asked between 1 and {len(asked)} attributes"
            + (" beside the public ones" if domain.public else "")
        )
    if report not in ("cell", "subset"):
        raise DesignError(f"report={report!r}: choose 'cell' or 'subset'")
    make = subset_matrix if report == "subset" else constant_matrix
    chosen = subsets(len(asked), int(size))
    share, rest = divmod(2**32, len(chosen))
    matrices: dict[int, Matrix] = {}
    questionnaires = []
    for i, subset in enumerate(chosen):
        cells = math.prod(asked.shape[j] for j in subset)
        if cells not in matrices:
            matrices[cells] = make(cells, epsilon=epsilon)
        cluster = Cluster(tuple(asked.names[j] for j in subset), matrices[cells])
        weight = 1 if len(chosen) == 1 else share + (i < rest)
        questionnaires.append(beside_public(domain, [cluster], weight))
    return Design(domain, tuple(questionnaires))


def subsets(m: int, size: int) -> list[tuple[int, ...]]:
    """All subsets, or about 2048: some spread evenly over their order, with all their shifts."""
    count = math.comb(m, size)
    if count <= _MOST_QUESTIONNAIRES:
        return list(combinations(range(m), size))
    bases = max(_MOST_QUESTIONNAIRES // m, 1)
    chosen = set()
    for i in range(bases):
        base = _unrank(count * i // bases, m, size)
        chosen |= {tuple(sorted((j + shift) % m for j in base)) for shift in range(m)}
    return sorted(chosen)


def _unrank(rank: int, m: int, size: int) -> tuple[int, ...]:
    """The subset at a place in the lexicographic order of all subsets of the size."""
    subset: list[int] = []
    for j in range(m):
        with_j = math.comb(m - j - 1, size - len(subset) - 1) if len(subset) < size else 0
        if rank < with_j:
            subset.append(j)
        else:
            rank -= with_j
    return tuple(subset)


def _check(domain: object, p: float | None, epsilon: object) -> Domain:
    """The domain of what is randomized, or an error."""
    if not isinstance(domain, Domain):
        raise DesignError(f"a design is made for an mdrr.Domain, not a {type(domain).__name__}")
    if (p is None) == (epsilon is None):
        raise DesignError("give p or epsilon, exactly one of them")
    if not domain.private:
        raise DesignError("all attributes are public, so there is nothing to randomize")
    return domain.project(domain.private)
