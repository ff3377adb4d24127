"""The keys and types of every command's `--json`, as docs/cli.md promises them."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from mdrr.cli.options import MethodName
from mdrr.estimation import METHODS
from tests.cli.run import answer, done, refusal
from tests.cli.test_documented import SECTIONS


def exactly(optional: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    """An object with these keys, all of them unless optional, and no other."""
    return {
        "type": "object",
        "properties": fields,
        "required": [key for key in fields if key not in optional],
        "additionalProperties": False,
    }


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
WHOLE = {"type": "integer", "minimum": 0}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
LABEL = {"type": ["string", "integer", "boolean"]}
NAMES = listed(TEXT)
CHECK = exactly(
    part={"enum": ["exact", "empirical", "provenance"]}, randomizer=TEXT, passed=maybe(FLAG),
    epsilon=maybe(NUMBER), looked_at=TEXT, findings=NAMES, tests=WHOLE,
)  # fmt: skip
CELL = exactly(labels=listed(LABEL), probability=SHARE, low=maybe(SHARE), high=maybe(SHARE))

SCHEMAS = {
    "plan survey.toml --n 600 --epsilon 3": exactly(
        public=NAMES,
        n=WHOLE, epsilon=NUMBER, best=TEXT, fingerprint=FINGERPRINT,
        candidates=listed(exactly(
            design=TEXT, error=NUMBER, alone=maybe(NUMBER), together=maybe(NUMBER), worst=NUMBER,
            forged=NUMBER, guess=SHARE, questionnaires=WHOLE, epsilon=NUMBER,
        )),
    ),
    "design survey.toml --p 0.5": exactly(
        public=NAMES,
        fingerprint=FINGERPRINT, epsilon=NUMBER, attributes=NAMES, combinations=WHOLE,
        questionnaires=listed(exactly(
            share=SHARE, epsilon=NUMBER,
            clusters=listed(exactly(attributes=NAMES, cells=WHOLE, epsilon=NUMBER)),
        )),
    ),
    "privacy design.json --shuffled 600": exactly(
        public=NAMES,
        fingerprint=FINGERPRINT, epsilon=NUMBER, questionnaires={"type": "array"},
        attributes={"type": "array"}, words=NAMES, shuffled={"type": "object"},
    ),
    "theory design.json --n 600 --error 0.01": exactly(
        n=WHOLE, level=SHARE, epsilon=maybe(NUMBER), comparison=maybe({"type": "object"}),
        clusters=listed(exactly(
            name=TEXT, questionnaire=WHOLE, n=WHOLE, sqrt_b=NUMBER, lambda_abs=NUMBER,
            lambda_rel=NUMBER, pi_abs=NUMBER, pi_rel=NUMBER, forged=NUMBER, people_needed=WHOLE,
        )),
    ),
    "audit design.json --randomizer bulk --n 1000 --confidence 0.999999999": exactly(
        version=TEXT, day=TEXT, n=WHOLE, confidence=SHARE, platform={"type": "object"},
        passed=FLAG, complete=FLAG, provenance=listed(CHECK), out=maybe(TEXT),
        designs=listed(exactly(
            name=TEXT, fingerprint=FINGERPRINT, epsilon=maybe(NUMBER), public=NAMES,
            checks=listed(CHECK),
        )),
        self_test=listed(exactly(
            fault=TEXT, part=TEXT, randomizer=TEXT, runs=WHOLE, found=WHOLE, power=SHARE,
            passed=FLAG,
        )),
    ),
    "randomize people.csv -d design.json -o r.csv": exactly(
        public=NAMES,
        n=WHOLE, fingerprint=FINGERPRINT, epsilon=NUMBER, out=TEXT
    ),
    "tally reports.parquet -d design.json -o t.json": exactly(
        n=WHOLE, distinct=WHOLE, fingerprint=FINGERPRINT, out=TEXT
    ),
    "pool tally.json t2.json -d design.json -d d2.json -o a.json --pooled p.json": exactly(
        public=NAMES,
        n=WHOLE, surveys=listed(WHOLE), fingerprint=FINGERPRINT, epsilon=NUMBER, out=TEXT,
        pooled=TEXT,
    ),
    "estimate tally.json -d design.json --table smokes,age": exactly(
        ("why",), n=WHOLE, method=TEXT, level=SHARE, why=TEXT,
        tables=listed(exactly(attributes=NAMES, cells=listed(CELL))),
    ),
    "query tally.json -d design.json --method product 'insured == true'": exactly(
        where=TEXT, n=WHOLE, value=NUMBER, low=NUMBER, high=NUMBER, share=SHARE, level=SHARE,
        method=TEXT, of={"enum": ["people", "population"]},
    ),
    "adjust reports.parquet -d design.json -o w.csv": exactly(
        n=WHOLE, sweeps=WHOLE, residual=NUMBER, stopped={"enum": ["tolerance", "sweeps"]},
        unreached=listed({"type": "array"}), out=TEXT,
    ),
    "synth tally.json -d design.json --method product --n 50 -o s.csv": exactly(
        n=WHOLE, how=TEXT, method=TEXT, out=TEXT
    ),
    "dependence tally.json -d design.json": exactly(
        how=TEXT, epsilon=maybe(NUMBER), measure=TEXT, level=SHARE, names=NAMES,
        values=listed(listed(SHARE)), low=listed(listed(SHARE)), high=listed(listed(SHARE)),
        clear=listed(listed(FLAG)), margins=listed(listed(SHARE)),
        pairs=listed({"type": "object"}),
    ),
    "cluster tally.json -d design.json --max-cells 9 --min-dependence 0.1 --p 0.5": exactly(
        max_cells=WHOLE, min_dependence=SHARE, clusters=listed(NAMES), unclear=listed(NAMES),
        fingerprint=FINGERPRINT, epsilon=NUMBER, epsilon_before=NUMBER, epsilon_of_both=NUMBER,
    ),
    "report tally.json -d design.json --method product -o r.html": exactly(
        public=NAMES,
        out=TEXT, n=WHOLE, method=TEXT, epsilon=NUMBER, fingerprint=FINGERPRINT, simulated=FLAG
    ),
}  # fmt: skip
ELSEWHERE = {"securesum", "demo", "survey", "crowd"}
"""Commands whose JSON their own tests hold."""


@pytest.mark.parametrize("command", SCHEMAS)
def test_the_json_of_a_command_is_as_written(folder, command):
    if command.startswith("pool"):
        done("design survey.toml --p 0.5 -o d2.json")
        done("randomize people.csv -d d2.json -o r2.parquet --seed 2")
        done("tally r2.parquet -d d2.json -o t2.json")
    wrong = jsonschema.Draft202012Validator(SCHEMAS[command]).iter_errors(answer(command))
    assert [each.message for each in wrong] == []


@pytest.mark.parametrize("command", SCHEMAS)
def test_the_documentation_names_the_keys(command):
    section = SECTIONS[command.split()[0]]
    paragraph = section[section.index("`--json`") :]
    named = set(re.findall(r"`([a-z_]+)`", paragraph))
    assert set(SCHEMAS[command]["properties"]) <= named


def test_every_command_with_json_has_a_schema():
    written = {command.split()[0] for command in SCHEMAS} | ELSEWHERE
    assert {name for name, text in SECTIONS.items() if "`--json`" in text} <= written


def test_a_file_of_tables_has_the_keys_of_the_json(folder):
    command = "estimate tally.json -d design.json --table smokes,age"
    printed = answer(f"{command} -o e.json")
    assert json.loads(Path("e.json").read_text(encoding="utf-8")) == printed


@pytest.mark.parametrize(
    "command",
    [
        "design nothing.toml --p 0.5",
        "query tally.json -d design.json \"height == 'tall'\"",
        "survey status abcdefgh --database sqlite:///nowhere.db",
        "theory design.json --n many",
    ],
)
def test_an_error_is_one_line_of_text_and_no_json(folder, command):
    """As docs/cli.md says: stdout is empty."""
    assert refusal(f"{command} --json") == refusal(command)
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert "there is no JSON: stdout is empty" in text


def test_the_methods_offered_are_those_there_are():
    assert set(get_args(MethodName)) == set(METHODS)
