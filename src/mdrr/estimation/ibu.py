"""Iterative Bayesian update per table: the most likely table, given the reports of its attributes.

π(x) ← π(x) · Σ_q (n_q/n) Σ_y λ_q(y) P_q(y|x) / (P_qᵀπ)(y), over the questionnaires q that ask all
its attributes (Agrawal and Aggarwal 2001; ElSalamouny and Palamidessi 2020). P_q is a Kronecker
product and is applied axis by axis. Proper at every step, and the inverse wherever that is proper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.margins import one_way
from mdrr.estimation.pairwise import UnbiasedSpread
from mdrr.estimation.product import product
from mdrr.estimation.project import nearest
from mdrr.estimation.result import Estimate
from mdrr.estimation.tabled import TabledJoint, fit_margins
from mdrr.estimation.unbiased import View, unbiased
from mdrr.matrix import Array
from mdrr.tallies import Tally


def ibu(tally: Tally, design: Design, *, tolerance: float = 1e-7, sweeps: int = 2000) -> Estimate:
    """Estimate every table asked for by the iterative Bayesian update.

    Arguments:
        tally: the reports.
        design: how they were made.
        tolerance: stop when a sweep changes a table by less than this in total variation.
        sweeps: stop after so many sweeps.

    Returns:
        An estimate whose tables are the most likely ones, made to agree with their margins;
        intervals are those of the unbiased counts.
    """
    tally.check(design)
    if not tally.n:
        raise EstimateError("the tally is empty: there are no reports to estimate from")
    start = [
        Factor((n,), m) for n, m in zip(design.domain.names, one_way(tally, design), strict=True)
    ]
    flat = ProductJoint(design.domain, tuple(start))
    updater = Updater(flat, tally, design, tolerance, sweeps)
    margins = [Factor((name,), updater.single(name)) for name in design.domain.names]
    base = ProductJoint(design.domain, tuple(margins))
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="ibu",
        joint=TabledJoint(design.domain, base, Updater(base, tally, design, tolerance, sweeps)),
        spread=UnbiasedSpread(tally, design, product(tally, design).spread),
        notes={"tolerance": tolerance, "sweeps": sweeps},
    )


@dataclass(frozen=True, eq=False)
class Updater:
    """Makes tables by the update, starting from and agreeing with the margins of a product."""

    base: ProductJoint
    tally: Tally
    design: Design
    tolerance: float
    sweeps: int

    def table(self, names: tuple[str, ...], /) -> Array:
        """The table of some attributes; a product where nobody reported them together."""
        if len(names) == 1:
            return self.base.table(names)
        found = self._updated(names)
        return fit_margins(found, [self.base.table([name]) for name in names])

    def single(self, name: str) -> Array:
        """One attribute's own distribution."""
        return self._updated((name,))

    def _updated(self, names: tuple[str, ...]) -> Array:
        start = self.base.table(names)
        found = unbiased(self.tally, self.design, names)
        if found is None:
            return start
        views = [view for view in found.views if all(axis.likely for axis in view.axes)]
        if not views:  # parts of clusters that are not constant have no likelihood of their own
            return nearest(found.values)
        return update(views, start, tolerance=self.tolerance, sweeps=self.sweeps)


def update(views: Sequence[View], start: Array, *, tolerance: float, sweeps: int) -> Array:
    """EM on one table, through every view at once."""
    people = sum(view.n for view in views)
    table = start
    for _ in range(sweeps):
        total = np.zeros(table.shape)
        for view in views:
            seen = np.transpose(table, np.argsort(view.order)).reshape([a.cells for a in view.axes])
            for at, axis in enumerate(view.axes):
                seen = axis.forward(seen, at)
            ratio = np.divide(view.reported, seen, out=np.zeros_like(seen), where=seen > 0)
            for at, axis in enumerate(view.axes):
                ratio = axis.backward(ratio, at)
            total += view.n / people * np.transpose(ratio.reshape(view.shape), view.order)
        updated = table * total
        updated /= updated.sum()
        change = float(np.abs(updated - table).sum() / 2)
        table = updated
        if change < tolerance or not math.isfinite(change):
            break
    return table
