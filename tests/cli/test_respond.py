"""`mdrr respond LINK`: one person answers over HTTP from the terminal."""

import json
import re
import stat
import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from mdrr.cli.interview import leaving
from mdrr.cli.respond import _PAUSES
from mdrr.collector import Asked, CollectorError, Link
from mdrr.domain import Attribute
from mdrr.frozen import FrozenSurvey, texts
from mdrr.response import Report
from mdrr.server.answers import FRESH_SECONDS
from mdrr.survey import Question
from tests.cli.run import answer, done, refusal, run
from tests.server.cases import free_port, running

DATABASE = "sqlite:///mdrr.db"
ANSWERS = "1\n1\n1\n1\n"


@pytest.fixture
def survey(folder) -> FrozenSurvey:
    done("survey freeze survey.toml --design design.json -o survey.json")
    return FrozenSurvey.from_json(Path("survey.json").read_bytes())


@pytest.fixture
def link(survey):
    """An invitation to a survey that a server offers."""
    done("survey open survey.json --invitations 5")
    with running(DATABASE) as (url, _):
        lines = Path("invitations.txt").read_text(encoding="utf-8").split()
        yield replace(Link.parse(lines[0]), base=url)


def kept() -> dict:
    """What is kept on the device."""
    [file] = Path("device").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return json.loads(file.read_text(encoding="utf-8"))


def respond(link: Link | str, stdin: str, *more: object):
    return run("respond", link, "--state", "device", *more, stdin=stdin)


def answers() -> int:
    return answer("survey status survey.json")["answers"]


def test_an_answer_is_asked_shown_and_sent(link):
    result = respond(link, f"{ANSWERS}yes\n")
    assert result.exit_code == 0, result.stderr
    for part in ("Health", "Do you smoke?", "Yes, daily", "This leaves", "ε ="):
        assert part in result.stderr
    assert "Received" in result.stdout
    assert kept() == {"sent": True}
    assert answers() == 1
    again = respond(link, f"{ANSWERS}yes\n")
    assert again.exit_code == 2
    assert "you answered this survey before" in again.stderr
    assert answers() == 1


def test_without_consent_nothing_is_sent_and_nothing_is_drawn_again(link):
    first = respond(link, f"{ANSWERS}no\n")
    assert first.exit_code == 2
    assert "no answer was sent" in first.stderr
    drawn = kept()["report"]
    assert answers() == 0
    second = respond(link, "yes\n")
    assert "not drawn again" in second.stderr
    assert second.exit_code == 0
    assert answers() == 1
    assert len(drawn["codes"]) == 4
    assert kept() == {"sent": True}


def test_true_answers_are_in_no_file(link):
    """With 4 answers drawn afresh, files hold the report alone; the record is nowhere."""
    respond(link, f"{ANSWERS}no\n")
    report = kept()
    assert set(report) == {"report"}
    assert set(report["report"]) == {"design", "questionnaire", "codes", "id"}


def test_another_design_or_too_large_an_epsilon_is_refused_before_asking(link):
    other = replace(link, fingerprint="0" * 64)
    result = respond(other, ANSWERS)
    assert result.exit_code == 2
    assert "another design than your link promises" in result.stderr
    assert "Do you smoke?" not in result.stderr
    result = respond(link, ANSWERS, "--most-epsilon", 1)
    assert "more than your limit 1" in result.stderr
    assert "Do you smoke?" not in result.stderr
    assert answers() == 0


def test_a_used_invitation_is_refused_before_asking(link):
    done("respond", link, "--state", "device", stdin=f"{ANSWERS}yes\n")
    result = run("respond", link, "--state", "elsewhere", stdin=f"{ANSWERS}yes\n")
    assert result.exit_code == 2
    assert "the collector refused (403)" in result.stderr
    assert "No answer was sent" in result.stderr
    assert "Do you smoke?" not in result.stderr


def another(link: Link) -> Link:
    """Somebody else's link."""
    lines = Path("invitations.txt").read_text(encoding="utf-8").split()
    return replace(Link.parse(lines[1]), base=link.base)


