"""What objects show in a notebook: all text escaped, small, and every number from the object."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import mdrr
from mdrr import display
from mdrr.dependence import Dependences
from mdrr.errors import MdrrError
from mdrr.tallies import tally_codes
from tests.backends import BACKENDS

EVIL = '<script>alert("1")</script>'
DOMAIN = mdrr.Domain(
    (
        mdrr.Attribute("<b>sex", ("F", EVIL)),
        mdrr.Attribute("grade", ("low", "<i>mid", "high"), kind="ordinal"),
        mdrr.Attribute("town", tuple(f"town {k} & more" for k in range(15))),
    )
)


def sent(design: mdrr.Design, n: int = 4000) -> mdrr.Tally:
    rng = np.random.default_rng(3)
    people = [rng.integers(0, r, n) for r in design.domain.shape]
    reports = mdrr.randomize_codes(people, design, mdrr.SeededSource(1))
    return tally_codes(reports, design)


def every_kind() -> dict[str, Any]:
    design = mdrr.clustered(DOMAIN, [["<b>sex", "grade"], ["town"]], epsilon=4.0)
    tally = sent(design)
    estimate = mdrr.estimate(tally, design, "product")
    plan = mdrr.plan(DOMAIN, n=4000, epsilon=4.0)
    return {
        "domain": DOMAIN,
        "design": design,
        "split design": plan.design,
        "tally": tally,
        "split tally": sent(plan.design),
        "estimate": estimate,
        "one attribute": estimate.table("<b>sex"),
        "cross table": estimate.table("grade", "<b>sex"),
        "wide table": estimate.table("<b>sex", "town"),
        "three attributes": estimate.table("<b>sex", "grade", "town"),
        "count": estimate.count({"<b>sex": [EVIL]}),
        "plan": plan,
        "dependences": mdrr.dependences(tally, design),
    }


KINDS = every_kind()


class Shown(HTMLParser):
    """The elements of a page, and its words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


OURS = {"div", "strong", "small", "table", "thead", "tbody", "tr", "th", "td", "span"}


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_labels_are_shown_as_text(kind):
    html = KINDS[kind]._repr_html_()
    shown = Shown(html)
    assert set(shown.opened) <= OURS
    assert shown.opened[0] == "div"
    for tag in OURS:
        assert len(re.findall(rf"<{tag}[ >]", html)) == html.count(f"</{tag}>")
    words = "".join(shown.words)
    if kind in ("domain", "one attribute", "cross table"):
        assert EVIL in words
    assert len(html) < 8000


@pytest.mark.parametrize("kind", KINDS)
def test_colours_are_the_notebooks_own(kind):
    """Neither text nor background is coloured, so light and dark notebooks are both readable."""
    styles = " ".join(re.findall(r'style="([^"]*)"', KINDS[kind]._repr_html_()))
    assert not re.search(r"(^|[; ])color:", styles)
    assert set(re.findall(r"background:(#\w+)", styles)) <= {"#3a87c8"}


def words(kind: str) -> str:
    return " ".join(Shown(KINDS[kind]._repr_html_()).words)


def test_a_domain_lists_attributes_and_labels():
    text = words("domain")
    assert "3 attributes, 90 combinations" in text
    assert "ordinal" in text
    assert "town 5 & more, …" in text
    assert "town 6" not in text


def test_a_design_says_what_is_reported_together_and_its_epsilon():
    assert f"ε = {KINDS['design'].epsilon:.4g}" in words("design")
    assert "<b>sex + grade" in words("design")
    split = KINDS["split design"]
    assert f"{len(split.questionnaires)} questionnaires" in words("split design")
    share = max(q.weight for q in split.questionnaires) / split.weights
    assert display.percent(share) in words("split design")


def test_a_tally_counts_reports_of_each_questionnaire():
    assert "4,000 reports" in words("tally")
    assert "<table" not in KINDS["tally"]._repr_html_()
    split = KINDS["split tally"]
    assert all(f"{group.n:,}" in words("split tally") for group in split.groups[: display.ROWS])


def test_a_table_shows_its_shares_and_intervals():
    table = KINDS["one attribute"]
    assert display.percent(float(table.values[0])) in words("one attribute")
    assert f"{100 * table.low[0]:.1f} to {100 * table.high[0]:.1f} %" in words("one attribute")
    cross = KINDS["cross table"]
    assert all(display.percent(float(value)) in words("cross table") for value in cross.values.flat)
    assert "… and 18 more" in words("wide table")
    assert "… and 78 more" in words("three attributes")


def test_a_count_shows_its_interval():
    count = KINDS["count"]
    assert f"{count.value:,.0f} of 4,000 people" in words("count")
    assert f"{count.low:,.0f} to {count.high:,.0f}" in words("count")


def test_an_estimate_shows_the_most_frequent_answers():
    estimate = KINDS["estimate"]
    town = DOMAIN.attribute("town").categories[int(estimate.table("town").values.argmax())]
    assert town in words("estimate")
    assert "4,000 people" in words("estimate")


def test_a_plan_ranks_its_candidates():
    plan = KINDS["plan"]
    names = [c.name for c in plan.candidates]
    places = [words("plan").index(name) for name in names]
    assert places == sorted(places)
    assert display.percent(plan.best.predicted.error) in words("plan")


def test_dependences_show_pairs_and_what_is_told_from_0():
    found = Dependences(("a", "b", "c"), np.array([[1, 0.1, 0.6], [0.1, 1, 0.2], [0.6, 0.2, 1]]))
    text = " ".join(Shown(found._repr_html_()).words)
    assert text.index("a · c") < text.index("b · c") < text.index("a · b")
    assert "exact" in text
    assert repr(found).splitlines()[1] == "  a · c: 0.600"
    low, high = KINDS["dependences"].interval("<b>sex", "grade")
    assert f"{low:.2f} to {high:.2f}" in words("dependences")


