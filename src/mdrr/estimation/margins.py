"""Every attribute's own distribution, proper and positive: what models of several start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.project import posterior_mean
from mdrr.estimation.smooth import Smoothed, smoothed_update
from mdrr.estimation.unbiased import Axis, Unbiased, unbiased
from mdrr.matrix import Array, Banded, Matrix
from mdrr.tallies import Tally

_LEAST = 1e-12


def one_way(tally: Tally, design: Design) -> tuple[Array, ...]:
    """Every attribute's distribution: the posterior mean, or smoothed EM after banded matrices."""
    margins = []
    for name in design.domain.names:
        found = unbiased(tally, design, [name])
        if found is None:
            raise EstimateError(f"nobody has reported {name!r} yet: it cannot be estimated")
        if (smooth := smoothed(found)) is not None:
            floored = np.maximum(smooth.distribution, _LEAST)
            margins.append(floored / floored.sum())
        else:
            errors = np.sqrt(found.variances(population=True))
            margins.append(posterior_mean(found.values, errors))
    return tuple(margins)


def smoothed(found: Unbiased) -> Smoothed | None:
    """One attribute by smoothed EM, or None if no banded matrix had it to itself.

    The errors of neighbouring bins after such a matrix go together, and cell by cell its inverse is
    mostly noise. Reports of the attribute that came through other matrices count as well.
    """
    if not is_banded(found):
        return None
    views = [view for view in found.views if view.axes[0].likely]
    people = sum(view.n for view in views)
    through = _Stacked([v.axes[0] for v in views], [v.n / people for v in views])
    return smoothed_update(np.concatenate([v.n * v.reported for v in views]), through)


def is_banded(found: Unbiased) -> bool:
    """Whether somebody reported one attribute through a banded matrix of its own."""
    return len(found.names) == 1 and any(has_band(view.axes[0].matrix) for view in found.views)


def has_band(matrix: Matrix | None) -> bool:
    """Whether reports through a matrix are places on a longer scale: a band of some width."""
    return isinstance(matrix, Banded) and not matrix.reports_cells


@dataclass(frozen=True, eq=False)
class _Stacked:
    """The matrix of people of whom a share each reported through one of several."""

    axes: Sequence[Axis]
    shares: Sequence[float]

    @property
    def cells(self) -> int:
        return self.axes[0].cells

    def forward(self, shares: Array) -> Array:
        """The distribution of the reports."""
        parts = [w * a.forward(shares, 0) for a, w in zip(self.axes, self.shares, strict=True)]
        return np.concatenate(parts)

    def backward(self, values: Array) -> Array:
        """The expected value of a report's value, for every true cell."""
        ends = np.cumsum([axis.outcomes for axis in self.axes])[:-1]
        parts = zip(self.axes, self.shares, np.split(values, ends), strict=True)
        return np.asarray(sum(w * axis.backward(part, 0) for axis, w, part in parts))
