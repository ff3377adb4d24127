"""A small group: its organiser, who signs the list, and its members (around paper section 4.2).

Everybody does what can be done and returns; `attend` adds the clock. So the same code runs between
processes over HTTP, and in one process on a relay's database.

The organiser is a client of the relay like everybody. She sees public keys and, at the end, the
totals; never a share. People who want to be sure that the list is not made of the organiser's own
puppets must compare its digest with people they know: no protocol can do that for them.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import RELAY, credential, hashed
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity, Public, name_of
from mdrr.securesum.message import Abort, Message, write
from mdrr.securesum.paper import Party
from mdrr.securesum.post import Mail
from mdrr.securesum.signed import FLOOR, Roster, Terms
from mdrr.securesum.wire import FORMAT, Fields, canonical
from mdrr.source import Source

SLOWEST = 2.0
"""Seconds after which who waits looks again."""


@dataclass(frozen=True)
class Join:
    """Somebody who wants to take part.

    Arguments:
        public: her keys.
        invitation: hash of her credential for the organiser, in hex.
        proof: that she has that credential, and means these keys; the credential stays with her.
    """

    public: Public
    invitation: str
    proof: str


def join(identity: Identity, terms: Terms, token: str) -> Message:
    """Ask to take part, with an invitation."""
    leader, keys = name_of(terms.organiser), identity.public
    shown = credential(token, leader)
    body = {
        "keys": keys.to_dict(),
        "invitation": hashed(shown).hex(),
        "proof": _proof(shown, terms, keys),
    }
    return write(identity, "join", terms.digest, body, leader)


def _proof(shown: bytes, terms: Terms, keys: Public) -> str:
    said: dict[str, Any] = {"format": f"{FORMAT} join", "terms": terms.digest}
    return hmac.digest(shown, canonical({**said, "keys": keys.to_dict()}), "sha256").hex()


def read_join(message: Message, terms: Terms) -> Join:
    """Who wants to take part, if she signed for these terms; her invitation is not yet checked."""
    if message.kind != "join" or message.run != terms.digest:
        raise ProtocolError(f"a {message.kind!r} of other terms where a join was expected")
    with Fields(message.body, "a join") as read:
        keys = Public.from_dict(read.mapping("keys"))
        found = Join(keys, read.hash("invitation"), read.hash("proof"))
    if not message.signed_by(found.public.signing):
        raise ProtocolError("a join is not signed by the keys it shows")
    return found


class Organiser:
    """Gathers who comes; when all are there, or at the closing time, signs the roster.

    Started again after a crash, she reads everything again and signs the same.

    Arguments:
        identity: the organiser's keys.
        terms: what is offered.
        tokens: the invitations.
        post: the run at its relay.
        clock: seconds since 1970.
    """

    step = "roster"

    def __init__(
        self,
        identity: Identity,
        terms: Terms,
        tokens: Sequence[str],
        post: Mail,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if terms.organiser != identity.public.signing:
            raise ProtocolError("these terms name another organiser")
        self._identity, self.terms, self._post, self._clock = identity, terms, post, clock
        self._shown = {hashed(s).hex(): s for s in (credential(t, identity.id) for t in tokens)}
        if len(self._shown) != terms.people:
            raise ProtocolError(f"the terms are for {terms.people} invitations, not for these")
        self._order = list(self._shown)
        self._mark = 0
        self.joined: dict[str, Public] = {}
        self.refused: list[str] = []
        self.ended: Message | None = None

    @property
    def finished(self) -> bool:
        """Whether the list is signed, or too few came."""
        return self.ended is not None

    @property
    def frozen(self) -> Roster | None:
        """The roster, once it is signed."""
        if self.ended is None or self.ended.kind != "roster":
            return None
        return Roster.read(self.ended, self.terms)

    @property
    def aborted(self) -> Abort | None:
        """Why there is no roster, if too few came."""
        if self.ended is None or self.ended.kind != "abort":
            return None
        return Abort.from_dict(self.ended.body)

    @property
    def absent(self) -> tuple[int, ...]:
        """Who did not come, by the number of the invitation in the organiser's list."""
        return tuple(k for k, one in enumerate(self._order, 1) if one not in self.joined)

    def invitation_of(self, name: str) -> int | None:
        """The number of the invitation with which somebody came."""
        for one, keys in self.joined.items():
            if keys.id == name:
                return 1 + self._order.index(one)
        return None

    def advance(self) -> bool:
        """Read what came and sign the list when it is time; whether something happened."""
        if self.finished:
            return False
        arrived, self._mark = self._post.mail(self._identity.id, self._mark)
        for message in arrived:
            self._receive(message)
        if arrived or self.finished:
            return True
        if len(self.joined) < self.terms.people and self._clock() < self.terms.closes:
            return False
        return self._freeze()

    def _receive(self, message: Message) -> None:
        if message.kind in ("roster", "abort") and message.sender == self._identity.id:
            if message.run == self.terms.digest and message.signed_by(self.terms.organiser):
                self.ended = message  # signed before a crash
            return
        if message.kind == "join":
            try:
                self._admit(read_join(message, self.terms))
            except ProtocolError as error:
                self.refused.append(str(error))

    def _admit(self, one: Join) -> None:
        shown = self._shown.get(one.invitation)
        if shown is None or not hmac.compare_digest(
            _proof(shown, self.terms, one.public), one.proof
        ):
            raise ProtocolError("a join without an invitation of this group")
        others = [each for name, each in self.joined.items() if name != one.invitation]
        if self.joined.get(one.invitation, one.public) != one.public:
            raise ProtocolError("an invitation that was used already, with other keys")
        if any(one.public.id == each.id for each in others):
            raise ProtocolError("keys that came with another invitation already")
        if any(one.public.sealing == each.sealing for each in others):
            raise ProtocolError("a sealing key that is another participant's")
        self.joined[one.invitation] = one.public

    def _freeze(self) -> bool:
        try:
            said = Roster.of(self.terms, self.joined.values()).message(self._identity)
        except ProtocolError as error:
            stopped = Abort("roster", str(error)).to_dict()
            said = write(self._identity, "abort", self.terms.digest, stopped)
        self._post.say(said)
        self.ended = said
        return True

    def expire(self) -> None:
        """The organiser waits for the closing time and for nothing else."""


