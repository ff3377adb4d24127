"""`vectors/`: the same bytes give the same report in every implementation; bad input is refused."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import mdrr.randomizer
import mdrr.respondent
from mdrr.design import Design
from mdrr.errors import DesignError, MatrixError, MdrrError, SchemaError, TallyError
from mdrr.frames import tally
from mdrr.matrix import matrix_from_dict
from mdrr.matrix.constant import Constant
from mdrr.randomizer import randomize_codes
from mdrr.respondent import check, record_bytes, respond
from mdrr.source import BytesSource
from scripts.make_vectors import texts

FOLDER = Path(__file__).resolve().parents[1] / "vectors"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "bad")
BAD = json.loads((FOLDER / "bad.json").read_text(encoding="ascii"))


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))


def single(vector: dict) -> list[dict]:
    """The reports by the single-record randomizer."""
    return [
        respond(
            person["record"], vector["design"], BytesSource(bytes.fromhex(person["bytes"]))
        ).to_dict()
        for person in vector["people"]
    ]


def bulk(vector: dict) -> list[dict]:
    """The reports by the bulk randomizer, everybody at once."""
    design = Design.from_dict(vector["design"])
    people = vector["people"]
    codes = [
        np.array([attribute.code(person["record"][attribute.name]) for person in people])
        for attribute in design.domain.attributes
    ]
    stream = b"".join(bytes.fromhex(person["bytes"]) for person in people)
    reports = randomize_codes(codes, design, BytesSource(stream))
    found: list[dict] = [{}] * len(people)
    for q, batch in enumerate(reports.batches):
        for i, row in enumerate(batch.rows):
            sent = [int(column[i]) for column in batch.codes]
            found[row] = {"design": reports.fingerprint, "questionnaire": q, "codes": sent}
    return found


def wanted(vector: dict) -> list[dict]:
    return [person["report"] for person in vector["people"]]


KEPT = {
    "banded": "1749ba350def2ddb",
    "clusters": "c632ac2372fa2d9c",
    "constant-16": "1eeddda46a537416",
    "constant-32": "50e9e4e062a4892f",
    "constant-48": "d325431ab6fe93bd",
    "dense-more-codes": "0a48d7e41116ba45",
    "dense": "15f2a398cbdc3b0f",
    "joint": "bcce75a4459972cc",
    "labels": "7fa1dd3c8b0660ce",
    "sampled": "d052ce403d3ee3d0",
    "subset": "74e422312bdb6313",
}
"""Fingerprints of designs without public attributes. They are published, and never change."""


def test_fingerprints_of_designs_that_were_published_stay():
    assert {name: load(name)["fingerprint"][:16] for name in KEPT} == KEPT


def test_the_script_writes_what_is_kept():
    kept = [*FOLDER.glob("*.json"), *FOLDER.glob("words/*.json")]
    assert {
        str(path.relative_to(FOLDER)): path.read_text(encoding="ascii") for path in kept
    } == texts()


def test_the_fingerprint_of_words_is_that_of_their_canonical_text():
    vector = load("words/survey")
    assert mdrr.respondent.fingerprint(vector["survey"]) == vector["fingerprint"]
    spoken = json.loads(json.dumps(vector["survey"]))
    spoken["questions"][1]["labels"].reverse()  # "no" for the category yes
    assert mdrr.respondent.fingerprint(spoken) != vector["fingerprint"]


@pytest.mark.parametrize("name", NAMES)
def test_the_single_record_randomizer_reproduces_them(name):
    assert single(load(name)) == wanted(load(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_bulk_randomizer_reproduces_them(name):
    assert bulk(load(name)) == wanted(load(name))


@pytest.mark.parametrize("name", NAMES)
def test_canonical_text_and_fingerprint_are_reproduced(name):
    vector = load(name)
    design = Design.from_dict(vector["design"])
    assert design.to_dict() == vector["design"]
    assert design.fingerprint == vector["fingerprint"]
    assert hashlib.sha256(vector["canonical"].encode()).hexdigest() == vector["fingerprint"]
    assert json.loads(vector["canonical"]) == vector["design"]
    assert design.record_bytes == record_bytes(vector["design"]) == vector["record_bytes"]


@pytest.mark.parametrize("name", NAMES)
def test_the_reports_can_be_tallied(name):
    vector = load(name)
    counted = tally(wanted(vector), Design.from_dict(vector["design"]))
    assert counted.n == len(vector["people"])


@pytest.mark.parametrize("name", NAMES)
def test_they_hold_nothing_but_text_and_safe_integers(name):
    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(item) for key, item in value.items())
        if isinstance(value, list):
            return all(plain(item) for item in value)
        return isinstance(value, str | bool) or (isinstance(value, int) and abs(value) < 2**53)

    assert plain(load(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_code_of_the_first_cluster_is_reported_by_somebody(name):
    """Else a vector could not tell a wrong code from a right one."""
    vector = load(name)
    matrix = vector["design"]["questionnaires"][0]["clusters"][0]["matrix"]
    outcomes = matrix_from_dict(matrix).outcomes
    seen = {r["codes"][0] for r in wanted(vector) if r["questionnaire"] == 0}
    assert seen == set(range(outcomes))


@pytest.mark.parametrize("case", BAD, ids=[f"{case['kind']}: {case['why']}" for case in BAD])
def test_what_is_bad_is_refused(case):
    if case["kind"] == "design":
        with pytest.raises((DesignError, MatrixError, SchemaError)):
            Design.from_dict(case["design"])
        with pytest.raises((DesignError, MatrixError, SchemaError)):
            check(case["design"])
    elif case["kind"] == "record":
        with pytest.raises(SchemaError) as error:
            respond(case["record"], case["design"])
        assert "'a'" in str(error.value)
        assert "'w'" not in str(error.value), "an answer must not reach a log"
    else:
        with pytest.raises(TallyError):
            tally([case["report"]], Design.from_dict(case["design"]))


def test_every_kind_of_badness_is_there():
    assert {case["kind"] for case in BAD} == {"design", "record", "report"}
    assert issubclass(TallyError, MdrrError)


def big_endian(stream, offset, width):
    padded = np.zeros((len(stream), 8), dtype=np.uint8)
    padded[:, :width] = stream[:, offset : offset + width][:, ::-1]
    return padded.view("<u8").reshape(-1)


def one_too_far(self, true, uniform):
    noise = (uniform + np.uint64(1)) // np.uint64(self.off)
    return np.where(noise < np.uint64(self.cells), noise, true.astype(np.uint64))


def last_attribute_first(columns, shape, kind=np.int64):
    return np.ravel_multi_index(list(columns)[::-1], tuple(shape)[::-1])


@pytest.mark.parametrize(
    ("where", "what", "bug", "name"),
    [
        (mdrr.randomizer, "_uniform", big_endian, "constant-16"),
        (mdrr.randomizer, "_uniform", big_endian, "sampled"),
        (Constant, "draw", one_too_far, "constant-48"),
        (Constant, "draw", one_too_far, "joint"),
        (mdrr.randomizer, "cells_of", last_attribute_first, "joint"),
        (mdrr.randomizer, "cells_of", last_attribute_first, "clusters"),
    ],
)
def test_a_planted_bug_in_the_bulk_randomizer_is_found(monkeypatch, where, what, bug, name):
    """Also bugs that no statistics can see: swapped bytes are as uniform as straight ones."""
    monkeypatch.setattr(where, what, bug)
    assert bulk(load(name)) != wanted(load(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_bug_in_the_single_record_randomizer_is_found(monkeypatch, name):
    """One draw too far: u + 1 for u, wherever there is one."""
    right = mdrr.respondent.draw

    def one_further(matrix, cell, u):
        return right(matrix, cell, min(u + 1, mdrr.respondent.total_of(matrix) - 1))

    monkeypatch.setattr(mdrr.respondent, "draw", one_further)
    assert single(load(name)) != wanted(load(name))
