"""`vectors/securesum`: recorded runs read back to the same totals, bad messages are refused."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdrr.securesum import ring
from mdrr.securesum.admission import RELAY, credential, hashed, read_roll
from mdrr.securesum.batch import Batch
from mdrr.securesum.keys import Identity
from mdrr.securesum.members import join, read_join
from mdrr.securesum.message import Message
from mdrr.securesum.opening import add_up
from mdrr.securesum.person import open_part
from mdrr.securesum.shares import read_commitment, read_reveal, read_share
from mdrr.securesum.signed import Roster, Terms
from mdrr.securesum.wire import digest
from mdrr.source import BytesSource
from scripts import make_securesum_vectors as make

FOLDER = Path(__file__).resolve().parents[2] / "vectors" / "securesum"


def load(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def identity(fields: dict[str, Any]) -> Identity:
    secrets = (base64.b64decode(fields[f"{use}_secret"]) for use in ("signing", "sealing"))
    made = Identity(*secrets, fields["operator"])
    assert made.id == fields["id"]
    return made


def messages(run: dict[str, Any]) -> list[Message]:
    return [Message.from_json(json.dumps(fields)) for fields in run["messages"]]


def of_kind(all_of_them: list[Message], kind: str) -> list[Message]:
    return [message for message in all_of_them if message.kind == kind]


def test_the_ring_file_is_what_the_code_gives() -> None:
    assert make.ring_vectors() == load("ring")
    for case in load("ring")["residues"]:
        source = BytesSource(bytes.fromhex(case["bytes"]))
        drawn = ring.uniform(source, case["modulus"], len(case["residues"]))
        assert drawn.tolist() == case["residues"]


def test_a_recorded_paper_run_gives_its_totals() -> None:
    run = load("paper")
    said, parties = messages(run), {one["id"]: identity(one) for one in run["parties"]}
    terms = Terms.read(said[0], run["organiser"]["id"])
    tokens = {one["id"]: f"invitation-{k}-".ljust(43, "x") for k, one in enumerate(run["parties"])}
    for message in of_kind(said, "join"):
        assert read_join(message, terms).public == parties[message.sender].public
        assert join(parties[message.sender], terms, tokens[message.sender]) == message
    roster = Roster.read(of_kind(said, "roster")[0], terms)
    assert roster.digest == run["roster"]
    rows = []
    for message in of_kind(said, "share"):
        assert message.signed_by(parties[message.sender].public.signing)
        share = read_share(message.body, roster, message.sender, parties[str(message.to)])
        rows.append(share)
    assert len(rows) == 6
    committed = {m.sender: read_commitment(m.body) for m in of_kind(said, "commit")}
    opened = [
        read_reveal(m.body, roster, m.sender, committed[m.sender]) for m in of_kind(said, "reveal")
    ]
    assert {seen for _, seen in opened} == {digest(committed)}
    sums = [vector for vector, _ in opened]
    assert ring.add(np.vstack(sums), roster.modulus).tolist() == run["totals"]
    codes = list(zip(*(one["codes"] for one in run["parties"]), strict=True))
    assert terms.question.sums(codes).tolist() == run["totals"]


def test_a_recorded_batch_gives_its_totals() -> None:
    run = load("aggregators")
    batch = Batch.read(Message.from_json(json.dumps(run["batch"])), run["organiser"]["id"])
    servers = [identity(one) for one in run["aggregators"]]
    assert [one.public for one in servers] == list(batch.aggregators)
    readers = (RELAY, *batch.ids)
    rolls = [read_roll(bytes.fromhex(r), d) for r, d in zip(run["rolls"], batch.rolls, strict=True)]
    public = batch.prio3.sizes.public_share
    for person in run["people"]:
        report, data = bytes.fromhex(person["id"]), base64.b64decode(person["data"])
        assert len(data) == batch.report_bytes
        shown = [credential(person["invitation"], reader) for reader in readers]
        assert all(hashed(one) in roll for one, roll in zip(shown, rolls, strict=True))
        assert shown[0].hex() == person["credential"]
        at = public
        for server, size, mine in zip(servers, batch.part_bytes, shown[1:], strict=True):
            part = open_part(batch, server, report, data[:public] + data[at : at + size])
            assert part.credential == mine
            at += size
    said = {message.kind: message for message in messages(run)}
    assert set(said) == {"key", "job", "verify", "ready", "result"}
    outcome = add_up(of_kind(messages(run), "result"), batch)
    assert outcome.totals.tolist() == run["totals"]
    assert outcome.ids == {bytes.fromhex(person["id"]) for person in run["people"]}


PAPER, BATCH = load("paper"), load("aggregators")


@pytest.mark.parametrize("case", load("bad"), ids=lambda case: case["why"])
def test_bad_messages_are_refused(case: dict[str, str]) -> None:
    assert make.refusal(case["reader"], case["text"], PAPER, BATCH) == case["error"] != ""


@pytest.mark.parametrize(
    ("reader", "kind"),
    [
        ("message", "accept"),
        ("signature", "accept"),
        ("terms", "terms"),
        ("roster", "roster"),
        ("batch", "batch"),
        ("result", "result"),
    ],
)
def test_every_reader_accepts_the_good_ones(reader: str, kind: str) -> None:
    """Power of the test above: its readers accept what was not spoilt."""
    recorded = [*messages(PAPER), *messages(BATCH), Message.from_json(json.dumps(BATCH["batch"]))]
    good = of_kind(recorded, kind)[0].to_json().decode()
    assert make.refusal(reader, good, PAPER, BATCH) == ""
    assert reader in {case["reader"] for case in load("bad")}
