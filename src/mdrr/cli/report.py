"""`mdrr report`: everything the reports say, as one page."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from typer import Option

from mdrr.cli import options
from mdrr.cli.inputs import check_ending, keep_apart, load_fit, load_frozen, load_survey
from mdrr.cli.methods import estimated, read_options
from mdrr.cli.screen import print_answer, progress
from mdrr.columns import require
from mdrr.errors import EstimateError, MdrrError, SchemaError

if TYPE_CHECKING:
    from mdrr.survey import Survey

EXAMPLE = "mdrr report tally.json --design design.json -o report.html"


def report(
    reports: options.Estimable,
    out: options.Out,
    design: options.EstimateDesign = None,
    method: options.Method = "auto",
    option: options.MethodOption = None,
    compare: Annotated[
        list[str] | None,
        Option(
            help="Another estimator to compare the counts with; repeatable.",
            autocompletion=lambda: list(get_args(options.MethodName)),
        ),
    ] = None,
    query: Annotated[
        list[str] | None,
        Option("--query", "-q", help="A count to show, as an expression; repeatable."),
    ] = None,
    truth: Annotated[
        Path | None,
        Option(help="True records of the same people (CSV or Parquet): simulation only."),
    ] = None,
    survey: Annotated[
        Path | None,
        Option(help="The survey file (TOML) or frozen survey (JSON) whose words the page uses."),
    ] = None,
    language: Annotated[
        str | None, Option(help="With --survey: one of its languages. Default: its first.")
    ] = None,
    title: Annotated[
        str | None, Option(help="The page's heading. Default: the survey's title.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write one HTML page with the results: shares, dependences, counts, privacy."""
    from mdrr.dependence import dependences
    from mdrr.files import read_people
    from mdrr.reporting import report as write_report

    keep_apart(out, [*reports, truth, survey], design)
    check_ending(out, ".html", "the page is HTML")
    for name in compare or ():
        read_options(name, ())
    words = _words(survey, language)
    made, fit = load_fit(reports, design, method, option, quiet=as_json)
    if words is not None and words.domain != made.domain:
        raise MdrrError(
            f"{survey}: this survey does not ask what the reports are of. Give the survey file "
            "that the design was made from"
        )
    true = None
    if truth is not None:
        true = require("pyarrow", "frames").concat_tables(read_people(truth, made.domain))
    with progress("Writing the report", quiet=as_json) as done:
        found = fit()
        tally = found.evidence.tally
        others = [estimated(tally, made, name) for name in compare or ()]
        done(0.3)
        learnt = None
        with suppress(EstimateError):  # one attribute alone, or a pair nobody reported
            learnt = dependences(tally, made)
        write_report(
            found,
            made,
            path=out,
            truth=true,
            dependences=learnt,
            queries=query or [],
            others=others,
            survey=words,
            title=title,
        )
        done(1.0)
    print_answer(
        {
            "out": str(out),
            "n": found.n,
            "method": found.method,
            "epsilon": made.epsilon,
            "public": list(made.domain.public),
            "fingerprint": made.fingerprint,
            "simulated": truth is not None,
        },
        f"Wrote {out}: {found.n:,} reports, ε = {made.epsilon:.2f} per person. "
        f"{made.outside}".rstrip(),
        as_json=as_json,
    )


def _words(path: Path | None, language: str | None) -> Survey | None:
    """The survey whose words the page uses, in the language asked for."""
    if path is None:
        if language is not None:
            raise MdrrError("--language goes with --survey FILE: the words come from there")
        return None
    survey = load_frozen(path).survey if path.suffix.lower() == ".json" else load_survey(path)
    try:
        return survey.spoken(language or survey.language)
    except SchemaError as error:
        raise MdrrError(f"{path}: {error}") from None
