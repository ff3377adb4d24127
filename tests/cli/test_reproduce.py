"""`mdrr reproduce`: one command, the paper's numbers beside ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mdrr.cli import make_app
from mdrr.reproduction import runner
from mdrr.reproduction.unit import measure


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(make_app(), ["reproduce", *words])
    return result.exit_code, result.stdout, result.stderr


def test_a_table_is_printed_and_written(tmp_path: Path) -> None:
    words = ("table1", "--runs", "3", "--workers", "1", "-o", str(tmp_path))
    code, out, err = run(*words)
    assert code == 0, err
    assert "Table 1 (Adult):" in out
    assert "0.335" in out
    assert "claims hold" in out
    assert str(tmp_path / "results.md") in err
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"results.json", "results.md", "table1.png", "table1.svg", "runs"}
    (kept,) = (tmp_path / "runs").iterdir()
    before = kept.read_text(encoding="utf-8")
    assert run(*words)[0] == 0
    assert kept.read_text(encoding="utf-8") == before  # resumed: nothing was run again
    assert run(*words, "--fresh")[0] == 0
    assert kept.read_text(encoding="utf-8") == before  # run again: the same seed, the same numbers


def test_json_and_every_option(tmp_path: Path) -> None:
    code, out, err = run(
        "figure2", "--json", "--runs", "2", "--workers", "1", "-o", str(tmp_path),
        "--matrix", "printed", "--dependences", "attributes", "--rounding", "up",
        "--empty", "infinite", "--pairs", "repeated", "--query-size", "3",
        "--projection", "euclidean", "--thresholds", "ours", "--seed", "9",
    )  # fmt: skip
    assert code == 0, err
    fields = json.loads(out)
    settings = dict(fields["settings"])
    assert settings.pop("fingerprint")
    assert settings == {
        "runs": 2,
        "seed": 9,
        "matrix": "printed",
        "dependences": "attributes",
        "rounding": "up",
        "empty": "infinite",
        "pairs": "repeated",
        "query_size": 3,
        "projection": "euclidean",
        "thresholds": "ours",
    }
    assert len(fields["figure2"]) == 9 * 2 * 2
    assert fields == json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))


def test_a_quick_look_and_the_page(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "page.md"
    code, _, err = run(
        "figure1", "--quick", "--workers", "1", "-o", str(tmp_path / "out"), "--docs", str(page)
    )
    assert code == 0, err
    assert "Figure 1: √B" in page.read_text(encoding="utf-8")
    assert (tmp_path / "docs" / "page" / "figure1.svg").exists()
    assert '"runs": 50' in (tmp_path / "out" / "results.json").read_text(encoding="utf-8")


def test_bad_orders_end_in_one_line(tmp_path: Path) -> None:
    for words, complaint in (
        (("table9",), "there is nothing called 'table9'"),
        (("table1", "--matrix", "guess"), "matrix='guess'"),
        (("table1", "--runs", "0"), "runs=0"),
        (("table1", "--workers", "0"), "workers=0"),
    ):
        code, _, err = run(*words, "-o", str(tmp_path))
        assert code == 2
        assert complaint in err
        assert err.count("\n") == 1


def test_interrupted_it_says_what_is_kept_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("figure2", "--runs", "250", "--workers", "1", "-o", str(tmp_path))
    measured = []

    def cut_off(unit, some):
        if len(measured) == stop_after:
            raise KeyboardInterrupt
        measured.append(unit.start)
        return measure(unit, some)

    monkeypatch.setattr(runner, "measure", cut_off)
    stop_after = 0
    code, out, err = run(*words)
    assert (code, out) == (130, "")
    assert err.startswith("mdrr: stopped before any runs were done. Give the same command again")
    stop_after = 2
    code, out, err = run(*words)
    assert (code, out) == (130, "")
    assert f"200 of 250 runs are done and kept in {tmp_path / 'runs'}" in err
    assert "Give the same command again, without --fresh, to go on" in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    stop_after = 9
    assert run(*words)[0] == 0
    assert measured == [0, 100, 200]


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_in_the_real_program(tmp_path: Path, workers: str) -> None:
    words = ["reproduce", "figure2", "--runs", "50000", "--workers", workers]
    child = subprocess.Popen(
        [sys.executable, "-m", "mdrr", *words, "-o", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not any("\n" in file.read_text().strip("\n") for file in tmp_path.glob("runs/*.jsonl")):
        assert child.poll() is None, child.stderr  # until a second unit is kept
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    assert (child.returncode, out) == (130, "")
    assert "of 50,000 runs are done and kept in" in err
    assert "Traceback" not in err
