"""`mdrr dependence` and `mdrr cluster`: the library's answers from reports and from true data."""

import json
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from mdrr.clustering import cluster
from mdrr.dependence import Dependences, dependences, from_codes
from mdrr.design import Design
from mdrr.files import read_people, tally_files
from mdrr.frames import encode
from mdrr.protocols import clustered
from mdrr.securesum.question import Question
from mdrr.securesum.ways import assess
from mdrr.source import SeededSource
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


def test_every_pair_says_how_sure_it_is(library):
    fields = answer("dependence tally.json -d design.json --level 0.9")
    wanted = dependences(*library, level=0.9)
    assert fields["epsilon"] == library[1].epsilon
    assert fields["level"] == 0.9
    for pair in fields["pairs"]:
        names = pair["first"], pair["second"]
        assert (pair["low"], pair["high"]) == pytest.approx(wanted.interval(*names))
        assert pair["clear"] == wanted.is_clear(*names) <= (pair["low"] > 0)
    assert not all(pair["clear"] for pair in fields["pairs"])
    printed = done("dependence tally.json -d design.json --level 0.9")
    unclear = sum(not pair["clear"] for pair in fields["pairs"])
    assert "90 % interval" in printed
    assert f"cannot be told from 0 ({unclear} of {len(fields['pairs'])} pairs)" in printed
    assert sum("│ – " in line for line in printed.splitlines()) == unclear
    exact = run("dependence people.csv -s survey.toml --true-data").stdout
    assert "interval" not in exact
    assert "–:" not in exact


def test_covariances_of_ordered_attributes(library):
    fields = answer("dependence tally.json -d design.json --measure covariance -a age -a visits")
    wanted = dependences(*library, measure="covariance", attributes=["age", "visits"])
    assert fields["names"] == ["age", "visits"]
    assert np.allclose(fields["values"], wanted.values)
    assert fields["pairs"][0]["measure"] == "covariance"
    advice = refusal("dependence tally.json -d design.json --measure covariance")
    assert "is not ordered, so it has no |cov|" in advice


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
        assert fields["clusters"] == [list(names) for names in wanted]
        assert (fields["max_cells"], fields["min_dependence"]) == (cells, least)


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


def test_the_second_survey_says_what_both_cost(library):
    """Whoever answered the first and answers the second spends the sum."""
    _, design = library
    done("dependence tally.json -d design.json -o d.json")
    options = "--max-cells 9 --min-dependence 0 --epsilon 2"
    for source in ("tally.json -d design.json", "d.json -s survey.toml"):
        fields = answer(f"cluster {source} {options}")
        assert fields["epsilon_before"] == design.epsilon
        assert fields["epsilon_of_both"] == pytest.approx(design.epsilon + fields["epsilon"])
        printed = " ".join(done(f"cluster {source} {options}").split())
        both = design.epsilon + fields["epsilon"]
        assert f"Learning the dependences cost ε = {design.epsilon:.2f} per person" in printed
        assert f"as well spends ε = {both:.2f} in all. Ask other people" in printed
    exact = done("cluster people.csv -s survey.toml --true-data --max-cells 9 --min-dependence 0")
    assert "without differential privacy" in exact


def test_several_thresholds_at_once(library):
    fields = answer(
        "cluster tally.json -d design.json --max-cells 6 --max-cells 100 "
        "--min-dependence 0 --min-dependence 0.3"
    )
    tally, design = library
    found = dependences(tally, design)
    assert [(c["max_cells"], c["min_dependence"]) for c in fields["choices"]] == [
        (6, 0.0), (6, 0.3), (100, 0.0), (100, 0.3)
    ]  # fmt: skip
    for choice in fields["choices"]:
        thresholds = {key: choice[key] for key in ("max_cells", "min_dependence")}
        wanted = cluster(found, design.domain, **thresholds)
        assert choice["clusters"] == [list(names) for names in wanted]
        inside = [set(pair) for names in wanted for pair in combinations(names, 2)]
        assert [set(pair) for pair in choice["unclear"]] == [
            pair for pair in inside if not found.is_clear(*pair)
        ]
    printed = done(
        "cluster tally.json -d design.json --max-cells 6 --max-cells 100 --min-dependence 0"
    )
    assert "at most 6 cells" in printed
    assert "at most 100 cells" in printed


@pytest.mark.parametrize("randomized", [False, True])
def test_what_a_secure_sum_opened_is_clustered(folder, domain, randomized):
    """The JSON of a party or an aggregator, and that of the demonstration."""
    (people,) = read_people("people.csv", domain)
    codes = encode(people, domain)
    question = Question.randomized(domain, p=0.8) if randomized else Question(domain)
    totals = question.sums(codes, SeededSource(1))
    opened = {"n": len(codes[0]), "question": question.to_dict(), "totals": totals.tolist()}
    Path("opened.json").write_text(json.dumps(opened | {"note": "all there"}))
    known = assess(question, totals, len(codes[0]))
    shown = {"n": known.people, **known.dependences.to_dict(), "privacy": known.privacy.to_dict()}
    Path("shown.json").write_text(json.dumps(shown))
    for cells, least in ((6, 0.0), (100, 0.2)):
        wanted = known.cluster(max_cells=cells, min_dependence=least)
        thresholds = f"--max-cells {cells} --min-dependence {least} --epsilon 1"
        for source in ("opened.json", "opened.json -s survey.toml", "shown.json -s survey.toml"):
            fields = answer(f"cluster {source} {thresholds}")
            assert fields["clusters"] == [list(names) for names in wanted]
            spent = known.privacy.epsilon if randomized else None
            assert fields["epsilon_before"] == (spent and pytest.approx(spent))
            assert (fields["epsilon_of_both"] is None) == (not randomized)


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
        (
            "cluster tally.json -d design.json --max-cells 9 --max-cells 8 --min-dependence 0 -e 1",
            "give each once",
        ),
        ("cluster op.json --max-cells 9 --min-dependence 0", "op.json: what a secure sum opened"),
        ("cluster eps.json -s survey.toml --max-cells 9 --min-dependence 0", "'epsilon' is 'x'"),
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
    Path("op.json").write_text('{"totals": [1], "n": 1}')
    Path("eps.json").write_text('{"names": ["a", "b"], "values": [[1, 0], [0, 1]], "epsilon": "x"}')
    found = Dependences(("a", "b"), np.eye(2))
    Path("ab.json").write_text(json.dumps({"names": ["a", "b"], "values": found.values.tolist()}))
    assert complaint in refusal(command)
