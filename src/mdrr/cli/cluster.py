"""`mdrr cluster`: which attributes to report together (Algorithm 1)."""

from __future__ import annotations

import math
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from mdrr.cli import options
from mdrr.cli.dependence import assess, load_learnt
from mdrr.cli.inputs import keep_apart, kind_of, load_domain
from mdrr.cli.publish import publish
from mdrr.cli.screen import finite, print_json, print_table, print_text, write_json
from mdrr.errors import MdrrError

EXAMPLE = (
    "mdrr cluster dependences.json --survey examples/adult.toml --max-cells 100 "
    "--min-dependence 0.1 --p 0.7 -o clustered.json"
)


def cluster(
    reports: Annotated[
        list[Path],
        Argument(
            metavar="DEPENDENCES|REPORTS...",
            help="What 'mdrr dependence -o' or 'mdrr securesum … --json' wrote, or reports.",
        ),
    ],
    max_cells: Annotated[
        list[int],
        Option("--max-cells", help="T_v: most combinations a cluster may have; repeatable."),
    ],
    min_dependence: Annotated[
        list[float],
        Option(
            "--min-dependence", help="T_d: least dependence of attributes to merge; repeatable."
        ),
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
        learnt = assess(
            reports, design, survey, attenuated=attenuated, true_data=true_data, quiet=as_json
        )
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
    if done is not None:
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
