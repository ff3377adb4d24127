"""Make the package's Adult data from the published files: python scripts/make_adult.py FOLDER

FOLDER holds `adult.data` and `adult.test` as published by UCI. Their checksums are verified, blanks
around labels and the full stop after a test label are removed, and the rows are written in their
published order as Parquet. "?" stays: it is a category. Nothing else is changed.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
PARTS = {
    "train": (
        "adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        32_561,
    ),
    "test": (
        "adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        16_281,
    ),
}
PACKAGE_DATA = Path(__file__).resolve().parents[1] / "src" / "mdrr" / "datasets"


def read_verified(path: Path, sha256: str) -> str:
    """Return the text of `path`, or stop if it is not the published file."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        sys.exit(f"{path.name}: SHA-256 is {found}, not {sha256}. Download it again from UCI.")
    return content.decode("ascii")


def parse(text: str) -> pa.Table:
    """Turn the published lines into a table: labels as dictionaries, numbers as 32-bit integers."""
    rows = [
        [value.strip() for value in line.rstrip(".").split(",")]
        for line in text.splitlines()
        if line and not line.startswith("|")
    ]
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return pa.table(
        {
            name: pa.array([int(v) for v in values], pa.int32())
            if name in NUMBERS
            else pa.array(values, pa.string()).dictionary_encode()
            for name, values in columns.items()
        }
    )


def main(folder: Path, to: Path = PACKAGE_DATA) -> None:
    """Write adult-train.parquet and adult-test.parquet into `to`."""
    for part, (name, sha256, rows) in PARTS.items():
        table = parse(read_verified(folder / name, sha256))
        if table.num_rows != rows:
            sys.exit(f"{name}: {table.num_rows} records, not {rows}.")
        target = to / f"adult-{part}.parquet"
        pq.write_table(
            table,
            target,
            compression="zstd",
            compression_level=22,
            write_statistics=False,
            store_schema=False,
            # Nearly every weight is different: a dictionary would only be in the way.
            use_dictionary=[column for column in COLUMNS if column != "fnlwgt"],
            column_encoding={"fnlwgt": "DELTA_BINARY_PACKED"},
        )
        print(f"{target.name}: {rows:,} × {table.num_columns}, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python scripts/make_adult.py FOLDER   (with adult.data and adult.test)")
    main(Path(sys.argv[1]))
