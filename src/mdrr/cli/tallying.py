"""`mdrr randomize`, `tally`, `pool` and `adjust`: files of reports, and what is made of them."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from mdrr.cli.inputs import (
    about,
    check_ending,
    keep_apart,
    load_design,
    load_tally,
    plausible,
    publish,
)
from mdrr.cli.options import AsJson, CountedAnywhere, DesignFile, Force, Out, Seed
from mdrr.cli.screen import note, print_answer, progress
from mdrr.columns import require
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.tallies import Keep, Tally

EXAMPLES = {
    "randomize": "mdrr randomize people.csv --design design.json -o reports.parquet",
    "tally": "mdrr tally reports.parquet --design design.json -o tally.json",
    "pool": "mdrr pool reports.parquet planned.parquet --design design.json --design planned.json "
    "-o all.json --pooled pooled.json",
    "adjust": "mdrr adjust reports.parquet --design design.json -o weighted.parquet",
}


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

    keep_apart(out, [people], design)
    made = load_design(design)
    source = SystemSource() if seed is None else SeededSource(seed)
    if seed is not None:
        note("Note: --seed is for simulation. Whoever knows the seed undoes the noise")
    with progress("Randomizing") as advance:
        n = randomize_file(people, out, made, source=source, on_progress=advance)
    print_answer(
        {"n": n, **about(made), "out": str(out)},
        f"Wrote {n:,} reports to {out}. Each spends ε = {made.epsilon:.4f}. "
        f"{made.outside}".rstrip(),
        as_json=as_json,
    )


def tally(
    reports: CountedAnywhere,
    design: DesignFile,
    out: Out,
    different_people: Annotated[
        bool,
        Option(
            "--different-people",
            help="The tallies and the reports are of different people: add them up.",
        ),
    ] = False,
    keep: Annotated[
        Literal["auto", "reports", "sums"],
        Option(
            help="Keep all distinct reports, or sums (margins, pair tables) and a sample of "
            "reports. Default: sums where the distinct reports are too many."
        ),
    ] = "auto",
    engine: Annotated[
        Literal["local", "spark"],
        Option(
            help="What counts: this machine, or Apache Spark, which reads Parquet and CSV, also "
            "folders and addresses such as s3a://…"
        ),
    ] = "local",
    as_json: AsJson = False,
) -> None:
    """Count how often each report occurs in one or more files."""
    from mdrr.files import write_tally

    check_ending(out, ".json", "a tally is JSON, or Arrow (.arrow)", ".arrow")
    paths = [Path(path) for path in reports]
    keep_apart(out, paths, design)
    made = load_design(design)
    if engine == "spark":
        found = _by_spark(reports, made, keep)
    else:
        found = load_tally(paths, made, different_people=different_people, keep=keep)
    write_tally(out, found)
    fields = {"n": found.n, "distinct": found.distinct, "fingerprint": made.fingerprint}
    print_answer(
        {**fields, "out": str(out)},
        f"Wrote {out}: {found.n:,} reports, {found.kept}.",
        as_json=as_json,
    )


def _by_spark(reports: list[str], design: Design, keep: Keep) -> Tally:
    from mdrr.files.reports import check_stated
    from mdrr.spark import tally_files

    for path in reports:
        if Path(path).is_file():
            check_stated(path, design)
    return plausible(tally_files(reports, design, keep=keep), design)


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
    read = [*reports, *{path.resolve(): path for path in design}.values()]
    keep_apart(out, read)
    keep_apart(pooled, read, publishes=True)
    if len(reports) < 2 or len(reports) != len(design):
        raise MdrrError(
            f"files of reports: {len(reports)}, designs: {len(design)}. Give two surveys or more, "
            "a file and a --design each, in the same order; mdrr tally makes one file of several"
        )
    designs = [load_design(path) for path in design]
    tallies = [load_tally([path], made) for path, made in zip(reports, designs, strict=True)]
    tally, made = pooling(list(zip(tallies, designs, strict=True)))
    publish(pooled, made, force=force, option="--pooled")
    write_tally(out, tally)
    print_answer(
        {
            "n": tally.n,
            "surveys": [each.n for each in tallies],
            **about(made),
            "out": str(out),
            "pooled": str(pooled),
        },
        f"Wrote {out}, {tally.n:,} reports of {len(tallies)} surveys, and {pooled}, the design to "
        "estimate them with (ask nobody under it). If nobody took part twice, each person spent "
        f"at most ε = {made.epsilon:.4g}. {made.outside}".rstrip(),
        as_json=as_json,
    )


def adjust(
    reports: Annotated[list[Path], Argument(help="Reports: .parquet, .csv or .jsonl.")],
    design: DesignFile,
    out: Out,
    tolerance: Annotated[float, Option(help="Stop when margins are this near.")] = 1e-9,
    sweeps: Annotated[int, Option(help="Stop after this many sweeps.")] = 1000,
    column: Annotated[str, Option(help="The name of the column of weights.")] = "weight",
    as_json: AsJson = False,
) -> None:
    """Weight the randomized records so that their margins are the estimated ones (Algorithm 2)."""
    from mdrr.estimation import adjust as rake
    from mdrr.files import read_reports, write_tables
    from mdrr.files.streams import STDIN
    from mdrr.report_frames import report_columns, report_table
    from mdrr.weighting import record_weights

    keep_apart(out, reports, design)
    made = load_design(design)
    if column in report_columns(made):
        raise MdrrError(
            f"the reports have a column {column!r} already; choose another name with --column"
        )
    for path in reports:
        if str(path) == STDIN:
            raise MdrrError("reports to weigh are read twice, and stdin only once: give a file")
        if path.suffix.lower() in (".json", ".arrow"):
            raise MdrrError(f"{path}: a tally has no records to weigh. Give the reports themselves")
    tally = load_tally(reports, made, keep="reports")
    found = rake(tally, made, tolerance=tolerance, sweeps=sweeps)
    array = require("pyarrow", "frames").array
    chunks = chain.from_iterable(read_reports(path, made) for path in reports)
    weighted = (
        report_table(chunk, made).append_column(column, array(record_weights(chunk, tally, found)))
        for chunk in chunks
    )
    n = write_tables(out, weighted)
    why, unreached = found.notes["adjustment"], found.notes["unreached"]
    text = (
        f"Wrote {n:,} records with weights (mean 1) to {out}. Stopped by {why.stopped} after "
        f"{why.sweeps:,} sweeps; no margin is further than {why.residual:.2g} from its target."
    )
    if unreached:
        text += f"\n{len(unreached):,} categories have no randomized record and keep weight 0."
    print_answer(
        {
            "n": n,
            **{key: getattr(why, key) for key in ("sweeps", "residual", "stopped")},
            "unreached": [list(pair) for pair in unreached],
            "out": str(out),
        },
        text,
        as_json=as_json,
    )
