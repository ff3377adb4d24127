import json
import re
from dataclasses import replace

import pytest

from mdrr.reproduction.charts import charts
from mdrr.reproduction.folder import fields_of, write_folder, write_page
from mdrr.reproduction.outcome import TARGETS, Outcome, reproduce
from mdrr.reproduction.page import page
from mdrr.reproduction.printed import TABLES
from mdrr.reproduction.settings import Settings
from tests.reproduction.made_up import like_the_paper, table


@pytest.fixture(scope="module")
def tiny():
    """Everything, once, with two runs."""
    return reproduce(TARGETS, Settings(runs=2), workers=1)


def test_everything_is_on_the_page(tiny):
    text = page(tiny, "mdrr reproduce --runs 2", "pictures")
    assert "`mdrr reproduce --runs 2`" in text
    for name in ("table1", "table2", "figure1", "figure2", "figure3", "readings"):
        assert f"![{name}](pictures/{name}.svg)" in text
    for errors in TABLES.values():
        assert all(f"| {error:.3f} |" in text for error in errors.values())
    verdicts = ("**holds**", "**does not hold**", "**cannot be told**")
    assert sum(text.count(verdict) for verdict in verdicts) >= 35
    assert "cannot be told from 2 runs" in text
    assert "{relationship, sex, income}" in text
    assert "nan" not in text


def test_tables_are_well_formed(tiny):
    """Every row of a table has as many cells as its heading."""
    blocks = re.findall(r"(?:^\|.*\n)+", page(tiny, "mdrr"), flags=re.MULTILINE)
    assert len(blocks) >= 12
    for block in blocks:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block.splitlines()[0]


def test_a_cell_that_differs_is_marked():
    right = like_the_paper()
    assert "\\*" not in page(right, "x").split("## Table 1 (Adult)")[1].split("## Which")[0]
    off = table("table1", lambda p, m, d: 0.9)
    text = page(replace(right, tables={"table1": off}), "x")
    assert "0 of 36 cells agree" in text
    assert text.count("\\* |") == 36


def test_the_page_says_what_explains_what():
    right = like_the_paper()
    text = page(right, "x")
    assert "Table 1, p = 0.3: explained by" in text
    assert "explains all rows of both tables" in text
    worse = [
        replace(v, tables={name: table(name, lambda p, m, d: 0.9) for name in TABLES})
        for v in right.variants["readings"]
    ]
    text = page(replace(right, variants={"readings": tuple(worse)}), "x")
    assert "No single reading explains all rows" in text
    assert text.count("**explained by none**") == 8


def test_the_smallest_page():
    assert "What section 6 claims" in page(Outcome(Settings()), "x")


def test_other_ways_are_told_with_their_cost():
    text = page(Outcome(Settings(dependences="attributes", matrix="power")), "x")
    assert "its ε is added" in text
    assert "p^|C|" in text


def test_files(tiny, tmp_path):
    folder = tmp_path / "deep" / "folder"
    written = write_folder(tiny, folder, "mdrr reproduce")
    assert all(path.stat().st_size > 200 for path in written)
    names = {path.name for path in written}
    assert {"results.json", "results.md", "figure3.svg", "figure3.png", "table2.png"} <= names
    assert (folder / "table1.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    fields = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert fields == json.loads(json.dumps(fields_of(tiny)))
    assert len(fields["table1"]) == 36
    assert len(fields["figure3"]) == 4 * 9 * 5
    assert fields["table1"][0]["paper"] == 0.335
    assert {(claim["holds"], claim["verdict"]) for claim in fields["claims"]} == {
        (True, "holds"),
        (False, "does not hold"),
        (None, "cannot be told"),
    }


def test_without_pictures(tiny, tmp_path):
    written = write_folder(tiny, tmp_path, "x", pictures=False)
    assert [path.name for path in written] == ["results.json", "results.md"]
    assert "![" not in (tmp_path / "results.md").read_text(encoding="utf-8")


def test_the_documentation_page_has_its_pictures_beside_it(tiny, tmp_path):
    write_page(tiny, tmp_path / "docs" / "reproduction.md", "x")
    text = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((reproduction/\w+\.svg)\)", text)
    assert len(linked) == 6
    assert all((tmp_path / "docs" / link).exists() for link in linked)
    assert not list((tmp_path / "docs").rglob("*.png"))


def test_the_paper_s_values_are_drawn_in(tiny):
    drawn = dict(charts(tiny))
    text = json.dumps(drawn["table1"].to_dict())
    assert all(f'"value": {error}' in text for error in TABLES["table1"].values())
    assert '"value": 0.285' in json.dumps(drawn["figure3"].to_dict())
