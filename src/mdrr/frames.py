"""Data frames in and out: pandas, Polars (eager and lazy), PyArrow, through narwhals.

Labels become codes here and nowhere else. A frame of people has one column per attribute; a frame
of reports has the same columns with randomized labels, null where a person was not asked, and a
`questionnaire` column when the design has more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.columns import require
from mdrr.design import Cluster, Design
from mdrr.domain import Attribute, Domain, known
from mdrr.errors import SchemaError, TallyError
from mdrr.estimation.result import labels_of
from mdrr.randomizer import Codes, Reports, cells_of, randomize_codes, smallest_unsigned
from mdrr.source import Source
from mdrr.tallies import Tally, tally_codes

QUESTIONNAIRE = "questionnaire"
_METADATA = b"mdrr.fingerprint"


def encode(frame: Any, domain: Domain) -> list[Codes]:
    """A frame's labels as codes, one column per attribute in the domain's order.

    Arguments:
        frame: pandas, Polars (eager or lazy) or PyArrow; other columns are ignored.
        domain: the declared attributes. Labels may be text, categoricals, integers, booleans;
            numbers are binned where the attribute is numeric; nulls need a declared category.
    """
    native = _eager(frame)
    _need_rows(native)
    return [encode_column(_column(native, a.name, domain), a) for a in domain.attributes]


def encode_column(column: Any, attribute: Attribute, *, nulls: bool = False) -> Codes:
    """One column's labels as codes; with `nulls`, −1 where there is none."""
    arrow = column.to_arrow()
    if hasattr(arrow, "combine_chunks"):
        arrow = arrow.combine_chunks()
    compute, pa = require("pyarrow.compute", "frames"), require("pyarrow", "frames")
    if attribute.kind == "numeric" and _is_number(pa, arrow.type):
        codes = _binned(arrow, attribute, nulls)
    else:
        codes = _looked_up(pa, compute, arrow, attribute)
    missing = np.asarray(arrow.is_null(nan_is_null=True)) if not nulls else None
    if missing is not None and missing.any():
        if attribute.missing is None:
            raise SchemaError(
                f"{attribute.name!r} has {int(missing.sum()):,} missing values. Declare a category "
                "for them (missing = \"…\" in the survey file) or drop those people first"
            )
        codes[missing] = attribute.code(attribute.missing)
    if not nulls:
        return codes.astype(smallest_unsigned(attribute.size))
    return codes


def decode_column(codes: npt.NDArray[Any], attribute: Attribute) -> Any:
    """Codes as a PyArrow array of labels; null where a code is negative."""
    pa = require("pyarrow", "frames")
    kind = type(attribute.categories[0])
    values = pa.array(list(attribute.categories), {str: pa.string(), int: pa.int64()}.get(kind, pa.bool_()))
    absent = codes < 0 if np.issubdtype(codes.dtype, np.signedinteger) else None
    return values.take(pa.array(np.maximum(codes, 0), mask=absent))


def randomize(people: Any, design: Design, *, source: Source | None = None) -> Any:
    """Randomize a frame of true records: what each person would send, in one go.

    Arguments:
        people: one row per person, one column per attribute; pandas, Polars or PyArrow.
        design: how to randomize.
        source: randomness; the system's CSPRNG by default. A `SeededSource` is for simulation.

    Returns:
        The same kind of frame, in the same row order, with the design's columns only.
    """
    reports = randomize_codes(encode(people, design.domain), design, source)
    return _like(people, _report_table(reports, design), design)


def tally(reports: Any, design: Design) -> Tally:
    """Count the distinct reports of a frame.

    Arguments:
        reports: what `randomize` gives, from any number of people.
        design: the design they were made under; checked where the frame carries its fingerprint.
    """
    native = _eager(reports)
    _need_rows(native)
    if (stated := stated_fingerprint(reports)) is not None:
        Tally(stated, ()).check(design)
    columns = {
        a.name: encode_column(_column(native, a.name, design.domain), a, nulls=True)
        for a in design.domain.attributes
        if _has_cells(a.name, design)
    }
    which = _questionnaires(native, design)
    groups = []
    for q, questionnaire in enumerate(design.questionnaires):
        rows = np.flatnonzero(which == q)
        codes = [_cluster_codes(native, columns, rows, c, design) for c in questionnaire.clusters]
        unasked = set(columns) - set(questionnaire.attributes)
        for name in unasked:
            if (columns[name][rows] >= 0).any():
                raise TallyError(f"a report to questionnaire {q} answers {name!r}, which it lacks")
        groups.append(codes)
    return tally_codes(groups, design)


