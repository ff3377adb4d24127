"""Count queries: a subset S of the domain, as a conjunction of masks over few attributes each.

A query never enumerates the whole domain: it is a tuple of terms over disjoint attributes, and a
record is in S when every term's mask says so. Expressions such as
`sex == 'Female' and income in ('>50K',)` are Python's own grammar, restricted to comparisons of
attributes with labels, `in`, `not`, `and`, `or` and parentheses. Nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.domain import ADD_OR_MAP, Attribute, Domain, edge_text
from mdrr.errors import QueryError, SchemaError

Mask: TypeAlias = npt.NDArray[np.bool_]
Where: TypeAlias = "Mapping[Any, Any] | str | Query"

MOST_CELLS = 2**24
"""The largest table that is written out, anywhere: 128 MB of numbers."""

_QUOTED = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|`([^`]+)`""")
_MIRRORED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_ORDERED = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}


@dataclass(frozen=True, eq=False)
class Term:
    """A mask over the product of some attributes, in the domain's order."""

    names: tuple[str, ...]
    mask: Mask

    def spread(self, names: Sequence[str]) -> Mask:
        """The mask with one axis per name, of length 1 where the term does not look."""
        order = [self.names.index(name) for name in names if name in self.names]
        if len(order) < len(self.names):
            raise QueryError(f"the query looks at {self.names}, the table only at {tuple(names)}")
        others = [at for at, name in enumerate(names) if name not in self.names]
        return np.expand_dims(np.transpose(self.mask, order), others)


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
            return cls(domain, _parsed(where, domain))
        if isinstance(where, Mapping):
            terms = [_listed_term(key, labels, domain) for key, labels in where.items()]
            return cls(domain, _conjunction(domain, terms))
        raise QueryError(
            f"a query is a mapping {{attribute: [labels]}} or a text, not {type(where).__name__}"
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes the query looks at, in the domain's order."""
        return _looked_at(self.domain, self.terms)

    def mask(self, names: Sequence[str] | None = None) -> Mask:
        """The whole query as one mask over the product of some attributes (all it looks at)."""
        names = tuple(self.attributes if names is None else names)
        mask = np.ones((1,) * len(names), dtype=np.bool_)
        for term in self.terms:
            mask = mask & term.spread(names)
        return np.broadcast_to(mask, cells_shape(names, self.domain))

    def holds(self, columns: Mapping[str, npt.NDArray[Any]]) -> Mask:
        """Whether each record, given as code columns by name, is in S."""
        held = np.ones(len(next(iter(columns.values()))), dtype=np.bool_)
        for term in self.terms:
            held &= term.mask[tuple(columns[name] for name in term.names)]
        return held


def cells_shape(names: Sequence[str], domain: Domain) -> tuple[int, ...]:
    """The category counts of some attributes, or an error when there are too many cells."""
    shape = tuple(domain.attribute(name).size for name in names)
    if math.prod(shape) > MOST_CELLS:
        raise QueryError(
            f"a condition over {', '.join(names)} has {math.prod(shape):,} combinations; "
            "join conditions over fewer attributes with 'and'"
        )
    return shape


def _looked_at(domain: Domain, terms: Sequence[Term]) -> tuple[str, ...]:
    held = {name for term in terms for name in term.names}
    return tuple(name for name in domain.names if name in held)


def _conjunction(domain: Domain, terms: Iterable[Term]) -> tuple[Term, ...]:
    """The same conjunction with terms that share attributes merged into one."""
    merged: list[Term] = []
    for term in terms:
        shared = [other for other in merged if set(other.names) & set(term.names)]
        merged = [other for other in merged if other not in shared]
        merged.append(_combined(domain, [*shared, term]) if shared else term)
    return tuple(merged)


def _combined(domain: Domain, terms: Sequence[Term], how: np.ufunc = np.logical_and) -> Term:
    """One term over the union of the attributes: all of the masks, or any of them."""
    names = _looked_at(domain, terms)
    shape = cells_shape(names, domain)
    return Term(names, how.reduce([np.broadcast_to(term.spread(names), shape) for term in terms]))


def _place(attribute: Attribute, label: object) -> int:
    """The place of a label that a query names among the attribute's categories."""
    try:
        return attribute.code(label)  # type: ignore[arg-type]  # what is no label is not found
    except SchemaError as error:
        raise QueryError(str(error).removesuffix(f". {ADD_OR_MAP}")) from None


def _label_mask(attribute: Attribute, labels: Iterable[object]) -> Mask:
    mask = np.zeros(attribute.size, dtype=np.bool_)
    for label in labels:
        mask[_place(attribute, label)] = True
    return mask


def _listed_term(key: object, labels: object, domain: Domain) -> Term:
    """The term of one entry of a mapping."""
    if isinstance(key, str):
        values = [labels] if isinstance(labels, str | int | bool) else _listed(labels, key)
        return Term((key,), _label_mask(domain.attribute(key), values))
    if not isinstance(key, tuple) or not all(isinstance(name, str) for name in key):
        raise QueryError(f"a query's key is an attribute or a tuple of attributes, not {key!r}")
    if len(set(key)) < len(key):
        raise QueryError(f"a query names an attribute twice: {key}")
    mask = np.zeros(cells_shape(key, domain), dtype=np.bool_)
    for combination in _listed(labels, key):
        if not isinstance(combination, tuple | list) or len(combination) != len(key):
            raise QueryError(f"{combination!r} is not a combination of {key}")
        codes = [_place(domain.attribute(n), v) for n, v in zip(key, combination, strict=True)]
        mask[tuple(codes)] = True
    names = tuple(sorted(key, key=domain.index))
    return Term(names, np.transpose(mask, [key.index(name) for name in names]))


def _listed(labels: object, key: object) -> list[Any]:
    if not isinstance(labels, list | tuple | set | frozenset):
        raise QueryError(f"the query gives {labels!r} for {key!r}; give a list of labels")
    if not labels:
        raise QueryError(f"the query gives no label for {key!r}, so it selects nobody")
    return list(labels)


def _parsed(text: str, domain: Domain) -> tuple[Term, ...]:
    """The terms of an expression about a domain's attributes."""
    quoted: dict[str, str] = {}
    prefix = "_q"
    while prefix in text:  # an attribute may be called so
        prefix += "q"

    def plain(match: re.Match[str]) -> str:
        if match.group(1) is not None:
            return match.group(1)
        quoted[placeholder := f"{prefix}{len(quoted)}_"] = match.group(2)
        return placeholder

    try:
        tree = ast.parse(_QUOTED.sub(plain, text).strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        at = 0 if quoted else getattr(error, "offset", 0)  # backticks shift what follows them
        where = f" near column {at}" if at else ""
        raise QueryError(
            f"the query {text!r} cannot be read{where}. Write for example \"sex == 'Female' and "
            "income in ('>50K',)\": 'and', 'or', 'not' in lower case, == for equality, != for "
            "its opposite; put names with hyphens or spaces in backticks"
        ) from None
    try:
        return _Reader(domain, quoted).terms(tree)
    except RecursionError:
        raise QueryError("the query is nested too deeply; simplify it") from None


@dataclass(frozen=True)
class _Reader:
    """Turns syntax nodes into terms."""

    domain: Domain
    quoted: Mapping[str, str]  # what stands in backticks, by the identifier put in its place

    def terms(self, node: ast.expr) -> tuple[Term, ...]:
        """The conjunction that a condition is."""
        if isinstance(node, ast.BoolOp):
            parts = [self.terms(value) for value in node.values]
            if isinstance(node.op, ast.And):
                return _conjunction(self.domain, chain(*parts))
            alone = [_combined(self.domain, part) for part in parts]
            return (_combined(self.domain, alone, np.logical_or),)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = _combined(self.domain, self.terms(node.operand))
            return (Term(inner.names, ~inner.mask),)
        if isinstance(node, ast.Compare):  # `a == x`, and chains such as `18 <= age < 65`
            sides = [node.left, *node.comparators]
            links = zip(sides, node.ops, node.comparators, strict=False)
            return _conjunction(self.domain, [self._comparison(*link) for link in links])
        if isinstance(node, ast.Name):
            attribute = self._attribute(node)
            if isinstance(attribute.categories[0], bool):
                return (Term((attribute.name,), _label_mask(attribute, [True])),)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            raise QueryError("write 'not' instead of ~")
        self._refuse_operator(node)
        raise QueryError(f"{self._text(node)!r} is not a condition; write attribute == 'label'")

    def _comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Term:
        kind = type(operator)
        if not isinstance(left, ast.Name) and isinstance(right, ast.Name):
            if kind in (ast.In, ast.NotIn):
                raise QueryError(
                    "'in' needs the attribute on the left and a list of labels on the right"
                )
            left, right, kind = right, left, _MIRRORED.get(kind, kind)
        self._refuse_operator(left)
        self._refuse_operator(right)
        if not isinstance(left, ast.Name):
            raise QueryError(f"{self._text(left)!r} is not an attribute")
        attribute = self._attribute(left)
        if kind in (ast.Is, ast.IsNot):
            raise QueryError("write == instead of 'is', and != instead of 'is not'")
        if kind in _ORDERED:
            return Term((attribute.name,), _ordered_mask(attribute, kind, self._label(right)))
        labels = [right]
        if kind in (ast.In, ast.NotIn) and isinstance(right, ast.Tuple | ast.List | ast.Set):
            labels = right.elts  # in ('a') is in 'a'
        mask = _label_mask(attribute, map(self._label, labels))
        return Term((attribute.name,), ~mask if kind in (ast.NotIn, ast.NotEq) else mask)

    def _attribute(self, node: ast.Name) -> Attribute:
        try:
            return self.domain.attribute(self.quoted.get(node.id, node.id))
        except SchemaError as error:
            raise QueryError(
                f"{error}. Labels stand in quotes, names with hyphens or spaces in backticks"
            ) from None

    def _refuse_operator(self, node: ast.expr) -> None:
        """Refuse `a & b`, and `marital-status` read as a difference, saying what to write."""
        if not isinstance(node, ast.BinOp):
            return
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            raise QueryError("write 'and' and 'or' between conditions instead of & and |")
        tight = self._text(node).replace(" ", "")
        if tight in self.domain.names:
            raise QueryError(f"put the name {tight!r} in backticks: `{tight}`")

    def _label(self, node: ast.expr) -> object:
        if isinstance(node, ast.Name):
            if node.id.lower() in ("true", "false"):
                return node.id.lower() == "true"
            if self.quoted.get(node.id, node.id) in self.domain.names:
                raise QueryError(
                    f"{self._text(node)} is an attribute, and an attribute is compared with labels"
                )
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            text = self._text(node)
            if isinstance(node, ast.Name):
                raise QueryError(f"put the label {text} in quotes: {text!r}") from None
            raise QueryError(f"{text!r} is not a label; put labels in quotes") from None

    def _text(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        for placeholder, name in self.quoted.items():
            text = text.replace(placeholder, f"`{name}`")
        return text


def _ordered_mask(attribute: Attribute, kind: type[ast.cmpop], label: object) -> Mask:
    """<, <=, >, >= on an ordinal attribute's labels or a numeric one's edges.

    A missing answer is neither below nor above any other.
    """
    if attribute.kind == "nominal":
        raise QueryError(
            f"{attribute.name!r} is nominal: its categories have no order. Compare it with == or in"
        )
    answered = np.ones(attribute.size, dtype=np.bool_)
    if attribute.missing is not None:
        answered[attribute.code(attribute.missing)] = False
    if attribute.edges is None:
        at = _place(attribute, label)
        if not answered[at]:
            raise QueryError(
                f"{label!r} is a missing answer of {attribute.name!r} and has no place in the "
                "order. Compare it with =="
            )
    else:
        number = isinstance(label, int | float) and not isinstance(label, bool)
        if not (kind in (ast.Lt, ast.GtE) and number and label in attribute.edges):
            edges = ", ".join(edge_text(edge) for edge in attribute.edges)
            raise QueryError(
                f"{attribute.name!r} is binned: compare it with < or >= and one of its edges: "
                + edges
            )
        at = attribute.edges.index(float(str(label)))
    return np.asarray(answered & _ORDERED[kind](np.arange(attribute.size), at))
