"""Distinct reports that stay on the cluster, and passes over them."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from mdrr import errors
from mdrr.batches import need_columns
from mdrr.columns import require
from mdrr.design import QUESTIONNAIRE, Design
from mdrr.errors import MdrrError, SchemaError, TallyError
from mdrr.groups import most_codes
from mdrr.matrix import Array
from mdrr.report_frames import FINGERPRINT, report_columns
from mdrr.response import check_fingerprint
from mdrr.spark import workers
from mdrr.spark.workers import PART, TIMES, OnBatches, Work, named, tallied
from mdrr.sums import SAMPLE
from mdrr.tallies import Keep, Tally

_MOST_BROUGHT = 1 << 27
"""The most codes of distinct reports that are brought to the driver if no sums can be kept."""
_AT_ONCE = 32
"""So many tasks send their parts to the driver; of more, parts are joined first."""


@dataclass(frozen=True, eq=False)
class Here:
    """Distinct reports that the driver has, to be added up as those on the cluster are."""

    tally: Tally
    design: Design

    @property
    def n(self) -> int:
        """How many people reported."""
        return self.tally.n

    def add_up(self, work: Work, state: Any) -> Array:
        """What `work` makes of all reports."""
        return work(self.tally, self.design, state)


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

    @classmethod
    def of(cls, reports: Any, design: Design, keep: Keep = "auto", *, text: bool = False) -> Held:
        """The reports of a Spark frame, the distinct ones by Spark's own aggregation."""
        functions = require("pyspark.sql.functions", "spark")
        session_of(reports)
        wanted = report_columns(design)
        need_columns("the frame", reports.columns, wanted)
        for field in reports.schema.fields:
            if field.name in wanted and FINGERPRINT in field.metadata:
                check_fingerprint(field.metadata[FINGERPRINT], design)
        columns = [*map(quoted, wanted)]
        with plainly():
            sums = _are_many(reports, design, keep)
        if sums:
            counted = reports.select(*columns, functions.lit(1).cast("long").alias(TIMES))
        else:
            counted = reports.groupBy(*columns).agg(functions.count("*").alias(TIMES))
        most = max(len(q.clusters) for q in design.questionnaires)
        schema = f"q int, {', '.join(f'c{c} long' for c in range(most))}, times long"
        frame = mapped(counted, partial(workers.coded, design, most, text), schema).persist()
        with plainly():
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
        return cls(frame, design, sums, n)

    def release(self) -> None:
        """Let the cluster forget the reports."""
        self.frame.unpersist()

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def tally(self, sample: int = SAMPLE) -> Tally:
        """The distinct reports, brought to the driver; or sums of them."""
        if self.sums:
            found: Tally = self._total(partial(workers.summed, self.design, sample))
            return found
        with plainly():
            return tallied(self.frame.toArrow(), self.design, "reports", sample)

    def add_up(self, work: Work, state: Any) -> Array:
        """The sum of `work(some reports, design, state)` over all reports.

        The state goes to every worker once; each task sends one array back.
        """
        sent = self.frame.sparkSession.sparkContext.broadcast(state)
        try:
            return np.asarray(self._total(partial(workers.added, work, self.design, sent)))
        finally:
            sent.destroy()

    def _total(self, work: OnBatches) -> Any:
        """The sum of what each task makes of its reports; of many, some are joined on the way."""
        found = mapped(self.frame, work, f"{PART} binary")
        with plainly():
            if self._partitions > _AT_ONCE:
                found = mapped(found.repartition(_AT_ONCE), workers.joined, f"{PART} binary")
            return reduce(add, (pickle.loads(row[0]) for row in found.collect()))

    @cached_property
    def _partitions(self) -> int:
        return int(self.frame.rdd.getNumPartitions())


def _are_many(reports: Any, design: Design, keep: Keep) -> bool:
    """Whether sums are kept. Spark is asked how many distinct reports there are, if it matters."""
    functions = require("pyspark.sql.functions", "spark")
    limits = {
        q: most / len(sizes)
        for q, (questionnaire, sizes) in enumerate(
            zip(design.questionnaires, design.outcomes, strict=True)
        )
        if math.prod(sizes) * len(sizes) > (most := most_codes(questionnaire, sizes, keep))
    }
    if not limits or not min(limits.values()):
        return bool(limits)
    hashed = functions.xxhash64(*map(quoted, report_columns(design)))
    several = len(design.questionnaires) > 1
    which = functions.col(QUESTIONNAIRE).cast("int") if several else functions.lit(0)
    pairs = reports.select(which.alias("q"), hashed.alias("hash"))
    found = pairs.groupBy("q").agg(functions.approx_count_distinct("hash")).collect()
    return any(k > limits.get(q, math.inf) for q, k in found)


def session_of(frame: Any) -> Any:
    """A frame's session; one of Spark Connect cannot do what is needed here."""
    if ".connect." in type(frame).__module__:
        raise SchemaError(
            "this frame belongs to a Spark Connect session, which cannot reach the cluster's "
            "directories. Use a classic session: SparkSession.builder.master(…).getOrCreate()"
        )
    return frame.sparkSession


def mapped(frame: Any, work: OnBatches, schema: Any) -> Any:
    """What workers make of a frame's batches. Spark's own map refuses some columns' names."""
    plain = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    return plain.mapInArrow(partial(named, work, frame.columns), schema)


def quoted(name: str) -> str:
    """A column's name for Spark, where dots and signs stand for themselves."""
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def plainly() -> Iterator[None]:
    """Errors of ours that workers met, without the traces around them."""
    exceptions = require("pyspark.errors", "spark")
    try:
        yield
    except exceptions.PySparkException as error:
        if "No module named 'mdrr'" in str(error):
            raise MdrrError(
                "Spark's workers lack mdrr. Install it with their Python, which is PYSPARK_PYTHON, "
                "on every machine of the cluster: pip install 'mdrr[spark]'"
            ) from None
        said = re.search(r"mdrr\.errors\.(\w+): (.+)", str(error))
        kind = getattr(errors, said[1], None) if said else None
        if kind is None or said is None:
            raise
        raise kind(said[2]) from None
