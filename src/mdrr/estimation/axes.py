"""A few axes that all pairs share: Δ_ab = F_a F_bᵀ + noise of variance v_ab for every pair at once.

Two modules find F. `axes_fit` looks for one that fits, `axes_draw` draws many that might be.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mdrr.matrix import Array

LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Interactions:
    """Unbiased interactions of all pairs as one symmetric matrix, a block per pair.

    Arguments:
        values: Δ of every pair divided by v, zero where nobody reported both.
        precision: 1/v of every pair of attributes, zero likewise; v is the variance of one
            interaction, of which a pair has (r−1)(s−1).
        starts: where each attribute's rows begin, and the end.
    """

    values: Array
    precision: Array
    starts: tuple[int, ...]

    def told(self, share: float) -> Interactions:
        """The same, as if a share of the people had reported."""
        if share == 1:
            return self
        return Interactions(share * self.values, share * self.precision, self.starts)

    @property
    def parts(self) -> list[slice]:
        """Each attribute's rows."""
        return [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]


@dataclass(frozen=True, eq=False)
class Axes:
    """Loadings F, one `(r, k)` array per attribute, and what of a pair's F_a F_bᵀ to believe.

    `kept` counts the axes that did not vanish (of drawn ones none does), `passes` those over the
    attributes.
    """

    loadings: tuple[Array, ...]
    trust: Array
    kept: int
    passes: int

    def interaction(self, first: int, second: int) -> Array:
        """Δ of two attributes."""
        common = self.loadings[first] @ self.loadings[second].T
        return np.asarray(self.trust[first, second] * common)


def gain_of(axes: Axes, seen: Interactions) -> Array:
    """How much likelier every pair is with its interaction than without, in nats."""
    found = np.zeros_like(seen.precision)
    for first, second in combinations(range(len(found)), 2):
        delta = axes.interaction(first, second)
        at = np.ix_(*(np.arange(*seen.starts[i : i + 2]) for i in (first, second)))
        noise = seen.precision[first, second] * (delta**2).sum()
        found[first, second] = found[second, first] = (seen.values[at] * delta).sum() - noise / 2
    return found


def none_of(sizes: list[int]) -> Axes:
    """No axes, for attributes of so many categories."""
    return Axes(tuple(np.zeros((size, 0)) for size in sizes), np.zeros((len(sizes),) * 2), 0, 0)


def leading(seen: Interactions, flat: Array, axes: int) -> Array:
    """The leading eigenvectors of the interactions seen through the prior, scaled to fit them."""
    through = flat[:, None] * seen.values * flat
    values, vectors = np.linalg.eigh(through)
    leading = np.flatnonzero(values > LEAST * max(float(values[-1]), LEAST))[::-1][:axes]
    shapes = flat[:, None] * vectors[:, leading]
    sums = np.add.reduceat(shapes**2, seen.starts[:-1], axis=0)
    along = np.einsum("xk,xy,yk->k", shapes, seen.values, shapes)
    length = np.einsum("ak,ab,bk->k", sums, seen.precision, sums)
    gain = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
    return np.asarray(shapes * np.sqrt(np.maximum(gain, 0.0)))
