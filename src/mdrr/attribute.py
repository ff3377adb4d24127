"""An attribute: one question, the answers it allows, and everything that can be wrong with it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias, get_args

from mdrr.errors import SchemaError, did_you_mean
from mdrr.respondent import readable

Label: TypeAlias = str | int | bool
Kind: TypeAlias = Literal["nominal", "ordinal", "numeric"]

ADD_OR_MAP = "Add it to the survey file or map it first"
"""What to do about a true answer that is no category."""

KINDS: tuple[str, ...] = get_args(Kind)


def known(labels: Iterable[object], limit: int = 6) -> str:
    """The first few labels, quoted, for an error message.

    >>> known(["a", "b", 3], limit=2)
    "'a', 'b', … (3 in all)"
    """
    listed = list(labels)
    text = ", ".join(repr(label) for label in listed[:limit])
    return text if len(listed) <= limit else f"{text}, … ({len(listed)} in all)"


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """The labels of the bins between consecutive edges; the last bin is closed.

    >>> bin_labels((17, 25, 40.5))
    ('[17, 25)', '[25, 40.5]')
    """
    texts = [edge_text(edge) for edge in edges]
    last = len(edges) - 2
    return tuple(f"[{texts[i]}, {texts[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def bins_in_words(edges: Sequence[float]) -> tuple[str, ...]:
    """The bins as people read them; between whole edges at least 2 apart they are whole numbers.

    >>> bins_in_words((0, 18, 65, 120))
    ('0 to 17', '18 to 64', '65 to 120')
    >>> bins_in_words((0, 0.5, 2))
    ('from 0 to under 0.5', 'from 0.5 to 2')
    """
    last = len(edges) - 2
    if all(float(edge).is_integer() for edge in edges) and all(
        high - low >= 2 for low, high in pairwise(edges)
    ):
        ends = [high if i == last else high - 1 for i, high in enumerate(edges[1:])]
        return tuple(
            f"{edge_text(a)} to {edge_text(b)}" for a, b in zip(edges[:-1], ends, strict=True)
        )
    return tuple(
        f"from {edge_text(low)} to {'' if i == last else 'under '}{edge_text(high)}"
        for i, (low, high) in enumerate(pairwise(edges))
    )


def edge_text(edge: float) -> str:
    """An edge as the shortest decimal that reads back the same; integers without a point."""
    return str(int(edge)) if float(edge).is_integer() and abs(edge) < 2**53 else repr(float(edge))


@dataclass(frozen=True, slots=True)
class Attribute:
    """One question: a name, a kind, and the answers it allows.

    Arguments:
        name: column name; not empty, unique within a domain.
        categories: the allowed labels, all of one type (text, integer or boolean), at least two.
            Left empty for a `numeric` attribute, whose labels are its bins.
        kind: `nominal` (no order), `ordinal` (categories in order), or `numeric` (binned by edges).
        edges: bin edges of a `numeric` attribute, strictly increasing.
        missing: the category that stands for an absent answer, if there is one.
        public: whether the answer is no secret. It is then reported as it is, and no ε covers it.

    Example:
        >>> Attribute("smokes", ("no", "yes")).size
        2
        >>> Attribute("age", kind="numeric", edges=(0, 18, 65, 120)).categories
        ('[0, 18)', '[18, 65)', '[65, 120]')
    """

    name: str
    categories: tuple[Label, ...] = ()
    kind: Kind = "nominal"
    edges: tuple[float, ...] | None = None
    missing: Label | None = None
    public: bool = False

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise SchemaError(fault)
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(self.edges))
            object.__setattr__(self, "categories", _bins(self.edges, self.missing))
        object.__setattr__(self, "categories", tuple(self.categories))

    @property
    def size(self) -> int:
        """How many categories there are (the paper's |A|)."""
        return len(self.categories)

    @property
    def is_ordered(self) -> bool:
        """Whether |Pearson r| applies: ordinal or numeric, with no category for missing answers."""
        return self.kind != "nominal" and self.missing is None

    @property
    def scores(self) -> tuple[float, ...]:
        """The number each category stands for: bin midpoints, or ranks."""
        if self.edges is None:
            return tuple(float(i) for i in range(self.size))
        return tuple((low + high) / 2 for low, high in pairwise(self.edges))

    def code(self, label: Label) -> int:
        """The position of a label among the categories.

        >>> Attribute("sex", ("Female", "Male")).code("Male")
        1
        """
        for i, category in enumerate(self.categories):
            if _same(category, label):
                return i
        raise self.no_category(label)

    def no_category(self, label: object, row: int | None = None) -> SchemaError:
        """The error for a label that is not among the categories."""
        hint = did_you_mean(label, self.categories) or "."
        return SchemaError(
            f"{self.name!r} has no category {label!r}{hint} Known: {known(self.categories)}. "
            + ADD_OR_MAP,
            row,
        )

    def to_dict(self) -> dict[str, Any]:
        """The attribute as JSON-ready values; edges are decimal texts, so no float is compared."""
        fields: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "categories": list(self.categories),
        }
        if self.edges is not None:
            fields["edges"] = [edge_text(edge) for edge in self.edges]
        if self.missing is not None:
            fields["missing"] = self.missing
        if self.public:
            fields["public"] = True
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Attribute:
        """The attribute described by `to_dict`, validated again."""
        try:
            edges = fields.get("edges")
            return cls(
                name=fields["name"],
                categories=tuple(fields.get("categories", ())),
                kind=fields.get("kind", "nominal"),
                edges=None if edges is None else tuple(_number(edge) for edge in edges),
                missing=fields.get("missing"),
                public=fields.get("public", False),
            )
        except KeyError as error:
            raise SchemaError(f"an attribute has no {error.args[0]!r}") from None
        except TypeError as error:
            raise SchemaError(f"an attribute cannot be read: {error}") from None


