"""The organiser: gathers who takes part, freezes and signs the list (before paper section 4.2).

The organiser sees public keys and, at the end, the totals; never a share. People who want to be
sure that the list is not made of the organiser's own puppets must compare its digest with people
they know: no protocol can do that for them.
"""

from __future__ import annotations

from collections.abc import Iterable

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import Identity, Public
from mdrr.securesum.message import Message, write
from mdrr.securesum.roster import Batch, Roster, read_pins
from mdrr.securesum.terms import Terms
from mdrr.securesum.wire import Fields

ROLES = ("party", "aggregator")


def join(identity: Identity, terms: Terms, role: str = "party") -> Message:
    """Ask to take part: the public keys, signed by their owner."""
    body = {"role": role, "keys": identity.public.to_dict()}
    return write(identity, "join", terms.digest, body)


def read_join(message: Message, terms: Terms) -> tuple[str, Public]:
    """Role and keys of someone who wants to take part, if she signed for these terms."""
    if message.kind != "join" or message.run != terms.digest:
        raise ProtocolError(f"a {message.kind!r} of other terms where a join was expected")
    read = Fields(message.body, "a join")
    role, public = read.text("role", 20), Public.from_dict(read.mapping("keys"))
    read.finish()
    if role not in ROLES:
        raise ProtocolError(f"the role {role!r} is not known. Known: {', '.join(ROLES)}")
    if role == "aggregator" and terms.mode != "aggregators":
        raise ProtocolError("a run in paper mode has no aggregators")
    if not message.signed_by(public.signing):
        raise ProtocolError("a join is not signed by the keys it shows")
    return role, public


class Organiser:
    """Collects joins until the wanted number is there, then signs the roster or the batch.

    Arguments:
        identity: the organiser's keys.
        terms: what is offered.
        aggregators: in `aggregators` mode, how many to wait for (2 or 3; 2 unless `pins` say).
        pins: the only aggregators to take, by `Public.pin`; whoever comes first when None.
    """

    def __init__(
        self,
        identity: Identity,
        terms: Terms,
        *,
        aggregators: int | None = None,
        pins: Iterable[str] | None = None,
    ) -> None:
        if terms.organiser != identity.public.signing:
            raise ProtocolError("these terms name another organiser")
        self._pins = None if pins is None else read_pins(pins)
        if self._pins is not None and terms.mode != "aggregators":
            raise ProtocolError("a run in paper mode has no aggregators to name")
        named = 2 if self._pins is None else len(self._pins)
        aggregators = named if aggregators is None else aggregators
        if self._pins is not None and aggregators != named:
            raise ProtocolError(f"{named} aggregators are named, {aggregators} are asked for")
        if terms.mode == "aggregators" and aggregators not in (2, 3):
            raise ProtocolError(f"{aggregators} aggregators: wait for two or three")
        self._identity = identity
        self.terms = terms
        self._wanted = {
            "party": terms.wanted,
            "aggregator": aggregators if terms.mode == "aggregators" else 0,
        }
        self._joined: dict[str, dict[str, Public]] = {role: {} for role in ROLES}
        self._sealing: set[bytes] = set()
        self.frozen: Roster | Batch | None = None

    @property
    def enrolled(self) -> tuple[str, ...]:
        """Ids of the people who joined, in order."""
        return tuple(sorted(self._joined["party"]))

    def key_of(self, name: str) -> bytes | None:
        """The signing key of somebody who joined."""
        for members in self._joined.values():
            if name in members:
                return members[name].signing
        return None

    def invite(self) -> Message:
        """The signed terms."""
        return self.terms.message(self._identity)

    def receive(self, message: Message) -> list[Message]:
        """Take a join; the last one wanted brings out the signed list."""
        role, public = read_join(message, self.terms)
        if role == "aggregator" and self._pins is not None and public.pin not in self._pins:
            raise ProtocolError(
                f"aggregator {public.pin}, which calls its operator "
                f"{public.operator or '(unnamed)'!r}, is not one the organiser named"
            )
        others = self._joined[role]
        if self.frozen is not None or public.id in others:
            if others.get(public.id) == public:
                return []
            raise ProtocolError("the list of participants is closed")
        if len(others) >= self._wanted[role]:
            raise ProtocolError(f"there are {len(others)} of role {role!r} already: no more wanted")
        if public.sealing in self._sealing:
            raise ProtocolError("this sealing key is another participant's: make keys of your own")
        others[public.id] = public
        self._sealing.add(public.sealing)
        return self.freeze() if self._complete else []

    @property
    def _complete(self) -> bool:
        return all(len(self._joined[role]) >= self._wanted[role] for role in ROLES)

    def freeze(self) -> list[Message]:
        """Sign the list as it stands; fails when it is shorter than the terms' minimum."""
        people = self._joined["party"]
        if self.terms.mode == "paper":
            self.frozen = Roster.of(self.terms, people.values())
        else:
            self.frozen = Batch.of(self.terms, self._joined["aggregator"].values(), people)
        return [self.frozen.message(self._identity)]

    def close(self) -> Message:
        """Tell the aggregators that no more reports are expected."""
        if not isinstance(self.frozen, Batch):
            raise ProtocolError("there is no batch to close")
        return write(self._identity, "close", self.frozen.digest, {})
