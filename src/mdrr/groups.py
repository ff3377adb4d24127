"""The reports to one questionnaire: all distinct ones, or sums and a sample."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from mdrr.counting import Integers, burt_tables, by_address, counted, distinct_rows, typed
from mdrr.design import Questionnaire
from mdrr.errors import EstimateError, TallyError, did_you_mean, whole
from mdrr.matrix import Array, Public
from mdrr.randomizer import Codes, code_columns
from mdrr.sums import SAMPLE, Sums, can_sum, joined, summed

MOST = 2**53
"""A tally holds fewer people, so that every sum of its counts is exact, also as a float."""
MOST_CODES = 2**24
"""The most codes of the distinct reports to one questionnaire; of more, sums are kept. 16 MB hold
them, and 2 million reports of 8 attributes or 280,000 of 60 are more than any estimate gains by."""
AT_ONCE = 2**22
"""Reports that are counted at a time."""

Keep: TypeAlias = Literal["auto", "reports", "sums"]
"""What a tally keeps: all distinct reports, sums and a sample, or sums where reports are many."""

_MANY = 2**14
"""Distinct reports from which on all pair tables are counted at once."""


@dataclass(frozen=True)
class Limits:
    """Of more than `most` codes, distinct reports become sums and a `sample` of so many."""

    most: int = MOST_CODES
    sample: int = SAMPLE


@dataclass(frozen=True, eq=False)
class Group:
    """The reports to one questionnaire: all of them, or sums and a sample.

    All distinct reports are in lexicographic order. A sample has its people's reports, one by one.

    Arguments:
        codes: one `unsigned (k,)` array per cluster.
        counts: how often each occurs, `int64 (k,)`.
        sizes: how many codes each cluster can report.
        sums: how often codes were reported together, if the reports are but a sample.
        limits: when distinct reports become sums.
    """

    codes: tuple[Codes, ...]
    counts: Integers
    sizes: tuple[int, ...]
    sums: Sums | None = None
    limits: Limits = Limits()

    @cached_property
    def n(self) -> int:
        """How many people reported."""
        return int(self.counts.sum()) if self.sums is None else sum(self.sums.people)

    @property
    def weights(self) -> Array:
        """How many people each report stands for: its count, or the same of all in a sample."""
        return np.asarray(self.counts * (self.n / max(int(self.counts.sum()), 1)))

    def marginal(self, cluster: int) -> Integers:
        """How often each code of one cluster was reported, `int64 (s,)`."""
        if self.sums is not None:
            return np.diagonal(self.sums.block(cluster, cluster)).copy()
        return counted(self.codes[cluster], self.counts, self.sizes[cluster])

    def pair(self, first: int, second: int) -> Integers:
        """How often each pair of codes of two clusters was reported, `int64 (s, s')`."""
        if self._sums is not None:
            return self._sums.block(first, second)
        rows, columns = self.sizes[first], self.sizes[second]
        cells = self.codes[first].astype(np.int64) * columns + self.codes[second]
        return counted(cells, self.counts, rows * columns).reshape(rows, columns)

    def reported(self, *clusters: int) -> tuple[list[Codes], Integers]:
        """Codes of some clusters that were reported together, and how often.

        The same codes may come more than once. Sums tell of two clusters at most.
        """
        if self.sums is None:
            return [self.codes[at] for at in clusters], self.counts
        if len(clusters) > 2:
            raise EstimateError(
                "this tally keeps sums of pairs of answers; a table of more needs all reports"
            )
        table = self.pair(*clusters) if len(clusters) > 1 else self.marginal(*clusters)
        cells = np.unravel_index(np.arange(table.size), table.shape)
        return list(cells), table.ravel()

    @cached_property
    def _sums(self) -> Sums | None:
        """All pair tables: as they are kept, or counted at once if there are many reports."""
        if self.sums is not None or len(self.counts) < _MANY or not can_sum(self.sizes):
            return self.sums
        tables = burt_tables(self.codes, self.sizes, self.counts)
        return Sums(tables, self.sizes, np.zeros(0, np.int64), ())

    def half(self, which: int) -> Group:
        """One of the two halves of the people that sums are kept of."""
        assert self.sums is not None
        return _of_sums(self.sums.of_half(which), self.limits)

    def as_sums(self) -> Group:
        """The same reports as sums and a sample."""
        if self.sums is not None:
            return self
        return _of_sums(
            summed(self.codes, self.counts, self.sizes, self.limits.sample), self.limits
        )

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All that is kept, as arrays: equal groups have equal ones."""
        kept = () if self.sums is None else (self.sums.halves, self.sums.numbers)
        return (self.counts, *self.codes, *kept)


def _of_sums(sums: Sums, limits: Limits) -> Group:
    return Group(sums.sample, np.ones(len(sums.numbers), np.int64), sums.sizes, sums, limits)


def bounded(group: Group) -> Group:
    """The group, as sums if it has too many distinct reports."""
    many = len(group.counts) * len(group.codes) > group.limits.most
    return group.as_sums() if many else group


