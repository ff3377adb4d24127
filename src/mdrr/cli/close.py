"""`mdrr survey close` and `reopen`: whether a survey takes answers."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Option

from mdrr.cli import options
from mdrr.cli.collection import LOCAL_DATABASE, Database, SurveyName, opened, survey_id
from mdrr.cli.screen import counted, print_answer, print_text
from mdrr.errors import MdrrError


def close(
    name: SurveyName,
    database: Database = LOCAL_DATABASE,
    yes: Annotated[
        bool, Option("--yes", "-y", help="Do not ask, even where closing is for good.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Take no more answers, and forget in which order they came."""
    with opened(database) as store:
        held = store.need(survey_id(name))
        final = held.state == "open" and held.invitations == "blind"
        if final and not yes:
            _ask(held.id)
        store.close(held.id)
        found = store.status(held.id)
    text = (
        f"Survey {held.id} is closed with {counted(found['answers'], 'answer')}"
        f"{', for good' if final else ''}. Next: mdrr survey results {held.id}"
    )
    print_answer(found, text, as_json=as_json)


def _ask(id: str) -> None:
    """Say what closing destroys, and go on only if that is wanted."""
    destroys = (
        f"survey {id} has blind invitations. Closing it destroys their key, so it can never take "
        "answers again"
    )
    if not sys.stdin.isatty():
        raise MdrrError(f"{destroys}. Nothing was done. If you are sure, add --yes")
    if not typer.confirm(f"{destroys[0].upper()}{destroys[1:]}. Close it for good?", err=True):
        raise MdrrError(f"nothing was done; survey {id} is open as before")


def reopen(name: SurveyName, database: Database = LOCAL_DATABASE) -> None:
    """Take answers again after a survey was closed."""
    with opened(database) as store:
        store.open(id := survey_id(name))
    print_text(f"Survey {id} takes answers again.")
