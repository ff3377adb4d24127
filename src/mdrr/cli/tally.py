"""`mdrr tally`: count distinct reports, and add tallies up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from mdrr.cli.inputs import check_ending, keep_apart, load_design, load_tally
from mdrr.cli.options import AsJson, DesignFile, Out
from mdrr.cli.screen import note, print_answer

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.tallies import Keep, Tally

EXAMPLE = "mdrr tally reports.parquet --design design.json -o tally.json"


def tally(
    reports: Annotated[
        list[str],
        Argument(
            metavar="REPORTS",
            help="Tallies (.json .arrow) or reports (.parquet .csv .jsonl); - is CSV on stdin.",
        ),
    ],
    design: DesignFile,
    out: Out,
    different_people: Annotated[
        bool,
        Option(
            "--different-people",
            help="The tallies and the reports are of different people: add them up.",
        ),
    ] = False,
    keep: Annotated[
        Literal["auto", "reports", "sums"],
        Option(
            help="Keep all distinct reports, or sums (margins, pair tables) and a sample of "
            "reports. Default: sums where the distinct reports are too many."
        ),
    ] = "auto",
    engine: Annotated[
        Literal["local", "spark"],
        Option(
            help="What counts: this machine, or Apache Spark, which reads Parquet and CSV, also "
            "folders and addresses such as s3a://…",
        ),
    ] = "local",
    as_json: AsJson = False,
) -> None:
    """Count how often each report occurs in one or more files."""
    from mdrr.files import write_tally

    check_ending(out, ".json", "a tally is JSON, or Arrow (.arrow)", ".arrow")
    paths = [Path(path) for path in reports]
    keep_apart(out, paths, design)
    made = load_design(design)
    if engine == "spark":
        found = _by_spark(reports, made, keep)
    else:
        found = load_tally(paths, made, quiet=as_json, different_people=different_people, keep=keep)
    write_tally(out, found)
    fields = {"n": found.n, "distinct": found.distinct, "fingerprint": made.fingerprint}
    print_answer(
        {**fields, "out": str(out)},
        f"Wrote {out}: {found.n:,} reports, {found.kept}.",
        as_json=as_json,
    )


def _by_spark(reports: list[str], design: Design, keep: Keep) -> Tally:
    from mdrr.files.reports import check_stated
    from mdrr.plausibility import doubts
    from mdrr.spark import tally_files

    for path in reports:
        if Path(path).is_file():
            check_stated(path, design)
    found = tally_files(reports, design, keep=keep)
    for doubt in doubts(found, design):
        note(f"Warning: {doubt}")
    return found
