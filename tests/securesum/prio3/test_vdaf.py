"""Prio3 against the draft's vectors, good and bad, and against messages that are not as sent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.prio3 import vdaf, xof
from mdrr.securesum.prio3.field import FIELD64, Octets
from mdrr.securesum.prio3.scheme import Prio3
from mdrr.securesum.prio3.vdaf import VerifyState
from mdrr.source import SeededSource
from tests.securesum.prio3.circuits import FIELD128, Bits, Count, histogram, multihot, sum_vec
from tests.securesum.prio3.test_field import SMALL

FOLDER = Path(__file__).resolve().parents[3] / "vectors" / "vdaf"
RUNS = sorted(path.stem for path in FOLDER.glob("Prio3*.json"))
KEY = bytes(range(32))


def circuit(name: str, run: dict[str, Any]) -> Bits | Count:
    kind = name.split("_")[0]
    if kind == "Prio3Count":
        return Count()
    length, chunk = run["length"], run["chunk_length"]
    if kind == "Prio3Histogram":
        return histogram(length, chunk)
    if kind == "Prio3MultihotCountVec":
        return multihot(length, run["max_weight"], chunk)
    if kind == "Prio3SumVec":
        return sum_vec(length, run["max_measurement"], chunk)
    return sum_vec(length, run["max_measurement"], chunk, FIELD64, 0xFFFFFFFF)


def test_the_folder_holds_every_kind_good_and_bad() -> None:
    assert len(RUNS) == 20
    assert sum("_bad_" in name for name in RUNS) == 8


def test_the_stream_is_the_drafts() -> None:
    case = json.loads((FOLDER / "XofTurboShake128.json").read_text())
    tag, binder = bytes.fromhex(case["dst"]), bytes.fromhex(case["binder"])
    seed = np.frombuffer(bytes.fromhex(case["seed"]), np.uint8)[None]
    assert xof.derive(seed, tag, [binder]).tobytes().hex() == case["derived_seed"]
    numbers = xof.expand(FIELD128, seed, tag, [binder], case["length"])
    assert FIELD128.pack(numbers).tobytes().hex() == case["expanded_vec_field128"]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_the_draft_step_by_step(name: str) -> None:
    """Every operation gives the recorded bytes, or fails where the vector says that it must."""
    run = json.loads((FOLDER / f"{name}.json").read_text())
    prio3 = Prio3(circuit(name, run), run["shares"], 3 if "Multiproof" in name else 1)
    ctx, reports, sizes = bytes.fromhex(run["ctx"]), run["reports"], prio3.sizes
    states: dict[tuple[int, int], vdaf.VerifyState] = {}
    outputs: dict[int, list[Any]] = {k: [] for k in range(prio3.shares)}
    aggregates: list[bytes] = []
    assert run["operations"]
    for step in run["operations"]:
        i, k, succeeds = step.get("report_index", 0), step.get("aggregator_id", 0), step["success"]
        report = reports[i]
        nonce = read(report["nonce"], vdaf.NONCE)
        if step["operation"] == "shard":
            rand = read(report["rand"], sizes.rand)
            public, shares = vdaf.shard(prio3, ctx, [report["measurement"]], nonce, rand)
            assert public.tobytes().hex() == report["public_share"]
            assert [share.tobytes().hex() for share in shares] == report["input_shares"]
        elif step["operation"] == "verify_init":
            size = sizes.helper_share if k else sizes.leader_share
            state, sent = vdaf.verify_init(
                prio3, bytes.fromhex(run["verify_key"]), ctx, k, nonce,
                read(report["public_share"], sizes.public_share),
                read(report["input_shares"][k], size),
            )  # fmt: skip
            states[i, k] = state
            assert (not state.refused.any()) == succeeds
            recorded = report["verifier_shares"][0][k : k + 1]
            assert not recorded or [sent.tobytes().hex()] == recorded
        elif step["operation"] == "verifier_shares_to_message":
            given = [read(one, sizes.verifier_share) for one in report["verifier_shares"][0]]
            message, refused = vdaf.verifier_shares_to_message(prio3, ctx, given)
            assert (not refused.any()) == succeeds
            if succeeds:
                assert message.tobytes().hex() == report["verifier_messages"][0]
        elif step["operation"] == "verify_next":
            message = read(report["verifier_messages"][0], sizes.verifier_message)
            output, refused = vdaf.verify_next(prio3, states[i, k], message)
            assert (not refused.any()) == succeeds
            if succeeds:
                packed = prio3.circuit.field.pack(output).tobytes().hex()
                assert packed == report["out_shares"][k]
                outputs[k].append(output)
            else:
                assert not output.any()
        elif step["operation"] == "aggregate":
            share = None
            for output in outputs[k]:
                share = vdaf.aggregate(prio3, output, np.array([True]), share)
            assert share is not None
            assert share.hex() == run["agg_shares"][k]
            aggregates.append(share)
        else:
            assert step["operation"] == "unshard"
            assert vdaf.unshard(prio3, aggregates) == run["agg_result"]


def read(text: str, size: int) -> Octets:
    return vdaf.rows([bytes.fromhex(text)], size)


HISTOGRAM = Prio3(histogram(5, 2), shares=3)
ANSWERS = [0, 4, 4, 2]


def random_rows(n: int, size: int, seed: int) -> Octets:
    return np.frombuffer(SeededSource(seed).read(n * size), np.uint8).reshape(n, size).copy()


def sharded(prio3: Prio3 = HISTOGRAM, answers: Any = None) -> tuple[Octets, Octets, list[Octets]]:
    answers = ANSWERS if answers is None else answers
    nonces = random_rows(len(answers), vdaf.NONCE, 1)
    rand = random_rows(len(answers), prio3.sizes.rand, 2)
    return nonces, *vdaf.shard(prio3, b"ctx", answers, nonces, rand)


def verified(
    nonces: Octets,
    public: Octets,
    shares: list[Octets],
    prio3: Prio3 = HISTOGRAM,
    keys: tuple[bytes, ...] = (KEY,) * 3,
    ctx: bytes = b"ctx",
) -> tuple[list[int], Any]:
    """The whole verification: what is refused, and the result over the rest."""
    said = [
        vdaf.verify_init(prio3, keys[k], ctx, k, nonces, public, share)
        for k, share in enumerate(shares)
    ]
    messages, refused = vdaf.verifier_shares_to_message(prio3, ctx, [sent for _, sent in said])
    ends = [vdaf.verify_next(prio3, state, messages) for state, _ in said]
    before = [state.refused for state, _ in said]
    refused = vdaf.first_reason(*before, refused, *(late for _, late in ends))
    aggregates = [vdaf.aggregate(prio3, output, refused == 0) for output, _ in ends]
    return refused.tolist(), vdaf.unshard(prio3, aggregates)


def test_three_aggregators_sum_what_people_answered() -> None:
    nonces, public, shares = sharded()
    assert verified(nonces, public, shares) == ([0, 0, 0, 0], [1, 0, 1, 0, 2])


@pytest.mark.parametrize("aggregators", [2, 3])
def test_without_joint_randomness_messages_are_shorter_and_sums_the_same(aggregators: int) -> None:
    count = Prio3(Count(), aggregators)
    nonces, public, shares = sharded(count, [1, 0, 1, 1])
    assert public.shape == (4, 0)
    refused, total = verified(nonces, public, shares, count, (KEY,) * aggregators)
    assert (refused, total) == ([0] * 4, 3)
    seeds = count.joint_seed(b"ctx", public)
    assert (seeds.shape, seeds.dtype) == ((4, 0), np.uint8)
    joint = count.joint_rands(b"ctx", seeds)
    assert (joint.shape, joint.dtype) == ((4, 1, 0, 2), np.uint64)


def test_a_number_outside_the_field_refuses_one_report_and_no_other() -> None:
    nonces, public, shares = sharded()
    shares[0][1, 16:32] = 255
    assert verified(nonces, public, shares) == ([0, vdaf.MALFORMED, 0, 0], [1, 0, 1, 0, 1])
    state, sent = vdaf.verify_init(HISTOGRAM, KEY, b"ctx", 0, nonces, public, shares[0])
    assert state.outputs.any(axis=(1, 2)).tolist() == [True, False, True, True]
    assert sent[:, :-32].any(axis=1).tolist() == [True, False, True, True]


def test_a_verifier_share_outside_the_field_refuses_its_report() -> None:
    nonces, public, shares = sharded()
    sent = [
        vdaf.verify_init(HISTOGRAM, KEY, b"ctx", k, nonces, public, share)[1]
        for k, share in enumerate(shares)
    ]
    sent[2][3, :16] = 255
    refused = vdaf.verifier_shares_to_message(HISTOGRAM, b"ctx", sent)[1]
    assert (refused.tolist(), refused.dtype) == ([0, 0, 0, vdaf.MALFORMED], np.uint8)


@pytest.mark.parametrize("place", range(0, 16 * 5, 16))
def test_every_number_of_the_vector_is_covered_by_the_proof(place: int) -> None:
    nonces, public, shares = sharded()
    shares[0][2, place] ^= 1
    refused, totals = verified(nonces, public, shares)
    assert refused == [0, 0, vdaf.INVALID, 0]
    assert totals == [1, 0, 1, 0, 1]


def test_shares_of_two_reports_do_not_go_together() -> None:
    nonces, public, shares = sharded()
    shares[1][[1, 2]] = shares[1][[2, 1]]  # both answered the same
    assert verified(nonces, public, shares)[0] == [0, vdaf.INVALID, vdaf.INVALID, 0]


@pytest.mark.parametrize("changed", ["nonce", "key", "ctx", "public"])
def test_what_the_proof_is_bound_to(changed: str) -> None:
    nonces, public, shares = sharded()
    keys, ctx = (KEY,) * 3, b"ctx"
    if changed == "nonce":
        nonces[:, 0] ^= 1
    if changed == "key":
        keys = (KEY, KEY, bytes(32))
    if changed == "ctx":
        ctx = b"another"
    if changed == "public":
        public[:, 40] ^= 1
    refused, totals = verified(nonces, public, shares, keys=keys, ctx=ctx)
    assert refused == [vdaf.INVALID] * 4
    assert totals == [0] * 5


def test_a_verifier_message_that_was_changed_is_a_mismatch() -> None:
    nonces, public, shares = sharded()
    state, _ = vdaf.verify_init(HISTOGRAM, KEY, b"ctx", 0, nonces, public, shares[0])
    assert state.refused.dtype == np.uint8
    messages = state.seeds.copy()
    messages[1, 0] ^= 1
    output, refused = vdaf.verify_next(HISTOGRAM, state, messages)
    assert refused.tolist() == [0, vdaf.MISMATCH, 0, 0]
    assert not output[1].any()
    assert output[0].any()


def test_what_was_refused_before_stays_refused_and_counts_nothing() -> None:
    reasons = np.array([0, *vdaf.REASONS], np.uint8)
    outputs = FIELD128.elements(range(1, 26)).reshape(5, 5, 2)
    seeds = random_rows(5, 32, 3)
    messages = seeds.copy()
    messages[-1, 31] ^= 1  # the first reason stands
    found, refused = vdaf.verify_next(HISTOGRAM, VerifyState(outputs, seeds, reasons), messages)
    assert refused.tolist() == reasons.tolist()
    assert FIELD128.ints(found) == [*range(1, 6), *[0] * 20]
    assert FIELD128.ints(outputs) == [*range(1, 26)]  # she may ask again


def test_the_first_who_refuses_says_why() -> None:
    said = [np.array(one, np.uint8) for one in ([0, 0, 0, 1], [0, 0, 2, 2], [0, 3, 3, 3])]
    assert vdaf.first_reason(*said).tolist() == [0, 3, 2, 1]
    assert vdaf.first_reason(*said[:2]).tolist() == [0, 0, 2, 1]
    assert vdaf.first_reason(said[1]).tolist() == [0, 0, 2, 2]
    assert said[0].tolist() == [0, 0, 0, 1]  # what was said is not changed


def test_every_refusal_has_words() -> None:
    assert set(vdaf.REASONS) == {vdaf.MALFORMED, vdaf.INVALID, vdaf.MISMATCH, vdaf.UNUSABLE}


def test_whole_batches_of_the_wrong_form_are_errors() -> None:
    nonces, public, shares = sharded()
    for wrong in (nonces[:, :15], nonces[:3], nonces.astype(np.int64)):
        with pytest.raises(ProtocolError, match="expected"):
            vdaf.verify_init(HISTOGRAM, KEY, b"ctx", 0, wrong, public, shares[0])
    with pytest.raises(ProtocolError, match="input shares of uint8"):
        vdaf.verify_init(HISTOGRAM, KEY, b"ctx", 1, nonces, public, shares[0])
    with pytest.raises(ProtocolError, match="aggregator 3 of 3"):
        vdaf.verify_init(HISTOGRAM, KEY, b"ctx", 3, nonces, public, shares[0])
    with pytest.raises(ProtocolError, match="key of 5 bytes"):
        vdaf.verify_init(HISTOGRAM, b"short", b"ctx", 0, nonces, public, shares[0])
    with pytest.raises(ProtocolError, match="2 verifier shares of 3"):
        vdaf.verifier_shares_to_message(HISTOGRAM, b"ctx", [nonces, nonces])
    with pytest.raises(ProtocolError, match="message 1 has 3 bytes where 2"):
        vdaf.rows([b"ab", b"abc"], 2)


def test_nobody_is_left_out_where_lengths_differ() -> None:
    seeds, nonces = random_rows(3, 32, 1), random_rows(3, vdaf.NONCE, 2)
    vectors = FIELD128.elements(range(15)).reshape(3, 5, 2)
    for call in (
        lambda: xof.derive(seeds[:2], b"tag", [b""] * 3),
        lambda: xof.expand(FIELD128, seeds[:2], b"tag", [b""] * 3, 4),
        lambda: HISTOGRAM.part(b"ctx", 0, seeds[:2], vectors[:2], nonces),
        lambda: HISTOGRAM.part(b"ctx", 0, seeds[:2], vectors, nonces[:2]),
    ):
        with pytest.raises(ValueError, match="zip"):
            call()


def test_an_error_says_which_messages_are_of_the_wrong_form() -> None:
    nonces, public, shares = sharded()
    state, sent = vdaf.verify_init(HISTOGRAM, KEY, b"ctx", 0, nonces, public, shares[0])
    rand, bad, sizes = random_rows(4, HISTOGRAM.sizes.rand, 2), nonces[:, :3], HISTOGRAM.sizes

    def checking(*given: Octets, aggregator: int = 0) -> Callable[[], Any]:
        return lambda: vdaf.verify_init(HISTOGRAM, KEY, b"ctx", aggregator, *given)

    calls: list[tuple[str, int, Callable[[], Any]]] = [
        ("nonces", 16, lambda: vdaf.shard(HISTOGRAM, b"ctx", ANSWERS, bad, rand)),
        ("random bytes", sizes.rand, lambda: vdaf.shard(HISTOGRAM, b"ctx", ANSWERS, nonces, bad)),
        ("nonces", 16, checking(bad, public, shares[0])),
        ("public shares", sizes.public_share, checking(nonces, bad, shares[0])),
        ("input shares", sizes.leader_share, checking(nonces, public, bad)),
        ("input shares", sizes.helper_share, checking(nonces, public, bad, aggregator=1)),
        ("verifier shares", sizes.verifier_share,
         lambda: vdaf.verifier_shares_to_message(HISTOGRAM, b"ctx", [sent, bad, sent])),
        ("verifier messages", 32, lambda: vdaf.verify_next(HISTOGRAM, state, bad)),
    ]  # fmt: skip
    for what, size, call in calls:
        with pytest.raises(ProtocolError) as error:
            call()
        expected = f"{what} of uint8 (4, 3) where uint8 (4, {size}) is expected"
        assert str(error.value) == expected


def test_aggregate_shares_are_read_with_care() -> None:
    size = HISTOGRAM.sizes.aggregate_share
    assert vdaf.unshard(HISTOGRAM, [bytes(size)] * 3) == [0] * 5
    with pytest.raises(ProtocolError, match="2 aggregate shares of 3"):
        vdaf.unshard(HISTOGRAM, [bytes(size)] * 2)
    with pytest.raises(ProtocolError, match="outside the field"):
        vdaf.unshard(HISTOGRAM, [b"\xff" * size, bytes(size), bytes(size)])
    with pytest.raises(ProtocolError, match="79 bytes where 80"):
        vdaf.unshard(HISTOGRAM, [bytes(size - 1), bytes(size), bytes(size)])


@pytest.mark.parametrize(
    ("make", "answers"),
    [(lambda: histogram(5, 2), [5]), (lambda: histogram(5, 2), [-1]), (Count, [2]),
     (lambda: sum_vec(2, 9, 3), [[1, 10]]), (lambda: multihot(4, 2, 2), [[1, 1, 1, 0]]),
     (lambda: multihot(4, 2, 2), [[2, 0, 0, 0]])],
)  # fmt: skip
def test_a_measurement_out_of_range_is_not_sharded(
    make: Callable[[], Bits | Count], answers: Any
) -> None:
    with pytest.raises(ProtocolError, match="not from 0 to"):
        sharded(Prio3(make()), answers)


@pytest.mark.parametrize(("shares", "proofs"), [(1, 1), (256, 1), (2, 0), (2, 256)])
def test_too_few_or_too_many_aggregators_or_proofs(shares: int, proofs: int) -> None:
    with pytest.raises(ProtocolError, match="2 to 255 aggregators"):
        Prio3(Count(), shares, proofs)


@pytest.mark.parametrize(
    "make",
    [lambda: histogram(0, 1), lambda: histogram(3, 0), lambda: sum_vec(3, 0, 1),
     lambda: sum_vec(1, 2**64, 1, FIELD64), lambda: sum_vec(1, 97, 1, SMALL),
     lambda: histogram(97, 5, SMALL), lambda: multihot(3, 0, 1)],
)  # fmt: skip
def test_circuits_that_cannot_be(make: Any) -> None:
    with pytest.raises(ProtocolError):
        make()


def test_the_smallest_and_the_largest_circuits() -> None:
    assert sum_vec(1, 96, 1, SMALL).worth == (1, 2, 4, 8, 16, 32, 33)
    assert histogram(96, 5, SMALL).calls == 20
    assert histogram(1, 1).encode([0, 0]).tolist() == [[[1, 0]], [[1, 0]]]
    assert sum_vec(1, 1, 1).worth == (1,)
    assert Prio3(Count(), 255, 255).shares == 255


@pytest.mark.parametrize("top", [1, 2, 3, 4, 7, 8, 9, 100])
def test_a_number_is_written_in_bits_of_which_the_last_is_set_only_if_it_must_be(top: int) -> None:
    """As the draft's SumVec: powers of two, then what they lack."""
    circuit = sum_vec(2, top, 3)
    size, powers = top.bit_length(), 2 ** (top.bit_length() - 1) - 1
    for number in range(top + 1):
        [bits] = circuit.encode([[number, top]])[..., 0].tolist()
        must = number > powers
        rest = number - (top - powers) * must
        assert bits[:size] == [*(rest >> k & 1 for k in range(size - 1)), int(must)]
        assert bits[size:] == [1] * size
        assert circuit.field.ints(circuit.truncate(circuit.encode([[number, top]]))) == [
            number,
            top,
        ]


def test_how_often_yes_was_said_is_part_of_the_vector() -> None:
    circuit = multihot(4, 3, 2)
    marks = [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 1], [1, 1, 1, 0]]
    bits = circuit.encode(marks)[..., 0].tolist()
    counts = [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert bits == [[*yes, *count] for yes, count in zip(marks, counts, strict=True)]
    assert circuit.demanded == ((1, 1, 1, 1, -1, -2), 0)
