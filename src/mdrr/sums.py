"""What a tally keeps of reports that are too many to list: their sums, and a sample of them.

The sums are how often every two codes of any clusters were reported together (their Burt table).
They add, and their size does not depend on the people. They are kept for two halves of the people,
dealt at random, so that models can be compared on people whom they were not fitted to.

The sample is for what needs whole reports. Everybody draws a number, and those with the smallest
are the sample. So the sample of two tallies together is found in their samples, and is as random.
A number's last bit says in which half its person is.

Numbers and halves are drawn from a generator that some of the reports seed. Equal reports give
equal tallies, whenever and on however many cores they are counted. Nothing secret depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import combinations

import numpy as np
import numpy.typing as npt

from mdrr.counting import Integers, burt_tables, typed
from mdrr.errors import TallyError
from mdrr.randomizer import Codes

SAMPLE = 2**16
"""How many reports are sampled: shares of them err by 0.002 at most, and latent classes are fitted
to them in seconds."""
MOST_CATEGORIES = 2**11
"""The most codes of all clusters together of which sums are kept: 32 MB for each half."""
NUMBERS = 2**53
"""Numbers drawn for the sample are below this."""

_LOOKED_AT = 4096
"""Rows that seed the generator, evenly spread over all."""


@dataclass(frozen=True, eq=False)
class Sums:
    """How often codes were reported together: `halves: int64 (2, C, C)`, C = Σ sizes.

    `sample` has the reports of the sampled people, one `unsigned (k,)` array per cluster, and
    `numbers: int64 (k,)` what they drew, increasing.
    """

    halves: Integers
    sizes: tuple[int, ...]
    numbers: Integers
    sample: tuple[Codes, ...]

    @cached_property
    def total(self) -> Integers:
        """Both halves together, `(C, C)`."""
        return np.asarray(self.halves.sum(axis=0))

    @cached_property
    def people(self) -> tuple[int, int]:
        """How many people are in each half."""
        own = slice(self.sizes[0])
        first, second = (int(np.trace(half[own, own])) for half in self.halves)
        return first, second

    def block(self, i: int, j: int) -> Integers:
        """The table of two clusters, `(s, s')`; of a cluster with itself, its margin's diagonal."""
        starts = np.cumsum([0, *self.sizes])
        rows, columns = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        return self.total[rows, columns]

    def of_half(self, half: int) -> Sums:
        """The sums of one half of the people alone."""
        alone = np.zeros_like(self.halves)
        alone[half] = self.halves[half]
        here = self.numbers % 2 == half
        return Sums(alone, self.sizes, self.numbers[here], tuple(c[here] for c in self.sample))

    def to_tables(self) -> list[Integers]:
        """Of each half the tables of all pairs of clusters, one after the other, flat."""
        upper = _upper(self.sizes)
        return [half.ravel()[upper] for half in self.halves]

    @classmethod
    def from_tables(
        cls,
        tables: Sequence[npt.NDArray[np.integer]],
        sizes: tuple[int, ...],
        numbers: npt.NDArray[np.integer],
        sample: tuple[Codes, ...],
    ) -> Sums:
        """What `to_tables` gave; refused unless all tables of a cluster count the same people."""
        upper, width = _upper(sizes), sum(sizes)
        if len(tables) != 2 or any(table.shape != upper.shape for table in tables):
            raise TallyError(f"sums are two lists of {len(upper):,} counts for this design")
        halves = np.zeros((2, width, width), dtype=np.int64)
        starts, clusters = np.cumsum([0, *sizes])[:-1], np.arange(len(sizes))
        own = np.repeat(clusters, sizes)
        for half, table in zip(halves, tables, strict=True):
            if table.size and table.min() < 0:
                raise TallyError("sums cannot be negative")
            half.ravel()[upper] = table
            half += half.T
            margins = np.add.reduceat(half, starts, axis=1)
            margin = np.where(own == 0, margins[:, 1], margins[:, 0])  # by a table with another
            if (margins != np.where(clusters == own[:, None], 0, margin[:, None])).any():
                raise TallyError("the tables of these sums do not count the same people")
            half[np.diag_indices(width)] = margin
        made = cls(halves, sizes, numbers.astype(np.int64), sample)
        sampled = np.bincount(made.numbers % 2, minlength=2)
        if (
            (made.numbers[:1] < 0).any()
            or (made.numbers[-1:] >= NUMBERS).any()
            or (np.diff(made.numbers) < 0).any()
            or (sampled > made.people).any()
        ):
            raise TallyError("the numbers of the sample do not belong to these sums")
        return made


