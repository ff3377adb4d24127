"""Every page as people see it: on a phone, in the dark, right to left, by keyboard, to axe-core.

Screenshots go to out/browser/.
"""

import re
from itertools import count

import pytest

from tests.browser.collector import ANOTHER, info
from tests.browser.conftest import OUT
from tests.browser.walk import CHOICES, answer_all, heading, send

LOOKS = {
    "desktop": {"viewport": {"width": 1100, "height": 900}},
    "phone": {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True},
    "dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    "forced": {
        "viewport": {"width": 800, "height": 800},
        "forced_colors": "active",
        "reduced_motion": "reduce",
    },
}


def violations(page) -> list[str]:
    """What axe-core finds wrong, with all its rules (WCAG 2.2 A and AA, and good practice)."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [f"{v['id']}: {[node['html'][:80] for node in v['nodes']]}" for v in found]


def looker(page, name: str):
    """Takes a picture, and checks what holds on every page."""
    numbers = count(1)
    OUT.mkdir(parents=True, exist_ok=True)

    def look(what: str) -> None:
        page.screenshot(path=OUT / f"{name}-{next(numbers):02}-{what}.png", full_page=True)
        assert violations(page) == [], what
        wide, room = page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= room, f"{what} scrolls sideways"
        small = page.evaluate(
            """[...document.querySelectorAll("button, a, summary, .choice label, input[type=text]")]
            .map((node) => [node.getBoundingClientRect(), node.textContent])
            .filter(([box]) => box.width && Math.min(box.width, box.height) < 24)
            .map(([, text]) => text)"""
        )
        assert small == [], f"{what}: a target below 24 by 24 pixels"

    return look


@pytest.mark.parametrize("name", LOOKS)
def test_every_page_in_every_look(name, browser, collector):
    context = browser.new_context(locale="en-GB", **LOOKS[name])
    page = context.new_page()
    look = looker(page, name)
    page.goto(collector.link())
    answer_all(page, look)
    collector.status = 503
    send(page, look)
    look("waiting")
    collector.status = 201
    page.click("button.main")
    page.wait_for_selector(".received")
    look("received")
    page.reload()
    page.wait_for_selector(".panel p")
    look("loaded-again")
    page.goto("about:blank")
    page.goto(collector.link(invitation=ANOTHER))
    page.wait_for_selector("button.main")
    look("somebody-else")
    page.goto("about:blank")
    page.goto(collector.link(design=""))
    page.wait_for_selector(".panel p")
    look("refused")
    assert len(set(collector.bodies)) == 1, "one answer, sent again as it was"
    context.close()


def test_right_to_left_and_other_languages(browser, collector):
    context = browser.new_context(locale="ar", viewport={"width": 600, "height": 800})
    page = context.new_page()
    look = looker(page, "arabic")
    page.goto(collector.link())
    page.wait_for_selector("form")
    assert page.get_attribute("html", "lang") == "ar"
    assert page.get_attribute("html", "dir") == "rtl"
    assert page.inner_text("button.main") == "ابدأ الآن"
    answer_all(page, look)
    send(page, look)
    look("received")
    left = page.evaluate("document.querySelector('h2').getBoundingClientRect().right")
    assert left > 500, "text starts at the right"
    context.close()


def test_the_language_can_be_chosen(page, collector):
    page.goto(collector.link())
    page.wait_for_selector("form")
    for code, button, start in [
        ("de", "Deutsch", "Jetzt beginnen"),
        ("en", "English", "Start now"),
    ]:
        page.get_by_role("button", name=button).click()
        assert page.get_attribute("html", "lang") == code
        assert page.get_attribute("html", "dir") == "ltr"
        assert page.inner_text("button.main") == start
        assert page.evaluate("document.activeElement.textContent") == button


def test_a_language_the_page_does_not_speak_is_marked(page, collector):
    """The survey's words are Welsh, the page's own are English and say so."""
    survey = info({})["survey"]
    welsh = {key: {"cy": f"cy {key}"} for key in survey if key not in ("languages", "questions")}
    collector.info["survey"] = {**survey, **welsh, "languages": ["cy"]}
    page.goto(collector.link())
    page.wait_for_selector("form")
    assert page.get_attribute("html", "lang") == "cy"
    assert heading(page) == "cy title"
    assert page.get_attribute("h1", "lang") is None
    assert page.get_attribute("button.main", "lang") == "en"
    assert violations(page) == []


def test_the_keyboard_is_enough(page, collector):
    """No mouse: Tab, Shift+Tab, arrows, Space and Enter."""

    def to(selector: str) -> None:
        for _ in range(40):
            if page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} cannot be reached")

    page.goto(collector.link())
    page.wait_for_selector("form")
    to("button.main")
    page.keyboard.press("Enter")
    for i, place in enumerate(CHOICES.values(), start=1):
        page.wait_for_selector(f".caption:text-is('Question {i} of 6')")
        assert page.evaluate("document.activeElement.tagName") == "H1"
        to("#answer-0")
        page.keyboard.press("Space")
        for _ in range(place):
            page.keyboard.press("ArrowDown")
        assert page.locator(f"#answer-{place}").is_checked()
        page.keyboard.press("Enter")
    page.wait_for_selector(".summary")
    to("main > button.main")
    page.keyboard.press("Enter")
    page.wait_for_selector("#agree")
    to("#agree")
    outline = "getComputedStyle(document.querySelector('#agree + label')).outlineStyle"
    assert page.evaluate(outline) == "solid", "the focus is seen"
    page.keyboard.press("Space")
    to("button.main")
    page.keyboard.press("Enter")
    page.wait_for_selector(".received")
    assert len(collector.bodies) == 1
    assert re.match("Thank you", heading(page))


def test_axe_sees_a_planted_fault(page, collector):
    page.goto(collector.link())
    page.wait_for_selector("form")
    page.evaluate("document.querySelector('details').open = true")
    page.evaluate("document.querySelector('label[for=limit]').remove()")
    assert any(found.startswith("label:") for found in violations(page))
