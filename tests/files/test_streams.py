"""Zipped files and stdin read and write what plain files do."""

import gzip
import io
import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest

from mdrr.errors import SchemaError, TallyError
from mdrr.files import (
    read_people,
    read_reports,
    stated_fingerprint,
    tables,
    write_reports,
    write_tables,
)
from mdrr.files.streams import Rejoined, opened
from mdrr.frames import encode
from mdrr.protocols import independent
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from tests.cases import domain_of

DOMAIN = domain_of(2, 3)
CSV = "b,other,a\n" + "".join(f"b{i % 3},{i},a{i % 2}\n" for i in range(500))


class Dripping(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._data.readinto(memoryview(buffer)[:7])


def stdin_of(monkeypatch, text):
    piped = io.BufferedReader(Dripping(text.encode()), buffer_size=16)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=piped))


@pytest.mark.parametrize("first", [1, 20, 1 << 20])
def test_stdin_is_read_as_csv_however_it_drips(monkeypatch, first):
    monkeypatch.setattr(tables, "_FIRST", max(first, len("b,other,a\n")))
    stdin_of(monkeypatch, CSV)
    shares = []
    chunks = [encode(t, DOMAIN) for t in read_people("-", DOMAIN, shares.append)]
    assert [int(code) for chunk in chunks for code in chunk[0]] == [i % 2 for i in range(500)]
    assert [int(code) for chunk in chunks for code in chunk[1]] == [i % 3 for i in range(500)]
    assert set(shares) == {0.0}


@pytest.mark.parametrize(
    ("text", "complaint"), [("", "is empty"), ("a,c\n", "no column 'b'"), ("a,b\n", "no rows")]
)
def test_stdin_without_people_is_refused(monkeypatch, text, complaint):
    stdin_of(monkeypatch, text)
    with pytest.raises(SchemaError, match=complaint):
        list(read_people("-", DOMAIN))


def test_reports_on_stdin_state_no_design(monkeypatch, tmp_path):
    design = independent(DOMAIN, p=0.5)
    codes = [pa.array([0, 1]).to_numpy(), pa.array([2, 1]).to_numpy()]
    made = randomize_codes(codes, design, SeededSource(1))
    monkeypatch.chdir(tmp_path)
    write_reports("r.csv", [made], design)
    (tmp_path / "-.mdrr.json").write_text("{}")
    stdin_of(monkeypatch, (tmp_path / "r.csv").read_text(encoding="utf-8"))
    assert stated_fingerprint("-") is None
    (back,) = read_reports("-", design)
    assert [c.tolist() for c in back.batches[0].codes] == [
        c.tolist() for c in made.batches[0].codes
    ]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_zipped_table_holds_the_plain_one_and_tells_no_time(tmp_path, ending):
    table = pa.table({"a": ["x", "ü"], "b": [1, 2]})
    for name in (f"t.{ending}", f"t.{ending}.gz", f"again.{ending}.GZ"):
        assert write_tables(tmp_path / name, [table, table]) == 4
    zipped = (tmp_path / f"t.{ending}.gz").read_bytes()
    assert gzip.decompress(zipped) == (tmp_path / f"t.{ending}").read_bytes()
    assert zipped == (tmp_path / f"again.{ending}.GZ").read_bytes()


@pytest.mark.parametrize("damaged", [b"{}", None])
def test_zipped_lines_that_are_not_whole_are_named(tmp_path, damaged):
    design = independent(DOMAIN, p=0.5)
    codes = [pa.array([0, 1] * 500).to_numpy(), pa.array([2, 1] * 500).to_numpy()]
    path = tmp_path / "r.jsonl.gz"
    write_reports(path, [randomize_codes(codes, design, SeededSource(1))], design)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damaged is None else damaged)
    with pytest.raises((SchemaError, TallyError), match="is not a gzip file, or is not whole"):
        list(read_reports(path, design))


def test_the_share_read_of_a_zipped_file_grows_to_the_whole(tmp_path):
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    with opened(path) as (stream, share):
        assert share() == 0
        assert stream.read() == CSV.encode()
        assert share() == 1


def test_a_stream_rejoined_with_its_beginning_is_whole():
    for sizes in ([3, 4, 100], [100], [-1], [1] * 12):
        again = Rejoined(b"abcd", io.BytesIO(b"efghij"))
        assert again.readable()
        parts = [again.read(size) for size in sizes]
        assert b"".join(parts) == b"abcdefghij"
        assert len(parts[0]) == min(sizes[0] if sizes[0] > 0 else 10, 10)
        assert again.read(5) == b""
