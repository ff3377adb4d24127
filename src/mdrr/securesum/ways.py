"""The paper's three ways to learn which attributes go together, each with what it costs.

    attributes   section 4.1: randomized response on each attribute, debiased afterwards
    securesum    section 4.2: exact pair tables by secure sum; no differential privacy
    pairs        section 4.3: randomized response on each pair, tallied by secure sum

In simulation, on records nobody would hold in one place. A secure sum is exact, so what the network
would open is computed directly; with `messages=True` every message of the protocol is really
sealed, signed, sent and opened in this process, and the result is the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mdrr.clustering import cluster
from mdrr.columns import require
from mdrr.dependence import (
    LEVEL,
    Dependences,
    NoisyTable,
    dependences,
    from_noisy,
    from_tables,
    is_vague,
)
from mdrr.domain import Attribute, Domain
from mdrr.errors import ProtocolError
from mdrr.estimation.project import nearest
from mdrr.frames import encode
from mdrr.protocols import independent
from mdrr.randomizer import randomize_codes
from mdrr.securesum.question import Question, Tables
from mdrr.securesum.signed import LEAST
from mdrr.securesum.statement import Statement, of_attributes, of_opened
from mdrr.source import Source, SystemSource
from mdrr.tallies import tally_codes

FEW = 20
"""Fewer people than these say nothing sure through randomized pairs: intervals are then [0, 1].

