"""What aggregators say to each other and to everybody, and how anybody checks it and adds it up.

key      sealed: the leader's verify key, one envelope for each other aggregator
job      the leader: the next reports to look at, by id; the last job says so
verify   everybody, for one job: a code for each report; of those not refused, verifier shares
         and digests of the public shares
ready    everybody, after the last job: how many people count, who, why others do not
result   the same, with the aggregate share; said once, when all are ready and agree
abort    instead of a result: step, reason, who. Its signer has wiped keys and shares
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.batch import MOST_PEOPLE, Batch
from mdrr.securesum.message import Abort, Message
from mdrr.securesum.post import Post, topic_of
from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.prio3.scheme import NONCE
from mdrr.securesum.wire import Fields, encode64

JOB = 256
"""Most reports of one job."""
DIGEST = hashlib.sha256().digest_size
MISSING, SEALED, STRANGER, USED, VERSIONS = 16, 17, 18, 19, 20
REFUSALS = {
    **vdaf.REASONS,
    MISSING: "the relay did not deliver it to every aggregator",
    SEALED: "a sealed part cannot be opened",
    STRANGER: "the invitation is not on the roll",
    USED: "the invitation was used already",
    VERSIONS: "the aggregators were given different versions of it",
}
"""Why a report does not count, by code."""


@dataclass(frozen=True)
class Job:
    """Some reports, in order.

    Arguments:
        number: from 0.
        before: digest of the job before it; of the batch, for the first.
        ids: of the reports.
        last: whether no more will come.
        digest: of the message that said so.
    """

    number: int
    before: str
    ids: tuple[bytes, ...]
    last: bool
    digest: str = ""

    def body(self) -> dict[str, Any]:
        """What the leader signs."""
        ids = encode64(b"".join(self.ids))
        return {"number": self.number, "before": self.before, "ids": ids, "last": int(self.last)}

    @classmethod
    def read(cls, message: Message) -> Job:
        """The job in a message; an error if a report stands in it twice."""
        with Fields(message.body, "a job") as read:
            number, before = read.integer("number", 0, MOST_PEOPLE), read.hash("before")
            ids, last = _ids(read.data("ids")), read.integer("last", 0, 1)
        if len(ids) > JOB or len(set(ids)) < len(ids):
            raise ProtocolError(f"a job of more than {JOB} reports, or with one of them twice")
        return cls(number, before, ids, bool(last), message.digest)


@dataclass(frozen=True)
class Verdict:
    """What one aggregator says of the reports of a job.

    Arguments:
        codes: 0 or a reason to refuse, uint8 (n,).
        shares: verifier shares of those with code 0.
        public: SHA-256 of their public shares as this aggregator got them, uint8 (good, 32).
    """

    codes: npt.NDArray[np.uint8]
    shares: npt.NDArray[np.uint8]
    public: npt.NDArray[np.uint8]

    def body(self, job: Job) -> dict[str, Any]:
        """What the aggregator signs."""
        said = {"codes": self.codes, "shares": self.shares, "public": self.public}
        fields = {name: encode64(value.tobytes()) for name, value in said.items()}
        return {"number": job.number, "job": job.digest, **fields}

    @classmethod
    def read(cls, message: Message, batch: Batch, job: Job) -> Verdict:
        """The verdict in a message; an error if it is about another job."""
        size = batch.prio3.sizes.verifier_share
        with Fields(message.body, "a verification") as read:
            number, about = read.integer("number", 0, MOST_PEOPLE), read.hash("job")
            if (number, about) != (job.number, job.digest):
                raise ProtocolError("a verification of another job than the one given here")
            codes = np.frombuffer(read.data("codes", len(job.ids)), np.uint8)
            good = int((codes == 0).sum())
            data, public = read.data("shares", good * size), read.data("public", good * DIGEST)
        if not {*codes.tolist()} <= {0, *REFUSALS}:
            raise ProtocolError("a verification with an unknown reason")
        shares = np.frombuffer(data, np.uint8).reshape(-1, size)
        return cls(codes, shares, np.frombuffer(public, np.uint8).reshape(-1, DIGEST))


@dataclass(frozen=True)
class Count:
    """Who counts: what all aggregators must agree on before anything opens.

    Arguments:
        ids: of the reports that count, sorted.
        refused: how many do not, by reason.
        chain: digest of the last job, which names all jobs before it.
    """

    ids: tuple[bytes, ...]
    refused: Mapping[int, int]
    chain: str

    def body(self) -> dict[str, Any]:
        """What is signed as `ready`."""
        return {
            "people": len(self.ids),
            "counted": hashlib.sha256(b"".join(self.ids)).hexdigest(),
            "refused": {str(code): count for code, count in sorted(self.refused.items())},
            "chain": self.chain,
        }


@dataclass(frozen=True)
class Result:
    """One aggregator's share of the total."""

    count: Count
    share: bytes

    def body(self) -> dict[str, Any]:
        """What is signed as `result`."""
        ids, share = encode64(b"".join(self.count.ids)), encode64(self.share)
        return {**self.count.body(), "ids": ids, "share": share}

    @classmethod
    def read(cls, message: Message, batch: Batch) -> Result:
        """The result in a message, validated."""
        size = batch.prio3.sizes.aggregate_share
        with Fields(message.body, "a result") as read:
            ids, share, chain = _ids(read.data("ids")), read.data("share", size), read.hash("chain")
            given = read.mapping("refused")
            read.integer("people", 0, MOST_PEOPLE), read.hash("counted")
        with Fields(given, "what was refused") as counts:
            codes = [code for code in REFUSALS if str(code) in given]
            refused = {code: counts.integer(str(code), 1, MOST_PEOPLE) for code in codes}
        result = cls(Count(ids, refused, chain), share)
        if message.body != result.body() or list(ids) != sorted(set(ids)):
            raise ProtocolError("a result whose list of reports is not the one it counts")
        return result


