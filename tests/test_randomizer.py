"""The bulk randomizer: the same reports as one by one, however it is cut, and bad codes refused."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mdrr import randomizer
from mdrr.errors import SchemaError
from mdrr.increments import draw_constant
from mdrr.matrix import TOTALS, Constant
from mdrr.protocols import independent, sampled
from mdrr.randomizer import cells_of, randomize_codes, smallest_unsigned
from mdrr.respondent import draw_bytes, respond
from mdrr.source import BytesSource, SeededSource
from tests.cases import designs, domain_of, mixed_matrices
from tests.chance import aes_256, nothing_else

N = 400


def people(design, n=N, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(size, size=n) for size in design.domain.shape]


def as_rows(reports):
    """(questionnaire, codes) per person."""
    rows = [None] * reports.n
    for q, batch in enumerate(reports.batches):
        for i, row in enumerate(batch.rows):
            rows[row] = (q, [int(column[i]) for column in batch.codes])
    return rows


@pytest.mark.parametrize("name", designs())
def test_in_bulk_as_one_by_one(name):
    design = designs()[name]
    codes = people(design)
    fields = json.loads(design.to_json())
    source = SeededSource(name)
    alone = []
    for i in range(N):
        record = {
            a.name: a.categories[column[i]]
            for a, column in zip(design.domain.attributes, codes, strict=True)
        }
        report = respond(record, fields, source)
        alone.append((report.questionnaire, list(report.codes)))
    assert as_rows(randomize_codes(codes, design, SeededSource(name))) == alone


@pytest.mark.parametrize("name", designs())
def test_compiled_as_with_numpy(monkeypatch, name):
    design = designs()[name]
    few = as_rows(randomize_codes(people(design), design, SeededSource(name)))
    monkeypatch.setattr(randomizer, "COMPILED", 1)
    assert as_rows(randomize_codes(people(design), design, SeededSource(name))) == few


@pytest.mark.parametrize("cells", [2, 9, 256, 300])
@pytest.mark.parametrize(("total", "kind"), list(zip(TOTALS, ("u2", "u4", "u8"), strict=True)))
def test_the_compiled_loop_divides_exactly(cells, total, kind):
    """For every u if D = 2^16, else at both ends of what gives each cell, and at random."""
    for off in (1, 2, 3, total // (7 * cells), total // cells - 1):
        matrix = Constant(cells, total - (cells - 1) * off, off)
        ends = [q * off + side for q in range(1, cells + 1) for side in (-1, 0, 1)]
        chance = np.random.default_rng(off).integers(total, size=2_000).tolist()
        u = range(total) if total == 2**16 else [0, total - 1, *ends, *chance]
        true = np.random.default_rng(1).integers(cells, size=len(u))
        wanted = [x // off if x < cells * off else t for x, t in zip(u, true, strict=True)]
        true, u = true.astype(smallest_unsigned(cells)), np.array(u, dtype=kind)
        np.testing.assert_array_equal(matrix.draw(true, u), wanted)
        inverse = randomizer.inverse_of(matrix)
        assert (inverse is not None) == (total // off < 2**31)
        if inverse is not None:
            out = np.empty_like(true)
            draw_constant(out, true, u, inverse, cells)
            np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("name", ["mixed", "sampled", "unequal"])
@pytest.mark.parametrize("chunk", [1, 7, N])
def test_chunks_change_nothing(monkeypatch, name, chunk):
    design = designs()[name]
    whole = as_rows(randomize_codes(people(design), design, SeededSource(1)))
    monkeypatch.setattr(randomizer, "_CHUNK", chunk * design.record_bytes)
    monkeypatch.setattr(randomizer, "_EACH", 1)
    assert as_rows(randomize_codes(people(design), design, SeededSource(1))) == whole


def test_everyone_reports_once_in_the_smallest_types():
    design = designs()["unequal"]
    reports = randomize_codes(people(design), design, SeededSource(2))
    rows = np.concatenate([batch.rows for batch in reports.batches])
    assert sorted(rows) == list(range(N))
    assert {c.dtype for batch in reports.batches for c in batch.codes} == {np.dtype(np.uint8)}
    assert reports.fingerprint == design.fingerprint


def test_nothing_but_the_system_decides_by_default():
    design = mixed_matrices()
    drawn = []
    for _ in range(2):
        with nothing_else():
            drawn.append(as_rows(randomize_codes(people(design), design)))
    assert drawn[0] != drawn[1]  # equal with probability below 2^-400


@pytest.mark.parametrize("name", ["mixed", "sampled"])
def test_every_record_has_bytes_of_its_own_from_the_system(system, name):
    design = designs()[name]
    few = 4096 // design.record_bytes
    reports = randomize_codes(people(design, few), design)
    read = b"".join(system.pieces)
    assert len(read) == few * design.record_bytes
    assert as_rows(reports) == as_rows(
        randomize_codes(people(design, few), design, BytesSource(read))
    )


@pytest.mark.parametrize("compiled", [1, 10**9])
@pytest.mark.parametrize("name", ["mixed", "sampled", "unequal"])
def test_many_records_have_the_keystreams_of_fresh_system_keys(system, monkeypatch, name, compiled):
    """Record by record, or, in the compiled loop's chunks, in turn."""
    design = designs()[name]
    chunk = 301 + 4096 // design.record_bytes
    for place in ("_CHUNK", "_IN_TURN"):
        monkeypatch.setattr(randomizer, place, chunk * design.record_bytes)
    for place, value in (("_EACH", 1), ("AT_ONCE", 0), ("COMPILED", compiled)):
        monkeypatch.setattr(randomizer, place, value)
    monkeypatch.setattr(randomizer, "cores", lambda: 1)
    with ThreadPoolExecutor(1) as alone:  # chunk after chunk
        monkeypatch.setattr(randomizer, "threads", lambda: alone)
        reports = randomize_codes(people(design, 2 * chunk), design)
    assert [len(key) for key in system.pieces] == [32, 32]
    streams = [aes_256(key, chunk * design.record_bytes) for key in system.pieces]
    if compiled == 1:
        streams = [by_record(stream, chunk, design) for stream in streams]
    monkeypatch.setattr(randomizer, "COMPILED", 10**9)
    same = randomize_codes(people(design, 2 * chunk), design, BytesSource(b"".join(streams)))
    assert as_rows(reports) == as_rows(same)


