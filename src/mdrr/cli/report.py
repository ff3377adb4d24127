"""`mdrr report`: everything a tally says, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdrr.cli.options import AsJson, DesignFile, Out

EXAMPLE = "mdrr report tally.json --design design.json -o report.html"


def report(
    tally: Annotated[Path, typer.Argument(help="The tally (JSON) of the reports.")],
    design: DesignFile,
    out: Out,
    method: Annotated[str, typer.Option(help="The estimator.")] = "product",
    compare: Annotated[
        str | None, typer.Option(help="Another estimator to compare the counts with.")
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option("--query", "-q", help="A count to show, as an expression; repeat for more."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="True records of the same people (CSV or Parquet); a simulation only."),
    ] = None,
    title: Annotated[str, typer.Option(help="The page's heading.")] = (
        "What the randomized answers say"
    ),
    as_json: AsJson = False,
) -> None:
    """Write a self-contained HTML page of what a tally says: shares, dependences, privacy."""
    from mdrr.cli.screen import print_json, print_text, progress
    from mdrr.dependence import from_tally
    from mdrr.design import Design
    from mdrr.errors import EstimateError
    from mdrr.estimation import estimate
    from mdrr.files import read_people
    from mdrr.reporting import report as write_report
    from mdrr.tallies import Tally

    frozen = Design.from_json(design.read_text(encoding="utf-8"))
    reports = Tally.from_json(tally.read_text(encoding="utf-8"), frozen)
    with progress("Writing the report", quiet=as_json) as done:
        found = estimate(reports, frozen, method)
        second = estimate(reports, frozen, compare) if compare else None
        done(0.2)
        try:
            dependences = from_tally(reports, frozen)
        except EstimateError:  # one attribute, or a pair that nobody reported
            dependences = None
        done(0.4)
        write_report(
            found,
            frozen,
            path=out,
            truth=None if truth is None else read_people(truth, frozen.domain),
            dependences=dependences,
            queries=query or [],
            second=second,
            title=title,
        )
        done(1.0)
    if as_json:
        print_json(
            {
                "path": str(out),
                "n": found.n,
                "method": found.method,
                "epsilon": frozen.epsilon,
                "fingerprint": frozen.fingerprint,
                "simulated": truth is not None,
            }
        )
    else:
        print_text(f"Wrote {out}: {found.n:,} reports, ε = {frozen.epsilon:.2f} per person.")
