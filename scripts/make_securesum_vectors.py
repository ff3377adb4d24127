"""Write vectors/securesum: python scripts/make_securesum_vectors.py

Runs of both modes with seeded keys, as they travel; and messages that must be refused. Envelopes
are never twice the same, so a new run of this script changes the sealed bytes and what signs them,
but nothing else. The secret keys in these files are for testing and stand for nobody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError
from mdrr.securesum import ring
from mdrr.securesum.aggregator import Aggregator
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message, write
from mdrr.securesum.organiser import Organiser, join
from mdrr.securesum.paper import Party
from mdrr.securesum.person import make_report, read_part
from mdrr.securesum.question import Question
from mdrr.securesum.roster import Batch, Roster
from mdrr.securesum.terms import Terms, make_terms
from mdrr.securesum.wire import encode64
from mdrr.source import SeededSource

FOLDER = Path(__file__).resolve().parents[1] / "vectors" / "securesum"
DOMAIN = Domain((Attribute("smokes", ("no", "yes")), Attribute("region", ("n", "e", "s"))))
RECORDS = [[0, 2], [1, 1], [0, 0], [0, 2]]


def secrets(identity: Identity) -> dict[str, str]:
    """Keys as they stand in the files."""
    return {
        "id": identity.id,
        "signing_secret": encode64(identity.signing_secret),
        "sealing_secret": encode64(identity.sealing_secret),
        "operator": identity.operator,
    }


def people(n: int, *operators: str) -> tuple[Identity, list[Identity], list[Identity]]:
    """Organiser, aggregators and people, always the same."""
    source = SeededSource("securesum vectors")
    leader = Identity.generate(source)
    servers = [Identity.generate(source, name) for name in operators]
    return leader, servers, [Identity.generate(source) for _ in range(n)]


def ring_vectors() -> dict[str, Any]:
    """Bytes to residues, shares and masks."""
    residues = []
    for modulus, count in ((6, 8), (101, 8), (256, 4), (257, 4), (1000, 4)):
        size = ring.width(modulus)
        data = bytes(k * 97 % 256 for k in range(size * count * 3))
        source = _Counting(data)
        drawn = ring.uniform(source, modulus, count)
        used = data[: source.used].hex()
        residues.append({"modulus": modulus, "bytes": used, "residues": drawn.tolist()})
    seed = hashlib.sha256(b"seed").digest()
    masks = [
        {
            "seed": seed.hex(),
            "context": "example",
            "bits": bits,
            "mask": [str(value) for value in ring.expand(seed, b"example", bits, 4)],
        }
        for bits in ring.BITS
    ]
    return {"residues": residues, "masks": masks}


class _Counting:
    def __init__(self, data: bytes) -> None:
        self.data, self.used = data, 0

    def read(self, count: int, /) -> bytes:
        self.used += count
        return self.data[self.used - count : self.used]


def paper_run() -> dict[str, Any]:
    """Three parties, every message in an order that works."""
    leader, _, parties = people(3)
    source, question = SeededSource("paper vectors"), Question(DOMAIN)
    terms = make_terms("paper", question, leader, source, wanted=3, minimum=3, purpose="vectors")
    organiser = Organiser(leader, terms)
    said = [organiser.invite()]
    for one in parties:
        said.append(join(one, terms))
        said += organiser.receive(said[-1])
    roster = organiser.frozen
    assert isinstance(roster, Roster)
    machines = {
        one.id: Party(one, roster, question.encode(record), source=source)
        for one, record in zip(parties, RECORDS, strict=False)
    }
    queue = [message for machine in machines.values() for message in machine.start()]
    while queue:
        message = queue.pop(0)
        said.append(message)
        for name, machine in machines.items():
            if name != message.sender and message.to in (None, name):
                queue += machine.receive(message)
    totals = {tuple(machine.result().tolist()) for machine in machines.values()}
    return {
        "organiser": secrets(leader),
        "parties": [{**secrets(o), "codes": r} for o, r in zip(parties, RECORDS, strict=False)],
        "roster": roster.digest,
        "messages": [json.loads(message.to_json()) for message in said],
        "totals": list(totals.pop()),
    }


def aggregated_run() -> dict[str, Any]:
    """Four people, three aggregators; the last person's report reaches only two of them."""
    leader, servers, crowd = people(4, "Office A", "Office B", "Office C")
    source, question = SeededSource("batch vectors"), Question(DOMAIN)
    terms = make_terms(
        "aggregators", question, leader, source, wanted=4, minimum=3, purpose="vectors"
    )
    organiser = Organiser(leader, terms, aggregators=3)
    said = [organiser.invite()]
    for role, group in (("aggregator", servers), ("party", crowd)):
        for one in group:
            said.append(join(one, terms, role))
            said += organiser.receive(said[-1])
    batch = organiser.frozen
    assert isinstance(batch, Batch)
    machines = {
        one.id: Aggregator(one, batch, organiser.enrolled, SqliteLedger(":memory:"))
        for one in servers
    }
    for k, one in enumerate(crowd):
        for message in make_report(one, batch, question.encode(RECORDS[k]), source):
            if k < 3 or message.to != batch.ids[1]:
                said.append(message)
                machines[str(message.to)].receive(message)
    queue = [organiser.close()]
    while queue:
        message = queue.pop(0)
        said.append(message)
        if message.kind == "opening":
            continue
        for name, machine in machines.items():
            if name != message.sender:
                queue += machine.receive(message)
    return {
        "organiser": secrets(leader),
        "aggregators": [secrets(one) for one in servers],
        "people": [{**secrets(o), "codes": r} for o, r in zip(crowd, RECORDS, strict=True)],
        "batch": batch.digest,
        "enrolled": list(organiser.enrolled),
        "messages": [json.loads(message.to_json()) for message in said],
        "counted": 3,
        "totals": question.sums(list(zip(*RECORDS[:3], strict=True))).tolist(),
    }


