"""Make experiments/golden/*.json: medians over 1000 runs with their bands, for the tests.

    python experiments/make_golden.py [out/reproduction/runs]

Finished runs in the folder (those of `mdrr reproduce`) are used, the others are run.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from mdrr.reproduction.results import median
from mdrr.reproduction.runner import run
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.store import Store
from mdrr.reproduction.unit import units

GOLDEN = Path(__file__).parent / "golden"

KEPT = {
    "table1": ("table1", Settings()),
    "table2": ("table2", Settings()),
    "figure2": ("figure2", Settings()),
    "figure3": ("figure3", Settings()),
    "joint": ("joint", Settings()),
    "table1-printed": ("table1", Settings(matrix="printed")),
    "table1-power": ("table1", Settings(matrix="power")),
    "table1-repeated": ("table1", Settings(pairs="repeated")),
    "table1-attributes": ("table1", Settings(dependences="attributes")),
    "table1-three-attributes": ("table1", Settings(query_size=3)),
}


def main(folder: Path) -> None:
    for name, (experiment, settings) in KEPT.items():
        store = Store.open(folder, settings)
        listed = units(experiment, settings.runs)
        run([(settings, store, listed)])
        series = {}
        for p in dict.fromkeys(unit.p for unit in listed):
            errors = store.errors([unit for unit in listed if unit.p == p])
            for key, values in errors.items():
                found = median(values)
                numbers = (found.value, found.low, found.high)
                series[f"p={p} {key}"] = [float(f"{x:.6g}") for x in numbers]
        fields = {"experiment": experiment, "settings": asdict(settings), "series": series}
        text = json.dumps(fields, ensure_ascii=False, indent=0, separators=(",", ":"))
        (GOLDEN / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(series)} medians")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/reproduction/runs"))
