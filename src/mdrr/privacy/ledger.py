"""A person's ledger: everything she has released, and what it adds up to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mdrr.design import Design
from mdrr.errors import MdrrError
from mdrr.matrix.protocol import add_up
from mdrr.privacy.fields import json_fields


@dataclass(frozen=True, slots=True)
class Entry:
    """One release.

    Arguments:
        name: what it was, in words.
        epsilon: what it spent; ∞ for an exact release.
        delta: the probability with which its ε may fail; 0 for randomized response as such.
        fingerprint: of the design, or empty when there was none.
    """

    name: str
    epsilon: float
    delta: float = 0.0
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise MdrrError(f"{self.name!r} has ε={self.epsilon}; it must be 0 or more")
        if not 0 <= self.delta <= 1:
            raise MdrrError(f"{self.name!r} has δ={self.delta}, which is not a probability")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A sequence of releases by one person; sequential composition adds their ε and δ.

    Every `add` is one fresh report: answering the same design twice costs twice. Sending the very
    same report again costs nothing and is not added. Adding returns a new ledger.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> design = independent(Domain((Attribute("smokes", ("no", "yes")),)), epsilon=1.0)
        >>> ledger = Ledger().add(design, name="spring").add(design, name="autumn")
        >>> len(ledger.entries), round(ledger.epsilon, 3)
        (2, 2.0)
        >>> ledger.add_exact("exact tables by secure sum").epsilon
        inf
    """

    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(self.entries))

    @property
    def epsilon(self) -> float:
        """Σε over the entries, rounded up."""
        return add_up([entry.epsilon for entry in self.entries])

    @property
    def delta(self) -> float:
        """Σδ over the entries, at most 1."""
        return min(math.fsum(entry.delta for entry in self.entries), 1.0)

    def add(self, design: Design, *, name: str = "", questionnaire: int | None = None) -> Ledger:
        """The ledger after one report under a design.

        Arguments:
            design: what she answered.
            name: what to call it; the start of its fingerprint when empty.
            questionnaire: the position of the one she was given. It was drawn whatever her
                answers are, so her report costs that questionnaire's ε; without it, the largest.
        """
        epsilon = design.epsilon
        if questionnaire is not None:
            if not 0 <= questionnaire < len(design.questionnaires):
                raise MdrrError(
                    f"questionnaire {questionnaire} does not exist; the design has "
                    f"{len(design.questionnaires)}, counted from 0"
                )
            epsilon = design.questionnaires[questionnaire].epsilon
        entry = Entry(name or design.fingerprint[:12], epsilon, 0.0, design.fingerprint)
        return Ledger((*self.entries, entry))

    def add_release(self, name: str, epsilon: float, delta: float = 0.0) -> Ledger:
        """The ledger after any other release whose (ε, δ) is known, a shuffled one for example."""
        return Ledger((*self.entries, Entry(name, epsilon, delta)))

    def add_exact(self, name: str) -> Ledger:
        """The ledger after her record was counted in exact tables: no ε bounds that, so ∞."""
        return Ledger((*self.entries, Entry(name, math.inf)))

    def left(self, budget: float) -> float:
        """What remains of a budget, 0 when it is used up.

        >>> Ledger().add_release("a poll", 1.5).left(2.0)
        0.5
        """
        return max(budget - self.epsilon, 0.0)

    def table(self) -> tuple[dict[str, Any], ...]:
        """One row per entry, with the ε spent so far.

        >>> Ledger().add_release("a poll", 1.5).add_release("another", 0.5).table()[1]
        {'name': 'another', 'fingerprint': '', 'epsilon': 0.5, 'delta': 0.0, 'so_far': 2.0}
        """
        spent = [entry.epsilon for entry in self.entries]
        return tuple(
            {
                "name": entry.name,
                "fingerprint": entry.fingerprint,
                "epsilon": entry.epsilon,
                "delta": entry.delta,
                "so_far": add_up(spent[: i + 1]),
            }
            for i, entry in enumerate(self.entries)
        )

    def to_dict(self) -> dict[str, Any]:
        """The entries and their sums; JSON has no ∞, so an infinite ε is written as null."""
        sums = {"entries": self.entries, "epsilon": self.epsilon, "delta": self.delta}
        fields: dict[str, Any] = json_fields(sums)
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Ledger:
        """The ledger written by `to_dict`, validated again; the sums are computed anew."""
        try:
            return cls(
                tuple(
                    Entry(
                        str(e["name"]),
                        math.inf if e["epsilon"] is None else float(e["epsilon"]),
                        float(e.get("delta", 0.0)),
                        str(e.get("fingerprint", "")),
                    )
                    for e in fields["entries"]
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, MdrrError):
                raise
            raise MdrrError(f"the ledger cannot be read: {error!r}") from None
