import json
import os

import pyarrow as pa
import pytest

from mdrr.errors import SchemaError, TallyError
from mdrr.files import (
    randomize_file,
    read_reports,
    reports,
    stated_fingerprint,
    tally_files,
    write_reports,
    write_tables,
)
from mdrr.frames import randomize, tally
from mdrr.protocols import independent
from mdrr.randomizer import randomize_codes
from mdrr.report_frames import report_codes, report_table
from mdrr.source import SeededSource
from tests.cases import MIXED, designs, domain_of

FORMATS = ("r.csv", "r.tsv", "r.parquet", "r.jsonl", "r.csv.gz", "r.tsv.gz", "r.jsonl.gz")
ONE = independent(MIXED, p=0.5)


def made(design, n=60, seed=1):
    """Reports of n people who answer everything in turn."""
    codes = [pa.array([i % a.size for i in range(n)]).to_numpy() for a in design.domain.attributes]
    return randomize_codes(codes, design, SeededSource(seed))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("design", designs().values(), ids=designs().keys())
def test_reports_come_back_as_written_in_every_format(tmp_path, name, design):
    first, second = made(design), made(design, 3, seed=2)
    assert write_reports(tmp_path / name, [first, second], design) == 63
    assert stated_fingerprint(tmp_path / name) == design.fingerprint
    whole = pa.concat_tables([report_table(first, design), report_table(second, design)])
    back = [report_table(chunk, design) for chunk in read_reports(tmp_path / name, design)]
    assert pa.concat_tables(back).equals(whole)


def test_files_of_every_format_add_up_to_one_tally(tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "_LINES", 7)
    for design in (designs()["sampled"], ONE):
        chunks = [made(design, 50, seed) for seed in range(len(FORMATS))]
        for name, chunk in zip(FORMATS, chunks, strict=True):
            write_reports(tmp_path / name, [chunk], design)
        shares: list[float] = []
        total = tally_files([tmp_path / name for name in FORMATS], design, shares.append)
        tables = [report_table(chunk, design) for chunk in chunks]
        assert total == tally(pa.concat_tables(tables), design)
        assert total.n == 50 * len(FORMATS)
        assert shares == sorted(shares)


@pytest.mark.parametrize("name", FORMATS)
def test_reports_made_under_another_design_are_refused(tmp_path, name):
    write_reports(tmp_path / name, [made(ONE)], ONE)
    other = independent(MIXED, p=0.6)
    with pytest.raises(TallyError, match=f"{name}.*under the design {ONE.fingerprint[:12]}"):
        tally_files([tmp_path / name], other)


def test_a_csv_file_says_its_design_beside_it_and_may_lose_it(tmp_path):
    path, beside = tmp_path / "r.csv", tmp_path / "r.csv.mdrr.json"
    write_reports(path, [made(ONE)], ONE)
    assert json.loads(beside.read_text()) == {"design": ONE.fingerprint}
    beside.unlink()
    assert stated_fingerprint(path) is None
    assert tally_files([path], ONE).n == 60
    beside.write_text("{}")
    with pytest.raises(TallyError, match="does not state a design"):
        tally_files([path], ONE)


def test_an_old_sidecar_never_stands_beside_new_rows(tmp_path, monkeypatch):
    path = tmp_path / "r.csv"
    write_reports(path, [made(ONE)], ONE)

    def power_cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mdrr.files.tables.write_text", power_cut)
    other = independent(MIXED, p=0.6)
    with pytest.raises(KeyboardInterrupt):
        write_reports(path, [made(other, 5)], other)
    assert stated_fingerprint(path) is None
    assert tally_files([path], other).n == 5


@pytest.mark.parametrize("name", FORMATS)
def test_reports_that_fail_half_way_leave_the_old_file(tmp_path, name):
    write_reports(tmp_path / name, [made(ONE)], ONE)
    before = {file: (tmp_path / file).read_bytes() for file in os.listdir(tmp_path)}

    def broken():
        yield made(ONE, 5)
        raise SchemaError("an unknown label")

    with pytest.raises(SchemaError):
        write_reports(tmp_path / name, broken(), ONE)
    assert {file: (tmp_path / file).read_bytes() for file in os.listdir(tmp_path)} == before


