"""`mdrr survey phase`, `close`, `reopen`, `results`, `publish`: when people have answered."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from mdrr.cli import options
from mdrr.cli.collection import check_address, opened, read_links, secret_file, survey_id
from mdrr.cli.inputs import SAVED, keep_apart, write_json
from mdrr.cli.screen import counted, print_answer, print_json, print_table, print_text
from mdrr.errors import EstimateError, MdrrError


def phase(
    name: options.SurveyName,
    people: Annotated[int, Option("--people", help="How many are expected in the main survey.")],
    database: options.Database = options.LOCAL_DATABASE,
    epsilon: Annotated[
        float | None,
        Option("--epsilon", "-e", help="ε of the main survey. Default: that of the pilot."),
    ] = None,
    clusters: Annotated[
        int | None, Option(metavar="CELLS", help="RR-Clusters of at most so many combinations.")
    ] = None,
    min_dependence: Annotated[
        float, Option(help="With --clusters: the least dependence of attributes to join.")
    ] = 0.1,
    links: Annotated[
        Path | None, Option(help="The file of all invitations, for their links to the main survey.")
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="File for these links.")] = None,
    different_people: Annotated[
        bool,
        Option("--different-people", help="Without invitations: nobody is asked in both phases."),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """End the pilot; plan the main survey with what it shows, and start it."""
    from mdrr.planning import main_survey

    if (links is None) != (out is None):
        raise MdrrError("--links FILE and -o NEWFILE go together")
    with opened(database) as store:
        held = store.need(survey_id(name))
        if held.number > 1:
            raise MdrrError(f"survey {held.id} is in its main survey already; it has one pilot")
        if held.state not in ("open", "closed"):
            raise MdrrError(f"survey {held.id} is {held.state}, so no main survey can begin")
        invited = held.invitations != "none"
        if not invited and not different_people:
            raise MdrrError(
                f"survey {held.id} has no invitations, so people of the pilot could answer again "
                "and spend both ε. If you are sure that you ask others, add --different-people"
            )
        old = [] if links is None else read_links(links, held.id, invited=invited)
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
        with secret_file(out) as write:
            store.start_phase(held.id, made, people=people)
            write([replace(each, fingerprint=made.fingerprint) for each in old])
    first, second = pilot.design.epsilon, made.epsilon
    fields = {"id": held.id, "pilot": tally.n, "fingerprint": made.fingerprint}
    fields |= {"epsilon_pilot": first, "epsilon_main": second}
    once = "An invitation is good for one answer, in whichever phase, so nobody spends both."
    text = (
        f"The pilot had {counted(tally.n, 'answer')}. The main survey has begun.\n"
        f"ε₁ = {first:.4f} for people of the pilot, ε₂ = {second:.4f} for the others.\n"
        f"{once if invited else 'Nobody may be asked in both phases.'}\n"
        f"Fingerprint of the main survey: {made.fingerprint}.\n"
        "Links to the pilot no longer work."
    )
    if out is not None:
        text += (
            f"\nWrote {out}. Send everybody the new link: nobody can know who has answered, and "
            "whoever did is told that the invitation was used."
        )
    print_answer(fields, text, as_json=as_json)


def close(
    name: options.SurveyName,
    database: options.Database = options.LOCAL_DATABASE,
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
    following = f" Next: mdrr survey results {held.id}" if found["answers"] else ""
    text = (
        f"Survey {held.id} is closed with {counted(found['answers'], 'answer')}"
        f"{', for good' if final else ''}.{following}"
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


def reopen(name: options.SurveyName, database: options.Database = options.LOCAL_DATABASE) -> None:
    """Take answers again after a survey was closed."""
    with opened(database) as store:
        store.open(id := survey_id(name))
    print_text(f"Survey {id} takes answers again.")


def results(
    name: options.SurveyName,
    database: options.Database = options.LOCAL_DATABASE,
    method: options.Method = "auto",
    level: options.Level = 0.95,
    number: Annotated[
        int | None, Option("--phase", help="Only this phase. Default: both phases together.")
    ] = None,
    out: options.MaybeOut = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the true shares from the answers, with intervals; -o saves them (.json, .npz)."""
    from mdrr.frozen import shortfall
    from mdrr.server.findings import Findings

    keep_apart(out, [])
    if out is not None and out.suffix.lower() not in (".json", SAVED):
        raise MdrrError(f"{out}: name it .json for the shares, or .npz for the estimate itself")
    with opened(database) as store:
        held, findings = store.need(survey_id(name)), Findings(store)
        phases = held.begun(number)
        found = findings.estimate(phases, method)
        described = findings.described(phases, method, level)
        asked = held.phase()
        fewer = shortfall(held.frozen, asked.design, store.answers(asked))
    fields: dict[str, Any] = {"id": held.id, "state": held.state, **described}
    design = found.evidence.design
    if out is not None and out.suffix.lower() == SAVED:
        found.save(out)
    elif out is not None:
        write_json(out, fields)
    if as_json:
        print_json(fields)
        return
    for question, each in zip(held.frozen.survey.questions, fields["attributes"], strict=True):
        raw = each["raw"] or [None] * len(each["shares"])
        cells = zip(question.labels, each["shares"], each["low"], each["high"], raw, strict=True)
        rows = [[*row[:4], "–" if row[4] is None else row[4]] for row in cells]
        print_table(["answer", "share", "low", "high", "as sent"], rows, title=question.text)
    print_text(
        f"{counted(found.n, 'answer')}, method {found.method}, {level:.0%} intervals, ε = "
        f"{design.epsilon:.4f} at most. 'as sent' are the randomized answers."
    )
    print_text(design.outside)
    if fewer and number in (None, held.number):
        print_text(f"Answers: {fewer}")
    if out is not None:
        print_text(f"Wrote {out}.")


def publish(
    name: options.SurveyName,
    database: options.Database = options.LOCAL_DATABASE,
    method: options.Method = "auto",
    url: options.Url = options.LOCAL_URL,
    open_data: Annotated[
        bool, Option("--open-data", help="Publish the randomized answers too, in random order.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish the estimate of a closed survey, for everybody and for good."""
    from mdrr.server.findings import Findings

    base = check_address(url)
    with opened(database) as store:
        held = store.need(survey_id(name))
        address, shown_at = f"{base}/api/surveys/{held.id}/results", f"{base}/r/{held.id}"
        if held.state == "published":
            raise MdrrError(f"survey {held.id} is published already, at {shown_at}")
        if held.state != "closed":
            raise MdrrError(
                f"survey {held.id} is {held.state}, and only a closed one can be published. Run: "
                f"mdrr survey close {held.id}"
            )
        shown = Findings(store).published(held.begun(), method)
        store.publish(held.id, shown, open_data=open_data)
    reports = f"{address}/reports.parquet" if open_data else None
    fields = {"id": held.id, "answers": shown["answers"], "open_data": open_data}
    text = (
        f"Published the estimate of survey {held.id}, from {counted(shown['answers'], 'answer')}.\n"
        f"While the server runs, everybody can read it at {shown_at}\n"
        f"Links to the survey now lead there. For programs: {address}"
    )
    if open_data:
        text += f"\nThe randomized answers are open data: {reports}"
    fields |= {"page": shown_at, "results": address, "reports": reports}
    print_answer(fields, text, as_json=as_json)
