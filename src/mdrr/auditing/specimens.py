"""The designs that are audited when none is given: together they have every kind of everything."""

from __future__ import annotations

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.matrix import Banded, Constant, Dense, Public, Subset, constant_matrix


def _asked(*sizes: int) -> Domain:
    names = "abcdefghij"
    return Domain(
        tuple(
            Attribute(name, tuple(f"{name}{i}" for i in range(size)))
            for name, size in zip(names, sizes, strict=False)
        )
    )


def every_matrix() -> Design:
    """One questionnaire: every kind of matrix, every D, two attributes together, a public one."""
    a, b, c, d, e, f, g = _asked(4, 3, 4, 4, 2, 3, 4).attributes
    region = Attribute("region", ("north", "south"), public=True)
    dense = Dense(((40_000, 20_000, 5_536), (10_000, 45_536, 10_000), (5_000, 15_536, 45_000)))
    clusters = (
        Cluster(("a",), constant_matrix(4, epsilon=1.0)),
        Cluster(("b",), dense),
        Cluster(("c",), Banded(4, width=1, low=6_553, total=2**16)),
        Cluster(("d",), Subset(4, codes=7, block=(1, 2, 4), low=6_000, total=2**16)),
        Cluster(("e", "f"), Constant(6, diagonal=2**32 - 5 * 2**29, off=2**29)),
        Cluster(("g",), Constant(4, diagonal=2**48 - 3 * (2**45 + 7), off=2**45 + 7)),
        Cluster(("region",), Public(2)),
    )
    return Design(Domain((a, b, c, d, e, f, g, region)), (Questionnaire(clusters),))


def drawn_questionnaires() -> Design:
    """Three questionnaires of unequal weight, each person answers one."""
    domain = _asked(2, 3, 2)
    small = constant_matrix(2, epsilon=0.5)
    return Design(
        domain,
        (
            Questionnaire((Cluster(("a", "b"), constant_matrix(6, epsilon=1.0)),), 30_000),
            Questionnaire(
                (Cluster(("b",), constant_matrix(3, epsilon=0.5)), Cluster(("c",), small)), 25_536
            ),
            Questionnaire((Cluster(("a",), small), Cluster(("c",), small)), 10_000),
        ),
    )


def specimens() -> dict[str, Design]:
    """The built-in designs by name."""
    return {
        "every kind of matrix": every_matrix(),
        "questionnaires drawn": drawn_questionnaires(),
    }
