"""What a secure sum opened: as fields for machines, as dependences for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdrr.cli.screen import print_table, print_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mdrr.securesum.question import Question
    from mdrr.securesum.ways import Assessment


def opened_fields(
    question: Question, totals: npt.NDArray[np.int64], people: int
) -> dict[str, object]:
    """What a secure sum opened, JSON-ready, with what it reveals."""
    from mdrr.securesum.statement import of_opened

    return {"n": people, "question": question.to_dict(), "totals": totals.tolist(),
            "privacy": of_opened(question.matrices, people).to_dict()}  # fmt: skip


def show_opened(question: Question, totals: npt.NDArray[np.int64], people: int) -> None:
    """Print what a secure sum opened, as dependences for people."""
    from mdrr.securesum.ways import assess  # late: SciPy stands behind it

    found = assess(question, totals, people)
    show_assessment(found, found.cluster(max_cells=100, min_dependence=0.1))
    print_text("For other thresholds, save the output of --json and give it to 'mdrr cluster'.")


def show_assessment(found: Assessment, clusters: Sequence[Sequence[str]]) -> None:
    """Print the dependence matrix, the clusters of Algorithm 1, and the privacy statement."""
    names, values = found.domain.names, found.dependences.values.tolist()
    if found.caution:
        values = [["–"] * len(names) for _ in names]
    rows = [[name, *row] for name, row in zip(names, values, strict=True)]
    print_table(["", *names], rows, f"Dependences of {found.people} people")
    if found.caution:
        print_text(found.caution)
    print_text("Clusters: " + "; ".join(" + ".join(one) for one in clusters))
    print_text(str(found.privacy))