def merged(groups: Iterable[Group]) -> Group:
    """Groups of one questionnaire as one; as sums, if one of them is."""
    parts = list(groups)
    sizes, limits = parts[0].sizes, max((g.limits for g in parts), key=lambda each: each.most)
    _refuse_too_many(np.array([group.n for group in parts]))
    if all(group.sums is None for group in parts):
        columns = [np.concatenate(column) for column in zip(*(g.codes for g in parts), strict=True)]
        counts = np.concatenate([group.counts for group in parts])
        return bounded(Group(*distinct_rows(columns, counts, sizes), sizes, limits=limits))
    each = [group.as_sums().sums for group in parts if group.n or group.sums is not None]
    return _of_sums(joined([sums for sums in each if sums is not None]), limits)


def _refuse_too_many(counts: npt.NDArray[Any]) -> None:
    if len(counts) and int(counts.max()) * len(counts) >= MOST and sum(counts.tolist()) >= MOST:
        raise TallyError("a tally holds fewer than 2^53 people: more cannot be counted exactly")


def group_codes(
    columns: Sequence[Any],
    counts: Any,
    questionnaire: Questionnaire,
    q: int,
    keep: Keep = "auto",
    sample: int = SAMPLE,
) -> Group:
    """The reports to one questionnaire, each occurring so often, or once.

    They are counted so many at a time that little more is held than is kept.
    """
    checked, sizes = checked_codes(columns, questionnaire, q)
    limits, rows = limits_of(questionnaire, sizes, keep, sample), len(checked[0])
    if counts is not None:
        counts = np.asarray(counts)
        whole_numbers = np.issubdtype(counts.dtype, np.integer) or not counts.size
        if counts.shape != (rows,) or not whole_numbers or counts.min(initial=1) < 1:
            raise TallyError(f"questionnaire {q} needs a positive whole count for every report")
        _refuse_too_many(counts)
        counts = counts.astype(np.int64, copy=False)
    step = max(rows, 1) if by_address(sizes, rows) else AT_ONCE
    made = Group((), np.zeros(0, np.int64), sizes, limits=limits)
    for start in range(0, max(rows, 1), step):
        here = slice(start, start + step)
        some = [column[here] for column in checked]
        times = None if counts is None else counts[here]
        if limits.most == 0 or made.sums is not None:
            group = _of_sums(summed(some, times, sizes, limits.sample), limits)
        else:
            group = bounded(Group(*distinct_rows(some, times, sizes), sizes, limits=limits))
        made = group if not start else merged([made, group])
    return made


def checked_codes(
    columns: Sequence[Any], questionnaire: Questionnaire, q: int
) -> tuple[list[Codes], tuple[int, ...]]:
    """Columns of reported codes in the smallest types, and their sizes, or an error."""
    clusters = questionnaire.clusters
    sizes = tuple(cluster.matrix.outcomes for cluster in clusters)
    if len(columns) != len(clusters):
        raise TallyError(f"questionnaire {q} has {len(clusters)} clusters, not {len(columns)}")
    arrays = code_columns(columns, [c.name for c in clusters], sizes, TallyError)
    return [typed(array, size) for array, size in zip(arrays, sizes, strict=True)], sizes


def limits_of(
    questionnaire: Questionnaire, sizes: tuple[int, ...], keep: Keep, sample: int
) -> Limits:
    """When reports to a questionnaire become sums, if so much is to be kept of them."""
    return Limits(most_codes(questionnaire, sizes, keep), whole("sample", sample, 0, TallyError))


def most_codes(questionnaire: Questionnaire, sizes: tuple[int, ...], keep: Keep) -> int:
    """Of more than how many codes sums are kept instead."""
    if keep not in (kinds := get_args(Keep)):
        raise TallyError(f"keep={keep!r} is none of {kinds}{did_you_mean(keep, kinds)}")
    public = any(isinstance(cluster.matrix, Public) for cluster in questionnaire.clusters)
    if keep == "reports" or public or not can_sum(sizes):
        return sys.maxsize  # estimates within strata need all public answers of a person together
    return MOST_CODES if keep == "auto" else 0


def parts_of(group: Group) -> dict[str, Any]:
    """What is written of a group: arrays, and lists of arrays."""
    if group.sums is None:
        return {"codes": list(group.codes), "counts": group.counts}
    sums = group.sums
    return {"sums": sums.to_tables(), "numbers": sums.numbers, "codes": list(group.codes)}


def group_of_parts(part: Mapping[str, Any], questionnaire: Questionnaire, q: int) -> Group:
    """The group of which `parts_of` gave the parts, refused if they do not go together."""
    if "sums" not in part:
        return group_codes(part["codes"], part["counts"], questionnaire, q)
    codes, sizes = checked_codes(part["codes"], questionnaire, q)
    if most_codes(questionnaire, sizes, "sums") > 0:
        raise TallyError(f"no sums are kept of questionnaire {q}: its reports are always listed")
    numbers = np.asarray(part["numbers"])
    if numbers.shape != codes[0].shape:
        raise TallyError(f"the sample of questionnaire {q} needs a number for every report")
    return _of_sums(Sums.from_tables(part["sums"], sizes, numbers, tuple(codes)), Limits())
