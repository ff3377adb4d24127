"""`mdrr estimate`, `query`, `synth` and `report`: what the reports say of the true answers."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from typer import Argument, Option

from mdrr.cli import options
from mdrr.cli.inputs import (
    SAVED,
    about,
    check_ending,
    keep_apart,
    kind_of,
    load_frozen,
    load_survey,
    read_groups,
    write_json,
)
from mdrr.cli.methods import estimated, load_fit, read_options, say_bias
from mdrr.cli.screen import print_answer, print_json, print_table, print_text, progress
from mdrr.columns import require
from mdrr.errors import EstimateError, MdrrError, SchemaError

if TYPE_CHECKING:
    from mdrr.estimation import Table
    from mdrr.survey import Survey

EXAMPLES = {
    "estimate": "mdrr estimate tally.json --design design.json --table sex,income",
    "query": "mdrr query tally.json --design design.json "
    "\"sex == 'Female' and income in ('>50K',)\"",
    "synth": "mdrr synth tally.json --design design.json --n 10000 -o synthetic.csv",
    "report": "mdrr report tally.json --design design.json -o report.html",
}


def estimate(
    reports: options.Estimable,
    design: options.EstimateDesign = None,
    table: Annotated[
        list[str] | None,
        Option(
            help="Attributes of a table, as in sex,income; repeatable. Default: one table per "
            "attribute."
        ),
    ] = None,
    method: options.Method = "auto",
    projection: Annotated[
        Literal["euclidean", "clip", "bayes"] | None,
        Option(help="How methods product and adjust remove negative shares."),
    ] = None,
    option: options.MethodOption = None,
    level: options.Level = 0.95,
    out: options.MaybeOut = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate tables of the true distribution; with -o estimate.npz, save the estimate."""
    from mdrr.estimation.result import MOST_INTERVALS, RESULTS, check_names, refuse_clash
    from mdrr.files import write_tables
    from mdrr.files.streams import check_folder
    from mdrr.files.tables import file_format

    keep_apart(out, reports, design)
    words = [*(option or ()), *([f"projection={projection}"] if projection else ())]
    made, fit = load_fit(reports, design, method, words)
    asked = [tuple(chain(*read_groups(text, made.domain.names))) for text in table or ()]
    asked = asked or [(name,) for name in made.domain.names]
    for names in asked:
        check_names(made.domain, names)
    ending = "" if out is None else out.suffix.lower()
    if out is not None:
        check_folder(out)
    if out is not None and ending not in (SAVED, ".json"):
        file_format(out)
        if len(asked) != 1:
            raise MdrrError(
                f"{out} holds one table, and {len(asked)} are asked for. Name one with --table, or "
                "write them all to a .json file"
            )
        refuse_clash(asked[0], RESULTS)
    found = fit()
    tables = [found.table(*names, level=level) for names in asked]
    fields: dict[str, Any] = {
        "n": found.n,
        "method": found.method,
        "level": level,
        "tables": [{"attributes": list(t.attributes), "cells": _cells(t)} for t in tables],
    }
    if why := found.notes.get("why"):
        fields["why"] = why
    if out is not None and ending == SAVED:
        found.save(out)
    elif out is not None and ending == ".json":
        write_json(out, fields)
    elif out is not None:
        small = tables[0].values.size <= MOST_INTERVALS
        write_tables(out, [tables[0].to_frame("pyarrow", intervals=small)])
    if as_json:
        print_json(fields)
        return
    for each in fields["tables"]:
        names = each["attributes"]
        rows = [[*c["labels"], c["probability"], c["low"], c["high"]] for c in each["cells"]]
        heads = [*names, "probability", "low", "high"]
        print_table(heads, rows, title=" × ".join(names), labels=len(names))
    print_text(f"{found.n:,} reports, method {found.method}, {level:.0%} intervals.")
    if why:
        print_text(f"How: {why}.")
    if ending == SAVED:
        print_text(f"Wrote {out}. 'mdrr query', 'synth' and 'report' take it instead of reports.")
    for names in asked:
        say_bias(made, found.method, names)


