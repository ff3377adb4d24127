"""Data frames in and out: pandas, Polars (eager and lazy), PyArrow, through narwhals.

A frame of people has one column per attribute; a frame of reports has the same columns with
randomized labels, null where a person was not asked, and a `questionnaire` column when the design
has more than one. A cluster whose reports are no combination of labels has a column of numbers
instead, `a+b (code)`. Columns of other names never leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.columns import require
from mdrr.design import QUESTIONNAIRE, Cluster, Design
from mdrr.domain import Attribute, Domain, known
from mdrr.errors import SchemaError, TallyError
from mdrr.labels import ABSENT, as_arrow, decode_column, encode_column, is_number
from mdrr.randomizer import Batch, Codes, Reports, cells_of, randomize_codes
from mdrr.response import Report, check_fingerprint
from mdrr.source import Source
from mdrr.tallies import Tally, tally_codes, tally_responses

FINGERPRINT = "mdrr.fingerprint"
"""The key under which a frame or file of reports carries its design's fingerprint."""


def encode(frame: Any, domain: Domain) -> list[Codes]:
    """A frame's labels as codes, one column per attribute in the domain's order.

    Arguments:
        frame: pandas, Polars (eager or lazy) or PyArrow; other columns are ignored.
        domain: the declared attributes. Labels may be text, categoricals, integers, booleans;
            numbers are binned where the attribute is numeric; nulls need a declared category.

    Example:
        >>> import polars as pl
        >>> domain = Domain((Attribute("smokes", ("no", "yes")), Attribute("sex", ("F", "M"))))
        >>> encode(pl.DataFrame({"sex": ["M", "M"], "smokes": ["no", "yes"]}), domain)
        [array([0, 1], dtype=uint8), array([1, 1], dtype=uint8)]
    """
    native = _read(frame, domain.names)
    return [encode_column(native[a.name], a) for a in domain.attributes]


def randomize(
    people: Any, design: Design, *, source: Source | None = None, keep_index: bool = False
) -> Any:
    """Randomize a frame of true records: what each person would send, in one go.

    Arguments:
        people: one row per person, one column per attribute; pandas, Polars or PyArrow.
        design: how to randomize.
        source: randomness; the system's CSPRNG by default. A `SeededSource` is for simulation.
        keep_index: give the reports the index of a pandas frame. It links every report to its
            person and is not randomized, so it is left behind by default.

    Returns:
        The same kind of frame, in the same row order, with the design's columns only; numbers come
        back as their bins.
    """
    if not isinstance(design, Design):
        raise SchemaError("the people come first, then the design: mdrr.randomize(people, design)")
    reports = randomize_codes(encode(people, design.domain), design, source)
    return _like(people, report_table(reports, design), design, keep_index)


def tally(reports: Any, design: Design, *, counts: Sequence[Any] | None = None) -> Tally:
    """Count distinct reports, in whatever form they come.

    Arguments:
        reports: a frame as `randomize` gives it; what `randomize_codes` gives; single Reports, or
            their JSON, parsed; or, per questionnaire, one integer array of codes per cluster.
        design: the design they were made under; checked wherever the reports state a fingerprint.
        counts: with arrays of codes, how often each report occurs, an integer array per
            questionnaire; once by default.

    Example:
        >>> from mdrr.protocols import independent
        >>> from mdrr.respondent import respond
        >>> design = independent(Domain((Attribute("a", ("x", "y")),)), p=0.5)
        >>> tally([respond({"a": "x"}, design) for _ in range(9)], design).n
        9
        >>> tally([[[0, 1]]], design, counts=[[70, 30]]).n
        100
    """
    first: Any = design
    if not isinstance(first, Design):
        raise TallyError("the reports come first, then the design: mdrr.tally(reports, design)")
    if isinstance(reports, Tally):
        raise TallyError("this is a tally already; tallies add up with +")
    if isinstance(reports, Report | Mapping):
        raise TallyError("a single report goes in a list: mdrr.tally([report], design)")
    if isinstance(reports, Iterator | set | frozenset):
        reports = list(reports)
    listed = isinstance(reports, list | tuple)
    if isinstance(reports, Reports) or (listed and _are_codes(reports, counts)):
        return tally_codes(reports, design, counts=counts)
    if counts is not None:
        raise TallyError("counts go with arrays of codes; other reports occur once each")
    if listed:
        return tally_responses(reports, design)
    return tally_codes(report_codes(reports, design), design)


def _are_codes(reports: Sequence[Any], counts: object) -> bool:
    """Whether a list holds codes, questionnaire by questionnaire, and not single reports."""
    single = (Report, Mapping, str, bytes)
    return counts is not None or (
        bool(reports) and not isinstance(reports[0], single) and hasattr(reports[0], "__len__")
    )