def _upper(sizes: Sequence[int]) -> npt.NDArray[np.intp]:
    """The places in a flat Burt table of the tables of all pairs, first (0, 1), then (0, 2), …"""
    places = np.arange(sum(sizes) ** 2).reshape(sum(sizes), -1)
    ends = np.cumsum([0, *sizes])
    pairs = combinations(range(len(sizes)), 2)
    tables = [places[ends[i] : ends[i + 1], ends[j] : ends[j + 1]].ravel() for i, j in pairs]
    return np.concatenate(tables)


def can_sum(sizes: Sequence[int]) -> bool:
    """Whether sums are kept of clusters: of three or more, and not of too many codes.

    The table of two clusters holds all that their reports say.
    """
    return len(sizes) > 2 and sum(sizes) <= MOST_CATEGORIES


def summed(
    columns: Sequence[Codes],
    counts: npt.NDArray[np.integer] | None,
    sizes: tuple[int, ...],
    sample: int,
) -> Sums:
    """The sums of some reports and a sample of so many; `counts` says how often each occurs."""
    rng = _generator(columns, counts)
    rows = len(columns[0])
    if counts is None:
        n = rows
        bits = np.unpackbits(np.frombuffer(rng.bytes(rows // 8 + 1), np.uint8))
        half = bits[:rows].view(np.bool_)
        halves = burt_tables(columns, sizes, None, half)
    else:
        n = int(counts.sum())
        second = rng.binomial(counts, 0.5)
        parts = [burt_tables(columns, sizes, each) for each in (counts - second, second)]
        halves = np.concatenate(parts)
    size = min(sample, n)
    people = rng.choice(n, size, replace=False)
    if counts is None:
        row, bit = people, half[people]
    else:
        ends = np.cumsum(counts)
        row = np.searchsorted(ends, people, side="right")
        bit = ends[row] - people <= second[row]
    # The smallest of n uniform numbers in order: sums of exponentials, over the sum of n + 1.
    steps = np.cumsum(rng.standard_exponential(size))
    whole = steps[-1:] + rng.standard_gamma(n + 1 - size)
    numbers = 2 * (steps / whole * (NUMBERS // 2)).astype(np.int64) + bit
    codes = tuple(typed(c[row], s) for c, s in zip(columns, sizes, strict=True))
    return Sums(halves, sizes, numbers, codes)


def _generator(
    columns: Sequence[Codes], counts: npt.NDArray[np.integer] | None
) -> np.random.Generator:
    step = max(len(columns[0]) // _LOOKED_AT, 1)
    digest = blake2b(str(len(columns[0])).encode(), digest_size=16)
    for column in (*columns, *(() if counts is None else (counts,))):
        digest.update(column[::step].tobytes())
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "little")))


def joined(each: Sequence[Sums]) -> Sums:
    """The sums of several groups of people, and one sample of theirs.

    Below the largest number that a sample kept, nobody of its people is missing. So those with a
    number up to the least of these are a sample of all.
    """
    kept = [sums.numbers for sums in each]
    cut = [of for of, sums in zip(kept, each, strict=True) if len(of) < sum(sums.people)]
    bound = min((int(of[-1]) if len(of) else -1 for of in cut), default=NUMBERS)
    most = max(*map(len, kept), 0 if cut else SAMPLE)
    numbers = np.concatenate(kept)
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] <= bound][:most]
    halves = np.sum([sums.halves for sums in each], axis=0)
    codes = zip(*(sums.sample for sums in each), strict=True)
    sample = tuple(np.concatenate(column)[order] for column in codes)
    return Sums(halves, each[0].sizes, numbers[order], sample)
