"""`mdrr synth`: synthetic microdata from an estimate."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Option

from mdrr.cli.inputs import keep_apart, load_fit
from mdrr.cli.options import AsJson, Estimable, EstimateDesign, Method, MethodOption, Out
from mdrr.cli.screen import print_answer

EXAMPLE = "mdrr synth tally.json --design design.json --n 10000 -o synthetic.csv"


def synth(
    reports: Estimable,
    out: Out,
    design: EstimateDesign = None,
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
    method: Method = "auto",
    option: MethodOption = None,
    seed: Annotated[int | None, Option("--seed", help="Draw the same records every time.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write synthetic records drawn from the estimated distribution."""
    from mdrr.files import write_tables
    from mdrr.synthesis import synthesize

    keep_apart(out, reports, design)
    found = load_fit(reports, design, method, option, quiet=as_json)[1]()
    written = write_tables(out, [synthesize(found, n, how=how, seed=seed, backend="pyarrow")])
    print_answer(
        {"n": written, "how": how, "method": found.method, "out": str(out)},
        f"Wrote {written:,} synthetic records to {out}.",
        as_json=as_json,
    )
