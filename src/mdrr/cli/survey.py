"""`mdrr survey`: the life of a survey, from its draft to its published results."""

from __future__ import annotations

from collections.abc import Callable

import typer

from mdrr.cli.close import close, reopen
from mdrr.cli.collection import invite, open_, owner, status
from mdrr.cli.draft import check, freeze, init, preview
from mdrr.cli.guard import Listed
from mdrr.cli.page import page
from mdrr.cli.phase import phase
from mdrr.cli.results import publish, results

_STEPS: dict[str, tuple[Callable[..., None], str]] = {
    "init": (init, "people.csv -o survey.toml"),
    "check": (check, "survey.toml people.csv"),
    "preview": (preview, "survey.toml"),
    "freeze": (freeze, "survey.toml -o survey.json"),
    "open": (open_, "survey.json --invitations 200"),
    "invite": (invite, "survey.json 50 -o more.txt"),
    "owner": (owner, "survey.json"),
    "page": (page, "survey.json --collector https://collector.example.org -o page"),
    "status": (status, "survey.json"),
    "phase": (phase, "survey.json --people 5000 --links invitations.txt -o main.txt"),
    "close": (close, "survey.json"),
    "reopen": (reopen, "survey.json"),
    "results": (results, "survey.json -o results.json"),
    "publish": (publish, "survey.json --open-data"),
}
EXAMPLES = {name: f"mdrr survey {name} {words}" for name, (_, words) in _STEPS.items()}
EXAMPLE = EXAMPLES["init"]

survey = typer.Typer(cls=Listed, help="Draft, freeze, open and close a survey; read its results.")
for _name, (_step, _) in _STEPS.items():
    survey.command(_name, epilog=f"\b\nExample: {EXAMPLES[_name]}")(_step)
