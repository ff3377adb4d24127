"""The ordered domain of a survey: everything that can be answered.

A domain is public and declared beforehand. Reading it off private data would leak which
categories occur, so nothing here looks at records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import shorten
from typing import Any

from mdrr.attribute import ADD_OR_MAP as ADD_OR_MAP
from mdrr.attribute import Attribute as Attribute
from mdrr.attribute import Label as Label
from mdrr.attribute import bin_labels as bin_labels
from mdrr.attribute import edge_text as edge_text
from mdrr.attribute import known as known
from mdrr.display import domain_html
from mdrr.errors import SchemaError, did_you_mean


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
