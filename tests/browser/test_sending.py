"""What the respondent's page sends, keeps and sends again, in Chromium; and with what ticket."""

import json

import pytest

from mdrr.server.blind import new_signing_key, ticket_hash, to_text, verifying_key
from tests.browser.collector import (
    ANOTHER,
    INVITATION,
    PLAIN,
    Collector,
    info,
    serving,
)
from tests.browser.walk import (
    CHOICES,
    DONE,
    Traffic,
    answer_all,
    forward,
    heading,
    kept,
    press,
    refused,
    send,
    shown,
    storage,
    true_words,
)


@pytest.mark.parametrize("invitations", ["required", "none"])
def test_loading_again_draws_nothing_and_shows_nothing(invitations, page, context, collector):
    """Whoever opens the page later may be somebody else: the report is shown once, in that tab."""
    collector.info["invitations"] = invitations
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert len(shown(page)) == 6
    page.reload()
    for opened in (page, context.new_page()):
        opened.goto(collector.link())
        opened.wait_for_selector(".panel p")
        assert heading(opened) == DONE
        assert "Sent" not in opened.inner_text("main")
        assert opened.locator("form, button, .exchange").count() == 0
    codes = json.dumps(collector.sent["report"]["codes"], separators=(",", ":"))
    assert codes not in storage(page)
    page.go_back()
    page.wait_for_selector(".panel")
    assert page.locator("form").count() == 0
    assert len(collector.bodies) == 1


def test_somebody_else_with_an_invitation_of_her_own_can_answer(page, context, collector):
    page.goto(collector.link())
    answer_all(page)
    send(page)
    page = context.new_page()
    page.goto(collector.link(invitation=ANOTHER))
    page.wait_for_selector(".panel p")
    assert heading(page) == DONE
    assert page.locator("form, .exchange").count() == 0
    assert len(collector.bodies) == 1
    press(page, "I am somebody else")
    assert answer_all(page) == list(CHOICES)
    send(page)
    first, second = (json.loads(body) for body in collector.bodies)
    assert (first["invitation"], second["invitation"]) == (INVITATION, ANOTHER)
    assert first["report"]["id"] != second["report"]["id"]


def test_without_invitations_nobody_is_asked_after_an_answer_with_one(page, collector):
    """Otherwise a collector could ask again by calling the survey open."""
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.info["invitations"] = "none"
    page.goto("about:blank")
    page.goto(collector.link(invitation=""))
    page.wait_for_selector(".panel p")
    assert heading(page) == DONE
    assert page.locator("form, button").count() == 0


@pytest.mark.parametrize("way", ["button", "reload", "another tab"])
def test_what_was_not_received_is_sent_again_as_it_was(way, page, context, collector):
    collector.status = 503
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert heading(page) == "Not sent yet"
    assert kept(page)["text"].encode() == collector.bodies[0]
    collector.status = 201
    if way == "button":
        press(page, "Try again")
    elif way == "reload":
        page.reload()
    else:
        page.close()
        page = context.new_page()
        page.goto(collector.link())
    page.wait_for_selector(".received")
    assert len(collector.bodies) == 2
    assert collector.bodies[0] == collector.bodies[1]
    assert "text" not in kept(page)


def test_offline_it_waits_and_is_sent_once_online(page, context, collector):
    page.goto(collector.link())
    answer_all(page)
    context.set_offline(True)
    send(page)
    assert heading(page) == "Not sent yet"
    text = kept(page)["text"]
    for word in true_words():
        assert word not in storage(page)
    context.set_offline(False)
    page.wait_for_selector(".received")
    assert collector.bodies == [text.encode()]


@pytest.mark.parametrize("status", [403, 503])
def test_a_report_is_never_sent_with_another_invitation(status, page, collector):
    """Not even if the first was refused: the second person's invitation stays her own."""
    traffic = Traffic(page)
    collector.status = status
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.status = 201
    page.goto("about:blank")
    page.goto(collector.link(invitation=ANOTHER))
    page.wait_for_selector(".panel p")
    assert heading(page) == DONE
    assert page.locator(".exchange").count() == 0
    press(page, "I am somebody else")
    answer_all(page)
    send(page)
    page.goto("about:blank")
    page.goto(collector.link())
    page.wait_for_selector(".failed, .received" if status == 403 else ".received")
    sent = [json.loads(body) for body in traffic.answers]
    reports = {(each["invitation"], each["report"]["id"]) for each in sent}
    assert len(reports) == 2
    assert {invitation for invitation, _ in reports} == {INVITATION, ANOTHER}
    retried = [each for each in sent if each["invitation"] == INVITATION]
    assert len(retried) == (1 if status == 403 else 2), "what was refused is not sent again"


def test_it_is_sent_by_itself_once_the_collector_is_back(page):
    """No event tells a page that a server runs again: it tries, ever less often."""
    collector = Collector(info(PLAIN))
    with serving(collector):
        page.goto(collector.link())
        answer_all(page)
    send(page)
    assert heading(page) == "Not sent yet"
    text = kept(page)["text"]
    assert collector.bodies == []
    with serving(collector, int(collector.url.rsplit(":", 1)[1])):
        page.wait_for_selector(".received", timeout=20_000)
    assert collector.bodies == [text.encode()]


def test_the_pauses_between_tries_grow_and_end(page, collector):
    page.goto(collector.link())
    seconds = page.evaluate(
        """import("/static/sending.js").then(({ pause }) =>
            Array.from({ length: 301 }, (_, i) => pause(i + 1)))"""
    )
    assert all(2 ** (i + 1) <= each < 1.25 * 2 ** (i + 1) for i, each in enumerate(seconds[:7]))
    assert all(240 <= each <= 300 for each in seconds[8:300])
    assert seconds[300] is None


