"""Files in and out: people and reports in chunks, outputs whole or not at all."""

from __future__ import annotations

from mdrr.files.reports import (
    randomize_file,
    read_reports,
    stated_fingerprint,
    tally_files,
    write_reports,
)
from mdrr.files.streams import whole, write_text
from mdrr.files.tables import read_codes, read_people, read_tables, write_tables
from mdrr.files.tallied import read_tally, write_tally

__all__ = [
    "randomize_file",
    "read_codes",
    "read_people",
    "read_reports",
    "read_tables",
    "read_tally",
    "stated_fingerprint",
    "tally_files",
    "whole",
    "write_reports",
    "write_tables",
    "write_tally",
    "write_text",
]
