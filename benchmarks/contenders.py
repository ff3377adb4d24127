"""The work that `benchmarks.speed` times: who does it, and how much of it.

Each function takes a size and gives, one after the other, a contender's name, the work, and the
amount by which its time is divided.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.data import load

import mdrr
import mdrr.randomizer
from mdrr.counting import burt_tables
from mdrr.estimation.raking import rake
from mdrr.randomizer import randomize_codes
from mdrr.source import SystemSource
from mdrr.tallies import tally_codes

EPSILON = 4.0
SOME = 20_000
"""Values that peers randomize one by one; their time is given per value."""

Work = Callable[[], Any]


@cache
def adult(n: int) -> tuple[mdrr.Domain, list[np.ndarray]]:
    """So many people of Adult, drawn with repetition: codes, a contiguous column each."""
    people = load("adult")
    some = np.random.default_rng(0).integers(people.n, size=n)
    return people.domain, [column.astype(np.uint8)[some] for column in people.codes]


def limits(size: int) -> Iterator[tuple[str, Work, float]]:
    """What the machine can do at all: bytes copied, and bytes of keystream."""
    here, there = np.ones(size, np.uint8), np.empty(size, np.uint8)
    yield "copy of bytes", lambda: np.copyto(there, here), size
    source, part = SystemSource(), min(size, 2**20)
    times = size // part
    yield "keystream on one core", lambda: [source.read(part) and None for _ in range(times)], size


def randomize(n: int) -> Iterator[tuple[str, Work, float]]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    domain, codes = adult(n)
    design = mdrr.independent(domain, epsilon=EPSILON)
    kept = [(c.matrix.cells, c.matrix.keep, c.epsilon) for c in design.clusters]
    rng = np.random.default_rng(1)

    def plain() -> list[np.ndarray]:
        made = []
        for column, (cells, keep, _) in zip(codes, kept, strict=True):
            other = rng.integers(0, cells, n, dtype=np.uint8)
            made.append(np.where(rng.random(n, dtype=np.float32) < keep, column, other))
        return made

    few = [[int(value) for value in column[: SOME // len(codes)]] for column in codes]
    values = sum(map(len, few))
    clients = [DEClient(epsilon, cells, lambda value: value) for cells, _, epsilon in kept]
    one = ThreadPoolExecutor(1)

    def alone() -> mdrr.randomizer.Reports:
        with patch.object(mdrr.randomizer, "threads", lambda: one):
            return randomize_codes(codes, design)

    yield "mdrr", lambda: randomize_codes(codes, design), n * len(codes)
    yield "mdrr on one core", alone, n * len(codes)
    yield "numpy, PCG64", plain, n * len(codes)
    yield (
        "multi-freq-ldpy",
        lambda: [
            GRR_Client(value, cells, epsilon)
            for column, (cells, _, epsilon) in zip(few, kept, strict=True)
            for value in column
        ],
        values,
    )
    yield (
        "pure-ldp",
        lambda: [
            client.privatise(value)
            for column, client in zip(few, clients, strict=True)
            for value in column
        ],
        values,
    )


def frames(n: int) -> Iterator[tuple[str, Work, float]]:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    domain, codes = adult(n)
    design = mdrr.independent(domain, epsilon=EPSILON)
    labels = {a.name: list(map(str, a.categories)) for a in domain.attributes}
    named = dict(zip(domain.names, codes, strict=True))
    arrow = pa.table(
        {
            name: pa.DictionaryArray.from_arrays(column.astype(np.int8), labels[name])
            for name, column in named.items()
        }
    )
    polars = pl.DataFrame(
        {
            name: pl.Series(np.array(labels[name])[column], dtype=pl.Enum(labels[name]))
            for name, column in named.items()
        }
    )
    pandas = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(column.astype(np.int8), labels[name])
            for name, column in named.items()
        }
    )
    given = {
        "Polars Enum": polars,
        "pandas Categorical": pandas,
        "Arrow dictionaries": arrow,
        "Polars Categorical": polars.cast(pl.Categorical),
    }
    if n <= 1_000_000:
        text = {name: arrow[name].cast(pa.string()) for name in arrow.column_names}
        given |= {"Polars text": polars.cast(pl.String), "Arrow text": pa.table(text)}
    yield "codes", lambda: randomize_codes(codes, design), n
    for name, frame in given.items():
        yield name, lambda frame=frame: mdrr.randomize(frame, design), n
    long = [column.astype(np.uint32) for column in codes]
    yield "a copy, four bytes a value", lambda: [column.copy() for column in long], n


def pairs(n: int) -> Iterator[tuple[str, Work, float]]:
    import duckdb
    import polars as pl
    import pyarrow as pa

    domain, codes = adult(n)
    names = [f"a{j}" for j in range(len(codes))]
    both = list(combinations(names, 2))
    table = pa.table(dict(zip(names, codes, strict=True)))
    frame = pl.from_arrow(table).lazy()
    database = duckdb.connect()
    database.register("given", table)
    database.execute("create table people as select * from given")
    sets = ", ".join(f"({a}, {b})" for a, b in both)
    at_once = f"select {', '.join(names)}, count(*) from people group by grouping sets ({sets})"
    yield "mdrr", lambda: burt_tables(codes, domain.shape), n
    yield (
        "DuckDB, 28 queries",
        lambda: [
            database.execute(f"select {a}, {b}, count(*) from people group by {a}, {b}").fetchall()
            for a, b in both
        ],
        n,
    )
    yield "DuckDB, grouping sets", lambda: database.execute(at_once).fetchall(), n
    yield (
        "Polars",
        lambda: pl.collect_all([frame.group_by(a, b).len() for a, b in both]),
        n,
    )


def adjust(n: int) -> Iterator[tuple[str, Work, float]]:
    import pandas as pd
    from ipfn.ipfn import ipfn

    domain, codes = adult(n)
    design = mdrr.independent(domain, epsilon=2 * EPSILON)
    reports = randomize_codes(codes, design, mdrr.SeededSource(1))
    columns = reports.batches[0].codes
    tally = tally_codes(reports, design, keep="reports")
    targets = [f.values.ravel() for f in mdrr.estimate(tally, design, "product").joint.factors]

    def ours() -> Any:
        return rake(columns, targets, np.ones(n), tolerance=1e-9)

    def plain() -> np.ndarray:
        weights, residual = np.full(n, 1 / n), 1.0
        while residual >= 1e-9:
            residual = 0.0
            for column, target in zip(columns, targets, strict=True):
                sums = np.bincount(column, weights, len(target))
                residual = max(residual, float(np.abs(sums - target).max()))
                weights *= np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)[column]
        return weights

    frame = pd.DataFrame(dict(zip(domain.names, columns, strict=True)))
    wanted = [
        pd.Series(n * target, pd.Index(range(len(target)), name=name))
        for name, target in zip(domain.names, targets, strict=True)
    ]
    sweeps = ours().sweeps

    def peer() -> Any:
        start = frame.assign(total=1.0)
        dimensions = [[name] for name in domain.names]
        return ipfn(start, wanted, dimensions, max_iteration=1, verbose=0).iteration()

    yield "mdrr", ours, 1
    yield "numpy over records", plain, 1
    yield "ipfn, one sweep times their number", peer, 1 / sweeps


def auto(n: int) -> Iterator[tuple[str, Work, float]]:
    domain, codes = adult(n)
    design = mdrr.independent(domain, epsilon=EPSILON)
    tally = tally_codes(randomize_codes(codes, design, mdrr.SeededSource(1)), design)
    yield "mdrr", lambda: mdrr.estimate(tally, design), 1


def wide(n: int) -> Iterator[tuple[str, Work, float]]:
    """Sixty attributes of four categories, in six classes of people."""
    rng = np.random.default_rng(0)
    domain = mdrr.Domain(tuple(mdrr.Attribute(f"q{j}", tuple("wxyz")) for j in range(60)))
    upto = rng.dirichlet(np.full(4, 0.7), (6, 60)).cumsum(axis=-1)
    of = rng.integers(6, size=n)
    codes = [(rng.random(n)[:, None] > upto[of, j, :3]).sum(axis=1) for j in range(60)]
    done: dict[str, Any] = {}

    def keep(name: str, made: Any) -> None:
        done[name] = made

    yield "plan", lambda: keep("plan", mdrr.plan(domain, n=n, epsilon=EPSILON)), 1
    for name, design in (
        ("planned", done["plan"].design),
        ("RR-Independent", mdrr.independent(domain, epsilon=4 * EPSILON)),
    ):
        tally = tally_codes(randomize_codes(codes, design, mdrr.SeededSource(1)), design)
        yield f"auto, {name}", lambda t=tally, d=design: keep("auto", mdrr.estimate(t, d)), 1
        yield f"one count, {name}", lambda: done["auto"].count({"q0": "w", "q1": "x"}), 1
        yield f"sample(10_000), {name}", lambda: done["auto"].sample(10_000), 1


def categories(n: int) -> Iterator[tuple[str, Work, float]]:
    """Two attributes of a thousand categories."""
    rng = np.random.default_rng(0)
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple(range(1000))) for name in "ab"))
    first = np.minimum(rng.gamma(1.0, 125, n).astype(int), 999)
    second = np.minimum(np.abs(first + rng.normal(0, 50, n)).astype(int), 999)
    for name, design in (
        ("RR-Independent", mdrr.independent(domain, epsilon=EPSILON)),
        ("planned", mdrr.plan(domain, n=n, epsilon=EPSILON).design),
    ):
        tally = tally_codes(randomize_codes([first, second], design, mdrr.SeededSource(1)), design)
        yield f"auto, {name}", lambda t=tally, d=design: mdrr.estimate(t, d), 1


def latent(n: int) -> Iterator[tuple[str, Work, float]]:
    """Against Private-PGM on all pairs; what both err by is printed beside the time."""
    from benchmarks.peers import pgm

    domain, codes = adult(n)
    design = mdrr.independent(domain, epsilon=2 * EPSILON)
    tally = tally_codes(randomize_codes(codes, design, mdrr.SeededSource(1)), design)
    tables = pgm.from_tally(tally, design)
    found: dict[str, Any] = {}

    def all_pairs() -> None:
        pgm.choose = lambda mbi, over, tables: set(tables)  # not only what it thinks worthwhile
        found["mbi"] = pgm.pgm(domain, tables, n)

    def ours() -> None:
        found["mdrr"] = mdrr.estimate(tally, design, "latent").joint.table

    yield "mdrr", ours, 1
    yield "mbi, all pairs", all_pairs, 1
    for name, answer in found.items():
        yield f"error of {name}", lambda a=answer: error(domain, codes, a), 1


def error(domain: mdrr.Domain, codes: list[np.ndarray], answer: Callable[..., Any]) -> float:
    """The mean total variation of pair tables."""
    found = []
    for i, j in combinations(range(len(codes)), 2):
        sizes = domain.shape[i], domain.shape[j]
        cells = codes[i].astype(np.int64) * sizes[1] + codes[j]
        truth = np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes) / len(codes[0])
        found.append(np.abs(answer((domain.names[i], domain.names[j])) - truth).sum() / 2)
    return float(np.mean(found))


def adult_file(n: int, path: Path) -> mdrr.Domain:
    """Write a Parquet file of so many people of Adult, as dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    domain, codes = adult(min(n, 2_000_000))
    labels = [list(map(str, a.categories)) for a in domain.attributes]
    arrays = [
        pa.DictionaryArray.from_arrays(column.astype(np.int8), values)
        for column, values in zip(codes, labels, strict=True)
    ]
    table = pa.table(dict(zip(domain.names, arrays, strict=True)))
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(max(n // len(table), 1)):
            writer.write_table(table, row_group_size=1_000_000)
    return domain


def file(n: int) -> Iterator[tuple[str, Work, float]]:
    """From a file of true records to the estimate, reports and all; DuckDB only counts it."""
    import duckdb
    import pyarrow.dataset as ds

    folder = TemporaryDirectory()  # removed with the process
    path = Path(folder.name, "people.parquet")
    domain = adult_file(n, path)
    design = mdrr.independent(domain, epsilon=EPSILON)

    def ours(_: Any = folder) -> Any:
        people = ds.dataset(path).scanner().to_reader()
        tally = mdrr.tally(mdrr.randomize(people, design), design)
        return mdrr.estimate(tally, design, "pairwise")

    def counts() -> None:
        with duckdb.connect() as database:
            for name in domain.names:
                query = f'select "{name}", count(*) from read_parquet(?) group by 1'
                database.execute(query, [str(path)]).fetchall()

    yield "mdrr: randomize, tally, pairwise", ours, 1
    yield "DuckDB: eight margins", counts, 1


def start(_: int) -> Iterator[tuple[str, Work, float]]:
    for name, words in (
        ("python -c pass", ["-c", "pass"]),
        ("import mdrr", ["-c", "import mdrr"]),
        ("mdrr --help", ["-m", "mdrr", "--help"]),
    ):
        command = [sys.executable, *words]
        yield name, lambda c=command: subprocess.run(c, check=True, capture_output=True), 1
