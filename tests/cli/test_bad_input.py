"""Every kind of bad input ends in one clear line, and leaves what stood as it stood."""

import gzip
import json

import pytest

from tests.cli.run import done, refusal

DESIGN = "design survey.toml -o design.json"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("", "give p or epsilon, exactly one"),
        ("--p 0.5 --epsilon 1", "give p or epsilon, exactly one"),
        ("--p 0", "p=0.0"),
        ("--p 1", "p=1.0"),
        ("--p -0.1", "p=-0.1"),
        ("--p nan", "p=nan"),
        ("--epsilon 0", "ε=0"),
        ("--epsilon -1", "ε=-1"),
        ("--epsilon nan", "ε=nan"),
        ("--epsilon inf", "ε=inf"),
        ("--epsilon 2000", "ε="),
        ("--protocol joint --epsilon 200", "ε="),
        ("--protocol jiont --p 0.5", "'jiont' is not one of"),
        ("--protocol sampled --epsilon 1", "'sampled' needs size"),
        ("--size 2 --p 0.5", "'sampled' needs epsilon, and takes no p"),
        ("--size 0 --epsilon 1", "between 1 and 4 attributes"),
        ("--size 5 --epsilon 1", "between 1 and 4 attributes"),
        ("--protocol joint --size 2 --epsilon 1", "size goes with protocol 'sampled'"),
        ("--p 0.5 --clusters smokes+age,smokes+age,visits,insured", "name 'smokes', 'age' twice"),
        ("--p 0.5 --clusters smokes+age,age+visits,insured", "name 'age' twice"),
        ("--p 0.5 --clusters smokes+age,visits", "no cluster holds 'insured'"),
        ("--p 0.5 --clusters smokes+aeg,visits,insured", "no attribute 'aeg'"),
        ("--p 0.5 --protocol clusters", "'clusters' needs clusters"),
        (
            "--p 0.5 --ordered bandid",
            "'bandid' is not one of 'constant', 'banded'. Did you mean 'banded'?",
        ),
        ("--size 2 --epsilon 1 --report set", "'set' is not one of 'cell', 'subset'"),
        ("--p 0.5 --report subset", "report goes with protocol 'sampled'"),
        ("--protocol joint --p 0.5 --ordered banded", "ordered goes with protocol 'independent'"),
    ],
)
def test_designs_that_cannot_be_made(folder, options, complaint):
    before = (folder / "design.json").read_bytes()
    assert complaint in refusal(f"{DESIGN} {options}")
    assert (folder / "design.json").read_bytes() == before


@pytest.mark.parametrize(
    ("survey", "complaint"),
    [
        ("title = 'x'", "no [[attributes]]"),
        ("[[attributes]]\nname = 'a'\ncategories = ['x']", "'a' has 1 categories"),
        ("[[attributes]]\nname = 'a'\ncategories = ['x', 'x']", "'x' twice"),
        ("[[attributes]]\nname = 'a'\nedges = [0, nan, 2]", "not a finite number"),
        ("[[attributes]]\nname = 'a'\ncategorys = ['x', 'y']", "Did you mean 'categories'?"),
        (
            "[[attributes]]\nname = 'a'\ncategories = ['x', 'y']\n" * 2,
            "the attribute 'a' is declared twice",
        ),
    ],
)
def test_surveys_that_cannot_be_asked(folder, survey, complaint):
    (folder / "bad.toml").write_text(survey)
    line = refusal("design bad.toml --p 0.5")
    assert line.startswith("bad.toml: ")
    assert complaint in line


def test_one_attribute_is_enough(folder):
    (folder / "one.toml").write_text("[[attributes]]\nname = 'smokes'\ncategories = ['no', 'yes']")
    done("design one.toml --p 0.5 -o one.json")
    done("randomize people.csv -d one.json -o one.csv")
    done("tally one.csv -d one.json -o one-tally.json")
    assert "of 600 people" in done("query one-tally.json -d one.json \"smokes == 'no'\"")
    line = refusal("dependence one-tally.json -d one.json")
    assert "dependence needs at least two attributes" in line


