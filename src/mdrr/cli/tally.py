"""`mdrr tally`: count distinct reports, and add tallies up."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Option

from mdrr.cli.inputs import check_ending, keep_apart, load_design, load_tally
from mdrr.cli.options import AsJson, Counted, DesignFile, Out
from mdrr.cli.screen import print_answer

EXAMPLE = "mdrr tally reports.parquet --design design.json -o tally.json"


def tally(
    reports: Counted,
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
    as_json: AsJson = False,
) -> None:
    """Count how often each report occurs in one or more files."""
    from mdrr.files import write_tally

    check_ending(out, ".json", "a tally is JSON, or Arrow (.arrow)", ".arrow")
    keep_apart(out, reports, design)
    made = load_design(design)
    found = load_tally(reports, made, quiet=as_json, different_people=different_people, keep=keep)
    write_tally(out, found)
    fields = {"n": found.n, "distinct": found.distinct, "fingerprint": made.fingerprint}
    print_answer(
        {**fields, "out": str(out)},
        f"Wrote {out}: {found.n:,} reports, {found.kept}.",
        as_json=as_json,
    )
