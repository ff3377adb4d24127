"""The arguments and options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

MethodName: TypeAlias = Literal["auto", "product", "adjust", "pairwise", "latent", "correspondence"]
"""The names of `mdrr.estimation.METHODS`, which help and completion show without loading it."""

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
DesignFile: TypeAlias = Annotated[
    Path, typer.Option("--design", "-d", help="The design (JSON) the reports are made under.")
]
MaybeDesignFile: TypeAlias = Annotated[
    Path | None, typer.Option("--design", "-d", help="The design (JSON).")
]
SurveyFile: TypeAlias = Annotated[
    Path | None, typer.Option("--survey", "-s", help="The survey file (TOML).")
]
Out: TypeAlias = Annotated[Path, typer.Option("--out", "-o", help="File to write.")]
MaybeOut: TypeAlias = Annotated[Path | None, typer.Option("--out", "-o", help="File to write.")]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace a file that holds another design.")
]
P: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--p", help="Probability of keeping a true answer; otherwise any answer is equally likely."
    ),
]
Epsilon: TypeAlias = Annotated[
    float | None,
    typer.Option("--epsilon", "-e", help="Privacy budget ε: what one person spends in all."),
]
Budget: TypeAlias = Annotated[
    float, typer.Option("--epsilon", "-e", help="Privacy budget ε: what one person spends in all.")
]
People: TypeAlias = Annotated[int, typer.Option("--n", "-n", help="How many people report.")]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Simulation only: whoever knows the seed can undo the randomization."
    ),
]
Counted: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS",
        help="Tallies (.json) or reports (.parquet .csv .jsonl); - is CSV on stdin.",
    ),
]
Estimable: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS",
        help="Tallies (.json), reports (.parquet .csv .jsonl; - is CSV on stdin), or a saved "
        "estimate (.npz), which is not fitted again.",
    ),
]
EstimateDesign: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--design",
        "-d",
        help="The design (JSON) the reports are made under; a saved estimate holds its own.",
    ),
]
Method: TypeAlias = Annotated[
    MethodName, typer.Option("--method", help="The estimator; docs/estimators.md explains each.")
]
MethodOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the estimator; repeatable."),
]
Level: TypeAlias = Annotated[
    float, typer.Option("--level", help="Confidence level, between 0 and 1.")
]
TrueData: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--true-data",
        help="The files hold true answers; the output is not private (simulation only).",
    ),
]
