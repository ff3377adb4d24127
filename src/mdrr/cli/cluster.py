"""`mdrr cluster`: which attributes to report together (Algorithm 1)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdrr.cli.dependence import assess, load_learnt
from mdrr.cli.inputs import keep_apart, load_domain
from mdrr.cli.options import (
    AsJson,
    Epsilon,
    Force,
    MaybeDesignFile,
    MaybeOut,
    P,
    SurveyFile,
    TrueData,
)
from mdrr.cli.publish import publish
from mdrr.cli.screen import print_json, print_table, print_text
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.dependence import Dependences

EXAMPLE = (
    "mdrr cluster dependences.json --survey examples/adult.toml --max-cells 100 "
    "--min-dependence 0.1 --p 0.7 -o clustered.json"
)


def cluster(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="DEPENDENCES|REPORTS...",
            help="What 'mdrr dependence -o' or 'mdrr securesum … --json' wrote, or reports.",
        ),
    ],
    max_cells: Annotated[
        list[int],
        typer.Option("--max-cells", help="T_v: most combinations a cluster may have; repeatable."),
    ],
    min_dependence: Annotated[
        list[float],
        typer.Option(
            "--min-dependence", help="T_d: least dependence of attributes to merge; repeatable."
        ),
    ],
    design: MaybeDesignFile = None,
    survey: SurveyFile = None,
    attenuated: Annotated[
        bool,
        typer.Option(
            "--attenuated",
            help="Do not correct for the randomization (the paper's way).",
        ),
    ] = False,
    true_data: TrueData = False,
    p: P = None,
    epsilon: Epsilon = None,
    out: MaybeOut = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Cluster the attributes by dependence; with --p or --epsilon, write the clustered design."""
    from mdrr.clustering import cluster as by_algorithm_1
    from mdrr.files import write_text
    from mdrr.protocols import clustered

    publishes = p is not None or epsilon is not None
    several = len(max_cells) * len(min_dependence) > 1
    if publishes and several:
        raise MdrrError("a design has one --max-cells and one --min-dependence; give each once")
    keep_apart(out, [*reports, survey], design, publishes=publishes)
    if len(reports) == 1 and not true_data and _is_learnt(reports[0]):
        learnt = load_learnt(reports[0])
        known = learnt.domain if survey is None and design is None else None
        domain = known or load_domain(survey, design)
    else:
        learnt = assess(
            reports, design, survey, attenuated=attenuated, true_data=true_data, quiet=as_json
        )
        domain = learnt.domain or load_domain(survey, design)
    found = learnt.found
    choices: list[dict[str, Any]] = []
    for cells, least in product(max_cells, min_dependence):
        groups = by_algorithm_1(found, domain, max_cells=cells, min_dependence=least)
        clusters = [list(names) for names in groups]
        thresholds = {"max_cells": cells, "min_dependence": least}
        choices.append({**thresholds, "clusters": clusters, "unclear": _unclear(found, clusters)})
    fields: dict[str, Any] = {"choices": choices} if several else choices[0]
    made = done = None
    if publishes:
        made = clustered(domain, fields["clusters"], p=p, epsilon=epsilon)
        both = None if learnt.spent is None else _finite(learnt.spent + made.epsilon)
        fields |= {"fingerprint": made.fingerprint, "epsilon": made.epsilon}
        fields |= {"epsilon_before": _finite(learnt.spent), "epsilon_of_both": both}
    if out is not None and made is not None:
        done = publish(out, made, force=force)
    elif out is not None:
        write_text(out, json.dumps(fields, ensure_ascii=False, indent=2) + "\n")
        done = f"Wrote the clusters to {out}."
    if as_json:
        print_json(fields)
        return
    for choice in choices:
        title = f"Clusters, at most {choice['max_cells']:,} cells, dependence from "
        rows = [["+".join(one), domain.project(one).size] for one in choice["clusters"]]
        title += f"{choice['min_dependence']:g}"
        print_table(["reported together", "cells"], rows, title=title)
        joined = ",".join("+".join(names) for names in choice["clusters"])
        print_text(f"For 'mdrr design --clusters': {joined}")
        if choice["unclear"]:
            pairs = "; ".join(" and ".join(pair) for pair in choice["unclear"])
            print_text(f"Merged, but cannot be told from independent: {pairs}.")
    print_text(_cost(learnt.spent, None if made is None else made.epsilon))
    if done is not None:
        print_text(done)


def _unclear(found: Dependences, clusters: Sequence[Sequence[str]]) -> list[list[str]]:
    """Pairs in a cluster that cannot be told from independent."""
    pairs = (pair for names in clusters for pair in combinations(names, 2))
    return [list(pair) for pair in pairs if not found.is_clear(*pair)]


def _finite(epsilon: float | None) -> float | None:
    return None if epsilon is None or math.isinf(epsilon) else epsilon


def _cost(before: float | None, now: float | None) -> str:
    """What people spend who let the dependences be learnt and then answer the clustered design."""
    if before is None:
        spent = "The file does not say what learning the dependences cost."
    elif math.isinf(before):
        spent = "The dependences were learnt from true answers, without differential privacy."
    else:
        spent = f"Learning the dependences cost ε = {before:.2f} per person."
    if before is None or math.isinf(before) or now is None:
        total = "Whoever answers the clustered design as well spends its ε on top."
    else:
        total = (
            f"Whoever answers this design (ε = {now:.2f}) as well spends ε = {before + now:.2f} "
            "in all."
        )
    return f"{spent} {total} Ask other people, so that nobody spends twice."


def _is_learnt(path: Path) -> bool:
    if path.suffix.lower() != ".json":
        return False
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise MdrrError(f"{path}: not JSON") from None
    return isinstance(fields, dict) and "mdrr-tally" not in fields
