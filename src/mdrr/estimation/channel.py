"""Reports as the latent class fit sees them: what each distinct code says about a class.

A cluster's cells have probability φ_z = Π_j θ_zj within class z. A constant matrix reports the true
cell with probability s and any cell with probability o, so P(y | z) = s·φ_z(y) + o, needed only at
the codes that occur. Any other matrix is split the same way, into the smallest entry o_y of each
column and the rest: P(y | z) = o_y + Σ_x φ_z(x)·(P(y | x) − o_y). What is o's says nothing of the
truth and is left out of the sums, which makes EM converge faster without moving its fixed points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design
from mdrr.errors import EstimateError
from mdrr.estimation.kernel import add_rows, in_parts, multiply_rows
from mdrr.matrix import Array, Constant, Public
from mdrr.tallies import Group, Tally

_MOST_ENTRIES = 2**26


@dataclass(frozen=True, eq=False)
class Seen:
    """One cluster of one questionnaire and the distinct codes reported for it.

    Arguments:
        attributes: positions of the cluster's attributes in the domain.
        digits: the categories of the cells that matter, one array per attribute: the reported
            cells for a constant matrix, all cells otherwise.
        floor: o, a number or one per code, `(u, 1)`.
        signal: s, a number, or the rest of P, `(u, cells)`.
    """

    attributes: tuple[int, ...]
    digits: tuple[npt.NDArray[np.int32], ...]
    floor: Array | float
    signal: Array | float

    def cells(self, tables: Sequence[Array]) -> Array:
        """φ at the cells that matter, `(cells, Z)`."""
        first = tables[self.attributes[0]]
        phi = np.take(first, self.digits[0], axis=0)
        for j, digits in zip(self.attributes[1:], self.digits[1:], strict=True):
            in_parts(len(phi), lambda a, b, j=j, d=digits: multiply_rows(phi, tables[j], d, a, b))  # type: ignore[misc]
        return phi

    def likelihood(self, phi: Array) -> Array:
        """P(y | z) at the codes seen, `(u, Z)`."""
        if isinstance(self.signal, float):
            return np.asarray(self.signal * phi + self.floor)
        return np.asarray(self.signal @ phi + self.floor)

    def collect(self, phi: Array, likelihood: Array, tallied: Array, sums: Sequence[Array]) -> None:
        """Add to each attribute's sums the responsibilities that are the truth's share."""
        truths = np.divide(tallied, likelihood, out=np.zeros_like(tallied), where=likelihood > 0)
        truths = self.signal * truths if isinstance(self.signal, float) else self.signal.T @ truths
        truths *= phi
        for j, digits in zip(self.attributes, self.digits, strict=True):
            add_rows(sums[j], truths, digits, 0, len(truths))


@dataclass(frozen=True, eq=False)
class Stack:
    """The reports to one questionnaire: `codes[i, c]` points into the clusters' stacked codes."""

    codes: npt.NDArray[np.int32]
    counts: Array
    seen: tuple[Seen, ...]
    bounds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cells:
    """Reports that are one cell each: those to all questionnaires of a single constant cluster.

    Every report is its own, so `rows[i]` points straight into the attributes' stacked tables; where
    a cell has fewer attributes than others, to a row of ones below them. `signal` and `floor` are
    s and o of each report.
    """

    rows: npt.NDArray[np.int32]
    counts: Array
    signal: Array
    floor: Array


def stacks(tally: Tally, design: Design) -> list[Stack | Cells]:
    """The whole tally, questionnaires without reports left out."""
    found: list[Stack | Cells] = []
    cells = []
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        clusters = questionnaire.clusters
        if group.n and len(clusters) == 1 and isinstance(clusters[0].matrix, Constant):
            cells.append((_seen(clusters[0], group.codes[0].astype(np.int64), design), group))
        elif group.n:
            found.append(_stack(group, clusters, design))
    return [*found, _cells(cells, design)] if cells else found


def _cells(parts: Sequence[tuple[Seen, Group]], design: Design) -> Cells:
    offsets = np.cumsum([0, *design.domain.shape])
    widest = max(len(seen.attributes) for seen, _ in parts)
    rows = []
    for seen, group in parts:
        padded = np.full((len(group.counts), widest), offsets[-1], dtype=np.int32)
        for at, (j, digits) in enumerate(zip(seen.attributes, seen.digits, strict=True)):
            padded[:, at] = digits + offsets[j]
        rows.append(padded)
    sizes = [len(group.counts) for _, group in parts]
    return Cells(
        np.concatenate(rows),
        np.concatenate([group.counts for _, group in parts]).astype(np.float64),
        np.repeat([float(seen.signal) for seen, _ in parts], sizes),
        np.repeat([float(seen.floor) for seen, _ in parts], sizes),
    )


def _stack(group: Group, clusters: Sequence[Cluster], design: Design) -> Stack:
    codes = np.empty((len(group.counts), len(clusters)), dtype=np.int32)
    found, bounds = [], [0]
    for c, cluster in enumerate(clusters):
        distinct, at = np.unique(group.codes[c], return_inverse=True)
        codes[:, c] = at.ravel() + bounds[-1]
        bounds.append(bounds[-1] + len(distinct))
        found.append(_seen(cluster, distinct.astype(np.int64), design))
    return Stack(codes, group.counts.astype(np.float64), tuple(found), tuple(bounds))


def _seen(cluster: Cluster, codes: npt.NDArray[np.int64], design: Design) -> Seen:
    shape, matrix = design.shape(cluster), cluster.matrix
    attributes = tuple(design.domain.index(name) for name in cluster.attributes)
    if isinstance(matrix, Constant | Public):
        return Seen(attributes, _digits(codes, shape), matrix.floor, matrix.signal)
    if matrix.cells * len(codes) > _MOST_ENTRIES:
        raise EstimateError(
            f"the matrix of {cluster.name!r} is too large for the latent class fit: "
            f"{matrix.cells:,} cells by {len(codes):,} codes"
        )
    entries = matrix.likelihood(codes)
    floor = entries.min(axis=1, keepdims=True)
    digits = _digits(np.arange(math.prod(shape)), shape)
    return Seen(attributes, digits, floor, np.ascontiguousarray(entries - floor))


def _digits(
    cells: npt.NDArray[np.int64], shape: tuple[int, ...]
) -> tuple[npt.NDArray[np.int32], ...]:
    return tuple(digit.astype(np.int32) for digit in np.unravel_index(cells, shape))
