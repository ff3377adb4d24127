"""An aggregator of one batch: a state machine over its ledger and a relay.

    key      the leader draws the verify key, the others wait for it
    job      the leader names the next reports; nobody looks at a report twice
    verify   each opens its parts, refuses what it can refuse alone, and says its verifier shares;
             from all of them each decides about every report alike, adds up, and notes all of it
    ready    all say whom they count; they must agree, and be enough
    result   its share of the total is noted, everything secret is wiped, then the share is said

It may be killed at any moment and made again from its ledger: it repeats what it said and goes on.
Privacy holds while one aggregator is honest. The total is right while all are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import hashed, read_roll
from mdrr.securesum.batch import Batch, make_offer
from mdrr.securesum.keys import KEY_BYTES, Identity, seal
from mdrr.securesum.ledger import Ledger, Progress, Seen
from mdrr.securesum.message import Abort, Message, StoppedError, write
from mdrr.securesum.opening import JOB, Count, Job, Result, Verdict, aborts, heard
from mdrr.securesum.person import OpenedPart
from mdrr.securesum.post import Post, RelayError
from mdrr.securesum.prio3.scheme import NONCE, VERIFY_KEY
from mdrr.securesum.signed import FLOOR
from mdrr.securesum.verifying import Work, decide, opened, verify
from mdrr.securesum.wire import FORMAT, Fields, encode64
from mdrr.source import Source

GRACE = 3.0
"""Seconds after the closing time before the last job, for reports that were on their way."""


def offer(identity: Identity, ledger: Ledger, source: Source) -> Message:
    """Offer to serve one batch, signed by the operator's long-term key.

    The sealing key is fresh from the source, and its secret is kept in the ledger.
    """
    fresh = Identity(identity.signing_secret, source.read(KEY_BYTES), identity.operator)
    ledger.offer(fresh.public.sealing, fresh.sealing_secret)
    return make_offer(fresh)


class Aggregator:
    """One aggregator of a batch.

    Arguments:
        identity: its long-term key.
        batch: as `Batch.read` returned it; must name an offer of this aggregator.
        ledger: its own notes, the same after a restart.
        post: the relay.
        source: where the leader's verify key comes from.
        minimum: the fewest people it opens a total for, whatever the batch says.
        giving_up: it will only sign an abort, for which it needs no keys of the batch.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        identity: Identity,
        batch: Batch,
        ledger: Ledger,
        post: Post,
        source: Source,
        *,
        minimum: int = FLOOR,
        giving_up: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if identity.id not in batch.ids:
            raise ProtocolError("the batch does not name this aggregator")
        self.batch, self._ledger, self._post = batch, ledger, post
        self._source, self._clock = source, clock
        self._minimum = max(minimum, batch.minimum)
        self._position = batch.ids.index(identity.id)
        self._leads = self._position == 0  # the first names the jobs
        public = batch.aggregators[self._position]
        try:
            secret = ledger.secret(public.sealing, batch.digest)
        except ProtocolError:
            if not giving_up:
                raise
            secret = None
        self._identity = identity
        if secret is not None:
            self._identity = Identity(identity.signing_secret, secret, public.operator)
        self._roll: frozenset[bytes] | None = None
        self._work: Work | None = None
        self._told: set[str] = set()
        self.step = "key"
        self.missing: tuple[str, ...] = ()

    @property
    def ended(self) -> Message | None:
        """Its result or its abort, once there is one."""
        for name in ("result", "abort"):
            if (kept := self._ledger.noted(self.batch.digest, name)) is not None:
                return Message.from_json(kept)
        return None

    @property
    def progress(self) -> str:
        """How far it is, in words."""
        progress = self._ledger.progress(self.batch.digest)
        jobs, looked = progress.jobs if progress else 0, self._ledger.reports(self.batch.digest)
        return f"Step '{self.step}': {jobs} jobs done, {looked} reports looked at"

    def advance(self) -> bool:
        """Do the next thing; False when it must wait for others, who are then in `missing`."""
        if (last := self.ended) is not None:
            self.step, known = last.kind, last.digest in self._told
            if not known:
                self._ledger.wipe()  # it may have been killed before it did
            self._tell(last)
            return not known
        try:
            for sender, abort in aborts(self._post, self.batch).items():
                reason = f"aggregator {sender[:12]} stopped: {abort.reason}"
                raise Abort(abort.step, reason, (sender,)).error
            self.missing = ()
            progress = self._ledger.progress(self.batch.digest)
            if progress is None:
                return self._begin()
            return self._open(progress) if progress.ended else self._do_job(progress)
        except StoppedError as error:
            self.stop(error.abort)
            return True

    def expire(self, silent: bool = False) -> None:
        """Stop waiting: what was awaited did not come in time, or the relay did not answer."""
        reason = "the relay did not answer in time" if silent else "nothing came in time"
        self.stop(Abort(self.step, reason, () if silent else self.missing))

    def stop(self, abort: Abort) -> None:
        """End the batch without a total: wipe keys and shares, then say so."""
        if self.ended is None:
            said = self._write("abort", abort.to_dict())
            self._ledger.end(self.batch.digest, "abort", said.to_json())

    def _wait(self, step: str, heard_from: Container[str] = ()) -> bool:
        """Note at which step it waits, and for whom."""
        self.step = step
        self.missing = tuple(one for one in self.batch.ids if one not in heard_from)
        return False

    def _write(self, kind: str, body: dict[str, object]) -> Message:
        return write(self._identity, kind, self.batch.digest, body)

    def _say_noted(self, kind: str, body: dict[str, object]) -> Message:
        """Say something that must never be said twice in different words: noted first."""
        kept = self._ledger.noted(self.batch.digest, kind)
        said = self._write(kind, body) if kept is None else Message.from_json(kept)
        if kept is None:
            self._ledger.note(self.batch.digest, kind, said.to_json())
        self._tell(said)
        return said

    def _tell(self, message: Message) -> None:
        """Say a message, once in the life of this object."""
        if message.digest not in self._told:
            self._post.say(message)
            self._told.add(message.digest)

    def _context(self, name: str) -> bytes:
        return f"{FORMAT} verify key\n{self.batch.digest}\n{name}".encode()

    def _begin(self) -> bool:
        """The verify key: drawn by the leader before it looks at any report."""
        digest = self.batch.digest
        if self._leads:
            key = self._source.read(VERIFY_KEY)
            others = self.batch.aggregators[1:]
            sealed = [encode64(seal(key, one.sealing, self._context(one.id))) for one in others]
            said = self._write("key", {"sealed": sealed})
            self._ledger.begin(digest, key, {"key": said.to_json()})
            return True
        leader = self.batch.ids[0]
        message = heard(self._post, self.batch, "key").get(leader)
        if message is None:
            return self._wait("key", self.batch.ids[1:])
        with _blaming("key", leader, reason="the leader's verify key cannot be opened"):
            sealed = Fields(message.body, "a verify key").array("sealed", 4)
            box = Fields({"sealed": sealed[self._position - 1]}, "a verify key").data("sealed")
            key = self._identity.unseal(box, self._context(self._identity.id))
            if len(key) != VERIFY_KEY:
                raise ProtocolError("a verify key of the wrong length")
        self._ledger.begin(digest, key, {})
        return True

    def _do_job(self, progress: Progress) -> bool:
        if self._leads and progress.jobs == 0:
            self._tell(Message.from_json(self._ledger.noted(self.batch.digest, "key") or b""))
        if self._work is None or self._work.job.number != progress.jobs:
            job = self._job(progress)
            if job is None:
                return self._wait("job", () if self._leads else self.batch.ids[1:])
            self._work = self._look(job, progress)
        work = self._work
        mine = work.verdict.body(work.job)
        if self._say_noted("verify", mine).body != mine:
            reason = "the relay delivered other reports than before this aggregator was restarted"
            raise Abort("verify", reason).error
        said = heard(self._post, self.batch, f"verify {work.job.number}")
        if len(said) < len(self.batch.ids):
            return self._wait("verify", said)
        verdicts, cheats = [], "{}: it, or the leader, cheats"
        for one in self.batch.ids:
            with _blaming("verify", one, self.batch.ids[0], reason=cheats):
                verdicts.append(Verdict.read(said[one], self.batch, work.job))
        self._commit(progress, work, verdicts)
        self._work = None
        return True

    def _job(self, progress: Progress) -> Job | None:
        """The next job: made if it leads, otherwise heard; None if there is none yet."""
        number, leader = progress.jobs, self.batch.ids[0]
        if self._leads:
            return self._next(progress)
        message = heard(self._post, self.batch, f"job {number}").get(leader)
        if message is None:
            return None
        with _blaming("job", leader):
            job = Job.read(message)
            if job.number != number or job.before != progress.chain:
                raise ProtocolError("the leader's jobs do not follow each other")
            if self._ledger.seen(self.batch.digest, job.ids):
                raise ProtocolError("the leader named a report a second time")
            return job

    def _next(self, progress: Progress) -> Job | None:
        digest = self.batch.digest
        if (kept := self._ledger.noted(digest, "job")) is None:
            done = self._ledger.reports(digest)
            given = self._post.arrivals(done, JOB)[:JOB]
            arrived = dict.fromkeys(one for one in given if len(one) == NONCE)
            seen = self._ledger.seen(digest, arrived)
            ids = tuple(one for one in arrived if one not in seen)
            closed = done + len(ids) >= self.batch.people or (
                self._clock() >= self.batch.closes + GRACE
            )
            if len(ids) < JOB and not closed:
                return None
            job = Job(progress.jobs, progress.chain, ids, last=closed and len(ids) < JOB)
            kept = self._write("job", job.body()).to_json()
            self._ledger.note(digest, "job", kept)
        said = Message.from_json(kept)
        self._tell(said)
        return Job.read(said)

    def _look(self, job: Job, progress: Progress) -> Work:
        """Open this aggregator's parts of a job's reports, and check what it can check alone."""
        if self._roll is None:
            roll = self._post.roll(1 + self._position)
            with _blaming("verify", reason="the relay's answer is wrong: {}"):
                self._roll = read_roll(roll, self.batch.rolls[1 + self._position])
        found = self._post.parts(self._write("fetch", {"ids": encode64(b"".join(job.ids))}))
        parts = opened(self.batch, self._identity, job, found)
        marks = [hashed(part.credential) for part in parts if isinstance(part, OpenedPart)]
        spent = self._ledger.spent(self.batch.digest, marks)
        return verify(
            self.batch, self._position, progress.verify_key, job, parts, self._roll, spent
        )

    def _commit(self, progress: Progress, work: Work, verdicts: list[Verdict]) -> None:
        """Note what came of a job, as all aggregators decided."""
        codes, total = decide(self.batch, work, verdicts, progress.total)
        seen = [
            Seen(one, int(code), spent)
            for one, code, spent in zip(work.job.ids, codes, work.credentials, strict=True)
        ]
        job, key = work.job, progress.verify_key
        done = Progress(key, job.number + 1, job.last, job.digest, total)
        self._ledger.commit(self.batch.digest, done, seen)

    def _open(self, progress: Progress) -> bool:
        """Open the total, once, if all agree on who counts and these are enough."""
        digest = self.batch.digest
        ids = tuple(self._ledger.counted(digest))
        count = Count(ids, self._ledger.refused(digest), progress.chain)
        if len(ids) < self._minimum:
            few = f"{len(ids)} reports count, which is fewer than the minimum of {self._minimum}"
            raise Abort("ready", few).error
        self._say_noted("ready", count.body())
        said = heard(self._post, self.batch, "ready")
        if len(said) < len(self.batch.ids):
            return self._wait("ready", said)
        if any(message.body != count.body() for message in said.values()):
            # One of three may have told the others different things: who differs may be honest.
            other = tuple(one for one in said if one != self._identity.id)
            who = other if len(other) == 1 else ()
            raise Abort("ready", "the aggregators do not agree on who counts", who).error
        assert progress.total is not None
        result = self._write("result", Result(count, progress.total).body())
        self._ledger.end(digest, "result", result.to_json())
        return True


