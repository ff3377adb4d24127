"""Storing answers: the invitation is marked used and the answer is stored together, or neither is.

A batch is one transaction. Within it each step is one statement for all answers, and the set that
was invited is the set that is stored. What the database refuses as a whole is tried again answer by
answer, each in a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from mdrr.server.schema import answers, arrivals, invitations, phases, spent, surveys


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
    try:
        return _accept(engine, batch)
    except (sa.exc.IntegrityError, _CrowdedError):
        # Another process stored one of them in the meantime, or the last places are handed out.
        return [_accept(engine, [answer])[0] for answer in batch]


class _CrowdedError(Exception):
    """There are fewer places left than answers."""


def _accept(engine: sa.Engine, batch: Sequence[Answer]) -> list[Outcome]:
    first: dict[tuple[int, bytes], int] = {}
    for i, answer in enumerate(batch):
        first.setdefault((answer.phase, answer.id), i)
    rows = sorted(first.values())
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        decided = dict(zip(rows, _decide(connection, [batch[i] for i in rows]), strict=True))
    rest = [i for i in range(len(batch)) if i not in decided]
    if rest:  # sent twice at once: now the first is there to compare with
        decided |= zip(rest, _accept(engine, [batch[i] for i in rest]), strict=True)
    return [decided[i] for i in range(len(batch))]


def _decide(connection: sa.Connection, batch: list[Answer]) -> list[Outcome]:
    """The outcomes of answers with different ids, stored in the open transaction."""
    held = _held(connection, batch)
    taking = _taking(connection, {answer.survey for answer in batch})
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
    rows: list[dict[str, Any]] = []
    for survey, which in wanting.items():
        phase = batch[which[0]].phase
        if taking[phase].room < len(which):
            raise _CrowdedError
        invited = which
        if taking[phase].invitations != "none":
            redeem = _redeem if taking[phase].invitations == "required" else _spend
            invited = redeem(connection, survey, {i: batch[i].invitation for i in which})
        if len(invited) < len(which):
            # An invitation may be used because another process has just stored the same answer.
            late = _held(connection, [batch[i] for i in which])
            for i in which:
                outcomes[i] = _compared(batch[i], late) or Outcome.UNINVITED
        for i in invited:
            outcomes[i] = Outcome.STORED
            answer = batch[i]
            rows.append(
                {
                    "phase": phase,
                    "id": answer.id,
                    "questionnaire": answer.questionnaire,
                    "codes": answer.codes,
                }
            )
        if invited:
            _count(connection, phase, len(invited))
    if rows:
        rows.sort(key=lambda row: row["id"])  # the batch is not written in the order it came
        connection.execute(sa.insert(answers), rows)
    return [outcome for outcome in outcomes if outcome is not None]


def _compared(answer: Answer, held: dict[tuple[int, bytes], tuple[int, str]]) -> Outcome | None:
    """What to say of an answer whose id is stored already; None if it is not."""
    stored = held.get((answer.phase, answer.id))
    if stored is None:
        return None
    return Outcome.AGAIN if stored == (answer.questionnaire, answer.codes) else Outcome.OTHER


_HELD = sa.select(answers).where(
    answers.c.phase.in_(sa.bindparam("phases", expanding=True)),
    answers.c.id.in_(sa.bindparam("ids", expanding=True)),
)


def _held(
    connection: sa.Connection, batch: list[Answer]
) -> dict[tuple[int, bytes], tuple[int, str]]:
    """What is stored under the ids of a batch."""
    given = {"phases": list({each.phase for each in batch}), "ids": [each.id for each in batch]}
    found = connection.execute(_HELD, given)
    return {(row.phase, bytes(row.id)): (row.questionnaire, row.codes) for row in found}


@dataclass(frozen=True, slots=True)
class Taking:
    """A phase that takes answers: how it invites, and how many more it may store."""

    invitations: str
    room: int


_STORED = (
    sa.select(sa.func.coalesce(sa.func.sum(arrivals.c.count), 0))
    .where(arrivals.c.phase == phases.c.key)
    .scalar_subquery()
)
_TAKING = (
    sa.select(phases.c.key, surveys.c.invitations, surveys.c.most, _STORED.label("stored"))
    .join(phases, (phases.c.survey == surveys.c.id) & (phases.c.number == surveys.c.phase))
    .where(surveys.c.id.in_(sa.bindparam("ids", expanding=True)), surveys.c.state == "open")
    .with_for_update(read=True, of=surveys)
)


def _taking(connection: sa.Connection, ids: set[str]) -> dict[int, Taking]:
    """The open phases of some surveys; nobody closes these before the transaction ends."""
    return {
        row.key: Taking(row.invitations, row.most - int(row.stored))
        for row in connection.execute(_TAKING, {"ids": list(ids)})
    }


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


def _redeem(connection: sa.Connection, survey: str, given: dict[int, bytes | None]) -> list[int]:
    """Mark invitations used; gives whose were known and unused."""
    hashes = [hash for hash in given.values() if hash is not None]
    marked = connection.execute(_REDEEM, {"whose": survey, "hashes": hashes})
    return _once(given, {bytes(row.hash) for row in marked})


_SPENT = sa.select(spent.c.hash).where(
    spent.c.survey == sa.bindparam("whose"),
    spent.c.hash.in_(sa.bindparam("hashes", expanding=True)),
)


def _spend(connection: sa.Connection, survey: str, given: dict[int, bytes | None]) -> list[int]:
    """Note the tokens of blind invitations; gives whose were not spent before.

    Their signatures were checked when they came.
    """
    hashes = {hash for hash in given.values() if hash is not None}
    known = connection.execute(_SPENT, {"whose": survey, "hashes": list(hashes)})
    fresh = hashes - {bytes(row.hash) for row in known}
    if fresh:
        connection.execute(
            sa.insert(spent), [{"survey": survey, "hash": hash} for hash in sorted(fresh)]
        )
    return _once(given, fresh)


def _once(given: dict[int, bytes | None], good: set[bytes]) -> list[int]:
    """Whose invitation is good; of two that came with one invitation, the first."""
    first: dict[bytes | None, int] = {}
    for i, hash in given.items():
        first.setdefault(hash, i)
    return [i for hash, i in first.items() if hash in good]


_ADD = sa.text(
    "INSERT INTO arrivals (phase, hour, count) VALUES (:phase, :hour, :count) "
    "ON CONFLICT (phase, hour) DO UPDATE SET count = arrivals.count + excluded.count"
)


def _count(connection: sa.Connection, phase: int, count: int) -> None:
    """Count arrivals in the present hour, UTC; a clock that jumps moves this count alone."""
    hour = datetime.now(UTC).strftime("%Y-%m-%dT%H")
    connection.execute(_ADD, {"phase": phase, "hour": hour, "count": count})
