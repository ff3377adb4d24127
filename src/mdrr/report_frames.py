"""Frames of reports: columns of randomized labels or numbers to codes and back.

A frame of reports has the attributes' columns with randomized labels, null where a person was not
asked, and a `questionnaire` column when the design has more than one. A cluster whose reports are
no combination of labels has a column of numbers instead, `a+b (code)`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.batches import read_frame, wrap
from mdrr.columns import pa
from mdrr.cores import side_by_side
from mdrr.counting import typed
from mdrr.design import QUESTIONNAIRE, Cluster, Design
from mdrr.domain import ADD_OR_MAP, Attribute
from mdrr.errors import SchemaError, TallyError
from mdrr.labels import ABSENT, as_arrow, decode_column, encode_column, is_coded, is_number
from mdrr.randomizer import AT_ONCE, Batch, Codes, Reports, cells_of
from mdrr.response import check_fingerprint

FINGERPRINT = "mdrr.fingerprint"
"""The key under which a frame or file of reports carries its design's fingerprint."""


def stated_fingerprint(frame: Any) -> str | None:
    """The fingerprint a frame of reports carries, if its kind can carry one."""
    wrapped, stated = wrap(frame), None
    if wrapped.implementation.is_pyarrow():
        stated = (wrapped.to_native().schema.metadata or {}).get(FINGERPRINT.encode(), b"").decode()
    elif wrapped.implementation.is_pandas():
        stated = wrapped.to_native().attrs.get(FINGERPRINT)
    return str(stated) if stated else None


@contextmanager
def reported_labels() -> Iterator[None]:
    """Say of a label that is no category what to do about a report, not about a true answer."""
    try:
        yield
    except SchemaError as error:
        said = error.args[0].replace(ADD_OR_MAP, "Use the design the reports were made under")
        raise type(error)(said, error.row) from None


def report_codes(frame: Any, design: Design) -> Reports:
    """A frame of reports, with labels as `randomize` gives them, as codes of the design."""
    if (stated := stated_fingerprint(frame)) is not None:
        check_fingerprint(stated, design)
    held, n = read_frame(frame, report_names(wrap(frame).columns, design))
    wanted = report_columns(design)

    def codes_of(name: str) -> Codes:
        return _reported(held[name], name, wanted[name])

    quick = n <= AT_ONCE or all(map(is_coded, held.values()))
    with reported_labels():
        columns = dict(zip(wanted, side_by_side(codes_of, wanted, quick), strict=True))
    which = _questionnaires(columns, design) if len(design.questionnaires) > 1 else None
    batches = []
    for q, questionnaire in enumerate(design.questionnaires):
        rows: Any = None if which is None else np.flatnonzero(which == q)
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
    return Reports(design.fingerprint, n, tuple(batches))


def report_names(held: Sequence[str], design: Design) -> tuple[str, ...]:
    """The names of a report's columns; refused if none of those held says the questionnaire."""
    wanted = tuple(report_columns(design))
    if QUESTIONNAIRE in wanted and QUESTIONNAIRE not in held:
        raise TallyError(
            f"the design has {len(design.questionnaires)} questionnaires; the reports need a "
            f"column {QUESTIONNAIRE!r} saying which each person answered"
        )
    return wanted


def report_table(reports: Reports, design: Design, dictionaries: Container[str] = ()) -> Any:
    """Reports as a PyArrow table of labels in the people's order, with the design's fingerprint.

    The columns named in `dictionaries` are dictionaries, which hold every label once.
    """
    wanted = report_columns(design)
    columns = report_arrays(reports, design)
    fields = {
        name: decode_column(columns[name], a, dictionary=name in dictionaries)
        if a
        else pa.array(columns[name].astype(np.int64), mask=columns[name] < 0)
        for name, a in wanted.items()
    }
    return pa.table(fields).replace_schema_metadata({FINGERPRINT: design.fingerprint})


def report_arrays(reports: Reports, design: Design) -> dict[str, Codes]:
    """The columns of a frame of reports as codes in the people's order; −1 where there is none."""
    wanted, in_order = report_columns(design), reports.batches[0].asked is None
    columns: dict[str, Codes] = {
        name: np.full(reports.n, ABSENT, np.min_scalar_type(-a.size) if a else np.int64)
        for name, a in ({} if in_order else wanted).items()
    }
    for q, (batch, questionnaire) in enumerate(
        zip(reports.batches, design.questionnaires, strict=True)
    ):
        if QUESTIONNAIRE in wanted:
            columns[QUESTIONNAIRE][batch.rows] = q
        for cluster, codes in zip(questionnaire.clusters, batch.codes, strict=True):
            parts: Iterable[Any] = (codes,)
            if cluster.matrix.reports_cells and len(cluster.columns) > 1:
                parts = np.unravel_index(codes.astype(np.int64), design.shape(cluster))
            for name, part in zip(cluster.columns, parts, strict=True):
                if in_order:
                    columns[name] = part
                else:
                    columns[name][batch.rows] = part
    return columns


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


def text_columns(design: Design) -> set[str]:
    """The columns of a frame of reports that hold text."""
    columns = report_columns(design).items()
    return {name for name, a in columns if a is not None and isinstance(a.categories[0], str)}


def _reported(column: Any, name: str, attribute: Attribute | None) -> Codes:
    """A column of reported labels as codes, or of codes; −1 where there is none."""
    if attribute is not None and attribute.kind != "numeric":
        return encode_column(column, attribute, nulls=True)
    arrow = as_arrow(column, name)
    if attribute is None:
        if pa.types.is_dictionary(arrow.type):
            arrow = arrow.dictionary_decode()
        try:
            whole = arrow.cast(pa.int64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise TallyError(f"the column {name!r} must hold whole numbers") from None
        return np.asarray(whole.fill_null(ABSENT).to_numpy(zero_copy_only=False))
    codes = encode_column(arrow, attribute, nulls=True)
    if is_number(arrow.type) and (codes >= 0).any():
        raise TallyError(
            f"the column {name!r} holds numbers, but reports hold bins, such as "
            f"{attribute.categories[0]!r}. These look like true answers: randomize them first"
        )
    return codes


def _questionnaires(columns: dict[str, Any], design: Design) -> npt.NDArray[np.int64]:
    """Take the questionnaires' column out of the others."""
    column = columns.pop(QUESTIONNAIRE)
    wrong = (column < 0) | (column >= len(design.questionnaires))
    if wrong.any():
        raise TallyError(
            f"a {QUESTIONNAIRE} is missing or outside 0…{len(design.questionnaires) - 1}",
            row=int(wrong.argmax()),
        )
    return np.asarray(column)


def _cluster_codes(
    columns: dict[str, Any], rows: npt.NDArray[np.int64] | None, cluster: Cluster, design: Design
) -> Codes:
    """What some report of a cluster, or all."""
    names = cluster.columns
    parts = [columns[name] if rows is None else columns[name][rows] for name in names]
    for name, part in zip(names, parts, strict=True):
        if part.dtype.kind == "i" and (lacking := part < 0).any():
            first = int(lacking.argmax())
            raise TallyError(
                f"{int(lacking.sum()):,} reports lack an answer to {name!r}, which they were "
                "asked. A report is whole or it is none",
                row=first if rows is None else int(rows[first]),
            )
    if len(parts) == 1:
        return np.asarray(parts[0])
    return typed(cells_of(parts, design.shape(cluster)), cluster.matrix.outcomes)
