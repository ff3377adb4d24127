"""`mdrr survey results` and `publish`: what the answers say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from typer import Option

from mdrr.cli import options
from mdrr.cli.collection import LOCAL_DATABASE, Database, SurveyName, opened, survey_id
from mdrr.cli.inputs import SAVED, keep_apart
from mdrr.cli.screen import print_answer, print_json, print_table, print_text
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.design import Design
    from mdrr.server.store import Held, Store
    from mdrr.tallies import Tally


def results(
    name: SurveyName,
    database: Database = LOCAL_DATABASE,
    method: options.Method = "auto",
    level: options.Level = 0.95,
    number: Annotated[
        int | None,
        Option("--phase", help="Only this phase. Default: both phases together."),
    ] = None,
    out: options.MaybeOut = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the true shares from the answers, with intervals; -o saves them (.json, .npz)."""
    from mdrr.estimation import estimate
    from mdrr.files import write_text
    from mdrr.server.findings import describe

    keep_apart(out, [])
    if out is not None and out.suffix.lower() not in (".json", SAVED):
        raise MdrrError(f"{out}: name it .json for the shares, or .npz for the estimate itself")
    with opened(database) as store:
        held = store.need(survey_id(name))
        tally, design = pooled(store, held, number)
    found = estimate(tally, design, method)
    fields = {
        "id": held.id,
        "state": held.state,
        **describe(found, number, level, related(tally, design)),
    }
    if out is not None and out.suffix.lower() == SAVED:
        found.save(out)
    elif out is not None:
        write_text(out, json.dumps(fields, ensure_ascii=False, indent=2) + "\n")
    if as_json:
        print_json(fields)
        return
    for question, each in zip(held.frozen.survey.questions, fields["attributes"], strict=True):
        raw = each["raw"] or [None] * len(each["shares"])
        cells = zip(question.labels, each["shares"], each["low"], each["high"], raw, strict=True)
        rows = [[*row[:4], "–" if row[4] is None else row[4]] for row in cells]
        print_table(["answer", "share", "low", "high", "as sent"], rows, title=question.text)
    print_text(
        f"{found.n:,} answers, method {found.method}, {level:.0%} intervals, ε = "
        f"{design.epsilon:.4f} at most. 'as sent' are the randomized answers."
    )
    if design.outside:
        print_text(design.outside)
    if out is not None:
        print_text(f"Wrote {out}.")


def publish(
    name: SurveyName,
    database: Database = LOCAL_DATABASE,
    method: options.Method = "auto",
    open_data: Annotated[
        bool, Option("--open-data", help="Publish the randomized answers too, in random order.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish the estimate of a closed survey, for everybody and for good."""
    from mdrr.estimation import estimate
    from mdrr.server.findings import describe

    with opened(database) as store:
        held = store.need(survey_id(name))
        if held.state != "closed":
            raise MdrrError(
                f"survey {held.id} is {held.state}, and only a closed one can be published. Run: "
                f"mdrr survey close {held.id}"
            )
        tally, design = pooled(store, held, None)
        found = estimate(tally, design, method)
        shown = describe(found, None, 0.95, related(tally, design))
        store.publish(held.id, shown, open_data=open_data)
    also = " The randomized answers are open data." if open_data else ""
    fields = {"id": held.id, "answers": tally.n, "open_data": open_data}
    text = f"Published the estimate of survey {held.id}, from {tally.n:,} answers.{also}"
    print_answer(fields, text, as_json=as_json)


def pooled(store: Store, held: Held, number: int | None) -> tuple[Tally, Design]:
    """The answers of a phase, or of both as one, and the design to estimate with."""
    from mdrr.planning import pool

    asked = [held.phase(number)] if number is not None else list(held.phases[: held.number])
    tallies = [(store.tally(phase), phase.design) for phase in asked]
    tallies = [each for each in tallies if each[0].n] or tallies[:1]
    if not tallies[0][0].n:
        raise MdrrError(f"survey {held.id} has no answers yet")
    return tallies[0] if len(tallies) == 1 else pool(tallies)


def related(tally: Tally, design: Design) -> Dependences | None:
    """The dependences of all pairs, or None if nobody was asked some pair."""
    from mdrr.dependence import dependences

    try:
        return dependences(tally, design)
    except MdrrError:
        return None
