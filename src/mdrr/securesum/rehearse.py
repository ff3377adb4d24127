"""A whole run in one process, from records to totals: keys, lists, messages and all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdrr.columns import require
from mdrr.securesum.aggregator import Aggregator, offer
from mdrr.securesum.batch import Folder, make_batch, make_group
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.members import Member, Organiser, Role
from mdrr.securesum.opening import read_outcome
from mdrr.securesum.person import make_reports
from mdrr.securesum.post import Mail
from mdrr.securesum.question import Question
from mdrr.source import Source

if TYPE_CHECKING:
    from mdrr.securesum.transport.postbox import Postbox

FAR = 2**34
"""A closing time that does not come: the batch ends when everybody has reported."""


def rehearse(
    question: Question,
    codes: Sequence[npt.ArrayLike],
    mode: str,
    minimum: int,
    source: Source,
) -> tuple[npt.NDArray[np.int64], int]:
    """Let every person take part with fresh keys; what is opened, and for how many.

    Arguments:
        question: what is summed.
        codes: one code column per attribute.
        mode: `paper` or `aggregators`, of which there are two.
        minimum: the fewest people a total opens for.
        source: where keys, shares, masks and randomized answers come from.

    Returns:
        Totals, int64 (cells,), and the number of people.
    """
    require("sqlalchemy", "server")
    run = _run_batch if mode == "aggregators" else run_group
    return run(question, codes, minimum, source)


def run_group(
    question: Question,
    codes: Sequence[npt.ArrayLike],
    minimum: int,
    source: Source,
    *,
    through: Callable[[Mail], Mail] = lambda post: post,
) -> tuple[npt.NDArray[np.int64], int]:
    """A run of the paper's mode from invitations to totals, on a relay's database.

    Arguments as of `rehearse`; `through` stands between each member and the relay, to count bytes.
    """
    from mdrr.server.held import new_tokens

    places = question.positions(codes, source)
    vectors = np.zeros((len(places), question.cells), np.uint8)
    np.put_along_axis(vectors, places, 1, axis=1)
    leader, tokens = Identity.generate(source), new_tokens(len(places))
    terms, folder = make_group(leader, question, tokens, source, closes=FAR, minimum=minimum)
    with _relay(folder) as box:
        post = box.at(terms.digest)
        members = [
            Member(Identity.generate(source), terms, token, vector, through(post), source=source)
            for token, vector in zip(tokens, vectors, strict=True)
        ]
        roles: list[Role] = [Organiser(leader, terms, tokens, post), *members]
        while sum([role.advance() for role in roles]):
            pass
    return members[0].result(), len(members)


def _run_batch(
    question: Question, codes: Sequence[npt.ArrayLike], minimum: int, source: Source
) -> tuple[npt.NDArray[np.int64], int]:
    """A batch from offers to result, on a relay's database in a temporary file."""
    from mdrr.server.held import new_tokens

    places = question.positions(codes, source)
    servers = [Identity.generate(source, f"simulated {k}") for k in range(2)]
    ledgers = [Ledger(":memory:") for _ in servers]
    offers = [offer(*one, source) for one in zip(servers, ledgers, strict=True)]
    tokens = new_tokens(len(places))
    batch, folder = make_batch(
        Identity.generate(source), question, offers, tokens, source, closes=FAR, minimum=minimum
    )
    with _relay(folder) as box:
        post = box.at(batch.digest)
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
def _relay(folder: Folder) -> Iterator[Postbox]:
    """A relay's database with one run, in a file that is there as long as the block runs."""
    from mdrr.securesum.transport.postbox import Postbox

    with tempfile.TemporaryDirectory(prefix="mdrr-securesum-") as there:
        box = Postbox(f"sqlite:///{Path(there, 'relay.db')}")
        try:
            box.open(folder)
            yield box
        finally:
            box.dispose()
