"""`mdrr pool`: surveys made under several designs, a pilot and the main one, estimated as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdrr.cli.inputs import keep_apart, load_design, load_tally
from mdrr.cli.options import AsJson, Force, Out
from mdrr.cli.publish import publish
from mdrr.cli.screen import print_json, print_text
from mdrr.errors import MdrrError

EXAMPLE = (
    "mdrr pool reports.parquet planned.parquet --design design.json --design planned.json "
    "-o all.json --pooled pooled.json"
)


def pool(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORTS...",
            help="One file per survey: its tally (.json) or reports (.parquet .csv .jsonl).",
        ),
    ],
    design: Annotated[
        list[Path],
        typer.Option("--design", "-d", help="The design of each survey, in the same order."),
    ],
    pooled: Annotated[Path, typer.Option(help="File for the pooled design, to estimate with.")],
    out: Out,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Pool surveys over one domain: their tally, and the design to read it with."""
    from mdrr.files import write_text
    from mdrr.planning import pool as pooling

    keep_apart(out, [*reports, *design, pooled])
    keep_apart(pooled, [*reports, *design], publishes=True)
    if len(reports) != len(design):
        raise MdrrError(
            f"{len(reports)} files of reports and {len(design)} designs: give each survey's file "
            "and its --design, in the same order (mdrr tally makes one file of several)"
        )
    designs = [load_design(path) for path in design]
    tallies = [
        load_tally([path], made, quiet=as_json) for path, made in zip(reports, designs, strict=True)
    ]
    tally, made = pooling(list(zip(tallies, designs, strict=True)))
    done = publish(pooled, made, force=force)
    write_text(out, tally.to_json())
    if as_json:
        print_json(
            {
                "n": tally.n,
                "surveys": [each.n for each in tallies],
                "design": made.fingerprint,
                "epsilon": made.epsilon,
                "out": str(out),
                "pooled": str(pooled),
            }
        )
        return
    print_text(
        f"Wrote {out}: {tally.n:,} reports of {len(tallies)} surveys. {done} Each person spent at "
        f"most ε = {made.epsilon:.4g} if nobody took part twice."
    )