def infer_domain(frame: Any, columns: Iterable[str] | None = None) -> Domain:
    """The domain that occurs in a frame, for simulation only: on private data it is a leak.

    Arguments:
        frame: true records.
        columns: which columns; all by default.
    """
    native = _eager(frame)
    _need_rows(native)
    attributes = []
    for name in list(native.columns if columns is None else columns):
        labels = sorted(
            {_plain(v) for v in native[name].unique().to_list() if v is not None}, key=str
        )
        attributes.append(Attribute(name, tuple(labels)))
    return Domain(tuple(attributes))


def stated_fingerprint(frame: Any) -> str | None:
    """The fingerprint a frame of reports carries, if its kind can carry one."""
    kind = require("narwhals", "frames").from_native(frame).implementation
    if kind.is_pyarrow():
        stated = (frame.schema.metadata or {}).get(_METADATA)
        return None if stated is None else str(stated.decode())
    return frame.attrs.get(_METADATA.decode()) if kind.is_pandas() else None


def _eager(frame: Any) -> Any:
    nw = require("narwhals", "frames")
    try:
        wrapped = nw.from_native(frame)
    except TypeError:
        raise SchemaError(
            f"a {type(frame).__name__} is not a data frame that can be read; "
            "give pandas, Polars or PyArrow"
        ) from None
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped


def _need_rows(frame: Any) -> None:
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise SchemaError(f"the frame has two columns of one name among {known(names)}")
    if len(frame) == 0:
        raise SchemaError("the frame has no rows: there is nobody to read")


def _column(frame: Any, name: str, domain: Domain) -> Any:
    if name not in frame.columns:
        raise SchemaError(
            f"the frame has no column {name!r}. It has {known(frame.columns)}; the domain needs "
            f"{known(domain.names)}"
        )
    return frame[name]


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _binned(arrow: Any, attribute: Attribute, nulls: bool) -> npt.NDArray[np.int64]:
    edges = np.asarray(attribute.edges, dtype=np.float64)
    values = np.asarray(arrow.cast("float64").to_numpy(zero_copy_only=False), dtype=np.float64)
    absent = np.isnan(values)
    outside = ~absent & ((values < edges[0]) | (values > edges[-1]))
    if outside.any():
        raise SchemaError(
            f"{attribute.name!r} has {int(outside.sum()):,} values outside its bins "
            f"[{edges[0]:g}, {edges[-1]:g}]. Widen the edges or clip the values first"
        )
    codes = np.searchsorted(edges, values, side="right") - 1
    codes = np.minimum(codes, len(edges) - 2)
    codes[absent] = -1 if nulls else 0
    return codes.astype(np.int64)


def _looked_up(pa: Any, compute: Any, arrow: Any, attribute: Attribute) -> npt.NDArray[np.int64]:
    if pa.types.is_dictionary(arrow.type):
        inner = _looked_up(pa, compute, arrow.dictionary, attribute)
        indices = arrow.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.append(inner, -1)[indices]
    kind = type(attribute.categories[0])
    wanted = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}[kind]
    labels = arrow
    if arrow.type != wanted:
        whole = pa.types.is_floating(arrow.type) and kind is int
        compatible = {
            str: pa.types.is_large_string(arrow.type) or _is_view(pa, arrow.type),
            int: pa.types.is_integer(arrow.type) or whole,
            bool: False,
        }[kind] or pa.types.is_null(arrow.type)
        if not compatible:
            raise SchemaError(
                f"the column {attribute.name!r} holds {arrow.type}, its categories are "
                f"{kind.__name__}: {known(attribute.categories)}. Convert the column first"
            )
        if whole:
            arrow = compute.if_else(compute.is_nan(arrow), pa.scalar(None, arrow.type), arrow)
        try:
            labels = arrow.cast(wanted)
        except pa.ArrowInvalid:
            raise SchemaError(f"the column {attribute.name!r} has values that are not whole") from None
    found = compute.index_in(labels, value_set=pa.array(list(attribute.categories), wanted))
    unknown = compute.and_(found.is_null(), labels.is_valid())
    if compute.any(unknown).as_py():
        first = labels.filter(unknown)[0].as_py()
        raise SchemaError(
            f"{attribute.name!r} has no category {first!r}. Known: {known(attribute.categories)}. "
            "Add it to the survey file or map it first"
        )
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _is_view(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string_view(kind))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _has_cells(name: str, design: Design) -> bool:
    return any(
        name in c.attributes and c.matrix.reports_cells
        for q in design.questionnaires
        for c in q.clusters
    )


