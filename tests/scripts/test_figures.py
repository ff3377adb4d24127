"""The figures of the pages show what the library gives today. If they do not: `make picture`."""

import json
import re
from xml.etree import ElementTree

import pytest

pytest.importorskip("altair")

from scripts.figures import DOCS, FIGURES, IMAGES, drawn

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_the_numbers_of_today(name):
    """To a thousandth, which is less than a pixel: processors differ in the last digits."""
    held = ElementTree.parse(IMAGES / name).findtext(f"{SVG}metadata")
    shown, today = json.loads(held or ""), FIGURES[name].rows()
    assert len(shown) == len(today)
    for row, now in zip(shown, today, strict=True):
        for key, value in now.items():
            assert row[key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-3))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_stands_on_its_page_and_says_what_one_sees(name):
    page = DOCS / FIGURES[name].page
    [words] = re.findall(rf"!\[([^\]]+)\]\([./]*img/{name}\)", page.read_text(encoding="utf-8"))
    assert words == FIGURES[name].words == ElementTree.parse(IMAGES / name).findtext(f"{SVG}title")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_needs_nothing_from_elsewhere(name):
    text = (IMAGES / name).read_text(encoding="utf-8").replace(f'xmlns="{SVG[1:-1]}"', "")
    assert re.findall(r"(?:href|src|url)\s*=?\(?", text) == []
    assert "<script" not in text


def test_what_the_words_of_the_figures_say_is_so():
    sure = {(row["curve"], row["x"]): row["y"] for row in FIGURES["belief.svg"].rows()}
    assert min(sure["50% before", 4.0], sure["10% before", 6.0]) > 97
    answers = FIGURES["tutorial.svg"].rows()
    assert all(row["low"] < row["truth"] < row["high"] for row in answers)
    for key in ("sent", "truth"):
        assert [row["label"] for row in sorted(answers, key=lambda row: -row[key])] == [
            "never", "sometimes", "often"
        ]  # fmt: skip
    assert answers[0]["sent"] - answers[2]["sent"] < answers[0]["truth"] - answers[2]["truth"]
    bounds = {(row["curve"], row["x"]): row["y"] for row in FIGURES["audit.svg"].rows()}
    assert max(y for (curve, _), y in bounds.items() if curve == "keeps its claim") < 1
    found = [x for (curve, x), y in bounds.items() if curve != "keeps its claim" and y > 1]
    assert min(found) == 10_000


def test_a_figure_is_drawn_with_its_words_beside_the_curves():
    text = drawn(FIGURES["belief.svg"])
    words = [element.text for element in ElementTree.fromstring(text).iter(f"{SVG}text")]
    assert {"ε", "50% before", "10% before"} <= set(words)
