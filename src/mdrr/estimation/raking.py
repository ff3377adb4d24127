"""Raking: scale weights to one margin after the other until all are met (Algorithm 2).

Also called iterative proportional fitting (Deming and Stephan 1940). Records and tables are raked
by the same compiled pass, very many records by two blocks of their columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
import numpy.typing as npt
from scipy import sparse

from mdrr.counting import CHUNK, smallest_address
from mdrr.errors import EstimateError
from mdrr.increments import weigh_pairs
from mdrr.matrix import Array
from mdrr.randomizer import Codes, cells_of, smallest_unsigned

_MANY_RECORDS = 2**14
"""Of fewer records a sweep over each is as fast."""
_MOST_CELLS = 2**24
"""Of a table of two blocks that is counted by address: 128 MB."""
_NEAR = 1e-10
"""How near raking comes to the margins of a table, if it does in 100 sweeps."""
LARGEST = 1e100
"""Factors beyond it may leave the range of floating point in the next sweep."""
CONTRADICTION = "the targets contradict the randomized records: no record is left with weight"


@dataclass(frozen=True, eq=False)
class Adjustment:
    """The weights found, how far the margins are from their targets, and why it stopped."""

    weights: Array
    residual: float
    sweeps: int
    stopped: Literal["tolerance", "sweeps"]
    unreached: tuple[tuple[int, int], ...] = ()


def rake(
    columns: Sequence[Codes],
    targets: Sequence[Array],
    start: npt.ArrayLike,
    *,
    tolerance: float = 1e-9,
    sweeps: int = 1000,
) -> Adjustment:
    """Algorithm 2: scale weights to each target marginal in turn until none moves.

    Arguments:
        columns: codes of the records, one `(k,)` array per attribute or cluster.
        targets: the wanted distribution of each, `(s,)`, summing to 1.
        start: initial weights, `(k,)`; how often each record occurs, or all ones.
        tolerance: stop when no margin is further than this from its target before a sweep's end.
        sweeps: stop after so many sweeps.

    Returns:
        The weights, summing to 1. Target mass on categories that no record has cannot be reached:
        those are listed in `unreached` as (column, code), and the rest is rescaled to sum 1.

    Example:
        The paper's toy data set ends at (1/2, 0, 0, 1/2).

        >>> first, second = np.array([0, 1, 1]), np.array([0, 0, 1])
        >>> half = np.array([0.5, 0.5])
        >>> found = rake([first, second], [half, half], [4, 2, 4], tolerance=1e-4, sweeps=10_000)
        >>> found.weights.round(3), found.stopped
        (array([0.5, 0. , 0.5]), 'tolerance')
    """
    given = np.asarray(start, dtype=np.float64)
    check_stop(tolerance, sweeps)
    whole = _check_margins(columns, targets, given)
    counted = np.asarray(start).dtype.kind in "iu"
    blocks = _Blocks.make(columns, [len(target) for target in targets], given, counted)
    margins = (
        blocks.margins
        if blocks is not None
        else [
            np.asarray(np.bincount(column, weights=given, minlength=len(target)), np.float64)
            for column, target in zip(columns, targets, strict=True)
        ]
    )
    wanted, unreached = reachable(margins, targets)
    found = None if blocks is None else blocks.scale(wanted, whole, tolerance, sweeps)
    if blocks is not None and found is not None:
        factors, residual, used = found
        weights = np.empty_like(given)
        _weigh(weights, given, *blocks.cells, *factors)
    else:
        weights = given / whole
        starts = np.cumsum([0, *map(len, wanted)])
        kind = smallest_unsigned(max(map(len, wanted)))
        codes = np.stack([column.astype(kind) for column in columns])
        residual, used = _scale(codes, np.concatenate(wanted), starts, weights, tolerance, sweeps)
    if residual < 0:
        raise EstimateError(CONTRADICTION)
    return Adjustment(weights, residual, used, why_stopped(residual, tolerance), unreached)


def reachable(
    margins: Sequence[Array], targets: Sequence[Array]
) -> tuple[list[Array], tuple[tuple[int, int], ...]]:
    """The targets without the categories that no record has, and which those are."""
    unreached: list[tuple[int, int]] = []
    wanted = []
    for j, (margin, target) in enumerate(zip(margins, targets, strict=True)):
        seen = margin > 0
        unreached += [(j, int(v)) for v in np.flatnonzero(~seen & (target > 0))]
        mass = target[seen].sum()
        if not mass > 0:
            raise EstimateError(f"no record has a category that target {j} allows")
        wanted.append(np.where(seen, target, 0) / mass)
    return wanted, tuple(unreached)


def why_stopped(residual: float, tolerance: float) -> Literal["tolerance", "sweeps"]:
    """Whether a residual is below the tolerance."""
    return "tolerance" if residual < tolerance else "sweeps"


def _cut(sizes: Sequence[int], records: int) -> int | None:
    """Where to cut the columns in two blocks, or None if blocks are no better than records.

    The blocks are those of which the larger is smallest.
    """

    def larger(at: int) -> int:
        return max(math.prod(sizes[:at]), math.prod(sizes[at:]))

    best = min(range(1, len(sizes)), key=larger, default=0)
    return best if best and records >= _MANY_RECORDS and larger(best) <= records else None


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Records as a table of two blocks of their columns: `cells` are each record's in both.

    A raked weight is what it was at the start times one factor per column. So the sums over records
    are those of the table, block by block, times the factors of both blocks. The table is dense, or
    sparse where most of its cells are empty. Of counts a dense one has four bytes a cell: whole
    numbers below 2^24 are exact in them.
    """

    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    cells: tuple[Codes, Codes]
    table: npt.NDArray[np.floating[Any]] | sparse.csr_array

    @classmethod
    def make(
        cls, columns: Sequence[Codes], sizes: Sequence[int], weights: Array, counted: bool
    ) -> _Blocks | None:
        """None where blocks are no better than records. Weights that are counts are `counted`."""
        cut = _cut(sizes, len(weights))
        if cut is None:
            return None
        shapes = tuple(sizes[:cut]), tuple(sizes[cut:])
        shape = math.prod(shapes[0]), math.prod(shapes[1])
        small = smallest_address(max(shape))
        cells = tuple(np.empty(len(weights), small) for _ in shape)
        for at in range(0, len(weights), CHUNK):
            here = slice(at, at + CHUNK)
            parts = [column[here] for column in columns]
            cells[0][here] = cells_of(parts[:cut], shapes[0], small)
            cells[1][here] = cells_of(parts[cut:], shapes[1], small)
        first, second = cells
        if math.prod(shape) > min(4 * len(weights), _MOST_CELLS):
            table = sparse.csr_array(sparse.coo_array((weights, cells), shape))
            return cls(shapes, (first, second), table)
        exact = counted and float(weights.sum()) < 2**24
        kind: type[np.floating[Any]] = np.float32 if exact else np.float64
        dense: npt.NDArray[np.floating[Any]] = np.zeros(math.prod(shape), kind)
        weigh_pairs(dense, first, second, shape[1], weights)
        return cls(shapes, (first, second), dense.reshape(shape))

    @property
    def margins(self) -> list[Array]:
        """The sums of the weights in each column."""
        ones = [np.ones(math.prod(shape)) for shape in self.shapes]
        both = [
            self.sums(side, ones[1 - side]).reshape(shape) for side, shape in enumerate(self.shapes)
        ]
        return [margin_of(table, axis) for table in both for axis in range(table.ndim)]

    def sums(self, side: int, factors: Array) -> Array:
        """The sums over the cells of one block, with the factors of the other."""
        if isinstance(self.table, np.ndarray):
            return (
                _row_sums(self.table, factors) if side == 0 else _column_sums(self.table, factors)
            )
        return np.asarray((self.table if side == 0 else self.table.T) @ factors)

    def scale(
        self, wanted: Sequence[Array], whole: float, tolerance: float, sweeps: int
    ) -> tuple[list[Array], float, int] | None:
        """The factors of both blocks, the largest residual and the sweeps, as `_scale` does it.

        Every sweep rakes the sums over each block's cells. The weights to start from sum to
        `whole`. Gives None where targets that cannot all be met make factors too large to compute
        with.
        """
        factors = [np.ones(math.prod(shape)) for shape in self.shapes]
        factors[1] /= whole
        cut = len(self.shapes[0])
        sides = [
            (_cells(shape), np.concatenate(targets), np.cumsum([0, *shape]))
            for shape, targets in zip(self.shapes, (wanted[:cut], wanted[cut:]), strict=True)
        ]
        residual, used = np.inf, 0
        while residual >= tolerance and used < sweeps:
            residual, used = 0.0, used + 1
            for side, (codes, targets, starts) in enumerate(sides):
                sums = factors[side] * self.sums(side, factors[1 - side])
                raked = sums.copy()
                further, _ = _scale(codes, targets, starts, raked, 0.0, 1)
                if further < 0:
                    return factors, -1.0, used
                residual = max(residual, further)
                factors[side] *= np.divide(raked, sums, out=np.zeros_like(sums), where=sums > 0)
                if factors[side].max() > LARGEST:
                    return None
        return factors, residual, used


