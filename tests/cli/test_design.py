import json
from dataclasses import replace
from pathlib import Path

import pytest

from mdrr.cli.designing import settings
from mdrr.design import Design
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.survey import Settings
from tests.cli.run import answer, done, run


@pytest.mark.parametrize(
    ("options", "make"),
    [
        ("--p 0.4", lambda d: independent(d, p=0.4)),
        ("--protocol independent --epsilon 3", lambda d: independent(d, epsilon=3.0)),
        ("--protocol joint --epsilon 3", lambda d: joint(d, epsilon=3.0)),
        (
            "--p 0.4 --clusters 'visits + smokes, age,insured'",
            lambda d: clustered(d, [["smokes", "visits"], ["age"], ["insured"]], p=0.4),
        ),
        ("--size 2 -e 3", lambda d: sampled(d, 2, epsilon=3.0)),
        (
            "--size 2 -e 0.5 --report subset",
            lambda d: sampled(d, 2, epsilon=0.5, report="subset"),
        ),
        ("--p 0.4 --ordered banded", lambda d: independent(d, p=0.4, ordered="banded")),
    ],
)
def test_the_file_is_the_design_of_the_library(folder, domain, options, make):
    fields = answer(f"design survey.toml {options} -o d.json")
    wanted = make(domain)
    assert Design.from_json(Path("d.json").read_text(encoding="utf-8")) == wanted
    assert fields["fingerprint"] == wanted.fingerprint
    assert fields["epsilon"] == wanted.epsilon
    assert fields["combinations"] == 2 * 3 * 3 * 2
    assert len(fields["questionnaires"]) == len(wanted.questionnaires)
    assert sum(q["share"] for q in fields["questionnaires"]) == pytest.approx(1)


def test_people_see_a_table_and_are_told_when_nothing_was_written(folder):
    result = run("design survey.toml --size 2 --epsilon 3")
    assert "smokes+age" in result.stdout
    assert "One person spends ε = 2.9999" in result.stdout
    assert "Nothing was written" in result.stderr
    assert "Wrote d.json" in done("design survey.toml --p 0.5 -o d.json")


def test_long_designs_are_cut_in_print_but_not_in_json(folder):
    text = "".join(f"[[attributes]]\nname = 'a{i}'\ncategories = ['x', 'y']\n" for i in range(60))
    Path("long.toml").write_text(text)
    assert "… and 20 more" in done("design long.toml --p 0.5")
    assert len(answer("design long.toml --p 0.5")["questionnaires"][0]["clusters"]) == 60


def test_options_stand_over_the_surveys_settings(folder):
    base = Settings("sampled", epsilon=2.0, size=3, report="subset")
    assert settings(base, None, {}) == base
    assert settings(base, None, {"epsilon": 1.0}) == replace(base, epsilon=1.0)
    assert settings(base, None, {"size": 2}) == replace(base, size=2)
    assert settings(base, None, {"report": "cell"}) == replace(base, report="cell")
    assert settings(base, "joint", {"size": None}) == Settings("joint", epsilon=2.0)
    assert settings(base, "joint", {"p": 0.5}) == Settings("joint", p=0.5)
    clusters = (("a", "b"), ("c",))
    assert settings(base, None, {"p": 0.5, "clusters": clusters}) == Settings(
        "clusters", p=0.5, clusters=clusters
    )
    assert settings(None, None, {"p": 0.5}) == Settings(p=0.5)


def test_json_is_all_there_is_on_stdout(folder):
    result = run("design survey.toml --p 0.5 --json")
    json.loads(result.stdout)
    assert result.stderr == ""
