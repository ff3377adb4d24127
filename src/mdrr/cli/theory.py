"""`mdrr theory`: how accurate a design is before anyone is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from mdrr.cli.inputs import load_design
from mdrr.cli.options import AsJson, Level, People
from mdrr.cli.screen import finite, print_json, print_table, print_text
from mdrr.errors import MdrrError

EXAMPLE = "mdrr theory design.json --n 32561 --error 0.01"


def theory(
    design: Annotated[Path, Argument(help="The design (JSON).")],
    n: People,
    level: Level = 0.95,
    error: Annotated[
        float | None, Option(help="Also say how many people are needed for this absolute error.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict errors of the reported (λ̂) and the estimated (π̂) shares, before anyone is asked.

    All combinations are taken as equally likely.
    """
    import numpy as np

    from mdrr.theory import compare, frequency_errors, influence, people_needed

    if not 0 < level < 1:
        raise MdrrError(f"--level {level:g}: a confidence level lies between 0 and 1")
    alpha = round(1 - level, 12)
    made = load_design(design)
    total = made.weights
    rows: list[dict[str, Any]] = []
    for place, asked in enumerate(made.questionnaires):
        people = max(round(n * asked.weight / total), 1)
        for cluster in asked.clusters:
            if cluster.matrix.kind == "public":
                continue
            matrix = cluster.matrix
            even = np.full(matrix.cells, 1 / matrix.cells)
            row = frequency_errors(matrix, even, people, alpha).to_dict()
            del row["alpha"]
            row |= {"name": cluster.name, "questionnaire": place}
            row["forged"] = influence(matrix).swing
            if error is not None:
                needed = people_needed(even, matrix=matrix, absolute=error, alpha=alpha)
                row["people_needed"] = -(-needed * total // asked.weight)
            rows.append(row)
    epsilon, both = finite(made.epsilon), None
    shape = made.randomized.domain.shape
    if epsilon is not None and len(shape) > 1:
        both = compare(shape, n, epsilon, alpha)
    if as_json:
        compared = None if both is None else both.to_dict()
        fields = {"n": n, "level": level, "epsilon": epsilon}
        print_json({**fields, "clusters": rows, "comparison": compared})
        return
    heads = ["cluster", "people", "√B", "λ̂ abs", "λ̂ rel", "π̂ abs", "π̂ rel", "one forged report"]
    keys = ["name", "n", "sqrt_b", "lambda_abs", "lambda_rel", "pi_abs", "pi_rel", "forged"]
    if error is not None:
        heads.append(f"people for π̂ abs {error:g}")
        keys.append("people_needed")
    shown = [["∞" if row[key] is None else row[key] for key in keys] for row in rows]
    print_table(heads, shown, title=f"Errors that are not exceeded with probability {level:.0%}")
    print_text("one forged report: the most people by which it can move an estimated count.")
    if made.outside:
        print_text(made.outside)
    if both is not None:
        print_text(
            f"At the same ε, relative error of the worst attribute: RR-Independent "
            f"{both.attribute_independent:.3g}, RR-Joint {both.attribute_joint:.3g}; of all "
            f"combinations: RR-Independent {both.cell_independent:.3g}, RR-Joint "
            f"{both.cell_joint:.3g}."
        )
    elif epsilon is None:
        print_text(
            "ε is infinite: a report can prove that some answers are not hers. So there is no "
            "RR-Independent or RR-Joint of the same ε to compare with."
        )
