"""The arguments and options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
DesignFile: TypeAlias = Annotated[
    Path, typer.Option("--design", "-d", help="The design (JSON) the reports are made under.")
]
Out: TypeAlias = Annotated[
    Path, typer.Option("--out", "-o", help="File to write, whole or not at all.")
]
MaybeOut: TypeAlias = Annotated[
    Path | None, typer.Option("--out", "-o", help="File to write, whole or not at all.")
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace a file that holds another design.")
]
P: TypeAlias = Annotated[
    float | None,
    typer.Option("--p", help="Probability of keeping each true answer, else uniform over all."),
]
Epsilon: TypeAlias = Annotated[
    float | None, typer.Option("--epsilon", "-e", help="What one person spends in all.")
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", help="For simulation only: who knows the seed undoes the noise."),
]
Counted: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS...",
        help="Tallies (.json) or reports (.parquet .csv .jsonl); - is CSV on stdin.",
    ),
]
Method: TypeAlias = Annotated[
    str, typer.Option(help="The estimator: auto, product, adjust, latent, …")
]
MethodOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the estimator; repeatable."),
]
Level: TypeAlias = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
TrueData: TypeAlias = Annotated[
    bool,
    typer.Option("--true-data", help="The files hold true answers: for simulation, it is a leak."),
]
SurveyFile: TypeAlias = Annotated[
    Path | None, typer.Option("--survey", "-s", help="The survey file (TOML).")
]
MaybeDesignFile: TypeAlias = Annotated[
    Path | None, typer.Option("--design", "-d", help="The design (JSON).")
]
