"""`mdrr survey phase`: from a pilot to the main survey."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from mdrr.cli import options
from mdrr.cli.collection import (
    LOCAL_DATABASE,
    Database,
    SurveyName,
    opened,
    secret_file,
    survey_id,
)
from mdrr.cli.screen import counted, print_json, print_text
from mdrr.errors import EstimateError, MdrrError


def phase(
    name: SurveyName,
    people: Annotated[int, Option("--people", help="How many are expected in the main survey.")],
    database: Database = LOCAL_DATABASE,
    epsilon: Annotated[
        float | None,
        Option("--epsilon", "-e", help="ε of the main survey. Default: that of the pilot."),
    ] = None,
    clusters: Annotated[
        int | None,
        Option("--clusters", metavar="CELLS", help="RR-Clusters of at most so many combinations."),
    ] = None,
    min_dependence: Annotated[
        float, Option(help="With --clusters: the least dependence of attributes to join.")
    ] = 0.1,
    links: Annotated[
        Path | None,
        Option(help="The file of all invitations, for their links to the main survey."),
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="File for these links.")] = None,
    different_people: Annotated[
        bool,
        Option("--different-people", help="Without invitations: nobody is asked in both phases."),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """End the pilot; plan the main survey with what it shows, and start it."""
    from mdrr.collector import Link
    from mdrr.planning import main_survey

    if (links is None) != (out is None):
        raise MdrrError("--links FILE and -o NEWFILE go together")
    with opened(database) as store:
        held = store.need(survey_id(name))
        if held.number > 1:
            raise MdrrError(f"survey {held.id} is in its main survey already; it has one pilot")
        if held.state not in ("open", "closed"):
            raise MdrrError(f"survey {held.id} is {held.state}, so no main survey can begin")
        if held.invitations == "none" and not different_people:
            raise MdrrError(
                f"survey {held.id} has no invitations, so people of the pilot could answer again "
                "and spend both ε. If you are sure that you ask others, add --different-people"
            )
        pilot = held.phase(1)
        tally = store.tally(pilot)
        if not tally.n:
            raise MdrrError(
                f"nobody has answered survey {held.id} yet, so there is nothing to learn for the "
                "main survey. Run this again once people have answered"
            )
        try:
            made = main_survey(
                tally,
                pilot.design,
                people=people,
                epsilon=epsilon,
                max_cells=clusters,
                min_dependence=min_dependence,
            ).design
        except EstimateError as error:
            raise MdrrError(
                f"{error}: there are {counted(tally.n, 'answer')}. Wait for more of them"
            ) from None
        with secret_file(out or Path(), wanted=out is not None) as write:
            store.start_phase(held.id, made, people=people)
            if links is not None:
                old = [Link.parse(line) for line in links.read_text("utf-8").split()]
                write([str(replace(each, fingerprint=made.fingerprint)) for each in old])
    first, second = pilot.design.epsilon, made.epsilon
    fields = {"id": held.id, "pilot": tally.n, "fingerprint": made.fingerprint}
    if as_json:
        print_json({**fields, "epsilon_pilot": first, "epsilon_main": second})
        return
    print_text(f"The pilot had {counted(tally.n, 'answer')}. The main survey has begun.")
    print_text(f"ε₁ = {first:.4f} for people of the pilot, ε₂ = {second:.4f} for the others.")
    once = "An invitation is good for one answer, in whichever phase, so nobody spends both."
    print_text(once if held.invitations != "none" else "Nobody may be asked in both phases.")
    print_text(f"Fingerprint of the main survey: {made.fingerprint}.")
    print_text("Links to the pilot no longer work.")
    if out is not None:
        print_text(
            f"Wrote {out}. Send everybody the new link: nobody can know who has answered, and "
            "whoever did is told that the invitation was used."
        )