def _questionnaires(frame: Any, design: Design) -> npt.NDArray[np.int64]:
    if len(design.questionnaires) == 1:
        return np.zeros(len(frame), dtype=np.int64)
    if QUESTIONNAIRE not in frame.columns:
        raise TallyError(
            f"the design has {len(design.questionnaires)} questionnaires; the reports need a "
            f"column {QUESTIONNAIRE!r} saying which each person answered"
        )
    try:
        which = np.asarray(frame[QUESTIONNAIRE].to_numpy()).astype(np.int64, casting="same_kind")
    except TypeError:
        raise TallyError(f"the column {QUESTIONNAIRE!r} must hold whole numbers") from None
    if len(which) and (which.min() < 0 or which.max() >= len(design.questionnaires)):
        raise TallyError(f"a questionnaire is outside 0…{len(design.questionnaires) - 1}")
    return which


def _cluster_codes(
    frame: Any,
    columns: dict[str, Codes],
    rows: npt.NDArray[np.int64],
    cluster: Cluster,
    design: Design,
) -> Codes:
    if not cluster.matrix.reports_cells:
        values = frame[cluster.name].to_numpy()[rows]
        return np.asarray(values).astype(np.int64)
    parts = [columns[name][rows] for name in cluster.attributes]
    for name, part in zip(cluster.attributes, parts, strict=True):
        if (part < 0).any():
            raise TallyError(f"{int((part < 0).sum()):,} reports lack an answer to {name!r}")
    return cells_of(parts, design.shape(cluster))


def _report_table(reports: Reports, design: Design) -> Any:
    """Reports as a PyArrow table of labels, in the people's order."""
    pa = require("pyarrow", "frames")
    n, domain = reports.n, design.domain
    columns: dict[str, npt.NDArray[Any]] = {}
    which = np.zeros(n, dtype=smallest_unsigned(len(design.questionnaires)))
    for q, (batch, questionnaire) in enumerate(
        zip(reports.batches, design.questionnaires, strict=True)
    ):
        which[batch.rows] = q
        for cluster, codes in zip(questionnaire.clusters, batch.codes, strict=True):
            for name, part in _split(cluster, codes, design):
                if name not in columns:
                    columns[name] = np.full(n, -1, dtype=np.int64)
                columns[name][batch.rows] = part
    fields = {}
    if len(design.questionnaires) > 1:
        fields[QUESTIONNAIRE] = pa.array(which)
    for attribute in domain.attributes:
        if attribute.name in columns:
            fields[attribute.name] = decode_column(columns.pop(attribute.name), attribute)
    for name, codes in columns.items():
        fields[name] = pa.array(codes, mask=codes < 0)
    table = pa.table(fields)
    return table.replace_schema_metadata({_METADATA: design.fingerprint.encode()})


def _split(
    cluster: Cluster, codes: Codes, design: Design
) -> Sequence[tuple[str, npt.NDArray[Any]]]:
    if not cluster.matrix.reports_cells:
        return [(cluster.name, codes.astype(np.int64))]
    parts = np.unravel_index(codes.astype(np.int64), design.shape(cluster))
    return list(zip(cluster.attributes, parts, strict=True))


def _like(people: Any, table: Any, design: Design) -> Any:
    """A PyArrow table as the kind of frame the people came in."""
    nw = require("narwhals", "frames")
    wrapped = nw.from_native(people)
    kind = wrapped.implementation
    if kind.is_pyarrow():
        return table
    if kind.is_polars():
        frame = require("polars", "frames").from_arrow(table)
        return frame.lazy() if isinstance(wrapped, nw.LazyFrame) else frame
    if kind.is_pandas():
        frame = table.to_pandas()
        frame.index = people.index
        frame.attrs[_METADATA.decode()] = design.fingerprint
        return frame
    return nw.from_native(table).to_native()


__all__ = [
    "QUESTIONNAIRE",
    "decode_column",
    "encode",
    "encode_column",
    "infer_domain",
    "labels_of",
    "randomize",
    "stated_fingerprint",
    "tally",
]
