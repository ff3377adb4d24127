"""The paper's protocols as designs: RR-Independent, RR-Joint, RR-Clusters; and sampled ones.

All are constant matrices. Given p, an attribute spends ε_A = ln(1 + p·r/(1−p)) (Corollary 1's
mechanism) and a cluster Σ ε_A, so designs made with the same p are equally private (section 6.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, Literal

from scipy.optimize import brentq

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Domain, known
from mdrr.errors import DesignError, MatrixError, is_number
from mdrr.matrix import Matrix, banded_matrix, constant_matrix, subset_matrix
from mdrr.matrix.protocol import LEAST_EPSILON

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
    if not (is_number(epsilon) and epsilon > 0):
        raise MatrixError(f"ε={epsilon!r} must be a positive number")
    epsilon = float(epsilon)  # a narrower one would round what is spent
    if epsilon < LEAST_EPSILON:
        raise MatrixError(f"ε={epsilon:g} says nothing in 48 random bits; choose a larger ε")
    if epsilon > 34 * len(shape):  # ln 2^48 = 33.3 an attribute
        raise MatrixError(
            f"ε={epsilon} over {len(shape)} attributes needs more than 48 random bits a draw; "
            f"choose ε below {33 * len(shape)}"
        )

    def excess(odds: float) -> float:
        return sum(math.log1p(math.exp(odds) * r) for r in shape) - epsilon

    odds = brentq(excess, -750.0, 50.0, xtol=1e-14, rtol=1e-14)
    return 1 / (1 + math.exp(-odds))


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
            or one budget per attribute, `{name: ε}`.
        ordered: the matrix of ordinal and numeric attributes: `"constant"` as for all others, or
            `"banded"`, which spends the same ε and prefers near answers to far ones.

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y", "z"))))
        >>> [round(c.matrix.keep, 3) for c in independent(d, p=0.7).clusters]
        [0.85, 0.8]
        >>> independent(d, epsilon={"a": 1.0, "b": 2.0}).epsilon <= 3.0
        True
    """
    _check(domain)
    _one_of(p, epsilon)
    if ordered not in ("constant", "banded"):
        raise DesignError(f"ordered={ordered!r}: choose 'constant' or 'banded'")
    banded = {a.name for a in domain.attributes if a.is_ordered and ordered == "banded"}
    if isinstance(epsilon, Mapping):
        budgets = _each(domain, epsilon)
    else:
        share = p_of(epsilon, domain.shape) if p is None and epsilon is not None else p
        assert share is not None
        budgets = {a.name: epsilon_of(share, a.size) for a in domain.attributes}
        over = 0.0 if epsilon is None else max(sum(budgets.values()) - float(epsilon), 0.0)
        budgets = {name: budget - over for name, budget in budgets.items()}
    clusters = []
    for a in domain.attributes:
        matrix: Matrix
        if a.name in banded:
            matrix = banded_matrix(a.size, epsilon=budgets[a.name])
        elif p is not None:
            matrix = constant_matrix(a.size, p=p)
        else:
            matrix = constant_matrix(a.size, epsilon=budgets[a.name])
        clusters.append(Cluster((a.name,), matrix))
    return Design(domain, (Questionnaire(tuple(clusters)),))


def _each(domain: Domain, epsilon: Mapping[str, float]) -> dict[str, float]:
    """A budget for every attribute, or an error that names those without."""
    for name in epsilon:
        domain.index(name)
    left = [name for name in domain.names if name not in epsilon]
    if left:
        raise DesignError(f"no ε is given for {known(left)}; every attribute needs one")
    return dict(epsilon)


def joint(domain: Domain, *, p: float | None = None, epsilon: float | None = None) -> Design:
    """RR-Joint (Protocol 2): all attributes are randomized as one.

    Arguments:
        domain: what is asked; its whole product is one cluster.
        p: as private as RR-Independent at this p, that is ε = Σ_A ln(1 + p·r_A/(1−p)).
        epsilon: instead of p, the budget.
    """
    _check(domain)
    return clustered(domain, [domain.names], p=p, epsilon=epsilon)


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
        clusters: a partition of its attributes.
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
    _check(domain)
    _one_of(p, epsilon)
    groups = check_partition(domain, clusters)
    if p is None:
        assert epsilon is not None
        p = p_of(epsilon, domain.shape)
    budgets = [sum(epsilon_of(p, domain.attribute(n).size) for n in names) for names in groups]
    over = 0.0 if epsilon is None else max(sum(budgets) - float(epsilon), 0.0)
    made = []
    for names, budget in zip(groups, budgets, strict=True):
        cells = math.prod(domain.attribute(n).size for n in names)
        alone = len(names) == 1 and epsilon is None
        matrix = (
            constant_matrix(cells, p=p) if alone else constant_matrix(cells, epsilon=budget - over)
        )
        made.append(Cluster(names, matrix))
    return Design(domain, (Questionnaire(tuple(made)),))


