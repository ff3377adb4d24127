"""The store: surveys, their answers and invitations in one database, SQLite or PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa

from mdrr.design import Design
from mdrr.frozen import FrozenSurvey, predictions
from mdrr.server.accept import Answer, Outcome, accept
from mdrr.server.blind import verifying_key
from mdrr.server.held import Held, Phase, finite, new_token, new_tokens, token_hash
from mdrr.server.schema import (
    StoreError,
    answers,
    arrivals,
    forget_order,
    invitations,
    masked,
    migrate,
    open_engine,
    phases,
    signed,
    surveys,
    writing,
)
from mdrr.tallies import Keep, Tally, tally_codes

MOST_ANSWERS = 10_000_000
"""How many answers a phase takes unless its owner says otherwise."""
INVITATIONS = ("none", "required", "blind")


class Store:
    """Everything the collector keeps. Opening it brings the database up to date.

    Arguments:
        url: `sqlite:///file.db` or `postgresql://user@host/name`.
    """

    def __init__(self, url: str) -> None:
        self.name = masked(url)
        self.engine = open_engine(url)
        try:
            migrate(self.engine)
        except sa.exc.DatabaseError as error:
            advice = ""
            if self.engine.dialect.name == "sqlite":
                advice = ". Check that its folder exists and that you may write there"
                if "not a database" in str(error.orig):
                    advice = ". Name another file; this one is left as it is"
            raise StoreError(
                f"the database {self.name} cannot be opened: {error.orig}{advice}"
            ) from None

    def dispose(self) -> None:
        """Give up all connections."""
        self.engine.dispose()

    # Surveys

    def create(
        self,
        frozen: FrozenSurvey,
        *,
        invitations: str = "none",
        most: int = MOST_ANSWERS,
        signing_key: bytes | None = None,
        invited: Sequence[str] = (),
        state: str = "draft",
    ) -> str:
        """Add a frozen survey, whole or not at all; gives its owner's token.

        A signing key goes with blind invitations. `invited` are the tokens of its first
        invitations, as `new_tokens` makes them. A survey whose state is "open" takes answers at
        once.
        """
        if invitations not in INVITATIONS:
            raise StoreError(f"invitations are one of {', '.join(INVITATIONS)}")
        if (signing_key is not None) != (invitations == "blind"):
            raise StoreError("blind invitations, and only these, need a signing key")
        if not 1 <= most < 2**53:
            raise StoreError("a survey takes at least 1 answer, and fewer than 2^53")
        if len({design.fingerprint for design in frozen.phases}) < len(frozen.phases):
            raise StoreError("the two phases of the survey have the same design; one would do")
        token = new_token()  # its hash alone is kept
        row = {
            "id": frozen.id,
            "frozen": frozen.to_json(),
            "state": state,
            "phase": 1,
            "invitations": invitations,
            "owner": token_hash(token),
            "most": most,
            "open_data": False,
            "signing_key": signing_key,
            "blind_key": None if signing_key is None else verifying_key(signing_key),
        }
        with writing(self.engine) as connection:
            try:
                connection.execute(sa.insert(surveys), row)
            except sa.exc.IntegrityError:
                raise StoreError(f"survey {frozen.id} is in this database already") from None
            for number, design in enumerate(frozen.phases, start=1):
                _add_phase(connection, frozen.id, number, design)
            if invited:
                _add_invitations(connection, frozen.id, invited)
        return token

    def new_owner(self, id: str) -> str:
        """A new owner's token for a survey; the one before no longer works."""
        token = new_token()
        with writing(self.engine) as connection:
            change = sa.update(surveys).where(surveys.c.id == id).values(owner=token_hash(token))
            if not connection.execute(change).rowcount:
                self.need(id)
        return token

    def states(self) -> dict[str, str]:
        """Every survey's state by its id."""
        with self.engine.connect() as connection:
            query = sa.select(surveys.c.id, surveys.c.state).order_by(surveys.c.id)
            return {row.id: row.state for row in connection.execute(query)}

    def survey(self, id: str) -> Held | None:
        """A survey with its phases, or None if there is none of this id."""
        with self.engine.connect() as connection:
            row = connection.execute(sa.select(surveys).where(surveys.c.id == id)).one_or_none()
            if row is None:
                return None
            asked = connection.execute(
                sa.select(phases).where(phases.c.survey == id).order_by(phases.c.number)
            ).all()
        return Held(
            id=row.id,
            frozen=_frozen(row.frozen),
            state=row.state,
            number=row.phase,
            invitations=row.invitations,
            owner=row.owner,
            most=row.most,
            open_data=row.open_data,
            results=row.results,
            blind_key=row.blind_key,
            phases=tuple(Phase(p.key, p.number, _design(p.design)) for p in asked),
        )

    def need(self, id: str) -> Held:
        """A survey; an error if there is none of this id."""
        held = self.survey(id)
        if held is None:
            raise StoreError(
                f"there is no survey {id!r} in {self.name}. Name its database with --database"
            )
        return held

    # Steps of its life

    def open(self, id: str) -> None:
        """Take answers: a draft, or a survey that was closed."""
        self._check_key(id)
        self._move(id, ("draft", "closed"), "open")

    def close(self, id: str) -> None:
        """Take no more answers, and rewrite the tables so that no order of arrival is left.

        The key that signs blind invitations is destroyed, and what it signed is forgotten.
        """
        self._move(id, ("open", "closed"), "closed", signing_key=None)
        with writing(self.engine) as connection:
            connection.execute(sa.delete(signed).where(signed.c.survey == id))
        forget_order(self.engine, id)

    def _check_key(self, id: str) -> None:
        query = sa.select(surveys.c.id).where(
            surveys.c.id == id,
            surveys.c.invitations == "blind",
            surveys.c.signing_key.is_(None),
        )
        with self.engine.connect() as connection:
            if connection.execute(query).first() is not None:
                raise StoreError(
                    f"survey {id} was closed, and with that the key of its blind invitations was "
                    "destroyed. It cannot take answers again; freeze a new survey"
                )

    def publish(self, id: str, results: Mapping[str, Any], *, open_data: bool = False) -> None:
        """Publish an estimate, and the randomized reports too if the owner wants; it is final."""
        text = json.dumps(results, ensure_ascii=False, allow_nan=False)
        self._move(id, ("closed",), "published", results=text, open_data=open_data)

    def start_phase(self, id: str, design: Design, *, people: int | None = None) -> None:
        """Start the second phase under a design; the first takes no more answers.

        The design becomes a part of the frozen survey, with what is predicted for so many people.
        """
        frozen = self.need(id).frozen
        if design.domain != frozen.survey.domain:
            raise StoreError("the design of the second phase does not ask what the survey asks")
        first, *second = frozen.phases
        if not second:
            predicted = predictions(design, people)
            frozen = replace(frozen, phases=(first, design), predicted=predicted)
        self._check_key(id)
        with writing(self.engine) as connection:
            moved = connection.execute(
                sa.update(surveys)
                .where(
                    surveys.c.id == id,
                    surveys.c.state.in_(("open", "closed")),
                    surveys.c.phase == 1,
                )
                .values(phase=2, state="open", frozen=frozen.to_json())
            )
            if not moved.rowcount:
                self._refuse(id, "start its second phase", "open or closed, in its first phase")
            if design == first:
                raise StoreError("the second phase needs a design of its own, not the first one")
            if second not in ([], [design]):
                raise StoreError("the second phase was frozen with another design; start that one")
            if not second:
                _add_phase(connection, id, 2, design)
        forget_order(self.engine, id)

    def _move(self, id: str, before: tuple[str, ...], after: str, **values: Any) -> None:
        with writing(self.engine) as connection:
            moved = connection.execute(
                sa.update(surveys)
                .where(surveys.c.id == id, surveys.c.state.in_(before))
                .values(state=after, **values)
            )
            if not moved.rowcount:
                self._refuse(id, f"become {after}", " or ".join(before))

    def _refuse(self, id: str, step: str, needed: str) -> None:
        state = self.need(id).state
        raise StoreError(f"survey {id} is {state} and cannot {step}: for that it must be {needed}")

    # Invitations

    def invite(self, id: str, count: int) -> list[str]:
        """Make invitations; their tokens are given once, and only their hashes are kept."""
        tokens, held = new_tokens(count), self.need(id)
        if held.invitations == "none":
            raise StoreError(f"survey {id} takes answers without invitations")
        with writing(self.engine) as connection:
            _add_invitations(connection, id, tokens)
        return tokens

    # Answers

    def accept(self, batch: Sequence[Answer]) -> list[Outcome]:
        """Store answers; each outcome is final once this returns."""
        return accept(self.engine, batch)

    def answers(self, phase: Phase) -> int:
        """How many answers a phase has."""
        with self.engine.connect() as connection:
            query = sa.select(sa.func.coalesce(sa.func.sum(arrivals.c.count), 0))
            return int(connection.execute(query.where(arrivals.c.phase == phase.key)).scalar_one())

    def status(self, id: str) -> dict[str, Any]:
        """State, answers, arrivals by the hour and invitations of a survey."""
        held = self.need(id)
        with self.engine.connect() as connection:
            hours = connection.execute(
                sa.select(phases.c.number, arrivals.c.hour, arrivals.c.count)
                .join(phases, phases.c.key == arrivals.c.phase)
                .where(phases.c.survey == id)
                .order_by(phases.c.number, arrivals.c.hour)
            ).all()
            made, used = connection.execute(
                sa.select(
                    sa.func.count(),
                    sa.func.coalesce(sa.func.sum(sa.cast(invitations.c.used, sa.Integer)), 0),
                ).where(invitations.c.survey == id)
            ).one()
        return {
            "id": id,
            "state": held.state,
            "phase": held.number,
            "phases": [
                {
                    "number": phase.number,
                    "answers": sum(row.count for row in hours if row.number == phase.number),
                    "epsilon": finite(phase.design.epsilon),
                    "fingerprint": phase.design.fingerprint,
                }
                for phase in held.phases
            ],
            "answers": sum(row.count for row in hours),
            "most": held.most,
            "arrivals": [
                {"phase": row.number, "hour": f"{row.hour}:00Z", "count": row.count}
                for row in hours
            ],
            "invitations": {"kind": held.invitations, "made": made, "used": int(used)},
            "epsilon": finite(held.phase().design.epsilon),
            "fingerprint": held.phase().design.fingerprint,
            "link": held.link(),
        }

    def tally(self, phase: Phase, keep: Keep = "auto") -> Tally:
        """The distinct reports of a phase, counted by the database; as sums if they are many."""
        query = (
            sa.select(answers.c.questionnaire, answers.c.codes, sa.func.count().label("n"))
            .where(answers.c.phase == phase.key)
            .group_by(answers.c.questionnaire, answers.c.codes)
        )
        texts: list[list[str]] = [[] for _ in phase.design.outcomes]
        counts: list[list[int]] = [[] for _ in phase.design.outcomes]
        with self.engine.connect() as connection:
            for questionnaire, codes, n in connection.execute(query):
                texts[questionnaire].append(codes)
                counts[questionnaire].append(n)
        columns = []
        for written, sizes in zip(texts, phase.design.outcomes, strict=True):
            numbers = np.array(",".join(written).split(",") if written else [], dtype=np.int64)
            columns.append(list(numbers.reshape(-1, len(sizes)).T))
        counted = [np.array(each, dtype=np.int64) for each in counts]
        return tally_codes(columns, phase.design, counts=counted, keep=keep)


_frozen = lru_cache(256)(FrozenSurvey.from_json)
_design = lru_cache(256)(Design.from_json)


def _add_phase(connection: sa.Connection, survey: str, number: int, design: Design) -> None:
    connection.execute(
        sa.insert(phases),
        {
            "survey": survey,
            "number": number,
            "design": design.to_json(),
            "fingerprint": design.fingerprint,
        },
    )


def _add_invitations(connection: sa.Connection, survey: str, tokens: Sequence[str]) -> None:
    hashes = sorted(map(token_hash, tokens))  # not in the order in which they were made
    rows = [{"survey": survey, "hash": each, "used": False} for each in hashes]
    connection.execute(sa.insert(invitations), rows)