def _cells(shape: Sequence[int]) -> Codes:
    """The codes of all cells of a table, `(axes, cells)`."""
    return np.indices(shape, dtype=smallest_unsigned(max(shape))).reshape(len(shape), -1)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _row_sums(table: npt.NDArray[np.floating[Any]], factors: Array) -> Array:
    """T f. Threads of a BLAS would wait for each other longer than this takes."""
    sums = np.zeros(table.shape[0])
    for i in range(len(sums)):
        row, total = table[i], 0.0
        for j in range(len(row)):
            total += row[j] * factors[j]
        sums[i] = total
    return sums


@numba.njit(cache=True, nogil=True)
def _column_sums(table: npt.NDArray[np.floating[Any]], factors: Array) -> Array:
    """fᵀ T."""
    sums = np.zeros(table.shape[1])
    for i in range(len(factors)):
        row, factor = table[i], factors[i]
        for j in range(len(sums)):
            sums[j] += row[j] * factor
    return sums


@numba.njit(cache=True, nogil=True)
def _weigh(
    weights: Array, start: Array, first: Codes, second: Codes, by_first: Array, by_second: Array
) -> None:
    """Each record's weight: that at the start times the factors of its cells in both blocks."""
    for i in range(len(weights)):
        weights[i] = start[i] * by_first[first[i]] * by_second[second[i]]


