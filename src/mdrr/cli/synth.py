"""`mdrr synth`: synthetic microdata from an estimate."""

from __future__ import annotations

from typing import Annotated

import typer

from mdrr.cli.inputs import keep_apart, load_design, load_tally
from mdrr.cli.methods import estimated, read_options
from mdrr.cli.options import AsJson, Counted, DesignFile, Method, MethodOption, Out
from mdrr.cli.screen import print_json, print_text

EXAMPLE = "mdrr synth tally.json --design design.json --how sample -n 10000 -o synthetic.csv"


def synth(
    reports: Counted,
    design: DesignFile,
    out: Out,
    n: Annotated[
        int | None, typer.Option("-n", help="How many records; as many as reported by default.")
    ] = None,
    how: Annotated[
        str,
        typer.Option(help="repeat (combinations as often as they are likely) or sample (drawn)."),
    ] = "repeat",
    method: Method = "auto",
    option: MethodOption = None,
    seed: Annotated[int | None, typer.Option(help="To draw the same records again.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write synthetic records whose distribution is the estimated one."""
    from mdrr.files import write_tables
    from mdrr.synthesis import synthesize

    keep_apart(out, [*reports, design])
    made = load_design(design)
    chosen = read_options(method, option or ())
    found = estimated(load_tally(reports, made, quiet=as_json), made, method, chosen)
    records = synthesize(found, n, how=how, seed=seed, backend="pyarrow")  # type: ignore[arg-type]
    written = write_tables(out, [records])
    if as_json:
        print_json({"n": written, "how": how, "method": method, "out": str(out)})
        return
    print_text(f"Wrote {written:,} synthetic records to {out}.")
