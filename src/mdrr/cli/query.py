"""`mdrr query`: how many people are in a set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mdrr.cli.estimate import say_bias
from mdrr.cli.inputs import keep_apart, kind_of, load_fit
from mdrr.cli.options import AsJson, EstimateDesign, Level, Method, MethodOption
from mdrr.cli.screen import print_answer
from mdrr.errors import MdrrError

EXAMPLE = "mdrr query tally.json --design design.json \"sex == 'Female' and income in ('>50K',)\""


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
    design: EstimateDesign = None,
    method: Method = "auto",
    option: MethodOption = None,
    level: Level = 0.95,
    population: Annotated[
        bool,
        Option(
            "--population",
            help="Count for the population of which the people who reported are a sample.",
        ),
    ] = False,
    as_json: AsJson = False,
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
    made, fit = load_fit(reports, design, method, option, quiet=as_json)
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
