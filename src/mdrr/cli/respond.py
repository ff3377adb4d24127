"""`mdrr respond`: one person answers in the terminal; only her randomized report leaves.

Her answers go through the single-record randomizer alone, and into no file. With a link, the drawn
report is kept until the collector has it, so that sending again never draws again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from mdrr.attribute import Attribute
from mdrr.cli.interview import Interview, Words, agreed, leaving, say, words_of
from mdrr.cli.kept import Kept
from mdrr.cli.options import MaybeDesignFile, MaybeOut, SurveyFile
from mdrr.columns import require
from mdrr.errors import DesignError, MdrrError
from mdrr.respondent import check
from mdrr.respondent import respond as randomize
from mdrr.response import Report

if TYPE_CHECKING:
    from mdrr.collector import Asked, Link

EXAMPLES = {"respond": "mdrr respond --design design.json --survey examples/adult.toml"}
_PAUSES = (1.0, 2.0, 4.0, 8.0, 0.0)


def respond(
    link: Annotated[
        str | None, Argument(metavar="[LINK]", help="The link you were given, between quotes.")
    ] = None,
    design: MaybeDesignFile = None,
    survey: SurveyFile = None,
    most_epsilon: Annotated[
        float | None,
        Option(envvar="MDRR_MOST_EPSILON", help="Refuse surveys that spend more than this ε."),
    ] = None,
    language: Annotated[
        str | None, Option(help="One of the survey's languages. Default: its first.")
    ] = None,
    plain_http: Annotated[
        bool, Option("--plain-http", help="Send even if others on the way can read it.")
    ] = False,
    state: Annotated[
        Path | None, Option(help="Folder that keeps a report until the collector has it.")
    ] = None,
    out: MaybeOut = None,
) -> None:
    """Answer a survey in the terminal; see what is sent before it is. True answers are not kept."""
    if link is not None:
        if design is not None or survey is not None or out is not None:
            raise MdrrError("with a link, leave out --design, --survey and --out")
        _answer(link, most_epsilon, language, plain_http, state)
        return
    if design is None:
        raise MdrrError("give the link of the survey, or --design with its design")
    published = _read(design)
    words = _words(survey, published)
    report = randomize(Interview(published, words), published)
    for line in leaving(published, report, words):
        say(line)
    if out is None:
        print(report.to_json())
        return
    from mdrr.files.whole import write_text

    write_text(out, report.to_json() + "\n")
    print(f"Wrote {out}.", file=sys.stderr)


def _answer(
    text: str, most: float | None, language: str | None, plain_http: bool, state: Path | None
) -> None:
    """The whole way from a link to an acknowledged answer."""
    httpx = require("httpx", "server")
    from mdrr.collector import CollectorError, Link, body, check_invitation, fetch, new_id

    link = Link.parse(text)
    if link.travels_open and not plain_http:
        raise CollectorError(
            "the link is not encrypted (http), so others on the way could read and change what is "
            "sent. Ask for an https link, or accept that with --plain-http"
        )
    if link.fingerprint is None:
        raise CollectorError(
            "the link does not say which design it promises (#design=…). Use the whole link, "
            "between quotes"
        )
    kept = Kept.at(link, state)
    with _telling(kept), httpx.Client(timeout=30.0, follow_redirects=False) as client:
        asked = fetch(link, client)
        epsilon = asked.design.epsilon
        if most is not None and epsilon > most:
            raise CollectorError(
                f"this survey spends ε = {epsilon:.4f}, more than your limit {most:g}. Nothing was "
                "sent"
            )
        shown = asked.survey if language is None else asked.survey.spoken(language)
        published, before = asked.design.to_dict(), kept.report()
        words = words_of(shown.questions)
        if before is None:
            check_invitation(asked, link, client)
            _somebody_else(asked, kept)
            _introduce(shown, asked)
            ticket = _ticket(asked, link, client, kept)
            so_far = f"{kept.sent_so_far()}. {STILL}"
            drawn = randomize(Interview(published, words, so_far), published)
            report = Report(drawn.fingerprint, drawn.questionnaire, drawn.codes, new_id())
            kept.write({**kept.read(), "report": report.to_dict()})
        else:
            report, ticket = before, _ticket(asked, link, client, kept)
            say("Your device drew a report for this survey before. It is not drawn again.")
        report.check(asked.design)
        for line in leaving(published, report, words):
            say(line)
        say("")
        if shown.consent:
            say(shown.consent)
        if asked.invitations == "blind":
            say(_APART)
        if not agreed("Type yes to send it: "):
            raise MdrrError(f"{kept.sent_so_far()}. {STILL}. It offers the same report")
        kept.write({**kept.read(), "tried": True})
        _post(link, "answers", body(report, ticket, asked.answer_bytes), client, 201)
        kept.write({"sent": True})
    print("Received. Thank you.")


def _somebody_else(asked: Asked, kept: Kept) -> None:
    """Let another person answer on a device that holds an answer; never the same one again."""
    if not kept.others():
        return
    say("An answer to this survey was already made on this device.")
    if asked.invitations != "none":
        say(
            "It was made with another invitation. If it was yours, stop here: a second report "
            "about the same answers would reveal more."
        )
        if agreed("Type yes if you are somebody else: "):
            return
    raise MdrrError("nobody is asked twice. Nothing was asked and nothing was sent")


@contextmanager
def _telling(kept: Kept) -> Iterator[None]:
    """Say what was sent if the person breaks off."""
    try:
        yield
    except KeyboardInterrupt:
        sent = kept.sent_so_far()
        say(f"\n{sent[0].upper()}{sent[1:]}. {STILL}.")
        raise


STILL = "You can still answer: give the same command again, on this device"
_APART = (
    "The report is sent without your invitation, and nothing in it tells which one you had. The "
    "time and your internet address still could: the server saw your invitation when you started. "
    "If you can, send an hour later or more: stop now, and give the same command then."
)


def _ticket(asked: Asked, link: Link, client: Any, kept: Kept) -> str | None:
    """What goes with an answer: nothing, the invitation, or a signature that hides it."""
    from mdrr.collector import hide, unhide

    if asked.invitations != "blind":
        return link.invitation if asked.invitations == "required" else None
    hidden = kept.read().get("hidden", {})
    if hidden.get("invitation") != link.invitation:
        hidden = hide(asked, link)
        kept.write({**kept.read(), "hidden": hidden})  # an invitation is signed for once
    if "ticket" not in hidden:
        wanted = {key: hidden[key] for key in ("invitation", "blinded")}
        reply = _post(link, "sign", json.dumps(wanted).encode(), client, 200)
        done = {"invitation": link.invitation, "ticket": unhide(asked, hidden, reply)}
        kept.write({**kept.read(), "hidden": done})  # what joins the two is gone
        hidden = done
    return str(hidden["ticket"])


def _post(link: Link, path: str, content: bytes, client: Any, wanted: int) -> Any:
    """Send bytes, the same ones again if they may have been lost; gives the reply."""
    httpx = require("httpx", "server")
    from mdrr.collector import AGAIN, CollectorError, said

    for pause in _PAUSES:
        try:
            headers = {"content-type": "application/json"}
            reply = client.post(f"{link.api}/{path}", content=content, headers=headers)
        except httpx.HTTPError:
            time.sleep(pause)
            continue
        try:
            fields = reply.json()
        except (ValueError, RecursionError):
            fields = None
        if reply.status_code == wanted:
            return fields
        if reply.status_code not in AGAIN:
            why = said(reply.status_code, fields)
            if path == "answers":
                why = f"the report was sent, but not counted: {why}"
            raise CollectorError(why)
        time.sleep(pause)
    if path == "sign":
        raise CollectorError(
            f"{link.base} did not exchange the invitation, and no answer was sent. Run the same "
            "command later, on this device"
        )
    raise CollectorError(
        f"{link.base} did not take the answer. It is kept: run the same command later, and the "
        "same report is sent"
    )


def _introduce(shown: Any, asked: Asked) -> None:
    """What a person should know before she answers."""
    from mdrr.privacy import in_words

    for text in (shown.title, shown.introduction, shown.purpose, shown.retention, shown.contact):
        if text:
            say(text)
    say("")
    for sentence in in_words(asked.design):
        say(f"• {sentence}")
    if asked.design.domain.public:
        say(f"• Sent as you answer it, outside ε: {', '.join(asked.design.domain.public)}.")


def _read(path: Path) -> dict[str, Any]:
    try:
        design = json.loads(path.read_text(encoding="utf-8"))
        check(design)
    except MdrrError as error:
        raise DesignError(f"{path}: {error}") from None
    except ValueError:
        raise DesignError(f"{path}: not a design, which is a JSON file") from None
    return dict(design)


def _words(survey: Path | None, design: dict[str, Any]) -> Words:
    """The survey's words for the design's questions; without a survey, those of the design."""
    from mdrr.survey import Question, Survey

    if survey is None:
        return words_of(Question(Attribute.from_dict(each)) for each in design["attributes"])
    questions = Survey.load(survey).questions
    asked = {q.attribute.name: list(q.attribute.categories) for q in questions}
    for attribute in design["attributes"]:
        if asked.get(attribute["name"]) != attribute["categories"]:
            raise DesignError(f"{survey}: not the survey of this design, see {attribute['name']!r}")
    return words_of(questions)
