"""`mdrr cluster`: which attributes to report together (Algorithm 1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mdrr.cli.dependence import assess, load_dependences
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

EXAMPLE = (
    "mdrr cluster dependences.json --survey examples/adult.toml --max-cells 100 "
    "--min-dependence 0.1 --p 0.7 -o clustered.json"
)


def cluster(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="DEPENDENCES|REPORTS...",
            help="What 'mdrr dependence -o' wrote, or tallies and reports.",
        ),
    ],
    max_cells: Annotated[
        int, typer.Option("--max-cells", help="T_v: most combinations a cluster may have.")
    ],
    min_dependence: Annotated[
        float, typer.Option("--min-dependence", help="T_d: least dependence that merges two.")
    ],
    design: MaybeDesignFile = None,
    survey: SurveyFile = None,
    attenuated: Annotated[
        bool,
        typer.Option("--attenuated", help="Read the reports as they stand, as the paper does."),
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
    keep_apart(out, [*reports, design, survey], publishes=publishes)
    if len(reports) == 1 and not true_data and _is_dependences(reports[0]):
        found = load_dependences(reports[0])
        domain = load_domain(survey, design)
    else:
        domain, found, _ = assess(
            reports, design, survey, attenuated=attenuated, true_data=true_data, quiet=as_json
        )
    groups = by_algorithm_1(found, domain, max_cells=max_cells, min_dependence=min_dependence)
    fields: dict[str, Any] = {"clusters": [list(names) for names in groups]}
    made = done = None
    if publishes:
        made = clustered(domain, groups, p=p, epsilon=epsilon)
        fields |= {"fingerprint": made.fingerprint, "epsilon": made.epsilon}
    if out is not None and made is not None:
        done = publish(out, made, force=force)
    elif out is not None:
        write_text(out, json.dumps(fields, ensure_ascii=False, indent=2) + "\n")
        done = f"Wrote the clusters to {out}."
    if as_json:
        print_json(fields)
        return
    rows = [["+".join(names), domain.project(names).size] for names in groups]
    print_table(["reported together", "cells"], rows, title="Clusters")
    print_text(f"For 'mdrr design --clusters': {','.join('+'.join(names) for names in groups)}")
    if done is not None:
        print_text(done)


def _is_dependences(path: Path) -> bool:
    if path.suffix.lower() != ".json":
        return False
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise MdrrError(f"{path}: not JSON") from None
    return isinstance(fields, dict) and "mdrr-tally" not in fields
