"""The page says what was found, and does not claim more."""

import re
from xml.etree import ElementTree

import pytest
from experiments.charts import save_charts
from experiments.page import agreeing, grid, page
from experiments.printed import KEEPS, MOST_CELLS, TABLES

from tests.experiments.made_up import like_the_paper, printed, sharp, table


@pytest.fixture(scope="module")
def text():
    return page(like_the_paper(), "reproduction")


def test_it_opens_with_one_table_and_plain_sentences(text):
    heading, opening, prose = text.split("\n\n")[:3]
    assert heading == "# The paper's experiments, run again"
    assert opening.startswith("| ")
    assert "44 of 49 claims hold, 5 do not, 0 cannot be told" in opening
    assert not prose.startswith("|")


def test_fresh_reports_are_called_our_choice(text):
    assert "Every run draws fresh reports and a fresh S. That is our choice" in text
    assert "what is possible, not what was done" in text
    assert "one randomized data set" in text


def test_methods_are_those_of_section_6_2(text):
    assert "## Figure 3: the four methods of section 6.2" in text
    assert "five methods" not in text
    figure = text[text.index("## Figure 3") : text.index("## Dependences learnt")]
    assert "Randomized" not in figure


def test_links_lead_somewhere(text):
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
    for link in re.findall(r"\]\(#([^)]*)\)", text):
        assert link in anchors


def test_tables_have_as_many_cells_as_headings(text):
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block[:200]
    assert grid(("a", "b"), [("|x|", "1")]).endswith(r"| \|x\| | 1 |")


def test_agreement_is_counted_cell_by_cell():
    exact = like_the_paper()
    twelve = sum(
        abs(TABLES[copies][p, most, d] / TABLES[copies][p, most, 0.1] - 1) <= 0.005
        for copies in (1, 6)
        for p in KEEPS
        for most in MOST_CELLS
        for d in (0.1, 0.2, 0.3)
    )
    assert agreeing(exact.fresh, "corrected", "as stated") == twelve >= 24
    off = {**exact.fresh, ("corrected", "as stated", 6): table(lambda p, v: 9.0)}
    assert agreeing(off, "corrected", "as stated", [6]) == 0
    wide = {p: sharp(0.3, 9.0) for p in printed(1)}
    assert agreeing({("corrected", "as stated", 1): wide}, "corrected", "as stated", [1]) == 36


def test_charts_are_drawn(text, tmp_path):
    save_charts(like_the_paper(), tmp_path)
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    assert drawn == set(re.findall(r"\(reproduction/(\w+)\.svg\)", text))
    for path in tmp_path.glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    for name, mark, marks in (
        ("figure2", "method: Randomized", 2 * 9),
        ("figure3", "method: RR-Clusters + Adjustment", 4 * 9),
        ("tables", "who: paper", 72),
    ):
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").count(mark) >= marks
