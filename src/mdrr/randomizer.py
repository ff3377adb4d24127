"""The bulk randomizer: many records at once, the same reports as `respond` for the same bytes.

Record i uses bytes [i·k, (i+1)·k) of the stream, with k the design's `record_bytes`, in the order
in which `respond` reads them. How the records are cut into chunks changes nothing.

Chunks are small enough to stay in the processor's cache. From the system's source each draws bytes
under a key of its own, so that chunks need not wait for each other and all cores work.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design
from mdrr.errors import MdrrError, SchemaError
from mdrr.respondent import draw_bytes
from mdrr.source import Source, SystemSource

Codes: TypeAlias = npt.NDArray[Any]

_CHUNK = 1 << 16
_EACH = 1 << 10
"""People that a chunk has at least for each questionnaire of the design."""
_LARGEST = 1 << 21


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
        design: how to randomize. A questionnaire nobody drew has an empty batch.
        source: where the bytes come from; the system's CSPRNG by default.

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
    domain = design.domain
    if len(codes) != len(domain):
        raise SchemaError(f"{len(codes)} columns of codes for {len(domain)} attributes")
    columns = code_columns(codes, domain.names, domain.shape, SchemaError)
    n = len(columns[0])
    size = min(max(_CHUNK, _EACH * len(design.questionnaires)), _LARGEST)

    def part(start: int) -> list[Batch]:
        batches = _chunk([column[start : start + size] for column in columns], design, source)
        return [Batch(batch.rows + start, batch.codes) for batch in batches]

    starts = range(0, max(n, 1), size)
    if len(starts) > 1 and isinstance(source, SystemSource):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            parts = list(pool.map(part, starts))
    else:
        parts = [part(start) for start in starts]
    joined = (_joined(batches) for batches in zip(*parts, strict=True))
    return Reports(design.fingerprint, n, tuple(joined))


def code_columns(
    columns: Sequence[Any], names: Sequence[str], sizes: Sequence[int], error: type[MdrrError]
) -> list[Codes]:
    """Columns of codes as arrays, or an error naming the one that holds something else."""
    arrays = [np.asarray(column) for column in columns]
    for name, size, array in zip(names, sizes, arrays, strict=True):
        if array.ndim != 1 or (len(array) and not np.issubdtype(array.dtype, np.integer)):
            raise error(f"the codes of {name!r} are not a column of integers")
        if len(array) != len(arrays[0]):
            raise error(f"the codes of {name!r} have another length than those of {names[0]!r}")
        if len(array) and (array.min() < 0 or array.max() >= size):
            raise error(f"{name!r} has codes outside 0…{size - 1}, those of this design")
    return arrays


def cells_of(
    columns: Sequence[Codes], shape: Sequence[int], kind: type[Any] = np.int64
) -> npt.NDArray[Any]:
    """The mixed-radix cell of each combination, the first attribute most significant.

    `kind` is a type that holds all of them.

    >>> cells_of([np.array([0, 1]), np.array([2, 1])], (2, 3))
    array([2, 4])
    """
    cells = columns[0].astype(kind)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        cells *= kind(size)
        np.add(cells, column, out=cells, casting="unsafe")
    return cells


def _chunk(columns: list[Codes], design: Design, source: Source) -> list[Batch]:
    """What some people send, as a batch per questionnaire."""
    count, offset = len(columns[0]), design.selection_bytes
    stream = np.frombuffer(source.read(count * design.record_bytes), dtype=np.uint8)
    stream = stream.reshape(count, design.record_bytes)
    asked = [np.arange(count)]
    if len(design.questionnaires) > 1:
        drawn = _uniform(stream, 0, offset)
        ends = np.array(list(accumulate(q.weight for q in design.questionnaires)))[:-1]
        chosen = np.searchsorted(ends.astype(drawn.dtype), drawn, side="right")
        chosen = chosen.astype(smallest_unsigned(len(ends) + 1))  # small ones are sorted faster
        order = np.argsort(chosen, kind="stable")
        asked = np.split(order, np.searchsorted(chosen[order], np.arange(1, len(ends) + 1)))
    return [
        Batch(rows, _randomized(columns, rows, stream, offset, questionnaire.clusters, design))
        for rows, questionnaire in zip(asked, design.questionnaires, strict=True)
    ]


def _randomized(
    columns: list[Codes],
    rows: npt.NDArray[np.int64],
    stream: npt.NDArray[np.uint8],
    offset: int,
    clusters: tuple[Cluster, ...],
    design: Design,
) -> tuple[Codes, ...]:
    """What the people in some rows report of each cluster, by their bytes from the offset on."""
    everyone = len(rows) == len(stream)
    stream = stream if everyone else stream[rows]
    found = []
    for cluster in clusters:
        asked = [columns[design.domain.index(name)] for name in cluster.attributes]
        asked = asked if everyone else [column[rows] for column in asked]
        true = asked[0] if len(asked) == 1 else cells_of(asked, design.shape(cluster))
        width = draw_bytes(cluster.matrix.total)
        reported = cluster.matrix.draw(true, _uniform(stream, offset, width))
        found.append(reported.astype(smallest_unsigned(cluster.matrix.outcomes), copy=False))
        offset += width
    return tuple(found)


def _uniform(stream: npt.NDArray[np.uint8], offset: int, width: int) -> Codes:
    """The little-endian integers in columns [offset, offset + width) of the stream."""
    if width == 6:
        low, high = _uniform(stream, offset, 4), _uniform(stream, offset + 4, 2)
        return np.asarray(low | high.astype(np.uint64) << np.uint64(32))
    if not (width and len(stream)):
        return np.zeros(len(stream), f"<u{width or 1}")
    strides = stream.strides[:1]
    return np.ndarray(len(stream), f"<u{width}", stream, offset, strides).copy()


def _joined(batches: Sequence[Batch]) -> Batch:
    codes = zip(*(batch.codes for batch in batches), strict=True)
    rows = np.concatenate([batch.rows for batch in batches])
    return Batch(rows, tuple(np.concatenate(parts) for parts in codes))
