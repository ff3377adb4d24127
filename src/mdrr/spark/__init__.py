"""Apache Spark: people and reports that no single machine holds.

Rows stay on the cluster. Workers run the code of one machine on Arrow batches, so mdrr must be
installed on every worker. The driver gets distinct reports and how often each occurs, or sums.

Spark computes a partition again when it loses it, and a lazy frame again whenever it is used. A
second randomization of the same people would spend their ε twice. So `randomize` writes the
reports once, as Parquet, of which Spark commits one attempt of each task, and reads them back.
"""

from __future__ import annotations

import math
import pickle
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from mdrr import errors
from mdrr.batches import need_columns
from mdrr.columns import Extra
from mdrr.design import QUESTIONNAIRE, Design
from mdrr.errors import MdrrError, SchemaError, TallyError
from mdrr.groups import most_codes
from mdrr.labels import label_type
from mdrr.matrix import Array
from mdrr.report_frames import FINGERPRINT, report_columns
from mdrr.response import check_fingerprint
from mdrr.source import Source, SystemSource
from mdrr.spark import workers
from mdrr.spark.workers import PART, TIMES, OnBatches, Work
from mdrr.sums import SAMPLE
from mdrr.tallies import Keep, Tally

functions = Extra("pyspark.sql.functions", "spark")
types = Extra("pyspark.sql.types", "spark")
exceptions = Extra("pyspark.errors", "spark")
sql = Extra("pyspark.sql", "spark")

_MOST_BROUGHT = 1 << 27
"""The most codes of distinct reports that are brought to the driver if no sums can be kept."""
_AT_ONCE = 32
"""So many tasks send their parts to the driver; of more, parts are joined first."""


def randomize(people: Any, design: Design, source: Source | None = None) -> Any:
    """Randomize a Spark frame of true records, once: what is read back never changes.

    The reports are written below the checkpoint directory of the Spark context. It must be one that
    all workers reach.
    """
    session = _session_of(people)
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
    asked = people.select(*map(_quoted, names))
    reports = _mapped(asked, partial(workers.randomized, design), _report_schema(design))
    folder = f"{home}/reports-{secrets.token_hex(8)}"
    with _plainly():
        # Version 1 of the committer shows no file of any task before all of them are done.
        version = "mapreduce.fileoutputcommitter.algorithm.version"
        reports.write.option(version, "1").parquet(folder)
    return session.read.schema(_report_schema(design)).parquet(folder)


def tally(
    reports: Any, design: Design, *, keep: Keep = "auto", sample: int = SAMPLE, text: bool = False
) -> Tally:
    """Count the reports of a Spark frame: the distinct ones, by Spark's own aggregation, or sums.

    If sums are kept, the reports stay on the cluster, and the tally's `away` has them for the
    latent class fit; `away.release()` lets them go. With `text`, labels of all types are written
    out, as CSV has them.
    """
    held = Held.of(reports, design, keep, sample, text)
    try:
        found = held.tally
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

    if column in reports.columns:
        raise SchemaError(
            f"the reports have a column {column!r} already; choose another name with column=…"
        )
    held = Held.of(reports, design)
    try:
        factors, _ = adjust_away(held, held.tally, design, **options)
    finally:
        held.release()
    schema = types.StructType(
        [*reports.schema.fields, types.StructField(column, types.DoubleType())]
    )
    return _mapped(reports, partial(workers.weighed, design, factors, column), schema)


def _report_schema(design: Design) -> Any:
    """The Spark schema of reports; every column states the design's fingerprint."""
    kinds = {"string": types.StringType(), "int64": types.LongType(), "bool": types.BooleanType()}
    stated = {FINGERPRINT: design.fingerprint}
    return types.StructType(
        [
            types.StructField(name, kinds[str(label_type(a)) if a else "int64"], True, stated)
            for name, a in report_columns(design).items()
        ]
    )


