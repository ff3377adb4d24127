"""What learning the dependences reveals about one person, in numbers and in words.

The paper waives sequential composition for section 4.3 because releases are unlinkable. That does
not hold: every record is in all m(m−1)/2 tables. So the pure ε is the sum over tables, and what
hiding the sender gives stands beside it as an (ε, δ) bound. Exact tables have no ε at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mdrr.design import Design
from mdrr.errors import ProtocolError
from mdrr.matrix import Matrix
from mdrr.privacy import pair_tables


@dataclass(frozen=True, slots=True)
class Statement:
    """The privacy of one person who took part.

    Arguments:
        epsilon: pure ε of differential privacy; ∞ when there is none.
        shuffled: (ε, δ) that holds in addition when nobody learns who sent which report, if known.
        words: the same in plain words, with what it depends on.
    """

    epsilon: float
    shuffled: tuple[float, float] | None
    words: str

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ProtocolError(f"ε={self.epsilon} is not a privacy loss")

    def __str__(self) -> str:
        return self.words

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values; ∞ is null."""
        return {
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "shuffled": None if self.shuffled is None else list(self.shuffled),
            "words": self.words,
        }


def of_attributes(design: Design, people: int) -> Statement:
    """Section 4.1: each person spends the pilot design's ε, with nobody trusted."""
    return Statement(
        design.epsilon,
        None,
        f"Every one of {people:,} people spends ε = {design.epsilon:.2f} (pure local differential "
        "privacy, nobody is trusted); it adds to what the same people spend later.",
    )


def of_opened(matrices: Sequence[Matrix], people: int, delta: float = 1e-6) -> Statement:
    """What a secure sum opened.

    Section 4.2, without matrices: the tables are exact, ε = ∞. Section 4.3: the sum of ε over all
    tables, and the (ε, δ) bound from shuffling beside it.
    """
    if not matrices:
        return Statement(
            math.inf,
            None,
            "No differential privacy (ε = ∞): the tables are exact. The secure sum hides who "
            f"answered what among {people:,} people, but the totals themselves can single somebody "
            "out: a cell that counts one person, or everybody else knowing their own answers.",
        )
    spent = pair_tables(list(matrices), people, delta)
    amplified = f"(ε, δ) = ({spent.epsilon:.2f}, {spent.delta:.0e})"
    return Statement(
        spent.pure_epsilon,
        (spent.epsilon, spent.delta),
        f"Every person spends ε = {spent.pure_epsilon:.2f}, the sum over {len(matrices)} tables, "
        f"with nobody trusted. If the secure sum hides who sent what, also {amplified} among "
        f"{people:,} people who do not collude.",
    )