def bad_messages(paper: dict[str, Any], batch: dict[str, Any]) -> list[dict[str, str]]:
    """Texts that `Message.from_json`, or the reader of their kind, must refuse."""
    first = {message["kind"]: message for message in [*batch["messages"], *paper["messages"]]}
    terms, accept = first["terms"], first["accept"]
    leader = Identity.generate(SeededSource("securesum vectors"))

    def text(change: Callable[[dict[str, Any]], None], base: dict[str, Any]) -> str:
        copy = json.loads(json.dumps(base))
        change(copy)
        return json.dumps(copy)

    def signed_terms(**change: object) -> str:
        body = {**terms["body"], **change}
        kept = Message.from_json(json.dumps(terms))
        return write(leader, "terms", kept.run, body).to_json().decode()

    cases: list[tuple[str, str, str]] = [
        ("not JSON", "message", "{"),
        ("not an object", "message", "[]"),
        ("a key given twice", "message", '{"format":"x","format":"x"}'),
        ("not a number", "message", '{"format":NaN}'),
        ("another version", "message", text(lambda m: m.update(format="mdrr securesum/2"), accept)),
        ("no signature", "message", text(lambda m: m.pop("signature"), accept)),
        ("an unknown field", "message", text(lambda m: m.update(hint=1), accept)),
        ("an unknown kind", "message", text(lambda m: m.update(kind="hello"), accept)),
        ("a run in upper case", "message", text(lambda m: m.update(run="A" * 64), accept)),
        ("a short run", "message", text(lambda m: m.update(run="ab"), accept)),
        ("a number as sender", "message", text(lambda m: m.update({"from": 7}), accept)),
        ("a body that is a list", "message", text(lambda m: m.update(body=[]), accept)),
        ("a short signature", "message", text(lambda m: m.update(signature="AAAA"), accept)),
        (
            "base64 with spare bits",
            "message",
            text(lambda m: m.update(signature=m["signature"][:-3] + "B=="), accept),
        ),
        ("a signature of other words", "signature", text(lambda m: m.update(run="0" * 64), accept)),
        ("terms nobody signed", "terms", text(lambda m: m["body"].update(purpose="x"), terms)),
        ("terms under another digest", "terms", signed_terms(purpose="x")),
        ("a minimum of two people", "terms", signed_terms(minimum=2)),
        ("fewer wanted than the minimum", "terms", signed_terms(minimum=100)),
        ("an unknown mode", "terms", signed_terms(mode="magic")),
        ("groups that may be the same", "terms", signed_terms(apart=0)),
        ("a truth value as number", "terms", signed_terms(minimum=True)),
        ("a question of one attribute", "terms", signed_terms(question={
            "domain": [DOMAIN.attributes[0].to_dict()], "matrices": []})),
    ]  # fmt: skip
    run = Terms.from_dict(terms["body"]).digest
    roster = first["roster"]["body"]["members"]
    for why, members in (
        ("members out of order", roster[::-1]),
        ("a member twice", [roster[0], roster[0], *roster[1:]]),
        ("too few members", roster[:2]),
        ("a member without operator", [{k: v for k, v in one.items() if k != "operator"}
                                       for one in roster]),
    ):  # fmt: skip
        message = write(leader, "roster", run, {"members": members})
        cases.append((why, "roster", message.to_json().decode()))
    cases.append(("a roster nobody signed", "roster", text(
        lambda m: m["body"]["members"].pop(), first["roster"])))  # fmt: skip
    cases += bad_reports(batch)
    return [
        {
            "why": why,
            "reader": reader,
            "text": message,
            "error": refusal(reader, message, paper, batch),
        }
        for why, reader, message in cases
    ]