def by_record(stream, people, design):
    """Bytes as a chunk takes them in turn, each put where its record has it."""
    records, taken = np.zeros((people, design.record_bytes), np.uint8), 0

    def place(rows, offset, width):
        nonlocal taken
        drawn = np.frombuffer(stream[taken : taken + len(rows) * width], np.uint8)
        taken += len(rows) * width
        low = min(width, 4)  # six bytes are four and two
        parts = [drawn[: low * len(rows)], drawn[low * len(rows) :]]
        parts = [part.reshape(len(rows), -1) for part in parts if len(part)]
        records[rows, offset : offset + width] = np.concatenate(parts, axis=1) if parts else 0

    everybody, asked = np.arange(people), np.zeros(people, int)
    if design.selection_bytes:
        place(everybody, 0, design.selection_bytes)
        chosen = np.zeros((people, 8), np.uint8)
        chosen[:, : design.selection_bytes] = records[:, : design.selection_bytes]
        ends = np.cumsum([q.weight for q in design.questionnaires])
        asked = (chosen.view("<u8") >= ends.astype(np.uint64)).sum(axis=1)
    for q, questionnaire in enumerate(design.questionnaires):
        offset = design.selection_bytes
        for cluster in questionnaire.clusters:
            place(everybody[asked == q], offset, draw_bytes(cluster.matrix.total))
            offset += draw_bytes(cluster.matrix.total)
    return records.tobytes()


