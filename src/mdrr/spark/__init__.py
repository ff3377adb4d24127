"""Apache Spark: people and reports that no single machine holds.

Rows stay on the cluster. Workers run the code of one machine on Arrow batches, so mdrr must be
installed on every worker. The driver gets distinct reports and how often each occurs, or sums.

Spark computes a partition again when it loses it, and a lazy frame again whenever it is used. A
second randomization of the same people would spend their ε twice. So `randomize` writes the
reports once, as Parquet, of which Spark commits one attempt of each task, and reads them back.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

from mdrr.batches import need_columns
from mdrr.columns import require
from mdrr.design import Design
from mdrr.errors import MdrrError, SchemaError
from mdrr.labels import label_type
from mdrr.report_frames import FINGERPRINT, report_columns
from mdrr.source import Source, SystemSource
from mdrr.spark.away import Held, Here, mapped, plainly, quoted, session_of
from mdrr.spark.workers import randomized, weighed
from mdrr.sums import SAMPLE
from mdrr.tallies import Keep, Tally


def randomize(people: Any, design: Design, source: Source | None = None) -> Any:
    """Randomize a Spark frame of true records, once: what is read back never changes.

    The reports are written below the checkpoint directory of the Spark context. It must be one that
    all workers reach.
    """
    session = session_of(people)
    if not (source is None or isinstance(source, SystemSource)):
        raise SchemaError(
            "each Spark worker draws from its system's CSPRNG; a Spark frame has no order in "
            "which other bytes could be used. Leave source out; to simulate with a seed, "
            "randomize a frame in memory"
        )
    home = session.sparkContext.getCheckpointDir()
    if home is None:
        raise SchemaError(
            "Spark may compute lost rows again, and people must not be randomized twice, so their "
            "reports are written once. Say where, in a directory that all workers reach: "
            "spark.sparkContext.setCheckpointDir('hdfs:///reports')"
        )
    names = design.domain.names
    need_columns("the frame", people.columns, names)
    asked = people.select(*map(quoted, names))
    reports = mapped(asked, partial(randomized, design), _report_schema(design))
    folder = f"{home}/reports-{secrets.token_hex(8)}"
    with plainly():
        # Version 1 of the committer shows no file of any task before all of them are done.
        version = "mapreduce.fileoutputcommitter.algorithm.version"
        reports.write.option(version, "1").parquet(folder)
    return session.read.schema(_report_schema(design)).parquet(folder)


def tally(
    reports: Any, design: Design, *, keep: Keep = "auto", sample: int = SAMPLE, text: bool = False
) -> Tally:
    """Count the reports of a Spark frame: the distinct ones, by Spark's own aggregation, or sums.

    If sums are kept, the reports stay on the cluster, and the tally's `away` has them for the
    latent class fit; `away.release()` lets them go. With `text`, labels of all
    types are written out, as CSV has them.
    """
    held = Held.of(reports, design, keep, text=text)
    try:
        found = held.tally(sample)
    except BaseException:
        held.release()
        raise
    if held.sums:
        return replace(found, away=held)
    held.release()
    return found


def tally_files(paths: Sequence[str], design: Design, *, keep: Keep = "auto") -> Tally:
    """Count reports in files or folders that Spark reads: CSV by their ending, else Parquet.

    The session is the active one, or one that Spark's own settings describe.
    """
    sql, exceptions = require("pyspark.sql", "spark"), require("pyspark.errors", "spark")
    try:
        session = sql.SparkSession.builder.appName("mdrr").getOrCreate()
    except exceptions.PySparkRuntimeError:
        raise MdrrError(
            "Spark did not start. It needs Java 17 or later: install it, or set JAVA_HOME to it"
        ) from None
    found = []
    for path in paths:
        name = path.lower().removesuffix(".gz")
        if name.endswith((".json", ".jsonl", ".ndjson", ".toml", ".arrow")) or path == "-":
            raise MdrrError(f"{path!r}: Spark reads reports from .parquet, .csv and .tsv")
        text = name.endswith((".csv", ".tsv"))
        comma = "\t" if name.endswith(".tsv") else ","
        reader = session.read.options(header=True, sep=comma, escape='"')
        try:
            frame = reader.csv(path) if text else reader.parquet(path)
        except exceptions.AnalysisException as error:
            said = str(error).splitlines()[0]
            raise MdrrError(f"Spark cannot read {path!r}: {said}") from None
        try:
            found.append(tally(frame, design, keep=keep, text=text))
        except MdrrError as error:
            raise error.inside(repr(path)) from None
    return reduce(add, found)


def weigh(reports: Any, design: Design, column: str, **options: Any) -> Any:
    """A Spark frame of reports with a weight each, of mean 1 (RR-Adjustment).

    A row's weight follows from its own codes, so the new column is as lazy as the frame.
    """
    from mdrr.estimation.adjust import adjust_away  # which workers need not load

    types = require("pyspark.sql.types", "spark")
    if column in reports.columns:
        raise SchemaError(
            f"the reports have a column {column!r} already; choose another name with column=…"
        )
    with Held.of(reports, design) as held:
        found = held.tally()
        away = held if held.sums else Here(found, design)
        factors, _ = adjust_away(away, found, design, **options)
    schema = types.StructType(
        [*reports.schema.fields, types.StructField(column, types.DoubleType())]
    )
    return mapped(reports, partial(weighed, design, factors, column), schema)


def _report_schema(design: Design) -> Any:
    """The Spark schema of reports; every column states the design's fingerprint."""
    types = require("pyspark.sql.types", "spark")
    kinds = {"string": types.StringType(), "int64": types.LongType(), "bool": types.BooleanType()}
    stated = {FINGERPRINT: design.fingerprint}
    return types.StructType(
        [
            types.StructField(name, kinds[str(label_type(a)) if a else "int64"], True, stated)
            for name, a in report_columns(design).items()
        ]
    )
