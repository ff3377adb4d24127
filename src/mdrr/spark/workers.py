"""What runs on Spark's workers: the code of one machine, on Arrow batches."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import zip_longest
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mdrr.columns import pa
from mdrr.design import Design
from mdrr.groups import Group
from mdrr.labels import encode_column, typed_table
from mdrr.matrix import Array
from mdrr.randomizer import randomize_codes, smallest_unsigned
from mdrr.report_frames import report_codes, report_columns, report_table, reported_labels
from mdrr.tallies import Keep, Tally, tally_codes

if TYPE_CHECKING:
    from mdrr.estimation.adjust import Factors

Work: TypeAlias = Callable[[Tally, Design, Any], Array]
"""What some reports add to a sum, given a state."""

OnBatches: TypeAlias = Callable[[Iterable[Any]], Iterator[Any]]
"""What a task makes of its batches."""

PART = "part"
"""The column of what a task found."""

TIMES = "how often"
"""The column that says how often a report occurs."""

_ROWS = 1 << 16
"""So many rows are taken at once: Spark's own batches are small."""


def named(work: OnBatches, names: list[str], batches: Iterable[Any]) -> Iterator[Any]:
    """Some work on batches whose columns get their names back."""
    return work(pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)


def randomized(design: Design, batches: Iterable[Any]) -> Iterator[Any]:
    """What the people of some batches send."""
    for table in _tables(batches):
        codes = [encode_column(table[a.name], a) for a in design.domain.attributes]
        yield from report_table(randomize_codes(codes, design), design).to_batches()


def coded(design: Design, most: int, text: bool, batches: Iterable[Any]) -> Iterator[Any]:
    """Distinct reports of labels as codes."""
    written = [a for a in report_columns(design).values() if a is not None and text]
    for table in _tables(batches):
        times = table[TIMES].to_numpy()
        with reported_labels():
            labels = typed_table(table.drop_columns(TIMES), written)
            reports = report_codes(labels, design)
        for q, batch in enumerate(reports.batches):
            columns = {"q": pa.array(np.full(len(batch.rows), q, np.int32))}
            for c, codes in zip_longest(range(most), batch.codes):
                none = pa.nulls(len(batch.rows), pa.int64())
                columns[f"c{c}"] = none if codes is None else pa.array(codes.astype(np.int64))
            columns["times"] = pa.array(times[batch.rows])
            yield pa.RecordBatch.from_pydict(columns)


def weighed(design: Design, factors: Factors, column: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Reports and their weights."""
    for table in _tables(batches):
        (batch,) = report_codes(table.select(list(report_columns(design))), design).batches
        weights = pa.array(factors.weights(batch.codes))
        yield from table.append_column(column, weights).to_batches()


def added(work: Work, design: Design, sent: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """What some reports add to a sum."""
    return _total(work(_part(each, design), design, sent.value) for each in _tables(batches))


def summed(design: Design, sample: int, batches: Iterable[Any]) -> Iterator[Any]:
    """The tally of some reports, as sums."""
    tables = _tables(batches, 4 * _ROWS)
    return _total(tallied(table, design, "sums", sample) for table in tables)


def joined(batches: Iterable[Any]) -> Iterator[Any]:
    """What several tasks found as one."""
    found = (part for batch in batches for part in batch[PART].to_pylist())
    return _total(map(pickle.loads, found))


def _total(parts: Iterable[Any]) -> Iterator[Any]:
    """Arrays or tallies added up, as a batch of one row; no batch if there are none."""
    listed = list(parts)
    if listed:
        yield pa.RecordBatch.from_pydict({PART: [pickle.dumps(reduce(add, listed))]})


def _tables(batches: Iterable[Any], rows: int = _ROWS) -> Iterator[Any]:
    """Batches as larger tables."""
    kept: list[Any] = []
    for batch in batches:
        if batch.num_rows:
            kept.append(batch)
        if sum(each.num_rows for each in kept) >= rows:
            yield pa.Table.from_batches(kept)
            kept = []
    if kept:
        yield pa.Table.from_batches(kept)


def _columns(table: Any, design: Design) -> Iterator[tuple[list[Any], Any]]:
    """The codes of each questionnaire's clusters and how often they occur."""
    which = table["q"].to_numpy()
    for q, sizes in enumerate(design.outcomes):
        rows = np.flatnonzero(which == q)
        part = table.take(rows)
        yield [part[f"c{c}"].to_numpy() for c in range(len(sizes))], part["times"].to_numpy()


def tallied(table: Any, design: Design, keep: Keep, sample: int) -> Tally:
    """The tally of some distinct reports."""
    codes, counts = zip(*_columns(table, design), strict=True)
    return tally_codes(codes, design, counts=counts, keep=keep, sample=sample)


def _part(table: Any, design: Design) -> Tally:
    """Some distinct reports as they come: in no order, and not checked again."""
    groups = []
    for (codes, times), sizes in zip(_columns(table, design), design.outcomes, strict=True):
        typed = [c.astype(smallest_unsigned(size)) for c, size in zip(codes, sizes, strict=True)]
        groups.append(Group(tuple(typed), times, tuple(sizes)))
    return Tally(design.fingerprint, tuple(groups))
