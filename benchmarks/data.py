"""The data sets of the benchmarks: real ones from packages, and made ones whose law is known.

Domains are declared here from codebooks, not read off the records. All attributes are nominal, as
in the paper. Bins were chosen once, before any method was run on them.

The library's defaults were chosen while looking at errors on the data sets in `SEEN`. Those in
`HELD_OUT` are for judging alone: defaults are never chosen by looking at results on them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
from benchmarks.held_out import happiness, labsup, potts
from benchmarks.people import People, coded
from scipy.stats import norm

import mdrr
from mdrr.frames import encode
from mdrr.randomizer import cells_of


def adult() -> People:
    domain = mdrr.datasets.adult_domain()
    codes = encode(mdrr.datasets.adult(), domain)
    about = "UCI Adult, the paper's eight attributes (CC BY 4.0; ships with mdrr)"
    return People("adult", domain, tuple(codes), about)


def fair() -> People:
    """A survey of 1974: 6,366 women about their marriage; few people, nine attributes."""
    frame = _statsmodels("fair")
    levels = {
        "rate_marriage": (1, 2, 3, 4, 5),
        "age": (17.5, 22, 27, 32, 37, 42),
        "yrs_married": (0.5, 2.5, 6, 9, 13, 16.5, 23),
        "children": (0, 1, 2, 3, 4, 5.5),
        "religious": (1, 2, 3, 4),
        "educ": (9, 12, 14, 16, 17, 20),
        "occupation": (1, 2, 3, 4, 5, 6),
        "occupation_husb": (1, 2, 3, 4, 5, 6),
    }
    columns = {name: np.searchsorted(known, frame[name]) for name, known in levels.items()}
    columns["affair"] = (frame["affairs"].to_numpy() > 0).astype(int)
    sizes = {name: len(known) for name, known in levels.items()} | {"affair": 2}
    about = (
        "Fair's survey of extramarital affairs, 1978 (with the author's permission; statsmodels)"
    )
    return coded("fair", columns, sizes, about)


def randhie() -> People:
    """The RAND Health Insurance Experiment: plans fixed by design, so some cells are empty."""
    frame = _statsmodels("randhie")
    edges = {
        "mdvis": (1, 2, 3, 5, 9),
        "lncoins": (0.5, 3.5, 4.2, 4.58),
        "idp": (0.5,),
        "lpi": (0.1, 6, 6.5, 7),
        "fmde": (0.1, 6, 7, 8),
        "physlm": (0.001, 0.999),
        "disea": (5, 10, 15, 20, 30),
    }
    columns = {n: np.searchsorted(cut, frame[n], side="right") for n, cut in edges.items()}
    health = frame[["hlthg", "hlthf", "hlthp"]].to_numpy()
    columns["health"] = np.where(health.any(axis=1), health.argmax(axis=1) + 1, 0)
    sizes = {name: len(cut) + 1 for name, cut in edges.items()} | {"health": 4}
    about = "RAND Health Insurance Experiment (public domain; statsmodels)"
    return coded("randhie", columns, sizes, about)


def network(people: int = 30_000, seed: int = 20) -> People:
    """A random Bayesian network: every attribute depends on up to three earlier ones.

    Each row of a conditional table is Dirichlet(½), so dependences are of third and fourth order
    and no small mixture of products is the truth: not the model of `method="latent"`.
    """
    laws, rng = (np.random.default_rng([seed, part]) for part in (0, 1))
    sizes = [2, 3, 5, 4, 8, 2, 6, 3, 4, 7]
    columns: list[np.ndarray] = []
    for j, size in enumerate(sizes):
        parents = laws.choice(j, size=min(j, int(laws.integers(1, 4))), replace=False)
        shape = [sizes[k] for k in parents]
        law = laws.dirichlet(np.full(size, 0.5), size=int(np.prod(shape)))
        row = cells_of([columns[k] for k in parents], shape) if len(parents) else np.zeros(people)
        above = law.cumsum(axis=1)[row.astype(int)] < rng.random(people)[:, None]
        columns.append(np.minimum(above.sum(axis=1), size - 1))
    named = {f"x{j}": column for j, column in enumerate(columns)}
    about = "a random Bayesian network, ten attributes, up to three parents each (made here)"
    return coded("network", named, dict(zip(named, sizes, strict=True)), about)


def correlated(people: int = 30_000, seed: int = 21) -> People:
    """Everything depends on everything: a cut Gaussian chain, categories in scrambled order.

    Correlations are 0.85^|i−j|, so the farthest pair still has 0.32; cuts are at equal shares
    for even attributes and skewed for odd ones.
    """
    laws, rng = (np.random.default_rng([seed, part]) for part in (0, 1))
    sizes = [4, 6, 3, 8, 5, 2, 7, 4]
    away = np.abs(np.subtract.outer(np.arange(len(sizes)), np.arange(len(sizes))))
    scores = rng.standard_normal((people, len(sizes))) @ np.linalg.cholesky(0.85**away).T
    named, counts = {}, {}
    for j, size in enumerate(sizes):
        shares = np.ones(size) if j % 2 == 0 else 1 / np.arange(1, size + 1)
        cuts = norm.ppf(shares.cumsum()[:-1] / shares.sum())
        named[f"x{j}"] = laws.permutation(size)[np.searchsorted(cuts, scores[:, j])]
        counts[f"x{j}"] = size
    about = "a Gaussian chain cut into categories, every pair correlated (made here)"
    return coded("correlated", named, counts, about)


DATA: dict[str, Callable[[], People]] = {
    "adult": adult,
    "fair": fair,
    "randhie": randhie,
    "network": network,
    "correlated": correlated,
    "happiness": happiness,
    "labsup": labsup,
    "potts": potts,
}

HELD_OUT = ("happiness", "labsup", "potts")
"""For judging alone: defaults are never chosen by looking at results on these."""

SEEN = tuple(name for name in DATA if name not in HELD_OUT)
"""Defaults were chosen while looking at results on these."""


@cache
def load(name: str) -> People:
    return DATA[name]()


def _statsmodels(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import statsmodels.api as sm  # an extra, loaded when its data are asked for

        return getattr(sm.datasets, name).load_pandas().data
