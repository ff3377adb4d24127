"""Count queries: a subset S of the domain, as a conjunction of masks over few attributes each.

A query never enumerates the whole domain: it is a tuple of terms over disjoint attributes, and a
record is in S when every term's mask says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.domain import Domain
from mdrr.errors import QueryError
from mdrr.expression import parse
from mdrr.masks import Mask, Term, cells_shape, conjunction, label_mask, position, spread

Where: TypeAlias = "Mapping[Any, Any] | str | Query"


@dataclass(frozen=True, eq=False)
class Query:
    """A subset S of a domain: the records for which all terms hold.

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain((Attribute("sex", ("F", "M")), Attribute("income", ("low", "high"))))
        >>> Query.of({"sex": ["F"], "income": ["high"]}, d).attributes
        ('sex', 'income')
        >>> Query.of("sex == 'F' or income == 'high'", d).terms[0].mask.astype(int)
        array([[1, 1],
               [0, 1]])
        >>> Query.of({("sex", "income"): [("F", "low"), ("M", "high")]}, d).terms[0].mask.sum()
        np.int64(2)
    """

    domain: Domain
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, where: Where, domain: Domain) -> Query:
        """The query written as a mapping or an expression.

        Arguments:
            where: `{attribute: [labels]}`, `{(attribute, attribute): [(label, label), …]}`, or a
                text such as `"sex == 'F' and income in ('high',)"`; a name that is not an
                identifier stands in backticks.
            domain: what can be answered.
        """
        if isinstance(where, Query):
            if where.domain != domain:
                raise QueryError("this query was made for another domain")
            return where
        if isinstance(where, str):
            return cls(domain, conjunction(domain, parse(where, domain)))
        if isinstance(where, Mapping):
            terms = [_term(key, labels, domain) for key, labels in where.items()]
            return cls(domain, conjunction(domain, terms))
        raise QueryError(
            f"a query is a mapping {{attribute: [labels]}} or a text, not {type(where).__name__}"
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes the query looks at, in the domain's order."""
        names = {name for term in self.terms for name in term.names}
        return tuple(name for name in self.domain.names if name in names)

    def mask(self, names: Sequence[str] | None = None) -> Mask:
        """The whole query as one mask over the product of some attributes (all it looks at)."""
        names = tuple(self.attributes if names is None else names)
        mask = np.ones((1,) * len(names), dtype=np.bool_)
        for term in self.terms:
            mask = mask & spread(term, names)
        return np.broadcast_to(mask, cells_shape(names, self.domain))

    def holds(self, columns: Mapping[str, npt.NDArray[Any]]) -> Mask:
        """Whether each record, given as code columns by name, is in S."""
        held = np.ones(len(next(iter(columns.values()))), dtype=np.bool_)
        for term in self.terms:
            held &= term.mask[tuple(columns[name] for name in term.names)]
        return held


def _term(key: object, labels: object, domain: Domain) -> Term:
    if isinstance(key, str):
        values = [labels] if isinstance(labels, str | int | bool) else _listed(labels, key)
        return Term((key,), label_mask(domain.attribute(key), values))
    if not isinstance(key, tuple) or not all(isinstance(name, str) for name in key):
        raise QueryError(f"a query's key is an attribute or a tuple of attributes, not {key!r}")
    if len(set(key)) < len(key):
        raise QueryError(f"a query names an attribute twice: {key}")
    mask = np.zeros(cells_shape(key, domain), dtype=np.bool_)
    for combination in _listed(labels, key):
        if not isinstance(combination, tuple | list) or len(combination) != len(key):
            raise QueryError(f"{combination!r} is not a combination of {key}")
        codes = [position(domain.attribute(n), v) for n, v in zip(key, combination, strict=True)]
        mask[tuple(codes)] = True
    names = tuple(sorted(key, key=domain.index))
    return Term(names, np.transpose(mask, [key.index(name) for name in names]))


def _listed(labels: object, key: object) -> list[Any]:
    if not isinstance(labels, list | tuple | set | frozenset):
        raise QueryError(f"the query gives {labels!r} for {key!r}; give a list of labels")
    if not labels:
        raise QueryError(f"the query gives no label for {key!r}, so it selects nobody")
    return list(labels)
