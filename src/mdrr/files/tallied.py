"""Files of tallies: JSON, which people and other programs can read, and Arrow, which is small.

The Arrow file (IPC, compressed) holds what the JSON holds, a row per questionnaire, so that arrays
are written as they are and not as text. Arrow and not Parquet, because a .parquet file here holds
reports, and a file's name must tell the two apart: counted twice, everybody would count double.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdrr.columns import pa
from mdrr.design import Design
from mdrr.errors import MdrrError, TallyError
from mdrr.files.streams import whole, write_text
from mdrr.groups import parts_of
from mdrr.response import check_fingerprint
from mdrr.tallies import FORMATS, Tally, tally_of_parts

ENDINGS = (".json", ".arrow")
"""How names of files of tallies end."""

_FORMAT, _DESIGN = b"mdrr-tally", b"design"
_COLUMNS = ("codes", "counts", "sums", "numbers")
_HELD = ({"codes", "counts"}, {"codes", "sums", "numbers"})


def write_tally(path: str | Path, tally: Tally) -> None:
    """Write a tally, whole or not at all, as JSON or Arrow by the file's ending."""
    if _ending(path) == ".json":
        write_text(path, tally.to_json())
        return
    parts = [parts_of(group) for group in tally.groups]
    # The codes of all questionnaires are of one type, the smallest that holds them.
    largest = max((column.dtype for part in parts for column in part["codes"]), default="u1")
    numbers, codes = pa.large_list(pa.int64()), pa.large_list(pa.from_numpy_dtype(largest))
    kinds = (pa.list_(codes), numbers, pa.list_(numbers), numbers)
    about = {_FORMAT: str(FORMATS[tally.has_sums]), _DESIGN: tally.fingerprint}
    schema = pa.schema(list(zip(_COLUMNS, kinds, strict=True)), about)
    rows = [
        pa.array([part.get(name) for part in parts], kind)
        for name, kind in zip(_COLUMNS, kinds, strict=True)
    ]
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with whole(path) as beside, pa.ipc.new_file(str(beside), schema, options=options) as out:
        out.write_batch(pa.record_batch(rows, schema=schema))


def read_tally(path: str | Path, design: Design) -> Tally:
    """The tally in a file, JSON or Arrow by its ending, validated against its design."""
    if _ending(path) == ".json":
        return Tally.from_json(Path(path).read_text(encoding="utf-8"), design)
    Path(path).open("rb").close()  # a missing file is an OSError that names it
    try:
        with pa.memory_map(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
            table.validate(full=True)
            about = table.schema.metadata or {}
            stated, fingerprint = about[_FORMAT].decode(), about[_DESIGN].decode()
            columns = {name: table[name].combine_chunks() for name in _COLUMNS}
            parts = [
                {name: _arrays(held) for name, c in columns.items() if (held := c[row]).is_valid}
                for row in range(table.num_rows)
            ]
    except (pa.ArrowInvalid, KeyError, AttributeError, UnicodeDecodeError):
        raise TallyError("this is not a tally, or is not whole") from None
    if stated not in map(str, FORMATS):
        raise TallyError(f"this tally has format {stated!r}, which this version does not read")
    if any(part.keys() not in _HELD for part in parts):
        raise TallyError("this is not a tally: a questionnaire lacks its reports or sums")
    check_fingerprint(fingerprint, design)
    return tally_of_parts(parts, design)


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise MdrrError(f"{str(path)!r}: a tally is a .json or an .arrow file. Name it so")
    return ending


def _arrays(value: Any) -> Any:
    """A list of numbers as an array, a list of those as a list of arrays."""
    values = value.values
    if pa.types.is_integer(values.type):
        return values.to_numpy(zero_copy_only=False).copy()
    return [_arrays(each) for each in values]
