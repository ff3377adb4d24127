"""`mdrr adjust`: randomized microdata with weights (RR-Adjustment)."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mdrr.cli.inputs import keep_apart, load_design, load_tally
from mdrr.cli.options import AsJson, DesignFile, Out
from mdrr.cli.screen import print_answer
from mdrr.columns import require
from mdrr.errors import MdrrError

EXAMPLE = "mdrr adjust reports.parquet --design design.json -o weighted.parquet"


def adjust(
    reports: Annotated[list[Path], Argument(help="Reports: .parquet, .csv or .jsonl.")],
    design: DesignFile,
    out: Out,
    tolerance: Annotated[float, Option(help="Stop when margins are this near.")] = 1e-9,
    sweeps: Annotated[int, Option(help="Stop after this many sweeps.")] = 1000,
    column: Annotated[str, Option(help="The name of the column of weights.")] = "weight",
    as_json: AsJson = False,
) -> None:
    """Weight the randomized records so that their margins are the estimated ones (Algorithm 2)."""
    from mdrr.estimation import adjust as rake
    from mdrr.files import read_reports, write_tables
    from mdrr.files.streams import STDIN
    from mdrr.report_frames import report_columns, report_table
    from mdrr.weighting import record_weights

    keep_apart(out, reports, design)
    made = load_design(design)
    if column in report_columns(made):
        raise MdrrError(
            f"the reports have a column {column!r} already; choose another name with --column"
        )
    for path in reports:
        if str(path) == STDIN:
            raise MdrrError("reports to weigh are read twice, and stdin only once: give a file")
        if path.suffix.lower() in (".json", ".arrow"):
            raise MdrrError(f"{path}: a tally has no records to weigh. Give the reports themselves")
    tally = load_tally(reports, made, quiet=as_json, keep="reports")
    found = rake(tally, made, tolerance=tolerance, sweeps=sweeps)
    array = require("pyarrow", "frames").array
    chunks = chain.from_iterable(read_reports(path, made) for path in reports)
    weighted = (
        report_table(chunk, made).append_column(column, array(record_weights(chunk, tally, found)))
        for chunk in chunks
    )
    n = write_tables(out, weighted)
    why, unreached = found.notes["adjustment"], found.notes["unreached"]
    text = (
        f"Wrote {n:,} records with weights (mean 1) to {out}. Stopped by {why.stopped} after "
        f"{why.sweeps:,} sweeps; no margin is further than {why.residual:.2g} from its target."
    )
    if unreached:
        text += f"\n{len(unreached):,} categories have no randomized record and keep weight 0."
    print_answer(
        {
            "n": n,
            "sweeps": why.sweeps,
            "residual": why.residual,
            "stopped": why.stopped,
            "unreached": [list(pair) for pair in unreached],
            "out": str(out),
        },
        text,
        as_json=as_json,
    )
