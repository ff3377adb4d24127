"""What an owner may download: reports, estimate, synthetic records, the report as a page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from mdrr.server.findings import Findings
from mdrr.server.held import Held
from mdrr.server.owner import Method, Number, OnePhase, Owned, content, owner_router
from mdrr.server.published import PARQUET, parquet
from mdrr.server.store import Store

MOST_RECORDS = 1_000_000
PHASES = ("Pilot", "Main survey")


def download_routes(store: Store, findings: Findings) -> APIRouter:
    """Files for the owner's token."""
    router = owner_router()

    @router.get("/tally")
    def tally(held: Owned, phase: OnePhase = None) -> Response:
        """The distinct reports of a phase with their counts, as `mdrr.Tally` reads them."""
        text = store.tally(held.phase(phase)).to_json()
        return Response(text, media_type="application/json")

    def attachment(held: Held, data: bytes | str, name: str, media: str) -> Response:
        named = {"content-disposition": f'attachment; filename="{held.id}-{name}"'}
        return Response(data, media_type=media, headers=named)

    @router.get("/survey.json", **content("application/json"))
    def frozen(held: Owned) -> Response:
        """The frozen survey with the designs of all its phases, as every command reads it."""
        return attachment(held, held.frozen.to_json(), "survey.json", "application/json")

    @router.get("/reports.parquet", **content(PARQUET))
    async def reports(held: Owned, phase: OnePhase = None) -> Response:
        """The randomized reports of a phase, in random order."""
        packed = await findings.compute(parquet, store, held.phase(phase))
        return attachment(held, packed, "reports.parquet", PARQUET)

    @router.get("/synthetic.csv", **content("text/csv"))
    async def synthetic(
        held: Owned,
        n: Annotated[int | None, Query(ge=1, le=MOST_RECORDS)] = None,
        method: Method = "auto",
        phase: Number = None,
    ) -> Response:
        """Synthetic records drawn from the estimate, by default as many as there are answers."""

        def drawn() -> str:
            found = findings.estimate(held.begun(phase), method)
            text: str = found.sample(n or min(found.n, MOST_RECORDS), backend="polars").write_csv()
            return text

        return attachment(held, await findings.compute(drawn), "synthetic.csv", "text/csv")

    @router.get("/report.html", **content("text/html"))
    async def page(
        held: Owned,
        method: Method = "auto",
        phase: Number = None,
        language: Annotated[
            str | None, Query(max_length=40, description="Of the survey's own words.")
        ] = None,
    ) -> Response:
        """The report as one page, in the survey's words."""

        def written() -> bytes:
            from mdrr.reporting import report

            asked, survey = held.begun(phase), held.frozen.survey
            named = {
                f"{name}, {n:,} people": each.design
                for name, each in zip(PHASES, asked, strict=False)
                if (n := store.answers(each))
            }
            found, related = findings.estimate(asked, method), findings.dependences(asked)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "report.html")
                report(
                    found,
                    found.evidence.design,
                    path=path,
                    dependences=related,
                    survey=survey.spoken(language or survey.language),
                    phases=named if len(named) > 1 else None,
                )
                return path.read_bytes()

        return attachment(held, await findings.compute(written), "report.html", "text/html")

    @router.get("/estimate.npz", **content("application/zip"))
    async def saved(held: Owned, method: Method = "auto", phase: Number = None) -> Response:
        """The estimate, as `mdrr.Estimate.load` reads it."""

        def packed() -> bytes:
            return findings.estimate(held.begun(phase), method).to_bytes()

        return attachment(held, await findings.compute(packed), "estimate.npz", "application/zip")

    return router