HEADER = "smokes,age,visits,insured"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{HEADER}\nsometimes,3,0,true\n", "'smokes' has no category 'sometimes'"),
        (f"{HEADER}\nno,3,7,true\n", "'visits' has no category '7'"),
        (f"{HEADER}\nno,3,0,maybe\n", "'insured' has no category 'maybe'"),
        (f"{HEADER}\nno,130,0,true\n", "1 values outside its bins [0, 120]"),
        (f"{HEADER}\n,3,0,true\n", "'smokes' has 1 missing values. Declare a category"),
        (f"{HEADER}\nno,NaN,0,true\n", "'age' has 1 missing values. Declare a category"),
        (f"{HEADER}\nno,3,0,true\nno,3,7,true\n", "'bad.csv': row 3: 'visits' has no category"),
        (f'{HEADER}\nno,"3,5",0,true\n', "'bad.csv': row 2: 'age' has a number with a decimal"),
        (f"{HEADER}\nno,4,0,true\n".replace(",", ";"), "the columns are separated by ';'"),
        (f"{HEADER}\nno,4,0,true\n".replace(",", "\t"), "with commas, or name it .tsv"),
        ("smoker,age,visits,insured\nno,3,0,true\n", "has no column 'smokes'. It has 'smoker'"),
        (f"{HEADER},age\nno,3,0,true,3\n", "two columns named 'age'"),
        (f"{HEADER}\n", "has no rows"),
        ("", "is empty"),
        (f"{HEADER}\nno,3,0\n", "row 2 has 3 cells instead of 4"),
    ],
)
def test_people_that_cannot_be_randomized(folder, text, complaint):
    (folder / "bad.csv").write_text(text)
    before = (folder / "reports.parquet").read_bytes()
    assert complaint in refusal("randomize bad.csv -d design.json -o reports.parquet")
    assert (folder / "reports.parquet").read_bytes() == before
    assert not list(folder.glob(".*.part"))


def test_a_zipped_file_without_the_ending_is_called_zipped(folder):
    (folder / "p.csv").write_bytes(gzip.compress((folder / "people.csv").read_bytes()))
    said = refusal("randomize p.csv -d design.json -o r.csv")
    assert said == "'p.csv' is a gzip file. Name it 'p.csv.gz'"
    (folder / "p.csv").rename("p.csv.gz")
    assert "Wrote 600 reports" in done("randomize p.csv.gz -d design.json -o r.csv")
    (folder / "r.jsonl").write_bytes(gzip.compress(b"{}"))
    assert "'r.jsonl' is a gzip file" in refusal("tally r.jsonl -d design.json -o t.json")


def test_a_place_that_cannot_be_written_is_named_as_given(folder):
    long = "x" * 250 + ".json"  # too long once it stands beside itself
    said = refusal(f"tally reports.parquet -d design.json -o {long}")
    assert long in said
    assert ".part" not in said


def test_reports_of_another_design(folder):
    done("design survey.toml --p 0.6 -o other.json")
    done("randomize people.csv -d design.json -o reports.csv")
    done("randomize people.csv -d design.json -o reports.jsonl")
    for file in ("reports.parquet", "reports.csv", "reports.jsonl", "tally.json"):
        line = refusal(f"tally {file} -d other.json -o mixed.json")
        assert file in line
        assert "Use the design" in line
    assert not (folder / "mixed.json").exists()


def test_codes_out_of_range(folder, design):
    report = {"design": design["fingerprint"], "questionnaire": 0, "codes": [0, 3, 0, 0]}
    (folder / "r.jsonl").write_text(json.dumps(report))
    line = refusal("tally r.jsonl -d design.json -o t.json")
    assert "line 1: the code of 'age' is not in 0…2" in line
    tally = json.loads((folder / "tally.json").read_text())
    tally["questionnaires"][0]["codes"][1][0] = 3
    (folder / "t.json").write_text(json.dumps(tally))
    assert "'age' has codes outside" in refusal("query t.json -d design.json \"smokes == 'no'\"")


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        ({"kind": "dense", "weights": [[32768, 32768], [40000, 20000]]}, "row"),
        ({"kind": "dense", "weights": [[32768, 32768], [32768, 32768]]}, "singular"),
        ({"kind": "dense", "weights": [[65536.5, 0], [0, 65536]]}, "integer"),
        ({"kind": "constant", "cells": 2, "diagonal": 32768, "off": 32768}, "singular"),
        ({"kind": "constant", "cells": 3, "diagonal": 32768, "off": 16384}, "3 cells"),
        ({"kind": "magic"}, "'kind'"),
        ({}, "'kind'"),
    ],
)
def test_designs_with_a_matrix_that_is_none(folder, design, matrix, complaint):
    del design["fingerprint"]
    design["questionnaires"][0]["clusters"][0]["matrix"] = matrix
    (folder / "bad.json").write_text(json.dumps(design))
    line = refusal("privacy bad.json")
    assert line.startswith("bad.json: ")
    assert complaint in line


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda d: d | {"mdrr": 99}, "format 99"),
        (lambda d: d | {"fingerprint": "0" * 64}, "was changed after it was published"),
        (lambda d: d | {"questionnaires": []}, "at least one questionnaire"),
        (lambda d: {k: v for k, v in d.items() if k != "attributes"}, "no 'attributes'"),
        (lambda d: [d], "a design is a JSON object"),
    ],
)
def test_design_files_that_are_none(folder, design, change, complaint):
    (folder / "bad.json").write_text(json.dumps(change(design)))
    for command in ("privacy bad.json", "tally reports.parquet -d bad.json -o t.json"):
        line = refusal(command)
        assert line.startswith("bad.json: ")
        assert complaint in line