@numba.njit(cache=True, nogil=True)
def _scale(
    codes: Codes,
    wanted: Array,
    starts: npt.NDArray[np.int64],
    weights: Array,
    tolerance: float,
    sweeps: int,
) -> tuple[float, int]:
    """Rake the weights in place; gives the residual (−1 when no weight is left) and the sweeps.

    Scaling to one margin and summing for the next happen in the same pass over the records. Four
    sets of sums are kept, so that records of the same category do not wait for each other.
    """
    m, n = codes.shape
    sums = np.zeros((4, np.max(np.diff(starts))))
    factors = np.empty(sums.shape[1])
    for i in range(n):
        sums[0, codes[0, i]] += weights[i]
    residual = np.inf
    for sweep in range(1, sweeps + 1):
        residual = 0.0
        for j in range(m):
            target = wanted[starts[j] : starts[j + 1]]
            for v in range(len(target)):
                total = sums[0, v] + sums[1, v] + sums[2, v] + sums[3, v]
                residual = max(residual, abs(total - target[v]))
                factors[v] = target[v] / total if total > 0 else 0.0
            sums[:] = 0.0
            here, after = codes[j], codes[(j + 1) % m]
            for i in range(0, n - 3, 4):
                for k in range(4):
                    scaled = weights[i + k] * factors[here[i + k]]
                    weights[i + k] = scaled
                    sums[k, after[i + k]] += scaled
            for i in range(n - n % 4, n):
                scaled = weights[i] * factors[here[i]]
                weights[i] = scaled
                sums[0, after[i]] += scaled
        whole = sums.sum()
        if not whole > 0:
            return -1.0, sweep
        weights /= whole  # below 1 where a margin lost the records of a wanted category
        sums /= whole
        if residual < tolerance:
            return residual, sweep
    return residual, sweeps


