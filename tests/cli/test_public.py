"""Public attributes from the survey file to the report: outside ε, and every command says so."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mdrr import (
    SeededSource,
    Survey,
    cluster,
    dependences,
    estimate,
    independent,
    randomize,
    report,
    tally,
)
from mdrr.design import Design
from tests.cli.run import answer, done, refusal

SURVEY = """
title = "Health"
[[attributes]]
name = "region"
categories = ["north", "south", "west"]
public = true
[[attributes]]
name = "smokes"
categories = ["no", "yes"]
[[attributes]]
name = "visits"
kind = "ordinal"
categories = [0, 1, 2]
[[attributes]]
name = "wave"
categories = [1, 2]
public = true
"""
OUTSIDE = "Outside ε: region, wave. Public answers are reported as they are"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SURVEY, encoding="utf-8")
    rng = np.random.default_rng(1)
    rows = ["region,smokes,visits,wave"]
    for _ in range(600):
        region = rng.choice(["north", "south", "west"], p=[0.5, 0.3, 0.2])
        smokes = rng.choice(["no", "yes"], p=[0.8, 0.2] if region == "north" else [0.4, 0.6])
        rows.append(f"{region},{smokes},{rng.integers(3)},{rng.integers(1, 3)}")
    Path("people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_every_command_that_shows_epsilon_says_what_is_outside_it(here):
    made = done("design s.toml --epsilon 4 -o d.json")
    assert "public" in made
    for text in (
        made,
        done("plan s.toml --n 600 --epsilon 4 -o p.json --page plan.html"),
        done("privacy d.json"),
        done("theory d.json --n 600"),
        done("randomize people.csv --design d.json -o r.csv --seed 1"),
        done("report r.csv --design d.json -o page.html --method product"),
    ):
        assert OUTSIDE in unwrapped(text)
    for page in ("plan.html", "page.html"):
        assert OUTSIDE in unwrapped(Path(page).read_text(encoding="utf-8"))
    words = unwrapped(done("privacy d.json --shuffled 100"))
    assert "Mixed with 100 reports that have the same public answers" in words
    assert "region: your answer is sent as it is" in words


def test_the_numbers_are_those_of_the_others(here):
    fields = answer("design s.toml --epsilon 4 -o d.json")
    design = Design.from_json(Path("d.json").read_text(encoding="utf-8"))
    assert fields["public"] == ["region", "wave"] == list(design.domain.public)
    assert fields["epsilon"] == design.randomized.epsilon <= 4
    assert answer("plan s.toml --n 600 --epsilon 4")["public"] == ["region", "wave"]
    spent = answer("privacy d.json")
    assert [each["name"] for each in spent["attributes"]] == ["smokes", "visits"]
    assert spent["public"] == ["region", "wave"]


def test_reports_hold_public_answers_as_they_are_and_estimates_keep_them(here):
    done("design s.toml --clusters smokes+visits --epsilon 4 -o d.json")
    done("randomize people.csv --design d.json -o r.csv --seed 1")
    true, sent = (pl.read_csv(name) for name in ("people.csv", "r.csv"))
    for name in ("region", "wave"):
        assert true[name].to_list() == sent[name].to_list()
    assert true["smokes"].to_list() != sent["smokes"].to_list()
    done("tally r.csv --design d.json -o t.json")
    found = answer("estimate t.json --design d.json --table region")
    shares = [row["probability"] for row in found["tables"][0]["cells"]]
    wanted = [(true["region"] == label).sum() / 600 for label in ("north", "south", "west")]
    assert shares == pytest.approx(wanted, abs=1e-9)
    learnt = answer("cluster r.csv --design d.json --max-cells 50 --min-dependence 0.05")
    assert sorted(name for names in learnt["clusters"] for name in names) == ["smokes", "visits"]


def test_clusters_name_only_the_others(here):
    text = refusal("design s.toml --clusters region+smokes,visits --epsilon 4")
    assert "'region' is public; leave it out of the clusters" in text


def test_clusters_found_without_public_attributes_can_be_shown_on_a_page(here):
    domain = Survey.load("s.toml").domain
    design = independent(domain, epsilon=4.0)
    sent = randomize(pl.read_csv("people.csv"), design, source=SeededSource(1))
    counted = tally(sent, design)
    learnt = dependences(counted, design)
    groups = cluster(learnt, domain, max_cells=10, min_dependence=0.05)
    found = estimate(counted, design, "product")
    report(found, design, path="page.html", dependences=learnt, clusters=groups)
    assert OUTSIDE in unwrapped(Path("page.html").read_text(encoding="utf-8"))