def attribute_faults(fields: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with the fields of an attribute; its lists are lists.

    >>> attribute_faults({"name": "a", "public": 1, "categories": ["x", "x"]})
    ["'a': public is true or false, not 1", "'a' lists the category 'x' twice"]
    """
    given = {"categories": (), "kind": "nominal", "edges": None, "missing": None, "public": False}
    raw = SimpleNamespace(**{**given, "name": "?", **fields})
    found = [] if "name" in fields else ["an attribute has no 'name'"]
    if raw.edges is not None:
        bad = [edge for edge in raw.edges if not _is_number(edge)]
        found += [f"the edge {edge!r} is not a number" for edge in bad]
        if bad:
            return found + list(_head_faults(raw))
        raw.edges = tuple(map(_number, raw.edges))
    return found + list(_faults(raw))


def _faults(a: Any) -> Iterator[str]:
    """Everything that is wrong with what is to be an attribute, the first first."""
    yield from _head_faults(a)
    if isinstance(a.categories, str):  # a sequence too, but never meant letter by letter
        yield f"the categories of {a.name!r} are one text; give a list of labels"
        return
    labels = tuple(a.categories)
    if a.kind == "numeric":
        wrong = list(_edge_faults(a.name, tuple(a.edges or ())))
        yield from wrong
        if wrong:
            return
        bins = _bins(a.edges, a.missing)
        if labels and labels != bins:
            yield f"the categories of numeric {a.name!r} are its bins: leave them out"
        labels = bins
    elif a.edges is not None and a.kind in KINDS:
        yield f"{a.name!r} is {a.kind} but has edges; make it 'numeric'"
    yield from _category_faults(a.name, labels, a.missing)


def _head_faults(a: Any) -> Iterator[str]:
    if not isinstance(a.name, str) or not a.name.strip():
        yield f"an attribute needs a name, not {a.name!r}"
    elif not readable(a.name):
        yield _unreadable(a.name, "its name")
    if a.kind not in KINDS:
        yield f"{a.name!r} has kind {a.kind!r}. Known: {known(KINDS)}"
    if type(a.public) is not bool:
        yield f"{a.name!r}: public is true or false, not {a.public!r}"


def _edge_faults(name: str, edges: tuple[float, ...]) -> Iterator[str]:
    if len(edges) < 3:
        yield f"{name!r} is numeric and needs at least 3 edges (2 bins)"
    if not all(isinstance(e, int | float) and math.isfinite(e) for e in edges):
        yield f"{name!r} has an edge that is not a finite number"
    elif any(low >= high for low, high in pairwise(edges)):
        yield f"the edges of {name!r} must strictly increase"


def _bins(edges: Sequence[float], missing: Label | None) -> tuple[Label, ...]:
    labels: tuple[Label, ...] = bin_labels(edges)
    return labels if missing is None else (*labels, missing)


def _category_faults(name: str, labels: tuple[Any, ...], missing: object) -> Iterator[str]:
    if len(labels) < 2:
        yield (
            f"{name!r} has {len(labels)} categories; with fewer than 2 there is nothing "
            "to ask. Declare the others or drop the attribute"
        )
    types = {type(label) for label in labels}
    if len(types) > 1 or not types <= {str, int, bool}:
        names = known(sorted(kind.__name__ for kind in types))
        yield (
            f"the categories of {name!r} must all be text, all integers or all booleans; "
            f"found {names}"
        )
        return
    for label, times in Counter(labels).items():
        if times > 1:
            yield f"{name!r} lists the category {label!r} twice"
    if any(isinstance(label, int) and abs(label) >= 2**53 for label in labels):
        yield f"{name!r} has an integer category beyond 2^53"
    for label in labels:
        if isinstance(label, str) and not readable(label):
            yield _unreadable(name, f"the category {label!a}")
    if missing is not None and not any(_same(missing, label) for label in labels):
        yield (
            f"{name!r} declares missing={missing!r}, which is not among its "
            f"categories: {known(labels)}"
        )


def _unreadable(name: str, what: str) -> str:
    return (
        f"{name!a}: {what} has a control character, a line break or half a "
        "character (a lone surrogate). Use text that can be shown on one line"
    )


def _same(label: object, other: object) -> bool:
    """Equal and of one type: 1 is not True."""
    return type(label) is type(other) and label == other


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _number(text: object) -> float:
    if not _is_number(text):
        raise SchemaError(f"the edge {text!r} is not a number")
    value = float(str(text))
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
