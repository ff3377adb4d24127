"""Data frames in and out: pandas, Polars (eager and lazy), PyArrow, through narwhals.

A frame of people has one column per attribute; `report_frames` says what one of reports has.
Columns of other names never leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, cast

from mdrr.batches import as_reader, each_batch, in_batches, is_reader, outline, read_frame
from mdrr.columns import BACKENDS, is_spark, pa, pd, pl, require
from mdrr.cores import side_by_side
from mdrr.design import Design
from mdrr.domain import Attribute, Domain
from mdrr.errors import SchemaError, TallyError
from mdrr.labels import ABSENT, as_arrow, encode_column, is_coded, labelled
from mdrr.randomizer import AT_ONCE, Codes, Reports, randomize_codes
from mdrr.report_frames import (
    FINGERPRINT,
    report_arrays,
    report_codes,
    report_columns,
    report_names,
    report_table,
    text_columns,
)
from mdrr.response import Report
from mdrr.source import Source
from mdrr.sums import SAMPLE
from mdrr.tallies import Keep, Tally, tally_batches, tally_codes, tally_responses


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
    columns, rows = read_frame(frame, domain.names)

    def codes(attribute: Attribute) -> Codes:
        return encode_column(columns[attribute.name], attribute)

    quick = rows <= AT_ONCE or all(map(is_coded, columns.values()))
    return side_by_side(codes, domain.attributes, quick)


def randomize(
    people: Any, design: Design, *, source: Source | None = None, keep_index: bool = False
) -> Any:
    """Randomize a frame of true records: what each person would send, in one go.

    It gives the same kind of frame, in the same row order, with the design's columns only; numbers
    come back as their bins, and categoricals as categoricals of the attribute's categories.

    Arguments:
        people: one row per person, one column per attribute; pandas, Polars, PyArrow, a DuckDB
            relation, an Arrow reader, or Spark. Of a reader comes a reader: batches are randomized
            as they are read, once. Reports of a Spark frame are written once (docs/scale.md).
        design: how to randomize.
        source: randomness; the system's CSPRNG by default. A `SeededSource` is for simulation.
        keep_index: give the reports the index of a pandas frame. It links every report to its
            person and is not randomized, so it is left behind by default.
    """
    if not isinstance(design, Design):
        raise SchemaError("the people come first, then the design: mdrr.randomize(people, design)")
    if is_spark(people):
        from mdrr import spark

        return spark.randomize(people, design, source)
    seen = outline(people)
    library, kinds = seen.implementation, _dictionaries(seen)
    streamed = in_batches(people if is_reader(people) else seen, design.domain.names)
    # Text of a relation is text again, and small until then.
    dictionaries = kinds.keys() | (text_columns(design) if library.is_duckdb() else ())

    def reported(frame: Any) -> Any:
        reports = randomize_codes(encode(frame, design.domain), design, source)
        if library.is_polars():
            return _polars(reports, design, kinds)
        return report_table(reports, design, dictionaries)

    if streamed is None:
        made = reported(seen)
        if library.is_pandas():
            made = _pandas(made)
            made.attrs[FINGERPRINT] = design.fingerprint
            if keep_index:
                made.index = seen.to_native().index
        return made
    parts = each_batch(streamed, reported)
    if is_reader(people):
        return as_reader(parts)
    if library.is_polars():
        return pl.concat(parts).lazy()
    table = pa.concat_tables(parts)
    return require("duckdb", "duckdb").from_arrow(table) if library.is_duckdb() else table


def tally(
    reports: Any,
    design: Design,
    *,
    counts: Sequence[Any] | None = None,
    keep: Keep = "auto",
    sample: int = SAMPLE,
) -> Tally:
    """Count reports, in whatever form they come.

    Arguments:
        reports: a frame as `randomize` gives it, of which lazy ones and Arrow readers are read a
            batch at a time; what `randomize_codes` gives, or an iterator of such; single Reports,
            or their JSON, parsed; or, per questionnaire, one integer array of codes per cluster.
        design: the design they were made under; checked wherever the reports state a fingerprint.
        counts: with arrays of codes, how often each report occurs, an integer array per
            questionnaire; once by default.
        keep: all distinct `"reports"`, or `"sums"`: the margins and pair tables of all people, and
            a sample of their reports. By default sums where the distinct reports are too many.
        sample: how many reports the sample of sums has at most.

    Example:
        >>> from mdrr.protocols import independent
        >>> from mdrr.respondent import respond
        >>> design = independent(Domain((Attribute("a", ("x", "y")),)), p=0.5)
        >>> tally([respond({"a": "x"}, design) for _ in range(9)], design).n
        9
        >>> tally([[[0, 1]]], design, counts=[[70, 30]]).n
        100
    """
    if not isinstance(design, Design):
        raise TallyError("the reports come first, then the design: mdrr.tally(reports, design)")
    if isinstance(reports, Tally):
        raise TallyError("this is a tally already; tallies add up with +")
    if isinstance(reports, Report | Mapping):
        raise TallyError("a single report goes in a list: mdrr.tally([report], design)")
    if isinstance(reports, Iterator | set | frozenset) and not is_reader(reports):
        first = next(iterator := iter(reports), None)
        if isinstance(first, Reports):
            batches = cast("Iterator[Reports]", chain([first], iterator))
            return tally_batches(batches, design, keep=keep, sample=sample)
        reports = [] if first is None else [first, *iterator]
    listed = isinstance(reports, list | tuple)
    first = reports[0] if listed and reports else None
    # Codes come questionnaire by questionnaire, as lists or arrays; a single report is none.
    sized = hasattr(first, "__len__") and not isinstance(first, Report | Mapping | str | bytes)
    if isinstance(reports, Reports) or (listed and (counts is not None or sized)):
        return tally_codes(reports, design, counts=counts, keep=keep, sample=sample)
    if counts is not None:
        raise TallyError("counts go with arrays of codes; other reports occur once each")
    if listed:
        return tally_responses(reports, design, keep=keep, sample=sample)
    if is_spark(reports):
        from mdrr import spark

        return spark.tally(reports, design, keep=keep, sample=sample)
    seen = outline(reports)
    wanted = report_names(seen.columns, design)
    streamed = in_batches(reports if is_reader(reports) else seen, wanted)
    if streamed is not None:
        codes = each_batch(streamed, lambda batch: report_codes(batch, design))
        found = tally_batches(codes, design, keep=keep, sample=sample)
    else:
        found = tally_codes(report_codes(seen, design), design, keep=keep, sample=sample)
    library = seen.implementation.value
    return replace(found, library=library if library in BACKENDS else None)


def infer_domain(frame: Any, columns: Iterable[str] | None = None) -> Domain:
    """The categories that occur in a frame: simulation only, as on private data they reveal them.

    Arguments:
        frame: true records.
        columns: which columns; all by default.

    Example:
        >>> import polars as pl
        >>> infer_domain(pl.DataFrame({"n": [10, 9, 10]})).attribute("n").categories
        (9, 10)
    """
    held, _ = read_frame(frame, None if columns is None else tuple(columns))
    return Domain(tuple(_occurring(column, name) for name, column in held.items()))


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


def _polars(reports: Reports, design: Design, kinds: Mapping[str, str]) -> Any:
    """Reports as a Polars frame; text as an Enum or a Categorical where the people have one."""
    columns = report_arrays(reports, design)

    def series(column: tuple[str, Attribute | None]) -> Any:
        name, attribute = column
        return labelled(name, columns[name], attribute, kinds.get(name))

    wanted = list(report_columns(design).items())
    frame = side_by_side(series, wanted, reports.n <= AT_ONCE)
    return pl.DataFrame(frame)


def _dictionaries(seen: Any) -> dict[str, str]:
    """The columns that are dictionaries, of Polars either `"Enum"` or `"Categorical"`."""
    own = seen.implementation.is_polars()  # narwhals would list all labels
    schema = (seen.to_native() if own else seen).collect_schema()
    kinds = {name: type(kind).__name__ for name, kind in schema.items()}
    return {name: kind for name, kind in kinds.items() if kind in ("Categorical", "Enum")}


def _pandas(table: Any) -> Any:
    """A PyArrow table of reports as a pandas frame; dictionaries as categoricals."""
    # Whole numbers and booleans stay what they are where some people were not asked.
    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}

    def series(name: str) -> Any:
        column = as_arrow(table[name], name)
        if not pa.types.is_dictionary(column.type):
            return column.to_pandas(types_mapper=nullable.get if column.null_count else None)
        indices = column.indices.fill_null(ABSENT) if column.null_count else column.indices
        codes = indices.to_numpy(zero_copy_only=False)
        kind = _category_type(tuple(column.dictionary.to_pylist()), column.dictionary.type)
        return pd.Categorical.from_codes(codes, dtype=kind, validate=False)

    quick = all(map(pa.types.is_dictionary, table.schema.types))
    columns = side_by_side(series, table.column_names, quick or table.num_rows <= AT_ONCE)
    return pd.DataFrame(dict(zip(table.column_names, columns, strict=True)), copy=False)


@lru_cache(maxsize=256)
def _category_type(words: tuple[Any, ...], kind: Any) -> Any:
    """The type of a pandas categorical, which takes longer to make than its column."""
    labels = pa.array(words, kind).to_pandas()
    return pd.CategoricalDtype(labels)
