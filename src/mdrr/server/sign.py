"""Invitations before the first question: whether one is good, and signing blind ones.

A blind invitation is marked used, with what is signed for it noted, together. Who asks again with
the same blinded message gets the same signature again, so a lost reply costs nobody her place.
Nothing of this is ever joined with an answer.
"""

from __future__ import annotations

import hashlib
import logging
from typing import Literal

import sqlalchemy as sa
from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from mdrr.server.accept import Outcome, redeem
from mdrr.server.answers import NO_SURVEY, REFUSALS, SurveyId, problems
from mdrr.server.blind import MOST_BITS, FaultError, blind_sign, check_blinded, from_text, to_text
from mdrr.server.held import Held, token_hash
from mdrr.server.limits import Buckets
from mdrr.server.schema import invitations, signed, surveys, why, writing
from mdrr.server.store import Store

log = logging.getLogger("mdrr.server")
MOST_CHARACTERS = -(-MOST_BITS // 6)
ASKED_RATE, ASKED_BURST = 100.0, 1000.0
"""How often a second, and at once, a survey's invitations may be asked about."""


class Invitation(BaseModel, extra="forbid"):
    """An invitation, as the link has it."""

    invitation: str = Field(min_length=1, max_length=43)


class Good(BaseModel):
    """The invitation can be used. This marks nothing."""

    good: Literal[True]


class ToSign(BaseModel, extra="forbid"):
    """An invitation and a blinded message, base64url without padding."""

    invitation: str = Field(min_length=1, max_length=43)
    blinded: str = Field(min_length=1, max_length=MOST_CHARACTERS, pattern="^[A-Za-z0-9_-]+$")


class Signature(BaseModel):
    """The blind signature, base64url without padding."""

    signature: str


def claim(
    engine: sa.Engine, survey: str, invitation: bytes, blinded: bytes
) -> tuple[Outcome, bytes | None]:
    """Mark an invitation used for one blinded message; gives the key to sign it with.

    The invitation is given as its SHA-256, and of the message only its hash is kept.
    """
    mark = hashlib.sha256(blinded).digest()
    mine = {"survey": survey, "invitation": invitation}
    with writing(engine) as connection:
        key = connection.execute(
            sa.select(surveys.c.signing_key)
            .where(surveys.c.id == survey, surveys.c.state == "open")
            .with_for_update(read=True)
        ).scalar()
        if key is None:
            return Outcome.CLOSED, None
        if redeem(connection, survey, {invitation}):
            connection.execute(sa.insert(signed), {**mine, "blinded": mark})
            return Outcome.STORED, key
        before = connection.execute(sa.select(signed.c.blinded).filter_by(**mine)).scalar()
        if before != mark:
            return Outcome.UNINVITED, None
        return Outcome.AGAIN, key


def _asked(store: Store, survey: str) -> Held:
    """The survey, unless it is a draft."""
    held = store.survey(survey)
    if held is None or held.state == "draft":
        raise HTTPException(404, NO_SURVEY)
    return held


def sign_routes(store: Store) -> APIRouter:
    """The routes about invitations."""
    refused = problems(403, 404, 408, 410, 413, 422, 429, 503)
    router = APIRouter(prefix="/api/surveys/{survey}", tags=["anybody"], responses=refused)
    turns = Buckets(ASKED_RATE, ASKED_BURST)

    @router.post("/invitation", response_model=Good)
    def invitation(survey: SurveyId, given: Invitation) -> dict[str, bool]:
        """Whether an invitation can be used, so that nobody answers in vain. Marks nothing."""
        if not turns.take(survey):
            raise HTTPException(429, "Too many ask at once; answer without asking first.")
        if _asked(store, survey).state != "open":
            raise HTTPException(*REFUSALS[Outcome.CLOSED])
        unused = {"survey": survey, "hash": token_hash(given.invitation), "used": False}
        with store.engine.connect() as connection:
            if not connection.execute(sa.select(invitations).filter_by(**unused)).first():
                raise HTTPException(*REFUSALS[Outcome.UNINVITED])  # unknown ones look the same
        return {"good": True}

    @router.post("/sign", response_model=Signature)
    def sign(survey: SurveyId, wanted: ToSign) -> dict[str, str]:
        """Sign a hidden token for an invitation, once. The same request gets the same reply."""
        blinded = from_text(wanted.blinded)
        try:
            public_key = _asked(store, survey).blind_key
            if public_key is None:
                raise HTTPException(404, "This survey signs nothing; send the invitation itself.")
            check_blinded(blinded, public_key)
            outcome, key = claim(store.engine, survey, token_hash(wanted.invitation), blinded)
            if key is not None:
                return {"signature": to_text(blind_sign(blinded, key))}
        except (sa.exc.OperationalError, FaultError) as error:
            reason = why(error) or type(error).__name__
            log.error("an invitation is not signed", extra={"fields": {"why": reason}})
            raise HTTPException(
                503, "The invitation could not be signed; send the same again later."
            ) from None
        raise HTTPException(*REFUSALS[outcome])

    return router
