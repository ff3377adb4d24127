"""A whole run in one process, from records to totals: keys, lists, messages and all.

Every person takes part with fresh keys. What comes out is what was opened: totals, int64 (cells,),
and for how many people.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from mdrr.securesum.aggregator import Aggregator, offer
from mdrr.securesum.batch import Folder, make_batch, make_group
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.members import Member, Organiser, Role
from mdrr.securesum.opening import read_outcome
from mdrr.securesum.person import make_reports
from mdrr.securesum.post import Mail
from mdrr.securesum.question import Question
from mdrr.securesum.transport.postbox import Postbox, Run
from mdrr.server.held import new_tokens
from mdrr.source import Source

FAR = 2**34
"""A closing time that does not come: the batch ends when everybody has reported."""


def run_group(
    question: Question,
    codes: Sequence[npt.ArrayLike],
    minimum: int,
    source: Source,
    *,
    through: Callable[[Mail], Mail] = lambda post: post,
) -> tuple[npt.NDArray[np.int64], int]:
    """The paper's mode, from invitations to totals.

    Arguments:
        question: what is summed.
        codes: one code column per attribute.
        minimum: the fewest people a total opens for.
        source: where keys, shares, masks and randomized answers come from.
        through: stands between each member and the relay, to count bytes.
    """
    places = question.positions(codes, source)
    vectors = np.zeros((len(places), question.cells), np.uint8)
    np.put_along_axis(vectors, places, 1, axis=1)
    leader, tokens = Identity.generate(source), new_tokens(len(places))
    terms, folder = make_group(leader, question, tokens, source, closes=FAR, minimum=minimum)
    with _relay(folder) as post:
        members = [
            Member(Identity.generate(source), terms, token, vector, through(post), source=source)
            for token, vector in zip(tokens, vectors, strict=True)
        ]
        roles: list[Role] = [Organiser(leader, terms, tokens, post), *members]
        while sum([role.advance() for role in roles]):
            pass
    return members[0].result(), len(members)


def run_batch(
    question: Question, codes: Sequence[npt.ArrayLike], minimum: int, source: Source
) -> tuple[npt.NDArray[np.int64], int]:
    """A batch of two aggregators, from offers to result; the arguments are those of `run_group`."""
    places = question.positions(codes, source)
    servers = [Identity.generate(source, f"simulated {k}") for k in range(2)]
    ledgers = [Ledger(":memory:") for _ in servers]
    offers = [offer(*one, source) for one in zip(servers, ledgers, strict=True)]
    leader, tokens = Identity.generate(source), new_tokens(len(places))
    batch, folder = make_batch(
        leader, question, offers, tokens, source, closes=FAR, minimum=minimum
    )
    with _relay(folder) as post:
        for at in range(0, len(places), 256):
            some = slice(at, at + 256)
            reports = make_reports(batch, tokens[some], places[some], source)
            assert not any(post.upload_all(reports))
        machines = [
            Aggregator(one, batch, ledger, post, source)
            for one, ledger in zip(servers, ledgers, strict=True)
        ]
        while sum(machine.advance() for machine in machines):
            pass
        outcome = read_outcome(post, batch)
    assert outcome is not None
    return outcome.totals, outcome.people


@contextmanager
def _relay(folder: Folder) -> Iterator[Run]:
    """A run on a relay's database, in a file that is there as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="mdrr-securesum-") as there:
        box = Postbox(f"sqlite:///{there}/relay.db")
        try:
            box.open(folder)
            yield box.at(folder.message.run)
        finally:
            box.dispose()