GOOD = {"design": ONE.fingerprint, "questionnaire": 0, "codes": [0, 0, 0, 0]}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("secret", "line 2: not a report"),
        ("[1]", "line 2: a report has a .design."),
        (
            {**GOOD, "design": "0" * 64},
            "line 2: these reports were made under the design 000000000000",
        ),
        ({"codes": [0, 0, 0, 0]}, "line 2: a report has a 'design', a 'questionnaire' and 'codes'"),
        ({**GOOD, "questionnaire": 1}, "line 2: the questionnaire is not in 0…0"),
        ({**GOOD, "questionnaire": True}, "line 2: the 'questionnaire' of a report is a whole"),
        ({**GOOD, "codes": [0, 0, 0]}, "line 2: .* needs 4 codes"),
        ({**GOOD, "codes": "0000"}, "line 2: the 'codes' of a report are a list"),
        ({**GOOD, "codes": [0, 2, 0, 0]}, "line 2: the code of 'smokes' is not in 0…1"),
        ({**GOOD, "codes": [0, -1, 0, 0]}, "line 2: the 'codes' of a report are whole"),
        ({**GOOD, "codes": [0, 1.0, 0, 0]}, "line 2: the 'codes' of a report are whole"),
        ({**GOOD, "codes": [0, None, 0, 0]}, "line 2: the 'codes' of a report are whole"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, line, complaint):
    path = tmp_path / "r.jsonl"
    text = line if isinstance(line, str) else json.dumps(line)
    path.write_text(f"{json.dumps(GOOD)}\n{text}\n", encoding="utf-8")
    with pytest.raises(TallyError, match=complaint) as error:
        tally_files([path], ONE)
    assert "secret" not in str(error.value)


def test_blank_lines_are_nobody_and_no_lines_are_an_error(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(f"\n{json.dumps(GOOD)}\n\n")
    assert tally_files([path], ONE).n == 1
    path.write_text("\n")
    with pytest.raises(TallyError, match="holds no reports"):
        tally_files([path], ONE)


def test_csv_reports_that_lost_their_questionnaire_are_refused(tmp_path):
    design = designs()["sampled"]
    write_reports(tmp_path / "r.csv", [made(design)], design)
    text = (tmp_path / "r.csv").read_text()
    (tmp_path / "r.csv").write_text(text.replace("\n0,", "\nzero,"))
    with pytest.raises(TallyError, match="'questionnaire' must hold whole numbers"):
        tally_files([tmp_path / "r.csv"], design)
    (tmp_path / "r.csv").write_text(text.replace('"questionnaire"', '"q"'))
    with pytest.raises(SchemaError, match="no column 'questionnaire'"):
        tally_files([tmp_path / "r.csv"], design)


def test_chunks_of_a_frame_are_the_reports_of_the_whole(tmp_path):
    whole = made(ONE)
    table = report_table(whole, ONE)
    parts = [report_codes(table.slice(at, 20), ONE) for at in (0, 20, 40)]
    write_reports(tmp_path / "whole.jsonl", [whole], ONE)
    write_reports(tmp_path / "parts.jsonl", parts, ONE)
    assert (tmp_path / "whole.jsonl").read_text() == (tmp_path / "parts.jsonl").read_text()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "csv.gz"])
def test_files_are_randomized_and_tallied(tmp_path, ending):
    people = pa.table({a.name: list(a.categories) * 30 for a in domain_of(3, 3).attributes})
    write_tables(tmp_path / "people.csv", [people])
    design, shares = independent(domain_of(3, 3), p=0.6), []
    made = tmp_path / f"reports.{ending}"
    n = randomize_file(
        tmp_path / "people.csv", made, design, source=SeededSource(1), on_progress=shares.append
    )
    assert n == 90
    assert shares[-1] == 1
    wanted = tally(randomize(people, design, source=SeededSource(1)), design)
    assert tally_files(made, design) == tally_files([made], design) == wanted
    with pytest.raises(TallyError, match="holds reports, which are randomized already"):
        randomize_file(made, tmp_path / "again.csv", design)


@pytest.mark.parametrize("work", [randomize, tally])
def test_a_path_is_told_from_a_frame(work):
    with pytest.raises(SchemaError, match=r"a path is not a frame. mdrr\.randomize_file"):
        work("people.csv", independent(domain_of(3, 3), p=0.6))
