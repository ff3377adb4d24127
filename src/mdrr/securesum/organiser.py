"""The organiser of a small group: checks invitations, signs the list (before paper section 4.2).

The organiser is a client of the relay like everybody. She sees public keys and, at the end, the
totals; never a share. People who want to be sure that the list is not made of the organiser's own
puppets must compare its digest with people they know: no protocol can do that for them.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mdrr.errors import ProtocolError
from mdrr.securesum.abort import Abort
from mdrr.securesum.admission import credential, hashed
from mdrr.securesum.keys import Identity, Public, name_of
from mdrr.securesum.message import Message, write
from mdrr.securesum.post import Mail
from mdrr.securesum.roster import Roster
from mdrr.securesum.terms import Terms
from mdrr.securesum.wire import FORMAT, Fields, canonical


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
