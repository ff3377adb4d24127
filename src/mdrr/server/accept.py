"""Storing answers: the invitation is marked used and the answer is stored together, or neither is.

A batch is one transaction, and each step in it is one statement for all answers. Nearly always all
of them are new and invited. Otherwise the transaction is undone, and another first looks up what is
stored. What the database refuses even then is tried again answer by answer, each in a transaction
of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

import sqlalchemy as sa

from mdrr.server.schema import answers, arrivals, invitations, phases, spent, surveys, writing

_Held = dict[tuple[int, bytes], tuple[int, str]]
"""By phase and id: the questionnaire and the codes of an answer that is stored."""


class Outcome(StrEnum):
    """What became of an answer."""

    STORED = "stored"
    AGAIN = "again"  # it was stored before, and is the same
    OTHER = "other"  # another answer was stored under its id
    UNINVITED = "uninvited"  # its invitation is unknown or used
    CLOSED = "closed"  # the survey does not take answers to this phase
    FULL = "full"  # the survey has as many answers as it takes


@dataclass(frozen=True, slots=True)
class Answer:
    """One checked report on its way into the database.

    Arguments:
        survey: the survey's id.
        phase: the key of the phase it belongs to.
        id: 16 random bytes that its device made.
        questionnaire: which one was answered.
        codes: one whole number per cluster, a comma between.
        invitation: SHA-256 of the invitation, if it came with one. It is not stored with it.
    """

    survey: str
    phase: int
    id: bytes
    questionnaire: int
    codes: str
    invitation: bytes | None = field(default=None, repr=False)


def accept(engine: sa.Engine, batch: Sequence[Answer]) -> list[Outcome]:
    """Store answers; each outcome is final once this returns."""
    with suppress(sa.exc.IntegrityError, _NotAllError):
        return _accept(engine, batch, new=True)
    try:
        return _accept(engine, batch)
    except (sa.exc.IntegrityError, _NotAllError):
        # Another process stored one of them in the meantime, or the last places are handed out.
        return [_accept(engine, [answer])[0] for answer in batch]


class _NotAllError(Exception):
    """Some of the answers are not new, not invited, or find no place."""


def _accept(engine: sa.Engine, batch: Sequence[Answer], *, new: bool = False) -> list[Outcome]:
    """Store answers in one transaction; those said to be new all together, or none of them."""
    first: dict[tuple[int, bytes], int] = {}
    for i, answer in enumerate(batch):
        first.setdefault((answer.phase, answer.id), i)
    rows = list(first.values())
    with writing(engine) as connection:
        held = {} if new else _held(connection, batch)
        outcomes = _decide(connection, [batch[i] for i in rows], held)
        if new and outcomes != [Outcome.STORED] * len(batch):
            raise _NotAllError
    decided = dict(zip(rows, outcomes, strict=True))
    rest = [i for i in range(len(batch)) if i not in decided]
    if rest:  # sent twice at once: now the first is there to compare with
        decided |= zip(rest, _accept(engine, [batch[i] for i in rest]), strict=True)
    return [decided[i] for i in range(len(batch))]


def _decide(connection: sa.Connection, batch: list[Answer], held: _Held) -> list[Outcome]:
    """The outcomes of answers with different ids, stored in the open transaction."""
    asked = {"ids": list({answer.survey for answer in batch})}
    taking = {row.key: row for row in connection.execute(_TAKING, asked)}
    outcomes: list[Outcome | None] = []
    wanting: dict[str, list[int]] = {}
    for i, answer in enumerate(batch):
        outcome = _compared(answer, held)
        if outcome is None:
            if answer.phase not in taking:
                outcome = Outcome.CLOSED
            elif taking[answer.phase].room <= 0:
                outcome = Outcome.FULL
            else:
                wanting.setdefault(answer.survey, []).append(i)
        outcomes.append(outcome)
    for survey, which in wanting.items():
        phase = batch[which[0]].phase
        if taking[phase].room < len(which):
            raise _NotAllError
        invited = which
        if taking[phase].invitations != "none":
            mark = redeem if taking[phase].invitations == "required" else _spend
            # Of two that came with one invitation the first has it.
            whose = {hash: i for i in reversed(which) if (hash := batch[i].invitation) is not None}
            good = mark(connection, survey, set(whose))
            invited = [i for hash, i in whose.items() if hash in good]
        if len(invited) < len(which):
            # An invitation may be used because another process has just stored the same answer.
            late = _held(connection, [batch[i] for i in which])
            for i in which:
                outcomes[i] = _compared(batch[i], late) or Outcome.UNINVITED
        for i in invited:
            outcomes[i] = Outcome.STORED
        if invited:
            _insert(connection, phase, [batch[i] for i in invited])
            _count(connection, phase, len(invited))
    return [outcome for outcome in outcomes if outcome is not None]


def _compared(answer: Answer, held: _Held) -> Outcome | None:
    """What to say of an answer whose id is stored already; None if it is not."""
    stored = held.get((answer.phase, answer.id))
    if stored is None:
        return None
    return Outcome.AGAIN if stored == (answer.questionnaire, answer.codes) else Outcome.OTHER


_HELD = sa.select(answers).where(
    answers.c.phase.in_(sa.bindparam("phases", expanding=True)),
    answers.c.id.in_(sa.bindparam("ids", expanding=True)),
)


def _held(connection: sa.Connection, batch: Sequence[Answer]) -> _Held:
    """What is stored under the ids of a batch."""
    given = {"phases": list({each.phase for each in batch}), "ids": [each.id for each in batch]}
    found = connection.execute(_HELD, given)
    return {(row.phase, row.id): (row.questionnaire, row.codes) for row in found}


_STORED = (
    sa.select(sa.func.coalesce(sa.func.sum(arrivals.c.count), 0))
    .where(arrivals.c.phase == phases.c.key)
    .scalar_subquery()
)
_TAKING = (
    sa.select(phases.c.key, surveys.c.invitations, (surveys.c.most - _STORED).label("room"))
    .join(phases, (phases.c.survey == surveys.c.id) & (phases.c.number == surveys.c.phase))
    .where(surveys.c.id.in_(sa.bindparam("ids", expanding=True)), surveys.c.state == "open")
    .with_for_update(read=True, of=surveys)
)
"""The open phases of some surveys, how each invites, and how many more answers it may store.

