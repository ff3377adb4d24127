"""The shares of people that make what a questionnaire each tells add up to the least error.

Information adds: asking a share w_q of the people questionnaire q tells I_t = Σ_q w_q·J_tq of table
t, and errors are convex in w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mdrr.matrix import Array
from mdrr.planning.predict import BORROWED

_STEPS = 400


@dataclass(frozen=True, eq=False)
class Goal:
    """Σ_t scale_t·√E_t of the shares w, where a table's squared error is that of its better answer.

    With I = information·w, a pair has E = 1/(I_a·r_b) + 1/(I_b·r_a) + B/(1 + κ·B·I_t): the noise of
    its margins, and of its departure from their product, which is B when nobody reports both. Other
    tables, and all when B is unknown, have E = 1/I_t.
    """

    singles: sparse.csr_array  # what a questionnaire tells of each attribute, (attributes, q)
    tables: sparse.csr_array  # what it tells of every table, (tables, q)
    places: npt.NDArray[np.int64]  # the first and the last attribute of each table, (tables, 2)
    sizes: Array  # the attributes' numbers of categories
    bias: Array  # B of each table, infinite where it is unknown
    scales: Array  # what a unit of each table's standard error costs

    @property
    def reached(self) -> npt.NDArray[np.bool_]:
        """Which tables somebody's answers can tell of."""
        return np.asarray((self.tables.max(axis=1).toarray().ravel() > 0) | self._known)

    @cached_property
    def _known(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.bias))

    @cached_property
    def _columns(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Both matrices with a row for each questionnaire."""
        return sparse.csr_array(self.singles.T), sparse.csr_array(self.tables.T)

    def among(self, kept: npt.NDArray[np.int64]) -> Goal:
        """The goal when only some questionnaires are used."""
        return replace(self, singles=self.singles[:, kept], tables=self.tables[:, kept])

    def error(self, shares: Array) -> float:
        """Its value."""
        return float(self.scales @ np.sqrt(self._squares(shares)))

    def slope(self, shares: Array) -> Array:
        """How fast it falls as each share grows."""
        known, told = self._known, np.maximum(self.tables @ shares, 1e-100)
        singles, tables = self._columns
        rates = self.scales / (2 * np.sqrt(self._squares(shares)))
        bias = np.where(known, self.bias, 0.0)
        learnt = BORROWED * (bias / (1 + BORROWED * bias * told)) ** 2
        direct = np.divide(1.0, told**2, out=np.zeros_like(told), where=~known)
        total = tables @ (rates * np.where(known, learnt, direct))
        if known.any():
            alone, rates = self.singles @ shares, rates[known]
            first, last = self.places[known].T
            ends = np.concatenate((first, last))
            falls = np.concatenate((rates / self.sizes[last], rates / self.sizes[first]))
            total = total + singles @ np.bincount(ends, falls / alone[ends] ** 2, len(alone))
        return np.asarray(total)

    def _squares(self, shares: Array) -> Array:
        known, told = self._known, self.tables @ shares
        squares = 1 / np.maximum(told, 1e-100)
        if known.any():
            alone = self.singles @ shares
            first, last = self.places[known].T
            margins = 1 / (alone[first] * self.sizes[last]) + 1 / (alone[last] * self.sizes[first])
            bias = self.bias[known]
            squares[known] = margins + bias / (1 + BORROWED * bias * told[known])
        return np.asarray(squares)


def best_shares(goals: Sequence[tuple[Goal, float]]) -> Array:
    """The shares of least Σ weight·ln(error) over some goals, by Fellman's (1974) steps.

    Multiplying the shares by √slope leads there: w_q ← w_q·√(slope_q). A goal of weight 5 gives up
    a per cent only where that gains 5 per cent of a goal of weight 1.
    """
    questionnaires = goals[0][0].tables.shape[1]
    shares = np.full(questionnaires, 1 / questionnaires)
    for _ in range(_STEPS):
        slope = sum(weight * goal.slope(shares) / goal.error(shares) for goal, weight in goals)
        shares = shares * np.sqrt(slope)
        shares /= shares.sum()
    return shares
