"""Several (ε, δ) releases about the same people, put together: a ledger, and two theorems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mdrr.design import Design
from mdrr.errors import MdrrError
from mdrr.matrix import Matrix
from mdrr.matrix.protocol import add_up
from mdrr.privacy.fields import json_fields
from mdrr.privacy.shuffle import shuffled


@dataclass(frozen=True, slots=True)
class Entry:
    """One release of `name`; ε is ∞ for an exact one, δ 0 for randomized response as such."""

    name: str
    epsilon: float
    delta: float = 0.0
    fingerprint: str = ""  # of the design, if there was one

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
        """The ledger after one report under a design, named by its fingerprint by default.

        `questionnaire` is the position of the one she was given. It was drawn whatever her answers
        are, so her report costs that questionnaire's ε; without it, the largest.
        """
        epsilon, asked = design.epsilon, design.questionnaires
        if questionnaire is not None:
            if not 0 <= questionnaire < len(asked):
                raise MdrrError(
                    f"questionnaire {questionnaire} does not exist; the design has {len(asked)}, "
                    "counted from 0"
                )
            epsilon = asked[questionnaire].epsilon
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
        {'name': 'another', 'epsilon': 0.5, 'delta': 0.0, 'fingerprint': '', 'so_far': 2.0}
        """
        return tuple(
            {**asdict(entry), "so_far": Ledger(self.entries[: i + 1]).epsilon}
            for i, entry in enumerate(self.entries)
        )

    def to_dict(self) -> dict[str, Any]:
        """The entries and their sums; JSON has no ∞, so an infinite ε is written as null."""
        return json_fields({"entries": self.entries, "epsilon": self.epsilon, "delta": self.delta})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Ledger:
        """The ledger written by `to_dict`, validated again; the sums are computed anew."""
        try:
            rows = [
                (
                    str(row["name"]),
                    math.inf if row["epsilon"] is None else float(row["epsilon"]),
                    float(row.get("delta", 0.0)),
                    str(row.get("fingerprint", "")),
                )
                for row in fields["entries"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise MdrrError(f"the ledger cannot be read: {error!r}") from None
        return cls(tuple(Entry(*row) for row in rows))


@dataclass(frozen=True, slots=True)
class Composed:
    """What several releases cost together, by two theorems; both hold, so take the better.

    `basic`: (Σε, Σδ). `advanced`: (`advanced_epsilon`, Σδ + slack).
    """

    basic_epsilon: float
    basic_delta: float
    advanced_epsilon: float
    advanced_delta: float

    to_dict = json_fields


def compose(guarantees: Iterable[tuple[float, float]], *, slack: float = 1e-9) -> Composed:
    """Basic and advanced composition of releases that are each (εᵢ, δᵢ)-DP.

    Advanced (Kairouz, Oh and Viswanath 2015, Theorem 3.5): for any slack > 0 the whole is
    (min(Σε, Σ ε·(e^ε−1)/(e^ε+1) + √(2·ln(1/slack)·Σε²)), Σδ + slack)-DP.

    Example:
        >>> whole = compose([(0.1, 1e-8)] * 100, slack=1e-6)
        >>> round(whole.basic_epsilon, 6), round(whole.advanced_epsilon, 2)
        (10.0, 5.76)
    """
    pairs = [(float(epsilon), float(delta)) for epsilon, delta in guarantees]
    for epsilon, delta in pairs:
        if not epsilon >= 0 or not 0 <= delta <= 1:
            raise MdrrError(f"({epsilon}, {delta}) is not a guarantee: ε ≥ 0 and 0 ≤ δ ≤ 1")
    if not 0 < slack < 1:
        raise MdrrError(f"slack={slack} must lie strictly between 0 and 1")
    epsilons = [epsilon for epsilon, _ in pairs]
    basic = add_up(epsilons)
    delta = min(math.fsum(delta for _, delta in pairs), 1.0)
    if math.isinf(basic):
        return Composed(basic, delta, basic, min(delta + slack, 1.0))
    drift = math.fsum(epsilon * math.tanh(epsilon / 2) for epsilon in epsilons)
    spread = math.sqrt(2 * math.log(1 / slack) * math.fsum(e * e for e in epsilons))
    return Composed(basic, delta, min(basic, drift + spread), min(delta + slack, 1.0))


@dataclass(frozen=True, slots=True)
class PairTables:
    """What a person spends when many tables hold her, each of randomized and unlinkable reports.

    `pure_epsilon` needs no shuffling and no δ: the sum of all. `epsilon` holds with `delta` when
    the sender of each report is hidden, and is the smaller of basic and advanced.
    """

    tables: int
    n: int
    pure_epsilon: float
    basic_epsilon: float
    advanced_epsilon: float
    epsilon: float
    delta: float

    to_dict = json_fields


def pair_tables(reports: Sequence[float | Matrix], n: int, delta: float) -> PairTables:
    """Randomized response on each pair of attributes, tallied by secure sum (section 4.3).

    Every record is in all m(m−1)/2 tables, so their ε add up: unlinkability does not turn
    sequential into parallel composition. What it does give is amplification: a secure sum shows
    only the multiset of reports of one table, as a shuffle would, and those (ε, δ) compose.

    Arguments:
        reports: for each table its matrix, or the ε₀ of its reports.
        n: people in every table, not counting those who work with the adversary.
        delta: δ of the whole, shared evenly (advanced composition keeps half of it as slack).

    Example:
        >>> from mdrr.matrix import constant_matrix
        >>> spent = pair_tables([constant_matrix(6, epsilon=2.0)] * 10, 10_000, 1e-6)
        >>> round(spent.pure_epsilon, 1), round(spent.epsilon, 2)
        (20.0, 1.07)
    """
    if not reports:
        raise MdrrError("no tables: give one matrix or ε₀ for each pair of attributes")
    if not 0 < delta < 1:
        raise MdrrError(f"δ={delta} must lie strictly between 0 and 1; take it well below 1/n")

    def each(share: float) -> list[tuple[float, float]]:
        found = {report: shuffled(report, n, share) for report in set(reports)}
        return [(found[report].epsilon, found[report].delta) for report in reports]

    k = len(reports)
    pure = add_up([float(r) if isinstance(r, int | float) else r.epsilon for r in reports])
    basic = compose(each(delta / k)).basic_epsilon
    advanced = compose(each(delta / (2 * k)), slack=delta / 2).advanced_epsilon
    best = min(basic, advanced)  # basic is at most pure: no report is worse for being shuffled
    return PairTables(k, n, pure, basic, advanced, best, 0.0 if best == pure else delta)
