"""The README's picture is what the script draws, and says what happened in its run."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest

from scripts.picture import PEOPLE, PICTURE, TRUE_YES, picture, simulated

README = PICTURE.parents[2] / "README.md"


def test_the_picture_is_up_to_date_and_in_the_readme():
    """If it is not: `make picture`."""
    assert PICTURE.read_text(encoding="utf-8") == picture()
    assert "](docs/img/flow.svg)" in README.read_text(encoding="utf-8")


def test_the_picture_shows_the_numbers_of_the_run():
    root = ElementTree.fromstring(picture())
    words = [
        unescape(element.text or "") for element in root.iter() if element.tag.endswith("text")
    ]
    run = simulated()
    assert run["no"] + run["yes"] == PEOPLE
    assert {f"{run['no']:,}", f"{run['yes']:,}", f"{100 * run['share']:.0f} % yes"} <= set(words)
    assert run["low"] <= TRUE_YES / PEOPLE <= run["high"]
    assert run["share"] == pytest.approx(TRUE_YES / PEOPLE, abs=0.05)


def test_the_picture_needs_nothing_from_elsewhere():
    text = picture()
    assert re.findall(r"(?:href|src|url)\s*=?\(?", text) == []
    assert "<script" not in text
