"""`mdrr randomize`: what each person of a file would send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdrr.cli.inputs import keep_apart, load_design
from mdrr.cli.options import AsJson, DesignFile, Out, Seed
from mdrr.cli.screen import note, print_json, print_text, progress
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.randomizer import Reports
    from mdrr.source import Source

EXAMPLE = "mdrr randomize people.csv --design design.json -o reports.parquet"


def randomize(
    people: Annotated[
        Path,
        typer.Argument(help="True records: .csv, .csv.gz, .tsv or .parquet; - is CSV on stdin."),
    ],
    design: DesignFile,
    out: Out,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Randomize a file of true records. Columns that the design does not ask for are dropped."""
    from mdrr.files import stated_fingerprint, write_reports
    from mdrr.files.streams import STDIN
    from mdrr.source import SeededSource, SystemSource

    keep_apart(out, [people, design])
    made = load_design(design)
    if str(people) != STDIN and stated_fingerprint(people) is not None:
        raise MdrrError(f"{people} holds reports, which are randomized already. Give true records")
    source: Source = SystemSource() if seed is None else SeededSource(seed)
    if seed is not None:
        note("Note: --seed is for simulation. Whoever knows the seed undoes the noise")
    with progress("Randomizing", quiet=as_json) as advance:
        n = write_reports(out, _reports(people, made, source, advance), made)
    if as_json:
        mark = made.fingerprint
        print_json({"n": n, "fingerprint": mark, "epsilon": made.epsilon, "out": str(out)})
        return
    print_text(f"Wrote {n:,} reports to {out}. Each spends ε = {made.epsilon:.4f}.")


def _reports(
    people: Path, made: Design, source: Source, advance: Callable[[float], None]
) -> Iterator[Reports]:
    from mdrr.files import read_codes
    from mdrr.randomizer import randomize_codes

    for codes in read_codes(people, made.domain, advance):
        yield randomize_codes(codes, made, source)
