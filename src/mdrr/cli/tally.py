"""`mdrr tally`: count distinct reports, and add tallies up."""

from __future__ import annotations

from mdrr.cli.inputs import keep_apart, load_design, load_tally
from mdrr.cli.options import AsJson, Counted, DesignFile, Out
from mdrr.cli.screen import print_json, print_text

EXAMPLE = "mdrr tally reports.parquet --design design.json -o tally.json"


def tally(reports: Counted, design: DesignFile, out: Out, as_json: AsJson = False) -> None:
    """Count the distinct reports of one or more files; earlier tallies merge in."""
    from mdrr.files import write_text

    keep_apart(out, [*reports, design])
    made = load_design(design)
    found = load_tally(reports, made, quiet=as_json)
    write_text(out, found.to_json())
    distinct = sum(len(group.counts) for group in found.groups)
    if as_json:
        fields = {"n": found.n, "distinct": distinct, "design": made.fingerprint, "out": str(out)}
        print_json(fields)
        return
    print_text(f"Wrote {out}: {found.n:,} reports, {distinct:,} of them distinct.")
