"""How far simulated frequencies may be from stated ones."""

import math

from scipy import stats

from tests.chance import ALPHA, z


def relative_tolerance(trials: int) -> float:
    """How far an observed variance may be from the true one, relatively: (χ²_{t−1}/(t−1) − 1)."""
    low, high = stats.chi2.ppf([ALPHA / 2, 1 - ALPHA / 2], trials - 1) / (trials - 1)
    return float(max(1 - low, high - 1))


def coverage_band(level: float, trials: int, slack: float = 0.0) -> tuple[float, float]:
    """Where the share of intervals that hold the truth may lie; `slack` for first-order theory."""
    reach = z() * math.sqrt(level * (1 - level) / trials)
    return level - reach - slack, level + reach + slack
