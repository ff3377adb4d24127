"""`mdrr randomize`: what each person of a file would send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from mdrr.cli.inputs import keep_apart, load_design
from mdrr.cli.options import AsJson, DesignFile, Out, Seed
from mdrr.cli.screen import note, print_answer, progress

EXAMPLE = "mdrr randomize people.csv --design design.json -o reports.parquet"


def randomize(
    people: Annotated[
        Path, Argument(help="True records: .csv, .csv.gz, .tsv or .parquet; - is CSV on stdin.")
    ],
    design: DesignFile,
    out: Out,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Randomize a file of true records. Columns that the design does not ask for are dropped."""
    from mdrr.files import randomize_file
    from mdrr.source import SeededSource, SystemSource

    keep_apart(out, [people, design])
    made = load_design(design)
    source = SystemSource() if seed is None else SeededSource(seed)
    if seed is not None:
        note("Note: --seed is for simulation. Whoever knows the seed undoes the noise")
    with progress("Randomizing", quiet=as_json) as advance:
        n = randomize_file(people, out, made, source=source, on_progress=advance)
    print_answer(
        {
            "n": n,
            "fingerprint": made.fingerprint,
            "epsilon": made.epsilon,
            "public": list(made.domain.public),
            "out": str(out),
        },
        f"Wrote {n:,} reports to {out}. Each spends ε = {made.epsilon:.4f}. "
        f"{made.outside}".rstrip(),
        as_json=as_json,
    )