def test_design_and_tally_files_that_are_not_json(folder):
    (folder / "bad.json").write_text("{")
    assert refusal("privacy bad.json").startswith("bad.json: the design is not JSON")
    assert refusal("query bad.json -d design.json 'insured'").startswith("bad.json: this is not a")


def test_outputs_that_cannot_be_written(folder):
    command = "randomize people.csv -d design.json -o"
    assert "there is no folder" in refusal(f"{command} nowhere/r.csv")
    assert "does not say its format" in refusal(f"{command} reports.xlsx")


def test_tables_and_methods_are_checked_before_anything_is_read(folder):
    """A file that is not there would be the first thing to fail otherwise."""
    for options, said in [
        ("--table age,age", "named twice"),
        ("--table height", "no attribute 'height'"),
        ("--table heigth,visit", "no attribute 'heigth'. Known: 'smokes'"),
        ("--table visit", "no attribute 'visit'. Did you mean 'visits'? Known: "),
        ("--method magic", "'magic' is not one of 'auto', 'product'"),
        ("--method prodct", "Did you mean 'product'?"),
        ("--method latent --option clases=2", "no option 'clases'. Did you mean 'classes'?"),
    ]:
        assert said in refusal(f"estimate nowhere.json --design design.json {options}")


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("privacy survey.toml", "survey.toml is a survey file, and a design is needed here. 'mdrr"),
        ("privacy tally.json", "tally.json is a tally, and a design is needed here"),
        ("theory dep.json --n 9", "dep.json is a file of dependences, and a design is needed here"),
        ("privacy reports.parquet", "is a table of people or reports, and a design is needed"),
        ("query tally.json -d survey.toml insured", "is a survey file, and a design is needed"),
        ("query dep.json -d design.json insured", "dependences, and a tally is needed here"),
        ("tally survey.toml -d design.json -o t.json", "survey file, and a tally is needed here"),
        ("design design.json --p 0.5", "design.json is a design, and a survey file is needed"),
        ("design people.csv --p 0.5", "table of people or reports, and a survey file is needed"),
        ("plan tally.json --n 9 --epsilon 1", "tally.json is a tally, and a survey file is needed"),
        (
            "query tally.json -d tally.json insured",
            "tally.json is a tally, and --design needs a design",
        ),
        ("cluster dep.json --max-cells 9 --min-dependence 0.1", "--design to say what was asked"),
    ],
)
def test_a_file_of_another_kind_is_called_what_it_is(folder, command, complaint):
    (folder / "dep.json").write_text(json.dumps({"names": ["smokes"], "values": [[1.0]]}))
    assert complaint in refusal(command)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("query tally.json -d design.json", "tally.json is a file. The expression is missing"),
        ("query insured tally.json -d design.json", "does not stand last"),
        ("query -d design.json insured", "no reports are named before the expression 'insured'"),
        ("query tally.json -d design.json insurd", "Did you mean 'insured'?"),
        ("plan survey.toml --n 9 --epsilon 1 --workload pair", "Did you mean 'pairs'?"),
        ("plan survey.toml --n 9 --epsilon 1 --workload smoke+age", "Did you mean 'smokes'?"),
        ("plan survey.toml --n 9,5 --epsilon 1", "'--n' / '-n': give a whole number, as in 1000."),
        ("design survey.toml --p 0,7", "'--p': give a number, as in 0.5."),
        ("plan survey.toml --n 9 --epsilon 1 -o x.csv", "a design is JSON. Name it 'x.json'"),
        ("dependence tally.json -d design.json -o x.csv", "as JSON. Name it 'x.json'"),
        ("report tally.json -d design.json -o x.pdf", "the page is HTML. Name it 'x.html'"),
        ("randomize reports.parquet -d design.json -o x.csv", "which are randomized already"),
        ("securesum group --invite 30 --key k -o g -s tally.json", "declares no attributes"),
        ("estimate tally.json -d design.json -o x.csv", "x.csv holds one table, and 4 are asked"),
        ("adjust sampled.csv -d sampled.json -o w.csv", "synthesize (mdrr synth) for records"),
        ("synth tally.json -d design.json -o s.csv --how smaple", "Did you mean 'sample'?"),
        ("securesum demo --n 3 --mode papre", "Did you mean 'paper'?"),
        ("report tally.json -d design.json -o r.html --compare prodct", "you mean 'product'?"),
    ],
)
def test_what_is_mistyped_or_missing_is_named(folder, command, complaint):
    if "sampled" in command:
        done("design survey.toml --size 2 --epsilon 3 -o sampled.json")
        done("randomize people.csv -d sampled.json -o sampled.csv --seed 1")
    assert complaint in refusal(command)


