"""Small people, and outcomes with made-up numbers, to see what is said about them."""

import numpy as np
from experiments.medians import Median, Number, Outcome
from experiments.printed import (
    COPIES,
    COVERAGES,
    KEEPS,
    LEAST_DEPENDENCES,
    METHODS,
    MOST_CELLS,
    TABLES,
)
from experiments.readings import READINGS
from experiments.runs import CHOICES, WAYS
from experiments.simulation import People

from mdrr.domain import Attribute, Domain

DOMAIN = Domain(
    (
        Attribute("a", ("x", "y")),
        Attribute("b", ("u", "v", "w")),
        Attribute("c", ("k", "l", "m", "n")),
    )
)
SIGNS = np.random.default_rng(12)


def small_people(rows=900, copies=1):
    """Unequal, dependent attributes and an empty cell."""
    rng = np.random.default_rng(11)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.6, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.5, b, rng.integers(0, 3, rows))  # nobody has "n"
    return People(DOMAIN, tuple(x.astype(np.uint8) for x in (a, b, c)), copies)


def sharp(value, width=0.005):
    """A median with a standard error of `width` of its value, hardly related to any other."""
    low, high = value * (1 - width), value * (1 + width)
    moves = value * width / 16 * SIGNS.choice([-1.0, 1.0], 256)
    return Median(value, low, high, low, high, Number(value, moves))


def table(error, width=0.005):
    return {(p, most): sharp(error(p, most), width) for p in KEEPS for most in MOST_CELLS}


def printed(copies, width=0.005):
    """The table the paper prints, T_d = 0.1, as if it were ours."""
    return table(lambda p, most: TABLES[copies][p, most, 0.1], width)


def like_the_paper(width=0.005, **changes):
    """Tables as printed, and figures that do what section 6 says."""
    factor = dict(zip(METHODS, (1.0, 0.7, 0.7, 0.4), strict=True))

    def point(p, coverage, method):
        if p < 0.5:
            return (1.0 if method == METHODS[0] else 1.3) * 0.2 * (1 - coverage)
        return factor[method] * (0.1 if coverage < 0.3 else 0.02) * (1 - coverage)

    def learnt(p, most, least):
        return TABLES[1][p, most, 0.1] * (1.3 - least if p < 0.5 else 1 + least)

    cells = [(p, m, d) for p in KEEPS for m in MOST_CELLS for d in LEAST_DEPENDENCES]
    ways = [*((way, 1) for way in WAYS), ("attenuated", 6)]
    tables = {
        (reading, choice, copies): printed(copies, width)
        for reading in READINGS
        for choice in CHOICES
        for copies in COPIES
    }
    joint = {"whole": 0.9, "queried": 0.9, "independent": 0.2,
             "distance": 0.95, "independent distance": 0.8}  # fmt: skip
    fields = {
        "runs": 1000,
        "seed": 1,
        "figure2": {
            (c, m, e): sharp(
                (1 if m == METHODS[0] else 4)
                * (1000 * c * (1 - c) if e == "absolute" else 0.1 * (1 - c)),
                width,
            )
            for e in ("absolute", "relative")
            for m in ("Randomized", METHODS[0])
            for c in COVERAGES
        },
        "figure3": {
            (p, c, m): sharp(point(p, c, m), width)
            for p in KEEPS
            for m in METHODS
            for c in COVERAGES
        },
        "joint": {(p, m): sharp(value, width) for p in KEEPS for m, value in joint.items()},
        "fresh": tables,
        "once": tables,
        "learnt": {way: {c: sharp(learnt(*c), width) for c in cells} for way in ways},
        "clusters": {way: dict.fromkeys(cells, 6.0) for way in ways},
        "series": {},
    }
    return Outcome(**{**fields, **changes})
