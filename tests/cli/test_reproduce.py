"""`mdrr reproduce`: one command, the paper's numbers beside ours."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from mdrr.cli import make_app


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