def infer_domain(frame: Any, columns: Iterable[str] | None = None) -> Domain:
    """The domain that occurs in a frame, for simulation only: on private data it is a leak.

    Arguments:
        frame: true records.
        columns: which columns; all by default.

    Example:
        >>> import polars as pl
        >>> infer_domain(pl.DataFrame({"n": [10, 9, 10]})).attribute("n").categories
        (9, 10)
    """
    native = _read(frame, None if columns is None else tuple(columns))
    return Domain(tuple(_occurring(native[name], name) for name in native.columns))


def stated_fingerprint(frame: Any) -> str | None:
    """The fingerprint a frame of reports carries, if its kind can carry one."""
    kind = _wrap(frame).implementation
    if kind.is_pyarrow():
        stated = (frame.schema.metadata or {}).get(FINGERPRINT.encode())
        return None if stated is None else str(stated.decode())
    return frame.attrs.get(FINGERPRINT) if kind.is_pandas() else None


def report_codes(frame: Any, design: Design) -> Reports:
    """A frame of reports as codes, checked against the design.

    Arguments:
        frame: labels as `randomize` gives them.
        design: the design they were made under.
    """
    if (stated := stated_fingerprint(frame)) is not None:
        check_fingerprint(stated, design)
    wanted = report_columns(design)
    if QUESTIONNAIRE in wanted and QUESTIONNAIRE not in _names(_wrap(frame)):
        raise TallyError(
            f"the design has {len(design.questionnaires)} questionnaires; the reports need a "
            f"column {QUESTIONNAIRE!r} saying which each person answered"
        )
    native = _read(frame, tuple(wanted))
    columns = {
        name: _whole(native[name], name)
        if attribute is None
        else _reported(native[name], attribute)
        for name, attribute in wanted.items()
    }
    which = _questionnaires(columns, len(native), design)
    batches = []
    for q, questionnaire in enumerate(design.questionnaires):
        rows = np.flatnonzero(which == q)
        asked = {name for c in questionnaire.clusters for name in c.columns}
        for name in columns.keys() - asked:
            answered = columns[name][rows] >= 0
            if answered.any():
                raise TallyError(
                    f"a report to questionnaire {q} answers {name!r}, which is not in it. "
                    "Use the design the reports were made under",
                    row=int(rows[answered.argmax()]),
                )
        codes = tuple(_cluster_codes(columns, rows, c, design) for c in questionnaire.clusters)
        batches.append(Batch(rows, codes))
    return Reports(design.fingerprint, len(which), tuple(batches))


def report_table(reports: Reports, design: Design) -> Any:
    """Reports as a PyArrow table of labels in the people's order, with the design's fingerprint."""
    pa = require("pyarrow", "frames")
    wanted = report_columns(design)
    columns = {name: np.full(reports.n, ABSENT, dtype=np.int64) for name in wanted}
    for q, (batch, questionnaire) in enumerate(
        zip(reports.batches, design.questionnaires, strict=True)
    ):
        if QUESTIONNAIRE in wanted:
            columns[QUESTIONNAIRE][batch.rows] = q
        for cluster, codes in zip(questionnaire.clusters, batch.codes, strict=True):
            whole = codes.astype(np.int64)
            parts: Iterable[Any] = (whole,)
            if cluster.matrix.reports_cells:
                parts = np.unravel_index(whole, design.shape(cluster))
            for name, part in zip(cluster.columns, parts, strict=True):
                columns[name][batch.rows] = part
    fields = {
        name: pa.array(columns[name], mask=columns[name] < 0)
        if attribute is None
        else decode_column(columns[name], attribute)
        for name, attribute in wanted.items()
    }
    table = pa.table(fields)
    return table.replace_schema_metadata({FINGERPRINT: design.fingerprint})


def _wrap(frame: Any) -> Any:
    nw = require("narwhals", "frames")
    try:
        return nw.from_native(frame)
    except TypeError:
        raise SchemaError(
            f"a {type(frame).__name__} is not a data frame that can be read; "
            "give pandas, Polars or PyArrow"
        ) from None


def _names(wrapped: Any) -> list[str]:
    return list(wrapped.collect_schema().names())


def _read(frame: Any, wanted: tuple[str, ...] | None) -> Any:
    """The wanted columns in memory, or an error naming the one that is missing."""
    nw = require("narwhals", "frames")
    _refuse_twins(frame)
    wrapped = _wrap(frame)
    names = _names(wrapped)
    for name in wanted or ():
        if name not in names:
            raise SchemaError(
                f"the frame has no column {name!r}. It has {known(names)}. Rename the column, or "
                "use the design these records belong to"
            )
    if wanted is not None:
        wrapped = wrapped.select(*wanted)
    native = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
    if len(native) == 0:
        raise SchemaError("the frame has no rows: there is nobody to read")
    return native


