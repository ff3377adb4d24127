"""A person's way through the respondent's page."""

import json
import re
import time
from collections.abc import Callable

from tests.browser.collector import QUESTIONS

CHOICES = {"region": 1, "smokes": 2, "cheat": 1, "income": 0, "party": 4, "vote": 1}
"""What the person answers: the place of each answer."""


def true_words(names=tuple(CHOICES)) -> list[str]:
    """The labels and categories of her answers that are secret."""
    found = []
    for each in QUESTIONS:
        if each["name"] in names and not each["public"]:
            chosen = CHOICES[each["name"]]
            found += [*each["labels"][chosen].values(), f"{each['name'][:2]}{chosen}"]
    return found


class Traffic:
    """Every request of a page: address, headers and body."""

    def __init__(self, page) -> None:
        self._seen: list = []
        page.on("request", lambda request: self._seen.append(request))

    @property
    def requests(self) -> list[str]:
        return [
            f"{each.url} {each.all_headers()} {(each.post_data_buffer or b'').decode()}"
            for each in self._seen
        ]

    @property
    def posts(self) -> list[bytes]:
        return [each.post_data_buffer for each in self._seen if each.method == "POST"]

    @property
    def answers(self) -> list[bytes]:
        posts = [each for each in self._seen if each.method == "POST"]
        return [each.post_data_buffer for each in posts if each.url.endswith("/answers")]


def storage(page) -> str:
    """All that the browser keeps for the site."""
    return page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state])"
    )


def kept(page) -> dict:
    """The one answer that is kept."""
    text = page.evaluate("Object.entries(localStorage).find(([k]) => k.includes('answer'))?.[1]")
    return json.loads(text)


def until(page, expression: str, arg=None, seconds: float = 30) -> None:
    """Wait for a function of the page to be true. Playwright's own waiting needs eval."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(50)


def heading(page) -> str:
    return page.inner_text("h1")


def press(page, text: str) -> None:
    page.get_by_role("button", name=re.compile(f"^{text}")).first.click()


def asked(page) -> str:
    """The name of the question that is shown."""
    page.wait_for_selector("fieldset")
    shown = heading(page)
    return next(q["name"] for q in QUESTIONS if shown.endswith(q["text"]["en"]))


def choose(page, place: int) -> None:
    page.locator(".choice label").nth(place).click()


def forward(page) -> None:
    page.click("button.main")


def answer_all(page, look: Callable[[str], None] = lambda _: None) -> list[str]:
    """From the start page to the check of the answers; the questions that were asked."""
    page.wait_for_selector("form")
    look("start")
    forward(page)
    names = []
    while True:
        page.wait_for_selector("fieldset, .summary")
        if page.locator(".summary").count():
            break
        names.append(asked(page))
        if len(names) == 1:
            forward(page)
            page.wait_for_selector(".problem")
            look("error")
        choose(page, CHOICES[names[-1]])
        look(f"question-{names[-1]}")
        forward(page)
    look("check")
    return names


def send(page, look: Callable[[str], None] = lambda _: None) -> None:
    """From the check of the answers to what was sent."""
    forward(page)
    page.wait_for_selector("#agree")
    look("risk")
    page.check("#agree")
    forward(page)
    page.wait_for_selector(".panel:not(.sending)")


DONE = "An answer was already made on this device"


def shown(page) -> dict[str, tuple[str, str]]:
    """What the last page says of each question: answered, sent."""
    found = {}
    for box in page.locator(".exchange").all():
        name = next(
            q["name"] for q in QUESTIONS if q["text"]["en"] == box.locator("h3").inner_text()
        )
        values = box.locator("dd").all_inner_texts()
        found[name] = (values[0], values[-1])
    return found


def refused(page, collector, link: str) -> str:
    """The page asks nothing and sends nothing; what it says."""
    page.goto(link)
    page.wait_for_selector(".panel p")
    assert page.locator("form, fieldset, button").count() == 0
    assert collector.bodies == []
    return page.inner_text("main")
