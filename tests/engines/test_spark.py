"""Spark gives what one machine gives: on a cluster of processes, of which some are killed."""

import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mdrr
from mdrr import spark
from mdrr.domain import Attribute, Domain
from mdrr.errors import SchemaError, TallyError
from mdrr.files import write_tables
from mdrr.protocols import clustered, independent
from mdrr.randomizer import randomize_codes
from mdrr.report_frames import report_table
from tests.cases import designs, domain_of
from tests.cli.run import done, refusal
from tests.engines.conftest import CHECKPOINTS, processes
from tests.people import distribution, records

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
PEOPLE = 6_000


def reports_of(design, n: int = PEOPLE, seed: int = 1) -> pa.Table:
    """What n people report, on one machine."""
    codes = records(distribution(design.domain, seed, 0.05), n, seed)
    return report_table(randomize_codes(codes, design, mdrr.SeededSource(seed)), design)


def kill_one() -> int:
    """Kill a process that runs tasks and holds data, as a machine that fails would."""
    started = processes(os.getpid())
    executors = [p for p in started if b"CoarseGrainedExecutorBackend" in command(p)]
    os.kill(min(executors), signal.SIGKILL)
    return min(executors)


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def killing(frame, flag: Path):
    """The same frame, whose first task kills its executor after it has sent some rows."""

    def passed(batches):
        import os
        from pathlib import Path

        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                stat = Path(f"/proc/{os.getppid()}/stat").read_text()
                os.kill(int(stat.rpartition(")")[2].split()[1]), 9)
            yield batch.slice(batch.num_rows // 2)

    return frame.mapInArrow(passed, frame.schema)


@pytest.mark.parametrize("kind", ["labels", "mixed", "public, sampled", "subsets"])
def test_tally_is_the_same_to_the_unit(cluster, kind):
    design = designs()[kind]
    table = reports_of(design)
    assert mdrr.tally(cluster.createDataFrame(table), design) == mdrr.tally(table, design)


def test_tally_is_the_same_when_a_worker_dies(cluster, tmp_path):
    design = designs()["mixed"]
    table = reports_of(design)
    frame = killing(cluster.createDataFrame(table).repartition(4), tmp_path / "killed")
    assert mdrr.tally(frame, design) == mdrr.tally(table, design)
    assert (tmp_path / "killed").exists()


def test_driver_gets_no_rows(cluster):
    """300,000 reports of 40 bytes and more each: the driver may be sent 1 MB by one job."""
    domain = domain_of(3, 2)
    design = independent(domain, p=0.5)
    many = cluster.range(300_000, numPartitions=4).selectExpr(
        "concat('a', id % 3) as a", "concat('b', id % 2) as b"
    )
    reports = mdrr.randomize(many, design)
    found = mdrr.tally(reports, design)
    assert (found.n, found.distinct) == (300_000, 6)
    weighed = mdrr.weigh(reports, design)
    assert weighed.agg({"weight": "sum"}).first()[0] == pytest.approx(300_000, rel=1e-9)
    with pytest.raises(Exception, match="maxResultSize"):
        reports.collect()


def test_randomized_as_the_design_says(cluster):
    """Each cell of a row is binomial: a false alarm in one of 10^5 runs, over all cells."""
    design = independent(Domain((Attribute("a.b", ("x", "y", "z")), Attribute("c", (1, 2)))), p=0.4)
    n = 40_000
    people = cluster.range(n, numPartitions=2).selectExpr(
        "'y' as `a.b`", "cast(2 as int) as c", "id as name"
    )
    reports = mdrr.randomize(people, design)
    assert reports.columns == ["a.b", "c"]
    (group,) = mdrr.tally(reports, design).groups
    for at in (0, 1):
        expected = n * np.array([0.2, 0.6, 0.2] if at == 0 else [0.3, 0.7])
        sd = np.sqrt(expected * (1 - expected / n))
        assert np.all(np.abs(group.marginal(at) - expected) < 5.0 * sd + 1)
    # Two partitions of the same people do not draw the same bytes.
    halves = [pq.read_table(p).to_pylist() for p in sorted(written(reports))]
    assert len(halves) == 2
    assert halves[0][:200] != halves[1][:200]


def written(reports) -> list[Path]:
    return [Path(name.removeprefix("file://")) for name in reports.inputFiles()]


def test_nobody_is_randomized_twice(cluster, folder, tmp_path):
    """A killed worker's tasks run again; what was drawn before is nowhere."""
    n = 4_000
    domain = Domain(
        (Attribute("who", tuple(range(n)), public=True), Attribute("a", tuple("abcdefgh")))
    )
    design = clustered(domain, [["a"]], p=0.1)
    people = cluster.range(n, numPartitions=4).selectExpr("id as who", "'c' as a")
    before = set((folder / CHECKPOINTS).rglob("*"))
    reports = mdrr.randomize(killing(people, tmp_path / "killed"), design)
    assert (tmp_path / "killed").exists()
    files = [p for p in set((folder / CHECKPOINTS).rglob("*")) - before if p.is_file()]
    kept = [path for path in files if path.suffix == ".parquet"]
    assert {path.name for path in files if not path.name.startswith(".")} == {
        "_SUCCESS",
        *(path.name for path in kept),
    }
    rows = pl.concat([pl.from_arrow(pq.read_table(path)) for path in kept])
    assert sorted(rows["who"].to_list()) == list(range(n))
    kill_one()
    again = {row.who: row.a for row in reports.collect()}
    assert again == dict(rows.select("who", "a").iter_rows())


def test_randomizing_needs_a_place_and_the_system_source(cluster, monkeypatch):
    design = independent(domain_of(2), p=0.5)
    people = cluster.createDataFrame(pa.table({"a": ["a0", "a1"]}))
    with pytest.raises(SchemaError, match="Leave source out"):
        mdrr.randomize(people, design, source=mdrr.SeededSource(1))
    monkeypatch.setattr(type(cluster.sparkContext), "getCheckpointDir", lambda self: None)
    with pytest.raises(SchemaError, match="setCheckpointDir"):
        mdrr.randomize(people, design)


def test_errors_of_workers_are_one_line(cluster, folder):
    design = independent(domain_of(2, 2), p=0.5)
    wrong = pa.table({"a": ["a0", "a7"], "b": ["b0", "b1"]})
    frame = cluster.createDataFrame(wrong)
    before = set((folder / CHECKPOINTS).rglob("*.parquet"))
    with pytest.raises(SchemaError, match=r"^'a' has no category 'a7'. Known: 'a0', 'a1'.*$"):
        mdrr.randomize(frame, design)
    assert set((folder / CHECKPOINTS).rglob("*.parquet")) == before
    with pytest.raises(SchemaError, match=r"^'a' has no category 'a7'.*made under$"):
        mdrr.tally(frame, design)
    with pytest.raises(SchemaError, match="has no column 'b'"):
        mdrr.tally(frame.drop("b"), design)
    with pytest.raises(SchemaError, match="no rows"):
        mdrr.tally(frame.limit(0), design)


def test_reports_state_their_design(cluster):
    design = independent(domain_of(2), p=0.5)
    reports = mdrr.randomize(cluster.createDataFrame(pa.table({"a": ["a0", "a1"]})), design)
    with pytest.raises(TallyError, match="design"):
        mdrr.tally(reports, independent(domain_of(2), p=0.7))


@pytest.mark.parametrize("kind", ["public", "independent", "held"])
def test_weights_are_the_same(cluster, monkeypatch, kind):
    design = designs()["independent" if kind == "held" else kind]
    table = reports_of(design).append_column("row", pa.array(np.arange(PEOPLE)))
    expected = mdrr.weigh(table, design, tolerance=1e-12)["weight"].to_numpy()
    if kind == "held":
        monkeypatch.setattr(spark, "most_codes", lambda *_: 2_000)  # there are more
    found = mdrr.weigh(cluster.createDataFrame(table), design, tolerance=1e-12)
    assert found.columns == [*table.column_names, "weight"]
    weights = found.select("row", "weight").toArrow().sort_by("row")["weight"].to_numpy()
    np.testing.assert_allclose(weights, expected, rtol=1e-9)


@dataclass(frozen=True)
class Dying:
    """Reports on a cluster of which a worker dies during the third pass."""

    held: spark.Held
    passes: list
    killed: list

    @property
    def n(self) -> int:
        return self.held.n

    def add_up(self, work, state):
        self.passes.append(work)
        if len(self.passes) == 3:
            threading.Timer(0.1, lambda: self.killed.append(kill_one())).start()
        return self.held.add_up(work, state)


def test_latent_classes_are_the_same_when_a_worker_dies(cluster, monkeypatch):
    """Parts of more tasks than the driver wants at once are joined on the way."""
    monkeypatch.setattr(spark, "_AT_ONCE", 2)
    design = designs()["mixed"]
    table = reports_of(design)
    sums = mdrr.tally(cluster.createDataFrame(table).repartition(3), design, keep="sums")
    here = mdrr.tally(table, design)
    assert sums.n == here.n == PEOPLE
    assert sums.listed == PEOPLE  # fewer than a sample has at most
    (got,), (expected,) = sums.groups, here.groups
    for i, j in ((0, 1), (4, 2)):
        assert np.array_equal(got.pair(i, j), expected.pair(i, j))
    dying = Dying(sums.away, [], [])
    options = {"classes": 4, "passes": 6, "fits": 1}
    found = mdrr.estimate(replace(sums, away=dying), design, "latent", **options)
    known = mdrr.estimate(here, design, "latent", **options)
    assert (len(dying.passes), len(dying.killed)) == (6, 1)
    np.testing.assert_allclose(found.joint.weights, known.joint.weights, rtol=1e-9)
    for mine, theirs in zip(found.joint.tables, known.joint.tables, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    assert found.count({"a": ["a0"]}).low == pytest.approx(known.count({"a": ["a0"]}).low, rel=1e-9)
    sums.away.release()


def test_command_counts_what_spark_reads(cluster, tmp_path):
    design = designs()["labels"]
    table = reports_of(design)
    (tmp_path / "design.json").write_text(design.to_json())
    cluster.createDataFrame(table).write.parquet(str(tmp_path / "folder"))
    write_tables(tmp_path / "reports.csv", [table], fingerprint=design.fingerprint)
    expected = mdrr.tally(table, design)
    for name in ("folder", "reports.csv"):
        arguments = [tmp_path / name, "--design", tmp_path / "design.json"]
        out = tmp_path / f"{name}.json"
        assert "6,000 reports" in done("tally", *arguments, "-o", out, "--engine", "spark")
        assert mdrr.Tally.from_json(out.read_text(), design) == expected
    arguments = [tmp_path / "gone.parquet", "--design", tmp_path / "design.json"]
    said = refusal("tally", *arguments, "-o", out, "--engine", "spark")
    assert "Spark cannot read" in said


def test_core_does_not_load_spark():
    program = (
        "import sys, mdrr, polars as pl\n"
        "design = mdrr.independent(mdrr.Domain((mdrr.Attribute('a', ('x', 'y')),)), p=0.5)\n"
        "reports = mdrr.randomize(pl.DataFrame({'a': ['x', 'y']}), design)\n"
        "mdrr.weigh(reports, design); mdrr.tally(reports, design)\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ)


def test_spark_passes_an_audit(cluster):
    """On the session that is active; a sound randomizer fails once in a billion."""
    found = mdrr.audit(n=4_000, confidence=1 - 1e-9, randomizers=["spark"])
    assert [(c.part, c.passed) for c in found.checks] == [
        *[("empirical", True)] * 2,
        ("provenance", True),
    ]
    bounds = [each.checks[0].epsilon for each in found.designs]
    assert 1 < bounds[0] < found.designs[0].epsilon
    assert bounds[1] < found.designs[1].epsilon
    assert cluster.range(3).count() == 3, "the session goes on"


def test_the_page_on_clusters_runs_as_printed(cluster, tmp_path):
    """With folders of this machine in place of HDFS, and the cluster that runs here."""
    design = independent(mdrr.datasets.adult_domain(("income",)), p=0.7)
    (tmp_path / "design.json").write_text(design.to_json(), encoding="utf-8")
    mdrr.datasets.adult(columns=["income"])[:2_000].write_parquet(tmp_path / "people")
    text = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    program = "\n".join(block for block in blocks if ">>> " not in block)
    assert program.count("hdfs:///") == 2
    for printed, here in (
        ('.master("spark://head:7077")', ""),
        ("hdfs:///", f"{tmp_path.as_uri()}/"),
        ("design.json", str(tmp_path / "design.json")),
    ):
        assert printed in program
        program = program.replace(printed, here)
    found: dict[str, Any] = {}
    folder = cluster.sparkContext._jsc.sc().getCheckpointDir().get()
    try:
        exec(compile(program, "docs/scale.md", "exec"), found)
    finally:
        cluster.sparkContext.setCheckpointDir(str(Path(folder.removeprefix("file:")).parent))
    assert found["tally"].n == found["estimate"].n == found["weighted"].count() == 2_000
    assert "weight" in found["weighted"].columns
