"""Write vectors/securesum: python scripts/make_securesum_vectors.py

Runs of both modes with seeded keys, as they travel; and messages that must be refused. Envelopes
are never twice the same, so a new run of this script changes the sealed bytes and what signs them,
but nothing else. The secret keys in these files are for testing and stand for nobody.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError
from mdrr.securesum import ring
from mdrr.securesum.aggregator import Aggregator, offer
from mdrr.securesum.batch import Batch, make_batch, make_group
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.members import Member, Organiser
from mdrr.securesum.message import Message, write
from mdrr.securesum.opening import Result
from mdrr.securesum.person import make_reports
from mdrr.securesum.question import Question
from mdrr.securesum.signed import Roster, Terms
from mdrr.securesum.transport.postbox import Postbox
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
    """Bytes to residues."""
    residues = []
    for modulus, count in ((6, 8), (101, 8), (256, 4), (257, 4), (1000, 4)):
        size = ring.width(modulus)
        data = bytes(k * 97 % 256 for k in range(size * count * 3))
        source = _Counting(data)
        drawn = ring.uniform(source, modulus, count)
        used = data[: source.used].hex()
        residues.append({"modulus": modulus, "bytes": used, "residues": drawn.tolist()})
    return {"residues": residues}


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
    tokens = [f"invitation-{k}-".ljust(43, "x") for k in range(3)]
    terms, _ = make_group(
        leader, question, tokens, source, closes=2_000_000_000, minimum=3, purpose="vectors"
    )
    table = _Table()
    machines = {
        one.id: Member(one, terms, token, question.encode(record), table, source=source)
        for one, token, record in zip(parties, tokens, RECORDS, strict=False)
    }
    organiser = Organiser(leader, terms, tokens, table)
    while sum([role.advance() for role in (organiser, *machines.values())]):
        pass
    roster = organiser.frozen
    assert roster is not None
    said = [terms.message(leader), *table.said]
    totals = {tuple(machine.result().tolist()) for machine in machines.values()}
    return {
        "organiser": secrets(leader),
        "parties": [{**secrets(o), "codes": r} for o, r in zip(parties, RECORDS, strict=False)],
        "roster": roster.digest,
        "messages": [json.loads(message.to_json()) for message in said],
        "totals": list(totals.pop()),
    }


class _Table:
    """Where the members of a group lay down their messages and pick them up."""

    def __init__(self) -> None:
        self.said: list[Message] = []

    def join(self, shown: bytes, message: Message, /) -> None:
        self.said.append(message)

    def say(self, *messages: Message) -> None:
        self.said += messages

    def mail(self, recipient: str, after: int, /) -> tuple[list[Message], int]:
        new = self.said[after:]
        return [one for one in new if one.to in (None, recipient)], len(self.said)


def batch_run() -> dict[str, Any]:
    """Five are invited, four report to three aggregators; everything that was said."""
    leader, servers, _ = people(0, "Office A", "Office B", "Office C")
    source, question = SeededSource("batch vectors"), Question(DOMAIN)
    ledgers = [Ledger(":memory:") for _ in servers]
    offers = [offer(*pair, source) for pair in zip(servers, ledgers, strict=True)]
    tokens = [f"vector-{k}-".ljust(43, "x") for k in range(5)]
    batch, folder = make_batch(
        leader, question, offers, tokens, source, closes=4_000_000_000, minimum=3, purpose="vectors"
    )
    secrets_of = [
        encode64(ledger.secret(one.sealing, batch.digest) or b"")
        for one, ledger in zip(batch.aggregators, ledgers, strict=True)
    ]
    columns = list(zip(*RECORDS, strict=True))
    reports = make_reports(batch, tokens[:4], question.positions(columns), source)
    with tempfile.TemporaryDirectory() as there:
        box = Postbox(f"sqlite:///{there}/relay.db")
        box.open(folder)
        post = box.at(batch.digest)
        for report in reports:
            post.upload(report)
        machines = [
            Aggregator(one, batch, ledger, post, source, clock=lambda: 5e9)
            for one, ledger in zip(servers, ledgers, strict=True)
        ]
        while sum([machine.advance() for machine in machines]):
            pass
        topics = ("key", "job 0", "verify 0", "ready", "result")
        said = [message for topic in topics for message in post.hear(topic)]
        box.dispose()
    return {
        "organiser": secrets(leader),
        "aggregators": [
            {**secrets(one), "sealing_secret": secret}
            for one, secret in zip(servers, secrets_of, strict=True)
        ],
        "batch": json.loads(folder.message.to_json()),
        "rolls": [roll.hex() for roll in folder.rolls],
        "people": [
            {"invitation": token, "codes": record, "id": report.id.hex(),
             "credential": report.credential.hex(), "data": encode64(report.data)}
            for token, record, report in zip(tokens, RECORDS, reports, strict=False)
        ],
        "messages": [json.loads(message.to_json()) for message in said],
        "totals": question.sums(columns).tolist(),
    }  # fmt: skip


def bad_messages(paper: dict[str, Any], batch: dict[str, Any]) -> list[dict[str, str]]:
    """Texts that `Message.from_json`, or the reader of their kind, must refuse."""
    first = {message["kind"]: message for message in paper["messages"]}
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
        ("fewer invited than the minimum", "terms", signed_terms(minimum=100)),
        ("more people than the mode can serve", "terms", signed_terms(people=1000)),
        ("two rolls", "terms", signed_terms(rolls=2 * terms["body"]["rolls"])),
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
    cases += bad_batches(batch)
    return [
        {
            "why": why,
            "reader": reader,
            "text": message,
            "error": refusal(reader, message, paper, batch),
        }
        for why, reader, message in cases
    ]


def bad_batches(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Batches and results that must be refused."""
    leader, servers, _ = people(0, "Office A", "Office B", "Office C")
    body = run["batch"]["body"]
    result = next(one for one in run["messages"] if one["kind"] == "result")

    def batch(**change: object) -> str:
        return write(leader, "batch", run["batch"]["run"], {**body, **change}).to_json().decode()

    def changed(**change: object) -> str:
        signer = next(one for one in servers if one.id == result["from"])
        said = {**result["body"], **change}
        return write(signer, "result", result["run"], said).to_json().decode()

    offers = body["offers"]
    swapped = {**offers[0], "body": {**offers[0]["body"], "sealing": offers[1]["body"]["sealing"]}}
    return [
        ("a single aggregator", "batch", batch(offers=offers[:1])),
        ("an aggregator twice", "batch", batch(offers=[offers[0], offers[0]])),
        ("an offer with another key", "batch", batch(offers=[swapped, *offers[1:]])),
        ("a minimum beyond the invited", "batch", batch(minimum=6)),
        ("a batch for two people", "batch", batch(minimum=2)),
        ("another field", "batch", batch(field="Field128")),
        ("fewer proofs", "batch", batch(proofs=1)),
        (
            "a batch nobody signed",
            "batch",
            json.dumps({**run["batch"], "body": {**body, "people": 6}}),
        ),
        ("a batch under another digest", "batch", batch(purpose="another")),
        ("a result of other people", "result", changed(people=3)),
        ("a result with a list of others", "result", changed(ids="")),
        ("a share that is too short", "result", changed(share="AAAA")),
        ("an unknown reason to refuse", "result", changed(refused={"99": 1})),
        ("a field too many", "result", changed(comment="hello")),
    ]


def refusal(reader: str, text: str, paper: dict[str, Any], batch: dict[str, Any]) -> str:
    """Why a text is refused by the reader of its kind; empty when it is not."""
    terms = Terms.from_dict(paper["messages"][0]["body"])
    try:
        message = Message.from_json(text)
        if reader == "terms":
            Terms.read(message)
        elif reader == "roster":
            Roster.read(message, terms)
        elif reader == "batch":
            Batch.read(message)
        elif reader == "result":
            Result.read(message, Batch.read(Message.from_json(json.dumps(batch["batch"]))))
        elif reader == "signature":
            _, _, parties = people(3)
            keys = [one.public.signing for one in parties if one.id == message.sender]
            return "" if message.signed_by(keys[0]) else "not signed by its sender"
    except MdrrError as error:
        return str(error)
    return ""


def main() -> None:
    """Write all files."""
    paper, batch = paper_run(), batch_run()
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
