"""The bulk randomizer: many records at once, the same reports as `respond` for the same bytes.

Record i uses bytes [i·k, (i+1)·k) of the stream, with k the design's `record_bytes`, in the order
in which `respond` reads them. How the records are cut into chunks changes nothing.

Many records are drawn by a compiled loop (`increments.draw_constant`), few by NumPy; the reports
are the same. Chunks of the system's bytes each have a key of their own, so that they need not wait
for each other and all cores work.

With the system's bytes and the compiled loop, the order is another one, because the loop is fast on
bytes that are neighbours and nobody can draw those bytes again. A chunk then takes its bytes when
they are needed: for all people the choice of a questionnaire, then for each questionnaire and
cluster its people's draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.cores import cores, threads
from mdrr.design import Design, Questionnaire
from mdrr.errors import MdrrError, SchemaError
from mdrr.matrix import Constant, Matrix
from mdrr.respondent import draw_bytes
from mdrr.source import Keystream, Source, SystemSource

Codes: TypeAlias = npt.NDArray[Any]

_CHUNK = 1 << 21
"""Bytes of the stream that a chunk of people uses: they fit a cache."""
_IN_TURN = 1 << 24
"""The same if they are drawn in turn, when only one draw's must fit. Every draw of a chunk asks for
the interpreter's lock, and threads that meet there lose more time than drawing takes."""
_EACH = 1 << 10
"""People that a chunk has at least for each questionnaire of the design."""
_LARGEST = 1 << 21
_LINE = 64
"""Bytes of a line of the processor's cache, where each column begins."""
AT_ONCE = 1 << 18
"""The most rows that one core works on alone: those of a batch, while others read the next."""
COMPILED = 1 << 17
"""Rows from which on compiled loops pay for being loaded."""


def compiled(rows: int) -> Any:
    """The compiled loops if there are so many rows that loading them pays, and if they load."""
    if rows < COMPILED:
        return None
    try:
        return import_module("mdrr.increments")
    except ImportError:
        return None


