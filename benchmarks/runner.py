"""Many small jobs on both cores, every result kept as soon as it is there, the time left on screen.

A job is a tuple of plain values; its result a dictionary. Results are appended to a file of JSON
lines, so a run that was stopped goes on where it was, and a single method can be run again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

Job = tuple[Any, ...]

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # jobs run side by side: one thread each
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")


def options(about: str | None, name: str) -> argparse.ArgumentParser:
    """The command line of a benchmark made of jobs: what all of them have."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="stop after this long; go on later")
    parser.add_argument("--kept", type=Path, default=Path(f"out/{name}.jsonl"))
    parser.add_argument("--page", action="store_true", help="only write the page again")
    return parser


def read(path: Path) -> dict[Job, dict[str, Any]]:
    """The results kept so far; the last one of a job counts, a torn last line is left out."""
    found: dict[Job, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[tuple(entry["job"])] = entry
    return found


def forget(path: Path, names: list[str]) -> None:
    """Take the results of some (a job's last part) out of the file of kept ones."""
    kept = [entry for job, entry in read(path).items() if job[-1] not in names]
    if path.exists():
        path.write_text("".join(json.dumps(entry) + "\n" for entry in kept))


def written(results: dict[str, Any]) -> str:
    """The results as JSON with one row a line, so that a change can be read."""
    parts = []
    for key, value in results.items():
        if key in ("rows", "choices"):
            text = "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        else:
            text = json.dumps(value, indent=1).replace("\n", "\n ")
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def means(
    entries: Sequence[Mapping[str, Any]], metrics: Iterable[str], digits: int
) -> dict[str, float]:
    """The mean of each metric over some results and, of several, its standard error.

    >>> means([{"a": 0.1}, {"a": 0.3}], ["a"], 3)
    {'a': 0.2, 'a_error': 0.1}
    """
    found = {}
    for metric in metrics:
        values = np.array([entry[metric] for entry in entries])
        found[metric] = round(float(values.mean()), digits)
        if len(values) > 1:
            error = float(values.std(ddof=1)) / math.sqrt(len(values))
            found[f"{metric}_error"] = round(error, digits)
    return found


def run_asked(
    asked: argparse.Namespace, jobs: Iterable[Job], work: Callable[[Job], Any], **how: Any
) -> dict[Job, dict[str, Any]]:
    """`run` as the command line asks for it."""
    return run(jobs, work, asked.kept, workers=asked.workers, minutes=asked.minutes, **how)


def run(
    jobs: Iterable[Job],
    work: Callable[[Job], dict[str, Any]],
    path: Path,
    *,
    workers: int = 2,
    kind: Callable[[Job], Any] = lambda job: job[-1],
    minutes: float | None = None,
) -> dict[Job, dict[str, Any]]:
    """Do the jobs that have no result yet; a job that fails is reported and left undone.

    Arguments:
        jobs: in the order wanted.
        work: a module-level function.
        path: the file of JSON lines.
        workers: processes; 0 does everything in this one.
        kind: jobs of one kind take about as long, for the time left.
        minutes: stop giving out jobs after this long.
    """
    done = read(path)
    left = [job for job in jobs if job not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(left, kind, max(workers, 1))
    begun = time.monotonic()

    def late() -> bool:
        return minutes is not None and time.monotonic() - begun > 60 * minutes

    with path.open("a") as kept:

        def keep(job: Job, result: dict[str, Any], seconds: float) -> None:
            entry = {"job": list(job), "seconds": round(seconds, 2), **result}
            kept.write(json.dumps(entry) + "\n")
            kept.flush()
            done[job] = json.loads(json.dumps(entry))
            progress.add(job, seconds)

        if workers == 0:
            for job in left:
                if late():
                    break
                keep(job, *timed(work, job))
            return done
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the workers' jobs as well
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            waiting = iter(left)
            running = {}

            def give() -> None:
                job = None if late() else next(waiting, None)
                if job is not None:
                    running[pool.submit(timed, work, job)] = job

            for _ in range(workers + 1):
                give()
            while running:
                future = next(as_completed(running))
                job = running.pop(future)
                give()
                try:
                    keep(job, *future.result())
                except Exception as error:  # one method's failure must not end the run
                    print(f"\nfailed: {job}: {type(error).__name__}: {error}", file=sys.stderr)
    return done


def timed(work: Callable[[Job], dict[str, Any]], job: Job) -> tuple[dict[str, Any], float]:
    begun = time.perf_counter()
    return work(job), time.perf_counter() - begun


class Progress:
    """One line: how many are done and about how long the rest takes, by each kind's mean time."""

    def __init__(self, jobs: list[Job], kind: Callable[[Job], Any], workers: int) -> None:
        self.total, self.done, self.workers, self.kind = len(jobs), 0, workers, kind
        self.left: dict[Any, int] = defaultdict(int)
        self.times: dict[Any, list[float]] = defaultdict(list)
        for job in jobs:
            self.left[kind(job)] += 1
        self.shown = 0.0

    def add(self, job: Job, seconds: float) -> None:
        self.done += 1
        self.left[self.kind(job)] -= 1
        self.times[self.kind(job)].append(seconds)
        now = time.monotonic()
        if now - self.shown > (0.2 if sys.stderr.isatty() else 15) or self.done == self.total:
            self.shown = now
            self.show()

    @property
    def remaining(self) -> float:
        """Seconds: every job left at the mean time of its kind, or of all kinds if new."""
        every = [second for times in self.times.values() for second in times]
        mean = sum(every) / len(every)
        means = {k: sum(times) / len(times) for k, times in self.times.items()}
        return sum(count * means.get(k, mean) for k, count in self.left.items()) / self.workers

    def show(self) -> None:
        share = self.done / self.total
        bar = "█" * int(24 * share) + "░" * (24 - int(24 * share))
        minutes, seconds = divmod(int(self.remaining), 60)
        line = f"{bar} {self.done}/{self.total} ({share:.0%}), about {minutes}:{seconds:02d} left"
        tty = sys.stderr.isatty()
        end = "\n" if self.done == self.total or not tty else ""
        print(f"\r{line}   " if tty else line, end=end, file=sys.stderr, flush=True)
