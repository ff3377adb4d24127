"""`mdrr demo`: the whole story on Adult."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mdrr.cli import make_app
from mdrr.cli.demo import MAX_CELLS, QUERIES, simulate


def test_a_clear_signal_gives_the_known_clusters_and_nobody_pays_twice() -> None:
    story = simulate(24.0, 3)
    assert story.clusters == (
        ("workclass", "occupation"),
        ("education",),
        ("marital-status", "relationship", "sex", "income"),
        ("race",),
    )
    assert story.pilot_n + story.n == 32_561
    assert len(story.others) == story.n
    assert {each.n for each in story.estimates} == {story.n}
    assert story.pilot.epsilon <= 24.0
    assert story.design.epsilon <= 24.0
    assert max(c.matrix.cells for c in story.design.clusters) <= MAX_CELLS


def test_the_page_the_summary_and_the_same_seed_again(tmp_path: Path) -> None:
    out = tmp_path / "new" / "report.html"
    result = CliRunner().invoke(make_app(), ["demo", "--out", str(out)])
    assert result.exit_code == 0, result.output
    for words in QUERIES:
        assert words in result.stdout
    assert str(out) in re.sub(r"\s", "", result.stdout)
    assert "The pilot answers RR-Independent" in result.stderr
    page = out.read_text("utf-8")
    assert "This is a simulation." in page
    assert not re.search(r"https?:", page)
    again = CliRunner().invoke(make_app(), ["demo", "--out", str(out), "--json", "--seed", "1"])
    assert out.read_text("utf-8") == page
    fields = json.loads(again.stdout)
    assert fields["pilot"] + fields["n"] == 32_561
    inside = [q for q in fields["queries"] if q["together"]]
    assert inside
    for query in fields["queries"]:
        assert f"{query['truth']:,}" in page
        assert f"{query['counts']['product']['value']:,.0f}" in page


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "500"])
def test_an_impossible_budget_is_one_line(tmp_path: Path, epsilon: str) -> None:
    out = tmp_path / "report.html"
    result = CliRunner().invoke(make_app(), ["demo", "--out", str(out), "--epsilon", epsilon])
    assert result.exit_code == 2
    assert result.stderr.strip().splitlines()[-1].startswith("mdrr:")
    assert not out.exists()
