"""The benchmark of speed: small runs of what needs no other package, and what the page says."""

import json

import numpy as np
import pytest
from benchmarks.speed import CASES, Case, measure

from benchmarks import contenders, speed, speed_page


def case(work: str) -> Case:
    return next(each for each in CASES if each.work == work)


@pytest.mark.parametrize(
    ("work", "size", "names"),
    [
        ("limits", 4096, ["copy of bytes", "keystream on one core"]),
        ("auto", 300, ["mdrr"]),
        ("adjust", 3000, ["mdrr", "numpy over records", "ipfn, one sweep times"]),
    ],
)
@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::pandas.errors.Pandas4Warning"
)
def test_every_contender_is_timed(work, size, names):
    found = measure(case(work), size, None)
    assert [
        row["name"][: len(name)] for row, name in zip(found["rows"], names, strict=True)
    ] == names
    assert all(row["seconds"] > 0 and row["each"] > 0 for row in found["rows"])
    assert found["peak"] > 10


def test_one_contender_alone_can_be_run_for_its_memory():
    (row,) = measure(case("adjust"), 2000, "numpy over records")["rows"]
    assert row["name"] == "numpy over records"


def test_contenders_that_re_weight_get_the_same_weights():
    works = {name: work for name, work, _ in contenders.adjust(3000)}
    ours, records = works["mdrr"](), works["numpy over records"]()
    assert ours.weights.sum() == pytest.approx(records.sum(), abs=1e-9)
    assert np.sort(ours.weights)[-1] >= np.sort(records)[-1] - 1e-12  # equal records together


def test_the_page_says_which_aims_are_reached(tmp_path, monkeypatch):
    monkeypatch.setattr(speed_page, "PAGE", tmp_path / "speed.md")
    monkeypatch.setattr(speed_page, "CHART", tmp_path / "speed.svg")
    rows = [
        {"name": "mdrr", "seconds": 1.0, "each": 1.0},
        {"name": "numpy, PCG64", "seconds": 4.0, "each": 4.0},
        {"name": "multi-freq-ldpy", "seconds": 500.0, "each": 500.0},
        {"name": "pure-ldp", "seconds": 600.0, "each": 600.0},
    ]
    found = {"rows": rows, "errors": {}, "peak": 100.0, "load": 1.0}
    speed_page.document({"machine": "2 cores", "cases": {"randomize 10000000": found}})
    text = (tmp_path / "speed.md").read_text()
    assert "| at least 400 times | 500 times | yes |" in text
    assert "| at least 5 times | 4 times | **no** |" in text
    assert "<svg" in (tmp_path / "speed.svg").read_text()


def test_the_page_is_that_of_the_results(tmp_path, monkeypatch):
    monkeypatch.setattr(speed_page, "CHART", tmp_path / "speed.svg")
    kept = json.loads(speed.RESULTS.read_text())
    written = speed_page.PAGE.read_text()
    monkeypatch.setattr(speed_page, "PAGE", tmp_path / "speed.md")
    speed_page.document(kept)
    assert (tmp_path / "speed.md").read_text() == written
