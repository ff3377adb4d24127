"""What an experiment is run with: the paper's protocol, and a stated choice where it is silent."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from mdrr.errors import MdrrError
from mdrr.reproduction.clusters import WAYS
from mdrr.reproduction.readings import READINGS

FORMAT = 1
"""Raise it when the same settings give other numbers, so that old runs are not resumed."""

Rounding: TypeAlias = Literal["nearest", "even", "down", "up"]
Empty: TypeAlias = Literal["redraw", "drop", "infinite"]
Pairs: TypeAlias = Literal["distinct", "repeated"]
Projected: TypeAlias = Literal["clip", "euclidean"]
Thresholds: TypeAlias = Literal["paper", "ours"]

_CHOICES = {
    "matrix": tuple(READINGS),
    "dependences": tuple(WAYS),
    "rounding": get_args(Rounding),
    "empty": get_args(Empty),
    "pairs": get_args(Pairs),
    "projection": get_args(Projected),
    "thresholds": get_args(Thresholds),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run the experiments of section 6.

    Arguments:
        runs: how many; the paper's medians are over 1000.
        seed: the same seed gives the same numbers, whatever the number of processes.
        matrix: the reading of section 6.3, one of `mdrr.reproduction.readings.READINGS`.
        dependences: how Algorithm 1 learns them, one of `mdrr.reproduction.clusters.WAYS`.
        rounding: of σ·(number of combinations) to a number of combinations: `nearest` (ties up),
            `even` (nearest, ties to even), `down` or `up`. At least one combination is always
            taken, or S would be empty.
        empty: what becomes of a query that no true record satisfies (X_S = 0, no relative error):
            `redraw` the query, `drop` the run, or count its relative error as `infinite`.
        pairs: whether the random attributes of a query are `distinct`, or drawn one by one and
            possibly `repeated`.
        query_size: how many attributes a query is over; the paper takes 2.
        projection: how estimates become proper: `clip` (the paper's) or `euclidean`.
        thresholds: T_v and T_d of Figure 3: the best the `paper` prints, or the best of `ours`.

    Example:
        >>> Settings().combinations(0.1, 4), Settings(rounding="up").combinations(0.1, 35)
        (1, 4)
    """

    runs: int = 1000
    seed: int = 1
    matrix: str = "corrected"
    dependences: str = "exact"
    rounding: Rounding = "nearest"
    empty: Empty = "redraw"
    pairs: Pairs = "distinct"
    query_size: int = 2
    projection: Projected = "clip"
    thresholds: Thresholds = "paper"

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise MdrrError(
                    f"{name}={getattr(self, name)!r}: choose one of {', '.join(map(repr, known))}"
                )
        if self.runs < 1:
            raise MdrrError(f"runs={self.runs}: a median needs at least one run")
        if not 1 <= self.query_size <= 8:
            raise MdrrError(f"query_size={self.query_size}: Adult has 8 attributes to ask about")

    @property
    def fingerprint(self) -> str:
        """Names everything a single run depends on, which is all but how many there are."""
        fields = {**asdict(self), "format": FORMAT}
        del fields["runs"]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]

    def combinations(self, coverage: float, cells: int) -> int:
        """How many of the cells a query of coverage σ holds; exact, so 0.3·10 is 3."""
        return _rounded(coverage, cells, self.rounding)

    def stream(self, *key: object) -> np.random.Generator:
        """The random numbers of one run, named by experiment, cell and run.

        Variants of the settings share them, so that they are compared on the same queries.
        """
        text = "|".join(map(str, (self.seed, *key)))
        return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))


@cache
def _rounded(coverage: float, cells: int, rounding: Rounding) -> int:
    exact = Fraction(str(coverage)) * cells
    if rounding == "nearest":
        return max(math.floor(exact + Fraction(1, 2)), 1)
    if rounding == "even":
        return max(round(exact), 1)
    return max(math.floor(exact) if rounding == "down" else math.ceil(exact), 1)
