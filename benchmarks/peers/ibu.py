"""The iterative Bayesian update (Agrawal and Aggarwal 2001), table by table.

Every table is the likeliest one behind the reports of its own attributes, found by EM, then made to
agree with the margins. Tables of three attributes know nothing of those of two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.metrics import Answer

from mdrr import Design, Tally
from mdrr.estimation.raking import fit_margins
from mdrr.estimation.unbiased import View, view_of
from mdrr.estimation.update import bayesian_update

TOLERANCE, SWEEPS = 1e-7, 2000


@dataclass(frozen=True, eq=False)
class Seen:
    """What a table goes through to be reported: the matrices of its attributes, side by side."""

    view: View

    @property
    def cells(self) -> int:
        return int(np.prod(self.view.shape))

    def forward(self, shares: np.ndarray) -> np.ndarray:
        table = shares.reshape([axis.cells for axis in self.view.axes])
        for at, axis in enumerate(self.view.axes):
            table = axis.forward(table, at)
        return table.ravel()

    def backward(self, values: np.ndarray) -> np.ndarray:
        table = values.reshape(self.view.reported.shape)
        for at, axis in enumerate(self.view.axes):
            table = axis.backward(table, at)
        return table.ravel()


def ibu(tally: Tally, design: Design) -> Answer:
    """Answers from reports to a design of one questionnaire with constant matrices."""

    def updated(names: tuple[str, ...], start: np.ndarray | None = None) -> np.ndarray:
        view = view_of(tally, design, 0, names)
        found = bayesian_update(
            view.n * view.reported.ravel(),
            Seen(view),
            start=None if start is None else view.arranged(start).ravel(),
            tolerance=TOLERANCE,
            sweeps=SWEEPS,
        )
        return np.transpose(found.distribution.reshape(view.shape), view.order)

    margins = {name: updated((name,)) for name in design.domain.names}

    def answer(names: tuple[str, ...]) -> np.ndarray:
        if len(names) == 1:
            return margins[names[0]]
        known = [margins[name] for name in names]
        product = known[0]
        for margin in known[1:]:
            product = np.multiply.outer(product, margin)
        return fit_margins(updated(names, product), known)

    return answer
