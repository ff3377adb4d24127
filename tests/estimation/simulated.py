"""People with a known joint, and their reports under a design."""

import numpy as np

from mdrr.domain import Attribute, Domain
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes

SHAPE = (3, 2, 4)
DOMAIN = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abc", SHAPE, strict=True))
)


def people(n, seed=0, domain=DOMAIN):
    """Two kinds of people, told apart by every attribute."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.4
    columns = []
    for size in domain.shape:
        first = 0.4 ** np.arange(size) / (0.4 ** np.arange(size)).sum()
        one, other = rng.choice(size, n, p=first), rng.choice(size, n, p=first[::-1])
        columns.append(np.where(kind, one, other).astype(np.uint8))
    return columns


def reports(columns, design, seed):
    return tally_codes(randomize_codes(columns, design, SeededSource(seed)), design)


def truth(columns, names, domain=DOMAIN):
    """The people's own table."""
    places = [domain.index(name) for name in names]
    shape = [domain.shape[j] for j in places]
    cells = np.ravel_multi_index([columns[j].astype(int) for j in places], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / len(columns[0])