@dataclass(frozen=True)
class Outcome:
    """The total of a batch.

    Arguments:
        totals: int64 (cells,).
        people: how many people are in them.
        refused: how many reports were refused, by reason in words.
        ids: of the reports that count.
    """

    totals: npt.NDArray[np.int64]
    people: int
    refused: Mapping[str, int]
    ids: frozenset[bytes]


def heard(post: Post, batch: Batch, topic: str) -> dict[str, Message]:
    """What the batch's aggregators said on a topic, by sender; everything else is passed over.

    An aggregator that signed two different things is an error that names it.
    """
    found: dict[str, Message] = {}
    keys = {one.id: one.signing for one in batch.aggregators}
    for message in post.hear(topic):
        if message.run != batch.digest or topic_of(message) != topic or message.sender not in keys:
            continue
        if not message.signed_by(keys[message.sender]):
            continue
        if found.setdefault(message.sender, message).digest != message.digest:
            reason = f"an aggregator signed two different messages on '{topic}'"
            raise Abort(topic.partition(" ")[0], reason, (message.sender,)).error
    return found


def aborts(post: Post, batch: Batch) -> dict[str, Abort]:
    """The aggregators that gave up, by id: each has wiped its keys and opened nothing."""
    found = {}
    for sender, message in heard(post, batch, "abort").items():
        try:
            found[sender] = Abort.from_dict(message.body)
        except ProtocolError:  # it stopped all the same
            found[sender] = Abort("abort", "it did not say why", (sender,))
    return found


def read_outcome(post: Post, batch: Batch) -> Outcome | None:
    """The total, for anybody; None while results are missing, an error if there will be none."""
    results = heard(post, batch, "result")
    if len(results) < len(batch.ids):
        for sender, abort in aborts(post, batch).items():
            who = f"aggregator {sender[:12]}"
            raise Abort(abort.step, f"{who} says: {abort.reason}", abort.who).error
        return None
    return add_up((results[one] for one in batch.ids), batch)


def add_up(messages: Iterable[Message], batch: Batch) -> Outcome:
    """The total of all aggregators' results, in their order, if they speak of the same people."""
    results = [Result.read(message, batch) for message in messages]
    count = results[0].count
    if any(one.count != count for one in results):
        raise Abort("result", "the aggregators counted different reports").error
    if len(count.ids) < batch.minimum:
        raise Abort("result", f"{len(count.ids)} people are fewer than {batch.minimum}").error
    totals = vdaf.unshard(batch.prio3, [one.share for one in results])
    batch.question.check(totals, len(count.ids))
    refused = {REFUSALS[code]: many for code, many in count.refused.items()}
    return Outcome(totals, len(count.ids), refused, frozenset(count.ids))


def _ids(data: bytes) -> tuple[bytes, ...]:
    if len(data) % NONCE:
        raise ProtocolError(f"ids of reports have {NONCE} bytes each")
    return tuple(data[at : at + NONCE] for at in range(0, len(data), NONCE))