def _cells(table: Table) -> list[dict[str, Any]]:
    """One entry per combination of a table: labels, probability and interval."""
    from mdrr.estimation.result import MOST_INTERVALS

    domain, size = table.estimate.domain, table.values.size
    labels = product(*(domain.attribute(name).categories for name in table.attributes))
    ends: list[Any] = [[None] * size] * 2
    if size <= MOST_INTERVALS:
        ends = [table.low.ravel().tolist(), table.high.ravel().tolist()]
    return [
        {"labels": list(words), "probability": share, "low": low, "high": high}
        for words, share, low, high in zip(
            labels, table.values.ravel().tolist(), *ends, strict=True
        )
    ]


def query(
    words: Annotated[
        list[str],
        Argument(
            metavar="REPORTS... EXPRESSION",
            help="Tallies (.json), reports (.parquet .csv .jsonl; - is CSV on stdin) or a saved "
            "estimate (.npz), then who is counted. Names with hyphens or spaces stand in "
            "`backticks`, and then the whole expression between single quotes.",
        ),
    ],
    design: options.EstimateDesign = None,
    method: options.Method = "auto",
    option: options.MethodOption = None,
    level: options.Level = 0.95,
    population: Annotated[
        bool,
        Option(
            "--population",
            help="Count for the population of which the people who reported are a sample.",
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Count the people for whom an expression holds, with an interval."""
    from mdrr.query import Query

    *files, where = words
    if kind_of(Path(where)) is not None or Path(where).is_file():
        raise MdrrError(f"{where} is a file. The expression is missing, or does not stand last")
    if not files:
        raise MdrrError(f"no reports are named before the expression {where!r}")
    reports = [Path(file) for file in files]
    keep_apart(None, reports, design)
    made, fit = load_fit(reports, design, method, option)
    wanted = Query.of(where, made.domain)
    found = fit()
    say_bias(made, found.method, wanted.attributes)
    of = "population" if population else "people"
    count = found.count(wanted, level=level, of=of)  # type: ignore[arg-type]
    fields = {key: getattr(count, key) for key in ("n", "value", "low", "high", "share")}
    print_answer(
        {"where": where, **fields, "level": level, "method": found.method, "of": of},
        f"{count.value:,.0f} of {count.n:,} people ({count.share:.1%}), "
        f"{level:.0%} interval {count.low:,.0f} to {count.high:,.0f}",
        as_json=as_json,
    )


def synth(
    reports: options.Estimable,
    out: options.Out,
    design: options.EstimateDesign = None,
    n: Annotated[
        int | None,
        Option("--n", "-n", help="How many records. Default: as many as people reported."),
    ] = None,
    how: Annotated[
        Literal["sample", "repeat"],
        Option(
            help="Draw records at random, or repeat each combination as often as is likely (the "
            "paper's way, which drops rare combinations)."
        ),
    ] = "sample",
    method: options.Method = "auto",
    option: options.MethodOption = None,
    seed: Annotated[int | None, Option("--seed", help="Draw the same records every time.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write synthetic records drawn from the estimated distribution."""
    from mdrr.files import write_tables
    from mdrr.synthesis import synthesize

    keep_apart(out, reports, design)
    found = load_fit(reports, design, method, option)[1]()
    written = write_tables(out, [synthesize(found, n, how=how, seed=seed, backend="pyarrow")])
    print_answer(
        {"n": written, "how": how, "method": found.method, "out": str(out)},
        f"Wrote {written:,} synthetic records to {out}.",
        as_json=as_json,
    )


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
    language: options.Language = None,
    title: Annotated[str | None, Option(help="The heading. Default: the survey's title.")] = None,
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
    made, fit = load_fit(reports, design, method, option)
    if words is not None and words.domain != made.domain:
        raise MdrrError(
            f"{survey}: this survey does not ask what the reports are of. Give the survey file "
            "that the design was made from"
        )
    true = None
    if truth is not None:
        true = require("pyarrow", "frames").concat_tables(read_people(truth, made.domain))
    with progress("Writing the report") as done:
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
            **about(made),
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
