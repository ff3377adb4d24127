"""`mdrr privacy`: what a design reveals, in numbers and in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mdrr.cli.inputs import load_design
from mdrr.cli.options import AsJson
from mdrr.cli.screen import print_json, print_table, print_text

EXAMPLE = "mdrr privacy design.json --shuffled 32561"


def privacy(
    design: Annotated[Path, Argument(help="The design (JSON).")],
    shuffled: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Also give (ε, δ) for N reports (with the same public answers) whose senders are "
            "hidden.",
        ),
    ] = None,
    delta: Annotated[float, Option(help="The δ of that guarantee.")] = 1e-9,
    as_json: AsJson = False,
) -> None:
    """Say what one report reveals: ε of the record, of each cluster and attribute, and in words."""
    from mdrr.privacy import account, in_words
    from mdrr.privacy import shuffled as by_shuffling

    made = load_design(design)
    spent = account(made)
    mixed = None if shuffled is None else by_shuffling(made, shuffled, delta)
    words = in_words(made)
    if as_json:
        hidden = None if mixed is None else mixed.to_dict()
        print_json({**spent.to_dict(), "words": list(words), "shuffled": hidden})
        return
    rows = [[a.name, a.asked, a.epsilon, a.epsilon_others_unknown] for a in spent.attributes]
    heads = ["attribute", "asked", "ε", "ε, other answers unknown"]
    print_table(heads, rows, title="What a report reveals")
    beside = f" {made.outside}" if made.outside else ""
    print_text(f"One person spends ε = {spent.epsilon:.4f} in all.{beside}\n")
    for sentence in words:
        print_text(f"• {sentence}")
    if mixed is not None:
        same = " that have the same public answers" if made.outside else ""
        print_text(
            f"\nMixed with {mixed.n:,} reports{same}, sender hidden: ε = {mixed.epsilon:.4f}, "
            f"δ = {mixed.delta:g} ({mixed.method})."
        )
