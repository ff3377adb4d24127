"""How far a blend of model, product and unbiased table may be from the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdrr.estimation.pairwise import allow_dependence
from mdrr.estimation.result import Deviation, Of, Spread
from mdrr.estimation.tabled import small
from mdrr.query import Query

if TYPE_CHECKING:
    from mdrr.estimation.auto import Blend


@dataclass(frozen=True, eq=False)
class BlendSpread:
    """The spread of blended tables.

    A shrunk table has ω² of the unbiased variance and (1−ω)² of the error of what it is drawn from:
    the model's variance over resamples, and the squared error that its distance to the unbiased
    table leaves possible, shared among the cells as if they were alike. Standard errors are mixed
    as the tables are, as if errors went together.
    """

    blend: Blend
    model: Spread

    def deviation(self, query: Query, of: Of, /) -> Deviation:
        """The estimate's mass and its standard error."""
        names = query.attributes
        inner = self.model.deviation(query, of)
        if not names or not small(names, self.blend.model.design.domain):
            return inner
        mask = query.mask()
        error = 0.0
        of_model = self.blend.alone if len(names) == 1 else self.blend.share
        if len(names) > 2:
            of_model = 1.0
        for maker, share in ((self.blend.model, of_model), (self.blend.product, 1 - of_model)):
            found = maker.shrunk(names)
            if found.unbiased is None:
                return allow_dependence(inner, query)
            _, noise = found.unbiased.count(mask.astype(np.float64), population=of == "population")
            part = mask.sum() / mask.size
            bias = found.bias * part * (1 - part) * mask.size / max(mask.size - 1, 1)
            rest = (1 - found.weight) ** 2 * (inner.error**2 + bias)
            error += share * math.sqrt(found.weight**2 * noise + rest)
        return Deviation(float(self.blend.table(names)[mask].sum()), error)
