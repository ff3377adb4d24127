"""`mdrr adjust`: randomized microdata with weights (RR-Adjustment)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdrr.cli.inputs import keep_apart, load_design, load_tally
from mdrr.cli.options import AsJson, DesignFile, Out
from mdrr.cli.screen import print_json, print_text
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.estimation import Estimate
    from mdrr.tallies import Tally

EXAMPLE = "mdrr adjust reports.parquet --design design.json -o weighted.parquet"


def adjust(
    reports: Annotated[list[Path], typer.Argument(help="Reports: .parquet, .csv or .jsonl.")],
    design: DesignFile,
    out: Out,
    tolerance: Annotated[float, typer.Option(help="Stop when margins are this near.")] = 1e-9,
    sweeps: Annotated[int, typer.Option(help="Stop after this many sweeps.")] = 1000,
    column: Annotated[str, typer.Option(help="The name of the column of weights.")] = "weight",
    as_json: AsJson = False,
) -> None:
    """Weight the randomized records so that their margins are the estimated ones (Algorithm 2)."""
    from mdrr.estimation import adjust as rake
    from mdrr.files import write_tables
    from mdrr.files.streams import STDIN
    from mdrr.report_frames import report_columns

    keep_apart(out, reports, design)
    made = load_design(design)
    if column in report_columns(made):
        raise MdrrError(
            f"the reports have a column {column!r} already; choose another name with --column"
        )
    for path in reports:
        if str(path) == STDIN:
            raise MdrrError("reports to weigh are read twice, and stdin only once: give a file")
        if path.suffix.lower() == ".json":
            raise MdrrError(f"{path}: a tally has no records to weigh. Give the reports themselves")
    tally = load_tally(reports, made, quiet=as_json)
    found = rake(tally, made, tolerance=tolerance, sweeps=sweeps)
    n = write_tables(out, _weighted(reports, made, tally, found, column))
    why = found.notes["adjustment"]
    if as_json:
        print_json(
            {
                "n": n,
                "sweeps": why.sweeps,
                "residual": why.residual,
                "stopped": why.stopped,
                "unreached": [list(pair) for pair in found.notes["unreached"]],
                "out": str(out),
            }
        )
        return
    print_text(
        f"Wrote {n:,} records with weights (mean 1) to {out}. Stopped by {why.stopped} after "
        f"{why.sweeps:,} sweeps; no margin is further than {why.residual:.2g} from its target."
    )
    if found.notes["unreached"]:
        count = len(found.notes["unreached"])
        print_text(f"{count:,} categories have no randomized record and keep weight 0.")


def _weighted(
    paths: list[Path], design: Design, tally: Tally, found: Estimate, column: str
) -> Iterator[Any]:
    """The reports again, chunk by chunk, each with its weight."""
    from mdrr.columns import require
    from mdrr.files import read_reports
    from mdrr.report_frames import report_table
    from mdrr.weighting import record_weights

    pa = require("pyarrow", "frames")
    for path in paths:
        for chunk in read_reports(path, design):
            weights = pa.array(record_weights(chunk, tally, found))
            yield report_table(chunk, design).append_column(column, weights)
