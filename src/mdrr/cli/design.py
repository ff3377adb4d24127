"""`mdrr design`: from a survey file to a frozen design."""

from __future__ import annotations

EXAMPLE = "mdrr design examples/adult.toml --protocol independent --p 0.7 -o design.json"


def design() -> None:
    """Make a design from a survey file: which answers are randomized together, and how much."""
