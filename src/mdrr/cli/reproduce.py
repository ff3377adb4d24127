"""`mdrr reproduce`: the paper's experiments, run again beside what it prints."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdrr.cli.guard import INTERRUPTED, fail
from mdrr.cli.options import AsJson
from mdrr.cli.screen import note, print_json, print_table, print_text

if TYPE_CHECKING:
    from mdrr.reproduction.outcome import Outcome
    from mdrr.reproduction.runner import Progress

EXAMPLE = "mdrr reproduce table1 --runs 200"

QUICK_RUNS = 50


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            help="all, figure1, figure2, figure3, table1, table2, joint (RR-Joint), readings (of "
            "section 6.3), dependences (ways to learn them) or choices (where the paper is silent)."
        ),
    ] = "all",
    runs: Annotated[int, typer.Option(help="Runs behind every median.")] = 1000,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"A first look: {QUICK_RUNS} runs.")
    ] = False,
    matrix: Annotated[
        str,
        typer.Option(
            help="Reading of section 6.3: corrected, printed, signed, power, power-diagonal, "
            "power-printed or each."
        ),
    ] = "corrected",
    dependences: Annotated[
        str,
        typer.Option(
            help="How Algorithm 1 learns them: exact, attributes, attributes-attenuated, "
            "securesum or pairs."
        ),
    ] = "exact",
    rounding: Annotated[
        str,
        typer.Option(
            help="Of σ·(number of combinations): nearest (ties up), even (ties even), down or up."
        ),
    ] = "nearest",
    empty: Annotated[
        str, typer.Option(help="A query nobody satisfies: redraw, drop or infinite.")
    ] = "redraw",
    pairs: Annotated[
        str, typer.Option(help="The random attributes of a query: distinct or repeated.")
    ] = "distinct",
    query_size: Annotated[int, typer.Option(help="How many attributes a query is over.")] = 2,
    projection: Annotated[
        str, typer.Option(help="How estimates become proper: clip (the paper's) or euclidean.")
    ] = "clip",
    thresholds: Annotated[
        str, typer.Option(help="Figure 3's T_v and T_d: the best of the paper, or of ours.")
    ] = "paper",
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 1,
    workers: Annotated[
        int | None, typer.Option(help="Processes; as many as there are cores by default.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for JSON, Markdown and charts.")
    ] = Path("out/reproduction"),
    docs: Annotated[
        Path | None, typer.Option(help="Also write the page for the documentation here.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run everything again instead of resuming.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments again on the real data, beside the numbers it prints."""
    from mdrr.reproduction.folder import fields_of, write_folder, write_page
    from mdrr.reproduction.outcome import TARGETS
    from mdrr.reproduction.outcome import reproduce as run_again
    from mdrr.reproduction.settings import Settings

    settings = Settings(
        runs=QUICK_RUNS if quick else runs,
        seed=seed,
        matrix=matrix,
        dependences=dependences,
        rounding=rounding,  # type: ignore[arg-type]
        empty=empty,  # type: ignore[arg-type]
        pairs=pairs,  # type: ignore[arg-type]
        query_size=query_size,
        projection=projection,  # type: ignore[arg-type]
        thresholds=thresholds,  # type: ignore[arg-type]
    )
    kept = out / "runs"
    if fresh:
        for file in kept.glob("*.jsonl"):
            file.unlink()
    targets = TARGETS if target == "all" else (target,)
    far = _Far()
    try:
        with _remaining(quiet=as_json) as bar:
            watch = far.watched_by(bar)
            outcome = run_again(targets, settings, folder=kept, workers=workers, progress=watch)
    except KeyboardInterrupt:
        fail(far.said(kept), INTERRUPTED)
    command = " ".join(["mdrr", *_words(sys.argv[1:], settings.runs)])
    pictures = all(find_spec(module) for module in ("altair", "vl_convert"))
    if not pictures:
        note("No charts: altair is not installed. Run: pip install 'mdrr[report]'")
    written = write_folder(outcome, out, command, pictures=pictures)
    if docs is not None:
        written += write_page(outcome, docs, command)
    if as_json:
        print_json(fields_of(outcome))
    else:
        _show(outcome)
        note(f"Written: {', '.join(str(path) for path in written if path.suffix != '.png')}")


class _Far:
    """How far the runs are, for whoever interrupts them."""

    def __init__(self) -> None:
        self.done = self.total = 0

    def watched_by(self, bar: Progress | None) -> Progress:
        """Note how far it is, and show it."""

        def note_and_show(done: int, total: int, /) -> None:
            self.done, self.total = done, total
            if bar is not None:
                bar(done, total)

        return note_and_show

    def said(self, kept: Path) -> str:
        """What an interruption leaves, and how to go on."""
        if not self.done:
            return "stopped before any runs were done. Give the same command again to start over"
        return (
            f"stopped. {self.done:,} of {self.total:,} runs are done and kept in {kept}; nothing "
            "else was written. Give the same command again, without --fresh, to go on from there"
        )


def _words(arguments: list[str], runs: int) -> list[str]:
    """The command as it was given, or its plain form when called from a program."""
    return arguments if arguments[:1] == ["reproduce"] else ["reproduce", "--runs", str(runs)]


@contextmanager
def _remaining(*, quiet: bool) -> Iterator[Progress | None]:
    """A bar on stderr with the time that is left; nothing where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    window = 120.0
    with Progress(
        *columns, console=Console(stderr=True), transient=True, speed_estimate_period=window
    ) as bar:
        task = bar.add_task("Runs", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(outcome: Outcome) -> None:
    from mdrr.reproduction.claims import check
    from mdrr.reproduction.markdown import TITLES, agreement
    from mdrr.reproduction.printed import MOST_CELLS
    from mdrr.reproduction.verdict import in_all

    for name, table in outcome.tables.items():
        rows = []
        for p, most, least in table:
            if most == MOST_CELLS[0]:
                cells = [_cell(table[p, each, least]) for each in MOST_CELLS]
                rows.append((str(p), str(least), *(text for pair in cells for text in pair)))
        headings = ["p", "T_d"]
        for most in MOST_CELLS:
            headings += [f"T_v={most}", "paper"]
        print_table(headings, rows, f"{TITLES[name]}: {agreement(table)} cells agree")
    if outcome.figure3:
        _show_points(outcome)
    claims = check(outcome)
    print_table(
        ("section", "the paper says", "here"),
        [(claim.section, claim.text, claim.verdict) for claim in claims],
        in_all(claims, outcome.settings.runs),
    )
    print_text("* differs from the paper by more than chance (99 %)")


def _cell(found: Any) -> tuple[str, str]:
    return f"{found.value:.3f}{'' if found.agrees else ' *'}", f"{found.paper:.3f}"


def _show_points(outcome: Outcome) -> None:
    from mdrr.reproduction.methods import METHODS
    from mdrr.reproduction.printed import COVERAGES, KEEPS

    rows = [
        (str(p), str(c), *(f"{outcome.figure3[p, c, method].value:.3f}" for method in METHODS))
        for p in KEEPS
        for c in COVERAGES
    ]
    print_table(("p", "σ", *METHODS), rows, "Figure 3: relative error")
