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
