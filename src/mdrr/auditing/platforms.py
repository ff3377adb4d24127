"""The four randomizers, each run as it is shipped.

A `Run` takes codes of true answers, a design and random bytes, and gives reports. Without bytes the
randomizer draws its own, as it does for real answers. Spark's workers take no bytes from outside.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mdrr.columns import require
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError
from mdrr.matrix import Public
from mdrr.randomizer import Batch, Codes, Reports, randomize_codes
from mdrr.respondent import respond
from mdrr.source import BytesSource

Run: TypeAlias = Callable[[Sequence[Codes], Design, bytes | None], Reports]
Edit: TypeAlias = tuple[str, str]
"""A text of the page's randomizer and what stands there instead: a planted fault."""

_PATIENCE = 600
"""Seconds after which a child process is given up."""


def _single(codes: Sequence[Codes], design: Design, stream: bytes | None = None) -> Reports:
    """`mdrr.respond`, one person after the other."""
    fields = design.to_dict()
    labels = [attribute["categories"] for attribute in fields["attributes"]]
    names = design.domain.names
    source = None if stream is None else BytesSource(stream)
    sent = []
    for cells in zip(*(column.tolist() for column in codes), strict=True):
        record = {n: known[c] for n, known, c in zip(names, labels, cells, strict=True)}
        report = respond(record, fields, source)
        sent.append((report.questionnaire, report.codes))
    return _gathered(sent, design)


def _bulk(codes: Sequence[Codes], design: Design, stream: bytes | None = None) -> Reports:
    """`mdrr.randomize_codes`, everybody at once."""
    return randomize_codes(codes, design, None if stream is None else BytesSource(stream))


def _gathered(sent: Sequence[tuple[int, Sequence[int]]], design: Design) -> Reports:
    """Reports one by one as batches."""
    chosen = np.array([q for q, _ in sent])
    batches = []
    for q, questionnaire in enumerate(design.questionnaires):
        rows = np.flatnonzero(chosen == q)
        table = np.array([sent[i][1] for i in rows.tolist()], dtype=np.int64)
        table = table.reshape(len(rows), len(questionnaire.clusters))
        batches.append(Batch(rows, tuple(table.T)))
    return Reports(design.fingerprint, len(sent), tuple(batches))


def in_node(task: dict[str, Any], edit: Edit | None = None) -> Any:
    """What the respondent page's own modules answer to a task, under Node.js."""
    node = shutil.which("node")
    if node is None:
        raise MdrrError("Node.js is not installed, which runs the page's randomizer here")
    with tempfile.TemporaryDirectory() as folder:
        static = Path(__file__).parents[1] / "server" / "static"
        for file in [*static.glob("*.js"), Path(__file__).with_name("page.mjs")]:
            text = file.read_text(encoding="utf-8")
            if edit is not None and file.name == "randomize.js":
                if text.count(edit[0]) != 1:
                    raise MdrrError(f"a fault cannot be planted: {edit[0]!r} is not there once")
                text = text.replace(*edit)
            Path(folder, file.name).write_text(text, encoding="utf-8")
        Path(folder, "package.json").write_text('{"type": "module"}', encoding="ascii")
        return child([node, str(Path(folder, "page.mjs"))], task)


def child(command: list[str], task: Any, **environment: str) -> Any:
    """What a process answers to a task, both in JSON."""
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task).encode(),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            env={**os.environ, **environment},
        )
    except subprocess.TimeoutExpired:
        raise MdrrError(f"{Path(command[0]).name} did not answer in {_PATIENCE} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise MdrrError(f"{Path(command[0]).name} failed: {said[-1]}")
    return json.loads(done.stdout)


def page(edit: Edit | None = None) -> Run:
    """The randomizer of the respondent page, a fault planted in it if one is given."""

    def run(codes: Sequence[Codes], design: Design, stream: bytes | None = None) -> Reports:
        given = None if stream is None else base64.b64encode(stream).decode()
        columns = [column.tolist() for column in codes]
        task = {"name": "respond", "design": design.to_dict(), "codes": columns, "bytes": given}
        return _gathered(in_node(task, edit), design)

    return run


def _browser() -> AbstractContextManager[Run]:
    in_node({"name": "version"})
    return nullcontext(page())


@contextmanager
def _spark() -> Iterator[Run]:
    """Spark on this machine: the session that is active, or one that ends with the audit."""
    sql, failures = require("pyspark.sql", "spark"), require("pyspark.errors", "spark")
    active = sql.SparkSession.getActiveSession()
    if not (active or "JAVA_HOME" in os.environ or shutil.which("java")):
        raise MdrrError("Java is not installed. Spark needs Java 17 or later")
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pyspark's own, about pandas
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": home,
            "spark.sql.warehouse.dir": home,
        }
        builder = sql.SparkSession.builder.master("local[2]").appName("mdrr audit")
        try:
            with _silent():
                session = active or builder.config(map=settings).getOrCreate()
        except failures.PySparkRuntimeError:
            raise MdrrError("Spark did not start. It needs Java 17 or later") from None
        if active is None:
            session.sparkContext.setLogLevel("OFF")
        if session.sparkContext.getCheckpointDir() is None:
            session.sparkContext.setCheckpointDir(home)
        try:
            yield _by_spark(session)
        finally:
            if active is None:
                gateway = session.sparkContext._gateway
                session.stop()
                gateway.shutdown()
                gateway.proc.stdin.close()
                gateway.proc.wait(30)


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing on standard error, also from processes that start now: Java's chatter."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _by_spark(session: Any) -> Run:
    """`mdrr.randomize` of a Spark frame.

    Spark gives rows back in no order. So a public attribute, which uses no random bytes, is added
    to the design: it says which true record a report is of.
    """
    from mdrr.labels import decode_column
    from mdrr.report_frames import report_codes
    from mdrr.spark import randomize

    def run(codes: Sequence[Codes], design: Design, stream: bytes | None = None) -> Reports:
        if stream is not None:
            raise MdrrError("Spark's workers take no bytes from outside")
        _, first, which = np.unique(
            np.stack([c.astype(np.int64) for c in codes]),
            axis=1,
            return_index=True,
            return_inverse=True,
        )
        marked = _marked(design, max(len(first), 2))
        columns = [*codes, which.reshape(-1)]
        table = require("pyarrow", "spark").table(
            {
                a.name: decode_column(column, a)
                for a, column in zip(marked.domain.attributes, columns, strict=True)
            }
        )
        found = report_codes(randomize(session.createDataFrame(table), marked).toArrow(), marked)
        batches = tuple(Batch(first[b.codes[-1]], b.codes[:-1]) for b in found.batches)
        return Reports(design.fingerprint, found.n, batches)

    return run


def _marked(design: Design, count: int) -> Design:
    """The design with one more attribute, the last and public, of so many categories."""
    name = "record"
    while name in design.domain.names:
        name += "_"
    mark = Attribute(name, tuple(range(count)), public=True)
    asked = tuple(
        Questionnaire((*q.clusters, Cluster((name,), Public(count))), q.weight)
        for q in design.questionnaires
    )
    return Design(Domain((*design.domain.attributes, mark)), asked)


PLATFORMS: dict[str, Callable[[], AbstractContextManager[Run]]] = {
    "single": lambda: nullcontext(_single),
    "bulk": lambda: nullcontext(_bulk),
    "browser": _browser,
    "spark": _spark,
}
"""Each opens a randomizer, or raises an error that says why it cannot run here."""
