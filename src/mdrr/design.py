"""A design: which attributes each person reports together, and through which matrix.

A design is frozen and public. Its fingerprint, SHA-256 of its canonical JSON, travels with every
report, so reports and estimates cannot be mixed between designs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mdrr.display import design_html
from mdrr.domain import Domain
from mdrr.errors import DesignError
from mdrr.matrix import TOTALS, Matrix, Public, matrix_from_dict
from mdrr.matrix.protocol import add_up
from mdrr.respondent import draw_bytes, fingerprint, record_bytes

FORMAT = 1
"""The version of the design's JSON form."""
QUESTIONNAIRE = "questionnaire"
"""The column of reports that says which questionnaire a person answered."""


@dataclass(frozen=True)
class Cluster:
    """Some attributes reported jointly through one matrix over their product.

    A combination's cell is its mixed-radix number in the domain's order, the first attribute most
    significant.
    """

    attributes: tuple[str, ...]
    matrix: Matrix

    def __post_init__(self) -> None:
        given: object = self.attributes
        if isinstance(given, str):  # a sequence too, but never meant letter by letter
            raise DesignError(f"a cluster is a list of attributes; write ({given!r},)")
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes:
            raise DesignError("a cluster needs at least one attribute")
        for i, name in enumerate(self.attributes):
            if name in self.attributes[:i]:
                raise DesignError(f"a cluster names {name!r} twice")

    @property
    def epsilon(self) -> float:
        """What one report of this cluster spends."""
        return self.matrix.epsilon

    @property
    def name(self) -> str:
        """The attributes joined by '+', for tables and columns."""
        return "+".join(self.attributes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its reports: one per attribute, or one of codes if these are no labels."""
        return self.attributes if self.matrix.reports_cells else (f"{self.name} (code)",)


@dataclass(frozen=True)
class Questionnaire:
    """The clusters one person reports, and the integer weight with which it is given out."""

    clusters: tuple[Cluster, ...]
    weight: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "clusters", tuple(self.clusters))
        if not self.clusters:
            raise DesignError("a questionnaire needs at least one cluster")
        if type(self.weight) is not int or self.weight < 1:
            raise DesignError(
                f"a questionnaire's weight is a positive integer, not {self.weight!r}"
            )
        for i, name in enumerate(self.attributes):
            if name in self.attributes[:i]:
                raise DesignError(f"{name!r} is in two clusters of one questionnaire")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes asked, cluster by cluster."""
        return tuple(name for cluster in self.clusters for name in cluster.attributes)

    @property
    def epsilon(self) -> float:
        """Sequential composition over the clusters."""
        return add_up([cluster.epsilon for cluster in self.clusters])


@dataclass(frozen=True)
class Design:
    """A domain and one or more questionnaires with selection weights.

    Arguments:
        domain: what can be answered.
        questionnaires: what each person is asked. With several, their weights sum to 2^16, 2^32
            or 2^48, and one draw picks the questionnaire whatever the answers are.

    Example:
        >>> from mdrr.domain import Attribute
        >>> from mdrr.matrix import constant_matrix
        >>> domain = Domain((Attribute("smokes", ("no", "yes")),))
        >>> cluster = Cluster(("smokes",), constant_matrix(2, p=0.5))
        >>> design = Design(domain, (Questionnaire((cluster,)),))
        >>> Design.from_json(design.to_json()) == design
        True
    """

    domain: Domain
    questionnaires: tuple[Questionnaire, ...]

    def __post_init__(self) -> None:
        if not self.questionnaires:
            raise DesignError("a design needs at least one questionnaire")
        object.__setattr__(
            self, "questionnaires", tuple(self._ordered(q) for q in self.questionnaires)
        )
        asked = {name for q in self.questionnaires for name in q.attributes}
        for name in self.domain.names:
            if name not in asked:
                raise DesignError(f"{name!r} is in no cluster; add it, alone if need be")
        self._check_public()
        self._check_names()
        if len(self.questionnaires) > 1 and self.weights not in TOTALS:
            raise DesignError(
                f"the questionnaires' weights sum to {self.weights}; they must sum to 2^16, 2^32 "
                "or 2^48"
            )

    def _check_public(self) -> None:
        """A public attribute is reported as it is by everybody, and no other one is."""
        public = self.domain.public
        if len(public) == len(self.domain):
            raise DesignError("all attributes are public, so there is nothing to randomize")
        alone = {(name,) for name in public}
        for q in self.questionnaires:
            exact = {c.attributes for c in q.clusters if isinstance(c.matrix, Public)}
            for names in exact - alone:
                raise DesignError(
                    f"{'+'.join(names)!r} would be reported as it is; randomize it, or declare "
                    "each attribute public and give it a cluster of its own"
                )
            for (name,) in alone - exact:
                size = self.domain.attribute(name).size
                raise DesignError(
                    f"{name!r} is public: it stands alone in a cluster of every questionnaire, "
                    f"Cluster(({name!r},), Public({size}))"
                )

    def _check_names(self) -> None:
        """Refuse names under which two things would share a column of the reports or a table."""
        named: dict[str, tuple[str, ...]] = {name: (name,) for name in self.domain.names}
        if QUESTIONNAIRE in named:
            raise DesignError(
                f"reports need the column {QUESTIONNAIRE!r} for themselves; rename the attribute"
            )
        for cluster in (c for q in self.questionnaires for c in q.clusters):
            held = named.setdefault(cluster.name, cluster.attributes)
            if held != cluster.attributes:
                raise DesignError(
                    f"{list(held)} and {list(cluster.attributes)} would both be called "
                    f"{cluster.name!r}; rename an attribute"
                )
            for column in set(cluster.columns) - set(cluster.attributes):
                if column in self.domain.names:
                    raise DesignError(
                        f"the reports of {cluster.name!r} need the column {column!r}, which is an "
                        "attribute too; rename the attribute"
                    )

    def __repr__(self) -> str:
        asked = len(self.questionnaires)
        return (
            f"<Design {self.fingerprint[:12]}: {len(self.domain)} attributes, "
            f"{asked} questionnaire{'s' if asked > 1 else ''}, ε = {self.epsilon:.4g}>"
        )

    def _repr_html_(self) -> str:
        return design_html(self)

    def _ordered(self, questionnaire: Questionnaire) -> Questionnaire:
        """The same questionnaire with attributes and clusters in the domain's order."""
        index = self.domain.index
        clusters = []
        for cluster in questionnaire.clusters:
            names = tuple(sorted(cluster.attributes, key=index))
            if names != cluster.attributes and cluster.matrix.kind == "dense":
                raise DesignError(
                    f"the cells of the dense matrix of {cluster.name!r} follow the attributes; "
                    f"list them in the domain's order: {'+'.join(names)!r}"
                )
            size = math.prod(self.domain.attribute(name).size for name in names)
            if cluster.matrix.cells != size:
                raise DesignError(
                    f"the matrix of {cluster.name!r} has {cluster.matrix.cells} cells, "
                    f"its attributes have {size} combinations"
                )
            clusters.append(Cluster(names, cluster.matrix))
        clusters.sort(key=lambda c: index(c.attributes[0]))
        return Questionnaire(tuple(clusters), questionnaire.weight)

    @cached_property
    def epsilon(self) -> float:
        """The largest over questionnaires of the sum over clusters: what one person spends.

        It covers the attributes that are not public. Public answers are reported as they are.
        """
        return max(q.epsilon for q in self.questionnaires)

    @cached_property
    def randomized(self) -> Design:
        """The design of the attributes that are not public: what ε is of."""
        if not self.domain.public:
            return self
        asked = tuple(
            Questionnaire(
                tuple(c for c in q.clusters if not isinstance(c.matrix, Public)), q.weight
            )
            for q in self.questionnaires
        )
        return Design(self.domain.project(self.domain.private), asked)

    @property
    def outside(self) -> str:
        """What is outside ε, in a sentence or two; empty if nothing is public."""
        public = ", ".join(self.domain.public)
        return public and (
            f"Outside ε: {public}. Public answers are reported as they are, and can be joined with "
            "what is known of a person."
        )

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters of a design with a single questionnaire."""
        if len(self.questionnaires) > 1:
            raise DesignError(
                f"this design has {len(self.questionnaires)} questionnaires; "
                "look into design.questionnaires"
            )
        return self.questionnaires[0].clusters

    @cached_property
    def outcomes(self) -> tuple[tuple[int, ...], ...]:
        """How many codes each cluster of each questionnaire can report."""
        return tuple(tuple(c.matrix.outcomes for c in q.clusters) for q in self.questionnaires)

    @cached_property
    def weights(self) -> int:
        """What the questionnaires' weights sum to."""
        return sum(q.weight for q in self.questionnaires)

    @cached_property
    def selection_bytes(self) -> int:
        """Random bytes that pick the questionnaire; 0 when there is only one."""
        if len(self.questionnaires) == 1:
            return 0
        return draw_bytes(self.weights)

    @cached_property
    def record_bytes(self) -> int:
        """Random bytes one person uses, the same whatever she is asked and answers."""
        return record_bytes(self.to_dict())

    def asking(self, names: Iterable[str]) -> list[int]:
        """The questionnaires that ask all of some attributes, as places in their list."""
        return sorted(frozenset.intersection(*(self._askers[name] for name in names)))

    @cached_property
    def _askers(self) -> dict[str, frozenset[int]]:
        """The questionnaires that ask each attribute."""
        found: dict[str, list[int]] = {name: [] for name in self.domain.names}
        for place, questionnaire in enumerate(self.questionnaires):
            for name in questionnaire.attributes:
                found[name].append(place)
        return {name: frozenset(places) for name, places in found.items()}

    def shape(self, cluster: Cluster) -> tuple[int, ...]:
        """The category counts of a cluster's attributes."""
        return tuple(self.domain.attribute(name).size for name in cluster.attributes)

    def to_dict(self) -> dict[str, Any]:
        """The design as JSON-ready values, without its fingerprint."""
        return {
            "mdrr": FORMAT,
            "attributes": self.domain.to_dict(),
            "questionnaires": [
                {
                    "weight": q.weight,
                    "clusters": [
                        {"attributes": list(c.attributes), "matrix": c.matrix.to_dict()}
                        for c in q.clusters
                    ],
                }
                for q in self.questionnaires
            ],
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form: JSON in UTF-8, keys sorted, no blanks."""
        return fingerprint(self.to_dict())

    def to_json(self) -> str:
        """The design as JSON, with its fingerprint beside it."""
        fields = {"fingerprint": self.fingerprint, **self.to_dict()}
        return json.dumps(fields, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Design:
        """The design written by `to_json`, validated again and checked against its fingerprint."""
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise DesignError(f"the design is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise DesignError("a design is a JSON object")
        return cls.from_dict(fields)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Design:
        """The design described by `to_dict`, validated again."""
        if "mdrr" not in fields:
            raise DesignError("this is not a design: it has no 'mdrr', the version of its format")
        if fields["mdrr"] != FORMAT:
            raise DesignError(
                f"this design has format {fields['mdrr']!r}; this version reads {FORMAT}"
            )
        try:
            if any(a.get("public", True) is not True for a in fields["attributes"]):
                raise DesignError("in a design an attribute says 'public' only if it is true")
            design = cls(
                Domain.from_dict(fields["attributes"]),
                tuple(_questionnaire(q) for q in fields["questionnaires"]),
            )
        except KeyError as error:
            raise DesignError(f"the design has no {error.args[0]!r}") from None
        except (TypeError, AttributeError) as error:
            raise DesignError(f"the design cannot be read: {error}") from None
        stated = fields.get("fingerprint", design.fingerprint)
        if stated != design.fingerprint:
            raise DesignError(
                f"the design says its fingerprint is {str(stated)[:12]}…, its content gives "
                f"{design.fingerprint[:12]}…: it was changed after it was published"
            )
        return design


def _questionnaire(fields: Mapping[str, Any]) -> Questionnaire:
    clusters = [
        Cluster(tuple(c["attributes"]), matrix_from_dict(c["matrix"])) for c in fields["clusters"]
    ]
    return Questionnaire(tuple(clusters), fields.get("weight", 1))
