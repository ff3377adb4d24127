"""The steps of a survey's life on the dashboard: invitations, pilot, main survey, publication."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from mdrr.estimation import estimate
from mdrr.frozen import FrozenSurvey, freeze
from mdrr.planning import main_survey, pool
from mdrr.server.blind import key_hash, new_signing_key
from tests.browser.conftest import OUT
from tests.browser.test_dashboard import SURVEY, People, has, violations, widest
from tests.browser.walk import forward, heading, until
from tests.server.cases import running


@pytest.fixture
def opened(tmp_path):
    """Opens a survey on a running collector; gives address, store, frozen survey and token."""
    with running(f"sqlite:///{tmp_path}/answers.db") as (url, store):

        def make(**options):
            made = freeze(SURVEY)
            token = store.create(made, **options)
            store.open(made.id)
            return url, store, made, token

        yield make


def look(page, name: str) -> None:
    """On a wide screen and on a phone: no fault for axe-core, nothing wider than the window."""
    OUT.mkdir(parents=True, exist_ok=True)
    for screen, width in (("desktop", 1280), ("phone", 390)):
        page.set_viewport_size({"width": width, "height": 900})
        # drawn anew for the width there is
        until(page, "() => document.getElementById('arrivals').scrollWidth <= innerWidth")
        assert violations(page) == [], (name, screen)
        assert widest(page) <= 0, (name, screen)
        page.screenshot(path=OUT / f"{name}-{screen}.png", full_page=True)
    page.set_viewport_size({"width": 1000, "height": 900})


def answer(page) -> None:
    """Answer the whole survey, always with the first answer."""
    page.wait_for_selector("form")
    forward(page)
    for _ in SURVEY.questions:
        page.wait_for_selector("fieldset")
        page.locator(".choice label").nth(0).click()
        forward(page)
    page.wait_for_selector(".summary")
    forward(page)
    page.check("#agree")
    forward(page)
    page.wait_for_selector(".panel:not(.sending)")
    assert heading(page) == "Thank you. Your answers were received."


@pytest.mark.parametrize("kind", ["required", "blind"])
def test_invitations_are_made_and_each_link_is_good_for_one_answer(opened, page, context, kind):
    key = new_signing_key() if kind == "blind" else None
    url, store, made, token = opened(invitations=kind, signing_key=key)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{url}/d/{made.id}#token={token}")
    page.click("nav >> text=Invitations")
    for wrong in ("", "0", "many", "100001"):
        page.fill("#number", wrong)
        page.keyboard.press("Enter")
        page.wait_for_selector("#more [role=alert]")
        assert page.evaluate("document.activeElement.matches('#more [role=alert]')")
        assert page.get_attribute("#number", "aria-invalid") == "true"
    if kind == "required":
        look(page, "invitations-problem")
    page.click("#more [role=alert] a")
    assert page.evaluate("document.activeElement.id") == "number"
    page.fill("#number", "3")
    page.keyboard.press("Enter")
    page.wait_for_selector("#links")
    assert page.locator("#more [role=alert]").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "3 new invitations"
    links = page.input_value("#links").split()
    promised = {"design": made.design.fingerprint, "words": made.words}
    if kind == "blind":
        promised["key"] = key_hash(store.need(made.id).blind_key)
    for link in links:
        parts = urlsplit(link)
        fragment = {name: value for name, [value] in parse_qs(parts.fragment).items()}
        assert len(fragment.pop("invitation")) == 43
        assert (f"{parts.scheme}://{parts.netloc}", parts.path) == (url, f"/s/{made.id}")
        assert fragment == promised
    with page.expect_download() as saved:
        page.click("text=Download the links")
    assert saved.value.suggested_filename == f"{made.id}-invitations.txt"
    assert saved.value.path().read_text().split() == links
    page.click("text=Copy the links")
    page.wait_for_selector("text=Copied.")
    assert page.evaluate("navigator.clipboard.readText()").split() == links
    look(page, f"invitations-{kind}")
    page.wait_for_selector(has("invitations used", "0 of 3"))

    person = context.new_page()
    person.goto(links[1])
    answer(person)
    page.bring_to_front()
    page.wait_for_selector(has("invitations used", "1 of 3"), timeout=30_000)
    assert store.status(made.id)["answers"] == 1
    invitation = parse_qs(urlsplit(links[0]).fragment)["invitation"][0]
    assert not [each for each in asked if invitation in each or token in each]
    assert all(each.startswith((url, "blob:", "data:")) for each in asked)


def test_a_survey_for_everybody_has_no_invitations(opened, page):
    url, _, made, token = opened()
    page.goto(f"{url}/d/{made.id}#token={token}")
    page.wait_for_selector("#link a")
    assert page.get_attribute("#link a", "href") == (
        f"{url}/s/{made.id}#design={made.design.fingerprint}&words={made.words}"
    )
    assert not page.is_visible("#invite")
    assert not page.is_visible("nav >> text=Invitations")


def shares(page, question: str) -> dict[str, float]:
    """The estimated shares that a card shows, by their labels."""
    rows = page.locator("#margins figure", has_text=question).locator("tbody tr")
    cells = [(row.locator("th").inner_text(), row.inner_text()) for row in rows.all()]
    return {label: float(re.findall(r"\d+\.\d", text)[0]) for label, text in cells}


def test_from_the_pilot_to_the_published_main_survey(opened, page):
    url, store, made, token = opened()
    People(url, made.id, made.design).answer(400)
    page.set_default_timeout(60_000)
    page.goto(f"{url}/d/{made.id}#token={token}")
    page.wait_for_selector(has("answers", "400"))
    page.wait_for_selector("#margins table")
    assert not page.is_visible("#phases")

    # What the pilot suggests: asked for with the keyboard, refused where it makes no sense.
    page.fill("#people", "a few")
    page.fill("#epsilon", "-1")
    page.fill("#cells", "0")
    page.keyboard.press("Enter")
    page.wait_for_selector("#suggest [role=alert]")
    assert page.locator("#suggest [role=alert] a").count() == 3
    look(page, "main-survey-problem")
    page.click("#suggest [role=alert] a >> nth=1")
    assert page.evaluate("document.activeElement.id") == "epsilon"
    page.fill("#people", "2,000")
    page.fill("#epsilon", "")
    page.fill("#cells", "12")
    page.keyboard.press("Enter")
    page.wait_for_selector("#suggested .clusters")
    pilot = store.tally(store.need(made.id).phase(1))
    expected = main_survey(pilot, made.design, people=2000, max_cells=12)
    assert [
        tuple(each.locator("span").all_inner_texts())
        for each in page.locator("#suggested .clusters li").all()
    ] == list(expected.clusters)
    assert max(map(len, expected.clusters)) > 1
    look(page, "main-survey")

    # Nobody is asked in both phases: without invitations, the owner has to say so.
    page.click("#begin button")
    page.wait_for_selector("#begin [role=alert]")
    assert store.need(made.id).number == 1
    page.check("#others")
    page.focus("#begin button")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] .clusters")
    page.screenshot(path=OUT / "main-survey-sure.png")
    page.keyboard.press("Escape")
    assert store.need(made.id).number == 1
    page.click("#begin button")
    page.click("dialog button:text-is('Start the main survey')")
    page.wait_for_selector("#phases:not([hidden])")
    page.wait_for_selector("#done:has-text('The main survey has begun.')")
    assert not page.is_visible("#main-survey")
    held = store.need(made.id)
    assert held.frozen.phases == (made.design, expected.design)
    assert held.frozen.predicted["people"] == 2000
    promised = f"{url}/s/{made.id}#design={expected.design.fingerprint}&words={made.words}"
    assert page.get_attribute("#link a", "href") == promised

    # Estimates are of both phases, of the pilot, of the main survey: whichever is chosen.
    People(url, made.id, expected.design).answer(200)
    page.wait_for_selector(has("answers", "600"))
    main = store.tally(held.phase(2))
    parts = [(pilot, made.design), (main, expected.design)]
    for choice, words, (tally, design) in (
        ("2", "Only answers of one phase: 200 of the main survey.", parts[1]),
        ("1", "Only answers of one phase: 400 of the pilot.", parts[0]),
        ("", "Both phases together: 400 of the pilot and 200 of the main survey.", pool(parts)),
    ):
        page.select_option("#phase", choice)
        assert set(page.locator(".which").all_inner_texts()) == {words}
        table = estimate(tally, design).table("smokes")
        wanted = dict(zip(("Never", "Now and then", "Every day"), table.values, strict=True))
        until(
            page,
            "wanted => [...document.querySelectorAll('#margins figure tr')].some((row) => "
            "row.innerText.includes('Never') && row.innerText.includes(wanted))",
            arg=f"{100 * wanted['Never']:.1f}",
        )
        assert shares(page, "Do you smoke?") == pytest.approx(
            {label: 100 * share for label, share in wanted.items()}, abs=0.06
        )
    page.wait_for_selector("#sent svg")
    assert "Each person of the pilot spends at most" in page.inner_text("#spent")
    look(page, "two-phases")
    with page.expect_download() as saved:
        page.click("text=Reports of the pilot")
    assert saved.value.suggested_filename == f"{made.id}-pilot-reports.parquet"
    with page.expect_download() as saved:
        page.click("text=Frozen survey")
    assert FrozenSurvey.from_json(saved.value.path().read_bytes()) == held.frozen

    page.click("button:text-is('Close the survey')")
    page.click("dialog button:text-is('Close the survey')")
    page.click("button:text-is('Publish the estimate')")
    assert "both phases together" in page.inner_text("dialog")
    page.click("dialog button:text-is('Publish the estimate')")
    page.wait_for_selector("#state:text-is('published')")
    results = page.evaluate(f"fetch('../api/surveys/{made.id}/results').then((r) => r.json())")
    assert (results["answers"], results["phase"]) == (600, None)
    assert [each["answers"] for each in results["phases"]] == [400, 200]


def test_links_to_the_pilot_become_links_to_the_main_survey(opened, page, context, browser):
    url, store, made, token = opened(invitations="required")
    first, second = store.invite(made.id, 2)
    held = store.need(made.id)
    old = [f"{url}/{held.link(each)}" for each in (first, second)]
    person = context.new_page()
    person.goto(old[0])
    answer(person)
    main = main_survey(store.tally(held.phase(1)), made.design, people=9, epsilon=3.0).design
    store.start_phase(made.id, main)
    page.goto(f"{url}/d/{made.id}#token={token}")
    page.wait_for_selector("#changing summary")
    page.focus("#changing summary")  # with the keyboard: charts still push the page about
    page.keyboard.press("Enter")
    page.fill("#old", "hello")
    page.click("text=Change them into")
    page.wait_for_selector("#change [role=alert] >> text=Line 1 is no link")
    page.fill("#old", "\n".join(old))
    page.click("text=Change them into")
    page.wait_for_selector("#links")
    links = page.input_value("#links").split()
    now = store.need(made.id)
    assert links == [f"{url}/{now.link(each)}" for each in (first, second)]
    assert main.fingerprint in links[1]
    look(page, "links-changed")
    other = browser.new_context(locale="en-GB")  # a device that has not answered the pilot
    person = other.new_page()
    person.goto(links[1])
    answer(person)
    other.close()
    assert store.tally(now.phase(2)).n == 1


def test_what_the_server_refuses_is_said_where_it_was_asked(opened, page):
    url, store, made, token = opened()
    page.goto(f"{url}/d/{made.id}#token={token}")
    page.fill("#people", "100")
    page.click("text=See what the pilot suggests")
    page.wait_for_selector("#suggest [role=alert] >> text=The pilot has no answers yet")
    page.click("button:text-is('Close the survey')")
    store.close(made.id)
    store.publish(made.id, {})
    page.click("dialog button:text-is('Close the survey')")
    page.wait_for_selector("#step-error:not(:empty)")
    assert "is published and cannot become closed" in page.inner_text("#step-error")
