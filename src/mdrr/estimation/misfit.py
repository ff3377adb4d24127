"""What a model's own variation does not show: how wrong it may be.

Where people reported the attributes together there is an unbiased table u beside the model's l.
With V and L their variances (summed over cells), |u − l|² is on average B² + V − L, where B² is
the model's squared error (Mallows 1973; l is fitted to the same reports, so its covariance with u
is about L). So B² is seen with a standard error of V·√(2/df), and it is not negative: what it is
on average, given both, is counted. Where nobody reported them together some dependence is allowed
for that the reports cannot show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from scipy.stats import norm

from mdrr.errors import MdrrError
from mdrr.estimation.bootstrap import BootstrapSpread
from mdrr.estimation.joint import Joint
from mdrr.estimation.result import Deviation, Of
from mdrr.estimation.tabled import small
from mdrr.estimation.unbiased import Unbiased, unbiased
from mdrr.matrix import Array
from mdrr.query import Query

ASSUMED = 0.2
"""Cramér's V allowed for between attributes that nobody reported together."""


@dataclass(frozen=True, eq=False)
class FittedSpread:
    """The spread of a fitted model: its variance over resamples, and its squared error B².

    B² is shared among a table's cells as if they were alike. The people's own count has less
    variance than a population's; L, which resamples people, is lowered as much as V is.

    Arguments:
        resampled: how the fit varies over resampled people.
        joint: the fit.
    """

    resampled: BootstrapSpread
    joint: Joint
    _known: dict[tuple[str, ...], tuple[Unbiased, float] | None] = field(
        default_factory=dict, repr=False
    )

    def deviation(self, query: Query, of: Of, /) -> Deviation:
        """The fit's mass and its standard error."""
        names = query.attributes
        inner = self.resampled.deviation(query, of)
        if not names or not small(names, query.domain):
            return inner
        if names not in self._known:
            self._known[names] = self._compared(names)
        known = self._known[names]
        if known is None:
            return allow_dependence(inner, query)
        found, missed = known
        return mixed(inner, found, query, of, missed, weight=0.0)

    def _compared(self, names: tuple[str, ...]) -> tuple[Unbiased, float] | None:
        try:
            found = unbiased(self.resampled.tally, self.resampled.design, names)
        except MdrrError:  # too many cells for a table
            return None
        if found is None:
            return None
        return found, misfit(found, self.joint.table(names), self.resampled.variances(names))


def mixed(
    inner: Deviation, found: Unbiased, query: Query, of: Of, missed: float, *, weight: float
) -> Deviation:
    """The deviation of a set ω of the way from a model to the unbiased table.

    ω²V + (1−ω²)L + (1−ω)²B², of the set: with a covariance of L between the two. The table's B² is
    shared among its cells as if they were alike, which they need not be: a model that misses a
    diagonal misses it in the same direction in all its cells. Where the unbiased mass lies further
    off than its own standard error, the set has shown as much, and the deviation is the unbiased
    one.

    Arguments:
        inner: the model's mass and its error over resamples.
        found: the unbiased table.
        query: the set.
        of: whose count it is.
        missed: B², over all cells.
        weight: ω.
    """
    mask = query.mask()
    whole = found.deviation(mask, population=True)
    exact = found.deviation(mask, population=of == "population")
    if abs(exact.centre - inner.centre) > (1 - weight) * exact.error:
        return exact
    lowered = exact.error**2 / whole.error**2 if whole.error > 0 else 1.0
    part = float(mask.mean())
    shared = missed * part * (1 - part) * mask.size / max(mask.size - 1, 1)
    variance = (
        weight**2 * exact.error**2
        + (1 - weight**2) * min(inner.error**2 * lowered, exact.error**2)
        + (1 - weight) ** 2 * shared
    )
    slope, bend = weight**2 * exact.slope, weight**2 * exact.bend
    return Deviation(inner.centre, math.sqrt(variance), slope, bend)


def misfit(found: Unbiased, table: Array, variances: Array, *, weight: float = 0.0) -> float:
    """B²: the squared error, over all cells, of what a table was drawn from.

    Arguments:
        found: the unbiased table.
        table: one that lies ω of the way from the model's to the unbiased one.
        variances: of the model's cells, over resampled people.
        weight: ω.
    """
    noise = float(found.variances().sum())
    drawn = float(found.variances(population=True).sum())
    if weight > 1 - 1e-6 or drawn <= 0:
        return 0.0
    fitted = min(float(variances.sum()) * noise / drawn, noise)
    gap = float(((found.values - table) ** 2).sum()) / (1 - weight) ** 2
    freedom = math.prod(max(size - 1, 1) for size in table.shape)
    return not_negative(gap - noise + fitted, noise * math.sqrt(2 / freedom))


def not_negative(seen: float, error: float) -> float:
    """The mean of what is not negative and was seen with a normal error: x + σ·φ(x/σ)/Φ(x/σ).

    Example:
        >>> [round(not_negative(x, 1.0), 3) for x in (-3, 0, 3)]
        [0.283, 0.798, 3.004]
    """
    if error <= 0:
        return max(seen, 0.0)
    at = max(seen / error, -30.0)
    return error * (at + math.exp(norm.logpdf(at) - norm.logcdf(at)))


def allow_dependence(deviation: Deviation, query: Query) -> Deviation:
    """A deviation widened for what cannot be known: how attributes asked apart go together.

    With χ²/n = φ² = V²·(min r − 1) for each pair, spread evenly over Π(r − 1) degrees of freedom,
    the mass p of a set departs from its product with variance φ²·p(1−p)/Π(r − 1).
    """
    shape = query.domain.project(query.attributes).shape
    if len(shape) < 2:
        return deviation
    phi = ASSUMED**2 * (min(shape) - 1) * math.comb(len(shape), 2)
    freedom = math.prod(size - 1 for size in shape)
    inside = min(max(deviation.centre, 0.0), 1.0)
    variance = deviation.error**2 + phi * inside * (1 - inside) / freedom
    return Deviation(deviation.centre, math.sqrt(variance))
