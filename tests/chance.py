"""False-alarm rates, stated: where every tolerance and verdict of a statistical test comes from.

`ALPHA` is the chance that a right program fails one verdict. Seeds are fixed, so a test that passed
once passes always; the rate says how much luck was needed to choose the seed.
"""

import numpy as np
from scipy import stats

ALPHA = 1e-5


def z(alpha: float = ALPHA) -> float:
    """How many standard errors a normal estimate strays with probability alpha."""
    return float(stats.norm.isf(alpha / 2))


def surprise(observed, probabilities) -> float:
    """The p-value of Pearson's χ² test; cells with an expected count below 5 are put together."""
    observed = np.asarray(observed, dtype=float).ravel()
    expected = np.asarray(probabilities, dtype=float).ravel() * observed.sum()
    if observed[expected == 0].any():
        return 0.0
    small = expected < 5
    cells = [observed[~small], [observed[small].sum()]]
    wanted = [expected[~small], [expected[small].sum()]]
    observed, expected = np.concatenate(cells), np.concatenate(wanted)
    kept = expected > 0
    observed, expected = observed[kept], expected[kept]
    if len(expected) < 2:
        return 1.0
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(expected) - 1))


def least_surprise(p_values) -> float:
    """The smallest p-value after Bonferroni's correction."""
    p_values = list(p_values)
    assert p_values, "nothing was tested"
    return min(p_values) * len(p_values)


def deviation_allowed(variance, n: float = 1.0):
    """How far a mean of n values of that variance may stray."""
    return z() * np.sqrt(np.asarray(variance) / n)
