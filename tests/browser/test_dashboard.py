"""The owner's dashboard in a real browser, on a real collector, while answers arrive over HTTP."""

import http.client
import json
import re
from urllib.parse import urlsplit

import numpy as np
import pytest

from mdrr.design import Design
from mdrr.estimation import Estimate, estimate
from mdrr.frozen import freeze
from mdrr.respondent import respond
from mdrr.response import Report
from mdrr.server.blind import new_signing_key
from mdrr.source import SeededSource
from mdrr.survey import Survey
from tests.browser.conftest import OUT
from tests.browser.walk import until
from tests.server.cases import body, running

SURVEY = Survey.from_toml("""
title = { en = "Health in the valley", de = "Gesundheit im Tal" }
languages = ["en", "de"]
design = { epsilon = 4.0 }
[[attributes]]
name = "region"
public = true
question = { en = "Where do you live?", de = "Wo wohnen Sie?" }
categories = ["north", "south"]
[attributes.labels]
north = { en = "In the north", de = "Im Norden" }
south = { en = "In the south", de = "Im Süden" }
[[attributes]]
name = "smokes"
question = { en = "Do you smoke?", de = "Rauchen Sie?" }
categories = ["no", "it's rare", "daily"]
[attributes.labels]
no = { en = "Never", de = "Nie" }
"it's rare" = { en = "Now and then", de = "Ab und zu" }
daily = { en = "Every day", de = "Täglich" }
[[attributes]]
name = "in"
kind = "ordinal"
question = { en = "What is your income?", de = "Was verdienen Sie?" }
categories = ["low", "middle", "high", "unsaid"]
missing = "unsaid"
[attributes.labels]
low = { en = "Less than most people", de = "Weniger als die meisten" }
middle = { en = "About as much", de = "Etwa gleich viel" }
high = { en = "More than most people", de = "Mehr als die meisten" }
unsaid = { en = "Prefer not to say <b>", de = "Keine Angabe" }
""")


class People:
    """People who answer over HTTP, the same ones each time."""

    def __init__(self, url: str, id: str, design: Design) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
        self.path, self.design = f"/api/surveys/{id}", design
        self.draw, self.source = np.random.default_rng(15), SeededSource(15)
        self.length = json.loads(self.ask("GET", self.path))["answer_bytes"]

    def ask(self, method: str, path: str, content: bytes | None = None) -> bytes:
        self.connection.request(method, path, content, {"content-type": "application/json"})
        response = self.connection.getresponse()
        said = response.read()
        assert response.status in (200, 201), said
        return said

    def answer(self, count: int) -> None:
        for _ in range(count):
            smokes = self.draw.choice(["no", "it's rare", "daily"], p=[0.6, 0.1, 0.3])
            income = self.draw.choice(
                ["low", "middle", "high", "unsaid"],
                p=[0.6, 0.2, 0.1, 0.1] if smokes == "daily" else [0.1, 0.4, 0.4, 0.1],
            )
            person = {"region": str(self.draw.choice(["north", "south"]))}
            person |= {"smokes": str(smokes), "in": str(income)}
            made = respond(person, self.design, self.source)
            id = self.draw.bytes(16).hex()
            sent = Report(made.fingerprint, made.questionnaire, made.codes, id)
            self.ask("POST", f"{self.path}/answers", body(sent, self.length))
        self.connection.close()


@pytest.fixture
def survey(tmp_path):
    """A collector with an open survey: its address, its store, its frozen survey and its token."""
    made = freeze(SURVEY)
    with running(f"sqlite:///{tmp_path}/answers.db") as (url, store):
        token = store.create(made)
        store.open(made.id)
        yield url, store, made, token


def violations(page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['target'] for node in each['nodes']]}" for each in found]


