"""`mdrr dependence`: how strongly pairs of attributes go together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdrr.cli.inputs import keep_apart, load_design, load_domain, load_tally
from mdrr.cli.options import AsJson, Counted, MaybeDesignFile, MaybeOut, SurveyFile, TrueData
from mdrr.cli.screen import note, print_json, print_table, print_text, progress
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.domain import Domain

EXAMPLE = "mdrr dependence tally.json --design design.json -o dependences.json"
LEAK = "Note: --true-data reads true answers. What it prints is not private: use it to simulate"


def dependence(
    reports: Counted,
    design: MaybeDesignFile = None,
    survey: SurveyFile = None,
    attenuated: Annotated[
        bool,
        typer.Option("--attenuated", help="Read the reports as they stand, as the paper does."),
    ] = False,
    true_data: TrueData = False,
    out: MaybeOut = None,
    as_json: AsJson = False,
) -> None:
    """Measure dependence: |r| of ordered pairs, Cramér's V of others, debiased from reports."""
    from mdrr.files import write_text

    keep_apart(out, [*reports, design, survey])
    domain, found, how = assess(
        reports, design, survey, attenuated=attenuated, true_data=true_data, quiet=as_json
    )
    fields = {
        "how": how,
        "names": list(found.names),
        "values": found.values.tolist(),
        "margins": found.margins and [margin.tolist() for margin in found.margins],
        "pairs": [{"first": a, "second": b, "dependence": v} for a, b, v in found.ranked()],
    }
    if out is not None:
        write_text(out, json.dumps(fields, ensure_ascii=False, indent=2) + "\n")
    if as_json:
        print_json(fields)
        return
    rows = [
        [a, b, "|r|" if _ordered(domain, a, b) else "V", value] for a, b, value in found.ranked()
    ]
    print_table(["first", "second", "measure", "dependence"], rows, title=f"Dependence, {how}")
    if out is not None:
        print_text(f"Wrote {out}.")


def assess(
    files: Sequence[Path],
    design: Path | None,
    survey: Path | None,
    *,
    attenuated: bool,
    true_data: bool,
    quiet: bool,
) -> tuple[Domain, Dependences, str]:
    """The domain, its dependences, and how they were read."""
    from mdrr.dependence import dependences

    if true_data:
        note(LEAK)
        domain = load_domain(survey, design)
        return domain, _from_people(files, domain, quiet), "true data"
    if design is None:
        raise MdrrError("reports need the --design they were made under (or say --true-data)")
    made = load_design(design)
    tally = load_tally(files, made, quiet=quiet)
    how = "attenuated" if attenuated else "debiased"
    return made.domain, dependences(tally, made, debiased=not attenuated), how


def load_dependences(path: Path) -> Dependences:
    """Read the file `mdrr dependence -o` writes."""
    import numpy as np

    from mdrr.dependence import Dependences

    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        names, values = tuple(fields["names"]), np.array(fields["values"], dtype=np.float64)
        if not all(isinstance(name, str) for name in names):
            raise TypeError
        margins = fields.get("margins")
    except (KeyError, TypeError, ValueError):
        raise MdrrError(f"{path}: not a file that 'mdrr dependence -o' wrote") from None
    return Dependences(names, values, margins)


def _ordered(domain: Domain, *names: str) -> bool:
    return all(domain.attribute(name).is_ordered for name in names)


def _from_people(files: Sequence[Path], domain: Domain, quiet: bool) -> Dependences:
    from mdrr.dependence import from_tables, pair_tables
    from mdrr.files import read_codes

    total: dict[tuple[str, str], Any] = {}
    with progress("Counting", quiet=quiet) as advance:
        for path in files:
            for codes in read_codes(path, domain, advance):
                for pair, counts in pair_tables(codes, domain).items():
                    total[pair] = total.get(pair, 0) + counts
    return from_tables(total, domain)
