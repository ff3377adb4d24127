"""A whole run in one process, from records to totals: keys, terms, lists, messages and all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mdrr.securesum.keys import Identity
from mdrr.securesum.organiser import Organiser, join
from mdrr.securesum.question import Question
from mdrr.securesum.roster import Roster
from mdrr.securesum.simulate import Traffic, run_paper
from mdrr.securesum.simulate_batch import run_aggregators
from mdrr.securesum.terms import make_terms
from mdrr.source import Source


def rehearse(
    question: Question,
    codes: Sequence[npt.ArrayLike],
    mode: str,
    minimum: int,
    source: Source,
    *,
    aggregators: int = 2,
    traffic: Traffic | None = None,
) -> tuple[npt.NDArray[np.int64], int]:
    """Let every person take part with fresh keys; what is opened, and for how many.

    Arguments:
        question: what is summed.
        codes: one code column per attribute.
        mode: `paper` or `aggregators`.
        minimum: the fewest people a total opens for.
        source: where keys, shares, masks and randomized answers come from.
        aggregators: how many, in `aggregators` mode.
        traffic: counts the bytes when given, those of people who join included.

    Returns:
        Totals, int64 (cells,), and the number of people.
    """
    places = question.positions(codes, source)
    people = [Identity.generate(source) for _ in places]
    servers = [Identity.generate(source, f"simulated {k}") for k in range(aggregators)]
    leader = Identity.generate(source)
    terms = make_terms(mode, question, leader, source, wanted=len(people), minimum=minimum)
    organiser = Organiser(leader, terms, aggregators=aggregators)
    count = Traffic() if traffic is None else traffic
    invitation = len(organiser.invite().to_json())
    if mode == "aggregators":
        for server in servers:
            organiser.receive(join(server, terms, "aggregator"))
    for person in people:
        message = join(person, terms)
        count.download("terms", invitation)
        count.upload("join", len(message.to_json()))
        organiser.receive(message)

    def vector(row: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        out = np.zeros(question.cells, np.uint8)
        out[row] = 1
        return out

    frozen = organiser.frozen
    assert frozen is not None
    listed = frozen.message(leader)
    for _ in people:
        count.download(listed.kind, len(listed.to_json()))
    if isinstance(frozen, Roster):
        parties = run_paper(
            frozen, people, [vector(row) for row in places], source, traffic=traffic
        )
        return next(iter(parties.values())).result(), len(people)
    each = (vector(row) for row in places)
    return run_aggregators(frozen, leader, servers, people, each, source, traffic=count)
