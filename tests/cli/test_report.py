"""`mdrr report`, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import mdrr
from mdrr.cli import make_app
from mdrr.frozen import freeze

DOMAIN = mdrr.datasets.adult_domain(["sex", "income", "race"])
PEOPLE = mdrr.datasets.adult(columns=["sex", "income", "race"]).head(3000)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    design = mdrr.independent(DOMAIN, p=0.6)
    reports = mdrr.randomize(PEOPLE, design, source=mdrr.SeededSource(4))
    (tmp_path / "design.json").write_text(design.to_json(), encoding="utf-8")
    (tmp_path / "tally.json").write_text(mdrr.tally(reports, design).to_json(), encoding="utf-8")
    PEOPLE.write_csv(tmp_path / "people.csv")
    return tmp_path


def run(folder: Path, *more: str) -> tuple[int, str, str]:
    call = ["report", str(folder / "tally.json"), "-d", str(folder / "design.json")]
    result = CliRunner().invoke(make_app(), [*call, "-o", str(folder / "out.html"), *more])
    return result.exit_code, result.stdout, result.stderr


def test_writes_the_page_and_says_so(files: Path) -> None:
    code, out, _ = run(files, "-q", "sex == 'Female' and income == '>50K'", "--title", "Mine")
    assert code == 0
    assert "3,000 reports" in out
    page = (files / "out.html").read_text("utf-8")
    assert "<h1>Mine</h1>" in page
    assert "sex == &#39;Female&#39; and income == &#39;&gt;50K&#39;" in page
    assert "imulation" not in page


def test_the_page_compares_designs_with_the_dependences_it_found(files: Path) -> None:
    assert run(files, "--method", "product")[0] == 0
    page = (files / "out.html").read_text("utf-8")
    assert "What other designs would have done" in page
    assert 'independent <span class="across">in use</span>' in page
    assert "dependences shown above were used" in page
    assert "mdrr plan design.json --n 3000 --epsilon" in page


def test_options_reach_the_estimator(files: Path) -> None:
    assert run(files, "--method", "latent", "--option", "classes=3")[0] == 0
    assert "It has 3 classes." in (files / "out.html").read_text("utf-8")


def test_json_for_machines(files: Path) -> None:
    code, out, _ = run(files, "--json", "--method", "adjust", "--compare", "product")
    fields = json.loads(out)
    assert code == 0
    assert (fields["n"], fields["method"], fields["simulated"]) == (3000, "adjust", False)


SURVEY = """
title = { en = "Work & pay", de = "Arbeit & Lohn" }
languages = ["en", "de"]
[[attributes]]
name = "sex"
categories = ["Female", "Male"]
question = { en = "Are you a woman or a man?", de = "Sind Sie Frau oder Mann?" }
[attributes.labels]
Female = { en = "A woman", de = "Eine Frau" }
Male = { en = "A man", de = "Ein Mann" }
[[attributes]]
name = "income"
categories = [">50K", "<=50K"]
question = { en = "Your income", de = "Ihr Einkommen" }
[[attributes]]
name = "race"
categories = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]
"""


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_the_page_speaks_in_the_surveys_words(files: Path, kind: str) -> None:
    survey = mdrr.Survey.from_toml(SURVEY)
    assert survey.domain == DOMAIN
    path = files / f"survey.{kind}"
    design = mdrr.Design.from_json((files / "design.json").read_text("utf-8"))
    path.write_text(SURVEY if kind == "toml" else freeze(survey, design).to_json(), "utf-8")
    for language, more, title, question, label in (
        ("en", [], "Work &amp; pay", "Are you a woman or a man?", "A woman"),
        ("de", ["--language", "de"], "Arbeit &amp; Lohn", "Sind Sie Frau oder Mann?", "Eine Frau"),
    ):
        assert run(files, "--survey", str(path), *more)[0] == 0
        page = (files / "out.html").read_text("utf-8")
        marks = f' lang="{language}" dir="auto"'
        assert f"<h1{marks}>{title}</h1>" in page
        assert f"<h3{marks}>{question}</h3>" in page
        assert f'<th scope="row"{marks}>{label}</th>' in page
        assert f"{question} {'A man' if language == 'en' else 'Ein Mann'}" in page  # most frequent
        assert '<span class="small">income</span>' in page  # as the charts of pairs name it
    assert run(files, "--survey", str(path), "--title", "Mine")[0] == 0
    assert "<h1>Mine</h1>" in (files / "out.html").read_text("utf-8")


def test_words_that_do_not_fit_are_refused(files: Path) -> None:
    path = files / "survey.toml"
    path.write_text(SURVEY.replace('"Black"', '"Brown"'), "utf-8")
    code, _, err = run(files, "--survey", str(path))
    assert (code, "survey.toml: this survey does not ask what" in err) == (2, True)
    path.write_text(SURVEY, "utf-8")
    code, _, err = run(files, "--survey", str(path), "--language", "fr")
    assert (code, "survey.toml: the survey has no texts in 'fr'" in err) == (2, True)
    code, _, err = run(files, "--language", "de")
    assert (code, "--language goes with --survey FILE" in err) == (2, True)
    assert not (files / "out.html").exists()


def test_truth_makes_it_a_simulation(files: Path) -> None:
    code, _, _ = run(files, "--truth", str(files / "people.csv"))
    assert code == 0
    assert "This is a simulation." in (files / "out.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--method", "magic"], "'magic' is not one of"),
        (["--method", "latent", "--option", "colour=2"], "no option 'colour'"),
        (["--compare", "magic"], "no method 'magic'"),
        (["-q", "height == 1"], "height"),
        (["--truth", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    files: Path, more: list[str], words: str
) -> None:
    code, _, err = run(files, *more)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert not (files / "out.html").exists()


def test_another_designs_tally_is_refused(files: Path) -> None:
    other = mdrr.independent(DOMAIN, p=0.3)
    (files / "design.json").write_text(other.to_json(), encoding="utf-8")
    code, _, err = run(files)
    assert code == 2
    assert "made under the design" in err


def test_missing_answers_are_in_no_true_count_of_an_order(tmp_path: Path) -> None:
    """100 poor, 200 fair, 300 good and 400 who did not say: 500 are known to be fair or better."""
    health = mdrr.Attribute("health", ("poor", "fair", "good", "?"), kind="ordinal", missing="?")
    domain = mdrr.Domain((health, mdrr.Attribute("sex", ("F", "M"))))
    design = mdrr.independent(domain, p=0.6)
    said = ["poor"] * 100 + ["fair"] * 200 + ["good"] * 300 + [None] * 400
    people = pl.DataFrame({"health": said, "sex": ["F", "M"] * 500})
    reports = mdrr.randomize(people, design, source=mdrr.SeededSource(4))
    (tmp_path / "design.json").write_text(design.to_json(), encoding="utf-8")
    (tmp_path / "tally.json").write_text(mdrr.tally(reports, design).to_json(), encoding="utf-8")
    people.write_csv(tmp_path / "people.csv")
    truth = ["--truth", str(tmp_path / "people.csv"), "--method", "product"]
    assert run(tmp_path, *truth, "-q", "health >= 'fair'")[0] == 0
    page = (tmp_path / "out.html").read_text("utf-8")
    row = next(r for r in page.split("<tr>") if r.startswith('<th scope="row">health &gt;= '))
    assert '<td class="n true">500</td>' in row
