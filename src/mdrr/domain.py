"""What is asked: attributes with declared categories, and the ordered domain they make.

A domain is public and declared beforehand. Reading it off private data would leak which
categories occur, so nothing in this module looks at records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from textwrap import shorten
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
        if not isinstance(self.name, str) or not self.name.strip():
            raise SchemaError(f"an attribute needs a name, not {self.name!r}")
        if self.kind not in KINDS:
            raise SchemaError(f"{self.name!r} has kind {self.kind!r}. Known: {known(KINDS)}")
        if type(self.public) is not bool:
            raise SchemaError(f"{self.name!r}: public is true or false, not {self.public!r}")
        if self.kind == "numeric":
            self._set_bins()
        elif self.edges is not None:
            raise SchemaError(f"{self.name!r} is {self.kind} but has edges; make it 'numeric'")
        given: object = self.categories
        if isinstance(given, str):  # a sequence too, but never meant letter by letter
            raise SchemaError(
                f"the categories of {self.name!r} are one text; give a list of labels"
            )
        object.__setattr__(self, "categories", tuple(self.categories))
        self._check_categories()
        self._check_text()

    def _set_bins(self) -> None:
        edges = tuple(self.edges or ())
        if len(edges) < 3:
            raise SchemaError(f"{self.name!r} is numeric and needs at least 3 edges (2 bins)")
        if not all(isinstance(e, int | float) and math.isfinite(e) for e in edges):
            raise SchemaError(f"{self.name!r} has an edge that is not a finite number")
        if any(low >= high for low, high in pairwise(edges)):
            raise SchemaError(f"the edges of {self.name!r} must strictly increase")
        labels: tuple[Label, ...] = bin_labels(edges)
        if self.missing is not None:
            labels += (self.missing,)
        if self.categories and tuple(self.categories) != labels:
            raise SchemaError(
                f"the categories of numeric {self.name!r} are its bins: leave them out"
            )
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "categories", labels)

    def _check_categories(self) -> None:
        labels = self.categories
        if len(labels) < 2:
            raise SchemaError(
                f"{self.name!r} has {len(labels)} categories; with fewer than 2 there is nothing "
                "to ask. Declare the others or drop the attribute"
            )
        types = {type(label) for label in labels}
        if len(types) > 1 or not types <= {str, int, bool}:
            names = known(sorted(kind.__name__ for kind in types))
            raise SchemaError(
                f"the categories of {self.name!r} must all be text, all integers or all booleans; "
                f"found {names}"
            )
        if len(set(labels)) < len(labels):
            twice = next(label for i, label in enumerate(labels) if label in labels[:i])
            raise SchemaError(f"{self.name!r} lists the category {twice!r} twice")
        if any(isinstance(label, int) and abs(label) >= 2**53 for label in labels):
            raise SchemaError(f"{self.name!r} has an integer category beyond 2^53")
        if self.missing is not None and not any(_same(self.missing, label) for label in labels):
            raise SchemaError(
                f"{self.name!r} declares missing={self.missing!r}, which is not among its "
                f"categories: {known(labels)}"
            )

    def _check_text(self) -> None:
        for text in (self.name, *self.categories):
            if isinstance(text, str) and not readable(text):
                what = "its name" if text is self.name else f"the category {text!a}"
                raise SchemaError(
                    f"{self.name!a}: {what} has a control character, a line break or half a "
                    "character (a lone surrogate). Use text that can be shown on one line"
                )

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


def _same(label: Label, other: Label) -> bool:
    """Equal and of one type: 1 is not True."""
    return type(label) is type(other) and label == other


def _number(text: object) -> float:
    try:
        value = float(str(text))
    except ValueError:
        raise SchemaError(f"the edge {text!r} is not a number") from None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


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
        for i, name in enumerate(self.names):
            if name in self.names[:i]:
                raise SchemaError(f"the attribute {name!r} is declared twice")

    def __repr__(self) -> str:
        sizes = (f"{name} ({size})" for name, size in zip(self.names, self.shape, strict=True))
        return f"<Domain: {shorten(', '.join(sizes), 120, placeholder=' …')}>"

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
            return self.names.index(name)
        except ValueError:
            hint = did_you_mean(name, self.names) or "."
            raise SchemaError(
                f"the domain has no attribute {name!r}{hint} Known: {known(self.names)}"
            ) from None

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
