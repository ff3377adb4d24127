"""Small groups to run the protocols with: three attributes of unequal sizes, fixed seeds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.domain import Attribute, Domain
from mdrr.securesum.keys import Identity
from mdrr.securesum.question import Question
from mdrr.securesum.roster import Batch, Roster
from mdrr.securesum.terms import Terms, make_terms
from mdrr.source import SeededSource

DOMAIN = Domain(
    (
        Attribute("smokes", ("no", "yes")),
        Attribute("region", ("north", "east", "south")),
        Attribute("age", kind="ordinal", categories=("young", "middle", "old", "very old")),
    )
)
QUESTION = Question(DOMAIN)


def codes(n: int, seed: int = 0, domain: Domain = DOMAIN) -> list[npt.NDArray[np.int64]]:
    """n records, as one array per attribute."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, size, n) for size in domain.shape]


def people(n: int, seed: int = 0) -> list[Identity]:
    source = SeededSource(f"people {seed}")
    return [Identity.generate(source) for _ in range(n)]


def vectors(
    columns: list[npt.NDArray[np.int64]], question: Question = QUESTION
) -> list[npt.NDArray[np.uint8]]:
    return [
        question.encode([int(code) for code in record]) for record in zip(*columns, strict=True)
    ]


def organiser(seed: int = 0) -> Identity:
    return Identity.generate(SeededSource(f"organiser {seed}"))


def terms(mode: str, n: int, *, minimum: int = 3, apart: int | None = None, seed: int = 0) -> Terms:
    return make_terms(
        mode,
        QUESTION,
        organiser(),
        SeededSource(f"terms {seed}"),
        wanted=n,
        minimum=minimum,
        apart=apart,
        purpose="test",
    )


@dataclass
class Group:
    """n people with their records; `roster` for the paper's mode, `batch` for aggregators."""

    n: int
    seed: int = 0
    minimum: int = 3
    operators: tuple[str, ...] = ("Office A", "Office B")

    def __post_init__(self) -> None:
        self.identities = people(self.n, self.seed)
        self.codes = codes(self.n, self.seed)
        self.vectors = vectors(self.codes)
        self.truth = QUESTION.sums(self.codes)
        source = SeededSource(f"aggregators {self.seed}")
        self.aggregators = [Identity.generate(source, name) for name in self.operators]

    @property
    def roster(self) -> Roster:
        members = [one.public for one in self.identities]
        return Roster.of(terms("paper", self.n, minimum=self.minimum, seed=self.seed), members)

    @property
    def batch(self) -> Batch:
        return Batch.of(
            terms("aggregators", self.n, minimum=self.minimum, seed=self.seed),
            [one.public for one in self.aggregators],
            [one.id for one in self.identities],
        )
