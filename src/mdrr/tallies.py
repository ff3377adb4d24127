"""Tallies: distinct reports with multiplicities. The one seam between data and mathematics.

Engines make tallies, estimators eat them. A tally adds, so chunks, days and machines merge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.design import Design
from mdrr.errors import TallyError
from mdrr.randomizer import Batch, Codes, Reports, code_columns, smallest_unsigned
from mdrr.response import Report, check_fingerprint

FORMAT = 1
"""The version of the tally's JSON form."""
MOST = 2**53
"""A tally holds fewer people, so that every sum of its counts is exact, also as a float."""


@dataclass(frozen=True, eq=False)
class Group:
    """The distinct reports to one questionnaire, in lexicographic order.

    `codes` has one `unsigned (k,)` array per cluster, `counts: int64 (k,)` how often each occurs,
    `sizes` how many codes each cluster can report.
    """

    codes: tuple[Codes, ...]
    counts: npt.NDArray[np.int64]
    sizes: tuple[int, ...]

    @cached_property
    def n(self) -> int:
        """How many people reported."""
        return int(self.counts.sum())

    def marginal(self, cluster: int) -> npt.NDArray[np.int64]:
        """How often each code of one cluster was reported, `int64 (s,)`."""
        return counted(self.codes[cluster], self.counts, self.sizes[cluster])

    def pair(self, first: int, second: int) -> npt.NDArray[np.int64]:
        """How often each pair of codes of two clusters was reported, `int64 (s, s')`."""
        rows, columns = self.sizes[first], self.sizes[second]
        cells = self.codes[first].astype(np.int64) * columns + self.codes[second]
        return counted(cells, self.counts, rows * columns).reshape(rows, columns)


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct reports with multiplicities, one group per questionnaire of a design.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> design = independent(Domain((Attribute("a", ("x", "y")),)), p=0.5)
        >>> day = tally_codes([[np.array([0, 1, 1])]], design)
        >>> (day + day).groups[0].counts
        array([2, 4])
    """

    fingerprint: str
    groups: tuple[Group, ...]

    def __repr__(self) -> str:
        counts = f"{self.n:,} reports, {self.distinct:,} distinct"
        return f"<Tally of design {self.fingerprint[:12]}: {counts}>"

    @property
    def n(self) -> int:
        """How many people reported."""
        return sum(group.n for group in self.groups)

    @property
    def distinct(self) -> int:
        """How many different reports there are."""
        return sum(len(group.counts) for group in self.groups)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if other.fingerprint != self.fingerprint:
            raise TallyError(
                f"these tallies belong to different designs ({self.fingerprint[:12]}…, "
                f"{other.fingerprint[:12]}…) and cannot be added"
            )
        groups = [merged([a, b]) for a, b in zip(self.groups, other.groups, strict=True)]
        return Tally(self.fingerprint, tuple(groups))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and other.fingerprint == self.fingerprint
            and all(
                np.array_equal(mine, theirs)
                for a, b in zip(self.groups, other.groups, strict=True)
                for mine, theirs in zip((a.counts, *a.codes), (b.counts, *b.codes), strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def check(self, design: Design) -> None:
        """Refuse a design whose fingerprint is not the tally's."""
        check_fingerprint(self.fingerprint, design)

    def to_dict(self) -> dict[str, Any]:
        """The tally as JSON-ready integers."""
        return {
            "mdrr-tally": FORMAT,
            "design": self.fingerprint,
            "questionnaires": [
                {"codes": [c.tolist() for c in g.codes], "counts": g.counts.tolist()}
                for g in self.groups
            ],
        }

    def to_json(self) -> str:
        """The tally as JSON."""
        return json.dumps(self.to_dict(), separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, design: Design) -> Tally:
        """The tally written by `to_json`, validated against the design it belongs to."""
        try:
            fields = json.loads(text)
            if "mdrr" in fields:
                raise TallyError("this is a design, not a tally or reports")
            if fields["mdrr-tally"] != FORMAT:
                raise TallyError(f"this tally has format {fields['mdrr-tally']!r}, not {FORMAT}")
            codes = [[_integers(c) for c in g["codes"]] for g in fields["questionnaires"]]
            counts = [_integers(g["counts"]) for g in fields["questionnaires"]]
            stated = str(fields["design"])
        except TallyError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise TallyError(f"this is not a tally: {error!r}") from None
        check_fingerprint(stated, design)
        return tally_codes(codes, design, counts=counts)


