"""The page on mutants is made of its results, and every reason in tests/mutants.toml is used."""

import json
from pathlib import Path

from benchmarks.mutants import GROUPS, functions_of, survivor
from benchmarks.mutants_page import document, reason, reasons

from tests.browser.test_mutants import CHECKING, DRAWING

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/mutants.json").read_text("utf-8"))
KNOWN = reasons(ROOT / "tests/mutants.toml")


def test_the_page_is_made_of_the_results():
    page = (ROOT / "docs/benchmarks/mutants.md").read_text("utf-8")
    assert page == document(RESULTS, KNOWN, GROUPS)
    assert RESULTS["page"] == len(DRAWING) + len(CHECKING)


def test_what_is_called_equivalent_did_survive():
    lived = {
        (row["module"], one["function"], one["after"])
        for row in RESULTS["rows"]
        for one in row["survivors"]
    }
    lived |= {
        (row["module"], "*", "strict")
        for row in RESULTS["rows"]
        for one in row["survivors"]
        if "strict=True" in one["before"]
    }
    measured = {row["module"] for row in RESULTS["rows"]}
    assert {key for key in KNOWN if key[0] in measured} <= lived


def test_counts_add_up():
    for row in RESULTS["rows"]:
        assert row["killed"] + len(row["survivors"]) == row["mutants"]


def test_a_survivor_is_shown_by_the_lines_that_differ(tmp_path):
    path = tmp_path / "written.py"
    path.write_text(
        "def x_f__mutmut_orig(a):\n    b = a\n    return a < b\n\n\n"
        "def x_f__mutmut_2(a):\n    b = a\n    return a <= b\n"
    )
    found = survivor(functions_of(path), "mdrr.some.x_f__mutmut_2")
    assert found == {"function": "f", "before": "return a < b", "after": "return a <= b"}


def test_a_mutant_that_is_listed_does_not_count():
    one = {"function": "f", "before": "a", "after": "b"}
    row = {"group": "source", "module": "m.py", "mutants": 4, "killed": 3, "survivors": [one]}
    results = {"page": 1, "rows": [row]}
    assert "| source | `m.py` | 4 | 0 | 3 | 1 | 75.0 % |" in document(results, {}, GROUPS)
    page = document(results, {("m.py", "f", "b"): "because"}, GROUPS)
    assert "| source | `m.py` | 4 | 1 | 3 | 0 | 100.0 % |" in page
    assert "because" in page


def test_one_entry_is_for_every_strict_zip_of_a_module():
    zipped = {"function": "f", "before": "zip(a, b, strict=True)"}
    known = {("m.py", "*", "strict"): "the lengths agree"}
    for after in ("zip(a, b, strict=False)", "zip(a, b, )"):
        assert reason("m.py", zipped | {"after": after}, known) == "the lengths agree"
        assert reason("n.py", zipped | {"after": after}, known, "lives") == "lives"
    assert reason("m.py", zipped | {"after": "zip(b, a, strict=True)"}, known) == ""