def widest(page) -> int:
    """By how much the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def has(name: str, value: str) -> str:
    """The fact of this name with this value."""
    return f"#facts div:has(dt:text-is('{name}')):has(dd:text-is('{value}'))"


def test_the_dashboard_follows_the_answers(survey, page):
    url, store, made, token = survey
    people = People(url, made.id, made.design)
    people.answer(300)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_default_timeout(60_000)
    page.goto(f"{url}/d/{made.id}#token={token}")
    page.wait_for_selector(has("answers", "300"))
    page.wait_for_selector("#margins table")
    page.wait_for_selector("#heat svg")
    assert page.inner_text("h1") == "Health in the valley"
    assert page.url == f"{url}/d/{made.id}"

    # Its numbers are the library's, in the survey's words.
    phase = store.survey(made.id).phase()
    found = estimate(store.tally(phase), made.design)
    table = found.table("smokes")
    card = page.locator("#margins figure", has_text="Do you smoke?")
    for label, code in (("Never", 0), ("Now and then", 1), ("Every day", 2)):
        row = card.locator("tr", has=page.locator(f"th:text-is('{label}')")).inner_text()
        numbers = [float(x) for x in re.findall(r"\d+\.\d", row)]
        values = [100 * float(x[code]) for x in (table.values, table.low, table.high)]
        assert numbers[:3] == pytest.approx(values, abs=0.06)
    income = page.locator("#margins figure", has_text="What is your income?")
    assert income.locator("tbody th").all_inner_texts()[-1] == "Prefer not to say <b>"

    # A count, built by choosing.
    page.select_option("#query fieldset select >> nth=0", label="Do you smoke?")
    page.check("#query label:has-text('Now and then') input")
    page.check("#query label:has-text('Every day') input")
    page.click("text=Add a condition")
    page.select_option("#query fieldset >> nth=1 >> select >> nth=0", label="What is your income?")
    page.check("#query fieldset >> nth=1 >> label:has-text('Less than') >> input")
    where = page.input_value("#where")
    assert where == "smokes in (\"it's rare\", 'daily') and `in` == 'low'"
    page.click("button:text-is('Count')")
    counted = found.count(where)
    page.wait_for_selector("#counted .result")
    said = page.inner_text("#counted")
    assert f"{round(counted.value)} of 300 people" in said
    assert f"between {round(counted.low)} and {round(counted.high)}." in said
    page.fill("#where", "smokes = 3")
    page.click("button:text-is('Count')")
    page.wait_for_selector("#counted .error")
    assert "cannot be read" in page.inner_text("#counted")

    page.click("text=Compare them")
    page.wait_for_selector("#compared-chart svg")
    assert page.locator("#compared-table tbody tr").count() == len(made.design.domain)
    assert violations(page) == []
    OUT.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=OUT / "dashboard.png", full_page=True)

    # More answers come, and nobody reloads.
    before = card.inner_text()
    people.answer(50)
    page.wait_for_selector(has("answers", "350"))
    until(
        page,
        "before => [...document.querySelectorAll('#margins figure')]"
        ".find((each) => each.innerText.includes('Do you smoke?')).innerText !== before",
        arg=before,
    )

    with page.expect_download() as saved:
        page.click("button:text-is('Estimate')")
    assert saved.value.suggested_filename == f"{made.id}-estimate.npz"
    assert Estimate.load(saved.value.path()).n == 350

    page.set_viewport_size({"width": 320, "height": 700})
    page.emulate_media(color_scheme="dark")
    for name in ("arrivals", "sent", "compared-chart"):  # drawn anew for the width there is
        until(page, "name => document.getElementById(name).scrollWidth <= 320", arg=name)
    assert widest(page) <= 0
    assert violations(page) == []
    page.screenshot(path=OUT / "dashboard-phone-dark.png", full_page=True)

    # Nothing is closed without asking; the keyboard suffices.
    page.focus("button:text-is('Close the survey')")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    assert store.survey(made.id).state == "open"
    page.keyboard.press("Enter")
    page.screenshot(path=OUT / "dashboard-close.png")
    page.click("dialog button:text-is('Close the survey')")
    page.wait_for_selector("button:text-is('Publish the estimate')")
    assert store.survey(made.id).state == "closed"
    page.click("button:text-is('Publish the estimate')")
    page.check("dialog input")
    page.click("dialog button:text-is('Publish the estimate')")
    page.wait_for_selector("#state:text-is('published')")
    assert store.survey(made.id).open_data

    assert not [each for each in asked if token in each]
    assert all(each.startswith((url, "blob:", "data:")) for each in asked)


def test_closing_a_blind_survey_is_said_to_be_final(tmp_path, page):
    made = freeze(SURVEY)
    with running(f"sqlite:///{tmp_path}/answers.db") as (url, store):
        token = store.create(made, invitations="blind", signing_key=new_signing_key())
        store.open(made.id)
        page.goto(f"{url}/d/{made.id}#token={token}")
        page.click("button:text-is('Close the survey for good')")
        said = page.inner_text("dialog")
        assert "This is final" in said
        assert "open it again" not in said
        page.click("dialog button:text-is('Close the survey for good')")
        page.wait_for_selector("button:text-is('Publish the estimate')")
        assert store.survey(made.id).state == "closed"
        assert page.locator("button:text-is('Open the survey')").count() == 0


def test_a_wrong_token_opens_nothing(survey, page):
    url, _, made, _ = survey
    for link in ("#token=wrong", "#token=ünï", ""):
        page.goto("about:blank")
        page.goto(f"{url}/d/{made.id}{link}")
        until(page, "() => document.getElementById('message').textContent !== ''")
        assert page.inner_text("main").startswith("This link does not open the dashboard: use the")
        assert page.inner_text("h1") == "Your survey"
        assert not page.is_visible("#shown")
        page.evaluate("sessionStorage.clear()")
    assert violations(page) == []


def test_without_answers_it_waits_and_without_events_it_asks_again(survey, page):
    url, _, made, token = survey
    page.route("**/owner/events", lambda route: route.abort())
    page.goto(f"{url}/d/{made.id}#token={token}")
    page.wait_for_selector("text=No answers yet. The estimates appear here")
    People(url, made.id, made.design).answer(5)
    page.set_default_timeout(30_000)
    page.wait_for_selector(has("answers", "5"))
    page.wait_for_selector("#margins table")
    assert "No answers yet" not in page.inner_text("main")
    page.problems[:] = [text for text in page.problems if "net::ERR_FAILED" not in text]


LONG = Survey.from_toml(f"""
title = "Long"
design = {{ epsilon = 4.0, people = 5000 }}
[[attributes]]
name = "first"
question = "{"Do-you-think-that-a-question-may-be-so-long-without-any-space" * 3}"
categories = ["a", "b"]
[attributes.labels]
a = "{"anAnswerThatIsLongAndHasNoSpace" * 5}"
b = "{"An answer of many words, each of which is short. " * 5}"
[[attributes]]
name = "second"
categories = ["c", "d"]
""")


def test_long_words_stay_inside_and_too_few_answers_are_said(tmp_path, page):
    made = freeze(LONG)
    with running(f"sqlite:///{tmp_path}/answers.db") as (url, store):
        token = store.create(made)
        store.open(made.id)
        people = People(url, made.id, made.design)
        for k in range(40):
            sent = respond({"first": "ab"[k % 2], "second": "cd"[k % 3 > 0]}, made.design)
            id = people.draw.bytes(16).hex()
            sent = Report(sent.fingerprint, sent.questionnaire, sent.codes, id)
            people.ask("POST", f"{people.path}/answers", body(sent, people.length))
        people.connection.close()
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto("about:blank")
            page.goto(f"{url}/d/{made.id}#token={token}")
            page.wait_for_selector("#margins > *", timeout=60_000)
            page.wait_for_selector("#budgets table")
            assert page.locator("#computing").is_hidden()
            assert "40 of 5,000 people expected. A typical count errs by about" in (
                page.inner_text("#shortfall")
            )
            page.screenshot(path=OUT / f"dashboard-long-{width}.png", full_page=True)
            assert widest(page) <= 0