@pytest.mark.parametrize(
    ("file", "command", "kind"),
    [
        ("design.json", "privacy z.json", "a design"),
        ("tally.json", "estimate z.json -d design.json", "a tally"),
        ("survey.toml", "design z.toml --p 0.5", "a survey file"),
    ],
)
def test_a_zipped_file_of_settings_is_to_be_unzipped(folder, file, command, kind):
    ending = file.rpartition(".")[2]
    (folder / f"z.{ending}").write_bytes(gzip.compress((folder / file).read_bytes()))
    said = refusal(command)
    assert said.startswith(f"z.{ending} is a gzip file, and {kind} is read unzipped. Unzip it")
    assert said.endswith(f"gunzip < z.{ending} > plain.{ending}")


@pytest.mark.parametrize("name", ["e.npz", "e.json", "e.csv"])
def test_a_missing_folder_is_noticed_before_the_fit(folder, name, monkeypatch):
    monkeypatch.setattr("mdrr.cli.methods.estimated", lambda *_: pytest.fail("it was fitted"))
    said = refusal(f"estimate tally.json -d design.json --table age -o nodir/{name}")
    assert said.startswith("there is no folder ")
    assert said.endswith("nodir'. Make it first")


def test_columns_of_results_do_not_replace_attributes(folder):
    names = ["low", "high", "probability", "weight"]
    (folder / "s.toml").write_text(
        "".join(f"[[attributes]]\nname = '{name}'\ncategories = ['x', 'y']\n" for name in names)
    )
    (folder / "r.csv").write_text("low,high,probability,weight\nx,y,x,y\ny,x,y,x\nx,x,x,x\n")
    done("design s.toml --p 0.5 -o s.json")
    for name in names[:3]:
        said = refusal(f"estimate r.csv -d s.json --method product --table {name} -o t.csv")
        assert f"the attribute '{name}' has the name of a column of results" in said
        assert not (folder / "t.csv").exists()
        done(f"estimate r.csv -d s.json --method product --table {name} -o {name}.json")
    said = refusal("adjust r.csv -d s.json -o w.csv")
    assert said == "the reports have a column 'weight' already; choose another name with --column"
    done("adjust r.csv -d s.json -o w.csv --column factor")
    assert (folder / "w.csv").read_text().startswith('"low","high","probability","weight","factor"')


def test_a_label_that_is_no_report_is_not_to_be_added_to_the_survey(folder):
    lines = 'smokes,age,visits,insured\n{},"[0, 18)",{},true\n'
    for smokes, visits, name in [("often", 1, "smokes"), ("no", 7, "visits")]:
        (folder / "bad.csv").write_text(lines.format(smokes, visits))
        said = refusal("tally bad.csv -d design.json -o t.json")
        assert said.startswith(f"'bad.csv': row 2: '{name}' has no category ")
        assert said.endswith("Use the design the reports were made under")


def test_a_copy_of_a_file_of_reports_counts_nobody_twice(folder):
    (folder / "copy.parquet").write_bytes((folder / "reports.parquet").read_bytes())
    command = "tally reports.parquet copy.parquet -d design.json -o both.json"
    said = refusal(command)
    assert said.startswith("reports.parquet and copy.parquet hold the same reports, so everybody")
    assert "1,200 reports" in done(f"{command} --different-people")


@pytest.mark.parametrize("out", [".", "..", "/"])
def test_a_folder_is_no_output(folder, out):
    """And advice that names a file in it."""
    said = refusal("design", "survey.toml", "--p", 0.5, "-o", out)
    assert said.startswith(f"{out} is a folder: a design is JSON. Name a file, as in ")
    assert refusal("report", "tally.json", "-d", "design.json", "-o", out).startswith(out)
