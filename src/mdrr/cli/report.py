"""`mdrr report`: everything the reports say, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from mdrr.cli.inputs import check_ending, keep_apart, load_fit
from mdrr.cli.methods import estimated, read_options
from mdrr.cli.options import (
    AsJson,
    Estimable,
    EstimateDesign,
    Method,
    MethodName,
    MethodOption,
    Out,
)
from mdrr.cli.screen import print_json, print_text, progress
from mdrr.errors import EstimateError

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.design import Design
    from mdrr.tallies import Tally

EXAMPLE = "mdrr report tally.json --design design.json -o report.html"


def report(
    reports: Estimable,
    out: Out,
    design: EstimateDesign = None,
    method: Method = "auto",
    option: MethodOption = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="Another estimator to compare the counts with; repeatable.",
            autocompletion=lambda: list(get_args(MethodName)),
        ),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option("--query", "-q", help="A count to show, as an expression; repeatable."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="True records of the same people (CSV or Parquet): simulation only."),
    ] = None,
    title: Annotated[
        str, typer.Option(help="The page's heading.")
    ] = "What the randomized answers say",
    as_json: AsJson = False,
) -> None:
    """Write one HTML page with the results: shares, dependences, counts, privacy."""
    from mdrr.reporting import report as write_report

    keep_apart(out, [*reports, truth], design)
    check_ending(out, ".html", "the page is HTML")
    for name in compare or ():
        read_options(name, ())
    made, fit = load_fit(reports, design, method, option, quiet=as_json)
    true = None if truth is None else _records(truth, made)
    with progress("Writing the report", quiet=as_json) as done:
        found = fit()
        tally = found.evidence.tally
        others = [estimated(tally, made, name) for name in compare or ()]
        done(0.3)
        write_report(
            found,
            made,
            path=out,
            truth=true,
            dependences=_dependences(tally, made),
            queries=query or [],
            others=others,
            title=title,
        )
        done(1.0)
    if as_json:
        fields = {
            "out": str(out),
            "n": found.n,
            "method": found.method,
            "epsilon": made.epsilon,
            "fingerprint": made.fingerprint,
            "simulated": truth is not None,
        }
        print_json(fields)
    else:
        print_text(f"Wrote {out}: {found.n:,} reports, ε = {made.epsilon:.2f} per person.")


def _dependences(tally: Tally, design: Design) -> Dependences | None:
    """The debiased dependences, or none where there is one attribute or a pair nobody reported."""
    from mdrr.dependence import dependences

    try:
        return dependences(tally, design)
    except EstimateError:
        return None


def _records(path: Path, design: Design) -> Any:
    """All true records of a file as one table."""
    import pyarrow as pa

    from mdrr.files import read_people

    return pa.concat_tables(read_people(path, design.domain))
