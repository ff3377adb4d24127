"""What a design spends: per record, questionnaire, cluster and attribute.

ε always comes from the integers that are sampled (paper eq. 4), rounded up. For a cluster C with
matrix P over the product of its attributes, and A one of them, two things can be said:

- *guaranteed*: ln of the largest P[x, y] / P[x′, y] over records x, x′ that differ in A alone.
  It bounds what anyone learns about A, even knowing all her other answers. For the constant
  matrix it is ln(a/b) = ε_C itself: joint reports do not split their ε over the attributes.
- *others unknown*: the same ratio for the averages of P over the other attributes, that is for an
  adversary to whom all their combinations are equally likely. For the constant matrix with K such
  combinations it is ln((a + (K−1)·b) / (K·b)), far less. It is a fact about that adversary, and no
  guarantee.

Both speak of the reports of the cluster that holds A. Answers elsewhere may be correlated with A;
what all of them reveal together is bounded by the ε of the record.

Public attributes are reported as they are. No ε is of them, and what is said of the others holds
for an adversary who knows them: an account lists them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from mdrr.design import Cluster, Design
from mdrr.errors import DesignError
from mdrr.matrix import Constant
from mdrr.matrix.protocol import log_ratio
from mdrr.matrix.written import weights_of, worst_ratio
from mdrr.privacy.fields import json_fields


@dataclass(frozen=True, slots=True)
class ClusterAccount:
    """One cluster: its attributes, number of cells, kind of matrix and ε."""

    attributes: tuple[str, ...]
    cells: int
    kind: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class QuestionnaireAccount:
    """One questionnaire: the probability of getting it, its ε (the sum), its clusters."""

    probability: float
    epsilon: float
    clusters: tuple[ClusterAccount, ...]


@dataclass(frozen=True, slots=True)
class AttributeAccount:
    """One attribute: the probability of being asked, and the two ε defined above.

    With several questionnaires each ε is the largest over those that ask for the attribute.
    """

    name: str
    asked: float
    epsilon: float
    epsilon_others_unknown: float


@dataclass(frozen=True, slots=True)
class Account:
    """What a design spends; `epsilon` is per record: the most that one person spends.

    `public` are the attributes outside ε; the other fields do not speak of them.
    """

    fingerprint: str
    epsilon: float
    questionnaires: tuple[QuestionnaireAccount, ...]
    attributes: tuple[AttributeAccount, ...]
    public: tuple[str, ...] = ()

    to_dict = json_fields


def account(design: Design) -> Account:
    """The ε of a design, and of each of its questionnaires, clusters and attributes.

    Clusters add up within a questionnaire (sequential composition); a person answers only one
    questionnaire, drawn whatever her answers are, so the design's ε is the largest.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import clustered
        >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "abc"))
        >>> spent = account(clustered(d, [["a", "b"], ["c"]], epsilon=3.0))
        >>> [(c.attributes, round(c.epsilon, 2)) for c in spent.questionnaires[0].clusters]
        [(('a', 'b'), 2.0), (('c',), 1.0)]
        >>> [(a.name, round(a.epsilon, 2), round(a.epsilon_others_unknown, 2))
        ...  for a in spent.attributes]
        [('a', 2.0, 1.43), ('b', 2.0, 1.43), ('c', 1.0, 1.0)]
    """
    total = design.weights
    questionnaires = []
    for q in design.randomized.questionnaires:
        clusters = tuple(
            ClusterAccount(c.attributes, c.matrix.cells, c.matrix.kind, c.epsilon)
            for c in q.clusters
        )
        questionnaires.append(QuestionnaireAccount(q.weight / total, q.epsilon, clusters))
    domain = design.domain
    attributes = tuple(attribute_account(design, name) for name in domain.private)
    spent = tuple(questionnaires)
    return Account(design.fingerprint, design.epsilon, spent, attributes, domain.public)


def attribute_account(design: Design, name: str) -> AttributeAccount:
    """What reports reveal about one attribute, guaranteed and when the others are unknown.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import sampled
        >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "abc"))
        >>> a = attribute_account(sampled(d, 2, epsilon=1.0), "b")
        >>> round(a.asked, 3), round(a.epsilon, 3), round(a.epsilon_others_unknown, 3)
        (0.667, 1.0, 0.62)
    """
    if design.domain.attribute(name).public:
        raise DesignError(f"{name!r} is public: it is reported as it is, and no ε is of it")
    total = design.weights
    asked, guaranteed, unknown = 0, 0.0, 0.0
    for questionnaire in design.questionnaires:
        for cluster in questionnaire.clusters:
            if name in cluster.attributes:
                asked += questionnaire.weight
                two = cluster_attribute_epsilons(cluster, design.shape(cluster), name)
                guaranteed, unknown = max(guaranteed, two[0]), max(unknown, two[1])
    return AttributeAccount(name, asked / total, guaranteed, unknown)


def cluster_attribute_epsilons(
    cluster: Cluster, shape: tuple[int, ...], name: str
) -> tuple[float, float]:
    """The two ε of one attribute of a cluster: guaranteed, and with the others unknown.

    `shape` has the category counts of the cluster's attributes.

    Example:
        >>> from mdrr.matrix import Constant
        >>> pair = Cluster(("a", "b"), Constant(4, diagonal=40960, off=8192))
        >>> [round(e, 3) for e in cluster_attribute_epsilons(pair, (2, 2), "a")]
        [1.609, 1.099]
    """
    if name not in cluster.attributes:
        raise DesignError(f"the cluster {cluster.name!r} has no attribute {name!r}")
    matrix = cluster.matrix
    if prod(shape) != matrix.cells:
        raise DesignError(
            f"shape {shape} does not fit the {matrix.cells} cells of {cluster.name!r}"
        )
    axis = cluster.attributes.index(name)
    others = matrix.cells // shape[axis]
    if isinstance(matrix, Constant):
        a, b = matrix.diagonal, matrix.off
        return matrix.epsilon, log_ratio(a + (others - 1) * b, others * b)
    table = np.moveaxis(weights_of(matrix).reshape(*shape, matrix.outcomes), axis, 0)
    unknown = table.reshape(shape[axis], others, matrix.outcomes).sum(axis=1)
    return worst_ratio(table.reshape(shape[axis], -1)), worst_ratio(unknown)
