"""`mdrr survey results` and `publish`: what the answers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from mdrr.cli import options
from mdrr.cli.collection import (
    LOCAL_DATABASE,
    LOCAL_URL,
    Database,
    SurveyName,
    Url,
    check_address,
    opened,
    survey_id,
)
from mdrr.cli.inputs import SAVED, keep_apart
from mdrr.cli.screen import counted, print_json, print_table, print_text, write_json
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.server.findings import Findings
    from mdrr.server.store import Store


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
    from mdrr.frozen import shortfall

    keep_apart(out, [])
    if out is not None and out.suffix.lower() not in (".json", SAVED):
        raise MdrrError(f"{out}: name it .json for the shares, or .npz for the estimate itself")
    with opened(database) as store:
        held, findings = store.need(survey_id(name)), _findings(store)
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
    if design.outside:
        print_text(design.outside)
    if fewer and number in (None, held.number):
        print_text(f"Answers: {fewer}")
    if out is not None:
        print_text(f"Wrote {out}.")


def publish(
    name: SurveyName,
    database: Database = LOCAL_DATABASE,
    method: options.Method = "auto",
    url: Url = LOCAL_URL,
    open_data: Annotated[
        bool, Option("--open-data", help="Publish the randomized answers too, in random order.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish the estimate of a closed survey, for everybody and for good."""
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
        shown = _findings(store).published(held.begun(), method)
        store.publish(held.id, shown, open_data=open_data)
    fields = {"id": held.id, "answers": shown["answers"], "open_data": open_data}
    fields |= {"page": shown_at, "results": address}
    fields |= {"reports": f"{address}/reports.parquet" if open_data else None}
    if as_json:
        print_json(fields)
        return
    print_text(
        f"Published the estimate of survey {held.id}, from {counted(shown['answers'], 'answer')}."
    )
    print_text(f"While the server runs, everybody can read it at {shown_at}")
    print_text(f"Links to the survey now lead there. For programs: {address}")
    if open_data:
        print_text(f"The randomized answers are open data: {fields['reports']}")


def _findings(store: Store) -> Findings:
    from mdrr.server.findings import Findings

    return Findings(store)
