"""`mdrr dependence` and `cluster`: which attributes go together, and which to report together."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from mdrr.cli import options
from mdrr.cli.inputs import (
    check_ending,
    keep_apart,
    kind_of,
    load,
    load_design,
    load_domain,
    load_tally,
    publish,
    write_json,
)
from mdrr.cli.screen import finite, note, print_json, print_table, print_text, progress
from mdrr.errors import MdrrError, is_number

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.domain import Domain

EXAMPLES = {
    "dependence": "mdrr dependence tally.json --design design.json -o dependences.json",
    "cluster": "mdrr cluster dependences.json --survey examples/adult.toml --max-cells 100 "
    "--min-dependence 0.1 --p 0.7 -o clustered.json",
}
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
        attenuated=attenuated, true_data=true_data,
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
        with progress("Counting") as advance:
            for codes in chain.from_iterable(read_codes(path, domain, advance) for path in files):
                for pair, counts in pair_tables(codes, domain).items():
                    tables[pair] = tables.get(pair, 0) + counts
        found = from_tables(tables, kept, measure=measure)
        return Learnt(found, "true data", math.inf, kept)
    if design is None:
        raise MdrrError("reports need the --design they were made under (or say --true-data)")
    made = load_design(design)
    tally = load_tally(files, made)
    found = dependences(
        tally, made, measure=measure, debiased=not attenuated, attributes=attributes, level=level
    )
    how = "attenuated" if attenuated else "debiased"
    return Learnt(found, how, made.epsilon, made.domain.project(found.names))


def load_learnt(path: Path) -> Learnt:
    """Read what `mdrr dependence -o` wrote, or what a secure sum printed with --json."""
    return load(path, "a file of dependences", _read_learnt)


def _read_learnt(path: Path) -> Learnt:
    from mdrr.dependence import Dependences
    from mdrr.securesum.ways import assess_opened

    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise MdrrError("not JSON") from None
    if not isinstance(fields, dict) or not ({"values", "totals"} & set(fields)):
        raise MdrrError("not a file that 'mdrr dependence -o' or 'mdrr securesum … --json' wrote")
    if "totals" in fields:
        opened = assess_opened(fields)
        note(opened.caution)
        return Learnt(opened.dependences, "secure sum", opened.privacy.epsilon, opened.domain)
    stated = fields.get("privacy", fields)
    spent = None
    if isinstance(stated, dict) and "epsilon" in stated:
        spent = math.inf if stated["epsilon"] is None else stated["epsilon"]
        if spent != math.inf and not (is_number(spent) and spent >= 0):
            raise MdrrError(f"'epsilon' is {spent!r}, not what a person spent")
    return Learnt(Dependences.from_dict(fields), str(fields.get("how", "secure sum")), spent)


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


def cluster(
    reports: Annotated[
        list[Path],
        Argument(
            metavar="DEPENDENCES|REPORTS...",
            help="What 'mdrr dependence -o' or 'mdrr securesum … --json' wrote, or reports.",
        ),
    ],
    max_cells: Annotated[
        list[int], Option(help="T_v: most combinations a cluster may have; repeatable.")
    ],
    min_dependence: Annotated[
        list[float], Option(help="T_d: least dependence of attributes to merge; repeatable.")
    ],
    design: options.MaybeDesignFile = None,
    survey: options.SurveyFile = None,
    attenuated: options.Attenuated = False,
    true_data: options.TrueData = False,
    p: options.P = None,
    epsilon: options.Epsilon = None,
    out: options.MaybeOut = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Cluster the attributes by dependence; with --p or --epsilon, write the clustered design."""
    from mdrr.clustering import cluster as by_algorithm_1
    from mdrr.protocols import clustered

    publishes = p is not None or epsilon is not None
    several = len(max_cells) * len(min_dependence) > 1
    if publishes and several:
        raise MdrrError("a design has one --max-cells and one --min-dependence; give each once")
    keep_apart(out, [*reports, survey], design, publishes=publishes)
    only = reports[0]
    written = len(reports) == 1 and not true_data and only.suffix.lower() == ".json"
    if written and kind_of(only) != "a tally":
        learnt = load_learnt(only)
        known = learnt.domain if survey is None and design is None else None
    else:
        learnt = assess(reports, design, survey, attenuated=attenuated, true_data=true_data)
        known = learnt.domain
    domain = known or load_domain(survey, design)
    found = learnt.found
    choices: list[dict[str, Any]] = []
    for cells, least in product(max_cells, min_dependence):
        groups = by_algorithm_1(found, domain, max_cells=cells, min_dependence=least)
        clusters = [list(names) for names in groups]
        merged = (pair for names in clusters for pair in combinations(names, 2))
        unclear = [list(pair) for pair in merged if not found.is_clear(*pair)]
        thresholds = {"max_cells": cells, "min_dependence": least}
        choices.append({**thresholds, "clusters": clusters, "unclear": unclear})
    fields: dict[str, Any] = {"choices": choices} if several else choices[0]
    made = done = None
    if publishes:
        made = clustered(domain, fields["clusters"], p=p, epsilon=epsilon)
        both = None if learnt.spent is None else finite(learnt.spent + made.epsilon)
        fields |= {"fingerprint": made.fingerprint, "epsilon": made.epsilon}
        fields |= {"epsilon_before": finite(learnt.spent), "epsilon_of_both": both}
    if out is not None and made is not None:
        done = publish(out, made, force=force)
    elif out is not None:
        write_json(out, fields)
        done = f"Wrote the clusters to {out}."
    if as_json:
        print_json(fields)
        return
    for choice in choices:
        cells, least = choice["max_cells"], choice["min_dependence"]
        title = f"Clusters, at most {cells:,} cells, dependence from {least:g}"
        joined = {"+".join(names): domain.project(names).size for names in choice["clusters"]}
        print_table(["reported together", "cells"], list(joined.items()), title=title)
        print_text(f"For 'mdrr design --clusters': {','.join(joined)}")
        if choice["unclear"]:
            pairs = "; ".join(" and ".join(pair) for pair in choice["unclear"])
            print_text(f"Merged, but cannot be told from independent: {pairs}.")
    print_text(_cost(learnt.spent, None if made is None else made.epsilon))
    print_text(done)


def _cost(before: float | None, now: float | None) -> str:
    """What people spend who let the dependences be learnt and then answer the clustered design."""
    total = "Whoever answers the clustered design as well spends its ε on top."
    if before is None:
        spent = "The file does not say what learning the dependences cost."
    elif math.isinf(before):
        spent = "The dependences were learnt from true answers, without differential privacy."
    else:
        spent = f"Learning the dependences cost ε = {before:.2f} per person."
        if now is not None:
            both = f"(ε = {now:.2f}) as well spends ε = {before + now:.2f} in all"
            total = f"Whoever answers this design {both}."
    return f"{spent} {total} Ask other people, so that nobody spends twice."
