"""RR-Adjustment's weights as a column of the randomized microdata (Algorithm 2, step 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mdrr.columns import is_spark, require
from mdrr.counting import row_keys
from mdrr.design import Design
from mdrr.errors import EstimateError, SchemaError
from mdrr.estimation import Adjustment, Estimate, adjust
from mdrr.groups import Group
from mdrr.matrix import Array
from mdrr.randomizer import Codes, Reports
from mdrr.report_frames import report_codes
from mdrr.tallies import Tally, tally_codes

WEIGHT = "weight"
"""The name of the column of weights."""


def weigh(reports: Any, design: Design, *, column: str = WEIGHT, **options: Any) -> Any:
    """The randomized records with a weight each, of mean 1: `sample_weight` (RR-Adjustment).

    Arguments:
        reports: what `randomize` gives; pandas, Polars (eager or lazy), PyArrow or Spark.
        design: the design they were made under, with one questionnaire.
        column: the name of the new column.
        options: of `mdrr.estimation.adjust`: `tolerance`, `sweeps`, `projection`.

    Example:
        >>> import polars as pl
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> design = independent(Domain((Attribute("a", ("x", "y")),)), p=0.5)
        >>> reports = pl.DataFrame({"a": ["x", "x", "x", "y", "y"]})
        >>> weigh(reports, design)["weight"].round(3).to_list()
        [1.167, 1.167, 1.167, 0.75, 0.75]
    """
    if is_spark(reports):
        from mdrr import spark

        return spark.weigh(reports, design, column, **options)
    codes = report_codes(reports, design)
    tally = tally_codes(codes, design, keep="reports")
    weights = record_weights(codes, tally, adjust(tally, design, **options))
    nw = require("narwhals", "frames")
    wrapped = nw.from_native(reports)
    if column in wrapped.collect_schema().names():
        raise SchemaError(
            f"the reports have a column {column!r} already; choose another name with column=…"
        )
    lazy = isinstance(wrapped, nw.LazyFrame)
    frame = wrapped.collect() if lazy else wrapped
    series = nw.new_series(column, weights, nw.Float64, backend=frame.implementation)
    if frame.implementation.is_pandas():
        native = frame.to_native()
        return native.assign(**{column: series.to_native().set_axis(native.index)})
    frame = frame.with_columns(series)
    return (frame.lazy() if lazy else frame).to_native()


def record_weights(reports: Reports, tally: Tally, estimate: Estimate) -> Array:
    """The weight of each report, `(n,)`: n times its share of the adjusted distribution.

    The reports are all that the estimate's tally counts, or some of them.
    """
    found = estimate.notes.get("adjustment")
    if not isinstance(found, Adjustment) or len(tally.groups) != 1:
        raise EstimateError("only an adjusted estimate weighs records; use method='adjust'")
    group = tally.groups[0]
    if group.sums is not None:
        raise EstimateError(
            "records are weighed with a tally of all of them; this one holds sums and a sample. "
            "Tally with keep='reports'"
        )
    each = found.weights / group.counts * tally.n
    (batch,) = reports.batches
    weights = np.empty(reports.n)
    weights[batch.rows] = each[_places(batch.codes, group)]
    return weights


def _places(codes: Sequence[Codes], group: Group) -> Any:
    """Where each report stands among the distinct reports of a group."""
    both = [np.concatenate(pair) for pair in zip(group.codes, codes, strict=True)]
    ordered, wanted = np.split(row_keys(both, group.sizes), [len(group.counts)])
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    if not np.array_equal(ordered[places], wanted):
        raise EstimateError("a report is not in the tally; weigh the reports that were tallied")
    return places
