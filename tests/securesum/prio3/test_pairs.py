"""Our circuit: true for records and nothing else; cheats pass as often as is stated, no more."""

import json
import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import ProtocolError
from mdrr.securesum.prio3 import flp, vdaf
from mdrr.securesum.prio3.field import FIELD64, Elements, Field
from mdrr.securesum.prio3.pairs import PROOFS, PairTables, forgery, prio3_of
from mdrr.securesum.prio3.scheme import QUERY, Prio3
from mdrr.securesum.question import Question
from mdrr.source import SeededSource
from scripts import make_proof_vectors
from tests.securesum.prio3 import plain
from tests.securesum.prio3.circuits import FIELD128
from tests.securesum.prio3.test_field import SMALL
from tests.securesum.prio3.test_vdaf import random_rows, verified

FIVE = Field(5, generator=2, order=4, size=1)
THIRTEEN = Field(13, generator=5, order=4, size=1)
SHAPE = (2, 3, 2)
DOMAIN = Domain(
    tuple(Attribute(name, tuple("abcd"[:size])) for name, size in zip("xyz", SHAPE, strict=True))
)
EXACT = Question(DOMAIN)
RECORDS = [np.array(column) for column in zip(*product(range(2), range(3), range(2)), strict=True)]


@dataclass(frozen=True)
class Unchecked(PairTables):
    """What a cheat shares: any vector of the right length."""

    def encode(self, measurements: Any) -> Elements:
        return np.asarray(measurements, np.uint64)


def run(prio3: Prio3, measurements: Any) -> tuple[list[int], Any]:
    """The whole protocol: what is refused, and the totals of the rest."""
    n, sizes = len(measurements), prio3.sizes
    nonces, rand = random_rows(n, vdaf.NONCE, 5), random_rows(n, sizes.rand, 6)
    public, shares = vdaf.shard(prio3, b"ctx", measurements, nonces, rand)
    return verified(nonces, public, shares, prio3, keys=(bytes(32),) * prio3.shares)


@pytest.mark.parametrize("aggregators", [2, 3])
def test_all_records_are_counted_exactly(aggregators: int) -> None:
    refused, totals = run(prio3_of(EXACT, aggregators), EXACT.positions(RECORDS))
    assert refused == [0] * 12
    assert np.array_equal(totals, EXACT.sums(RECORDS))
    EXACT.check(totals, 12)


def test_randomized_pairs_are_counted_and_need_not_agree() -> None:
    question = Question.randomized(DOMAIN, p=0.3)
    positions = question.positions(RECORDS, SeededSource(3))
    tables = [question.tables(np.bincount(row, minlength=16)) for row in positions]
    assert any((t["x", "y"].sum(axis=1) != t["x", "z"].sum(axis=1)).any() for t in tables)
    refused, totals = run(prio3_of(question, 2), positions)
    assert refused == [0] * 12
    assert np.array_equal(totals, np.bincount(positions.ravel(), minlength=16))


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2, 2, 2)])
def test_other_shapes_pass_and_positions_outside_a_table_do_not(shape: tuple[int, ...]) -> None:
    domain = Domain(tuple(Attribute(f"a{i}", tuple("abc"[:size])) for i, size in enumerate(shape)))
    question = Question(domain)
    prio3 = prio3_of(question, 2)
    last = [size - 1 for size in shape]
    positions = question.positions([[code] for code in last])
    refused, totals = run(prio3, positions)
    assert refused == [0]
    assert np.array_equal(totals, question.encode(last))
    for wrong in (positions + 1, positions[0], positions[:, :-1], np.repeat(positions, 2, axis=1)):
        with pytest.raises(ProtocolError, match="one in each table"):
            prio3.circuit.encode(wrong)


# What a vector holds: tables x×y (2×3), x×z (2×2), y×z (3×2), rows first. The record is (0, 0, 0).
HONEST = [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]
CHEATS = {
    "two-hot block": {1: 1},
    "two-hot, margins' sum kept": {1: 1, 3: -1},
    "disagreeing blocks": {10: 0, 15: 1},
    "block of another person": {0: 0, 4: 1},
    "large coefficient": {0: 7, 1: -6},
    "large coefficients that agree": {0: 7, 3: -6, 6: 7, 8: -6},
    "wrong field element": {0: 12345},
    "counted twice": {0: 2, 6: 2, 10: 2},
    "half a person": {0: pow(2, -1, FIELD64.modulus), 3: pow(2, -1, FIELD64.modulus)},
    "nobody": {0: 0, 6: 0, 10: 0},
    "an empty table": {10: 0},
    "minus one": {0: -1, 6: -1, 10: -1},
}  # fmt: skip


def cheating(name: str) -> list[int]:
    return [CHEATS[name].get(k, cell) for k, cell in enumerate(HONEST)]


