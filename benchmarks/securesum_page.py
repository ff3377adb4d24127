"""The page about secure sums: prose of securesum_page.md, numbers of one `benchmarks.securesum`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = Path(__file__).with_suffix(".md")


def document(results: dict[str, Any]) -> str:
    """The page."""
    people = results["by_people"]
    return TEMPLATE.read_text().format(
        cores=results["cores"],
        load=f"a load of at least {results['load']:.0f} while this was measured",
        cells=people[0]["cells"],
        by_people=_runs(people, "people"),
        by_cells=_runs(results["by_cells"], "cells"),
        limits=_limits(people, results["all_of_adult"]),
        network=_network(results["network"]),
        growth=_growth(people),
        one_person=_one_person(results["one_person"]),
    )


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [
        "| " + " | ".join(heads) + " |",
        "|---|" + "--:|" * (len(heads) - 1),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    return "\n".join(lines)


def _runs(runs: list[dict[str, Any]], by: str) -> str:
    other = "cells" if by == "people" else "people"
    rows = [
        [
            f"`{run['mode']}`",
            f"{run[by]:,}",
            f"{run[other]:,}",
            f"{run['seconds']:.1f}",
            f"{run['cpu']:.1f}",
            f"{run['sent_per_person'] / 1000:.1f}",
            f"{run['received_per_person'] / 1000:.1f}",
            f"{(run['sent'] + run['received']) / 1e6:.1f}",
        ]
        for run in runs
    ]
    return _table(
        ["mode", by, other, "seconds", "CPU s", "kB sent a person", "kB received a person",
         "MB in all"], rows)  # fmt: skip


def _limits(runs: list[dict[str, Any]], adult: dict[str, Any]) -> str:
    paper = max((r for r in runs if r["mode"] == "paper"), key=lambda r: r["people"])
    return (
        f"{paper['people']} parties in `paper` mode take {paper['cpu']:.0f} s of CPU in all, "
        f"{paper['cpu'] / paper['people'] * 1000:.0f} ms each. **All {adult['people']:,} people of "
        f"Adult** with two aggregators, the people in one process and the aggregators in another: "
        f"{adult['seconds']:.0f} s, of {adult['cpu']:.0f} s CPU "
        f"({adult['cpu'] / adult['people'] * 1000:.2f} ms a person, everybody's part and making "
        f"keys included), and {adult['sent_per_person'] / 1000:.1f} kB sent and "
        f"{adult['received_per_person'] / 1000:.1f} kB received a person."
    )


def _one_person(rows: list[dict[str, Any]]) -> str:
    cells = [
        [
            row["tables"],
            f"{row['aggregators']}",
            f"{row['sent'] / 1000:.1f}",
            f"{row['received'] / 1000:.1f}",
            f"{(row['sent'] + row['received']) / 1000:.1f}",
        ]
        for row in rows
    ]
    return _table(["tables", "aggregators", "kB sent", "kB received", "kB in all"], cells)


def _network(runs: list[dict[str, Any]]) -> str:
    rows = [
        [f"`{run['mode']}`", f"{run['people']}", f"{run['seconds']:.0f}", f"{run['cpu']:.0f}"]
        for run in runs
    ]
    return _table(["mode", "people", "seconds", "CPU s"], rows)


def _growth(runs: list[dict[str, Any]]) -> str:
    rows = []
    for run in runs:
        n, cells = run["people"], run["cells"]
        units = n * (n - 1) * cells if run["mode"] == "paper" else n * cells
        unit = "n(n−1)·cells" if run["mode"] == "paper" else "n·cells"
        microseconds = run["cpu"] / units * 1e6
        rows.append(
            [f"`{run['mode']}`", f"{n:,}", unit, f"{run['shares'] / units:.2f}",
             f"{microseconds:.3f}"])  # fmt: skip
    return _table(["mode", "people", "unit", "bytes of shares per unit", "CPU µs per unit"], rows)
