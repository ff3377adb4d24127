"""Estimators that read pair tables and nothing else: their cost does not depend on the people.

Randomizing attributes separately does not lose their relation: a pair goes through the Kronecker
product of the two matrices, which inverts axis by axis, without bias and with known variance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError, whole
from mdrr.estimation.assisted import assisted, proper
from mdrr.estimation.axes import Axes, confirmed
from mdrr.estimation.carry import from_tables
from mdrr.estimation.evidence import Evidence, Names, Tables
from mdrr.estimation.raking import fit_margins
from mdrr.estimation.result import Estimate
from mdrr.estimation.strata import strata_of
from mdrr.tallies import Tally


def pairwise(tally: Tally, design: Design, *, shrink: bool = True) -> Estimate:
    """Estimate every pair of attributes from its own reports.

    Arguments:
        tally: the reports.
        design: how they were made.
        shrink: draw each pair towards the product of its margins as far as its noise suggests;
            otherwise the unbiased table is only made proper.

    Returns:
        An estimate with these pairs; those that nobody reported together are independent.
    """
    evidence = Evidence(tally, design)
    model = product_tables(evidence, evidence.pairs)
    tables = assisted(model, evidence).tables if shrink else _proper(model, evidence)
    return _estimate("pairwise", evidence, tables, {"shrink": shrink})


def correspondence(tally: Tally, design: Design, *, axes: int = 8, seed: int = 0) -> Estimate:
    """Estimate every pair from axes that all pairs share.

    Arguments:
        tally: the reports.
        design: how they were made.
        axes: at most how many; what noise explains vanishes.
        seed: for who is in which half of the people. Both must see an axis.

    Returns:
        An estimate whose pairs are products where nothing else can be seen. Its notes say how many
        axes were kept after how many passes.
    """
    axes, seed = whole("axes", axes, 1, EstimateError), whole("seed", seed, 0, EstimateError)
    evidence = Evidence(tally, design)
    found, _ = confirmed(evidence, evidence.halves(seed) or (), axes)
    tables = axes_tables(evidence, found, evidence.pairs)
    notes: dict[str, object] = {"axes": found.kept, "passes": found.passes}
    return _estimate("correspondence", evidence, tables, notes)


def product_tables(evidence: Evidence, pairs: Sequence[tuple[str, str]]) -> Tables:
    """Every attribute's distribution, and some pairs as if independent; public pairs are known."""
    margins = dict(zip(evidence.design.domain.names, evidence.margins, strict=True))
    tables: dict[Names, np.ndarray] = {(name,): margin for name, margin in margins.items()}
    public = evidence.design.domain.public
    for first, second in pairs:
        known = evidence.table((first, second)) if {first, second} <= set(public) else None
        independent = np.outer(margins[first], margins[second])
        tables[first, second] = independent if known is None else known.values
    return tables


def axes_tables(evidence: Evidence, axes: Axes, pairs: Sequence[tuple[str, str]]) -> Tables:
    """The same, with the interactions that some axes say."""
    tables = dict(product_tables(evidence, pairs))
    domain = evidence.design.domain
    for first, second in pairs:
        delta = axes.interaction(domain.index(first), domain.index(second))
        if delta.any() and not {first, second} <= set(domain.public):
            margins = [tables[(name,)] for name in (first, second)]
            table = np.maximum(tables[first, second] + delta, 0.0)
            tables[first, second] = fit_margins(table, margins)
    return tables


def _proper(model: Tables, evidence: Evidence) -> Tables:
    """The proper pairs nearest to the unbiased ones."""
    tables = dict(model)
    for names in model:
        found = evidence.table(names) if len(names) == 2 else None
        if found is not None:
            margins = [model[(name,)] for name in names]
            tables[names] = fit_margins(proper(found.values, names, margins, evidence), margins)
    return tables


def _estimate(
    method: str, evidence: Evidence, tables: Tables, notes: dict[str, object]
) -> Estimate:
    found = from_tables(tables, strata_of(evidence))
    return Estimate(method, found.joint, evidence, {**notes, "carried": found.distance})
