"""What organisers make without a network: batches and groups, with their invitations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from mdrr.cli.screen import step
from mdrr.errors import ProtocolError

if TYPE_CHECKING:
    from mdrr.securesum.batch import Folder
    from mdrr.securesum.keys import Identity
    from mdrr.securesum.question import Question
    from mdrr.source import Source

PairEpsilon = Annotated[
    float | None,
    Option(
        "--epsilon", "-e", help="Randomize every pair, spending this in all. Default: exact tables."
    ),
]
SurveyName = Annotated[
    str, Option("--survey", "-s", help="What is asked: a survey file, a design or adult.")
]
MinimumOfInvited = Annotated[
    int | None,
    Option(help="Open no total of fewer people. Default: half of those invited, at least 10."),
]
Closes = Annotated[
    str | None, Option(help="Until when to come, as 2030-12-01T12:00Z. Default: a week.")
]
Purpose = Annotated[str, Option(help="What the answers are for; everyone sees it.")]


def begin(
    survey: str, epsilon: float | None, key: Path, invite: int, out: Path
) -> tuple[Identity, Question, list[str], Source]:
    """What batches and groups are made of: the organiser's keys, the question, the invitations."""
    needs("sqlalchemy")
    from mdrr.securesum.inputs import load_or_make, read_domain
    from mdrr.securesum.question import Question, randomized_in_all
    from mdrr.server.held import new_tokens
    from mdrr.source import SystemSource

    if out.exists():
        raise ProtocolError(f"{out} exists; name a new folder, so that no invitations are lost")
    asked, source = read_domain(survey), SystemSource()
    question = Question(asked) if epsilon is None else randomized_in_all(asked, epsilon)
    return load_or_make(key, source), question, new_tokens(invite), source


def hand_out(folder: Folder, tokens: Sequence[str], out: Path, leader: str) -> None:
    """Write the relay's folder and the invitations, and say what to do with them."""
    from mdrr.securesum.private import write_atomically

    write_atomically(out / "invitations.txt", "".join(f"{one}\n" for one in tokens).encode())
    folder.save(out / "relay")
    step(f"Organiser {leader}: tell people this id in a way they can trust.")
    step(
        f"Give {out / 'relay'} to the relay, and each line of {out / 'invitations.txt'} to one "
        "person."
    )


def closing_time(text: str | None) -> int:
    """The time in an option, in seconds since 1970; in a week if there is none."""
    if text is None:
        return int((datetime.now(UTC) + timedelta(days=7)).timestamp())
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        raise ProtocolError(f"--closes {text!r} is not a time such as 2030-12-01T12:00Z")
    if when <= datetime.now(UTC):
        raise ProtocolError(f"--closes {text!r} is over. Give a time to come")
    return int(when.timestamp())


def needs(*modules: str) -> None:
    """Say which extra brings what a command needs."""
    from mdrr.columns import require

    for module in modules:
        require(module, "server")