Nobody closes these before the transaction ends.
"""
_REDEEM = (
    sa.update(invitations)
    .where(
        invitations.c.survey == sa.bindparam("whose"),
        invitations.c.hash.in_(sa.bindparam("hashes", expanding=True)),
        invitations.c.used.is_(False),
    )
    .values(used=True)
    .returning(invitations.c.hash)
)


def redeem(connection: sa.Connection, survey: str, hashes: set[bytes]) -> set[bytes]:
    """Mark invitations used; gives those that were known and unused."""
    given = {"whose": survey, "hashes": list(hashes)}
    return set(connection.execute(_REDEEM, given).scalars())


_SPENT = sa.select(spent.c.hash).where(
    spent.c.survey == sa.bindparam("whose"),
    spent.c.hash.in_(sa.bindparam("hashes", expanding=True)),
)


def _spend(connection: sa.Connection, survey: str, hashes: set[bytes]) -> set[bytes]:
    """Note the tokens of blind invitations; gives those that were not spent before.

    Their signatures were checked when they came.
    """
    known = connection.execute(_SPENT, {"whose": survey, "hashes": list(hashes)}).scalars()
    fresh = hashes - set(known)
    if fresh:
        connection.execute(
            sa.insert(spent), [{"survey": survey, "hash": hash} for hash in sorted(fresh)]
        )
    return fresh


_INTO = "INSERT INTO answers (phase, id, questionnaire, codes) SELECT :phase, "
_INSERT = {
    "sqlite": sa.text(
        _INTO + "substr(:ids, 16 * key + 1, 16), json_extract(value, '$[0]'), "
        "json_extract(value, '$[1]') FROM json_each(:rest) WHERE true ON CONFLICT DO NOTHING"
    ),
    "postgresql": sa.text(
        _INTO + "substr(CAST(:ids AS bytea), CAST(16 * place - 15 AS integer), 16), "
        "CAST(value ->> 0 AS integer), value ->> 1 FROM "
        "json_array_elements(CAST(:rest AS json)) WITH ORDINALITY AS given (value, place) "
        "ON CONFLICT DO NOTHING"
    ),
}
"""One statement for any number of rows: sqlite3 gives up the interpreter after each statement."""


def _insert(connection: sa.Connection, phase: int, some: Sequence[Answer]) -> None:
    """Store answers to one phase; an error if another is stored under the id of one of them."""
    rows = sorted(some, key=lambda each: each.id)  # not in the order they came
    given = {
        "phase": phase,
        "ids": b"".join(each.id for each in rows),
        "rest": json.dumps([(each.questionnaire, each.codes) for each in rows]),
    }
    if connection.execute(_INSERT[connection.dialect.name], given).rowcount < len(rows):
        raise _NotAllError


_ADD = sa.text(
    "INSERT INTO arrivals (phase, hour, count) VALUES (:phase, :hour, :count) "
    "ON CONFLICT (phase, hour) DO UPDATE SET count = arrivals.count + excluded.count"
)


def _count(connection: sa.Connection, phase: int, count: int) -> None:
    """Count arrivals in the present hour, UTC; a clock that jumps moves this count alone."""
    hour = datetime.now(UTC).strftime("%Y-%m-%dT%H")
    connection.execute(_ADD, {"phase": phase, "hour": hour, "count": count})
