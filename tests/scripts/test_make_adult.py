"""The package data is the published data: written back as text it has UCI's checksums."""

import hashlib

import polars as pl
import pytest

from mdrr.datasets import adult
from scripts.make_adult import PARTS, main


def as_published(part: str) -> bytes:
    """The package's records as UCI's text file."""
    first, end = {"train": ("", ""), "test": ("|1x3 Cross validator\n", ".")}[part]
    records = adult(part, columns="all").rows()
    lines = (", ".join(map(str, record)) + end + "\n" for record in records)
    return (first + "".join(lines) + "\n").encode()


@pytest.mark.parametrize("part", ["train", "test"])
def test_written_back_it_is_the_published_file(part):
    _, sha256, _ = PARTS[part]
    assert hashlib.sha256(as_published(part)).hexdigest() == sha256


def test_script_makes_the_package_data(tmp_path, capsys):
    for part, (name, _, _) in PARTS.items():
        (tmp_path / name).write_bytes(as_published(part))
    main(tmp_path, to=tmp_path)
    printed = capsys.readouterr().out
    for part, (_, _, rows) in PARTS.items():
        made = pl.read_parquet(tmp_path / f"adult-{part}.parquet")
        assert made.equals(adult(part, columns="all"))
        assert f"adult-{part}.parquet: {rows:,} × 15" in printed


def test_a_changed_file_is_refused(tmp_path):
    name, _, _ = PARTS["train"]
    (tmp_path / name).write_bytes(as_published("train").replace(b"39, State-gov", b"40, State-gov"))
    with pytest.raises(SystemExit, match=r"adult\.data: SHA-256 is .* Download it again"):
        main(tmp_path, to=tmp_path)
    assert list(tmp_path.glob("*.parquet")) == []
