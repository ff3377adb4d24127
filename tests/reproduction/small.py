"""A small population with unequal, dependent attributes and an empty cell."""

import numpy as np

from mdrr.domain import Attribute, Domain
from mdrr.reproduction.population import Population

DOMAIN = Domain(
    (
        Attribute("a", ("x", "y")),
        Attribute("b", ("u", "v", "w")),
        Attribute("c", ("k", "l", "m", "n")),
    )
)


def population(rows: int = 900, copies: int = 1) -> Population:
    rng = np.random.default_rng(11)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.6, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.5, b, rng.integers(0, 3, rows))  # nobody has "n"
    return Population(DOMAIN, tuple(x.astype(np.uint8) for x in (a, b, c)), copies)
