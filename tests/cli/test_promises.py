"""`mdrr privacy` and `mdrr theory`: the library's numbers before anyone is asked."""

from pathlib import Path

import numpy as np
import pytest

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.planning import plan
from mdrr.privacy import account, in_words, shuffled
from mdrr.theory import compare, frequency_errors, influence, people_needed
from tests.cli.run import answer, done, refusal


@pytest.fixture(params=["--p 0.7", "--size 2 --epsilon 3"])
def made(request, folder):
    done(f"design survey.toml {request.param} -o d.json")
    return Design.from_json(Path("d.json").read_text(encoding="utf-8"))


def test_privacy_is_the_librarys_account(made):
    assert answer("privacy d.json") == {
        **account(made).to_dict(),
        "words": list(in_words(made)),
        "shuffled": None,
    }
    mixed = answer("privacy d.json --shuffled 1000 --delta 1e-6")["shuffled"]
    assert mixed == shuffled(made, 1000, 1e-6).to_dict()


def test_privacy_in_words(made):
    printed = " ".join(done("privacy d.json --shuffled 1000").split())
    for sentence in in_words(made):
        assert sentence in printed
    assert f"One person spends ε = {made.epsilon:.4f} in all" in printed
    assert "Mixed with 1,000 reports" in printed


def test_theory_is_the_librarys(made):
    fields = answer("theory d.json --n 1000 --level 0.9 --error 0.05")
    assert fields["comparison"] == compare(made.domain.shape, 1000, made.epsilon, 0.1).to_dict()
    rows = iter(fields["clusters"])
    for questionnaire in made.questionnaires:
        people = round(1000 / len(made.questionnaires))
        for cluster in questionnaire.clusters:
            row, matrix = next(rows), cluster.matrix
            even = np.full(matrix.cells, 1 / matrix.cells)
            wanted = frequency_errors(matrix, even, people, 0.1).to_dict()
            del wanted["alpha"]
            assert {key: row[key] for key in wanted} == wanted
            assert row["name"] == cluster.name
            assert row["forged"] == influence(matrix).swing
            needed = people_needed(even, matrix=matrix, absolute=0.05, alpha=0.1)
            assert row["people_needed"] == pytest.approx(needed * len(made.questionnaires), abs=1)
    assert next(rows, None) is None


def test_theory_is_printed(made):
    printed = done("theory d.json --n 1000")
    assert "Errors that are not exceeded with probability 95%" in printed
    assert "RR-Independent" in printed


def test_theory_of_an_infinite_epsilon_says_what_is_not_defined(folder, domain):
    rest = [Cluster((name,), constant_matrix(3, p=0.5)) for name in ("age", "visits")]
    two = constant_matrix(2, p=0.5)
    proves = Cluster(("smokes",), dense_matrix([[1, 0], [0.5, 0.5]]))
    clusters = (proves, *rest, Cluster(("insured",), two))
    made = Design(domain, (Questionnaire(clusters, 1),))
    Path("proof.json").write_text(made.to_json(), encoding="utf-8")
    fields = answer("theory proof.json --n 1000 --error 0.05")
    assert fields["epsilon"] is None
    assert fields["comparison"] is None
    even = np.full(2, 1 / 2)
    found = frequency_errors(proves.matrix, even, 1000, 0.05).to_dict()
    del found["alpha"]
    row = fields["clusters"][0]
    assert row["name"] == "smokes"
    assert {key: row[key] for key in found} == found
    printed = done("theory proof.json --n 1000")
    assert "ε is infinite" in printed
    assert "no RR-Independent or RR-Joint of the same ε to compare with" in printed


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("theory design.json --n 0", "n=0"),
        ("theory design.json --n 10 --level 2", "--level 2"),
        ("theory design.json --n 10 --error 0", "0"),
        ("theory design.json", "Missing option '--n'"),
        ("privacy design.json --shuffled 0", "0"),
        ("privacy design.json --shuffled 10 --delta 2", "2"),
    ],
)
def test_promises_that_cannot_be_made(folder, command, complaint):
    assert complaint in refusal(command)


def test_plan_is_the_librarys_and_writes_its_best_design(folder):
    fields = answer("plan survey.toml --n 1000 --epsilon 3 -o best.json")
    best = Design.from_json(Path("best.json").read_text(encoding="utf-8"))
    found = plan(best.domain, n=1000, epsilon=3.0)
    assert fields["best"] == found.best.name
    assert fields["fingerprint"] == best.fingerprint == found.design.fingerprint
    assert [c["error"] for c in fields["candidates"]] == [
        c.predicted.error for c in found.candidates
    ]
    printed = done("plan survey.toml --n 1000 --epsilon 3 --workload singles --chart c.svg")
    assert "Predicted for 1,000 people at ε = 3" in printed
    assert Path("c.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "nothing" in refusal("plan survey.toml --n 9 --epsilon 1 --workload nothing")


def test_plan_passes_what_single_attributes_are_worth(folder):
    fields = answer("plan survey.toml --n 1000 --epsilon 3 --worth 0.5 -o best.json")
    best = Design.from_json(Path("best.json").read_text(encoding="utf-8"))
    found = plan(best.domain, n=1000, epsilon=3.0, worth=0.5)
    assert fields["fingerprint"] == best.fingerprint == found.design.fingerprint
    assert "mostly a guess" in done("plan survey.toml --n 1 --epsilon 0.001")
    assert "guess" not in done("plan survey.toml --n 100000 --epsilon 3")
    said = refusal("plan survey.toml --n 1000 --epsilon 3 --worth 0")
    assert "worth=0.0 must be a positive number" in said
    one_kind = "plan survey.toml --n 1000 --epsilon 3 --worth 2 --workload pairs -o p.json"
    assert "the workload has one kind only" in refusal(one_kind)
    assert not Path("p.json").exists()


def test_plan_tells_the_errors_of_single_attributes_and_of_wider_tables(folder):
    fields = answer("plan survey.toml --n 1000 --epsilon 3")
    for each in fields["candidates"]:
        assert each["error"] == pytest.approx((each["alone"] + each["together"]) / 2)
    only = answer("plan survey.toml --n 1000 --epsilon 3 --workload pairs")
    assert all(each["alone"] is None for each in only["candidates"])
    assert all(each["together"] == pytest.approx(each["error"]) for each in only["candidates"])
    assert "nobody is asked some pair" in done("plan survey.toml --n 1000 --epsilon 3")


def test_plan_writes_a_page_and_never_over_what_it_reads(folder):
    done("plan survey.toml --n 1000 --epsilon 3 --page plan.html")
    page = Path("plan.html").read_text(encoding="utf-8")
    assert "With 1,000 people, each spending at most ε = 3" in page
    assert "A pilot of enough people tells how much they do" in page
    survey = Path("survey.toml").read_text(encoding="utf-8")
    over = "plan survey.toml --n 1000 --epsilon 3 --page survey.toml"
    assert "written over" in refusal(over)
    assert Path("survey.toml").read_text(encoding="utf-8") == survey
    both = "plan survey.toml --n 1000 --epsilon 3 -o both.json --page ./both.json"
    assert "written twice" in refusal(both)
    assert not Path("both.json").exists()
    wrong = "plan survey.toml --n 1000 --epsilon 3 --page plan.pdf"
    assert "the page is HTML. Name it" in refusal(wrong)
    assert not Path("plan.pdf").exists()