@pytest.mark.parametrize("name", CHEATS)
@pytest.mark.parametrize("kind", ["exact", "randomized"])
@pytest.mark.parametrize("field", [FIELD64, FIELD128])
def test_planted_cheats_are_refused_and_others_counted(name: str, kind: str, field: Field) -> None:
    groups = ((0, 1, 2),) if kind == "exact" else ((0, 1), (0, 2), (1, 2))
    circuit = Unchecked(SHAPE, groups, field)
    vectors = field.elements(HONEST + cheating(name) + HONEST).reshape(3, -1, 2)
    refused, totals = run(Prio3(circuit, 2), vectors)
    alone = kind == "randomized" and name in ("disagreeing blocks", "block of another person")
    assert refused == [0, 0 if alone else vdaf.INVALID, 0]
    if not alone:  # a lie within the domain counts as one person; these count for nothing
        assert totals.tolist() == [2 * cell for cell in HONEST]


def grid(field: Field, count: int) -> Elements:
    """All vectors of that many numbers: (p^count, count, 2)."""
    every = np.stack(np.meshgrid(*[np.arange(field.modulus)] * count, indexing="ij"), axis=-1)
    out = np.zeros((field.modulus**count, count, 2), np.uint64)
    out[..., 0] = every.reshape(-1, count)
    return out


def outputs(circuit: PairTables, vectors: Elements, joint: Elements) -> Elements:
    """What the circuit gives if all is computed honestly."""
    wires = circuit.wires(vectors, joint, 1)
    gadget = circuit.field.multiply(wires[:, :, 0], wires[:, :, 1])
    return circuit.check(vectors, joint, gadget, 1)