def test_many_rows_are_cut_and_counted():
    wide = mdrr.Domain(tuple(mdrr.Attribute(f"a{k}", ("x", "y")) for k in range(30)))
    html = wide._repr_html_()
    assert html.count("<tr>") == 1 + display.ROWS
    assert "… and 18 more." in html
    values = np.full((30, 30), 0.2)
    np.fill_diagonal(values, 1)
    assert "… and 423 more" in repr(Dependences(wide.names, values))


def drawn(chart: Any) -> str:
    spec = chart.to_dict()
    assert spec["background"] == "white"
    return str(spec)


def test_plots_hold_the_numbers_of_their_objects():
    pytest.importorskip("altair")
    estimate = KINDS["estimate"]
    share = estimate.table("grade").values[1]
    assert f"{100 * share:.1f}" in drawn(estimate.plot("grade"))
    assert "truth" in drawn(estimate.table("grade").plot(truth=np.array([0.2, 0.3, 0.5])))
    cross = drawn(KINDS["cross table"].plot())
    assert all(f"{100 * value:.1f}" in cross for value in KINDS["cross table"].values.flat)
    assert "best" in drawn(KINDS["plan"].plot())
    assert "grade" in drawn(KINDS["dependences"].plot(clusters=[["<b>sex", "grade"], ["town"]]))
    every = drawn(estimate.plot())
    assert all(name in every for name in DOMAIN.names)


def test_cells_that_may_hold_nobody_are_hatched():
    pytest.importorskip("altair")
    domain = mdrr.Domain((mdrr.Attribute("a", ("x", "y")), mdrr.Attribute("b", ("u", "v"))))
    design = mdrr.joint(domain, epsilon=3.0)
    people = [np.zeros(3000, int), np.arange(3000) % 2]
    reports = mdrr.randomize_codes(people, design, mdrr.SeededSource(2))
    table = mdrr.estimate(tally_codes(reports, design), design, "product").table("a", "b")
    layers = table.plot().to_dict()["layer"]
    cells = [layer["data"]["values"] for layer in layers if "data" in layer]
    hatched = [{(c["row"], c["column"]) for c in each} for each in cells if "row" in each[0]]
    assert {("y", "u"), ("y", "v")} in hatched
    assert "the 95 % interval begins at 0" in str(layers)


def test_what_cannot_be_drawn_is_refused_with_advice():
    pytest.importorskip("altair")
    with pytest.raises(MdrrError, match=r"one attribute or two.*to_frame"):
        KINDS["three attributes"].plot()
    with pytest.raises(MdrrError, match="one attribute at a time"):
        KINDS["cross table"].plot(truth=np.ones(2))
    many = mdrr.Domain(tuple(mdrr.Attribute(n, tuple(map(str, range(30)))) for n in "ab"))
    design = mdrr.independent(many, epsilon=8.0)
    estimate = mdrr.estimate(sent(design), design, "product")
    with pytest.raises(MdrrError, match=r"900 cells is too large to draw.*to_frame"):
        estimate.plot("a", "b")


def test_without_altair_an_error_says_how_to_install_it():
    program = (
        "import sys; sys.modules['altair'] = None\n"
        "import mdrr\n"
        "plan = mdrr.plan(mdrr.Domain((mdrr.Attribute('a', ('x', 'y')),)), n=100, epsilon=1.0)\n"
        "assert '<table' in plan._repr_html_()\n"
        "try:\n    plan.plot()\n"
        "except mdrr.MdrrError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "altair is not installed. Run: pip install 'mdrr[report]'"
    assert unescape(done.stderr) == ""


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda each: each.name)
def test_frames_come_back_in_the_kind_that_was_given(backend):
    """Reports, weights, samples, tables and dependences are of the people's library."""
    domain = mdrr.Domain((mdrr.Attribute("a", ("x", "y")), mdrr.Attribute("b", ("u", "v"))))
    design = mdrr.independent(domain, epsilon=3.0)
    people = backend.make({"a": ["x", "y", "y", "x"] * 50, "b": ["u", "u", "v", "v"] * 50})
    library = type(people).__module__.partition(".")[0]
    reports = mdrr.randomize(people, design, source=mdrr.SeededSource(1))
    assert type(reports) is type(people)
    assert type(mdrr.weigh(reports, design)) is type(people)
    tally = mdrr.tally(reports, design)
    estimate = mdrr.estimate(tally + tally, design, "product")
    assert mdrr.pool([(tally, design), (tally, design)])[0].library == library
    frames = [
        estimate.sample(5, seed=1),
        estimate.to_frame(),
        estimate.table("a").to_frame(),
        estimate.table("a", "b").to_frame(intervals=True),
        mdrr.synthesize(estimate, 5, seed=1),
        mdrr.synthesize(estimate, 5, how="repeat"),
        mdrr.dependences(tally, design).to_frame(),
        mdrr.dependences(tally, design, debiased=False).to_frame(),
    ]
    assert {type(frame).__module__.partition(".")[0] for frame in frames} == {library}
    assert type(estimate.sample(5, backend="polars")).__module__.startswith("polars")


def test_tallies_of_different_libraries_add_to_one_of_no_library():
    domain = mdrr.Domain((mdrr.Attribute("a", ("x", "y")),))
    design = mdrr.independent(domain, epsilon=1.0)
    frames = [backend.make({"a": ["x", "y"]}) for backend in BACKENDS]
    kinds = [mdrr.tally(frame, design) for frame in frames]
    assert sum(kinds[1:], kinds[0]).library is None
    assert sum(kinds[1:], kinds[0]).n == 2 * len(frames)
