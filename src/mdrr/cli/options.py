"""The arguments and options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

MethodName = Literal["auto", "product", "adjust", "pairwise", "latent", "correspondence"]
"""The names of `mdrr.estimation.METHODS`, which help and completion show without loading it."""

AsJson = Annotated[bool, Option("--json", help="Print JSON, for machines.")]
DesignFile = Annotated[
    Path, Option("--design", "-d", help="The design (JSON) the reports are made under.")
]
MaybeDesignFile = Annotated[Path | None, Option("--design", "-d", help="The design (JSON).")]
SurveyFile = Annotated[Path | None, Option("--survey", "-s", help="The survey file (TOML).")]
Out = Annotated[Path, Option("--out", "-o", help="File to write.")]
MaybeOut = Annotated[Path | None, Option("--out", "-o", help="File to write.")]
Force = Annotated[bool, Option("--force", help="Replace a file that holds another design.")]
P = Annotated[
    float | None,
    Option(
        "--p", help="Probability of keeping a true answer; otherwise any answer is equally likely."
    ),
]
_EPSILON = Option("--epsilon", "-e", help="Privacy budget ε: what one person spends in all.")
Epsilon = Annotated[float | None, _EPSILON]
Budget = Annotated[float, _EPSILON]
People = Annotated[int, Option("--n", "-n", help="How many people report.")]
Seed = Annotated[
    int | None,
    Option("--seed", help="Simulation only: whoever knows the seed can undo the randomization."),
]
_COUNTED = Argument(
    metavar="REPORTS",
    help="Tallies (.json .arrow) or reports (.parquet .csv .jsonl); - is CSV on stdin.",
)
Counted = Annotated[list[Path], _COUNTED]
CountedAnywhere = Annotated[list[str], _COUNTED]  # as given: a path would spoil s3a://
Estimable = Annotated[
    list[Path],
    Argument(
        metavar="REPORTS",
        help="Tallies (.json .arrow), reports (.parquet .csv .jsonl; - is CSV on stdin), or a "
        "saved estimate (.npz), which is not fitted again.",
    ),
]
EstimateDesign = Annotated[
    Path | None,
    Option(
        "--design",
        "-d",
        help="The design (JSON) the reports are made under; a saved estimate holds its own.",
    ),
]
Method = Annotated[
    MethodName, Option("--method", help="The estimator; docs/estimators.md explains each.")
]
MethodOption = Annotated[
    list[str] | None,
    Option("--option", metavar="NAME=VALUE", help="An option of the estimator; repeatable."),
]
Language = Annotated[str | None, Option(help="One of the survey's languages. Default: its first.")]
Level = Annotated[float, Option("--level", help="Confidence level, between 0 and 1.")]
Attenuated = Annotated[
    bool, Option("--attenuated", help="Do not correct for the randomization (the paper's way).")
]
TrueData = Annotated[
    bool,
    Option(
        "--true-data",
        help="The files hold true answers; the output is not private (simulation only).",
    ),
]

# Surveys in a database.
SurveyName = Annotated[
    str, Argument(metavar="SURVEY", help="The frozen survey (JSON), or the survey's id.")
]
Database = Annotated[
    str,
    Option(
        "--database",
        envvar="MDRR_DATABASE",
        help="Where answers are kept: sqlite:///FILE, or postgresql://USER@HOST/NAME.",
    ),
]
Url = Annotated[str, Option("--url", help="The address under which people reach the server.")]
LOCAL_DATABASE = "sqlite:///mdrr.db"
LOCAL_URL = "http://127.0.0.1:8000"

# Secure sums.
Patience = Annotated[float, Option(help="Seconds to wait for others before giving up.")]
PlainHttp = Annotated[
    bool,
    Option("--plain-http", help="Take http:// to another machine too; others see who takes part."),
]
RunUrl = Annotated[
    str,
    Option("--relay", help="Address of the batch or group, as 'mdrr securesum relay' prints it."),
]
OrganiserId = Annotated[
    str, Option("--organiser", help="The organiser's id, which you got from someone you trust.")
]
PairEpsilon = Annotated[
    float | None,
    Option(
        "--epsilon", "-e", help="Randomize every pair, spending this in all. Default: exact tables."
    ),
]
