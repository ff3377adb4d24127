"""The bulk randomizer: many records at once, the same reports as `respond` for the same bytes.

Record i uses bytes [i·k, (i+1)·k) of the stream, with k the design's `record_bytes`, in the order
in which `respond` reads them. How the records are cut into chunks changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design, draw_bytes
from mdrr.errors import SchemaError
from mdrr.source import Source, SystemSource

Codes: TypeAlias = npt.NDArray[Any]

_CHUNK = 1 << 16


def smallest_unsigned(size: int) -> np.dtype[Any]:
    """The smallest unsigned integer type that holds codes below `size`.

    >>> smallest_unsigned(256), smallest_unsigned(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(max(size - 1, 0))


@dataclass(frozen=True, eq=False)
class Batch:
    """The reports of those who got one questionnaire.

    `rows: int (k,)` says whose they are, `codes` holds one `unsigned (k,)` array per cluster.
    """

    rows: npt.NDArray[np.int64]
    codes: tuple[Codes, ...]


@dataclass(frozen=True, eq=False)
class Reports:
    """Randomized records as codes: one batch per questionnaire of the design."""

    fingerprint: str
    n: int
    batches: tuple[Batch, ...]


def randomize_codes(
    codes: Sequence[Codes], design: Design, source: Source | None = None
) -> Reports:
    """Randomize records given as category codes.

    Arguments:
        codes: one `int (n,)` array per attribute, in the domain's order.
        design: how to randomize.
        source: where the bytes come from; the system's CSPRNG by default.

    Returns:
        The reports; a questionnaire nobody drew has an empty batch.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> design = independent(Domain((Attribute("a", ("x", "y")),)), p=0.5)
        >>> reports = randomize_codes([np.array([0, 1, 1])], design)
        >>> reports.n, reports.batches[0].codes[0].dtype
        (3, dtype('uint8'))
    """
    source = SystemSource() if source is None else source
    if not hasattr(source, "read"):
        raise SchemaError(
            f"source={source!r} gives no random bytes; leave it out, or for a simulation give "
            "mdrr.SeededSource(seed)"
        )
    columns = check_codes(codes, design)
    n = len(columns[0])
    parts: list[list[Batch]] = [[] for _ in design.questionnaires]
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        for q, batch in enumerate(_chunk(columns, start, stop, design, source)):
            parts[q].append(batch)
    batches = tuple(
        _join(batches, questionnaire.clusters)
        for batches, questionnaire in zip(parts, design.questionnaires, strict=True)
    )
    return Reports(design.fingerprint, n, batches)


def check_codes(codes: Sequence[Codes], design: Design) -> list[Codes]:
    """The code columns, or an error naming the column that does not fit the domain."""
    domain = design.domain
    if len(codes) != len(domain):
        raise SchemaError(f"{len(codes)} columns of codes for {len(domain)} attributes")
    columns = [np.asarray(column) for column in codes]
    for attribute, column in zip(domain.attributes, columns, strict=True):
        if column.ndim != 1 or not np.issubdtype(column.dtype, np.integer):
            raise SchemaError(f"the codes of {attribute.name!r} are not a column of integers")
        if len(column) != len(columns[0]):
            raise SchemaError(f"the column {attribute.name!r} has another length than the first")
        if len(column) and (column.min() < 0 or column.max() >= attribute.size):
            raise SchemaError(
                f"{attribute.name!r} has codes outside 0…{attribute.size - 1}; "
                "code them by the domain's categories"
            )
    return columns


def cells_of(columns: Sequence[Codes], shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """The mixed-radix cell of each combination, the first attribute most significant.

    >>> cells_of([np.array([0, 1]), np.array([2, 1])], (2, 3))
    array([2, 4])
    """
    cells = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        cells = cells * size + column.astype(np.int64)
    return cells


def _chunk(
    columns: list[Codes], start: int, stop: int, design: Design, source: Source
) -> list[Batch]:
    count = stop - start
    stream = np.frombuffer(source.read(count * design.record_bytes), dtype=np.uint8)
    stream = stream.reshape(count, design.record_bytes)
    rows = np.arange(count)
    if len(design.questionnaires) == 1:
        return [_randomize_rows(columns, start, rows, stream, 0, design.clusters, design)]
    weights = np.array(list(accumulate(q.weight for q in design.questionnaires)), dtype=np.uint64)
    width = design.selection_bytes
    chosen = np.searchsorted(weights, _uniform(stream, 0, width), side="right")
    order = np.argsort(chosen, kind="stable")
    bounds = np.searchsorted(chosen[order], np.arange(len(weights) + 1))
    return [
        _randomize_rows(columns, start, order[low:high], stream, width, q.clusters, design)
        for q, low, high in zip(design.questionnaires, bounds, bounds[1:], strict=False)
    ]


def _randomize_rows(
    columns: list[Codes],
    start: int,
    rows: npt.NDArray[np.int64],
    stream: npt.NDArray[np.uint8],
    offset: int,
    clusters: tuple[Cluster, ...],
    design: Design,
) -> Batch:
    everyone = len(rows) == len(stream)
    mine = stream if everyone else stream[rows]
    found = []
    for cluster in clusters:
        at = [design.domain.index(name) for name in cluster.attributes]
        chunk = [columns[j][start : start + len(stream)] for j in at]
        true = cells_of(chunk if everyone else [c[rows] for c in chunk], design.shape(cluster))
        width = draw_bytes(cluster.matrix.total)
        reported = cluster.matrix.draw(true, _uniform(mine, offset, width))
        found.append(reported.astype(smallest_unsigned(cluster.matrix.outcomes)))
        offset += width
    return Batch(rows + start, tuple(found))


def _uniform(stream: npt.NDArray[np.uint8], offset: int, width: int) -> npt.NDArray[np.uint64]:
    """The little-endian integers in columns [offset, offset + width) of the stream."""
    padded = np.zeros((len(stream), 8), dtype=np.uint8)
    padded[:, :width] = stream[:, offset : offset + width]
    return padded.view("<u8").reshape(-1)


def _join(batches: list[Batch], clusters: tuple[Cluster, ...]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    if not batches:
        empty = [np.empty(0, dtype=smallest_unsigned(c.matrix.outcomes)) for c in clusters]
        return Batch(np.empty(0, dtype=np.int64), tuple(empty))
    return Batch(
        np.concatenate([batch.rows for batch in batches]),
        tuple(np.concatenate(parts) for parts in zip(*(b.codes for b in batches), strict=True)),
    )