def bad_reports(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Batches, and reports to the first aggregator, that must be refused."""
    leader, _, crowd = people(4, "Office A", "Office B", "Office C")
    said = [Message.from_json(json.dumps(fields)) for fields in run["messages"]]
    listed = next(message for message in said if message.kind == "batch")
    report = next(message for message in said if message.kind == "report")
    other = next(message for message in said if message.kind == "report" and message != report)

    def batch(**change: object) -> str:
        body = {**listed.body, **change}
        return write(leader, "batch", listed.run, body).to_json().decode()

    def changed(sender: Identity = crowd[0], run: str = report.run, to: str | None = report.to,
                **change: object) -> str:  # fmt: skip
        return write(sender, "report", run, {**report.body, **change}, to).to_json().decode()

    servers = listed.body["aggregators"]
    return [
        ("a single aggregator", "batch", batch(aggregators=servers[:1])),
        ("an aggregator twice", "batch", batch(aggregators=[servers[0], servers[0]])),
        ("fewer enrolled than the minimum", "batch", batch(people=2)),
        ("more aggregators than three", "batch", batch(aggregators=[*servers, servers[0]])),
        ("another batch", "report", changed(run="0" * 64)),
        ("another aggregator", "report", other.to_json().decode()),
        ("no recipient", "report", changed(to=None)),
        ("another person's key", "report", changed(sender=crowd[1])),
        ("a share that is too short", "report", changed(sealed="AAAA")),
        ("a share not in the list", "report", changed(parts=report.body["parts"][::-1])),
        ("a list of two shares", "report", changed(parts=report.body["parts"][:2])),
        ("a proof of a later version", "report", changed(proof={"v": 2})),
        ("a field too many", "report", changed(comment="hello")),
    ]


def refusal(reader: str, text: str, paper: dict[str, Any], batch: dict[str, Any]) -> str:
    """Why a text is refused by the reader of its kind; empty when it is not."""
    terms = Terms.from_dict(paper["messages"][0]["body"])
    batch_terms = Terms.from_dict(batch["messages"][0]["body"])
    try:
        message = Message.from_json(text)
        if reader == "terms":
            Terms.read(message)
        elif reader == "roster":
            Roster.read(message, terms)
        elif reader == "batch":
            Batch.read(message, batch_terms)
        elif reader == "report":
            listed = next(one for one in batch["messages"] if one["kind"] == "batch")
            known = Batch.read(Message.from_json(json.dumps(listed)), batch_terms)
            read_part(message, known, known.ids[0])
        elif reader == "signature":
            _, _, parties = people(3)
            keys = [one.public.signing for one in parties if one.id == message.sender]
            return "" if message.signed_by(keys[0]) else "not signed by its sender"
    except MdrrError as error:
        return str(error)
    return ""


def main() -> None:
    """Write all files."""
    paper, batch = paper_run(), aggregated_run()
    files = {
        "ring": ring_vectors(),
        "paper": paper,
        "aggregators": batch,
        "bad": bad_messages(paper, batch),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
