"""Masks over the product of a few attributes, and how they combine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.domain import ADD_OR_MAP, Attribute, Domain
from mdrr.errors import QueryError, SchemaError

Mask: TypeAlias = npt.NDArray[np.bool_]

MOST_CELLS = 2**24
"""The largest table that is written out, anywhere: 128 MB of numbers."""


@dataclass(frozen=True, eq=False)
class Term:
    """A mask over the product of some attributes, in the domain's order."""

    names: tuple[str, ...]
    mask: Mask


def conjunction(domain: Domain, terms: Sequence[Term]) -> tuple[Term, ...]:
    """The same conjunction with terms that share attributes merged into one."""
    merged: list[Term] = []
    for term in terms:
        while shared := [other for other in merged if set(other.names) & set(term.names)]:
            for other in shared:
                merged.remove(other)
                term = combine(domain, [other, term], all_of=True)
        merged.append(term)
    return tuple(merged)


def combine(domain: Domain, terms: Sequence[Term], *, all_of: bool) -> Term:
    """One term over the union of the attributes: all of the masks, or any of them."""
    held = {name for term in terms for name in term.names}
    names = tuple(name for name in domain.names if name in held)
    shape = cells_shape(names, domain)
    masks = [np.broadcast_to(spread(term, names), shape) for term in terms]
    reduce = np.logical_and.reduce if all_of else np.logical_or.reduce
    return Term(names, np.asarray(reduce(masks)))


def spread(term: Term, names: Sequence[str]) -> Mask:
    """A term's mask with one axis per name, of length 1 where the term does not look."""
    order = [term.names.index(name) for name in names if name in term.names]
    if len(order) < len(term.names):
        raise QueryError(f"the query looks at {term.names}, the table only at {tuple(names)}")
    sizes = iter(np.transpose(term.mask, order).shape)
    shape = tuple(next(sizes) if name in term.names else 1 for name in names)
    return np.transpose(term.mask, order).reshape(shape)


def position(attribute: Attribute, label: object) -> int:
    """The place of a label that a query names among the attribute's categories."""
    try:
        return attribute.code(label)  # type: ignore[arg-type]  # what is no label is not found
    except SchemaError as error:
        raise QueryError(str(error).removesuffix(f". {ADD_OR_MAP}")) from None


def label_mask(attribute: Attribute, labels: Sequence[object]) -> Mask:
    """The mask of some labels of one attribute."""
    mask = np.zeros(attribute.size, dtype=np.bool_)
    for label in labels:
        mask[position(attribute, label)] = True
    return mask


def cells_shape(names: Sequence[str], domain: Domain) -> tuple[int, ...]:
    """The category counts of some attributes, or an error when there are too many cells."""
    shape = tuple(domain.attribute(name).size for name in names)
    if math.prod(shape) > MOST_CELLS:
        raise QueryError(
            f"a condition over {', '.join(names)} has {math.prod(shape):,} combinations; "
            "join conditions over fewer attributes with 'and'"
        )
    return shape