def test_somebody_else_answers_on_the_same_device_and_nobody_twice(link):
    """Each report stays with the invitation it was drawn for."""
    respond(link, f"{ANSWERS}no\n")
    doubtful = respond(another(link), "no\n")
    assert doubtful.exit_code == 2
    assert "nobody is asked twice" in doubtful.stderr
    assert "This leaves" not in doubtful.stderr
    other = respond(another(link), f"yes\n{ANSWERS}yes\n")
    assert other.exit_code == 0, other.stderr
    assert "not drawn again" not in other.stderr
    assert answers() == 1
    later = respond(link, "yes\n")
    assert "not drawn again" in later.stderr
    assert answers() == 2
    for each in (link, another(link)):
        assert "you answered this survey before" in respond(each, "").stderr


def test_without_invitations_a_device_answers_once(survey):
    done("survey open survey.json --no-invitations")
    with running(DATABASE) as (url, _):
        link = Link(url, survey.id, survey.design.fingerprint)
        assert respond(link, f"{ANSWERS}yes\n").exit_code == 0
        assert "you answered this survey before" in respond(link, "").stderr
        invented = respond(replace(link, invitation="x" * 43), f"yes\n{ANSWERS}yes\n")
        assert "nobody is asked twice" in invented.stderr
    assert answers() == 1


def test_a_link_that_was_cut_and_one_with_a_full_stop(link):
    cut = respond(str(link)[:-1], ANSWERS)
    assert "your link is incomplete: copy the whole of it" in cut.stderr
    assert "Do you smoke?" not in cut.stderr
    assert respond(f"{link}.", f"{ANSWERS}yes\n").exit_code == 0


def test_a_refusal_after_sending_says_that_it_was_sent(link, monkeypatch):
    monkeypatch.setattr("mdrr.collector.check_invitation", lambda *_: None)
    done("respond", link, "--state", "device", stdin=f"{ANSWERS}yes\n")
    result = run("respond", link, "--state", "elsewhere", stdin=f"{ANSWERS}yes\n")
    assert "the report was sent, but not counted" in result.stderr
    assert "the collector refused (403)" in result.stderr


def test_a_link_of_a_phase_that_is_over_is_said_to_be_that(survey):
    fields = {
        "state": "open",
        "design": survey.design.to_dict(),
        "survey": texts(survey.survey),
        "answer_bytes": 400,
        "invitations": "none",
        "earlier": ["0" * 64],
    }
    link = Link("https://example.org", survey.id, "0" * 64)
    with pytest.raises(CollectorError, match="first part of the survey, which has ended"):
        Asked.from_dict(fields, link)
    with pytest.raises(CollectorError, match="another design than your link promises"):
        Asked.from_dict(fields, replace(link, fingerprint="1" * 64))


def test_a_blind_invitation_is_signed_before_the_questions_and_once(survey, monkeypatch):
    done("survey open survey.json --invitations 2 --blind")
    sent = []
    post = httpx.Client.post

    def watched(self, url, **words):
        sent.append((str(url).rsplit("/", 1)[1], json.loads(words["content"])))
        return post(self, url, **words)

    monkeypatch.setattr(httpx.Client, "post", watched)
    with running(DATABASE) as (url, _):
        line = Path("invitations.txt").read_text(encoding="utf-8").split()[0]
        link = replace(Link.parse(line), base=url)
        first = respond(link, f"{ANSWERS}no\n")
        assert "send an hour later or more" in first.stderr
        [(where, asked)] = sent
        assert (where, asked["invitation"]) == ("sign", link.invitation)
        assert set(kept()) == {"report", "hidden"}
        assert set(kept()["hidden"]) == {"invitation", "ticket"}
        ticket = kept()["hidden"]["ticket"]
        later = respond(link, "yes\n")
        assert later.exit_code == 0, later.stderr
        (where, answered) = sent[-1]
        assert (len(sent), where, answered["invitation"]) == (2, "answers", ticket)
        assert kept() == {"sent": True}
        other = run("respond", link, "--state", "elsewhere", stdin=f"{ANSWERS}yes\n")
        assert "the collector refused (403)" in other.stderr
        assert "Do you smoke?" not in other.stderr.split("refused")[1]
    assert answers() == 1


