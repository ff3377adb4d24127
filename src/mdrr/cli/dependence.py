"""`mdrr dependence`: how strongly pairs of attributes go together, and how sure that is."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from mdrr.cli import options
from mdrr.cli.inputs import check_ending, keep_apart, load_design, load_domain, load_tally
from mdrr.cli.screen import (
    finite,
    note,
    print_json,
    print_table,
    print_text,
    progress,
    write_json,
)
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.domain import Domain

EXAMPLE = "mdrr dependence tally.json --design design.json -o dependences.json"
LEAK = "Note: --true-data reads true answers. What it prints is not private: use it to simulate"
Measure = Literal["auto", "cramers_v", "pearson", "covariance"]


@dataclass(frozen=True)
class Learnt:
    """Dependences, how they became known, what that cost each person, and their attributes."""

    found: Dependences
    how: str  # debiased, attenuated, true data or secure sum
    spent: float | None  # ∞ without differential privacy, None if the file does not say
    domain: Domain | None = None


def dependence(
    reports: options.Counted,
    design: options.MaybeDesignFile = None,
    survey: options.SurveyFile = None,
    measure: Annotated[
        Measure, Option(help="auto is |r| of two ordered attributes and Cramér's V of others.")
    ] = "auto",
    attribute: Annotated[
        list[str] | None, Option("--attribute", "-a", help="Only this attribute; repeatable.")
    ] = None,
    attenuated: options.Attenuated = False,
    true_data: options.TrueData = False,
    level: options.Level = 0.95,
    out: options.MaybeOut = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how strongly each pair of attributes depends, corrected for the randomization."""
    from mdrr.dependence import measure_of

    keep_apart(out, [*reports, survey], design)
    check_ending(out, ".json", "dependences are written as JSON")
    learnt = assess(
        reports, design, survey,
        attenuated=attenuated, true_data=true_data, quiet=as_json,
        measure=measure, attributes=attribute, level=level,
    )  # fmt: skip
    found, domain, pairs = learnt.found, learnt.domain or load_domain(survey, design), []
    for a, b, value in found.ranked():
        low, high = found.interval(a, b) or (None, None)
        used = measure_of(domain.attribute(a), domain.attribute(b), found.measure)
        ends = {"dependence": value, "low": low, "high": high, "clear": found.is_clear(a, b)}
        pairs.append({"first": a, "second": b, "measure": used, **ends})
    spent = {"how": learnt.how, "epsilon": finite(learnt.spent)}
    fields = {**spent, **found.to_dict(), "pairs": pairs}
    if out is not None:
        write_json(out, fields)
    if as_json:
        print_json(fields)
        return
    _show(learnt, pairs)
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
    measure: Measure = "auto",
    attributes: Sequence[str] | None = None,
    level: float = 0.95,
) -> Learnt:
    """The dependences in reports or true data."""
    from mdrr.dependence import dependences, from_tables, pair_tables
    from mdrr.files import read_codes

    if true_data:
        note(LEAK)
        domain = load_domain(survey, design)
        kept = domain.project(attributes or domain.names)
        tables: dict[tuple[str, str], Any] = {}
        with progress("Counting", quiet=quiet) as advance:
            for codes in chain.from_iterable(read_codes(path, domain, advance) for path in files):
                for pair, counts in pair_tables(codes, domain).items():
                    tables[pair] = tables.get(pair, 0) + counts
        found = from_tables(tables, kept, measure=measure)
        return Learnt(found, "true data", math.inf, kept)
    if design is None:
        raise MdrrError("reports need the --design they were made under (or say --true-data)")
    made = load_design(design)
    tally = load_tally(files, made, quiet=quiet)
    found = dependences(
        tally, made, measure=measure, debiased=not attenuated, attributes=attributes, level=level
    )
    how = "attenuated" if attenuated else "debiased"
    return Learnt(found, how, made.epsilon, made.domain.project(found.names))


def load_learnt(path: Path) -> Learnt:
    """Read what `mdrr dependence -o` wrote, or what a secure sum printed with --json."""
    from mdrr.dependence import Dependences
    from mdrr.securesum.ways import assess_opened

    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise MdrrError(f"{path}: not JSON") from None
    try:
        if not isinstance(fields, dict) or not ({"values", "totals"} & set(fields)):
            raise MdrrError(
                "not a file that 'mdrr dependence -o' or 'mdrr securesum … --json' wrote"
            )
        if "totals" in fields:
            opened = assess_opened(fields)
            note(opened.caution)
            spent = opened.privacy.epsilon
            return Learnt(opened.dependences, "secure sum", spent, opened.domain)
        how = str(fields.get("how", "secure sum"))
        return Learnt(Dependences.from_dict(fields), how, _spent(fields.get("privacy", fields)))
    except MdrrError as error:
        raise type(error)(f"{path}: {error}") from None


def _spent(fields: Any) -> float | None:
    """The ε a file states: null is ∞, none is not known."""
    if not isinstance(fields, dict) or "epsilon" not in fields:
        return None
    epsilon = fields["epsilon"]
    if epsilon is None:
        return math.inf
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not epsilon >= 0:
        raise MdrrError(f"'epsilon' is {epsilon!r}, not what a person spent")
    return float(epsilon)


def _show(learnt: Learnt, pairs: Sequence[dict[str, Any]]) -> None:
    """Print the pairs; what cannot be told from 0 is shown as a bound, not as a number."""
    from mdrr.dependence import MEASURES

    found, rows = learnt.found, []
    for pair in pairs:
        shown: list[object] = [pair["dependence"]]
        if pair["low"] is not None:
            value = f"{pair['dependence']:,.4f}" if pair["clear"] else "–"
            shown = [value, f"{pair['low']:,.4f} to {pair['high']:,.4f}"]
        rows.append([pair["first"], pair["second"], MEASURES[pair["measure"]], *shown])
    headings = ["first", "second", "measure", "dependence"]
    if found.low is not None:
        headings.append(f"{100 * found.level:g} % interval")
    print_table(headings, rows, title=f"Dependence, {learnt.how}", labels=2)
    unclear = sum(not pair["clear"] for pair in pairs)
    if unclear:
        print_text(
            f"–: cannot be told from 0 ({unclear} of {len(pairs)} pairs). Of the pairs with a "
            f"number, at most {50 * (1 - found.level):.2g} % are expected to be chance "
            "(Benjamini–Hochberg over all pairs). Each interval is for its own pair: among many, "
            "some exclude 0 by chance."
        )
    if learnt.how == "attenuated":
        print_text("Attenuated values are biased towards 0 and have no intervals.")