def check_stop(tolerance: float, sweeps: int) -> None:
    """Refuse a tolerance or a number of sweeps that makes no sense."""
    if not tolerance >= 0:
        raise EstimateError(f"tolerance={tolerance} must be 0 or more")
    if sweeps < 1:
        raise EstimateError(f"sweeps={sweeps}: there must be at least one")


def _check_margins(columns: Sequence[Codes], targets: Sequence[Array], weights: Array) -> float:
    """The sum of the weights, or an error where they or the margins cannot be."""
    whole = float(weights.sum())
    if not whole > 0:
        raise EstimateError("there are no reports to adjust")
    if not math.isfinite(whole) or weights.min() < 0:
        raise EstimateError("the weights to start from must be finite and not negative")
    if not columns or len(columns) != len(targets):
        raise EstimateError(f"{len(columns)} columns and {len(targets)} targets: give one for each")
    for j, (column, target) in enumerate(zip(columns, targets, strict=True)):
        if not np.isfinite(target).all() or (target < 0).any() or abs(target.sum() - 1) > 1e-6:
            raise EstimateError(f"target {j} is not a distribution: not negative, summing to 1")
        if len(column) != len(weights) or column.min() < 0 or column.max() >= len(target):
            raise EstimateError(
                f"column {j} needs one code per record, each in 0…{len(target) - 1}"
            )
    return whole


def fit_margins(table: Array, margins: Sequence[Array]) -> Array:
    """A table raked to one-way margins.

    A row that is empty takes its margin spread as the other margins are, so any margins can be met.
    """
    if len(margins) == 1:
        return margins[0]
    spread = margins[0]
    for margin in margins[1:]:
        spread = np.multiply.outer(spread, margin)
    weights = (np.asarray(table, dtype=np.float64) + 1e-12 * spread).ravel()
    starts, wanted = np.cumsum([0, *map(len, margins)]), np.concatenate(margins)
    residual, _ = _scale(_cells(spread.shape), wanted, starts, weights, _NEAR, 100)
    if residual < 0:
        raise EstimateError("the margins leave no cell possible")
    found = weights.reshape(spread.shape)
    return found if residual < _NEAR else _met(found, margins)


def margin_of(table: Array, axis: int) -> Array:
    """The sums of a table over all axes but one."""
    return np.asarray(table.sum(axis=tuple(at for at in range(table.ndim) if at != axis)))


def _met(table: Array, margins: Sequence[Array]) -> Array:
    """A table whose margins are met though raking has not ended (Altschuler et al. 2017).

    What exceeds a margin is scaled down, axis by axis; what is then missing of every margin is
    added as the product of the missing parts.
    """
    for at, margin in enumerate(margins):
        sums = margin_of(table, at)
        ratio = np.minimum(np.divide(margin, sums, out=np.ones_like(margin), where=sums > 0), 1.0)
        table = table * ratio.reshape([-1 if axis == at else 1 for axis in range(table.ndim)])
    missing: Array = np.ones(())
    for at, margin in enumerate(margins):
        part = np.maximum(margin - margin_of(table, at), 0.0)
        missing = np.multiply.outer(missing, part / part.sum() if part.sum() > 0 else part)
    table = table + max(1 - float(table.sum()), 0.0) * missing
    return np.asarray(table / table.sum())
