"""How long the whole reproduction takes: `python benchmarks/reproduction.py [--quick]`.

Wall and CPU seconds of `mdrr reproduce` with nothing to resume, and milliseconds a run for every
experiment. On a machine that others use, CPU seconds divided by the workers are what it would take.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mdrr.reproduction.settings import Settings
from mdrr.reproduction.unit import Unit, measure
from mdrr.reproduction.variants import KINDS

CASES = (
    ("table1", Unit("table1", 0.3, 0, 40), Settings()),
    ("table2", Unit("table2", 0.3, 0, 40), Settings()),
    ("figure2", Unit("figure2", 0.7, 0, 40), Settings()),
    ("figure3", Unit("figure3", 0.7, 0, 10, (100, 0.3)), Settings()),
    ("joint", Unit("joint", 0.3, 0, 20), Settings()),
    ("table1, attributes", Unit("table1", 0.3, 0, 10), Settings(dependences="attributes")),
)


def each() -> dict[str, float]:
    """CPU milliseconds a run (all cells of one p), after a first one that compiles."""
    found = {}
    for name, unit, settings in CASES:
        measure(unit, settings)
        start = time.process_time()
        measure(unit, settings)
        spent = time.process_time() - start
        found[name] = round(1000 * spent / (unit.stop - unit.start), 2)
    return found


def whole(arguments: list[str]) -> dict[str, float]:
    """Wall and CPU seconds of the command, its processes included."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mdrr", "reproduce", "-o", folder, *arguments]
        before, start = os.times(), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.perf_counter() - start, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return {"wall_seconds": round(wall, 1), "cpu_seconds": round(cpu, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="time --quick instead of 1000 runs")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="also write the numbers here, as JSON")
    asked = parser.parse_args()
    words = ["--quick"] if asked.quick else ["--runs", str(asked.runs)]
    found = {
        "command": " ".join(["mdrr reproduce", *words, f"--workers {asked.workers}"]),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "variants": {kind: len(make(Settings())) for kind, make in KINDS.items()},
        "cpu_milliseconds_a_run": each(),
        **whole([*words, "--workers", str(asked.workers)]),
    }
    text = json.dumps(found, indent=1)
    print(text)
    if asked.out:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
