"""What colluders see is uniform: chi-square on residues, and planted bugs that it finds.

Every test has a false-alarm rate of 1e-5 under a fixed seed; the planted bugs fall far below it.
"""

import base64
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chisquare

from mdrr.securesum import ring
from mdrr.securesum.message import Message
from mdrr.securesum.paper import Dealer
from mdrr.securesum.shares import read_share
from mdrr.source import SeededSource, Source
from tests.securesum.group import QUESTION, Group, run_paper

ALARM = 1e-5
RUNS = 25
GROUP = Group(5)
ROSTER = GROUP.roster
MODULUS = 6
HONEST = [one for one in GROUP.identities if one.id in ROSTER.ids[:2]]
COLLUDERS = [one for one in GROUP.identities if one.id in ROSTER.ids[2:]]

View = npt.NDArray[np.int64]


@cache
def views(deal: Dealer, runs: int = RUNS) -> tuple[View, View, View]:
    """What n−2 colluders know beyond the total, run by run, int (runs·cells,) each.

    The share the first honest party sent to the first colluder and to the second, and the first
    honest party's broadcast less everything the colluders dealt her.
    """
    to_first, to_second, broadcast = [], [], []
    for run in range(runs):
        seen: list[Message] = []

        def record(data: bytes, to: str, seen: list[Message] = seen) -> list[bytes]:
            seen.append(Message.from_json(data))
            return [data]

        parties = run_paper(
            ROSTER,
            GROUP.identities,
            GROUP.vectors,
            SeededSource(f"view {run}"),
            deal=deal,
            meddle=record,
        )
        assert all(party.totals is not None for party in parties.values())
        dealt = {
            (message.sender, message.to): message for message in seen if message.kind == "share"
        }
        target = HONEST[0].id
        for colluder, out in ((COLLUDERS[0], to_first), (COLLUDERS[1], to_second)):
            body = dealt[target, colluder.id].body
            out.append(read_share(body, ROSTER, target, colluder))
        own = [
            read_share(dealt[one.id, target].body, ROSTER, one.id, HONEST[0]) for one in COLLUDERS
        ]
        reveal = next(m for m in seen if m.kind == "reveal" and m.sender == target)
        opened = ring.unpack(base64.b64decode(reveal.body["sum"]), MODULUS, QUESTION.cells)
        rest = opened.astype(np.int64) - np.sum(own, axis=0, dtype=np.int64)
        broadcast.append(rest % MODULUS)
    first, second, last = (
        np.concatenate(rows).astype(np.int64) for rows in (to_first, to_second, broadcast)
    )
    return first, second, last


def uniform(values: View, cells: int = MODULUS) -> float:
    return float(chisquare(np.bincount(values, minlength=cells)).pvalue)


def pvalues(deal: Dealer) -> list[float]:
    """Each residue alone, and every two of them together."""
    first, second, last = views(deal)
    pairs = [(first, second), (first, last), (second, last)]
    return [
        *(uniform(view) for view in (first, second, last)),
        *(uniform(a * MODULUS + b, MODULUS**2) for a, b in pairs),
    ]


def test_the_view_of_all_but_two_parties_is_uniform() -> None:
    assert min(pvalues(ring.zero_shares)) > ALARM


def test_the_view_is_the_same_whoever_of_the_two_holds_which_answer() -> None:
    """Her broadcast less what colluders know is uniform, where her answer is and elsewhere."""
    _, _, last = views(ring.zero_shares)
    mine = GROUP.vectors[GROUP.identities.index(HONEST[0])] == 1
    for cells in (mine, ~mine):
        assert uniform(last.reshape(RUNS, -1)[:, cells].ravel()) > ALARM


def biased(source: Source, parties: int, cells: int) -> ring.Vector:
    """Planted: bytes mod q without rejection; 3 bits a draw, so that few runs show it."""
    modulus = parties + 1
    free = np.frombuffer(source.read((parties - 1) * cells), np.uint8) % 8 % modulus
    free = free.reshape(parties - 1, cells)
    last = (modulus - free.sum(axis=0) % modulus) % modulus
    return np.vstack([free, last.astype(np.uint8)])


def reused(source: Source, parties: int, cells: int) -> ring.Vector:
    """Planted: one mask for all recipients but the last."""
    modulus = parties + 1
    row = ring.uniform(source, modulus, cells)
    last = (modulus - row.astype(np.uint64) * (parties - 1) % modulus) % modulus
    return np.vstack([row] * (parties - 1) + [last.astype(np.uint8)])


def same_for_all_cells(source: Source, parties: int, cells: int) -> ring.Vector:
    """Planted: one residue per recipient, repeated over all cells: differences of cells leak."""
    return np.repeat(ring.zero_shares(source, parties, 1), cells, axis=1)


def keeps_to_herself(source: Source, parties: int, cells: int) -> ring.Vector:
    """Planted: a dealer who sends zeros, so that her broadcast is her answer plus others' masks."""
    return np.zeros((parties, cells), np.uint8)


@pytest.mark.parametrize("bug", [biased, reused, same_for_all_cells, keeps_to_herself])
def test_planted_bugs_are_found(bug: Dealer) -> None:
    assert min(pvalues(bug)) < ALARM


def test_an_unreduced_broadcast_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreduced(vectors: ring.Vector, modulus: int) -> ring.Vector:
        return vectors.sum(axis=0, dtype=np.uint8)

    monkeypatch.setattr(ring, "add", unreduced)
    parties = run_paper(ROSTER, GROUP.identities, GROUP.vectors, SeededSource(1))
    assert all("not reduced" in str(party.aborted) for party in parties.values())


def test_an_unreduced_share_is_refused() -> None:
    def unreduced(source: Source, parties: int, cells: int) -> ring.Vector:
        return ring.zero_shares(source, parties, cells) + np.uint8(parties + 1)

    parties = run_paper(ROSTER, GROUP.identities, GROUP.vectors, SeededSource(1), deal=unreduced)
    assert all("not reduced" in str(party.aborted) for party in parties.values())


Expander = Callable[[bytes, bytes, int, int], ring.Vector]