STILL = "You can still answer: give the same command again, on this device"
EXCHANGED = "no answer was sent, only your invitation, in exchange for a blind signature"


@pytest.fixture
def blind_link(survey):
    done("survey open survey.json --invitations 1 --blind")
    with running(DATABASE) as (url, _):
        yield replace(Link.parse(Path("invitations.txt").read_text().strip()), base=url)


@pytest.mark.parametrize(
    ("typed", "drawn"), [("1\n", False), (f"{ANSWERS}no\n", True), (ANSWERS, True)]
)
def test_who_breaks_off_is_told_what_was_sent_and_can_answer_later(link, typed, drawn):
    first = respond(link, typed)
    assert first.exit_code == 2
    assert f"no answer was sent. {STILL}" in first.stderr
    assert answers() == 0
    later = respond(link, "yes\n" if drawn else f"{ANSWERS}yes\n")
    assert later.exit_code == 0, later.stderr
    assert answers() == 1


@pytest.mark.parametrize(
    ("typed", "drawn"), [("1\n", False), (f"{ANSWERS}no\n", True), (ANSWERS, True)]
)
def test_after_a_blind_exchange_it_is_not_said_that_nothing_was_sent(blind_link, typed, drawn):
    first = respond(blind_link, typed)
    assert first.exit_code == 2
    assert f"{EXCHANGED}. {STILL}" in first.stderr
    assert "nothing was sent" not in first.stderr
    invitations = answer("survey status survey.json")["invitations"]
    assert (answers(), invitations["used"]) == (0, 1)
    later = respond(blind_link, "yes\n" if drawn else f"{ANSWERS}yes\n")
    assert later.exit_code == 0, later.stderr
    assert answers() == 1


def test_ctrl_c_says_what_was_sent(blind_link, monkeypatch):
    def stopped(self, size=-1):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mdrr.cli.interview.Interview.__getitem__", stopped)
        result = respond(blind_link, "")
    assert result.exit_code == 130
    assert f"{EXCHANGED[0].upper()}{EXCHANGED[1:]}. {STILL}." in result.stderr
    assert respond(blind_link, f"{ANSWERS}yes\n").exit_code == 0
    assert answers() == 1


def test_a_reply_that_is_lost_is_not_called_nothing(link, monkeypatch):
    """Ctrl-C while the collector does not answer: the report may be there already."""
    post = httpx.Client.post

    def lost(self, url, **words):
        reply = post(self, url, **words)
        if url.endswith("/answers"):
            raise KeyboardInterrupt
        return reply

    with monkeypatch.context() as patch:
        patch.setattr(httpx.Client, "post", lost)
        result = respond(link, f"{ANSWERS}yes\n")
    assert "The report was sent, and the collector has not said that it has it" in result.stderr
    assert respond(link, "yes\n").exit_code == 0
    assert answers() == 1


def test_an_exchange_that_fails_is_not_called_an_answer(blind_link, monkeypatch):
    def away(self, url, **words):
        raise httpx.ConnectError("away")

    with monkeypatch.context() as patch:
        patch.setattr(httpx.Client, "post", away)
        patch.setattr("time.sleep", lambda seconds: None)
        result = respond(blind_link, "")
    assert "did not exchange the invitation, and no answer was sent" in result.stderr
    assert "Do you smoke?" not in result.stderr
    assert respond(blind_link, f"{ANSWERS}yes\n").exit_code == 0


def test_a_closed_survey_and_a_folder_that_cannot_be_used(link):
    Path("taken").write_text("x", encoding="utf-8")
    assert "--state" in refusal("respond", link, "--state", "taken/device")
    assert "--state" in refusal("respond", link, "--state", "taken")
    done("survey close survey.json")
    time.sleep(FRESH_SECONDS)  # for so long the server shows what it has read
    assert "does not take answers now" in refusal("respond", link, "--state", "device")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("http://example.org/s/abcdefgh#design=00", "not encrypted"),
        ("http://127.0.0.1:1/s/abcdefgh", "does not say which design"),
        ("http://127.0.0.1:1/s/abcdefgh#design=00", "cannot be reached"),
        ("abcdefgh", "no link to a survey"),
    ],
)
def test_bad_links_are_refused(folder, text, complaint):
    assert complaint in refusal("respond", text, "--state", "device")


