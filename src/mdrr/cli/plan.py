"""`mdrr plan`: which design to use, by predicted error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mdrr.cli.dependence import load_learnt
from mdrr.cli.inputs import check_ending, keep_apart, kind_of, load_domain, read_groups
from mdrr.cli.options import AsJson, Budget, Force, MaybeOut, People
from mdrr.cli.publish import publish
from mdrr.cli.screen import print_json, print_table, print_text
from mdrr.errors import MdrrError, did_you_mean

EXAMPLE = "mdrr plan examples/adult.toml --n 32561 --epsilon 4 -o planned.json"

_BAR = 12
_KINDS = " (single: of single attributes alone; wider: of wider tables alone)"


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

    seen: set[Path] = set()
    for written in filter(None, (out, chart, page)):
        keep_apart(written, [survey, dependences], publishes=written is out)
        if written.resolve() in seen:
            raise MdrrError(f"{written} would be written twice; give each output its own file")
        seen.add(written.resolve())
    check_ending(chart, ".svg", "the chart is SVG")
    check_ending(page, ".html", "the page is HTML")
    known = None if dependences is None else load_learnt(dependences).found
    designed = kind_of(survey) == "a design"
    domain = load_domain(None, survey) if designed else load_domain(survey, None)
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
    if found.design.outside:
        print_text(found.design.outside)
    if found.best.predicted.guess > GUESSWORK:
        print_text(GUESSED)
    if done is not None:
        print_text(f"The best is '{found.best.name}'. {done}")
