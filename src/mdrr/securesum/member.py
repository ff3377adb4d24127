"""Taking part in a small group: join, wait for the roster, then the paper's protocol.

A member does what can be done and returns; `attend` adds the clock. So the same code runs between
processes over HTTP, and in one process on a relay's database.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.abort import Abort
from mdrr.securesum.admission import RELAY, credential
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity, name_of
from mdrr.securesum.message import Message
from mdrr.securesum.organiser import join
from mdrr.securesum.paper import Party
from mdrr.securesum.post import Mail
from mdrr.securesum.roster import Roster
from mdrr.securesum.signed import FLOOR
from mdrr.securesum.terms import Terms
from mdrr.source import Source

SLOWEST = 2.0
"""Seconds after which who waits looks again."""


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
