"""A published design is never lost: reports made under it cannot be read without it."""

import json
from pathlib import Path

import pytest

from mdrr.design import Design
from tests.cli.run import answer, done, refusal

ANOTHER = {
    "design": "design survey.toml --p 0.4 -o design.json",
    "plan": "plan survey.toml --n 900 --epsilon 3 -o design.json",
    "cluster": "cluster tally.json --design design.json --max-cells 9 --min-dependence 0.1 --p 0.4",
}


@pytest.mark.parametrize("name", ANOTHER)
def test_another_design_is_written_over_on_demand_only(folder, name):
    held = Path("held.json")
    held.write_bytes(Path("design.json").read_bytes())
    command = f"{ANOTHER[name].removesuffix(' -o design.json')} -o held.json"
    said = refusal(command)
    old = Design.from_json(held.read_text(encoding="utf-8")).fingerprint
    assert f"held.json holds another design ({old[:12]}…)" in said
    assert "Name another file with -o, or replace it with --force" in said
    assert held.read_bytes() == Path("design.json").read_bytes()
    fields = answer(f"{command} --force")
    new = Design.from_json(held.read_text(encoding="utf-8")).fingerprint
    assert new == fields["fingerprint"] != old


def test_the_same_design_again_leaves_the_file_as_it_is(folder):
    by_hand = json.dumps(json.loads(Path("design.json").read_text(encoding="utf-8")), indent=1)
    Path("design.json").write_text(by_hand, encoding="utf-8")
    assert "holds this very design already" in done("design survey.toml --p 0.7 -o design.json")
    assert Path("design.json").read_text(encoding="utf-8") == by_hand


@pytest.mark.parametrize("content", [b"[1, 2]", b"\xff\xfe", b"[" * 100_000, b""])
def test_a_file_that_is_no_design_is_not_lost_either(folder, content):
    Path("other.json").write_bytes(content)
    assert "other.json is no design" in refusal("design survey.toml --p 0.7 -o other.json")
    assert Path("other.json").read_bytes() == content
    done("design survey.toml --p 0.7 -o other.json --force")
    assert Path("other.json").read_bytes() == Path("design.json").read_bytes()


@pytest.mark.parametrize(
    "command",
    [
        "design survey.toml --p 0.7 --force -o survey.toml",
        "plan design.json --n 900 --epsilon 3 --force -o design.json",
        f"{ANOTHER['cluster']} --force -o design.json",
        "cluster tally.json --design design.json --max-cells 9 --min-dependence 0.1 -o tally.json",
        "estimate tally.json --design design.json -o design.json",
        "dependence tally.json --design design.json -o design.json",
        "dependence people.csv --survey survey.toml --true-data -o survey.toml",
        "synth reports.parquet --design design.json -o reports.parquet",
        "report tally.json --design design.json -o design.json",
        "report tally.json --design design.json --truth people.csv -o people.csv",
    ],
)
def test_no_command_writes_over_what_it_reads(folder, command):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert "would be written over what is read" in refusal(command)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["estimate", "dependence", "query"])
def test_nobody_is_counted_twice(folder, name):
    where = '"smokes == 1"' if name == "query" else ""
    said = refusal(f"{name} tally.json ./tally.json --design design.json {where}")
    assert "is named twice" in said


@pytest.mark.parametrize(
    "command",
    [
        "plan survey.toml --n 900 --epsilon 3 --page old.json",
        "cluster tally.json --design design.json --max-cells 9 --min-dependence 0.1 -o old.json",
        "estimate tally.json --design design.json -o old.json",
        "dependence tally.json --design design.json -o old.json",
        "report tally.json --design design.json -o old.json",
        "tally reports.parquet --design design.json -o old.json",
    ],
)
def test_nothing_else_is_written_over_a_design(folder, command):
    Path("old.json").write_bytes(b"\n" + Path("design.json").read_bytes())
    before = Path("old.json").read_bytes()
    said = refusal(command)
    assert "old.json holds a design (" in said
    assert "Name another file" in said
    assert Path("old.json").read_bytes() == before


def test_a_chart_is_not_called_what_it_is_not(folder):
    said = refusal("plan survey.toml --n 900 --epsilon 3 --chart chart.png -o new.json")
    assert "chart.png: the chart is SVG. Name it 'chart.svg'" in said
    assert not Path("chart.png").exists()
    assert not Path("new.json").exists()
