"""What can be answered: attributes, each one question, and the ordered domain of them all.

A domain is public and declared beforehand. Reading it off private data would leak which
categories occur, so nothing here looks at records.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from textwrap import shorten
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias, get_args

from mdrr.display import domain_html
from mdrr.errors import SchemaError, did_you_mean, is_number
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
    *inner, last = (f"[{low}, {high}" for low, high in pairwise(map(edge_text, edges)))
    return (*(f"{text})" for text in inner), f"{last}]")


def bins_in_words(edges: Sequence[float]) -> tuple[str, ...]:
    """The bins as people read them; between whole edges at least 2 apart they are whole numbers.

    >>> bins_in_words((0, 18, 65, 120))
    ('0 to 17', '18 to 64', '65 to 120')
    >>> bins_in_words((0, 0.5, 2))
    ('from 0 to under 0.5', 'from 0.5 to 2')
    """
    whole = all(float(edge).is_integer() for edge in edges)
    if whole and all(high - low >= 2 for low, high in pairwise(edges)):
        ends = (*(edge - 1 for edge in edges[1:-1]), edges[-1])
        return tuple(
            f"{edge_text(low)} to {edge_text(high)}" for low, high in zip(edges, ends, strict=False)
        )
    *inner, last = pairwise(map(edge_text, edges))
    return (*(f"from {low} to under {high}" for low, high in inner), "from {} to {}".format(*last))


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
        fields = {
            "name": self.name,
            "kind": self.kind,
            "categories": list(self.categories),
            "edges": self.edges and [edge_text(edge) for edge in self.edges],
            "missing": self.missing,
            "public": self.public or None,
        }
        return {key: value for key, value in fields.items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Attribute:
        """The attribute described by `to_dict`, validated again."""
        try:
            return cls(
                name=fields["name"],
                categories=fields.get("categories", ()),
                kind=fields.get("kind", "nominal"),
                edges=_numbers(fields.get("edges")),
                missing=fields.get("missing"),
                public=fields.get("public", False),
            )
        except KeyError as error:
            raise SchemaError(f"an attribute has no {error.args[0]!r}") from None
        except TypeError as error:
            raise SchemaError(f"an attribute cannot be read: {error}") from None


@dataclass(frozen=True)
class Domain:
    """The ordered attributes of a survey: everything that can be answered.

    Example:
        >>> d = Domain((Attribute("smokes", ("no", "yes")), Attribute("sex", ("F", "M"))))
        >>> d.shape, d.size, d.names
        ((2, 2), 4, ('smokes', 'sex'))
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes:
            raise SchemaError("a domain needs at least one attribute")
        for attribute in self.attributes:
            if not isinstance(attribute, Attribute):
                raise SchemaError(f"a domain is made of Attributes, not {type(attribute).__name__}")
        for name, times in Counter(self.names).items():
            if times > 1:
                raise SchemaError(f"the attribute {name!r} is declared twice")

    def __repr__(self) -> str:
        sizes = (f"{name} ({size})" for name, size in zip(self.names, self.shape, strict=True))
        return f"<Domain: {shorten(', '.join(sizes), 120, placeholder=' …')}>"

    def _repr_html_(self) -> str:
        return domain_html(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Category counts, in order."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def public(self) -> tuple[str, ...]:
        """The attributes that are reported as they are, outside ε."""
        return tuple(attribute.name for attribute in self.attributes if attribute.public)

    @cached_property
    def private(self) -> tuple[str, ...]:
        """The attributes that are randomized."""
        return tuple(attribute.name for attribute in self.attributes if not attribute.public)

    @property
    def size(self) -> int:
        """The number of combinations of categories (exact, however large)."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return len(self.attributes)

    def index(self, name: str) -> int:
        """The position of an attribute."""
        try:
            return self._places[name]
        except (KeyError, TypeError):
            hint = did_you_mean(name, self.names) or "."
            raise SchemaError(
                f"the domain has no attribute {name!r}{hint} Known: {known(self.names)}"
            ) from None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name."""
        return self.attributes[self.index(name)]

    def project(self, names: Iterable[str]) -> Domain:
        """The domain of some attributes, in the order given."""
        return Domain(tuple(self.attribute(name) for name in names))

    def to_dict(self) -> list[dict[str, Any]]:
        """The attributes as JSON-ready values."""
        return [attribute.to_dict() for attribute in self.attributes]

    @classmethod
    def from_dict(cls, attributes: Iterable[Mapping[str, Any]]) -> Domain:
        """The domain described by `to_dict`, validated again."""
        return cls(tuple(Attribute.from_dict(fields) for fields in attributes))


def attribute_faults(fields: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with the fields of an attribute; its lists are lists.

    >>> attribute_faults({"name": "a", "public": 1, "categories": ["x", "x"]})
    ["'a': public is true or false, not 1", "'a' lists the category 'x' twice"]
    """
    given = {"categories": (), "kind": "nominal", "missing": None, "public": False, "name": "?"}
    raw = SimpleNamespace(**{**given, **fields, "edges": _numbers(fields.get("edges"))})
    return ([] if "name" in fields else ["an attribute has no 'name'"]) + list(_faults(raw))


def _numbers(edges: Iterable[object] | None) -> tuple[Any, ...] | None:
    """Edges as numbers, whole ones as integers; what is none stays as it is."""

    def number(edge: object) -> object:
        try:
            value = float(str(edge))
        except ValueError:
            return edge
        return int(value) if value.is_integer() and abs(value) < 2**53 else value

    return None if edges is None else tuple(map(number, edges))


def _faults(a: Any) -> Iterator[str]:
    """Everything that is wrong with what is to be an attribute, the first first."""
    if not isinstance(a.name, str) or not a.name.strip():
        yield f"an attribute needs a name, not {a.name!r}"
    elif not readable(a.name):
        yield _unreadable(a.name, "its name")
    if a.kind not in KINDS:
        yield f"{a.name!r} has kind {a.kind!r}. Known: {known(KINDS)}"
    if type(a.public) is not bool:
        yield f"{a.name!r}: public is true or false, not {a.public!r}"
    if isinstance(a.categories, str):  # a sequence too, but never meant letter by letter
        yield f"the categories of {a.name!r} are one text; give a list of labels"
        return
    labels, edges = tuple(a.categories), tuple(a.edges or ())
    bad = [edge for edge in edges if isinstance(edge, bool) or not is_number(edge)]
    wrong = [f"the edge {edge!r} of {a.name!r} is not a finite number" for edge in bad]
    if a.kind == "numeric":
        if len(edges) < 3:
            wrong.append(f"{a.name!r} is numeric and needs at least 3 edges (2 bins)")
        elif not wrong and any(low >= high for low, high in pairwise(edges)):
            wrong.append(f"the edges of {a.name!r} must strictly increase")
    yield from wrong
    if wrong:
        return
    if a.kind == "numeric":
        bins = _bins(a.edges, a.missing)
        if labels and labels != bins:
            yield f"the categories of numeric {a.name!r} are its bins: leave them out"
        labels = bins
    elif a.edges is not None and a.kind in KINDS:
        yield f"{a.name!r} is {a.kind} but has edges; make it 'numeric'"
    yield from _category_faults(a.name, labels, a.missing)


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