@pytest.mark.parametrize("compiled", [1, 10**9])
@pytest.mark.parametrize("whole", [True, False])
def test_everyone_stays_in_place_when_all_cores_work(monkeypatch, compiled, whole):
    """At ε = 20 each, any of these answers is another than the true one in 2 of 10^6 runs."""
    domain = domain_of(2, 3, 4)
    design = independent(domain, epsilon=60.0) if whole else sampled(domain, 1, epsilon=20.0)
    for name, value in (("COMPILED", compiled), ("AT_ONCE", 0), ("_EACH", 7)):
        monkeypatch.setattr(randomizer, name, value)
    for name in ("_CHUNK", "_IN_TURN"):
        monkeypatch.setattr(randomizer, name, 1)
    codes = people(design, 150)
    with ThreadPoolExecutor(4) as four:
        monkeypatch.setattr(randomizer, "threads", lambda: four)
        reports = randomize_codes(codes, design)
    for q, batch in enumerate(reports.batches):
        names = [c.attributes[0] for c in design.questionnaires[q].clusters]
        for name, sent in zip(names, batch.codes, strict=True):
            np.testing.assert_array_equal(sent, codes[domain.index(name)][batch.rows])


def test_compiled_loops_are_loaded_for_many_rows_alone():
    assert randomizer.compiled(randomizer.COMPILED - 1) is None
    assert randomizer.compiled(randomizer.COMPILED).draw_constant is draw_constant


def test_each_batch_lists_people_in_their_order():
    design = designs()["sampled"]
    for batch in randomize_codes(people(design), design, SeededSource(5)).batches:
        assert (np.diff(batch.rows) > 0).all()


def test_the_last_of_257_questionnaires_can_be_drawn():
    design = sampled(domain_of(*[2] * 257), 1, epsilon=1.0)
    reports = randomize_codes(people(design, 1), design, BytesSource(b"\xff" * 6))
    assert [len(batch.rows) for batch in reports.batches] == [0] * 256 + [1]


def test_nobody_and_one_person():
    design = designs()["sampled"]
    none = randomize_codes(people(design, 0), design)
    assert none.n == 0
    assert [len(batch.rows) for batch in none.batches] == [0] * 6
    one = randomize_codes(people(design, 1), design, SeededSource(3))
    assert sum(len(batch.rows) for batch in one.batches) == 1


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64, np.uint64])
def test_codes_may_have_any_integer_type(kind):
    design = mixed_matrices()
    codes = people(design)
    wanted = as_rows(randomize_codes(codes, design, SeededSource(4)))
    typed = [column.astype(kind) for column in codes]
    assert as_rows(randomize_codes(typed, design, SeededSource(4))) == wanted


def test_the_first_attribute_is_the_most_significant():
    grids = np.indices((3, 2, 4)).reshape(3, -1)
    np.testing.assert_array_equal(cells_of(list(grids), (3, 2, 4)), np.arange(24))


@pytest.mark.parametrize(
    ("size", "kind"),
    [(2, np.uint8), (256, np.uint8), (257, np.uint16), (65537, np.uint32), (2**33, np.uint64)],
)
def test_the_smallest_type_that_holds_the_codes(size, kind):
    assert smallest_unsigned(size) == np.dtype(kind)


@pytest.mark.parametrize(
    ("codes", "complaint"),
    [
        ([[0, 1]], "1 columns of codes for 2 attributes"),
        ([[0, 1], [0]], "the codes of 'b' have another length than those of 'a'"),
        ([[0, 2], [0, 1]], "'a' has codes outside 0…1, those of this design"),
        ([[0, 1], [0, -1]], "'b' has codes outside 0…2"),
        ([[0, 1], [0.0, 1.0]], "the codes of 'b' are not a column of integers"),
        ([[0, 1], [0, np.nan]], "the codes of 'b' are not a column of integers"),
        ([["a0", "a1"], [0, 1]], "the codes of 'a' are not a column of integers"),
        ([[[0, 1]], [[0, 1]]], "the codes of 'a' are not a column of integers"),
    ],
)
def test_bad_codes_are_refused(codes, complaint):
    with pytest.raises(SchemaError) as error:
        randomize_codes([np.array(c) for c in codes], independent(domain_of(2, 3), p=0.5))
    assert complaint in str(error.value)
