"""What a reproduction leaves behind: JSON, a page and charts in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mdrr.files.whole import write_text
from mdrr.reproduction.charts import save_charts
from mdrr.reproduction.claims import check
from mdrr.reproduction.outcome import Outcome
from mdrr.reproduction.page import page


def fields_of(outcome: Outcome) -> dict[str, Any]:
    """Everything that was found, JSON-ready: the outcome and the claims with their verdicts."""
    return {**outcome.to_dict(), "claims": [claim.to_dict() for claim in check(outcome)]}


def write_folder(
    outcome: Outcome, folder: Path, command: str, *, pictures: bool = True
) -> list[Path]:
    """Write `results.json`, `results.md` and, with `pictures`, every chart as SVG and PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    results, about = folder / "results.json", folder / "results.md"
    text = json.dumps(fields_of(outcome), ensure_ascii=False, indent=1, allow_nan=False)
    write_text(results, text + "\n")
    drawn = save_charts(outcome, folder) if pictures else []
    write_text(about, page(outcome, command, "." if pictures else None))
    return [results, about, *drawn]


def write_page(outcome: Outcome, path: Path, command: str) -> list[Path]:
    """Write the page for the documentation, its charts in a folder of its name beside it."""
    pictures = path.with_suffix("")
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = [made for made in save_charts(outcome, pictures) if made.suffix == ".svg"]
    for made in pictures.glob("*.png"):
        made.unlink()
    write_text(path, page(outcome, command, pictures.name))
    return [path, *drawn]
