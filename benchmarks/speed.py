"""How fast the work is, beside others that do the same: ratios within one run.

    python -m benchmarks.speed                    # all of it, about an hour; writes the page
    python -m benchmarks.speed randomize pairs    # some of it, into the same results
    python -m benchmarks.speed --quick            # small sizes, on screen
    python -m benchmarks.speed --page             # the page from benchmarks/results alone

Every piece of work runs in a process of its own. There each contender does it once to warm up,
then all of them in turn, several times, and the medians are compared: what else the machine does
slows all of them alike. Peaks of memory are those of processes with one contender.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contenders import Work
from benchmarks.speed_page import document

from benchmarks import contenders

RESULTS = Path("benchmarks/results/speed.json")


@dataclass(frozen=True)
class Case:
    """Some work at some size: who does it, and how often it is timed."""

    work: str
    size: int
    quick: int
    rounds: int = 5


CASES = (
    Case("limits", 2**28, 2**22),
    *(Case("randomize", n, n // 50) for n in (32_561, 1_000_000, 10_000_000)),
    Case("frames", 1_000_000, 20_000, 25),  # milliseconds, which scatter
    Case("frames", 10_000_000, 200_000),
    *(Case("pairs", n, n // 50) for n in (1_000_000, 10_000_000)),
    Case("adjust", 1_000_000, 20_000),
    *(Case("auto", n, n // 20, 3) for n in (32_561, 1_000_000)),
    Case("wide", 100_000, 2_000, 1),
    Case("categories", 100_000, 5_000, 3),
    Case("latent", 32_561, 2_000, 0),  # minutes: once, and what is compiled at first counts
    Case("file", 100_000_000, 200_000, 1),
    Case("start", 1, 1, 7),
)


def measure(case: Case, size: int, only: str | None) -> dict[str, Any]:
    """All contenders in turn, or one of them alone for its peak of memory."""
    found: list[tuple[str, Work, float]] = []
    told: dict[str, float] = {}
    for name, work, amount in getattr(contenders, case.work)(size):
        if only not in (None, name):
            continue
        began = time.perf_counter()
        result = work()
        told[name] = time.perf_counter() - began
        if name.startswith("error of"):
            told[name] = result
        else:
            found.append((name, work, amount))
    seconds: dict[str, list[float]] = {name: [] for name, *_ in found}
    for _ in range(0 if only else case.rounds):
        for name, work, _ in found:
            began = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - began)
    rows = []
    for name, _, amount in found:
        took = median(seconds[name]) if seconds[name] else told[name]
        rows.append({"name": name, "seconds": took, "each": took / amount})
    errors = {name: value for name, value in told.items() if name.startswith("error of")}
    return {"rows": rows, "errors": errors, "peak": _peak()}


def _peak() -> float:
    """The most memory this process ever had, in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def run(case: Case, size: int, only: str | None = None) -> dict[str, Any]:
    """A case in a process of its own."""
    place = str(CASES.index(case))
    words = ["--child", place, str(size), *([only] if only else [])]
    made = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed", *words], stdout=subprocess.PIPE, text=True
    )
    if made.returncode:
        raise SystemExit(f"{case.work} of {size:,} ended with code {made.returncode}")
    return json.loads(made.stdout.splitlines()[-1])


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("works", nargs="*", help="some of: " + ", ".join(_works()))
    parser.add_argument("--quick", action="store_true", help="small sizes, on screen")
    parser.add_argument("--page", action="store_true", help="only the page, from the results")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        place, size, *only = options.child
        print(json.dumps(measure(CASES[int(place)], int(size), only[0] if only else None)))
        return
    if unknown := sorted(set(options.works) - set(_works())):
        parser.error(f"there is no {unknown[0]!r}; choose from {', '.join(_works())}")
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cases": {}}
    for case in CASES if not options.page else ():
        if options.works and case.work not in options.works:
            continue
        size = case.quick if options.quick else case.size
        found = run(case, size)
        if case.work == "file":  # DuckDB's memory is not ours
            found["peak"] = run(case, size, found["rows"][0]["name"])["peak"]
        found["load"] = os.getloadavg()[0]
        print(case.work, f"{size:,}", json.dumps(found), flush=True)
        kept["cases"][f"{case.work} {case.size}"] = found
    if options.quick:
        return
    kept["machine"] = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    document(kept)


def _works() -> list[str]:
    return list(dict.fromkeys(case.work for case in CASES))


if __name__ == "__main__":
    main()
