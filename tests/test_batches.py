"""Streams of records: Arrow readers, DuckDB relations, lazy frames, read a batch at a time."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from mdrr import batches
from mdrr.batches import in_batches, is_reader
from mdrr.errors import SchemaError, TallyError
from mdrr.frames import randomize, tally
from mdrr.protocols import independent, sampled
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from tests.cases import domain_of

DOMAIN = domain_of(2, 3, 4)
D = independent(DOMAIN, p=0.6)
PAIRS = sampled(DOMAIN, 2, epsilon=3.0)
N = 1000
CODES = [np.random.default_rng(0).integers(size, size=N) for size in DOMAIN.shape]
PEOPLE = pa.table(
    {
        "name": [f"person {i}" for i in range(N)],
        **{
            a.name: [a.categories[i] for i in c]
            for a, c in zip(DOMAIN.attributes, CODES, strict=True)
        },
    }
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(batches, "ROWS", 64)


def reader(table=PEOPLE, rows=64):
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(rows))


def duck(table=PEOPLE):
    return pytest.importorskip("duckdb").from_arrow(table)


STREAMS = {"reader": reader, "duckdb": duck, "lazy": lambda t=PEOPLE: pl.from_arrow(t).lazy()}


def as_table(frame):
    if is_reader(frame):
        return frame.read_all()
    if isinstance(frame, pl.LazyFrame):
        return frame.collect().to_arrow()
    return frame.to_arrow_table() if hasattr(frame, "to_arrow_table") else frame.arrow()


@pytest.mark.parametrize("design", [D, PAIRS], ids=["one", "sampled"])
@pytest.mark.parametrize("kind", STREAMS)
def test_streams_are_randomized_and_tallied_as_frames_in_memory(kind, design):
    """The seeded source gives the same bytes, however the rows are cut."""
    whole = randomize(PEOPLE, design, source=SeededSource(1))
    sent = randomize(STREAMS[kind](), design, source=SeededSource(1))
    assert as_table(sent).to_pydict() == whole.to_pydict()
    again = randomize(STREAMS[kind](), design, source=SeededSource(1))
    assert tally(again, design) == tally(whole, design)
    assert tally(STREAMS[kind](whole), design) == tally(whole, design)


def test_a_reader_gives_a_reader_that_randomizes_as_it_is_read():
    taken = []

    def given():
        for batch in PEOPLE.to_batches(100):
            taken.append(batch.num_rows)
            yield batch

    sent = randomize(pa.RecordBatchReader.from_batches(PEOPLE.schema, given()), D)
    assert is_reader(sent)
    assert len(taken) == 1
    sent.read_next_batch()
    sent.read_next_batch()
    assert len(taken) == 2
    assert "name" not in sent.schema.names
    assert sum(batch.num_rows for batch in sent) == N - 200
    assert sum(batch.num_rows for batch in sent) == 0  # everybody is randomized once


def test_batches_of_codes_are_tallied_as_they_come():
    parts = [[c[at : at + 300] for c in CODES] for at in range(0, N, 300)]
    sent = [randomize_codes(part, D, SeededSource(str(i))) for i, part in enumerate(parts)]
    wanted = tally(sent[0], D)
    for each in sent[1:]:
        wanted = wanted + tally(each, D)
    assert tally(iter(sent), D) == wanted
    assert tally(iter(sent), D, keep="sums").has_sums
    assert tally(iter([]), D).n == 0


def test_dictionaries_come_back_from_streams():
    table = PEOPLE.set_column(1, "a", PEOPLE["a"].combine_chunks().dictionary_encode())
    sent = randomize(reader(table), D)
    assert pa.types.is_dictionary(sent.schema.field("a").type)
    assert pa.types.is_string(sent.schema.field("b").type)
    lazy = pl.from_arrow(table).lazy()
    assert randomize(lazy, D).collect_schema()["a"] == pl.Categorical
    assert randomize(lazy, D).collect_schema()["b"] == pl.String


@pytest.mark.parametrize("kind", STREAMS)
def test_errors_say_the_row_of_the_whole_stream(kind):
    values = PEOPLE.to_pydict()
    values["b"][700] = "wrong"
    table = pa.table(values)
    with pytest.raises(SchemaError, match="row 701: 'b' has no category 'wrong'"):
        as_table(randomize(STREAMS[kind](table), D))
    with pytest.raises(SchemaError, match="row 701: 'b' has no category 'wrong'"):
        tally(STREAMS[kind](table), D)


@pytest.mark.parametrize("kind", STREAMS)
def test_streams_without_a_column_or_a_row_are_refused(kind):
    with pytest.raises(SchemaError, match="the frame has no column 'c'"):
        randomize(STREAMS[kind](PEOPLE.drop_columns(["c"])), D)
    with pytest.raises(TallyError, match="need a column 'questionnaire'"):
        tally(STREAMS[kind](), PAIRS)
    for work in (randomize, tally):
        with pytest.raises(SchemaError, match="no rows"):
            work(STREAMS[kind](PEOPLE.slice(0, 0)), D)


def test_reports_of_another_design_are_refused_in_a_stream():
    sent = randomize(reader(), D)
    with pytest.raises(TallyError, match="not under"):
        tally(sent, independent(DOMAIN, p=0.7))


def test_frames_in_memory_are_no_streams():
    assert in_batches(PEOPLE, ("a",)) is None
    assert in_batches(pl.from_arrow(PEOPLE), ("a",)) is None


def test_older_polars_is_collected_whole(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    assert tally(randomize(pl.from_arrow(PEOPLE).lazy(), D), D).n == N