def check_partition(
    domain: Domain, clusters: Iterable[Iterable[str]]
) -> tuple[tuple[str, ...], ...]:
    """Clusters as tuples in the domain's order, or an error when they are no partition of it."""
    groups: list[tuple[str, ...]] = []
    seen: dict[str, tuple[str, ...]] = {}
    if not isinstance(clusters, Iterable):
        raise DesignError(f"clusters are lists of attributes, not a {type(clusters).__name__}")
    for cluster in clusters:
        if isinstance(cluster, str):
            raise DesignError(f"a cluster is a list of attributes; write [{cluster!r}]")
        if not isinstance(cluster, Iterable):
            raise DesignError(f"a cluster is a list of attributes, not a {type(cluster).__name__}")
        names = tuple(sorted(cluster, key=domain.index))
        if not names:
            raise DesignError("a cluster needs at least one attribute")
        if len(set(names)) < len(names):
            raise DesignError(f"the cluster {list(names)} names an attribute twice")
        if names in groups:
            raise DesignError(f"the cluster {list(names)} is listed twice")
        for name in names:
            if name in seen:
                raise DesignError(f"{name!r} is in two clusters: {list(seen[name])}, {list(names)}")
            seen[name] = names
        groups.append(names)
    left = [name for name in domain.names if name not in seen]
    if left:
        raise DesignError(f"no cluster holds {known(left)}; add each, alone if need be")
    return tuple(sorted(groups, key=lambda names: domain.index(names[0])))


def sampled(
    domain: Domain,
    size: int,
    *,
    epsilon: float,
    report: Literal["cell", "subset"] = "cell",
) -> Design:
    """A split questionnaire: each person reports a random subset of the attributes, jointly.

    She spends the whole budget on the few attributes she is asked, so they are nearly exact where
    the whole record would drown. All subsets of the size are used, or a balanced choice of them
    when there are more than 2048.

    Arguments:
        domain: what can be asked.
        size: how many attributes each person reports, 1 to all.
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
    _check(domain)
    m = len(domain)
    given: Any = size
    if not (isinstance(given, Integral) and 1 <= size <= m):
        raise DesignError(f"size={size!r}: a person can be asked between 1 and {m} attributes")
    if report not in ("cell", "subset"):
        raise DesignError(f"report={report!r}: choose 'cell' or 'subset'")
    chosen = subsets(m, int(size))
    total = 2**32
    share, rest = divmod(total, len(chosen))
    matrices: dict[int, Matrix] = {}
    questionnaires = []
    for i, subset in enumerate(chosen):
        names = tuple(domain.names[j] for j in subset)
        cells = math.prod(domain.shape[j] for j in subset)
        if cells not in matrices:
            make = subset_matrix if report == "subset" else constant_matrix
            matrices[cells] = make(cells, epsilon=epsilon)
        weight = 1 if len(chosen) == 1 else share + (i < rest)
        questionnaires.append(Questionnaire((Cluster(names, matrices[cells]),), weight))
    return Design(domain, tuple(questionnaires))


def subsets(m: int, size: int) -> list[tuple[int, ...]]:
    """All subsets, or about 2048: some spread evenly over their order, with all their shifts."""
    count = math.comb(m, size)
    if count <= _MOST_QUESTIONNAIRES:
        return list(combinations(range(m), size))
    chosen: dict[tuple[int, ...], None] = {}
    bases = max(_MOST_QUESTIONNAIRES // m, 1)
    for i in range(bases):
        base = _unrank(count * i // bases, m, size)
        for shift in range(m):
            chosen[tuple(sorted((j + shift) % m for j in base))] = None
    return sorted(chosen)


def _unrank(rank: int, m: int, size: int) -> tuple[int, ...]:
    """The subset at a place in the lexicographic order of all subsets of the size."""
    subset: list[int] = []
    j = 0
    while len(subset) < size:
        with_j = math.comb(m - j - 1, size - len(subset) - 1)
        if rank < with_j:
            subset.append(j)
        else:
            rank -= with_j
        j += 1
    return tuple(subset)


def _check(domain: object) -> None:
    if not isinstance(domain, Domain):
        raise DesignError(f"a design is made for an mdrr.Domain, not a {type(domain).__name__}")


def _one_of(p: float | None, epsilon: object) -> None:
    if (p is None) == (epsilon is None):
        raise DesignError("give p or epsilon, exactly one of them")
