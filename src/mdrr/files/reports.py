"""Files of reports: CSV and Parquet of labels, JSON Lines of codes, each with its fingerprint.

A Parquet file carries its design's fingerprint in its metadata, a line of JSON in itself, a CSV
file in a file beside it, `<file>.mdrr.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from mdrr.design import Design
from mdrr.errors import TallyError
from mdrr.files.streams import STDIN, opened, written
from mdrr.files.tables import (
    OnProgress,
    ahead,
    converted,
    file_format,
    parquet_metadata,
    read_codes,
    read_tables,
    sidecar,
    write_tables,
)
from mdrr.randomizer import Reports, randomize_codes
from mdrr.report_frames import (
    FINGERPRINT,
    report_codes,
    report_columns,
    report_table,
    reported_labels,
    text_columns,
)
from mdrr.response import Report, check_fingerprint
from mdrr.source import Source
from mdrr.tallies import Keep, Tally, gathered, tally_batches

_LINES = 1 << 16


def stated_fingerprint(path: str | Path) -> str | None:
    """The fingerprint a file of reports states, or None when it states none."""
    kind = file_format(path)
    if kind == "parquet":
        stated = parquet_metadata(path).get(FINGERPRINT.encode())
        return None if stated is None else stated.decode()
    if kind == "jsonl":
        with opened(path) as (lines, _):
            first = next(_parsed(path, lines), None)
        return None if first is None else first.fingerprint
    if str(path) == STDIN or not sidecar(path).exists():
        return None
    try:
        return str(json.loads(sidecar(path).read_text(encoding="utf-8"))["design"])
    except (ValueError, KeyError, TypeError):
        raise TallyError(
            f"{str(sidecar(path))!r} does not state a design. Restore it, or delete it to go "
            "without the check"
        ) from None


def check_stated(path: str | Path, design: Design) -> None:
    """Refuse a file of reports that states another design."""
    if (stated := stated_fingerprint(path)) is not None:
        try:
            check_fingerprint(stated, design)
        except TallyError as error:
            raise error.inside(repr(str(path))) from None


def read_reports(
    path: str | Path, design: Design, on_progress: OnProgress | None = None
) -> Iterator[Reports]:
    """Reports, chunk by chunk, as codes checked against the design.

    The file is .csv, .tsv or .parquet of labels, or .jsonl with a line
    `{"design": …, "questionnaire": …, "codes": […]}` per person; all but Parquet also zipped (.gz).
    "-" is CSV on stdin. A file that states another design is refused.
    """
    check_stated(path, design)
    if file_format(path) == "jsonl":
        yield from _read_lines(path, design, on_progress)
        return
    columns = report_columns(design)
    attributes = [attribute for attribute in columns.values() if attribute is not None]
    numbers = [name for name, attribute in columns.items() if attribute is None]
    with reported_labels():
        tables = read_tables(path, attributes, numbers, on_progress)
        yield from converted(path, tables, lambda table: report_codes(table, design))


def write_reports(path: str | Path, reports: Iterable[Reports], design: Design) -> int:
    """Write reports, whole or not at all, with the design's fingerprint; gives how many.

    The path ends in .parquet, .csv, .tsv or .jsonl; all but Parquet also in .gz.
    """
    if file_format(path) == "jsonl":
        return _write_lines(path, reports, design)
    tables = (report_table(chunk, design, text_columns(design)) for chunk in reports)
    return write_tables(path, tables, fingerprint=design.fingerprint)


def randomize_file(
    people: str | Path,
    out: str | Path,
    design: Design,
    *,
    source: Source | None = None,
    on_progress: OnProgress | None = None,
) -> int:
    """Randomize a file of true records into a file of reports, a chunk at a time; gives how many.

    Arguments:
        people: .csv, .tsv (also .gz) or .parquet, with a column per attribute; "-" is CSV on stdin.
        out: where the reports go, see `write_reports`.
        design: how to randomize.
        source: randomness; the system's CSPRNG by default. A `SeededSource` is for simulation.
        on_progress: called with the share of the file that was read.
    """
    if str(people) != STDIN and stated_fingerprint(people) is not None:
        raise TallyError(f"{people} holds reports, which are randomized already. Give true records")
    answers = read_codes(people, design.domain, on_progress)
    return write_reports(out, (randomize_codes(codes, design, source) for codes in answers), design)


def tally_files(
    paths: Sequence[str | Path] | str | Path,
    design: Design,
    on_progress: OnProgress | None = None,
    *,
    keep: Keep = "auto",
) -> Tally:
    """The tally of all reports in some files, in one pass that never holds a whole file.

    Arguments:
        paths: .csv, .tsv, .jsonl (also .gz) or .parquet; "-" is CSV on stdin.
        design: the design they were made under.
        on_progress: called with the share of all files that was read.
        keep: all distinct `"reports"`, or `"sums"`, see `mdrr.tally`.
    """
    if isinstance(paths, str | Path):
        paths = [paths]

    def read(i: int, path: str | Path) -> Iterator[Reports]:
        told = None if on_progress is None else lambda s: on_progress((i + s) / len(paths))
        return read_reports(path, design, told)

    each = chain.from_iterable(map(read, range(len(paths)), paths))
    return tally_batches(ahead(each), design, keep=keep)


def _read_lines(
    path: str | Path, design: Design, on_progress: OnProgress | None
) -> Iterator[Reports]:
    with opened(path) as (lines, share):
        reports, held = _parsed(path, lines, design), 0
        while chunk := list(islice(reports, _LINES)):
            held += len(chunk)
            yield gathered(chunk, design)
            if on_progress is not None:
                on_progress(share())
        if not held:
            raise TallyError(f"{str(path)!r} holds no reports")


def _parsed(
    path: str | Path, lines: Iterable[bytes], design: Design | None = None
) -> Iterator[Report]:
    """The report on each line that is not blank, checked against the design if one is given."""
    for number, line in enumerate(lines, start=1):
        text = line.decode("utf-8")
        if not text.strip():
            continue
        place = f"{str(path)!r}: line {number}"
        try:
            report = Report.from_dict(json.loads(text))
            if design is not None:
                report.check(design)
        except TallyError as error:
            raise error.inside(place) from None
        except (ValueError, RecursionError):
            raise TallyError(
                f"{place}: not a report. A report is a JSON object with 'codes'"
            ) from None
        yield report


def _write_lines(path: str | Path, reports: Iterable[Reports], design: Design) -> int:
    count = 0
    with written(path) as out:
        for chunk in reports:
            lines = [""] * chunk.n
            for q, batch in enumerate(chunk.batches):
                start = Report(design.fingerprint, q, ()).to_json().removesuffix("]}")
                texts = (map(str, codes.tolist()) for codes in batch.codes)
                for row, codes in zip(batch.rows.tolist(), zip(*texts, strict=True), strict=True):
                    lines[row] = f"{start}{','.join(codes)}]}}"
            out.writelines(f"{line}\n".encode() for line in lines)
            count += chunk.n
    return count