def _refuse_twins(frame: Any) -> None:
    """Refuse two columns of one name, which only pandas and PyArrow allow."""
    names = getattr(frame, "column_names", None)
    if names is None and not hasattr(frame, "collect"):
        names = getattr(frame, "columns", None)
    listed = [] if names is None else list(names)
    if len(set(listed)) < len(listed):
        twice = next(name for i, name in enumerate(listed) if name in listed[:i])
        raise SchemaError(f"the frame has two columns named {twice!r}. Rename or drop one")


def _occurring(column: Any, name: str) -> Attribute:
    arrow = as_arrow(column, name)
    labels = {value for value in arrow.unique().to_pylist() if value is not None and value == value}
    if any(isinstance(label, float) for label in labels):
        if any(label % 1 for label in labels):
            raise SchemaError(
                f"{name!r} holds decimals. Declare it: Attribute({name!r}, kind='numeric', "
                "edges=(…))"
            )
        labels = {int(label) for label in labels}
    return Attribute(name, tuple(sorted(labels)))


def report_columns(design: Design) -> dict[str, Attribute | None]:
    """The columns of a frame of reports; None for those that hold plain numbers."""
    clusters = [c for q in design.questionnaires for c in q.clusters]
    names = {name for c in clusters for name in c.columns}
    columns: dict[str, Attribute | None] = {}
    if len(design.questionnaires) > 1:
        columns[QUESTIONNAIRE] = None
    columns |= {a.name: a for a in design.domain.attributes if a.name in names}
    codes = [c for c in clusters if not c.matrix.reports_cells]
    return columns | {name: None for c in codes for name in c.columns}


def _reported(column: Any, attribute: Attribute) -> Codes:
    """A column of reported labels as codes, −1 where there is none. Numbers are no report."""
    codes = encode_column(column, attribute, nulls=True)
    numbers = attribute.kind == "numeric" and is_number(as_arrow(column, attribute.name).type)
    if numbers and (codes >= 0).any():
        raise TallyError(
            f"the column {attribute.name!r} holds numbers, but reports hold bins, such as "
            f"{attribute.categories[0]!r}. These look like true answers: randomize them first"
        )
    return codes


def _whole(column: Any, name: str) -> npt.NDArray[np.int64]:
    """A column of whole numbers, −1 where there is none."""
    pa = require("pyarrow", "frames")
    try:
        whole = as_arrow(column, name).cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TallyError(f"the column {name!r} must hold whole numbers") from None
    return np.asarray(whole.fill_null(ABSENT).to_numpy(zero_copy_only=False))


def _questionnaires(columns: dict[str, Any], n: int, design: Design) -> npt.NDArray[np.int64]:
    """Take the questionnaires' column out of the others."""
    if len(design.questionnaires) == 1:
        return np.zeros(n, dtype=np.int64)
    column = columns.pop(QUESTIONNAIRE)
    if column.min() < 0 or column.max() >= len(design.questionnaires):
        wrong = (column < 0) | (column >= len(design.questionnaires))
        raise TallyError(
            f"a {QUESTIONNAIRE} is missing or outside 0…{len(design.questionnaires) - 1}",
            row=int(wrong.argmax()),
        )
    return np.asarray(column)


def _cluster_codes(
    columns: dict[str, Any], rows: npt.NDArray[np.int64], cluster: Cluster, design: Design
) -> Codes:
    everyone = len(rows) == len(next(iter(columns.values())))
    names = cluster.columns
    parts = [columns[name] if everyone else columns[name][rows] for name in names]
    for name, part in zip(names, parts, strict=True):
        if (part < 0).any():
            raise TallyError(
                f"{int((part < 0).sum()):,} reports lack an answer to {name!r}, which they were "
                "asked. A report is whole or it is none",
                row=int(rows[(part < 0).argmax()]),
            )
    return cells_of(parts, design.shape(cluster)) if cluster.matrix.reports_cells else parts[0]


def _like(people: Any, table: Any, design: Design, keep_index: bool) -> Any:
    """A PyArrow table as the kind of frame the people came in."""
    nw = require("narwhals", "frames")
    wrapped = _wrap(people)
    kind = wrapped.implementation
    if kind.is_polars():
        frame = require("polars", "frames").from_arrow(table)
        return frame.lazy() if isinstance(wrapped, nw.LazyFrame) else frame
    if kind.is_pandas():
        return _to_pandas(table, people.index if keep_index else None, design)
    return table


def _to_pandas(table: Any, index: Any, design: Design) -> Any:
    """As pandas; whole numbers and booleans stay what they are where some were not asked."""
    pa, pd = require("pyarrow", "frames"), require("pandas", "pandas")
    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    holed = {field.type for field in table.schema if table[field.name].null_count}
    frame = table.to_pandas(types_mapper=lambda t: nullable.get(t) if t in holed else None)
    if index is not None:
        frame.index = index
    frame.attrs[FINGERPRINT] = design.fingerprint
    return frame