def test_of_all_vectors_only_records_satisfy_the_circuit() -> None:
    """Every vector of four numbers mod 5, under every joint randomness: 390,625 cases."""
    circuit = PairTables((2, 2), ((0, 1),), FIVE)
    every = grid(FIVE, 4)
    vectors, joint = np.repeat(every, len(every), axis=0), np.tile(every, (len(every), 1, 1))
    zero = ~outputs(circuit, vectors, joint).any(axis=(1, 2)).reshape(len(every), -1)
    always = every[zero.all(axis=1)][..., 0].tolist()
    assert sorted(always) == [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
    by_chance = zero.mean(axis=1)[~zero.all(axis=1)]
    assert by_chance.max() <= 2 / 5


@pytest.mark.parametrize("field", [SMALL, FIELD64, FIELD128])
def test_circuit_and_proof_are_those_of_plain_integers(field: Field) -> None:
    """Also for vectors that are not valid: nothing is assumed of them."""
    circuit, p, draw = PairTables(SHAPE, ((0, 1, 2),), field), field.modulus, random.Random(9)
    roots = field.roots(4)
    for _ in range(5):
        cells, s, seeds = ([draw.randrange(p) for _ in range(k)] for k in (16, 7, 2))
        linear, quadratic, ones = plain.linear_and_quadratic(
            {(0, 1): [cells[0:3], cells[3:6]], (0, 2): [cells[6:8], cells[8:10]],
             (1, 2): [cells[10:12], cells[12:14], cells[14:16]]},
            [s[:2], s[2:5], s[5:]], p)  # fmt: skip
        vectors, joint, rands = (field.elements(k)[None] for k in (cells, s, seeds))
        expected = [(linear**2 - quadratic) % p, (ones - 3) % p]
        assert field.ints(outputs(circuit, vectors, joint)) == expected
        gadget = plain.gadget(linear, (seeds[0], seeds[1]), p)
        proof = flp.prove(circuit, vectors, rands, joint)
        assert field.ints(proof) == [*seeds, *(plain.value(gadget, x, p) for x in roots[:3])]
        factors, t = [draw.randrange(p), draw.randrange(p)], draw.randrange(3, p - 3)
        query = field.elements([*factors, t])[None]
        found, usable = flp.query(circuit, vectors, proof, query, joint, 1)
        wires = [plain.through([1, p - 1], [seed, linear], p) for seed in seeds]
        assert field.ints(found) == [
            sum(f * e for f, e in zip(factors, expected, strict=True)) % p,
            *(plain.value(wire, t, p) for wire in wires),
            plain.value(gadget, t, p),
        ]
        assert usable.tolist() == [True]


def forged(
    circuit: PairTables, vectors: Elements, joint: Elements, hits: tuple[int, int]
) -> Elements:
    """The best proof of a vector whose sums are right: it says L² = Q, and is right at two t.

    It is the honest polynomial G plus δ·(X − r)(X − r′), with δ such that the value at −1, where
    the gadget's output is read, is Q.
    """
    field, p = circuit.field, circuit.field.modulus
    seeds = np.broadcast_to(field.elements([1, 2]), (len(joint), 2, 2))
    proof = flp.prove(circuit, vectors, seeds, joint)
    lacking = field.subtract(field.elements([0]), outputs(circuit, vectors, joint)[:, :1])
    scale = pow((-1 - hits[0]) * (-1 - hits[1]), -1, p)
    bump = [(x - hits[0]) * (x - hits[1]) * scale for x in field.roots(4)[:3]]
    proof[:, 2:] = field.add(proof[:, 2:], field.multiply(lacking, field.elements(bump)))
    return proof


@pytest.mark.parametrize(
    ("field", "shape", "cells"),
    [
        (THIRTEEN, (2, 2), [7, -6, 0, 0]),  # a large coefficient
        (THIRTEEN, (2, 2), [1, 1, -1, 0]),  # two-hot
        (THIRTEEN, (2, 2), [7, 0, 0, 7]),  # a wrong field element: 7 is a half
        (FIVE, (2, 2, 2), [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]),  # tables that disagree
    ],
)
def test_a_cheat_passes_with_the_stated_probability(
    field: Field, shape: tuple[int, ...], cells: list[int]
) -> None:
    """All joint randomness and all test points are tried; chance is counted, not sampled."""
    p, circuit = field.modulus, PairTables(shape, (tuple(range(len(shape))),), field)
    joint = grid(field, sum(shape))
    vectors = np.broadcast_to(field.elements(cells), (len(joint), len(cells), 2))
    found = outputs(circuit, vectors, joint)
    assert not found[:, 1].any()  # the sums are right: only L² = Q can tell
    lucky = int((~found[:, 0].any(axis=1)).sum())
    assert 0 < lucky <= 2 / p * len(joint)
    proof = forged(circuit, vectors, joint, hits=(2, 3))
    passed = 0
    for t in range(p):
        query = np.broadcast_to(field.elements([3, 4, t]), (len(joint), 3, 2))
        verifier, usable = flp.query(circuit, vectors, proof, query, joint, 1)
        assert usable.all() == usable.any() == (t not in (1, p - 1))
        passed += int((flp.decide(circuit, verifier) & usable).sum())
    assert passed == lucky * (p - 2) + (len(joint) - lucky) * 2
    assert Fraction(passed, p * len(joint)) <= sum(circuit.chances) == Fraction(4, p)


@pytest.mark.parametrize("cells", [[2, -1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [3, 0, 0, 0]])
def test_no_proof_at_all_does_better(cells: list[int]) -> None:
    """Mod 5, every gadget polynomial against every query: at most 2 in 5 unless s was lucky."""
    circuit, p = PairTables((2, 2), ((0, 1),), FIVE), 5
    every, queries = grid(FIVE, 3), grid(FIVE, 3)
    draws = random.Random(4)
    for _ in range(12):
        s = FIVE.elements(draws.randrange(p) for _ in range(4))
        vector = FIVE.elements(cells)
        lucky = not outputs(circuit, vector[None], s[None]).any()
        proofs = np.concatenate([np.broadcast_to(FIVE.elements([1, 3]), (125, 2, 2)), every], 1)
        proofs, query = np.repeat(proofs, 125, axis=0), np.tile(queries, (125, 1, 1))
        given = (np.broadcast_to(one, (len(query), *one.shape)) for one in (vector, s))
        vectors, joint = given
        verifier, usable = flp.query(circuit, vectors, proofs, query, joint, 1)
        passed = (flp.decide(circuit, verifier) & usable).reshape(125, 125).mean(axis=1)
        assert passed.max() <= (3 / 5 if lucky else 2 / 5)


def test_what_aggregators_see_is_the_same_whatever_was_answered() -> None:
    """Over the prover's randomness the verifier has one distribution for all records."""
    circuit = PairTables((2, 2), ((0, 1),), THIRTEEN)
    joint, query = THIRTEEN.elements([2, 5, 7, 11]), THIRTEEN.elements([3, 4, 6])
    seeds = grid(THIRTEEN, 2)
    seen = []
    for record in range(4):
        vectors = circuit.encode([[record]] * len(seeds))
        same = [np.broadcast_to(one, (len(seeds), *one.shape)) for one in (joint, query)]
        proof = flp.prove(circuit, vectors, seeds, same[0])
        verifier, _ = flp.query(circuit, vectors, proof, same[1], same[0], 1)
        assert flp.decide(circuit, verifier).all()
        seen.append(sorted(verifier[..., 0].tolist()))
    assert seen[0] == seen[1] == seen[2] == seen[3]


def test_the_stated_chances() -> None:
    exact, pairs = prio3_of(EXACT, 2), prio3_of(Question.randomized(DOMAIN, p=0.5), 2)
    p = FIELD64.modulus
    assert exact.circuit.chances == (Fraction(2, p), Fraction(2, p))
    assert pairs.circuit.chances == (Fraction(2, p), Fraction(6, p))  # three groups: P = 4
    assert forgery(exact.circuit, 1) == Fraction(4, p)
    assert forgery(exact.circuit, 3) == Fraction(4, p) ** 3
    assert forgery(exact.circuit, PROOFS, 2**64) < Fraction(1, 2**120)
    assert forgery(exact.circuit, 1, 2**64) == 1  # one proof is not enough
    assert forgery(exact.circuit, 1, 2**62) == Fraction(2 + 2**63, p)
    # Two proofs: she wins none by trying, surely one of two, or both.
    ways = (Fraction(2, p) ** 2, Fraction(2, p), 2**62 * Fraction(2, p) ** 2)
    assert forgery(exact.circuit, 2, 2**62) == sum(ways)
    assert (exact.shares, exact.proofs, pairs.proofs) == (2, 3, 3)


@pytest.mark.parametrize(
    ("shape", "groups", "field"),
    [
        ((2, 2), (), FIELD64),
        ((2, 2), ((0,),), FIELD64),
        ((2, 2), ((0, 0),), FIELD64),
        ((2, 2), ((0, 2),), FIELD64),
        ((2, 0), ((0, 1),), FIELD64),
        ((2,) * 5, (tuple(range(5)),), FIVE),
    ],
)
def test_circuits_that_prove_nothing_are_refused(shape: Any, groups: Any, field: Field) -> None:
    with pytest.raises(ProtocolError):
        PairTables(shape, groups, field)


def test_an_attribute_may_have_a_single_category() -> None:
    refused, totals = run(Prio3(PairTables((1, 2), ((0, 1),)), 2), [[0], [1], [1]])
    assert (refused, totals.tolist()) == ([0, 0, 0], [1, 2])


def test_the_recorded_reports_are_what_the_code_gives() -> None:
    recorded = json.loads(make_proof_vectors.FILE.read_text("utf-8"))
    assert make_proof_vectors.vectors() == recorded
    for run in recorded.values():
        assert [report["refused"] for report in run["reports"]] == [
            None, None, None, vdaf.REASONS[vdaf.INVALID]
        ]  # fmt: skip
        counted = [report["measurement"] for report in run["reports"][:3]]
        assert run["agg_result"] == np.bincount(np.ravel(counted), minlength=16).tolist()


def test_a_test_point_that_would_show_a_wire_is_not_used() -> None:
    """In a field of 13 numbers it is a root of unity for 2 of 13 reports; nothing is said then."""
    prio3 = Prio3(PairTables((2, 2), ((0, 1),), THIRTEEN), 2)
    n, key = 60, bytes(32)
    nonces, rand = random_rows(n, vdaf.NONCE, 5), random_rows(n, prio3.sizes.rand, 6)
    public, shares = vdaf.shard(prio3, b"ctx", [[k % 4] for k in range(n)], nonces, rand)
    keys = np.zeros((n, 32), np.uint8)
    bound = [nonce.tobytes() for nonce in nonces]
    drawn = prio3.numbers(b"ctx", QUERY, keys, bound, flp.query_rands(prio3.circuit))
    unlucky = np.isin(drawn[:, 0, -1, 0], (1, 12))
    assert 0 < unlucky.sum() < n
    for k in (0, 1):
        state, sent = vdaf.verify_init(prio3, key, b"ctx", k, nonces, public, shares[k])
        assert state.refused.tolist() == (vdaf.UNUSABLE * unlucky).tolist()
        assert not sent[unlucky, :-32].any()
    refused, totals = verified(nonces, public, shares, prio3, keys=(key, key))
    assert refused == (vdaf.UNUSABLE * unlucky).tolist()
    assert totals.tolist() == (np.bincount(np.arange(n)[~unlucky] % 4) % 13).tolist()


def test_an_empty_batch_adds_nothing() -> None:
    refused, totals = run(prio3_of(EXACT, 2), EXACT.positions([[], [], []]))
    assert refused == []
    assert not totals.any()


def test_totals_beyond_all_people_are_refused() -> None:
    prio3 = prio3_of(EXACT, 2)
    share: npt.NDArray[np.uint8] = np.full(prio3.sizes.aggregate_share, 200, np.uint8)
    with pytest.raises(ProtocolError, match="exceeds any number of people"):
        vdaf.unshard(prio3, [share.tobytes(), bytes(len(share))])
    assert prio3.circuit.decode([0, 2**63 - 1]).tolist() == [0, 2**63 - 1]
    with pytest.raises(ProtocolError, match="exceeds any number of people"):
        prio3.circuit.decode([0, 2**63])