def smallest_unsigned(size: int) -> np.dtype[Any]:
    """The smallest unsigned integer type that holds codes below `size`.

    >>> smallest_unsigned(256), smallest_unsigned(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(max(size - 1, 0))


@dataclass(frozen=True, eq=False)
class Batch:
    """The reports of those who got one questionnaire.

    `asked: int (k,)` says whose they are; None if they are everybody's, in order. `codes` holds
    one `unsigned (k,)` array per cluster.
    """

    asked: npt.NDArray[np.int64] | None
    codes: tuple[Codes, ...]

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """Whose the reports are, `(k,)`."""
        return np.arange(len(self.codes[0])) if self.asked is None else self.asked


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
    columns = _columns(codes, domain.names, SchemaError)
    n, asked = len(columns[0]), [_draws(q, design) for q in design.questionnaires]
    loops, system = compiled(n), source if isinstance(source, SystemSource) else None
    in_turn = system is not None and loops is not None
    size = (_IN_TURN if in_turn else _CHUNK) // max(design.record_bytes, 1)
    if in_turn:
        size = min(size, -(-n // cores()))
    size = min(max(size, _EACH * (len(asked) - 1), 1), _LARGEST)
    whole = _room(asked[0], n if len(asked) == 1 else 0)
    rooms: list[npt.NDArray[np.uint8]] = []
    widest = 6 if in_turn else design.record_bytes

    def part(start: int) -> list[Batch]:
        some = [column[start : start + size] for column in columns]
        _check_codes(some, domain.names, domain.shape, SchemaError)
        people = len(some[0])
        room = rooms.pop() if rooms else np.empty(min(size, n) * widest, np.uint8)
        if loops and system:
            octets: _ByRecord | _InTurn = _InTurn(people, system.stream(), room)
        else:
            octets = _ByRecord(_filled(room, source, people, design.record_bytes))
        batches = []
        if len(asked) == 1:
            here = [codes[start : start + size] for codes in whole]
            _draw(some, octets, None, asked[0], here, loops)
        else:
            for rows, draws in zip(_dealt(octets, design), asked, strict=True):
                codes = _room(draws, len(rows))
                _draw(some, octets, rows, draws, codes, loops)
                batches.append(Batch(rows + start, codes))
        rooms.append(room)
        return batches

    starts = range(0, max(n, 1), size)
    if n > AT_ONCE and system:
        parts = list(threads().map(part, starts))
    else:
        parts = [part(start) for start in starts]
    joined = tuple(map(_joined, zip(*parts, strict=True)))
    return Reports(design.fingerprint, n, joined or (Batch(None, whole),))


def code_columns(
    columns: Sequence[Any], names: Sequence[str], sizes: Sequence[int], error: type[MdrrError]
) -> list[Codes]:
    """Columns of codes as arrays, or an error naming the one that holds something else."""
    arrays = _columns(columns, names, error)
    _check_codes(arrays, names, sizes, error)
    return arrays


def _columns(columns: Sequence[Any], names: Sequence[str], error: type[MdrrError]) -> list[Codes]:
    """Columns as arrays of integers, all of one length."""
    arrays = [np.asarray(column) for column in columns]
    for name, array in zip(names, arrays, strict=True):
        if array.ndim != 1 or (len(array) and not np.issubdtype(array.dtype, np.integer)):
            raise error(f"the codes of {name!r} are not a column of integers")
        if len(array) != len(arrays[0]):
            raise error(f"the codes of {name!r} have another length than those of {names[0]!r}")
    return arrays


def _check_codes(
    arrays: Sequence[Codes], names: Sequence[str], sizes: Sequence[int], error: type[MdrrError]
) -> None:
    """Refuse codes of no category."""
    for name, size, array in zip(names, sizes, arrays, strict=True):
        negative = array.dtype.kind == "i" and array.min(initial=0) < 0
        if negative or array.max(initial=0) >= size:
            raise error(f"{name!r} has codes outside 0…{size - 1}, those of this design")


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


def _filled(
    room: npt.NDArray[np.uint8], source: Source, people: int, each: int
) -> npt.NDArray[np.uint8]:
    """The bytes of so many people, `(people, each)`."""
    room = room[: people * each]
    if hasattr(source, "fill"):
        source.fill(room)
    else:
        room[:] = np.frombuffer(source.read(len(room)), np.uint8)
    return room.reshape(people, each)


@dataclass(frozen=True, eq=False)
class _ByRecord:
    """The bytes of some people, `(people, record_bytes)`."""

    stream: npt.NDArray[np.uint8]

    def uniform(self, rows: npt.NDArray[np.int64] | None, offset: int, width: int) -> Codes:
        """The integers that decide a draw of everybody, or of some."""
        drawn = _uniform(self.stream, offset, width)
        return np.ascontiguousarray(drawn) if rows is None else drawn[rows]


@dataclass(frozen=True, eq=False)
class _InTurn:
    """Bytes of the system for some people, made when they are asked for."""

    people: int
    stream: Keystream
    room: npt.NDArray[np.uint8]

    def uniform(self, rows: npt.NDArray[np.int64] | None, offset: int, width: int) -> Codes:
        """As many new integers, until the next are asked for."""
        count = self.people if rows is None else len(rows)
        room = self.room[: count * width]
        if len(room):
            self.stream.fill(room)
        if width == 6:
            return _long(room[: 4 * count].view("<u4"), room[4 * count :].view("<u2"))
        return room.view(f"<u{width}") if width else np.zeros(count, np.uint8)


def _dealt(octets: _ByRecord | _InTurn, design: Design) -> list[npt.NDArray[np.int64]]:
    """Who is asked each questionnaire."""
    drawn = octets.uniform(None, 0, design.selection_bytes)
    ends = np.array(list(accumulate(q.weight for q in design.questionnaires)))[:-1]
    chosen = np.searchsorted(ends.astype(drawn.dtype), drawn, side="right")
    chosen = chosen.astype(smallest_unsigned(len(ends) + 1))  # small ones are sorted faster
    order = np.argsort(chosen, kind="stable")
    return np.split(order, np.searchsorted(chosen[order], np.arange(1, len(ends) + 1)))


class _Draw(NamedTuple):
    """How a cluster is drawn: its attributes, the bytes of a record that decide, and the matrix."""

    places: tuple[int, ...]
    shape: tuple[int, ...]
    offset: int
    width: int
    matrix: Matrix
    inverse: npt.NDArray[np.floating[Any]] | None


def _draws(asked: Questionnaire, design: Design) -> list[_Draw]:
    """How each cluster of a questionnaire is drawn."""
    offset, found = design.selection_bytes, []
    for cluster in asked.clusters:
        matrix, width = cluster.matrix, draw_bytes(cluster.matrix.total)
        places, shape = map(design.domain.index, cluster.attributes), design.shape(cluster)
        found.append(_Draw(tuple(places), shape, offset, width, matrix, inverse_of(matrix)))
        offset += width
    return found


def inverse_of(matrix: Matrix) -> npt.NDArray[np.floating[Any]] | None:
    """1/b, rounded up, if the compiled loop draws from the matrix.

    The whole part of u·(1/b) is q = u // b although both are rounded. It is at least u/b, hence at
    least q. Rounding twice, with t bits, adds less than 2^(2−t) of u/b, and u/b is 1/b or more
    below q + 1. That is enough if u < 2^(t−2): of u < 2^16 for single precision (t = 24), of
    u < 2^48 for double (t = 53). The quotient must be below 2^31, where the loop's integers end.
    """
    if not isinstance(matrix, Constant) or matrix.total // matrix.off >= 2**31:
        return None
    kind = np.float32 if matrix.total <= 2**16 else np.float64
    return np.asarray(np.nextafter(np.array([1 / matrix.off], kind), kind(2)))


def _room(draws: Sequence[_Draw], count: int) -> tuple[Codes, ...]:
    """Room for the codes of so many reports, in one piece: the system gives that at less cost."""
    kinds = [smallest_unsigned(draw.matrix.outcomes) for draw in draws]
    sizes = [-(-count * kind.itemsize // _LINE) * _LINE for kind in kinds]
    parts = np.split(np.empty(sum(sizes), np.uint8), np.cumsum(sizes)[:-1])
    return tuple(part.view(kind)[:count] for part, kind in zip(parts, kinds, strict=True))


def _draw(
    columns: list[Codes],
    octets: _ByRecord | _InTurn,
    rows: npt.NDArray[np.int64] | None,
    draws: Sequence[_Draw],
    into: Sequence[Codes],
    loops: Any,
) -> None:
    """Write into arrays what everybody reports of each cluster, or some, by their bytes."""
    for (places, shape, offset, width, matrix, inverse), out in zip(draws, into, strict=True):
        uniform = octets.uniform(rows, offset, width)
        true = [columns[place] if rows is None else columns[place][rows] for place in places]
        fast = loops and inverse is not None
        kind = out.dtype.type if fast else np.int64
        cells = true[0] if len(true) == 1 else cells_of(true, shape, kind)
        if fast:
            loops.draw_constant(out, cells.astype(kind, copy=False), uniform, inverse, matrix.cells)
        else:
            out[:] = matrix.draw(cells, uniform)


def _uniform(stream: npt.NDArray[np.uint8], offset: int, width: int) -> Codes:
    """The little-endian integers in columns [offset, offset + width) of the stream."""
    if width == 6:
        return _long(_uniform(stream, offset, 4), _uniform(stream, offset + 4, 2))
    if not (width and len(stream)):
        return np.zeros(len(stream), f"<u{width or 1}")
    return np.ndarray(len(stream), f"<u{width}", stream, offset, stream.strides[:1])


def _long(low: Codes, high: Codes) -> Codes:
    """Integers of six bytes."""
    return np.asarray(low | high.astype(np.uint64) << np.uint64(32))


def _joined(batches: Sequence[Batch]) -> Batch:
    codes = zip(*(batch.codes for batch in batches), strict=True)
    rows = np.concatenate([batch.rows for batch in batches])
    return Batch(rows, tuple(np.concatenate(parts) for parts in codes))
