"""Readable query expressions: `sex == 'Female' and income in ('>50K',)`.

Python's own grammar, restricted to comparisons of attributes with labels, `in`, `not`, `and`,
`or` and parentheses. Nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import numpy as np

from mdrr.domain import Attribute, Domain, edge_text
from mdrr.errors import QueryError, SchemaError
from mdrr.masks import Mask, Term, combine, conjunction, label_mask, position

_QUOTED = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|`([^`]+)`""")


def parse(text: str, domain: Domain) -> list[Term]:
    """The terms of a conjunction written as an expression about a domain's attributes.

    >>> from mdrr.domain import Attribute
    >>> d = Domain((Attribute("marital-status", ("single", "married")),))
    >>> parse("`marital-status` != 'single'", d)[0].mask
    array([False,  True])
    """
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
    reader = _Reader(domain, quoted)
    nodes = [tree]
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        nodes = tree.values
    try:
        return [reader.term(node) for node in nodes]
    except RecursionError:
        raise QueryError("the query is nested too deeply; simplify it") from None


class _Reader:
    """Turns syntax nodes into terms."""

    def __init__(self, domain: Domain, quoted: Mapping[str, str]) -> None:
        self.domain = domain
        self.quoted = quoted

    def term(self, node: ast.expr) -> Term:
        if isinstance(node, ast.BoolOp):
            terms = [self.term(value) for value in node.values]
            if isinstance(node.op, ast.And):
                terms = list(conjunction(self.domain, terms))
            return combine(self.domain, terms, all_of=isinstance(node.op, ast.And))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.term(node.operand)
            return Term(inner.names, ~inner.mask)
        if isinstance(node, ast.Compare):
            return self._comparisons(node)
        if isinstance(node, ast.Name):
            attribute = self._attribute(node)
            if isinstance(attribute.categories[0], bool):
                return Term((attribute.name,), label_mask(attribute, [True]))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            raise QueryError("write 'not' instead of ~")
        if isinstance(node, ast.BinOp):
            self._refuse_operator(node)
        raise QueryError(f"{self._text(node)!r} is not a condition; write attribute == 'label'")

    def _comparisons(self, node: ast.Compare) -> Term:
        """`a == x`, and chains such as `18 <= age < 65`."""
        operands = [node.left, *node.comparators]
        terms = [
            self._comparison(left, operator, right)
            for left, operator, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return terms[0] if len(terms) == 1 else combine(self.domain, terms, all_of=True)

    def _comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Term:
        if not isinstance(left, ast.Name) and isinstance(right, ast.Name):
            left, right, operator = right, left, _mirrored(operator)
        for side in (left, right):
            if isinstance(side, ast.BinOp):
                self._refuse_operator(side)
        if not isinstance(left, ast.Name):
            raise QueryError(f"{self._text(left)!r} is not an attribute")
        attribute = self._attribute(left)
        if isinstance(operator, ast.Is | ast.IsNot):
            raise QueryError("write == instead of 'is', and != instead of 'is not'")
        if isinstance(operator, ast.In | ast.NotIn):
            mask = label_mask(attribute, self._labels(right))
        elif isinstance(operator, ast.Eq | ast.NotEq):
            mask = label_mask(attribute, [self._label(right)])
        else:
            return Term((attribute.name,), _ordered(attribute, operator, self._label(right)))
        if isinstance(operator, ast.NotIn | ast.NotEq):
            mask = ~mask
        return Term((attribute.name,), mask)

    def _attribute(self, node: ast.Name) -> Attribute:
        try:
            return self.domain.attribute(self.quoted.get(node.id, node.id))
        except SchemaError as error:
            raise QueryError(
                f"{error}. Labels stand in quotes, names with hyphens or spaces in backticks"
            ) from None

    def _refuse_operator(self, node: ast.BinOp) -> None:
        """Refuse `a & b`, and `marital-status` read as a difference, saying what to write."""
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            raise QueryError("write 'and' and 'or' between conditions instead of & and |")
        tight = self._text(node).replace(" ", "")
        if tight in self.domain.names:
            raise QueryError(f"put the name {tight!r} in backticks: `{tight}`")

    def _labels(self, node: ast.expr) -> list[object]:
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return [self._label(element) for element in node.elts]
        return [self._label(node)]  # in ('a') is in 'a'

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


def _mirrored(operator: ast.cmpop) -> ast.cmpop:
    if isinstance(operator, ast.In | ast.NotIn):
        raise QueryError("'in' needs the attribute on the left and a list of labels on the right")
    mirror = {ast.Lt: ast.Gt(), ast.Gt: ast.Lt(), ast.LtE: ast.GtE(), ast.GtE: ast.LtE()}
    return mirror.get(type(operator), operator)


def _ordered(attribute: Attribute, operator: ast.cmpop, label: object) -> Mask:
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
        at = position(attribute, label)
        if not answered[at]:
            raise QueryError(
                f"{label!r} is a missing answer of {attribute.name!r} and has no place in the "
                "order. Compare it with =="
            )
    else:
        number = isinstance(label, int | float) and not isinstance(label, bool)
        if not (isinstance(operator, ast.Lt | ast.GtE) and number and label in attribute.edges):
            edges = ", ".join(edge_text(edge) for edge in attribute.edges)
            raise QueryError(
                f"{attribute.name!r} is binned: compare it with < or >= and one of its edges: "
                + edges
            )
        at = attribute.edges.index(float(str(label)))
    positions = np.arange(attribute.size)
    compare = {
        ast.Lt: positions < at,
        ast.LtE: positions <= at,
        ast.Gt: positions > at,
        ast.GtE: positions >= at,
    }
    return answered & compare[type(operator)]
