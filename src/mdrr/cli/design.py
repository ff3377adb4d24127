"""`mdrr design`: from a survey file to a frozen design."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from mdrr.cli.inputs import keep_apart, load_survey, read_groups
from mdrr.cli.options import AsJson, Epsilon, Force, MaybeOut, P
from mdrr.cli.publish import publish
from mdrr.cli.screen import note, print_json, print_table, print_text

if TYPE_CHECKING:
    from mdrr.design import Cluster, Design
    from mdrr.survey import Settings

EXAMPLE = "mdrr design examples/adult.toml --protocol independent --p 0.7 -o design.json"
_MOST_ROWS = 40


def design(
    survey: Annotated[Path, Argument(help="The survey file (TOML).")],
    protocol: Annotated[
        Literal["independent", "joint", "clusters", "sampled"] | None,
        Option(
            help="How answers are reported: each alone, all together, in clusters, or a random "
            "part of them. Default: what the survey file says."
        ),
    ] = None,
    p: P = None,
    epsilon: Epsilon = None,
    clusters: Annotated[
        str | None, Option(help="Attributes reported together, as in 'a+b,c'.")
    ] = None,
    size: Annotated[
        int | None, Option(help="For sampled: how many attributes each person is asked.")
    ] = None,
    report: Annotated[
        Literal["cell", "subset"] | None,
        Option(help="For sampled: report one combination, or a set of them (better at small ε)."),
    ] = None,
    ordered: Annotated[
        Literal["constant", "banded"] | None,
        Option(help="For independent: wrong answers are equally likely, or near ones more likely."),
    ] = None,
    out: MaybeOut = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a design from a survey file: which answers are randomized together, and how much."""
    keep_apart(out, [survey], publishes=True)
    read = load_survey(survey)
    given = {
        "p": p,
        "epsilon": epsilon,
        "clusters": read_groups(clusters, read.domain.names) if clusters else None,
        "size": size,
        "report": report,
        "ordered": ordered,
    }
    made = settings(read.settings, protocol, given).make(read.domain)
    done = None if out is None else publish(out, made, force=force)
    if as_json:
        print_json(_summary(made))
        return
    several = len(made.questionnaires) > 1
    rows = [
        [*([place] if several else []), cluster.name, cluster.matrix.cells, _spent(cluster)]
        for place, questionnaire in enumerate(made.questionnaires)
        for cluster in questionnaire.clusters
    ]
    heads = [*(["questionnaire"] if several else []), "reported together", "cells", "ε"]
    print_table(heads, rows[:_MOST_ROWS], title="Design")
    if len(rows) > _MOST_ROWS:
        print_text(f"… and {len(rows) - _MOST_ROWS:,} more")
    print_text(f"One person spends ε = {made.epsilon:.4f}. Fingerprint {made.fingerprint[:12]}…")
    if made.outside:
        print_text(made.outside)
    if done is None:
        note("Nothing was written. Publish the design with -o design.json")
    else:
        print_text(done)


def settings(default: Settings | None, protocol: str | None, given: Mapping[str, Any]) -> Settings:
    """The survey's settings with what the options say put over them."""
    from mdrr.survey import Settings

    base = default or Settings()
    if protocol is None and given.get("clusters") is not None:
        protocol = "clusters"
    if protocol is None and given.get("size") is not None:
        protocol = "sampled"
    chosen = {key: value for key, value in given.items() if value is not None}
    if "p" not in chosen and "epsilon" not in chosen:
        chosen |= {"p": base.p, "epsilon": base.epsilon}
    if protocol in (None, base.protocol):
        kept = {
            key: getattr(base, key) for key in ("clusters", "size", "report", "ordered", "people")
        }
        chosen = kept | chosen
    return Settings(protocol or base.protocol, **chosen)


def _spent(cluster: Cluster) -> float | str:
    """What a cluster spends, as the table shows it."""
    return "public" if cluster.matrix.kind == "public" else cluster.epsilon


def _summary(made: Design) -> dict[str, Any]:
    """What `--json` prints of a design."""
    people = made.weights
    asked = []
    for q in made.questionnaires:
        clusters = [
            {"attributes": list(c.attributes), "cells": c.matrix.cells, "epsilon": c.epsilon}
            for c in q.clusters
        ]
        asked.append({"share": q.weight / people, "epsilon": q.epsilon, "clusters": clusters})
    return {
        "fingerprint": made.fingerprint,
        "epsilon": made.epsilon,
        "attributes": list(made.domain.names),
        "public": list(made.domain.public),
        "combinations": made.domain.size,
        "questionnaires": asked,
    }