def test_a_link_or_a_design_is_needed(folder):
    assert "give the link of the survey, or --design" in refusal("respond")
    assert "leave out --design" in refusal("respond http://x/s/a --design design.json")


def test_what_was_not_acknowledged_is_sent_again_as_it_was(link, monkeypatch):
    """The collector stores the answer, but its reply is lost: the same bytes go again."""
    sent = []
    post = httpx.Client.post

    def lossy(self, url, **words):
        if not url.endswith("/answers"):
            return post(self, url, **words)
        sent.append(words["content"])
        reply = post(self, url, **words)
        if len(sent) < 3:
            raise httpx.ReadError("lost")
        return reply

    monkeypatch.setattr(httpx.Client, "post", lossy)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    result = respond(link, f"{ANSWERS}yes\n")
    assert result.exit_code == 0
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert answers() == 1


def test_a_collector_that_goes_away_gets_the_same_report_later(survey, monkeypatch):
    port = free_port()
    done("survey open survey.json --no-invitations")
    link = Link(f"http://127.0.0.1:{port}", survey.id, survey.design.fingerprint)
    tried = []

    def away(self, url, **words):
        tried.append(words["content"])
        raise httpx.ConnectError("away")

    with running(DATABASE) as (url, _):
        here = replace(link, base=url)
        with monkeypatch.context() as patch:
            patch.setattr(httpx.Client, "post", away)
            patch.setattr("time.sleep", lambda seconds: None)
            result = respond(here, f"{ANSWERS}yes\n")
        assert "It is kept" in result.stderr
        assert len(tried) == len(_PAUSES)
        report = kept()["report"]
        assert json.loads(tried[0])["report"] == report
        assert respond(here, "yes\n").exit_code == 0
    assert answers() == 1


def test_what_leaves_is_in_the_words_of_the_questions(link):
    """Question and label, as they were asked; no name of a column, no category's code."""
    result = respond(link, f"{ANSWERS}no\n")
    leaves = result.stderr.split("This leaves.")[1]
    assert "  Do you smoke?: " in leaves
    assert "smokes:" not in leaves
    asked = result.stderr.split("This leaves.")[0]
    labels = re.findall(r"(?m)^  \d\. (.*)$", asked.split("Do you smoke?")[1].split("1 to ")[0])
    (sent,) = re.findall(r"Do you smoke\?: (.*)", leaves)
    assert sent in labels


def test_a_report_of_every_kind_is_read_as_the_page_reads_it():
    words = {
        "a": ("How old?", ("0 to 17", "18 to 64", "65 to 120")),
        "b": ("Which?", ("x", "y")),
    }

    def read(kind: str, code: int, names=("a",), **fields: object) -> list[str]:
        cluster = {"attributes": list(names), "matrix": {"kind": kind, **fields}}
        design = {"questionnaires": [{"clusters": [cluster]}]}
        return leaving(design, Report("0", 0, (code,), None), words)[2:]

    assert read("constant", 5, names=("a", "b")) == ["  How old?: 65 to 120", "  Which?: y"]
    assert read("banded", 0, cells=3, width=1) == ["  How old?: 0 to 17"]
    assert read("banded", 2, cells=3, width=1) == ["  How old?: between: 0 to 17 – 65 to 120"]
    some = read("subset", 0, cells=3, codes=7, block=[1, 2, 4])
    assert some == ["  How old?: one of: 18 to 64 · 65 to 120"]
    assert read("dense", 3, weights=[[1] * 4] * 3) == ["  How old?: sign number 3"]


def test_bins_are_asked_in_words_and_the_surveys_labels_win():
    age = Attribute("age", kind="numeric", edges=(0, 18, 65, 120), missing="none")
    assert Question(age).answers == ("0 to 17", "18 to 64", "65 to 120", "none")
    named = Question(age, "", ("child", "[18, 65)", "old", "no answer"))
    assert named.answers == ("child", "18 to 64", "old", "no answer")
    assert Question(Attribute("b", ("x", "y"))).answers == ("x", "y")
