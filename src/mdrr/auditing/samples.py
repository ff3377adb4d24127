"""The empirical part: what a randomizer sends for known answers, with bytes that it draws itself.

For every true answer x and code y, P(y | x) has a Clopper-Pearson lower and upper bound, each at
level α′ = α / (2 · number of (x, y)). By Bonferroni all of them hold together with confidence
1 − α. Then ln(lower(y | x) / upper(y | x′)) bounds ε from below for every pair x, x′ and every y at
once, and a bound above the claim disproves it. There are fewer (x, y) than triples (x, x′, y), so
this is better than Bonferroni over those. Sets of codes that speak for one answer are counted in
the same way, beside single codes.

A G-test compares each row with the design's probabilities. It sees what is wrong without being a
breach of ε. Half of the audit's α goes to the bounds, half to the G-tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from mdrr.auditing.integers import probabilities
from mdrr.auditing.platforms import Run
from mdrr.auditing.verdict import MOST_LISTED, Check
from mdrr.design import Design
from mdrr.matrix import Array, Constant, Matrix
from mdrr.randomizer import Codes, Reports, cells_of

MOST_RECORDS = 1024
"""Of larger domains some combinations of answers are drawn."""
EACH = 200
"""So many people at least answer one questionnaire for one such combination, if n allows."""
MOST_ENTRIES = 2**14
"""In tables of more true answers × codes, codes are put together."""
MOST_WHOLE = 2**13
"""Whole records × whole reports are counted up to so many."""
LEAST_EXPECTED = 25
"""Codes that are expected more rarely are put together in a G-test."""


@dataclass(frozen=True, eq=False)
class Table:
    """How often each code was reported for each true answer: `counts`, `probabilities` (r, s)."""

    name: str
    counts: npt.NDArray[np.int64]
    probabilities: Array
    claim: float
    asked: int | None = None
    whole: bool = False

    @property
    def events(self) -> npt.NDArray[np.int64]:
        """The counts of each code, then of "a code that is likelier for x than on average".

        Of many codes each is too rare to show anything; those that speak for x are not. A set of
        codes is an event like one code, so its odds too are at most e^ε.
        """
        likelier = self.probabilities > self.probabilities.mean(axis=0) * (1 + 1e-9)
        sets = np.unique(likelier[likelier.sum(axis=1) > 1], axis=0)
        return np.hstack([self.counts, self.counts @ sets.T.astype(np.int64)])


def people(design: Design, n: int) -> list[Codes]:
    """Made-up people: every combination of answers equally often, or some combinations."""
    shape = design.domain.shape
    if design.domain.size <= MOST_RECORDS:
        cells = np.arange(n) % design.domain.size
        return [np.asarray(part) for part in np.unravel_index(cells, shape)]
    rng = np.random.default_rng(18)
    some = max(16, *shape, n // (EACH * len(design.questionnaires)))
    some = min(some, MOST_RECORDS)
    kept = np.arange(n) % some
    return [rng.permutation(np.arange(some) % size)[kept] for size in shape]


def empirical(run: Run, design: Design, randomizer: str, n: int, alpha: float) -> Check:
    """Draw n reports as for real answers, bound ε from below, and test every row."""
    codes = people(design, n)
    reports = run(codes, design, None)
    tables = list(_tables(design, codes, reports))
    epsilon, findings, tests = judged(tables, design, alpha)
    if reports.n != n or sum(len(batch.rows) for batch in reports.batches) != n:
        findings.insert(0, f"{n:,} people were randomized, {reports.n:,} reports came")
    rows = sum(int(np.count_nonzero(t.counts.sum(axis=1))) for t in tables)
    return Check(
        "empirical",
        randomizer,
        not findings,
        f"{n:,} reports of {len({*zip(*(c.tolist() for c in codes), strict=True)}):,} records; "
        f"{len(tables):,} {'table' if len(tables) == 1 else 'tables'} with {rows:,} rows",
        tuple(findings[:MOST_LISTED]),
        epsilon,
        tests,
    )


def judged(tables: Sequence[Table], design: Design, alpha: float) -> tuple[float, list[str], int]:
    """Bound ε and test the rows of some tables, all together at level α.

    Returns the lower bound on the design's ε, what is wrong, and how many tests share α.
    """
    events = [t.events for t in tables]
    entries = sum(each.size for each in events)
    rows = sum(len(t.counts) for t in tables)
    level = alpha / 2 / (2 * entries)
    bounds = [
        lower_bound(each, t.counts.sum(axis=1), level)
        for t, each in zip(tables, events, strict=True)
    ]
    findings = [
        f"{t.name}: ε is at least {bound:.4g}, and {t.claim:.4g} is claimed"
        for t, bound in zip(tables, bounds, strict=True)
        if bound > t.claim
    ]
    for t in tables:
        for x, (counts, wanted) in enumerate(zip(t.counts, t.probabilities, strict=True)):
            g, p = g_test(counts, wanted)
            if p < alpha / 2 / rows:
                findings.append(
                    f"{t.name}, answer {x}: the codes are not distributed as designed "
                    f"(G = {g:.4g}, p = {p:.1e})"
                )
    lowest = 0.0
    for q in range(len(design.questionnaires)):
        mine = [(t, bound) for t, bound in zip(tables, bounds, strict=True) if t.asked == q]
        apart = math.fsum(bound for t, bound in mine if not t.whole)
        lowest = max(lowest, apart, *(bound for t, bound in mine if t.whole), 0.0)
    if lowest > design.epsilon and not findings:
        findings.append(f"ε is at least {lowest:.4g}, and {design.epsilon:.4g} is claimed")
    return lowest, findings, 2 * entries + rows


def lower_bound(
    counts: npt.NDArray[np.int64], people: npt.NDArray[np.int64], alpha: float
) -> float:
    """The largest ln(lower(y | x) / upper(y | x′)), each Clopper-Pearson bound at level α.

    `counts: (r, s)` says for how many of the `people: (r,)` with each answer each event happened.

    >>> bound = lower_bound(np.array([[750, 250], [250, 750]]), np.array([1000, 1000]), 1e-3)
    >>> 0.8 < bound < math.log(3)
    True
    """
    seen = people > 0
    counts = counts[seen]
    people = np.broadcast_to(people[seen, None], counts.shape)
    if len(counts) < 2:
        return 0.0
    low = np.nan_to_num(stats.beta.ppf(alpha, counts, people - counts + 1))  # nan: none of them
    high = np.nan_to_num(stats.beta.isf(alpha, counts + 1, people - counts), nan=1.0)  # nan: all
    ratios = low.max(axis=0) / high.min(axis=0)
    return max(0.0, float(np.log(ratios.max())))


def g_test(counts: npt.NDArray[np.int64], probabilities: Array) -> tuple[float, float]:
    """(G, p) of a row against its probabilities, with Williams' correction.

    >>> g_test(np.array([500, 500]), np.array([0.5, 0.5]))
    (0.0, 1.0)
    """
    n = counts.sum()
    if not n:
        return 0.0, 1.0
    if counts[probabilities == 0].any():
        return math.inf, 0.0
    order = np.argsort(probabilities, kind="stable")
    observed, expected = counts[order], n * probabilities[order]
    rare = int((expected < LEAST_EXPECTED).sum())
    while rare and rare < len(expected) and expected[:rare].sum() < LEAST_EXPECTED:
        rare += 1
    if rare:
        observed = np.append(observed[rare:], observed[:rare].sum())
        expected = np.append(expected[rare:], expected[:rare].sum())
    if len(expected) < 2:
        return 0.0, 1.0
    g = 2 * float(special.xlogy(observed, observed / expected).sum())
    k = len(expected)
    g = max(0.0, g / (1 + ((1 / (expected / n)).sum() - 1) / (6 * n * (k - 1))))
    return g, float(stats.chi2.sf(g, k - 1))


def _tables(design: Design, codes: list[Codes], reports: Reports) -> Iterator[Table]:
    """The tables that are tested."""
    yield from _choices(design, codes, reports)
    for q, (asked, batch) in enumerate(zip(design.questionnaires, reports.batches, strict=True)):
        private = []
        for cluster, sent in zip(asked.clusters, batch.codes, strict=True):
            matrix = cluster.matrix
            answers = [codes[design.domain.index(name)][batch.rows] for name in cluster.attributes]
            true = cells_of(answers, design.shape(cluster))
            counts, rows = _counted(matrix, true, sent)
            name = cluster.name if len(design.questionnaires) == 1 else f"{cluster.name} ({q})"
            if matrix.kind == "public":
                yield Table(name, counts, rows, math.inf)
            else:
                yield Table(name, counts, rows, cluster.epsilon, q)
                private.append((matrix, true, sent))
        sizes = [matrix.cells for matrix, *_ in private]
        outcomes = [matrix.outcomes for matrix, *_ in private]
        if len(private) > 1 and math.prod(sizes) * math.prod(outcomes) <= MOST_WHOLE:
            true = cells_of([true for _, true, _ in private], sizes)
            sent = cells_of([sent for *_, sent in private], outcomes)
            rows = np.ones((1, 1))
            for matrix, *_ in private:
                each = probabilities(matrix.to_dict(), np.arange(matrix.cells))
                rows = np.asarray(np.kron(rows, each))
            counts = _crossed(true, sent, (math.prod(sizes), math.prod(outcomes)))
            yield Table(f"whole reports ({q})", counts, rows, asked.epsilon, q, whole=True)


def _counted(matrix: Matrix, true: Codes, sent: Codes) -> tuple[npt.NDArray[np.int64], Array]:
    """Counts and probabilities, with a row for each true cell that occurs.

    Of many codes those are kept that are likeliest for one of these cells. All others are one
    column: a function of the report, so it reveals no more than the report does.
    """
    known, place = np.unique(true, return_inverse=True)
    codes = np.arange(matrix.outcomes)
    if len(known) * matrix.outcomes <= MOST_ENTRIES:
        rows = probabilities(matrix.to_dict(), known)
        return _crossed(place, sent, (len(known), len(codes))), rows
    if isinstance(matrix, Constant):
        codes = known
        rows = matrix.off + (matrix.diagonal - matrix.off) * np.eye(len(known))
        rows /= matrix.total
    else:
        rows = probabilities(matrix.to_dict(), known)
        codes = np.unique(rows.argmax(axis=1))
        rows = rows[:, codes]
    at = np.minimum(np.searchsorted(codes, sent), len(codes) - 1)
    at = np.where(codes[at] == sent, at, len(codes))
    rest = np.maximum(1 - rows.sum(axis=1, keepdims=True), 0)
    return _crossed(place, at, (len(known), len(codes) + 1)), np.hstack([rows, rest])


def _choices(design: Design, codes: list[Codes], reports: Reports) -> Iterator[Table]:
    """Which questionnaire was answered, by each attribute: it must not depend on any answer."""
    count = len(design.questionnaires)
    if count == 1:
        return
    chosen = np.concatenate([np.full(len(b.rows), q) for q, b in enumerate(reports.batches)])
    rows = np.concatenate([batch.rows for batch in reports.batches])
    shares = np.array([q.weight / design.weights for q in design.questionnaires])
    for attribute, column in zip(design.domain.attributes, codes, strict=True):
        counts = _crossed(column[rows], chosen, (attribute.size, count))
        probabilities = np.tile(shares, (attribute.size, 1))
        yield Table(f"questionnaire by {attribute.name}", counts, probabilities, 0.0)


def _crossed(true: Codes, sent: Codes, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """The contingency table of true cells and codes."""
    return np.bincount(cells_of([true, sent], shape), minlength=math.prod(shape)).reshape(shape)
