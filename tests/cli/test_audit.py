"""`mdrr audit`: what it prints and writes, and its exit codes."""

from pathlib import Path

import pytest

from mdrr.auditing.integers import exact
from mdrr.auditing.planted import COUNTED
from tests.cli.run import answer, done, refusal, run

SURE = "--confidence 0.999999999 --n 1000"


def test_an_audit_that_finds_nothing(folder, design):
    said = done(f"audit design.json --randomizer bulk --randomizer single {SURE} -o c.html")
    assert "Nothing wrong was found. Version 0.1.0, n = 1,000, confidence 99.9999999 %." in said
    assert design["fingerprint"][:12] in said
    assert "cannot prove that ε is kept" in said
    assert said.count("passed") == 6
    assert design["fingerprint"] in Path("c.html").read_text("utf-8")


def test_a_fault_is_exit_code_1(folder, monkeypatch):
    plant = COUNTED["two clusters use the same random bytes"]
    monkeypatch.setattr(
        "mdrr.auditing.exact", lambda shipped, *given: exact(plant(shipped), *given)
    )
    result = run(f"audit design.json --randomizer bulk {SURE}")
    assert result.exit_code == 1
    assert "Something is wrong: see the findings." in result.stdout
    assert "depends on other answers or on other bytes" in result.stdout


def test_a_frozen_survey_has_a_design_to_audit(folder, design):
    done("survey freeze survey.toml --design design.json -o frozen.json")
    found = answer(f"audit frozen.json --randomizer bulk {SURE}")
    assert found["passed"] is True
    assert found["designs"][0]["fingerprint"] == design["fingerprint"]


def test_what_cannot_be_audited_is_exit_code_4(folder, monkeypatch):
    monkeypatch.setattr("mdrr.auditing.platforms.shutil.which", lambda name: None)
    result = run(f"audit design.json --randomizer bulk --randomizer browser {SURE}")
    assert result.exit_code == 4
    assert "not everything could be audited" in result.stdout
    said = " ".join(result.stdout.split())
    assert "integers counted: not audited: Node.js is not installed" in said


def test_the_self_test_is_shown(folder, monkeypatch):
    monkeypatch.setattr("mdrr.auditing.planted.RUNS", 2)
    found = answer("audit design.json --randomizer bulk --self-test")
    assert [each["fault"] for each in found["self_test"] if not each["passed"]] == []
    assert len(found["self_test"]) == 11
    assert found["passed"] is True


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("audit nowhere.json", "there is no file 'nowhere.json'"),
        ("audit tally.json", "is a tally, and a design is needed here"),
        ("audit design.json --randomizer sigle", "Did you mean 'single'"),
        ("audit design.json --n 5", "n=5 must be a whole number, at least 100"),
        ("audit design.json --confidence 95", "confidence=95.0 must lie between 0 and 1"),
        ("audit design.json -o c.pdf", "the certificate is HTML. Name it 'c.html'"),
        ("audit design.json -o design.json", "design.json"),
    ],
)
def test_bad_input_is_one_line(folder, given, said):
    assert said in refusal(given)


def test_a_weak_bound_is_said_to_be_weak(folder):
    weak = (
        "A bound far below the claim says little. More reports make it stronger. Give a larger --n."
    )
    said = [done(f"audit design.json --randomizer bulk --n {n}") for n in (100, 50_000)]
    assert [weak in each for each in said] == [True, False]
