"""`mdrr pool`: surveys made under several designs, a pilot and the main one, estimated as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mdrr.cli.inputs import check_ending, keep_apart, load_design, load_tally
from mdrr.cli.options import AsJson, Force, Out
from mdrr.cli.publish import publish
from mdrr.cli.screen import print_answer
from mdrr.errors import MdrrError

EXAMPLE = (
    "mdrr pool reports.parquet planned.parquet --design design.json --design planned.json "
    "-o all.json --pooled pooled.json"
)


def pool(
    reports: Annotated[
        list[Path],
        Argument(
            metavar="REPORTS",
            help="One file per survey: its tally (.json .arrow) or reports (.parquet .csv .jsonl).",
        ),
    ],
    design: Annotated[
        list[Path], Option("--design", "-d", help="The design of each survey, in the same order.")
    ],
    pooled: Annotated[Path, Option(help="File for the design to estimate with.")],
    out: Out,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Join surveys that asked the same attributes into one tally and its design."""
    from mdrr.files import write_tally
    from mdrr.planning import pool as pooling

    if out.resolve() == pooled.resolve():
        raise MdrrError(f"{out} would be written twice; give the tally and the design a file each")
    check_ending(out, ".json", "a tally is JSON, or Arrow (.arrow)", ".arrow")
    keep_apart(out, reports)
    keep_apart(pooled, reports, publishes=True)
    for path in design:
        keep_apart(out, [path])
        keep_apart(pooled, [path], publishes=True)
    if len(reports) < 2 or len(reports) != len(design):
        raise MdrrError(
            f"files of reports: {len(reports)}, designs: {len(design)}. Give two surveys or more, "
            "a file and a --design each, in the same order; mdrr tally makes one file of several"
        )
    designs = [load_design(path) for path in design]
    tallies = [
        load_tally([path], made, quiet=as_json) for path, made in zip(reports, designs, strict=True)
    ]
    tally, made = pooling(list(zip(tallies, designs, strict=True)))
    publish(pooled, made, force=force, option="--pooled")
    write_tally(out, tally)
    print_answer(
        {
            "n": tally.n,
            "surveys": [each.n for each in tallies],
            "fingerprint": made.fingerprint,
            "epsilon": made.epsilon,
            "public": list(made.domain.public),
            "out": str(out),
            "pooled": str(pooled),
        },
        f"Wrote {out}, {tally.n:,} reports of {len(tallies)} surveys, and {pooled}, the design to "
        "estimate them with (ask nobody under it). If nobody took part twice, each person spent "
        f"at most ε = {made.epsilon:.4g}. {made.outside}".rstrip(),
        as_json=as_json,
    )