class Role(Protocol):
    """Somebody in a run, who works without waiting."""

    terms: Terms

    @property
    def step(self) -> str:
        """Where the run is."""

    @property
    def finished(self) -> bool:
        """Whether it is over."""

    def advance(self) -> bool:
        """Do what can be done; whether something happened."""

    def expire(self) -> None:
        """Stop waiting."""


class Member:
    """One party and her mailbox.

    Arguments:
        identity: her keys.
        terms: as `Terms.read` returned them.
        token: her invitation.
        vector: unsigned (cells,), from `Question.encode`.
        post: the run at its relay.
        source: where her shares come from.
        history: the runs she helped to open before.
        minimum: the fewest parties she accepts.
        confirm: shown the roster before anything of it is signed; raises `ProtocolError` if the
            person does not want to take part in it.
    """

    def __init__(
        self,
        identity: Identity,
        terms: Terms,
        token: str,
        vector: npt.NDArray[np.uint8],
        post: Mail,
        *,
        source: Source,
        history: History | None = None,
        minimum: int = FLOOR,
        confirm: Callable[[Roster], None] = lambda roster: None,
    ) -> None:
        self._identity, self.terms, self._token, self._vector = identity, terms, token, vector
        self._post, self._source, self._minimum = post, source, minimum
        self.history = History() if history is None else history
        self._confirm = confirm
        self._mark, self._joined = 0, False
        self._early: list[Message] = []
        self._aside: list[str] = []
        self._stopped: Abort | None = None
        self.party: Party | None = None

    @property
    def step(self) -> str:
        """`roster`, then the steps of `Party`."""
        return "roster" if self.party is None else self.party.step

    @property
    def finished(self) -> bool:
        """Whether the run is over for her."""
        return self._stopped is not None or (self.party is not None and self.party.finished)

    def result(self) -> npt.NDArray[np.int64]:
        """The totals, int64 (cells,); raises when the run was aborted or is not over."""
        if self._stopped is not None:
            raise self._stopped.error
        if self.party is None:
            raise ProtocolError("the run is still at step 'roster'")
        return self.party.result()

    def advance(self) -> bool:
        """Read her mail and say what it makes her say; whether something happened."""
        if self.finished:
            return False
        if not self._joined:
            said = join(self._identity, self.terms, self._token)
            self._post.join(credential(self._token, RELAY), said)
            self._joined = True
            return True
        arrived, self._mark = self._post.mail(self._identity.id, self._mark)
        said_now = [answer for message in arrived for answer in self._receive(message)]
        self._post.say(*said_now)
        return bool(arrived)

    def _receive(self, message: Message) -> list[Message]:
        if self.party is not None:
            return self.party.receive(message)
        if message.sender != name_of(self.terms.organiser):
            self._early.append(message)  # a relay may deliver in any order
            return []
        try:
            if message.kind == "abort" and message.run == self.terms.digest:
                if message.signed_by(self.terms.organiser):
                    self._stopped = Abort.from_dict(message.body)
                return []
            return self._begin(Roster.read(message, self.terms))
        except ProtocolError as error:
            self._aside.append(str(error))
            return []

    def _begin(self, roster: Roster) -> list[Message]:
        self.party = Party(
            self._identity, roster, self._vector,
            source=self._source, history=self.history, minimum=self._minimum,
        )  # fmt: skip
        said = self.party.start(self._confirm)
        return said + [answer for message in self._early for answer in self.party.receive(message)]

    def expire(self) -> None:
        """Stop waiting: abort, naming the step and who is missing."""
        if self.finished:
            return
        if self.party is not None:
            self._post.say(*self.party.expire())
            return
        aside = f"; set aside: {self._aside[0]}" if self._aside else ""
        self._stopped = Abort("roster", f"no signed roster arrived in time{aside}")


def attend(
    role: Role,
    *,
    patience: float,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
) -> None:
    """Let somebody work until the run is over for her.

    Arguments:
        role: a member or an organiser.
        patience: seconds she waits for others at one step; for the roster, from the closing time.
        pause: how she waits before she looks again.
        clock: seconds since 1970.
    """
    since, step, wait = time.monotonic(), role.step, 0.02
    while True:
        try:
            moved = role.advance()
            if moved or role.step != step:
                since = since if role.step == step else time.monotonic()
                step, wait = role.step, 0.02
            if step == "roster" and clock() < role.terms.closes:
                since = time.monotonic()
            if time.monotonic() - since > patience:
                role.expire()
        except ProtocolError as error:
            if not role.finished:  # otherwise only the others were not told
                raise error if step == "roster" else Abort(step, str(error)).error from None
        if role.finished:
            return
        if not moved:
            pause(wait)
            wait = min(2 * wait, SLOWEST)