@contextmanager
def _blaming(step: str, *who: str, reason: str = "{}") -> Iterator[None]:
    """End the batch if what others said breaks the rules; `{}` in the reason is how."""
    try:
        yield
    except (ProtocolError, IndexError) as error:
        raise Abort(step, reason.format(error), who).error from None


def run(
    machine: Aggregator, *, patience: float, say: Callable[[str], None] = lambda text: None
) -> Message:
    """Let an aggregator work until it has said its result or its abort, and return that.

    A relay that does not answer may come back: before the closing time nothing is lost.

    Arguments:
        machine: the aggregator, new or made again after a crash.
        patience: seconds it waits for others at one step; for jobs and for the relay, from the
            closing time on.
        say: told at which step it waits, and for whom.

    Raises:
        RelayError: it has ended and wiped its keys, and the relay takes no message.
    """
    since, wait, told = time.monotonic(), 0.02, ""
    while True:
        trouble = None
        try:
            if machine.advance():
                since, wait = time.monotonic(), 0.02
                continue
            if (last := machine.ended) is not None:
                return last
        except RelayError as error:
            trouble = error
        still_open = (
            machine.ended is None
            and (trouble is not None or machine.step == "job")
            and time.time() < machine.batch.closes + GRACE
        )
        since = time.monotonic() if still_open else since
        if time.monotonic() - since > patience:
            if trouble is not None and machine.ended is not None:
                raise trouble
            machine.expire(silent=trouble is not None)
            since = time.monotonic()
            continue
        who = ", ".join(one[:16] for one in machine.missing)
        waits = f"{machine.progress}; waits for {'reports' if still_open else who or 'others'}."
        waits = waits if trouble is None else f"Tries again: {trouble}"
        if waits != told and (trouble or wait > 0.4):  # a moment is not worth a word
            say(told := waits)
        time.sleep(wait)
        wait = min(2 * wait, 2.0 if still_open else 0.5)