def test_another_tab_cannot_draw_a_second_time(context, collector):
    pages = [context.new_page() for _ in range(2)]
    for page in pages:
        page.bring_to_front()
        page.goto(collector.link())
        answer_all(page)
    for page in pages:
        page.bring_to_front()
        send(page)
    assert len(collector.bodies) == 1
    assert heading(pages[1]) == DONE


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "The invitation is unknown or was used before"),
        (409, "another answer with the same number"),
        (410, "The survey has closed"),
        (413, "did not accept"),
        (422, "did not accept"),
    ],
)
def test_a_refusal_is_said_in_plain_words(status, said, page, collector):
    collector.status = status
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert heading(page) == "Your randomized answers were sent, but not counted"
    assert said in page.inner_text(".panel")
    assert page.locator("button.main").count() == 0
    assert "What left this device" in page.inner_text("main")
    assert "To be sent" not in page.inner_text("main")
    collector.info["state"] = "closed" if status == 410 else "open"
    page.reload()
    page.wait_for_selector(".failed")
    assert said in page.inner_text(".panel")
    assert len(collector.bodies) == 1


@pytest.mark.parametrize(
    ("status", "said"), [(403, "unknown or was used before"), (410, "This survey is closed")]
)
def test_an_invitation_that_is_not_good_is_refused_before_any_question(
    status, said, page, collector
):
    collector.invited = status
    page.goto(collector.link())
    page.wait_for_selector("form")
    forward(page)
    page.wait_for_selector(".panel p")
    assert said in page.inner_text("main")
    assert page.locator("form, fieldset").count() == 0
    assert collector.bodies == []


@pytest.mark.parametrize("status", [404, 429, 503])
def test_a_collector_that_cannot_say_stops_nobody(status, page, collector):
    collector.invited = status
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert collector.sent["invitation"] == INVITATION


def test_a_survey_that_closed_meanwhile_gets_nothing(page, collector):
    page.goto(collector.link())
    answer_all(page)
    collector.info["state"] = "closed"
    send(page)
    assert "Nothing was sent" in page.inner_text("main")
    assert "report" not in kept(page)
    assert collector.bodies == []


@pytest.mark.parametrize("end", [".", ")", ">.", "»", "%20"])
def test_what_mail_programs_put_behind_a_link_does_not_matter(end, page, collector):
    page.goto(collector.link() + end)
    answer_all(page)
    send(page)
    assert collector.sent["invitation"] == INVITATION


@pytest.mark.parametrize("cut", [1, 20, 42])
def test_a_link_that_was_cut_is_said_to_be_incomplete(cut, page, collector):
    text = refused(page, collector, collector.link()[:-cut])
    assert "Your link is incomplete: copy the whole of it" in text
    assert collector.shown == []


# ---- Blind invitations


@pytest.fixture
def blind(collector):
    """The collector signs tokens it cannot see."""
    collector.signing_key = new_signing_key()
    key = to_text(verifying_key(collector.signing_key))
    collector.info = info(PLAIN, invitations="blind", blind_key=key, answer_bytes=960)
    return collector


def test_a_blind_invitation_becomes_a_token_that_tells_nothing(page, blind):
    traffic = Traffic(page)
    page.goto(blind.link())
    answer_all(page)
    (asked_for,) = blind.signed
    forward(page)
    page.wait_for_selector("#agree")
    assert "send an hour later or more" in page.inner_text("main")
    page.go_back()
    page.wait_for_selector(".summary")
    assert asked_for["invitation"] == INVITATION
    send(page)
    assert heading(page) == "Thank you. Your answers were received."
    assert len(blind.bodies[0]) == 960
    token = blind.sent["invitation"]
    assert ticket_hash(token, verifying_key(blind.signing_key)) is not None
    assert b"secret-invitation" not in blind.bodies[0]
    assert not set(token.split(".")) & set(asked_for.values())
    assert sum(b"secret-invitation" in body for body in traffic.posts) == 1
    assert sum("secret-invitation" in request for request in traffic.requests) == 1
    assert "secret-invitation" not in storage(page)
    assert token not in storage(page)


def test_a_blind_invitation_is_signed_for_once(page, blind):
    """After a reload the page asks with the same hidden token, and sends the same answer."""
    page.goto(blind.link())
    page.wait_for_selector("form")
    forward(page)
    page.wait_for_selector("fieldset")
    page.reload()
    answer_all(page)
    blind.status = 503
    send(page)
    page.reload()
    page.wait_for_selector(".waiting")
    assert len({each["blinded"] for each in blind.signed}) == 1
    assert len(blind.bodies) == 2
    assert blind.bodies[0] == blind.bodies[1]


def test_an_invitation_that_is_not_signed_is_said_to_be_used(page, blind):
    blind.signed.append({"blinded": "somebody else's"})
    page.goto(blind.link())
    page.wait_for_selector("form")
    forward(page)
    page.wait_for_selector(".panel p")
    assert "unknown or was used before" in page.inner_text("main")
    assert blind.bodies == []


def test_a_key_that_the_link_does_not_promise_is_refused(page, blind):
    """A server that shows each person another key would recognize her by it."""
    link = blind.link()
    blind.info["blind_key"] = to_text(verifying_key(new_signing_key()))
    assert "not the one your link promises" in refused(page, blind, link)
    page.goto("about:blank")
    assert "Your link is incomplete" in refused(page, blind, blind.link(key=""))
    assert blind.signed == []
