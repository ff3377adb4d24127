"""Files of tallies: what is written comes back, and what is no tally is refused."""

import numpy as np
import pyarrow as pa
import pytest

from mdrr.errors import MdrrError, TallyError
from mdrr.files import read_tally, write_tally
from mdrr.protocols import independent
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes
from tests.cases import designs, domain_of

D = independent(domain_of(2, 3, 4), p=0.5)


def tallied(design, n=300, **options):
    rng = np.random.default_rng(0)
    codes = [rng.integers(size, size=n) for size in design.domain.shape]
    return tally_codes(randomize_codes(codes, design, SeededSource(0)), design, **options)


@pytest.mark.parametrize("ending", ["json", "arrow"])
@pytest.mark.parametrize("options", [{}, {"keep": "sums"}, {"keep": "sums", "sample": 0}])
@pytest.mark.parametrize("name", designs())
def test_tallies_come_back(tmp_path, name, options, ending):
    design = designs()[name]
    tally = tallied(design, **options)
    write_tally(tmp_path / f"t.{ending}", tally)
    again = read_tally(tmp_path / f"t.{ending}", design)
    assert again == tally
    assert again + tally == tally + tally
    assert [c.dtype for g in again.groups for c in g.codes] == [
        c.dtype for g in tally.groups for c in g.codes
    ]


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_anybody(tmp_path, n):
    write_tally(tmp_path / "t.arrow", tallied(D, n))
    assert read_tally(tmp_path / "t.arrow", D).n == n


def test_the_arrow_file_is_small(tmp_path):
    tally = tallied(independent(domain_of(*[4] * 12), p=0.5), 20_000)
    for ending in ("json", "arrow"):
        write_tally(tmp_path / f"t.{ending}", tally)
    sizes = [(tmp_path / f"t.{ending}").stat().st_size for ending in ("json", "arrow")]
    assert sizes[1] < sizes[0] / 4


def test_an_estimate_of_sums_is_saved_with_them(tmp_path):
    from mdrr.estimation import Estimate, estimate

    found = estimate(tallied(D, keep="sums"), D, "pairwise")
    found.save(tmp_path / "e.npz")
    again = Estimate.load(tmp_path / "e.npz")
    assert again.evidence.tally == found.evidence.tally
    assert again.count({"a": ["a0"]}) == found.count({"a": ["a0"]})


def test_another_design_is_refused(tmp_path):
    write_tally(tmp_path / "t.arrow", tallied(D))
    with pytest.raises(TallyError, match="Use the design they were made under"):
        read_tally(tmp_path / "t.arrow", independent(domain_of(2, 3, 4), p=0.6))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"t\.arrow"):
        read_tally(tmp_path / "t.arrow", D)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t"])
def test_a_tally_is_named_as_one(tmp_path, name):
    with pytest.raises(MdrrError, match=r"a tally is a \.json or an \.arrow file"):
        write_tally(tmp_path / name, tallied(D))
    with pytest.raises(MdrrError, match=r"a tally is a \.json or an \.arrow file"):
        read_tally(tmp_path / name, D)


def write(path, table):
    with pa.ipc.new_file(str(path), table.schema) as out:
        out.write_table(table)


@pytest.mark.parametrize("keep", ["reports", "sums"])
def test_bytes_that_are_no_tally_are_refused(tmp_path, keep):
    path = tmp_path / "t.arrow"
    write_tally(path, tallied(D, keep=keep))
    data = path.read_bytes()
    for broken in (b"", b"no tally", data[:-20], data[: len(data) // 2]):
        path.write_bytes(broken)
        with pytest.raises(TallyError):
            read_tally(path, D)
    write(path, pa.table({"a": [1, 2]}))
    with pytest.raises(TallyError, match="not a tally"):
        read_tally(path, D)


@pytest.mark.parametrize("keep", ["reports", "sums"])
@pytest.mark.parametrize("column", ["codes", "counts", "sums", "numbers"])
def test_other_values_are_refused(tmp_path, keep, column):
    path = tmp_path / "t.arrow"
    write_tally(path, tallied(D, keep=keep))
    with pa.ipc.open_file(str(path)) as file:
        table = file.read_all()
    at = table.schema.get_field_index(column)
    kind = table.schema.field(at).type
    for value in ([], None, [99], [[99] * 3] * 3):
        try:
            column_of = pa.array([value], kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            continue
        if column_of.equals(table.column(at).combine_chunks()):
            continue
        if value is not None and table.column(at)[0].as_py() is None:
            continue  # a column that is not read
        write(path, table.set_column(at, table.schema.field(at), column_of))
        with pytest.raises(TallyError):
            read_tally(path, D)


def test_the_commands_read_and_write_both(tmp_path, monkeypatch):
    from mdrr.files import write_reports
    from tests.cli.run import answer, done, refusal

    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text(D.to_json(), encoding="utf-8")
    rng = np.random.default_rng(0)
    codes = [rng.integers(size, size=300) for size in D.domain.shape]
    write_reports("r.parquet", [randomize_codes(codes, D, SeededSource(0))], D)
    assert answer("tally r.parquet -d d.json -o t.arrow")["distinct"] == tallied(D).distinct
    assert read_tally("t.arrow", D) == tallied(D)
    assert answer("tally r.parquet -d d.json -o s.arrow --keep sums")["distinct"] is None
    assert read_tally("s.arrow", D) == tallied(D, keep="sums")
    done("tally t.arrow s.arrow --different-people -d d.json -o both.json")
    assert read_tally("both.json", D).n == 600
    assert answer("estimate s.arrow -d d.json --method pairwise --table a")
    assert "a tally is JSON, or Arrow" in refusal("tally r.parquet -d d.json -o t.parquet")
