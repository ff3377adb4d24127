"""RR-Joint over all 1,814,400 combinations of Adult, in less than 1 GiB."""

import json
import subprocess
import sys

PROGRAM = """
import json
from pathlib import Path
import numpy as np
import mdrr
from mdrr.estimation import estimate

design = mdrr.joint(mdrr.datasets.adult_domain(), p=0.7)
people = mdrr.datasets.adult()
tally = mdrr.tally(mdrr.randomize(people, design, source=mdrr.SeededSource(1)), design)
found = estimate(tally, design, "product")
where = {"sex": ["Female"], "income": [">50K"]}
count = found.count(where)
truth = people.filter((people["sex"] == "Female") & (people["income"] == ">50K")).height
table = found.table("sex", "income")
print(json.dumps({
    "cells": design.clusters[0].matrix.cells,
    "n": found.n,
    "asked": mdrr.independent(design.domain, p=0.7).epsilon,
    "epsilon": design.epsilon,
    "count": [count.low, count.value, count.high],
    "truth": truth,
    "table": float(table.values.sum()),
    "width": float((table.high - table.low).max()),
    "records": len(mdrr.synthesize(found, 1000)),
    "bytes": 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]),
}))
"""


def test_the_joint_of_adult_is_estimated_within_a_gibibyte():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["cells"] == 1_814_400
    assert found["n"] == 32_561
    assert found["bytes"] < 2**30
    assert abs(found["epsilon"] - found["asked"]) < 0.01
    low, value, high = found["count"]
    assert low <= value <= high
    assert high - low < 0.05 * found["n"]
    assert abs(found["table"] - 1) < 1e-9
    assert found["width"] < 0.1
    assert found["records"] == 1000
    # The interval is 2 · 1.96 standard errors long; 4.42 of them are exceeded once in 100,000.
    assert abs(value - found["truth"]) < 4.42 / (2 * 1.96) * (high - low)