@dataclass(frozen=True, eq=False)
class Held:
    """The distinct reports as codes, kept on the cluster until they are released.

    `frame` has a row for each: its questionnaire, its code for each cluster (null beyond the
    questionnaire's last) and how often it occurs. To compute it again gives the same rows. If the
    tally will hold `sums`, equal reports need not be one row, which spares the cluster a shuffle.
    """

    frame: Any
    design: Design
    sums: bool
    n: int
    sample: int

    @classmethod
    def of(
        cls,
        reports: Any,
        design: Design,
        keep: Keep = "auto",
        sample: int = SAMPLE,
        text: bool = False,
    ) -> Held:
        """The reports of a Spark frame, the distinct ones by Spark's own aggregation."""
        _session_of(reports)
        wanted = report_columns(design)
        need_columns("the frame", reports.columns, wanted)
        for field in reports.schema.fields:
            if field.name in wanted and FINGERPRINT in field.metadata:
                check_fingerprint(field.metadata[FINGERPRINT], design)
        columns = [*map(_quoted, wanted)]
        with _plainly():
            sums = _are_many(reports, design, keep)
        if sums:
            counted = reports.select(*columns, functions.lit(1).cast("long").alias(TIMES))
        else:
            counted = reports.groupBy(*columns).agg(functions.count("*").alias(TIMES))
        most = max(len(q.clusters) for q in design.questionnaires)
        schema = f"q int, {', '.join(f'c{c} long' for c in range(most))}, times long"
        frame = _mapped(counted, partial(workers.coded, design, most, text), schema).persist()
        with _plainly():
            rows, n = frame.agg(functions.count("*"), functions.sum("times")).first()
        if not rows:
            frame.unpersist()
            raise SchemaError("the frame has no rows: there is nobody to read")
        if not sums and keep != "reports" and rows * most > _MOST_BROUGHT:
            frame.unpersist()
            raise TallyError(
                f"there are {rows:,} distinct reports, too many for the driver, and no sums can be "
                "kept of reports with public attributes, of one or two answers, or of very many "
                "codes. If the driver has the memory, give keep='reports' to mdrr.tally"
            )
        return cls(frame, design, sums, n, sample)

    def release(self) -> None:
        """Let the cluster forget the reports."""
        self.frame.unpersist()

    @cached_property
    def tally(self) -> Tally:
        """The distinct reports, brought to the driver; or sums of them."""
        if self.sums:
            found: Tally = self._total(partial(workers.summed, self.design, self.sample))
            return found
        with _plainly():
            return workers.tallied(self.frame.toArrow(), self.design, "reports", self.sample)

    def add_up(self, work: Work, state: Any) -> Array:
        """The sum of `work(some reports, design, state)` over all reports.

        The state goes to every worker once; each task sends one array back. What the driver has it
        adds up itself.
        """
        if not self.sums:
            return work(self.tally, self.design, state)
        sent = self.frame.sparkSession.sparkContext.broadcast(state)
        try:
            return np.asarray(self._total(partial(workers.added, work, self.design, sent)))
        finally:
            sent.destroy()

    def _total(self, work: OnBatches) -> Any:
        """The sum of what each task makes of its reports; of many, some are joined on the way."""
        found = _mapped(self.frame, work, f"{PART} binary")
        with _plainly():
            if self.frame.rdd.getNumPartitions() > _AT_ONCE:
                found = _mapped(found.repartition(_AT_ONCE), workers.joined, f"{PART} binary")
            return reduce(add, (pickle.loads(row[0]) for row in found.collect()))


def _are_many(reports: Any, design: Design, keep: Keep) -> bool:
    """Whether sums are kept. Spark is asked how many distinct reports there are, if it matters."""
    limits = {
        q: most / len(sizes)
        for q, (questionnaire, sizes) in enumerate(
            zip(design.questionnaires, design.outcomes, strict=True)
        )
        if math.prod(sizes) * len(sizes) > (most := most_codes(questionnaire, sizes, keep))
    }
    if not limits or not min(limits.values()):
        return bool(limits)
    hashed = functions.xxhash64(*map(_quoted, report_columns(design)))
    several = len(design.questionnaires) > 1
    which = functions.col(QUESTIONNAIRE).cast("int") if several else functions.lit(0)
    pairs = reports.select(which.alias("q"), hashed.alias("hash"))
    found = pairs.groupBy("q").agg(functions.approx_count_distinct("hash")).collect()
    return any(k > limits.get(q, math.inf) for q, k in found)


def _session_of(frame: Any) -> Any:
    """A frame's session; one of Spark Connect cannot do what is needed here."""
    if ".connect." in type(frame).__module__:
        raise SchemaError(
            "this frame belongs to a Spark Connect session, which cannot reach the cluster's "
            "directories. Use a classic session: SparkSession.builder.master(…).getOrCreate()"
        )
    return frame.sparkSession


def _mapped(frame: Any, work: OnBatches, schema: Any) -> Any:
    """What workers make of a frame's batches. Spark's own map refuses some columns' names."""
    plain = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    return plain.mapInArrow(partial(workers.named, work, frame.columns), schema)


def _quoted(name: str) -> str:
    """A column's name for Spark, where dots and signs stand for themselves."""
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def _plainly() -> Iterator[None]:
    """Errors of ours that workers met, without the traces around them."""
    try:
        yield
    except exceptions.PySparkException as error:
        if "No module named 'mdrr'" in str(error):
            raise MdrrError(
                "Spark's workers lack mdrr. Install it with their Python, which is PYSPARK_PYTHON, "
                "on every machine of the cluster: pip install 'mdrr[spark]'"
            ) from None
        # A row's number within a batch tells nobody where it is.
        said = re.search(r"mdrr\.errors\.(\w+): (?:row [\d,]+: )?(.+)", str(error))
        kind = getattr(errors, said[1], None) if said else None
        if kind is None or said is None:
            raise
        raise kind(said[2]) from None
