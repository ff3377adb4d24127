"""The page about secure sums: prose of securesum_page.md, numbers of one `benchmarks.securesum`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import pages

TEMPLATE = Path(__file__).with_suffix(".md")


def document(results: dict[str, Any]) -> str:
    """The page."""
    return TEMPLATE.read_text().format(
        cores=results["cores"],
        load=f"a load of at least {results['load']:.0f} while this was measured",
        cells=results["paper"][0]["cells"],
        batch=_batches([*results["batch"], *results["adult"]], "people"),
        batch_cells=_batches(results["batch_cells"], "cells"),
        adult="\n".join(_adult(row) for row in results["adult"]),
        paper=_paper(results["paper"], "people"),
        paper_cells=_paper(results["paper_cells"], "cells"),
    )


def _batches(runs: list[dict[str, Any]], by: str) -> str:
    rows = []
    for run in runs:
        each = [
            run[f"{who}_cpu"] / run["people"] * 1000 for who in ("people", "relay", "aggregators")
        ]
        rows.append(
            [
                f"{run[by]:,}",
                f"{run['seconds']:.1f}",
                f"{run['seconds'] / run['people'] * 1000:.1f}",
                *(f"{value:.2f}" for value in each),
                f"{run['sent_per_person'] / 1000:.1f}",
                f"{run['stored'] / run['people'] / 1000:.1f}",
            ]
        )
    heads = [by, "seconds", "ms a person", "CPU ms: person", "relay", "aggregators"]
    heads += ["kB sent a person", "kB stored a person"]
    return pages.table(heads, rows, texts=())


def _adult(run: dict[str, Any]) -> str:
    cpu = sum(run[f"{who}_cpu"] for who in ("people", "relay", "aggregators"))
    return (
        f"**All {run['people']:,} people of Adult**, from the first report to both results: "
        f"{run['seconds']:.0f} s, of {cpu:.0f} s CPU of everybody together. A person sends "
        f"{run['sent_per_person'] / 1000:.1f} kB and receives the signed batch, "
        f"{run['received_per_person'] / 1000:.1f} kB."
    )


def _paper(runs: list[dict[str, Any]], by: str) -> str:
    rows = []
    for run in runs:
        n, cells = run["people"], run["cells"]
        units = n * (n - 1) * cells
        rows.append(
            [
                f"{run[by]:,}",
                f"{run['seconds']:.1f}",
                f"{run['cpu']:.1f}",
                f"{run['sent_per_person'] / 1000:.1f}",
                f"{run['received_per_person'] / 1000:.1f}",
                f"{run['shares'] / units:.2f}",
                f"{run['cpu'] / units * 1e6:.3f}",
            ]
        )
    heads = [by, "seconds", "CPU s", "kB sent a person", "kB received a person"]
    heads += ["bytes of shares per n(n−1)·cells", "CPU µs per n(n−1)·cells"]
    return pages.table(heads, rows, texts=())
