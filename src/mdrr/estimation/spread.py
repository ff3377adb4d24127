"""How far a blend of models and unbiased table may be from the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mdrr.estimation.bootstrap import BootstrapSpread
from mdrr.estimation.misfit import allow_dependence, misfit, mixed
from mdrr.estimation.result import Deviation, Of
from mdrr.estimation.tabled import small
from mdrr.query import Query

if TYPE_CHECKING:
    from mdrr.estimation.auto import Blend


@dataclass(frozen=True, eq=False)
class BlendSpread:
    """The spread of blended tables, each ω of the way from what models say to the unbiased one.

    What is known of the variance of the latent classes is taken for all models, and their squared
    error is seen from the blended table's distance to the unbiased one.

    Arguments:
        blend: makes the tables.
        resampled: how the latent classes vary over resampled people.
    """

    blend: Blend
    resampled: BootstrapSpread
    _known: dict[tuple[str, ...], float] = field(default_factory=dict, repr=False)

    def deviation(self, query: Query, of: Of, /) -> Deviation:
        """The estimate's mass and its standard error."""
        names = query.attributes
        inner = self.resampled.deviation(query, of)
        if not names or not small(names, query.domain):
            return inner
        found = self.blend.makers[0].shrunk(names).unbiased
        if found is None:
            return allow_dependence(inner, query)
        weight, table = self._weight(names), self.blend.table(names)
        if names not in self._known:
            variances = self.resampled.variances(names)
            self._known[names] = misfit(found, table, variances, weight=weight)
        blended = Deviation(float(table[query.mask()].sum()), inner.error)
        return mixed(blended, found, query, of, self._known[names], weight=weight)

    def _weight(self, names: Sequence[str]) -> float:
        """ω: how far the table is drawn to the unbiased one."""
        return sum(share * maker.shrunk(names).weight for maker, share in self.blend.parts(names))
