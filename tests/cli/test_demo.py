"""`mdrr demo`: the whole story on Adult."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mdrr.cli import make_app
from mdrr.cli.demo import MAX_CELLS, QUERIES, paper
from mdrr.datasets import adult
from tests.reporting.parsed import Page

NAMES = [
    "split questionnaire, auto",
    "RR-Independent, product",
    "RR-Independent, adjust",
    "RR-Clusters, product",
]


def test_a_clear_signal_gives_the_known_clusters() -> None:
    design, estimates = paper(adult(), 24.0, "3")
    assert sorted(c.attributes for c in design.clusters if len(c.attributes) > 1) == [
        ("education", "income"),
        ("marital-status", "relationship", "sex"),
    ]
    assert list(estimates) == NAMES[1:]
    assert {each.n for each in estimates.values()} == {32_561}
    assert design.epsilon <= 24.0
    assert max(c.matrix.cells for c in design.clusters) <= MAX_CELLS


def test_the_default_stands_first_with_its_prediction_beside_the_papers_methods(
    tmp_path: Path,
) -> None:
    out = tmp_path / "new" / "report.html"
    result = CliRunner().invoke(make_app(), ["demo", "--out", str(out), "--seed", "1"])
    assert result.exit_code == 0, result.output
    for words in QUERIES:
        assert words.split()[0] in result.stdout
    assert str(out) in re.sub(r"\s", "", result.stdout)
    assert "Planning the survey" in result.stderr
    page = out.read_text("utf-8")
    assert "This is a simulation." in page
    assert not re.search(r"https?:", page)
    again = CliRunner().invoke(make_app(), ["demo", "--out", str(out), "--json", "--seed", "1"])
    assert out.read_text("utf-8") == page
    fields = json.loads(again.stdout)
    assert (fields["n"], fields["design"]) == (32_561, "split questionnaire")
    assert fields["epsilon"] <= 4.0
    mine, *others = fields["outcomes"]
    assert [each["method"] for each in fields["outcomes"]] == NAMES
    assert [each["predicted"] for each in others] == [None] * 3
    assert 1 / 1.5 < mine["predicted"] / mine["typical"] < 1.5  # as on the predictions page
    assert all(each["typical"] > mine["typical"] for each in others)
    text = Page(page).text
    errors = {
        q["words"]: q["counts"][NAMES[0]]["value"] / q["truth"] - 1 for q in fields["queries"]
    }
    worst = max(errors, key=lambda words: abs(errors[words]))
    assert mine["worst_of_groups"] == pytest.approx(100 * errors[worst])
    said = f"the worst, {worst}, by {100 * errors[worst]:+.0f}".replace("-", "−")
    assert said in text
    assert f"{100 * mine['typical']:.1f} % (predicted: {100 * mine['predicted']:.1f} %)" in (
        text.replace("\u00a0", " ")
    )
    assert text.index("predicted:") < text.index("How the reports came about")
    for query in fields["queries"]:
        assert f"{query['truth']:,}" in page
        for name in NAMES:
            assert f"{query['counts'][name]['value']:,.0f}" in page


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "500"])
def test_an_impossible_budget_is_one_line(tmp_path: Path, epsilon: str) -> None:
    out = tmp_path / "report.html"
    result = CliRunner().invoke(make_app(), ["demo", "--out", str(out), "--epsilon", epsilon])
    assert result.exit_code == 2
    assert result.stderr.strip().splitlines()[-1].startswith("mdrr:")
    assert not out.exists()


def test_over_http_the_page_is_the_same(tmp_path: Path, monkeypatch) -> None:
    """Fewer people, so that it is quick: the server stores the very answers of the simulation."""
    monkeypatch.setattr("mdrr.datasets.adult", lambda: adult()[:1500])
    pages = []
    for words in ([], ["--http"]):
        out = tmp_path / "report.html"
        result = CliRunner().invoke(make_app(), ["demo", "--out", str(out), "--seed", "1", *words])
        assert result.exit_code == 0, result.output
        pages.append(out.read_text("utf-8"))
    assert "1,500 answers stored" in result.stderr
    assert pages[0] == pages[1]
