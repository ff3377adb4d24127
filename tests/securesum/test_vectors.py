"""`vectors/securesum`: recorded runs read back to the same totals, bad messages are refused."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdrr.securesum import ring
from mdrr.securesum.aggregator import Aggregator
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message
from mdrr.securesum.opening import total
from mdrr.securesum.organiser import read_join
from mdrr.securesum.roster import Batch, Roster
from mdrr.securesum.shares import read_commitment, read_reveal, read_share
from mdrr.securesum.terms import Terms
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
    for message in of_kind(said, "join"):
        assert read_join(message, terms)[1] == parties[message.sender].public
    roster = Roster.read(of_kind(said, "roster")[0], terms)
    assert roster.digest == run["roster"]
    rows = []
    for message in of_kind(said, "share"):
        assert message.signed_by(parties[message.sender].public.signing)
        share = read_share(message.body, roster, message.sender, parties[str(message.to)])
        rows.append(share)
    assert len(rows) == 6
    committed = {m.sender: read_commitment(m.body) for m in of_kind(said, "commit")}
    sums = [read_reveal(m.body, roster, m.sender, committed) for m in of_kind(said, "reveal")]
    assert ring.add(np.vstack(sums), roster.modulus).tolist() == run["totals"]
    codes = list(zip(*(one["codes"] for one in run["parties"]), strict=True))
    assert terms.question.sums(codes).tolist() == run["totals"]


def test_a_recorded_batch_gives_the_same_openings_again() -> None:
    run = load("aggregators")
    said = messages(run)
    terms = Terms.read(said[0], run["organiser"]["id"])
    batch = Batch.read(of_kind(said, "batch")[0], terms)
    assert batch.digest == run["batch"]
    machines = {
        one["id"]: Aggregator(identity(one), batch, run["enrolled"], SqliteLedger(":memory:"))
        for one in run["aggregators"]
    }
    openings = []
    for message in said:
        for name, machine in machines.items():
            if message.kind in ("report", "close", "accepted") and message.to in (None, name):
                answers = machine.receive(message) if message.sender != name else []
                openings += of_kind(answers, "opening")
    assert {one.to_json() for one in openings} == {
        one.to_json() for one in of_kind(said, "opening")
    }
    totals, counted = total(openings, batch)
    assert (totals.tolist(), counted) == (run["totals"], run["counted"])


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
        ("report", "report"),
    ],
)
def test_every_reader_accepts_the_good_ones(reader: str, kind: str) -> None:
    """Power of the test above: its readers accept what was not spoilt."""
    run = BATCH if kind in ("batch", "report") else PAPER
    good = of_kind(messages(run), kind)[0].to_json().decode()
    assert make.refusal(reader, good, PAPER, BATCH) == ""
    assert reader in {case["reader"] for case in load("bad")}
