"""The steps of a survey's life, for its owner."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from mdrr.design import Design
from mdrr.protocols import MIN_DEPENDENCE
from mdrr.server.answers import Surveys
from mdrr.server.findings import Findings
from mdrr.server.held import Held, finite
from mdrr.server.owner import KNOWN, Owned, Status, owner_router
from mdrr.server.schema import StoreError
from mdrr.server.store import Store


class Wanted(BaseModel, extra="forbid"):
    """How many invitations to make."""

    count: int = Field(ge=1, le=100_000)


class Tokens(BaseModel):
    """Invitations; they are shown this once."""

    invitations: list[str]
    links: list[str] = Field(description="A person's link each, under the address of this server.")


class Publication(BaseModel, extra="forbid"):
    """What to publish."""

    method: str = Field("auto", pattern=KNOWN)
    open_data: bool = Field(False, description="Publish the randomized reports too.")


class NextPhase(BaseModel, extra="forbid"):
    """The frozen design of the second phase."""

    design: dict[str, Any]
    people: int | None = Field(None, ge=1, le=10**9, description="How many are expected.")


class Suggestion(BaseModel):
    """What the pilot suggests for the second phase."""

    pilot: int = Field(description="How many answered the pilot.")
    epsilon_pilot: float | None
    clusters: list[list[str]] = Field(description="Attributes that go together in the pilot.")
    name: str
    reported: str = Field(description="What each person would report, in words.")
    epsilon: float | None
    error: float = Field(description="Of a typical count, as a share of its size; predicted.")
    fingerprint: str
    design: dict[str, Any]


def step_routes(store: Store, surveys: Surveys, findings: Findings) -> APIRouter:
    """What changes a survey."""
    router = owner_router()

    def moved(held: Held) -> dict[str, Any]:
        surveys.forget(held.id)
        return store.status(held.id)

    @router.post("/invitations", status_code=201, response_model=Tokens)
    def invitations(held: Owned, wanted: Wanted) -> dict[str, Any]:
        """Make invitations. They are shown this once; only their hashes are kept."""
        tokens = store.invite(held.id, wanted.count)
        return {"invitations": tokens, "links": [held.link(token) for token in tokens]}

    @router.post("/open", response_model=Status)
    def open_(held: Owned) -> dict[str, Any]:
        """Take answers."""
        store.open(held.id)
        return moved(held)

    @router.post("/close", response_model=Status)
    def close(held: Owned) -> dict[str, Any]:
        """Take no more answers, and rewrite the tables so that no order of arrival is left."""
        store.close(held.id)
        return moved(held)

    @router.post("/publish", response_model=Status)
    @findings.computed
    def publish(held: Owned, wanted: Publication) -> dict[str, Any]:
        """Publish the estimate of a closed survey, and the reports if wanted. It is final."""
        results = findings.published(held.begun(), wanted.method)
        store.publish(held.id, results, open_data=wanted.open_data)
        return moved(held)

    @router.get("/phase", response_model=Suggestion)
    @findings.computed
    def suggestion(
        held: Owned,
        people: Annotated[int, Query(ge=1, le=10**9, description="Expected in phase 2.")],
        epsilon: Annotated[
            float | None, Query(gt=0, le=100, description="Of phase 2; as in phase 1 by default.")
        ] = None,
        max_cells: Annotated[
            int | None,
            Query(ge=1, le=1_000_000, description="RR-Clusters of so many combinations at most."),
        ] = None,
        min_dependence: Annotated[float, Query(ge=0, le=1)] = MIN_DEPENDENCE,
    ) -> dict[str, Any]:
        """What the first phase suggests for the second; nothing is started."""
        from mdrr.planning import main_survey
        from mdrr.reporting.words import reported_words

        pilot = held.phase(1)
        tally = store.tally(pilot)
        if not tally.n:
            raise StoreError("the pilot has no answers yet, so there is nothing to learn from")
        found = main_survey(
            tally,
            pilot.design,
            people=people,
            epsilon=epsilon,
            max_cells=max_cells,
            min_dependence=min_dependence,
        )
        return {
            "pilot": tally.n,
            "epsilon_pilot": finite(pilot.design.epsilon),
            "clusters": [list(names) for names in found.clusters],
            "name": found.name,
            "reported": reported_words(found.design),
            "epsilon": finite(found.design.epsilon),
            "error": found.predicted.error,
            "fingerprint": found.design.fingerprint,
            "design": found.design.to_dict(),
        }

    @router.post("/phase", response_model=Status)
    def next_phase(held: Owned, wanted: NextPhase) -> dict[str, Any]:
        """Start the second phase; the first takes no more answers."""
        design = Design.from_dict(wanted.design)
        store.start_phase(held.id, design, people=wanted.people)
        return moved(held)

    return router
