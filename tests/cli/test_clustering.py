"""`mdrr dependence` and `mdrr cluster`: the library's answers from reports and from true data."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mdrr.clustering import cluster
from mdrr.dependence import Dependences, dependences, from_codes
from mdrr.design import Design
from mdrr.files import read_people, tally_files
from mdrr.frames import encode
from mdrr.protocols import clustered
from tests.cli.run import answer, done, refusal, run


@pytest.fixture
def library(folder):
    design = Design.from_json(Path("design.json").read_text(encoding="utf-8"))
    return tally_files(["reports.parquet"], design), design


@pytest.mark.parametrize(("option", "debias"), [("", True), ("--attenuated", False)])
def test_dependences_of_reports(library, option, debias):
    fields = answer(f"dependence tally.json -d design.json {option}")
    wanted = dependences(*library, debiased=debias)
    assert fields["how"] == ("debiased" if debias else "attenuated")
    assert tuple(fields["names"]) == wanted.names
    assert np.allclose(fields["values"], wanted.values)
    assert (fields["margins"] is None) == (wanted.margins is None) == (not debias)
    for margin, known in zip(fields["margins"] or (), wanted.margins or (), strict=True):
        assert np.allclose(margin, known)
    assert [(p["first"], p["second"]) for p in fields["pairs"]] == [
        (a, b) for a, b, _ in wanted.ranked()
    ]


@pytest.mark.parametrize("option", ["-s survey.toml", "-d design.json"])
def test_dependences_of_true_data_say_that_they_are_a_leak(folder, domain, option):
    shutil.copy("people.csv", "more.csv")
    result = run(f"dependence people.csv more.csv {option} --true-data --json")
    assert "--true-data reads true answers" in result.stderr
    fields = json.loads(result.stdout)
    (people,) = read_people("people.csv", domain)
    assert fields["how"] == "true data"
    assert np.allclose(fields["values"], from_codes(encode(people, domain), domain).values)


def test_the_measure_is_named(folder):
    printed = done("dependence tally.json -d design.json -o d.json")
    assert "Wrote d.json" in printed
    for line in printed.splitlines():
        if "age" in line and "visits" in line:
            assert "|r|" in line
        elif "smokes" in line:
            assert "│ V " in line


@pytest.mark.parametrize("source", ["d.json -s survey.toml", "tally.json -d design.json"])
def test_clusters_are_those_of_algorithm_1(library, source):
    done("dependence tally.json -d design.json -o d.json")
    tally, design = library
    for cells, least in ((6, 0.0), (9, 0.0), (100, 0.0), (100, 1.0)):
        fields = answer(f"cluster {source} --max-cells {cells} --min-dependence {least}")
        wanted = cluster(
            dependences(tally, design), design.domain, max_cells=cells, min_dependence=least
        )
        assert fields == {"clusters": [list(names) for names in wanted]}


def test_a_clustered_design_is_written_when_a_budget_is_given(library):
    _, design = library
    options = "--max-cells 9 --min-dependence 0"
    fields = answer(f"cluster tally.json -d design.json {options} --epsilon 2 -o c.json")
    made = Design.from_json(Path("c.json").read_text(encoding="utf-8"))
    assert made == clustered(design.domain, fields["clusters"], epsilon=2.0)
    assert fields["fingerprint"] == made.fingerprint
    printed = done(f"cluster tally.json -d design.json {options} -o groups.json")
    assert "Wrote the clusters to groups.json" in printed
    assert json.loads(Path("groups.json").read_text())["clusters"] == fields["clusters"]
    joined = ",".join("+".join(names) for names in fields["clusters"])
    assert f"For 'mdrr design --clusters': {joined}" in printed


def test_true_data_cluster_too(folder):
    result = run(
        "cluster people.csv -s survey.toml --true-data --max-cells 9 --min-dependence 0 --json"
    )
    assert result.exit_code == 0
    assert "--true-data reads true answers" in result.stderr


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("dependence tally.json", "reports need the --design"),
        (
            "dependence people.csv --true-data",
            "give --survey or --design to say what was asked, exactly",
        ),
        ("dependence people.csv --true-data -s survey.toml -d design.json", "exactly one"),
        ("cluster tally.json -d design.json --max-cells 0 --min-dependence 0", "max_cells=0"),
        ("cluster tally.json -d design.json --max-cells 9 --min-dependence 2", "min_dependence=2"),
        ("cluster tally.json -d design.json --max-cells 9", "Missing option '--min-dependence'"),
        (
            "cluster bad.json -s survey.toml --max-cells 9 --min-dependence 0",
            "bad.json: not a file",
        ),
        ("cluster no.json -s survey.toml --max-cells 9 --min-dependence 0", "no.json: not JSON"),
        ("cluster ab.json -s survey.toml --max-cells 9 --min-dependence 0", "not of this domain"),
    ],
)
def test_what_cannot_be_clustered(folder, command, complaint):
    Path("bad.json").write_text("{}")
    Path("no.json").write_text("{")
    found = Dependences(("a", "b"), np.eye(2))
    Path("ab.json").write_text(json.dumps({"names": ["a", "b"], "values": found.values.tolist()}))
    assert complaint in refusal(command)
