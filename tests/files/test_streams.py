"""Zipped files and stdin read and write what plain files do; a file is written whole or not."""

import gzip
import io
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest

from mdrr.errors import MdrrError, SchemaError, TallyError
from mdrr.files import (
    read_people,
    read_reports,
    stated_fingerprint,
    tables,
    whole,
    write_reports,
    write_tables,
    write_text,
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


class Interrupted(BaseException):
    """Not even an Exception, as KeyboardInterrupt is not."""


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    write_text(path, "é" * 10_000)
    assert path.read_text(encoding="utf-8") == "é" * 10_000
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, Interrupted, KeyboardInterrupt])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail_half_way() -> None:
        with whole(path) as beside:
            beside.write_text("half of the ne")
            assert path.read_text() == "old"
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_temporary_file_stands_in_the_same_folder_so_that_renaming_is_one_step(tmp_path):
    with whole(tmp_path / "a.txt") as beside:
        assert beside.parent == tmp_path
        beside.write_text("x")


def test_permissions_and_links_survive(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    write_text(path, "old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MdrrError, match=r"there is no folder .*nowhere'. Make it first"):
        write_text(tmp_path / "nowhere" / "a.txt", "x")


def test_what_is_not_a_file_is_not_replaced(tmp_path):
    with pytest.raises(MdrrError, match="is not a file that can be replaced"):
        write_text(tmp_path, "x")
    with pytest.raises(MdrrError, match="is not a file that can be replaced"):
        write_text(os.devnull, "x")


SLOW = """
import sys, time
from mdrr.files import whole
with whole(sys.argv[1]) as beside:
    beside.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_killed_program_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    run = subprocess.Popen([sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"writing\n"
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert path.read_text() == "old"
