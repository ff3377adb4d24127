"""The secure sum of paper section 4.2 between n parties, as a pure state machine.

    accept   every party signs the roster's digest; nobody deals before all have (paper: implicit)
    share    step 1 and 2: party i draws r_i1..r_in on Z_{n+1} with sum zero and seals r_ij to j
    commit   step 3: party j adds what she received and her own vector, reduces mod n+1,
             and broadcasts a commitment to the result
    reveal   when all commitments are there, she opens hers, naming the commitments she saw
    done     step 4: all opened vectors add up to the totals, mod n+1

Messages in, messages out: no sockets, no clocks. Who waits too long calls `expire`. Anything
unsigned, of another run or from a stranger is set aside and never counted; anything signed by a
member that breaks the rules stops the run. A run ends in the exact totals or in an `Abort`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Abort, Message, write
from mdrr.securesum.shares import (
    commitment,
    read_commitment,
    read_reveal,
    read_share,
    reveal_body,
    share_body,
)
from mdrr.securesum.signed import FLOOR, Roster
from mdrr.securesum.wire import digest
from mdrr.source import Source

STEPS = ("accept", "share", "commit", "reveal", "done")
AGAIN = ". The others may run again without her"
Dealer = Callable[[Source, int, int], ring.Vector]


class Party:
    """One party of a run.

    Arguments:
        identity: her keys.
        roster: the signed list, as `Roster.read` returned it.
        vector: unsigned (cells,), her one-hot vector from `Question.encode`.
        source: where her shares come from.
        history: the groups she helped to open before.
        minimum: the fewest parties she accepts herself, whatever the terms say.
        deal: how shares are drawn; a seam for tests that plant a bug.

    Example:
        See `mdrr.securesum.members.Member`, which fetches and posts the messages.
    """

    def __init__(
        self,
        identity: Identity,
        roster: Roster,
        vector: npt.NDArray[np.uint8],
        *,
        source: Source,
        history: History | None = None,
        minimum: int = FLOOR,
        deal: Dealer = ring.zero_shares,
    ) -> None:
        self._identity = identity
        self._roster = roster
        self._source = source
        self._history = History() if history is None else history
        self._minimum = minimum
        self._deal = deal
        self._vector = vector
        self._heard: dict[str, dict[str, Message]] = {step: {} for step in STEPS[:-1]}
        self._own_share: ring.Vector | None = None
        self._committed: dict[str, str] = {}
        self._sum = self._nonce = b""
        self.step = "accept"
        self.totals: npt.NDArray[np.int64] | None = None
        self.aborted: Abort | None = None
        self.set_aside: list[str] = []

    @property
    def finished(self) -> bool:
        """Whether the run has ended for this party, in totals or in an abort."""
        return self.totals is not None or self.aborted is not None

    @property
    def people(self) -> int:
        """How many are in the run."""
        return len(self._roster.members)

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids from whom the current step still waits."""
        heard = self._heard.get(self.step, {})
        return tuple(name for name in self._roster.ids if name not in heard)

    def result(self) -> npt.NDArray[np.int64]:
        """The totals, int64 (cells,); raises when the run was aborted or is not over."""
        if self.aborted is not None:
            raise self.aborted.error
        if self.totals is None:
            raise ProtocolError(f"the run is still at step {self.step!r}")
        return self.totals

    def start(self, confirm: Callable[[Roster], None] = lambda roster: None) -> list[Message]:
        """Check the roster against her own limits, have it confirmed, and sign it."""
        try:
            self._check_roster()
            confirm(self._roster)
        except ProtocolError as error:
            return self._stop(str(error))
        return self._say("accept", {})

    def _check_roster(self) -> None:
        me = self._roster.member(self._identity.id)
        if me is None or me.sealing != self._identity.public.sealing:
            raise ProtocolError("the roster does not list this party with her own keys")
        if len(self._roster.members) < self._minimum:
            raise ProtocolError(
                f"the roster has {len(self._roster.members)} parties; this party takes part "
                f"among at least {self._minimum}"
            )
        if self._vector.shape != (self._roster.terms.question.cells,):
            raise ProtocolError("the answers do not fit the question on the roster")
        self._history.check(self._roster.terms.question, frozenset(self._roster.ids))

    def receive(self, message: Message) -> list[Message]:
        """Take in one message and return what it makes this party say."""
        if self.finished:
            return []
        member = self._roster.member(message.sender)
        why = self._unfit(message)
        if member is None or why:
            return self._ignore(message, why or "from a stranger")
        if not message.signed_by(member.signing):
            return self._ignore(message, "with a wrong signature")
        if message.kind == "abort":
            return self._heed(message)
        before = self._heard[message.kind].setdefault(message.sender, message)
        if before.content != message.content:
            self._history.note_false(self._roster.digest, message.sender)
            why = f"two different messages at step {message.kind!r}{AGAIN}"
            return self._stop(why, message.sender)
        return self._advance()

    def expire(self) -> list[Message]:
        """Stop waiting: abort, naming the step and who is missing."""
        if self.finished:
            return []
        return self._stop(f"no message arrived in time{self._aside}", *self.missing)

    @property
    def _aside(self) -> str:
        return f"; set aside: {'; '.join(self.set_aside[:3])}" if self.set_aside else ""

    def _unfit(self, message: Message) -> str:
        if message.run != self._roster.digest:
            return "of another run"
        if message.kind not in (*self._heard, "abort"):
            return "of a kind this mode does not use"
        if message.to != (self._identity.id if message.kind == "share" else None):
            return "meant for someone else"
        return ""

    def _ignore(self, message: Message, why: str) -> list[Message]:
        self.set_aside.append(f"a {message.kind} {why}")
        return []

    def _heed(self, message: Message) -> list[Message]:
        try:
            theirs = replace(Abort.from_dict(message.body), by=message.sender)
        except ProtocolError:
            theirs = Abort(self.step, "it did not say why", (message.sender,), message.sender)
        before_reveal = theirs.step in STEPS[: STEPS.index("reveal")]
        if self.step == "reveal" and before_reveal and message.sender in self.missing:
            self._history.note_left(self._roster.digest, message.sender)
        if theirs.step in STEPS and STEPS.index(self.step) < STEPS.index(theirs.step):
            # Others are further on: what is missing here is why they could not go on.
            reason = f"another party stopped while this one was waiting{self._aside}"
            theirs = Abort(self.step, reason, self.missing, message.sender)
        self.aborted = theirs
        self._let_go()
        self._forget()
        return []

    def _stop(self, reason: str, *who: str) -> list[Message]:
        # Who was killed and started again may have revealed her sum: she must not say otherwise.
        revealed = self._roster.digest in {one.run for one in self._history.revealed()}
        self.aborted = Abort("reveal" if revealed else self.step, reason, who)
        self._let_go()
        self._forget()
        return [self._write("abort", self.aborted.to_dict())]

    def _let_go(self) -> None:
        """Note whose revealed sums are false, so that the others may run again without them.

        Why only what she signed herself counts, and why it is safe: see `mdrr.securesum.history`.
        """
        if self.step == "reveal":
            for name, message in self._heard["reveal"].items():
                try:
                    read_reveal(message.body, self._roster, name, self._committed[name])
                except ProtocolError:
                    self._history.note_false(self._roster.digest, name)

    def _forget(self) -> None:
        self._own_share, self._sum, self._nonce = None, b"", b""
        self._heard = {}

    def _write(self, kind: str, body: dict[str, Any], to: str | None = None) -> Message:
        return write(self._identity, kind, self._roster.digest, body, to)

    def _say(self, kind: str, body: dict[str, Any]) -> list[Message]:
        message = self._write(kind, body)
        self._heard[kind][self._identity.id] = message
        return [message, *self._advance()]

    def _advance(self) -> list[Message]:
        """Go on while the current step has heard from everybody."""
        if self.missing:
            return []
        actions: dict[str, Callable[[], list[Message]]] = {
            "accept": self._after_accepts,
            "share": self._after_shares,
            "commit": self._after_commits,
            "reveal": self._after_reveals,
        }
        try:
            return actions[self.step]()
        except _Blame as blame:
            reason, who = blame.args
            return self._stop(f"{reason}{AGAIN}", who)
        except ProtocolError as error:
            return self._stop(str(error))

    def _after_accepts(self) -> list[Message]:
        roster, me = self._roster, self._identity.id
        # Killed and started again she would keep a fresh share beside those she dealt before.
        self._history.begin(roster.digest)
        shares = self._deal(self._source, len(roster.members), roster.terms.question.cells)
        self._own_share = shares[roster.ids.index(me)]
        out = [
            self._write("share", share_body(roster, me, member, share), member.id)
            for member, share in zip(roster.members, shares, strict=True)
            if member.id != me
        ]
        self.step = "share"
        self._heard["share"][me] = self._write("share", {}, me)  # her own share is never sent
        return out + self._advance()

    def _after_shares(self) -> list[Message]:
        assert self._own_share is not None
        rows = [self._own_share, self._vector]
        for name, message in self._heard["share"].items():
            if name != self._identity.id:
                with _blaming(name):
                    rows.append(read_share(message.body, self._roster, name, self._identity))
        self._sum = ring.pack(ring.add(np.vstack(rows), self._roster.modulus), self._roster.modulus)
        self._nonce = self._source.read(32)
        # The messages stay: a second, different share of somebody must still stop the run.
        self._own_share = None
        self.step = "commit"
        bound = commitment(self._roster, self._identity.id, self._nonce, self._sum)
        return self._say("commit", {"commitment": bound})

    def _after_commits(self) -> list[Message]:
        for name, message in self._heard["commit"].items():
            with _blaming(name):
                self._committed[name] = read_commitment(message.body)
        # From here on the total may become known: note the run before the first piece leaves.
        # Another run of hers may have asked the same since she signed this roster.
        self._history.remember(self._roster)
        self.step = "reveal"
        return self._say("reveal", reveal_body(self._committed, self._nonce, self._sum))

    def _after_reveals(self) -> list[Message]:
        vectors, same = [], digest(self._committed)
        for name, message in self._heard["reveal"].items():
            with _blaming(name):
                vector, seen = read_reveal(message.body, self._roster, name, self._committed[name])
            if seen != same:
                return self._stop(
                    "the parties were shown different commitments: some member lies, perhaps with "
                    "the relay's help, and nobody can tell who"
                )
            vectors.append(vector)
        totals = ring.add(np.vstack(vectors), self._roster.modulus).astype(np.int64)
        try:
            self._roster.terms.question.check(totals, len(self._roster.members))
        except ProtocolError as error:
            return self._stop(
                f"{error}. Shares hide whose it was. The same people may run it again; if it "
                "happens again, use aggregators, who refuse such a vector"
            )
        self._history.finish(self._roster.digest)
        self._forget()
        self.step, self.totals = "done", totals
        return []


@contextmanager
def _blaming(name: str) -> Iterator[None]:
    """Name the member whose signed message breaks the rules."""
    try:
        yield
    except ProtocolError as error:
        raise _Blame(str(error), name) from None


class _Blame(Exception):
    """A member broke the rules in a message she signed: the reason, and who."""
