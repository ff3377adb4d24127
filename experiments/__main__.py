"""`python -m experiments`: run the paper's experiments again and write the page about them.

Finished runs are kept in `out/reproduction/runs.jsonl`; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.runner import run

from experiments.charts import save_charts
from experiments.claims import check
from experiments.medians import Outcome, gather
from experiments.page import in_all, page
from experiments.printed import RUNS
from experiments.runs import jobs, work

OUT = Path("out/reproduction")
GOLDEN = Path(__file__).parent / "golden.json"
QUICK = 20


def golden(outcome: Outcome) -> str:
    """Every median with its band and number of runs, one a line."""
    rows = {
        key: [float(f"{x:.6g}") for x in (m.value, m.low, m.high)] + [len(m.number.moves)]
        for key, m in outcome.series.items()
    }
    text = ",\n".join(f"{json.dumps(key, ensure_ascii=False)}: {row}" for key, row in rows.items())
    return "{\n" + text + "\n}\n"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"the paper's {RUNS} by default")
    parser.add_argument("--quick", action="store_true", help=f"a first look: {QUICK} runs")
    parser.add_argument("--seed", type=int, default=1, help="the same seed, the same numbers")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="keeps finished runs and the page")
    parser.add_argument("--fresh", action="store_true", help="forget the finished runs first")
    parser.add_argument("--docs", action="store_true", help="also write the docs and golden.json")
    asked = parser.parse_args(words)
    if asked.runs < 1 or asked.workers < 0 or asked.seed < 0:
        parser.error("give at least one run, and no negative numbers")
    runs, kept = QUICK if asked.quick else asked.runs, asked.out / "runs.jsonl"
    if asked.fresh:
        kept.unlink(missing_ok=True)
    listed = jobs(runs, asked.seed)
    try:
        done = run(listed, work, kept, workers=asked.workers, kind=lambda job: job[:2])
    except KeyboardInterrupt:
        print(
            f"stopped. Finished runs are kept in {kept}; the same command goes on", file=sys.stderr
        )
        return 130
    missing = [job for job in listed if job not in done]
    if missing:
        print(f"{len(missing)} jobs failed, the first is {missing[0]}", file=sys.stderr)
        return 1
    outcome = gather({job: done[job] for job in listed}, runs, asked.seed)
    folders = [asked.out, *([Path("docs/benchmarks")] if asked.docs else [])]
    pages = [folder / "reproduction.md" for folder in folders]
    for path in pages:
        save_charts(outcome, path.with_suffix(""))
        path.write_text(page(outcome, path.stem), encoding="utf-8")
    if asked.docs:
        GOLDEN.write_text(golden(outcome), encoding="utf-8")
    claims = check(outcome)
    for claim in claims:
        print(f"{claim.verdict:15} {claim.section:14} {claim.text}")
    print(f"{in_all(claims)}. Written: {', '.join(map(str, pages))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
