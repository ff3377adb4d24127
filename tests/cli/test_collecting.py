"""`mdrr randomize`, `mdrr tally` and `mdrr respond`: what people send, and how it is counted."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mdrr.design import Design
from mdrr.files import read_people, tally_files
from mdrr.frames import randomize
from mdrr.source import SeededSource
from mdrr.tallies import Tally
from tests.chance import nothing_else
from tests.cli.run import answer, done, refusal, run


def load(path: str) -> Design:
    return Design.from_json(Path(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("options", ["--p 0.6", "--size 2 --epsilon 4"])
def test_reports_are_those_of_the_library(folder, domain, options):
    done(f"design survey.toml {options} -o d.json")
    fields = answer("randomize people.csv -d d.json -o r.parquet --seed 7")
    design = load("d.json")
    people = pa.concat_tables(t.unify_dictionaries() for t in read_people("people.csv", domain))
    wanted = randomize(people, design, source=SeededSource(7))
    found = pyarrow.parquet.read_table("r.parquet")
    # A file holds text where a frame of dictionaries gives dictionaries back.
    assert found.equals(wanted.cast(found.schema), check_metadata=True)
    assert found.schema.metadata == wanted.schema.metadata
    assert fields == {
        "n": 600,
        "fingerprint": design.fingerprint,
        "epsilon": design.epsilon,
        "public": [],
        "out": "r.parquet",
    }


def test_true_columns_that_were_not_asked_stay_behind(folder):
    done("randomize people.csv -d design.json -o r.csv")
    assert "secret" not in Path("r.csv").read_text()
    assert pyarrow.csv.read_csv("r.csv").column_names == ["smokes", "age", "visits", "insured"]


def test_without_a_seed_only_the_system_decides_and_a_seed_is_warned_of(folder):
    for name in ("a.csv", "b.csv"):
        with nothing_else():
            done(f"randomize people.csv -d design.json -o {name}")
    assert Path("a.csv").read_text() != Path("b.csv").read_text()
    result = run("randomize people.csv -d design.json -o a.csv --seed 1")
    assert "--seed is for simulation" in result.stderr


def test_only_the_system_decides_what_a_person_sends(folder, design):
    """The likeliest report has .85²·.8² = .46, so twenty are one with less than .46^19 = 4e-7."""
    sent = []
    for _ in range(20):
        with nothing_else():
            sent.append(done("respond -d design.json", stdin="1\n" * 4))
    assert len(set(sent)) > 1


def test_tallies_and_reports_of_every_format_merge(folder):
    for name in ("a.csv", "b.jsonl", "c.parquet"):
        done(f"randomize people.csv -d design.json -o {name}")
    everything = "tally.json a.csv b.jsonl c.parquet --different-people"
    fields = answer(f"tally {everything} -d design.json -o all.json")
    assert fields["n"] == 2400
    design = load("design.json")
    total = Tally.from_json(Path("all.json").read_text(), design)
    assert total == tally_files(["reports.parquet", "a.csv", "b.jsonl", "c.parquet"], design)
    assert fields["distinct"] == len(total.groups[0].counts)
    printed = done("tally tally.json a.csv -d design.json --different-people -o all.json")
    assert printed.startswith("Wrote all.json: 1,200 reports")


def test_reports_that_do_not_say_their_design_are_mentioned_once(folder):
    for name in ("a.csv", "b.csv"):
        done(f"randomize people.csv -d design.json -o {name}")
        Path(f"{name}.mdrr.json").unlink()
    result = run("tally a.csv b.csv reports.parquet -d design.json -o all.json")
    assert result.exit_code == 0
    assert result.stderr.count("does not say its design") == 1
    assert "a.csv and 1 more" in result.stderr
    assert run("tally reports.parquet -d design.json -o all.json").stderr == ""


def test_true_records_are_refused_or_doubted(folder):
    """Raw numbers cannot be a report; labels can, but not so unevenly as the truth has them."""
    for name in ("people.csv", "people.parquet"):
        if name.endswith("parquet"):
            pyarrow.parquet.write_table(pyarrow.csv.read_csv("people.csv"), name)
        said = refusal(f"tally {name} -d design.json -o t.json")
        assert name in said
        assert "'age' holds numbers, but reports hold bins, such as '[0, 18)'" in said
        assert "randomize them first" in said
    done("design survey.toml --epsilon 1 -o small.json")
    people = Path("people.csv").read_text().splitlines()
    bins = [line.split(",")[0] + ',"[0, 18)",0,true' for line in people[1:]]
    Path("p.csv").write_text("\n".join(["smokes,age,visits,insured", *bins, ""]))
    for command in (
        "tally p.csv -d small.json -o t.json",
        "query p.csv -d small.json --method product \"smokes == 'no'\"",
        "estimate p.csv -d small.json --method product --table smokes",
    ):
        result = run(command)
        assert result.exit_code == 0
        assert "Warning: insured: 0 of 600 reports say False, but at least about" in result.stderr
        assert "These look like true answers" in result.stderr
    assert "Warning" not in run("tally reports.parquet -d design.json -o t.json").stderr


def test_one_person_answers_and_sees_what_leaves(folder):
    done("design survey.toml --epsilon 80 -o sure.json")  # the truth is all but always sent
    result = run("respond -d sure.json -s survey.toml", stdin="2\n9\nx\n\n3\n1\n2\n")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report == {
        "design": load("sure.json").fingerprint,
        "questionnaire": 0,
        "codes": [1, 2, 0, 1],
    }
    assert "Do you smoke?" in result.stderr
    assert "2. Yes, daily" in result.stderr
    assert "This leaves" in result.stderr
    assert "visits: 0" in result.stderr
    Path("me.jsonl").write_text(result.stdout)
    assert answer("tally me.jsonl -d sure.json -o me.json")["n"] == 1


def test_a_person_is_asked_only_what_she_was_drawn_for(folder):
    done("design survey.toml --size 2 --epsilon 32 -o pairs.json")
    result = run("respond -d pairs.json -o me.jsonl", stdin="1\n1\n")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.count("1 to ") == 2
    assert json.loads(Path("me.jsonl").read_text())["codes"] == [0]


def test_answers_that_end_early_send_nothing(folder):
    result = run("respond -d design.json -o me.jsonl", stdin="1\n")
    assert result.exit_code == 2
    assert result.stderr.endswith("mdrr: the answers ended early; nothing was sent\n")
    assert not Path("me.jsonl").exists()


def test_a_design_or_survey_that_is_not_the_published_one_asks_nothing(folder, design):
    Path("changed.json").write_text(json.dumps(design | {"fingerprint": "0" * 64}))
    said = refusal("respond -d changed.json")
    assert said.startswith("changed.json: the design says its fingerprint is 000000000000…")
    assert said.endswith("it was changed after it was published")
    assert "survey.toml is a survey file, and a design is needed" in refusal(
        "respond -d survey.toml"
    )
    Path("other.toml").write_text(
        Path("survey.toml").read_text().replace('"yes"]', '"Yes"]').replace("yes =", "Yes =")
    )
    line = refusal("respond -d design.json -s other.toml")
    assert "not the survey of this design, see 'smokes'" in line


def test_nothing_is_written_over_what_is_read_and_nobody_counts_twice(folder):
    before = Path("people.csv").read_bytes()
    said = refusal("randomize people.csv -d design.json -o people.csv")
    assert "people.csv would be written over" in said
    assert Path("people.csv").read_bytes() == before
    assert "named twice" in refusal("tally tally.json ./tally.json -d design.json -o all.json")
    assert "would be written over" in refusal("tally tally.json -d design.json -o tally.json")


@pytest.mark.parametrize("command", ["tally", "estimate", "query", "dependence"])
def test_a_tally_and_its_reports_do_not_count_everybody_twice(folder, command):
    rest = {
        "tally": "-o all.json",
        "query": "\"smokes == 'no'\"",
    }.get(command, "")
    said = refusal(f"{command} tally.json reports.parquet -d design.json {rest}")
    assert "tally.json is a tally and reports.parquet holds reports" in said
    assert "mdrr tally --different-people" in said
    said = refusal(f"{command} tally.json smokes -d design.json {rest}")
    assert "there is no file 'smokes'" in said
    Path("copy.json").write_bytes(Path("tally.json").read_bytes())
    said = refusal(f"{command} tally.json copy.json -d design.json {rest}")
    assert "tally.json and copy.json hold the same tally" in said
    both = "tally tally.json copy.json reports.parquet --different-people"
    assert answer(f"{both} -d design.json -o all.json")["n"] == 1800


def test_a_tally_is_written_under_the_name_of_json(folder):
    said = refusal("tally reports.parquet -d design.json -o t.csv")
    assert said == "t.csv: a tally is JSON, or Arrow (.arrow). Name it 't.json'"
    assert not Path("t.csv").exists()


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("survey.toml", "a survey file"),
        ("tally.json", "a tally"),
        ("me.json", "a report"),
        ("reports.parquet", "a table of people or reports"),
    ],
)
def test_what_is_no_design_is_called_what_it_is(folder, given, kind):
    report = {"design": "0" * 64, "questionnaire": 0, "codes": [0]}
    Path("me.json").write_text(json.dumps(report))
    said = refusal(f"tally people.csv -d {given} -o t.json")
    assert f"{given} is {kind}, and a design is needed here. 'mdrr design SURVEY" in said
    assert f"{given} is {kind}, and a design is needed" in refusal(f"respond -d {given}")
    said = refusal("tally design.json -d design.json -o t.json")
    assert said == "design.json is a design, and is named in place of something else too"
    Path("copy.json").write_bytes(Path("design.json").read_bytes())
    said = refusal("tally copy.json -d design.json -o t.json")
    assert said.startswith("copy.json is a design, and a tally is needed here. 'mdrr tally")


@pytest.mark.parametrize("damaged", [b"workclass", None])
def test_a_gzip_file_that_is_none_or_not_whole_is_named(folder, damaged):
    whole = gzip.compress(Path("people.csv").read_bytes())
    Path("p.csv.gz").write_bytes(whole[: len(whole) // 2] if damaged is None else damaged)
    said = refusal("randomize p.csv.gz -d design.json -o r.csv")
    assert "'p.csv.gz' is not a gzip file, or is not whole" in said
    assert not Path("r.csv").exists()


@pytest.mark.parametrize(
    "command", ["privacy deep.json", "tally deep.json -d design.json -o t.json"]
)
def test_a_file_nested_without_end_is_refused(folder, command):
    Path("deep.json").write_text("[" * 200_000)
    assert "nested too deeply" in refusal(command)


def test_people_come_by_a_pipe_and_reports_leave_zipped(folder):
    people = Path("people.csv").read_text(encoding="utf-8")
    done("randomize - -d design.json -o piped.csv.gz --seed 1", stdin=people)
    done("randomize people.csv -d design.json -o plain.csv --seed 1")
    plain = Path("plain.csv").read_bytes()
    assert gzip.decompress(Path("piped.csv.gz").read_bytes()) == plain
    done("tally - -d design.json -o piped.json", stdin=plain.decode())
    done("tally piped.csv.gz -d design.json -o zipped.json")
    tallied = Path("tally.json").read_bytes()
    assert Path("piped.json").read_bytes() == Path("zipped.json").read_bytes() == tallied
    said = refusal("adjust - -d design.json -o w.csv", stdin=plain.decode())
    assert "read twice, and stdin only once" in said
    assert "named twice" in refusal("tally - - -d design.json -o t.json", stdin=plain.decode())
