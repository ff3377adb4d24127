"""Two-way tables straight from the reports: the Kronecker inverse, shrunk towards a product.

Randomizing attributes separately does not lose their relation: a pair goes through the Kronecker
product of the two matrices, which inverts axis by axis, without bias and with known variance.
"""

from __future__ import annotations

from dataclasses import dataclass

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.assisted import Shrinker
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.margins import one_way
from mdrr.estimation.misfit import allow_dependence
from mdrr.estimation.product import product
from mdrr.estimation.project import nearest
from mdrr.estimation.result import Deviation, Estimate, Of, Spread
from mdrr.estimation.tabled import TabledJoint, fit_margins
from mdrr.estimation.unbiased import of_query, unbiased
from mdrr.matrix import Array
from mdrr.query import Query
from mdrr.tallies import Tally


def pairwise(tally: Tally, design: Design, *, shrink: bool = True) -> Estimate:
    """Estimate every table asked for from the reports of its own attributes.

    Arguments:
        tally: the reports.
        design: how they were made.
        shrink: draw each table towards the product of its margins as far as its noise suggests;
            otherwise the unbiased table is only made proper. Either way tables agree with the
            one-way margins.

    Returns:
        An estimate with unbiased intervals; tables that nobody reported together are products.
    """
    tally.check(design)
    if not tally.n:
        raise EstimateError("the tally is empty: there are no reports to estimate from")
    margins = one_way(tally, design)
    factors = tuple(Factor((n,), m) for n, m in zip(design.domain.names, margins, strict=True))
    base = ProductJoint(design.domain, factors)
    maker = Shrinker(base, tally, design) if shrink else Proper(base, tally, design)
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="pairwise",
        joint=TabledJoint(design.domain, base, maker),
        spread=UnbiasedSpread(tally, design, product(tally, design).spread),
        notes={"shrink": shrink},
    )


@dataclass(frozen=True, eq=False)
class Proper:
    """Makes the proper tables nearest to the unbiased ones, with given one-way margins."""

    base: ProductJoint
    tally: Tally
    design: Design

    def table(self, names: tuple[str, ...], /) -> Array:
        """The table of some attributes; a product where nobody reported them together."""
        found = unbiased(self.tally, self.design, names) if len(names) > 1 else None
        if found is None:
            return self.base.table(names)
        return fit_margins(nearest(found.values), [self.base.table([name]) for name in names])


@dataclass(frozen=True, eq=False)
class UnbiasedSpread:
    """Intervals centred on the unbiased count; `otherwise` where nobody reported all it needs.

    There the interval also allows for some dependence, since the reports say nothing of it.
    """

    tally: Tally
    design: Design
    otherwise: Spread

    def deviation(self, query: Query, of: Of, /) -> Deviation:
        """The unbiased mass and its exact standard error."""
        if not query.attributes:
            return Deviation(1.0, 0.0)
        found = of_query(self.tally, self.design, query, of)
        if found is None:
            return allow_dependence(self.otherwise.deviation(query, of), query)
        return found
