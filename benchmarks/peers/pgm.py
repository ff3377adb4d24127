"""mbi (Private-PGM, McKenna et al.) on debiased pair tables of randomized reports.

Which pairs: all of them when the junction tree is small, else a maximum spanning tree and then the
pairs with the largest score that keep the junction tree under `MOST_MB`, as AIM does; a pair's
score is AIM's, the L1 distance between its table and the product of its marginals, less the noise
expected in it. The fit is mirror descent, the package's recommendation, on tables weighted by their
standard errors, together with the tables of single attributes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from itertools import combinations

import numpy as np
from benchmarks.data import People
from benchmarks.metrics import Answer
from benchmarks.peers.calm import View, collect, cover
from benchmarks.peers.maxent import marginal, norm_sub

from mdrr import Design, Domain, Tally
from mdrr.estimation.unbiased import unbiased

MOST_MB = 0.5
ITERATIONS = 1000

Names = tuple[str, ...]
Measured = tuple[np.ndarray, float]
"""An unbiased table and the standard error of its cells."""


def from_tally(tally: Tally, design: Design) -> dict[Names, Measured]:
    """Every attribute's and pair's unbiased table from RR-Independent reports."""
    tables: dict[Names, Measured] = {}
    for width in (1, 2):
        for names in combinations(design.domain.names, width):
            found = unbiased(tally, design, names)
            assert found is not None
            tables[names] = found.values, math.sqrt(float(found.variances().mean()))
    return tables


def from_views(views: list[View]) -> dict[Names, Measured]:
    """Every pair's unbiased table from people who each reported one pair."""
    return {view.names: (view.table, math.sqrt(view.variance(view.table.size))) for view in views}


def pgm(domain: Domain, tables: Mapping[Names, Measured], n: int) -> Answer:
    """The graphical model that fits the chosen tables best."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        import mbi

    over = mbi.Domain(domain.names, domain.shape)
    chosen = choose(mbi, over, {names: found for names, found in tables.items() if names[1:]})
    measured = [
        mbi.LinearMeasurement(values.ravel() * n, names, stddev=error * n)
        for names, (values, error) in (singles(domain, tables, chosen) | tables).items()
        if names in chosen or len(names) == 1
    ]
    model = mbi.estimation.MirrorDescent().estimate(
        over, measured, known_total=float(n), iters=ITERATIONS, tol=1e-6
    )
    joint = written_out(domain, model)
    return lambda names: marginal(joint, domain.names, names)


def singles(
    domain: Domain, tables: Mapping[Names, Measured], chosen: set[Names]
) -> dict[Names, Measured]:
    """One attribute each, from the pairs the model leaves out: what they say is not lost."""
    found: dict[Names, Measured] = {}
    for name in domain.names:
        parts = []
        for names, (values, error) in tables.items():
            if name in names and len(names) == 2 and names not in chosen:
                share = marginal(values, names, (name,))
                parts.append((share, error * math.sqrt(values.size / share.size)))
        if parts:
            weights = np.array([error**-2 for _, error in parts])
            mean = sum(w * share for w, (share, _) in zip(weights, parts, strict=True))
            found[(name,)] = mean / weights.sum(), float(weights.sum() ** -0.5)
    return found


def written_out(domain: Domain, model) -> np.ndarray:
    """The model's whole joint: e to the sum of its potentials (mbi compiles anew per table)."""
    logs = np.zeros(domain.shape)
    for clique in model.potentials.cliques:
        factor = model.potentials[clique]
        names = list(factor.domain.attributes)
        order = [names.index(name) for name in domain.names if name in names]
        shape = [a.size if a.name in names else 1 for a in domain.attributes]
        logs += np.transpose(np.asarray(factor.values), order).reshape(shape)
    joint = np.exp(logs - logs.max())
    return joint / joint.sum()


def choose(mbi, over, tables: Mapping[Names, Measured]) -> set[Names]:
    """A spanning tree of the strongest pairs, then more while the junction tree stays small."""
    ranked = sorted(tables, key=lambda pair: -score(*tables[pair]))
    group = {name: {name} for name in over.attributes}
    tree = []
    for a, b in ranked:
        if group[a] is not group[b]:
            tree.append((a, b))
            union = group[a] | group[b]
            for name in union:
                group[name] = union
    chosen = list(tree)
    for pair in ranked:
        if pair in tree or score(*tables[pair]) <= 0:
            continue
        if mbi.junction_tree.hypothetical_model_size(over, [*chosen, pair]) <= MOST_MB:
            chosen.append(pair)
    return set(chosen)


def score(table: np.ndarray, error: float) -> float:
    proper = norm_sub(table)
    product = np.outer(proper.sum(axis=1), proper.sum(axis=0))
    return float(np.abs(table - product).sum() - math.sqrt(2 / math.pi) * error * table.size)


def pgm_on_pairs(people: People, epsilon: float, rng: np.random.Generator) -> Answer:
    """Everyone reports one pair as in CALM; the model takes CALM's place."""
    views = collect(people, epsilon, cover(len(people.domain.shape), 2), rng)
    return pgm(people.domain, from_views(views), people.n)
