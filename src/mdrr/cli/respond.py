"""`mdrr respond`: one person answers in the terminal; only her randomized report leaves.

Her answers go through the single-record randomizer alone, and into no file. With a link, the drawn
report is kept until the collector has it, so that sending again never draws again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from mdrr.cli.inputs import load_design, load_survey
from mdrr.cli.interview import Interview, agreed, leaving, words_of
from mdrr.cli.options import Language, MaybeDesignFile, MaybeOut, SurveyFile
from mdrr.cli.screen import step
from mdrr.errors import DesignError, MdrrError
from mdrr.respondent import respond as randomize
from mdrr.response import Report
from mdrr.securesum.private import write_atomically

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
    language: Language = None,
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
    from mdrr.files import write_text
    from mdrr.survey import Question

    if design is None:
        raise MdrrError("give the link of the survey, or --design with its design")
    made = load_design(design)
    words = words_of(Question(each) for each in made.domain.attributes)
    if survey is not None:
        asked = load_survey(survey)
        answers = {each.name: each.categories for each in asked.domain.attributes}
        for each in made.domain.attributes:
            if answers.get(each.name) != each.categories:
                raise DesignError(f"{survey}: not the survey of this design, see {each.name!r}")
        words = words_of(asked.questions)
    published = made.to_dict()
    report = randomize(Interview(published, words), published)
    for line in leaving(published, report, words):
        step(line)
    if out is None:
        print(report.to_json())
        return
    write_text(out, report.to_json() + "\n")
    step(f"Wrote {out}.")


def _answer(
    text: str, most: float | None, language: str | None, plain_http: bool, state: Path | None
) -> None:
    """The whole way from a link to an acknowledged answer."""
    import httpx

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
            step("Your device drew a report for this survey before. It is not drawn again.")
        report.check(asked.design)
        for line in leaving(published, report, words):
            step(line)
        step("")
        if shown.consent:
            step(shown.consent)
        if asked.invitations == "blind":
            step(_APART)
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
    step("An answer to this survey was already made on this device.")
    if asked.invitations != "none":
        step(
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
        step(f"\n{sent[0].upper()}{sent[1:]}. {STILL}.")
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
    import httpx

    from mdrr.collector import AGAIN, CollectorError, said

    headers = {"content-type": "application/json"}
    for pause in _PAUSES:
        status, fields = 503, None
        with suppress(httpx.HTTPError, ValueError, RecursionError):
            reply = client.post(f"{link.api}/{path}", content=content, headers=headers)
            status = reply.status_code
            fields = reply.json()
        if status == wanted:
            return fields
        if status not in AGAIN:
            why = said(status, fields)
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
            step(text)
    step("")
    for sentence in in_words(asked.design):
        step(f"• {sentence}")
    if asked.design.domain.public:
        step(f"• Sent as you answer it, outside ε: {', '.join(asked.design.domain.public)}.")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Kept:
    """A drawn report on this device, in a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def at(cls, link: Link, folder: Path | None) -> Kept:
        """Where the report of one invitation to a survey is kept; refused if it was sent already.

        Without an invitation there is one report per survey, in whichever phase.
        """
        home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        folder = folder or home / "mdrr"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            raise MdrrError(
                f"the folder {folder} cannot be made. Name one that you may write to with --state"
            ) from None
        name = _hash(f"{link.base}/{link.survey}")
        if link.invitation is not None:
            name += f"-{_hash(link.invitation)}"
        kept = cls(folder / f"{name}.json")
        drawn = kept.report()
        if kept.read().get("sent") or (drawn and drawn.fingerprint != link.fingerprint):
            raise MdrrError(
                "you answered this survey before, on this device. Answering again would reveal "
                "more, so nothing was asked"
            )
        return kept

    def others(self) -> bool:
        """Whether a report to this survey was drawn here for another invitation, or without one."""
        survey = self._path.stem.partition("-")[0]
        beside = [path for path in self._path.parent.glob(f"{survey}*.json") if path != self._path]
        return any({"sent", "report"} & Kept(path).read().keys() for path in beside)

    def sent_so_far(self) -> str:
        """What has left this device, in words."""
        held = self.read()
        if held.get("tried"):
            return "the report was sent, and the collector has not said that it has it"
        if "hidden" in held:
            return "no answer was sent, only your invitation, in exchange for a blind signature"
        return "no answer was sent"

    def report(self) -> Report | None:
        """The report that was drawn before."""
        held = self.read().get("report")
        return None if held is None else Report.from_dict(held)

    def write(self, fields: Mapping[str, Any]) -> None:
        """Write it, whole or not at all."""
        write_atomically(self._path, json.dumps(fields).encode())

    def read(self) -> dict[str, Any]:
        """What is kept; nothing before the first draw."""
        try:
            return dict(json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError):
            raise MdrrError(
                f"{self._path} is not what this command wrote. Remove it if you did not answer yet"
            ) from None
