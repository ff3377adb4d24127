"""`mdrr theory`: how accurate a design is before anyone is asked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdrr.cli.inputs import load_design
from mdrr.cli.options import AsJson, Level, People
from mdrr.cli.screen import print_json, print_table, print_text
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design

EXAMPLE = "mdrr theory design.json --n 32561 --error 0.01"


def theory(
    design: Annotated[Path, typer.Argument(help="The design (JSON).")],
    n: People,
    level: Level = 0.95,
    error: Annotated[
        float | None,
        typer.Option(help="Also say how many people are needed for this absolute error."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict errors of the reported (λ̂) and the estimated (π̂) shares, before anyone is asked.

    All combinations are taken as equally likely.
    """
    from mdrr.theory import compare

    if not 0 < level < 1:
        raise MdrrError(f"--level {level:g}: a confidence level lies between 0 and 1")
    alpha = round(1 - level, 12)
    made = load_design(design)
    rows = _clusters(made, n, alpha, error)
    finite = math.isfinite(made.epsilon)
    both = None
    if finite and len(made.domain) > 1:
        both = compare(made.domain.shape, n, made.epsilon, alpha)
    if as_json:
        print_json(
            {
                "n": n,
                "level": level,
                "epsilon": made.epsilon if finite else None,
                "clusters": rows,
                "comparison": None if both is None else both.to_dict(),
            }
        )
        return
    heads = ["cluster", "people", "√B", "λ̂ abs", "λ̂ rel", "π̂ abs", "π̂ rel", "one forged report"]
    keys = ["name", "n", "sqrt_b", "lambda_abs", "lambda_rel", "pi_abs", "pi_rel", "forged"]
    if error is not None:
        heads.append(f"people for π̂ abs {error:g}")
        keys.append("people_needed")
    shown = [["∞" if row[key] is None else row[key] for key in keys] for row in rows]
    print_table(heads, shown, title=f"Errors that are not exceeded with probability {level:.0%}")
    print_text("one forged report: the most people by which it can move an estimated count.")
    if both is not None:
        print_text(
            f"At the same ε, relative error of the worst attribute: RR-Independent "
            f"{both.attribute_independent:.3g}, RR-Joint {both.attribute_joint:.3g}; of all "
            f"combinations: RR-Independent {both.cell_independent:.3g}, RR-Joint "
            f"{both.cell_joint:.3g}."
        )
    elif not finite:
        print_text(
            "ε is infinite: a report can prove that some answers are not hers. So there is no "
            "RR-Independent or RR-Joint of the same ε to compare with."
        )


def _clusters(made: Design, n: int, alpha: float, error: float | None) -> list[dict[str, Any]]:
    """The errors of every cluster, for the people who get its questionnaire."""
    import numpy as np

    from mdrr.theory import frequency_errors, influence, people_needed

    total = sum(q.weight for q in made.questionnaires)
    rows = []
    for q, questionnaire in enumerate(made.questionnaires):
        people = max(round(n * questionnaire.weight / total), 1)
        for cluster in questionnaire.clusters:
            matrix = cluster.matrix
            even = np.full(matrix.cells, 1 / matrix.cells)
            row = frequency_errors(matrix, even, people, alpha).to_dict()
            del row["alpha"]
            row |= {"name": cluster.name, "questionnaire": q}
            row["forged"] = influence(matrix).swing
            if error is not None:
                needed = people_needed(even, matrix=matrix, absolute=error, alpha=alpha)
                row["people_needed"] = -(-needed * total // questionnaire.weight)
            rows.append(row)
    return rows
