"""Tallies: how often each report occurs. The one seam between data and mathematics.

Engines make tallies, estimators eat them. A tally adds, so chunks, days and machines merge. Reports
that are too many to list are kept as sums, with a sample of them (`mdrr.sums`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from mdrr.counting import Integers, count_rows, occurring_rows
from mdrr.design import Design
from mdrr.display import tally_html
from mdrr.errors import EstimateError, TallyError
from mdrr.groups import (
    AT_ONCE,
    MOST,
    Group,
    bounded,
    checked_codes,
    group_codes,
    group_of_parts,
    limits_of,
    merged,
    parts_of,
)
from mdrr.groups import Keep as Keep
from mdrr.randomizer import Batch, Codes, Reports, smallest_unsigned
from mdrr.response import Report, check_fingerprint
from mdrr.sums import SAMPLE

FORMATS = (1, 2)
"""The versions of the tally's written form: distinct reports alone, and with sums."""
MOST_CELLS = 2**22
"""The most reports that can occur for which batches are counted into a table of all: 32 MB."""


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each report occurs, one group per questionnaire of a design.

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
    away: Away | None = None
    """All reports, where an engine holds them and here are sums."""
    library: str | None = None
    """The library of the frame in which the reports came: frames of results are of it too."""

    def __repr__(self) -> str:
        return f"<Tally of design {self.fingerprint[:12]}: {self.n:,} reports, {self.kept}>"

    def _repr_html_(self) -> str:
        return tally_html(self)

    @cached_property
    def n(self) -> int:
        """How many people reported."""
        return sum(group.n for group in self.groups)

    @property
    def distinct(self) -> int | None:
        """How many different reports there are; None if some are kept as sums."""
        return None if self.has_sums else self.listed

    @property
    def listed(self) -> int:
        """How many reports are listed: all distinct ones, or a sample where there are sums."""
        return sum(len(group.counts) for group in self.groups)

    @property
    def has_sums(self) -> bool:
        """Whether some reports are kept as sums."""
        return any(group.sums is not None for group in self.groups)

    @property
    def kept(self) -> str:
        """What is kept of the reports, in words."""
        if not self.has_sums:
            return f"{self.listed:,} distinct"
        return f"kept as sums with a sample of {self.listed:,}" if self.listed else "kept as sums"

    def need_reports(self, what: str) -> None:
        """Refuse sums without a sample, for what reads reports."""
        if any(group.n and not len(group.counts) for group in self.groups):
            raise EstimateError(
                f"{what} reads reports, and this tally holds sums alone. Tally the reports with a "
                "sample, or use method='auto'"
            )

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if other.fingerprint != self.fingerprint:
            raise TallyError(
                f"these tallies belong to different designs ({self.fingerprint[:12]}…, "
                f"{other.fingerprint[:12]}…) and cannot be added"
            )
        groups = [merged([a, b]) for a, b in zip(self.groups, other.groups, strict=True)]
        library = self.library if self.library == other.library else None
        return Tally(self.fingerprint, tuple(groups), library=library)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally) or other.fingerprint != self.fingerprint:
            return False
        both = [(a.arrays(), b.arrays()) for a, b in zip(self.groups, other.groups, strict=True)]
        return all(
            len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))
            for mine, theirs in both
        )

    __hash__ = None  # type: ignore[assignment]

    def check(self, design: Design) -> None:
        """Refuse a design whose fingerprint is not the tally's."""
        check_fingerprint(self.fingerprint, design)

    def to_dict(self) -> dict[str, Any]:
        """The tally as JSON-ready integers."""
        return {
            "mdrr-tally": FORMATS[self.has_sums],
            "design": self.fingerprint,
            "questionnaires": [
                {key: _to_lists(value) for key, value in parts_of(group).items()}
                for group in self.groups
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
            parts = [_from_lists(part) for part in fields["questionnaires"]]
            wanted = FORMATS[any("sums" in part for part in parts)]
            if fields["mdrr-tally"] != wanted:
                raise TallyError(f"this tally has format {fields['mdrr-tally']!r}, not {wanted}")
            stated = str(fields["design"])
        except TallyError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TallyError(f"this is not a tally: {error!r}") from None
        check_fingerprint(stated, design)
        return tally_of_parts(parts, design)


@runtime_checkable
class Away(Protocol):
    """Reports that an engine holds, too many to be brought here."""

    @property
    def n(self) -> int:
        """How many people reported."""
        ...

    def add_up(
        self, work: Callable[[Tally, Design, Any], npt.NDArray[np.float64]], state: Any
    ) -> npt.NDArray[np.float64]:
        """The sum of `work(some of the reports, design, state)` over all of them."""
        ...


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


def tally_responses(
    reports: Iterable[object], design: Design, *, keep: Keep = "auto", sample: int = SAMPLE
) -> Tally:
    """Count single reports, or their JSON, parsed, each checked against the design."""
    made = [given if isinstance(given, Report) else Report.from_dict(given) for given in reports]
    for report in made:
        report.check(design)
    return tally_codes(gathered(made, design), design, keep=keep, sample=sample)


def tally_codes(
    codes: Sequence[Sequence[Codes]] | Reports,
    design: Design,
    *,
    counts: Sequence[Sequence[int] | npt.NDArray[np.integer[Any]]] | None = None,
    keep: Keep = "auto",
    sample: int = SAMPLE,
) -> Tally:
    """Count reports given as codes, checking every code against the design.

    The codes are what `randomize_codes` gives, or per questionnaire one integer array per cluster;
    `counts` says how often each of these occurs, once by default. `keep` says what is kept of them:
    all distinct `"reports"`, or `"sums"` and a sample of so many; by default sums where distinct
    reports are too many.
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
    given: Sequence[Any] = [None] * len(codes) if counts is None else counts
    if len(given) != len(codes):
        raise TallyError(f"counts for {len(given)} questionnaires, codes for {len(codes)}")
    every = zip(codes, design.questionnaires, given, strict=True)
    groups = [
        group_codes(columns, times, questionnaire, q, keep, sample)
        for q, (columns, questionnaire, times) in enumerate(every)
    ]
    return Tally(design.fingerprint, tuple(groups))


def tally_batches(
    batches: Iterable[Reports], design: Design, *, keep: Keep = "auto", sample: int = SAMPLE
) -> Tally:
    """Count reports that come in batches; what is held at a time is bounded by the tally."""
    total, waiting, tables = None, list[Reports](), list[Integers]()
    every = list(zip(design.questionnaires, design.outcomes, strict=True))
    limits = [limits_of(asked, sizes, keep, sample) for asked, sizes in every]
    cells = [math.prod(sizes) for sizes in design.outcomes]
    if keep != "sums" and sum(cells) <= MOST_CELLS:
        tables = [np.zeros(each, dtype=np.int64) for each in cells]
    people = 0
    for batch in batches:
        check_fingerprint(batch.fingerprint, design)
        people += batch.n
        if tables:  # there is a cell for every report that can occur
            for q, (table, part) in enumerate(zip(tables, batch.batches, strict=True)):
                count_rows(table, *checked_codes(part.codes, design.questionnaires[q], q), people)
            continue
        waiting.append(batch)
        # Counting as many as are listed already keeps the merging from costing more than that.
        if sum(each.n for each in waiting) >= max(AT_ONCE, total.listed if total else 0):
            total, waiting = _added(total, waiting, design, keep, sample), []
    if waiting:
        total = _added(total, waiting, design, keep, sample)
    if not people:
        raise TallyError("there are no reports to tally")
    if total is not None:
        return total
    groups = [
        bounded(Group(*occurring_rows(table, sizes), sizes, limits=each))
        for table, sizes, each in zip(tables, design.outcomes, limits, strict=True)
    ]
    return Tally(design.fingerprint, tuple(groups))


def _added(
    total: Tally | None, waiting: Sequence[Reports], design: Design, keep: Keep, sample: int
) -> Tally:
    groups = []
    for q, (questionnaire, *same) in enumerate(
        zip(design.questionnaires, *(each.batches for each in waiting), strict=True)
    ):
        columns = [np.concatenate(c) for c in zip(*(batch.codes for batch in same), strict=True)]
        summed = total is not None and total.groups[q].sums is not None
        groups.append(
            group_codes(columns, None, questionnaire, q, "sums" if summed else keep, sample)
        )
    found = Tally(design.fingerprint, tuple(groups))
    return found if total is None else total + found


def tally_of_parts(parts: Sequence[Mapping[str, Any]], design: Design) -> Tally:
    """The tally of whose groups `parts_of` gave the parts, validated against its design."""
    if len(parts) != len(design.questionnaires):
        raise TallyError(
            f"codes for {len(parts)} questionnaires, the design has {len(design.questionnaires)}"
        )
    groups = [
        group_of_parts(part, questionnaire, q)
        for q, (part, questionnaire) in enumerate(zip(parts, design.questionnaires, strict=True))
    ]
    return Tally(design.fingerprint, tuple(groups))


def _to_lists(value: Any) -> Any:
    return [each.tolist() for each in value] if isinstance(value, list) else value.tolist()


def _from_lists(part: Mapping[str, Any]) -> dict[str, Any]:
    """A questionnaire's part of JSON as arrays, refused if anything is no whole number."""
    names = ("sums", "numbers", "codes") if "sums" in part else ("counts", "codes")
    return {
        name: [_integers(each) for each in part[name]]
        if name in ("sums", "codes")
        else _integers(part[name])
        for name in names
    }


def _integers(values: object) -> Codes:
    if not isinstance(values, list) or any(type(v) is not int or v >= MOST for v in values):
        raise TallyError("a tally holds lists of whole numbers below 2^53")
    return np.asarray(values)
