"""What the respondent's page refuses before anything is asked, in Chromium."""

import copy
import json

import pytest

from mdrr.respondent import fingerprint
from scripts.make_vectors import changed
from scripts.vector_designs import constant
from tests.browser.collector import (
    ID,
    PLAIN,
    info,
)
from tests.browser.walk import (
    DONE,
    answer_all,
    asked,
    forward,
    kept,
    refused,
    send,
)

MATRIX = ("questionnaires", 0, "clusters", 1, "matrix")
LESS_NOISE = changed(PLAIN, constant(3, 100, 2**16), *MATRIX)
UNFAIR = changed(PLAIN, {**PLAIN["questionnaires"][0]["clusters"][1]["matrix"], "off": 1}, *MATRIX)


def test_a_design_that_the_link_does_not_promise_is_refused(page, collector):
    link = collector.link()
    collector.info = info(LESS_NOISE)
    text = refused(page, collector, link)
    assert "This page stopped to protect you" in text
    assert "not the one your link promises" in text


def test_a_link_of_a_phase_that_is_over_is_said_to_be_that(page, collector):
    """No alarm: everybody who has not answered in the first phase has such a link."""
    link = collector.link()
    collector.info = info(LESS_NOISE, phase=2, earlier=[collector.info["fingerprint"]])
    text = refused(page, collector, link)
    assert "This link was for the first part of the survey" in text
    assert "ask the people who sent you the link for the new one" in text
    assert "protect" not in text


def test_another_design_is_an_alarm_in_the_second_phase_too(page, collector):
    link = collector.link()
    collector.info = info(LESS_NOISE, phase=2, earlier=["0" * 64])
    assert "not the one your link promises" in refused(page, collector, link)


def test_a_design_that_lies_about_its_fingerprint_is_refused(page, collector):
    collector.info["design"] = {"fingerprint": collector.info["fingerprint"], **LESS_NOISE}
    assert "way of randomizing is not valid" in refused(page, collector, collector.link())


def test_an_unfair_design_is_refused_even_if_the_link_promises_it(page, collector):
    collector.info["design"] = UNFAIR
    link = collector.link(design=fingerprint(UNFAIR))
    assert "way of randomizing is not valid" in refused(page, collector, link)


def test_words_that_do_not_belong_to_the_design_are_refused(page, collector):
    survey = collector.info["survey"]
    collector.info["survey"] = {**survey, "questions": survey["questions"][1:]}
    assert "not the one your link promises" in refused(page, collector, collector.link(words=""))


def test_labels_that_the_link_does_not_promise_are_refused(page, collector):
    """The collector shows "no" for the category yes, under the same design."""
    link = collector.link()
    collector.info = copy.deepcopy(collector.info)
    collector.info["survey"]["questions"][1]["labels"].reverse()
    assert "not the one your link promises" in refused(page, collector, link)


def test_a_link_may_leave_the_words_open(page, collector):
    page.goto(collector.link(words=""))
    page.wait_for_selector("form")
    assert "not the one your link promises" not in page.inner_text("body")
    assert page.locator("form button.main").count() == 1


@pytest.mark.parametrize("mark", ["", "abc", "Z" * 64])
def test_a_link_without_a_fingerprint_is_refused(mark, page, collector):
    assert "Your link is incomplete" in refused(page, collector, collector.link(design=mark))


def test_a_survey_by_invitation_needs_one(page, collector):
    assert "by invitation" in refused(page, collector, collector.link(invitation=""))


def test_a_closed_survey_asks_nothing(page, collector):
    collector.info["state"] = "closed"
    assert "This survey is closed" in refused(page, collector, collector.link())


def test_an_unknown_survey_is_said_to_be_unknown(page, collector):
    link = collector.link().replace(ID, "unknown")
    page.route("**/s/unknown", lambda route: route.continue_(url=f"{collector.url}/s/{ID}"))
    assert "no survey at this address" in refused(page, collector, link)


def test_nobody_is_asked_in_both_phases(page, collector):
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.bodies.clear()
    collector.info = info(LESS_NOISE, phase=2)
    page.goto("about:blank")
    assert DONE in refused(page, collector, collector.link())


def test_without_storage_nothing_is_asked(page, collector):
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } })"
    )
    assert "does not let the page keep" in refused(page, collector, collector.link())


def test_a_damaged_report_is_not_drawn_again(page, collector):
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.bodies.clear()
    for damage in ("{", json.dumps({"design": kept(page)["design"], "report": {"codes": [9]}})):
        page.evaluate(
            """(text) => localStorage.setItem(
                Object.keys(localStorage).find((key) => key.includes("answer")), text)""",
            damage,
        )
        page.goto("about:blank")
        assert "damaged" in refused(page, collector, collector.link())


# ---- The person's own limit


def set_limit(page, text: str) -> None:
    if page.locator("details").first.get_attribute("open") is None:
        page.click("summary")
    page.fill("#limit", text)
    forward(page)


def test_a_survey_above_the_persons_limit_is_refused(page, collector):
    """ε of the design is about 4.26."""
    page.goto(collector.link())
    page.wait_for_selector("form")
    set_limit(page, "4.2")
    page.wait_for_selector(".problem")
    assert "ε is 4.26. Your limit is 4.2" in page.inner_text(".problem")
    assert page.evaluate("document.activeElement.className") == "problem"
    assert page.locator("fieldset").count() == 0
    page.reload()
    page.wait_for_selector("form")
    assert page.input_value("#limit") == "4.2", "the limit stays"
    forward(page)
    page.wait_for_selector(".problem")
    set_limit(page, "4,3")
    assert asked(page) == "region"


@pytest.mark.parametrize("text", ["two", "-1", "1 2"])
def test_a_limit_that_is_no_number_is_refused(text, page, collector):
    page.goto(collector.link())
    page.wait_for_selector("form")
    set_limit(page, text)
    page.wait_for_selector(".problem")
    assert "Enter a number" in page.inner_text(".problem")
