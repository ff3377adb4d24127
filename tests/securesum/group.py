"""Small groups to run the protocols with: three attributes of unequal sizes, fixed seeds."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.domain import Attribute, Domain
from mdrr.errors import ProtocolError
from mdrr.securesum.batch import Folder, make_group
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.members import Member, Organiser, Role
from mdrr.securesum.message import Message
from mdrr.securesum.paper import Dealer, Party
from mdrr.securesum.post import Mail
from mdrr.securesum.question import Question
from mdrr.securesum.ring import zero_shares
from mdrr.securesum.signed import Roster, Terms
from mdrr.securesum.transport.postbox import Postbox
from mdrr.source import SeededSource, Source

DOMAIN = Domain(
    (
        Attribute("smokes", ("no", "yes")),
        Attribute("region", ("north", "east", "south")),
        Attribute("age", kind="ordinal", categories=("young", "middle", "old", "very old")),
    )
)
QUESTION = Question(DOMAIN)


def codes(n: int, seed: int = 0, domain: Domain = DOMAIN) -> list[npt.NDArray[np.int64]]:
    """n records, as one array per attribute."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, size, n) for size in domain.shape]


def people(n: int, seed: int = 0) -> list[Identity]:
    source = SeededSource(f"people {seed}")
    return [Identity.generate(source) for _ in range(n)]


def vectors(
    columns: list[npt.NDArray[np.int64]], question: Question = QUESTION
) -> list[npt.NDArray[np.uint8]]:
    return [
        question.encode([int(code) for code in record]) for record in zip(*columns, strict=True)
    ]


def organiser(seed: int = 0) -> Identity:
    return Identity.generate(SeededSource(f"organiser {seed}"))


CLOSES = 2_000_000_000


def token(k: int, seed: int = 0) -> str:
    """An invitation, always the same."""
    return f"{seed}-{k}-".ljust(43, "x")


def signed(
    n: int, *, minimum: int = 3, seed: int = 0, question: Question = QUESTION, closes: int = CLOSES
) -> tuple[Terms, Folder]:
    """Terms for n people, and what the relay gets."""
    return make_group(
        organiser(), question, [token(k, seed) for k in range(n)], SeededSource(f"terms {seed}"),
        closes=closes, minimum=minimum, purpose="test",
    )  # fmt: skip


@dataclass
class Group:
    """n people with their records, and their roster in the paper's mode."""

    n: int
    seed: int = 0
    minimum: int = 3
    closes: int = CLOSES

    def __post_init__(self) -> None:
        self.identities = people(self.n, self.seed)
        self.codes = codes(self.n, self.seed)
        self.vectors = vectors(self.codes)
        self.truth = QUESTION.sums(self.codes)
        self.tokens = [token(k, self.seed) for k in range(self.n)]
        self.terms, self.folder = signed(
            self.n, minimum=self.minimum, seed=self.seed, closes=self.closes
        )

    @property
    def roster(self) -> Roster:
        return Roster.of(self.terms, [one.public for one in self.identities])


def roster_of(identities: Sequence[Identity], seed: int, question: Question = QUESTION) -> Roster:
    """Another run of some people."""
    agreed, _ = signed(len(identities), seed=seed, question=question)
    return Roster.of(agreed, [one.public for one in identities])


Meddler = Callable[[bytes, str], Iterable[bytes]]
"""Given a message's bytes and its recipient, the bytes that reach her (none, one or several)."""


def run_paper(
    roster: Roster,
    identities: Sequence[Identity],
    vectors: Sequence[npt.NDArray[np.uint8]],
    source: Source,
    *,
    histories: Mapping[str, History] | None = None,
    meddle: Meddler = lambda data, to: (data,),
    deal: Dealer = zero_shares,
) -> dict[str, Party]:
    """Parties whose messages go through a meddler; who waits when all is said, expires."""
    past = dict(histories or {})
    parties = {
        one.id: Party(one, roster, vector, source=source, history=past.get(one.id), deal=deal)
        for one, vector in zip(identities, vectors, strict=True)
    }
    queue: deque[tuple[str, bytes]] = deque()

    def post(messages: list[Message]) -> None:
        for message in messages:
            for name in parties:
                if name != message.sender and message.to in (None, name):
                    queue.extend((name, out) for out in meddle(message.to_json(), name))

    for party in parties.values():
        post(party.start())
    while True:
        while queue:
            name, data = queue.popleft()
            try:
                post(parties[name].receive(Message.from_json(data)))
            except ProtocolError:
                continue
        waiting = [party for party in parties.values() if not party.finished]
        if not waiting:
            return parties
        post(waiting[0].expire())


class Gathering:
    """A group and its organiser on a relay's database in this process; time stands still.

    Arguments:
        folder: for the database.
        group: who is invited.
        histories: of the people; new ones otherwise.
        url: of another database.
    """

    def __init__(
        self,
        folder: Path,
        group: Group,
        histories: Sequence[History] | None = None,
        url: str | None = None,
    ) -> None:
        self.group, self.terms, self.now = group, group.terms, CLOSES - 1000.0
        self.histories = histories or [History() for _ in range(group.n)]
        self._url = url or f"sqlite:///{folder / 'relay.db'}"
        self.restart()
        self.leader = self.organiser()

    def restart(self) -> None:
        """The relay starts again on its database."""
        self.box = Postbox(self._url, clock=lambda: self.now)
        self.box.open(self.group.folder)
        self.post = self.box.at(self.terms.digest)

    def organiser(self, post: Mail | None = None) -> Organiser:
        return Organiser(
            organiser(), self.terms, self.group.tokens, post or self.post, clock=lambda: self.now
        )

    def member(self, k: int, post: Mail | None = None, **options: Any) -> Member:
        group = self.group
        vector = options.pop("vector", group.vectors[k])
        return Member(
            group.identities[k], self.terms, group.tokens[k], vector, post or self.post,
            source=SeededSource(f"member {k} of {group.seed}"), history=self.histories[k],
            **options,
        )  # fmt: skip

    def drive(self, *roles: Role) -> None:
        """Let everybody work until all wait."""
        while sum([role.advance() for role in roles]):
            pass

    def run(self, *members: Member) -> None:
        """The whole run; who still waits at the end expires."""
        self.drive(self.leader, *members)
        for one in members:
            one.expire()
            self.drive(*members)
