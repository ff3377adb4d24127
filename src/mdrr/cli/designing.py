"""`mdrr design` and `plan`: from a survey file to a published design."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from mdrr.cli.dependence import load_learnt
from mdrr.cli.inputs import (
    about,
    check_ending,
    keep_apart,
    kind_of,
    load_design,
    load_survey,
    publish,
    read_groups,
)
from mdrr.cli.options import AsJson, Budget, Epsilon, Force, MaybeOut, P, People
from mdrr.cli.screen import note, print_json, print_table, print_text
from mdrr.errors import MdrrError, did_you_mean

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.survey import Settings

EXAMPLES = {
    "design": "mdrr design examples/adult.toml --protocol independent --p 0.7 -o design.json",
    "plan": "mdrr plan examples/adult.toml --n 32561 --epsilon 4 -o planned.json",
}
_IMPLIES = {"clusters": "clusters", "size": "sampled"}
"""Options that say the protocol too."""
_MOST_ROWS = 40
_BAR = 12
_KINDS = " (single: of single attributes alone; wider: of wider tables alone)"


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
    clusters: Annotated[str | None, Option(help="What is reported together: 'a+b,c'.")] = None,
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
        [
            *([place] if several else []),
            cluster.name,
            cluster.matrix.cells,
            "public" if cluster.matrix.kind == "public" else cluster.epsilon,
        ]
        for place, questionnaire in enumerate(made.questionnaires)
        for cluster in questionnaire.clusters
    ]
    heads = [*(["questionnaire"] if several else []), "reported together", "cells", "ε"]
    print_table(heads, rows[:_MOST_ROWS], title="Design")
    if len(rows) > _MOST_ROWS:
        print_text(f"… and {len(rows) - _MOST_ROWS:,} more")
    print_text(f"One person spends ε = {made.epsilon:.4f}. Fingerprint {made.fingerprint[:12]}…")
    print_text(made.outside)
    if done is None:
        note("Nothing was written. Publish the design with -o design.json")
    else:
        print_text(done)


def settings(default: Settings | None, protocol: str | None, given: Mapping[str, Any]) -> Settings:
    """The survey's settings with what the options say put over them."""
    from mdrr.survey import Settings

    base = default or Settings()
    chosen = {key: value for key, value in given.items() if value is not None}
    implied = [name for key, name in _IMPLIES.items() if key in chosen]
    chosen["protocol"] = protocol or (implied or [base.protocol])[0]
    kept = {"p": base.p, "epsilon": base.epsilon}
    if chosen["protocol"] == base.protocol:
        kept = vars(base)
    if {"p", "epsilon"} & chosen.keys():
        kept = kept | {"p": None, "epsilon": None}
    return Settings(**kept | chosen)


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
        **about(made),
        "attributes": list(made.domain.names),
        "combinations": made.domain.size,
        "questionnaires": asked,
    }


def plan(
    survey: Annotated[
        Path, Argument(help="The survey file (TOML), or a design that asks the same.")
    ],
    n: People,
    epsilon: Budget,
    dependences: Annotated[
        Path | None, Option(help="What 'mdrr dependence -o' wrote from a pilot's reports.")
    ] = None,
    workload: Annotated[
        str,
        Option(help="Tables that matter: singles, pairs, both or a list, as in 'sex+income,race'."),
    ] = "both",
    worth: Annotated[
        float | None,
        Option(
            help="Weight of single-attribute error against pair error (default 5). A smaller "
            "weight asks each person more attributes together."
        ),
    ] = None,
    chart: Annotated[Path | None, Option(help="Also draw the predicted errors, as SVG.")] = None,
    page: Annotated[Path | None, Option(help="Also write the plan as an HTML page.")] = None,
    out: MaybeOut = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict the error of every candidate design at one ε, and write the best design."""
    from mdrr.files import write_text
    from mdrr.planning import plan as rank
    from mdrr.planning.predict import GUESSED, GUESSWORK, WORTH

    outputs = [path for path in (out, chart, page) if path is not None]
    for written in outputs:
        keep_apart(written, [survey, dependences], publishes=written is out)
        if [path.resolve() for path in outputs].count(written.resolve()) > 1:
            raise MdrrError(f"{written} would be written twice; give each output its own file")
    check_ending(chart, ".svg", "the chart is SVG")
    check_ending(page, ".html", "the page is HTML")
    known = None if dependences is None else load_learnt(dependences).found
    is_design = kind_of(survey) == "a design"
    domain = load_design(survey).domain if is_design else load_survey(survey).domain
    whole = ("both", "pairs", "singles")
    tables = workload if workload in whole else read_groups(workload, domain.names)
    if tables == ((workload,),) and workload not in domain.names:
        hint = did_you_mean(workload, (*whole, *domain.names)) or "."
        raise MdrrError(f"--workload {workload}: no attribute has this name{hint}")
    found = rank(
        domain,
        n=n,
        epsilon=epsilon,
        dependences=known,
        workload=tables,
        worth=WORTH if worth is None else worth,
    )
    if worth is not None and not found.has_both:
        raise MdrrError(
            "--worth weighs single attributes against wider tables, and the workload has one kind "
            "only; leave it out, or ask for --workload both"
        )
    done = None if out is None else publish(out, found.design, force=force)
    if chart is not None:
        from mdrr.plots import candidates, to_svg

        write_text(chart, to_svg(candidates(found), "Predicted error of each candidate design"))
    if page is not None:
        from mdrr.reporting import report_plan

        report_plan(found, path=page)
    if as_json:
        kept = ("error", "alone", "together", "worst", "forged", "guess")
        listed = [
            {
                "design": c.name,
                **{key: getattr(c.predicted, key) for key in kept},
                "questionnaires": len(c.design.questionnaires),
                "epsilon": c.design.epsilon,
            }
            for c in found.candidates
        ]
        best = {"best": found.best.name, "fingerprint": found.design.fingerprint}
        about = {"n": n, "epsilon": epsilon, "public": list(domain.public), **best}
        print_json({**about, "candidates": listed})
        return
    least, both, rows = max(found.best.predicted.error, 1e-12), found.has_both, []
    for c in found.candidates:
        made = c.predicted
        kinds = [made.alone, made.together] if both else []
        error, *errors = (f"{x:.3g}" for x in (made.error, *kinds, made.worst))
        forged = f"{made.forged:.3g}" if made.forged < 100 else f"{made.forged:,.0f}"
        bar = "█" * max(1, min(_BAR, round(2 * made.error / least)))
        rows.append([c.name, error, bar, *errors, len(c.design.questionnaires), forged])
    names = ("single", "wider") if both else ()
    heads = ["design", "error", "", *names, "worst", "questionnaires", "one forged report"]
    print_table(heads, rows, title=f"Predicted for {n:,} people at ε = {epsilon:g}")
    print_text(
        "error: predicted typical relative error of a count over a tenth of a table's "
        f"combinations, with method 'auto'{_KINDS if both else ''}. All combinations are taken as "
        f"equally frequent. {found.ranking} one forged report: the most people it can add to a "
        "combination."
    )
    print_text(found.design.outside)
    if found.best.predicted.guess > GUESSWORK:
        print_text(GUESSED)
    if done is not None:
        print_text(f"The best is '{found.best.name}'. {done}")
