"""`mdrr query`: how many people are in a set."""

from __future__ import annotations

from typing import Annotated

import typer

from mdrr.cli.estimate import say_bias
from mdrr.cli.inputs import keep_apart, load_design, load_tally
from mdrr.cli.methods import estimated, read_options
from mdrr.cli.options import AsJson, Counted, DesignFile, Level, Method, MethodOption
from mdrr.cli.screen import print_json, print_text

EXAMPLE = "mdrr query tally.json --design design.json \"sex == 'Female' and income in ('>50K',)\""


def query(
    reports: Counted,
    where: Annotated[
        str, typer.Argument(help="Who is counted; names with hyphens stand in `backticks`.")
    ],
    design: DesignFile,
    method: Method = "auto",
    option: MethodOption = None,
    level: Level = 0.95,
    population: Annotated[
        bool, typer.Option("--population", help="Take the people as a sample of a population.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count the people for whom an expression holds, with an interval."""
    from mdrr.query import Query

    keep_apart(None, [*reports, design])
    made = load_design(design)
    wanted = Query.of(where, made.domain)
    chosen = read_options(method, option or ())
    found = estimated(load_tally(reports, made, quiet=as_json), made, method, chosen)
    say_bias(made, method, wanted.attributes)
    of = "population" if population else "people"
    count = found.count(wanted, level=level, of=of)  # type: ignore[arg-type]
    if as_json:
        print_json(
            {
                "where": where,
                "n": count.n,
                "value": count.value,
                "low": count.low,
                "high": count.high,
                "share": count.share,
                "level": level,
                "method": method,
                "of": of,
            }
        )
        return
    print_text(
        f"{count.value:,.0f} of {count.n:,} people ({count.share:.1%}), "
        f"{level:.0%} interval {count.low:,.0f} to {count.high:,.0f}"
    )