def gathered(reports: Sequence[Report], design: Design) -> Reports:
    """Single reports that were checked against the design, as arrays."""
    which = np.array([report.questionnaire for report in reports], dtype=np.int64)
    batches = []
    for q, sizes in enumerate(design.outcomes):
        rows = np.flatnonzero(which == q)
        table = np.array([reports[i].codes for i in rows.tolist()], dtype=np.int64)
        columns = table.reshape(-1, len(sizes)).T
        codes = [c.astype(smallest_unsigned(size)) for c, size in zip(columns, sizes, strict=True)]
        batches.append(Batch(rows, tuple(codes)))
    return Reports(design.fingerprint, len(reports), tuple(batches))


def tally_responses(reports: Iterable[object], design: Design) -> Tally:
    """Count single reports, or their JSON, parsed, each checked against the design."""
    made = [given if isinstance(given, Report) else Report.from_dict(given) for given in reports]
    for report in made:
        report.check(design)
    return tally_codes(gathered(made, design), design)


def tally_codes(
    codes: Sequence[Sequence[Codes]] | Reports,
    design: Design,
    *,
    counts: Sequence[Sequence[int] | npt.NDArray[np.integer[Any]]] | None = None,
) -> Tally:
    """Count distinct reports given as codes, checking every code against the design.

    The codes are what `randomize_codes` gives, or per questionnaire one integer array per cluster;
    `counts` says how often each of these occurs, once by default.
    """
    if isinstance(codes, Reports):
        if counts is not None:
            raise TallyError("counts go with arrays of codes; Reports occur once each")
        check_fingerprint(codes.fingerprint, design)
        codes = [batch.codes for batch in codes.batches]
    if len(codes) != len(design.questionnaires):
        raise TallyError(
            f"codes for {len(codes)} questionnaires, the design has {len(design.questionnaires)}"
        )
    groups = []
    for q, (columns, questionnaire) in enumerate(zip(codes, design.questionnaires, strict=True)):
        clusters = questionnaire.clusters
        if len(columns) != len(clusters):
            raise TallyError(f"questionnaire {q} has {len(clusters)} clusters, not {len(columns)}")
        sizes = tuple(cluster.matrix.outcomes for cluster in clusters)
        columns = code_columns(columns, [c.name for c in clusters], sizes, TallyError)
        times = np.asarray(np.ones(len(columns[0]), np.int64) if counts is None else counts[q])
        if times.shape != columns[0].shape or (
            len(times) and (not np.issubdtype(times.dtype, np.integer) or times.min() < 1)
        ):
            raise TallyError(f"questionnaire {q} needs a positive whole count for every report")
        typed = [c.astype(smallest_unsigned(s)) for c, s in zip(columns, sizes, strict=True)]
        groups.append(_distinct(typed, times, sizes))
    return Tally(design.fingerprint, tuple(groups))


def _integers(values: object) -> Codes:
    if not isinstance(values, list) or any(type(v) is not int or v >= MOST for v in values):
        raise TallyError("a tally holds lists of whole numbers below 2^53")
    return np.asarray(values)


def row_keys(columns: Sequence[Codes], sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """A number for each row of codes, equal and ordered as the rows are.

    It is the row's mixed-radix number, replaced by its rank whenever it would overflow.
    """
    key, room = columns[0].astype(np.int64), sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if room * size >= 2**63:
            values, key = np.unique(key, return_inverse=True)
            room = len(values)
        key = key * size + column
        room *= size
    return key


def _distinct(columns: Sequence[Codes], counts: npt.NDArray[Any], sizes: tuple[int, ...]) -> Group:
    """Equal rows as one, with the sum of their counts."""
    if len(counts) and int(counts.max()) * len(counts) >= MOST and sum(counts.tolist()) >= MOST:
        raise TallyError("a tally holds fewer than 2^53 people: more cannot be counted exactly")
    keys = row_keys(columns, sizes)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return Group(tuple(c[first] for c in columns), counted(inverse, counts, len(first)), sizes)


def merged(groups: Iterable[Group]) -> Group:
    """Groups of one questionnaire as one."""
    parts = list(groups)
    columns = [np.concatenate(column) for column in zip(*(g.codes for g in parts), strict=True)]
    return _distinct(columns, np.concatenate([g.counts for g in parts]), parts[0].sizes)


def counted(codes: Codes, counts: npt.NDArray[Any], size: int) -> npt.NDArray[np.int64]:
    """How many people have each code below a size, `int64 (size,)`; exact below 2^53."""
    return np.rint(np.bincount(codes, weights=counts, minlength=size)).astype(np.int64)
