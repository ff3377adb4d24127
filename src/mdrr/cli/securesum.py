"""`mdrr securesum`: a secure sum between real processes on this machine, to see how it works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mdrr.cli.options import AsJson

if TYPE_CHECKING:
    from mdrr.securesum.transport.roles import Outcome
    from mdrr.securesum.ways import Assessment

EXAMPLE = "mdrr securesum demo --parties 30 --mode paper"

securesum = typer.Typer(help="Dependences without trust: secure sums between real processes.")


@securesum.callback()
def group() -> None:
    """Dependences without trust: secure sums between real processes."""


@securesum.command(epilog=f"Example: {EXAMPLE}")
def demo(
    parties: Annotated[int, typer.Option(help="How many people, one process each.")] = 30,
    mode: Annotated[str, typer.Option(help="'paper' or 'aggregators'.")] = "paper",
    epsilon: Annotated[
        float | None,
        typer.Option(help="Randomize every pair first, spending this in all; exact without."),
    ] = None,
    minimum: Annotated[int, typer.Option(help="Open nothing for fewer people.")] = 3,
    max_cells: Annotated[int, typer.Option(help="T_v: combinations a cluster may have.")] = 100,
    min_dependence: Annotated[float, typer.Option(help="T_d: dependence that merges.")] = 0.1,
    patience: Annotated[float, typer.Option(help="Seconds each waits for the others.")] = 120.0,
    json: AsJson = False,
) -> None:
    """Start a relay and one process per person on Adult rows; end with dependences and clusters."""
    import tempfile
    from pathlib import Path

    import numpy as np

    from mdrr.cli.screen import note
    from mdrr.columns import require

    for module in ("uvicorn", "fastapi", "httpx"):
        require(module, "server")
    from mdrr.datasets import adult, adult_domain
    from mdrr.frames import encode
    from mdrr.securesum.question import Question
    from mdrr.securesum.transport.demo import run_demo
    from mdrr.securesum.ways import assess

    domain = adult_domain()
    codes = [np.asarray(column)[:parties] for column in encode(adult(), domain)]
    with tempfile.TemporaryDirectory(prefix="mdrr-securesum-") as folder:
        answer = run_demo(
            domain, codes, Path(folder),
            mode=mode, minimum=minimum, epsilon=epsilon, patience=patience, say=note,
        )  # fmt: skip
    question = Question.from_dict(answer["question"])
    totals = np.asarray(answer["totals"], np.int64)
    if not question.matrices and not np.array_equal(totals, question.sums(codes)):
        raise AssertionError("the opened totals are not those of the records")
    note(answer["note"])
    found = assess(question, totals, answer["people"])
    show_assessment(found, max_cells, min_dependence, as_json=json)


def show_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Print what a run opened: JSON for machines, dependences for people."""
    from mdrr.cli.screen import note, print_json

    if as_json:
        print_json(
            {
                "people": outcome.people,
                "question": outcome.terms.question.to_dict(),
                "totals": outcome.totals.tolist(),
                "note": outcome.note,
            }
        )
        return
    from mdrr.securesum.ways import assess

    note(outcome.note)
    show_assessment(assess(outcome.terms.question, outcome.totals, outcome.people), 100, 0.1)


def show_assessment(
    found: Assessment, max_cells: int, min_dependence: float, *, as_json: bool = False
) -> None:
    """Print the dependence matrix, the clusters of Algorithm 1, and the privacy statement."""
    from mdrr.cli.screen import print_json, print_table, print_text

    clusters = found.cluster(max_cells=max_cells, min_dependence=min_dependence)
    names = found.domain.names
    if as_json:
        print_json(
            {
                "people": found.people,
                "attributes": list(names),
                "dependences": found.dependences.values.tolist(),
                "clusters": [list(one) for one in clusters],
                "privacy": found.privacy.to_dict(),
            }
        )
        return
    rows = [[name, *map(float, row)] for name, row in zip(names, found.dependences.values)]  # noqa: B905
    print_table(["", *names], rows, f"Dependences of {found.people} people")
    print_text("Clusters: " + "; ".join(" + ".join(one) for one in clusters))
    print_text(str(found.privacy))
