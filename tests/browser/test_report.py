"""The report page in a real browser: on a wide screen and on a phone, nothing clipped."""

import numpy as np
import polars as pl
import pytest

from mdrr.dependence import dependences
from mdrr.estimation import estimate
from mdrr.frames import randomize, tally
from mdrr.planning import pool
from mdrr.protocols import clustered, independent
from mdrr.reporting import report
from mdrr.source import SeededSource
from mdrr.survey import Survey
from tests.browser.conftest import OUT
from tests.browser.test_dashboard import SURVEY, violations, widest

ARABIC = Survey.from_toml("""
title = "الصحة في الوادي"
languages = ["ar"]
[[attributes]]
name = "smokes"
question = "هل تدخن؟"
categories = ["no", "yes"]
labels = { no = "أبدا", yes = "نعم" }
[[attributes]]
name = "a-rather-long-name-of-an-attribute-without-a-space"
categories = ["an-answer-that-is-long-and-has-no-space-in-it-at-all-to-break-at", "b"]
""")


def people(survey: Survey, n: int = 600) -> pl.DataFrame:
    draw = np.random.default_rng(7)
    return pl.DataFrame(
        {each.name: draw.choice(list(each.categories), n) for each in survey.domain.attributes}
    )


def counted(survey: Survey, design, seed: int):
    return tally(randomize(people(survey), design, source=SeededSource(seed)), design)


def clipped(page) -> list[str]:
    """Tables, and boxes that hold them, whose contents are wider than they are."""
    return page.evaluate(
        """[...document.querySelectorAll("table, .scroll, .card, .pair > *, .facts dd")]
        .filter((each) => each.offsetWidth && (each.scrollWidth > each.clientWidth + 1
            || each.getBoundingClientRect().right > document.documentElement.clientWidth))
        .map((each) => `${each.tagName}.${each.className} ${each.innerText.slice(0, 50)}`)"""
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Written pages by name: a simulation, two phases, another script."""
    folder = tmp_path_factory.mktemp("pages")
    design = independent(SURVEY.domain, epsilon=4.0)
    found = estimate(counted(SURVEY, design, 1), design, "product")
    other = estimate(counted(SURVEY, design, 1), design, "adjust")
    report(
        found,
        design,
        path=folder / "simulation.html",
        truth=people(SURVEY),
        queries={"people who smoke every day and earn little": {"smokes": "daily", "in": "low"}},
        others=[other],
        dependences=dependences(found.evidence.tally, design),
        survey=SURVEY.spoken("de"),
    )
    second = clustered(SURVEY.domain, [["smokes", "in"]], epsilon=3.0)
    both = pool([(counted(SURVEY, design, 1), design), (counted(SURVEY, second, 2), second)])
    report(
        estimate(*both, "product"),
        both[1],
        path=folder / "phases.html",
        survey=SURVEY,
        phases={"Pilot, 600 people": design, "Main survey, 600 people": second},
    )
    arabic = independent(ARABIC.domain, epsilon=2.0)
    found = estimate(counted(ARABIC, arabic, 3), arabic, "product")
    report(found, arabic, path=folder / "arabic.html", survey=ARABIC)
    return folder


@pytest.mark.parametrize("name", ["simulation", "phases", "arabic"])
@pytest.mark.parametrize(("screen", "width"), [("desktop", 1280), ("phone", 390)])
def test_nothing_is_clipped_and_charts_fill_their_cards(pages, page, name, screen, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"file://{pages}/{name}.html")
    OUT.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=OUT / f"report-{name}-{screen}.png", full_page=True)
    for opened in (False, True):
        assert clipped(page) == []
        assert widest(page) <= 0
        assert violations(page) == []
        folded = page.locator("details:has-text('The integers that are sampled')")
        assert folded.locator("table").is_visible() is opened
        page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    shares = page.evaluate(
        """[...document.querySelectorAll(".card .track")].map((each) => {
            const card = each.closest(".card"), style = getComputedStyle(card);
            const edges = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
            return each.getBoundingClientRect().width / (card.clientWidth - edges);
        })"""
    )
    assert shares
    assert min(shares) == pytest.approx(1, abs=0.01)


def test_the_order_of_answers_is_their_own_and_the_missing_one_is_last(pages, page):
    page.goto(f"file://{pages}/simulation.html")
    income = page.locator(".columns .card", has_text="Was verdienen Sie?")
    assert income.locator("tbody th").all_inner_texts() == [
        *("Weniger als die meisten", "Etwa gleich viel", "Mehr als die meisten"),
        "Keine Angabe",
    ]


def test_two_phases_are_told_apart(pages, page):
    page.goto(f"file://{pages}/phases.html")
    assert page.locator("#design ~ h3").all_inner_texts() == [
        "Pilot, 600 people",
        "Main survey, 600 people",
    ]
    said = page.inner_text("main")
    assert "taken together: Pilot, 600 people; Main survey, 600 people." in said
    assert "one of 2 questionnaires at random" not in said
    assert "What other designs would have done" not in said
    assert "Nobody should be asked in more than one phase" in said
    assert page.locator("footer code").count() == 2