Among three people the interval of a strong dependence would end below it in a fifth of the surveys.
"""


@dataclass(frozen=True, eq=False)
class Assessment:
    """Dependences, with the tables behind them and what learning them revealed.

    Arguments:
        domain: the attributes.
        dependences: of every pair.
        privacy: what one person's taking part reveals, stated honestly.
        people: how many took part.
        tables: the pair tables (exact, or estimated for `pairs`); empty for `attributes`.
    """

    domain: Domain
    dependences: Dependences
    privacy: Statement
    people: int
    tables: Tables

    @property
    def caution(self) -> str:
        """What to know before using the dependences; nothing if enough people took part."""
        if not self.tables or self.dependences.low is None or self.people >= FEW:
            return ""
        return (
            f"{self.people} people are too few to tell: every dependence may be anything from 0 to "
            f"1, and clusters made of them are chance. Randomized pairs need {FEW} people or more."
        )

    def cluster(self, *, max_cells: int, min_dependence: float) -> tuple[tuple[str, ...], ...]:
        """Algorithm 1 on these dependences."""
        return cluster(
            self.dependences, self.domain, max_cells=max_cells, min_dependence=min_dependence
        )


def simulate_dependences(
    people: Any,
    domain: Domain,
    *,
    via: Literal["attributes", "securesum", "pairs"] = "attributes",
    p: float | None = None,
    epsilon: float | None = None,
    mode: Literal["paper", "aggregators"] = "aggregators",
    messages: bool = False,
    minimum: int = LEAST,
    delta: float = 1e-6,
    source: Source | None = None,
) -> Assessment:
    """Simulate, on true records, one of the paper's three ways to learn dependences.

    From reports that people really sent, use `mdrr.dependences(tally, design)`.

    Arguments:
        people: true records, a frame or one code column per attribute; or, for `securesum`, the
            tables a secure sum opened, `{(first, second): counts}`.
        domain: what was asked.
        via: `attributes`, `securesum` or `pairs`.
        p: for `attributes` and `pairs`, the probability of keeping each true answer (pair).
        epsilon: instead of p, what one person spends in all.
        mode: which secure sum: `aggregators`, or the paper's own among at most 200 people.
        messages: send every message of the protocol in this process instead of adding up.
        minimum: the fewest people a secure sum opens for.
        delta: for `pairs`, the δ of the bound from shuffling.
        source: where randomness comes from; the system's CSPRNG by default.

    Returns:
        The dependences with their privacy statement.

    Example:
        >>> from mdrr import Attribute, SeededSource
        >>> d = Domain((Attribute("a", ("x", "y")), Attribute("b", ("u", "v"))))
        >>> both = np.arange(40) % 2
        >>> found = simulate_dependences([both, both], d, via="securesum")
        >>> found.dependences["a", "b"], found.privacy.epsilon
        (1.0, inf)
    """
    source = SystemSource() if source is None else source
    if isinstance(people, Mapping):
        if via != "securesum":
            raise ProtocolError(f"via={via!r} needs records; opened tables are for via='securesum'")
        return _from_opened(people, domain)
    codes = people if isinstance(people, list | tuple) else encode(people, domain)
    if via == "attributes":
        design = independent(domain, p=p, epsilon=epsilon)
        tally = tally_codes(randomize_codes(codes, design, source), design)
        privacy = of_attributes(design, tally.n)
        return Assessment(domain, dependences(tally, design), privacy, tally.n, {})
    if via == "securesum":
        if p is not None or epsilon is not None:
            raise ProtocolError(
                "exact tables by secure sum are not randomized; p and epsilon are for "
                "via='attributes' or via='pairs'"
            )
        question = Question(domain)
    elif via == "pairs":
        each = None if epsilon is None else epsilon / math.comb(len(domain), 2)
        question = Question.randomized(domain, p=p, epsilon=each)
    else:
        raise ProtocolError(f"via={via!r} is not known. Known: attributes, securesum, pairs")
    if mode not in ("paper", "aggregators"):
        raise ProtocolError(f"mode={mode!r} is not known. Known: paper, aggregators")
    n = len(np.asarray(codes[0]))
    if n < minimum:
        raise ProtocolError(
            f"{n} people are fewer than the minimum of {minimum}: nothing is opened"
        )
    if messages:
        require("sqlalchemy", "server")
        from mdrr.securesum.rehearse import run_batch, run_group

        run = run_batch if mode == "aggregators" else run_group
        totals, n = run(question, codes, minimum, source)
    else:
        totals = question.sums(codes, source)
    return assess(question, totals, n, delta=delta)


def assess(
    question: Question, totals: npt.NDArray[np.int64], people: int, *, delta: float = 1e-6
) -> Assessment:
    """Dependences from what a secure sum opened: the last step of sections 4.2 and 4.3.

    Arguments:
        question: what was summed.
        totals: int64 (cells,).
        people: how many people are in the totals.
        delta: the δ of the bound from shuffling, when pairs were randomized.
    """
    found = learn(question, totals, people, level=LEVEL)
    privacy = of_opened(question.matrices, people, delta)
    return Assessment(question.domain, found, privacy, people, question.tables(totals))


def assess_opened(fields: Mapping[str, Any]) -> Assessment:
    """What `mdrr securesum result --json` or `party --json` printed: `n`, `question`, `totals`.

    `.cluster(max_cells=…, min_dependence=…)` of the result gives clusters at any thresholds.
    """
    try:
        question = Question.from_dict(fields["question"])
        totals, people = np.asarray(fields["totals"], np.int64), int(fields["n"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ProtocolError(
            "what a secure sum opened has 'n', 'question' and 'totals'; save the output of --json"
        ) from None
    return assess(question, totals, people)


def learn(
    question: Question, totals: npt.NDArray[np.int64], people: int, *, level: float | None = None
) -> Dependences:
    """The dependences in what a secure sum opened, debiased when pairs were randomized.

    Arguments are those of `assess`, and the level of the intervals that randomized pairs get;
    without one there are values alone.
    """
    question.check(totals, people)
    tables, domain = question.tables(totals), question.domain
    if not question.matrices:
        return from_tables(tables, domain)
    noise = np.zeros(len(domain))
    sums = {name: np.zeros(size) for name, size in zip(domain.names, domain.shape, strict=True)}
    matrices = dict(zip(question.pairs, question.matrices, strict=True))

    def look(first: Attribute, second: Attribute) -> NoisyTable:
        at = domain.index(first.name), domain.index(second.name)
        shares = tables[first.name, second.name] / people
        table = NoisyTable.through(matrices[at], shares, people)
        for attribute, axis in ((first, 1), (second, 0)):
            sums[attribute.name] += shares.sum(axis=axis) / (len(domain) - 1)
        noise[list(at)] += float(table.variances.sum()) / (len(domain) - 1) ** 2
        return table

    found = from_noisy(look, domain, level=level)
    if level is not None and people < FEW:
        alone = np.eye(len(domain))
        found = replace(found, low=alone, high=np.ones_like(alone), clear=alone > 0)
    if any(is_vague(each, size) for each, size in zip(noise, domain.shape, strict=True)):
        return found
    return replace(found, margins=tuple(nearest(total) for total in sums.values()))


def _from_opened(tables: Mapping[tuple[str, str], npt.ArrayLike], domain: Domain) -> Assessment:
    held = {pair: np.asarray(table, np.float64) for pair, table in tables.items()}
    people = {int(table.sum()) for table in held.values()}
    if len(people) != 1:
        raise ProtocolError("opened tables must all count the same people")
    n = people.pop()
    return Assessment(domain, from_tables(held, domain), of_opened((), n), n, held)
