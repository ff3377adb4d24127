"""How strongly attributes go together, pair by pair, and how sure that is (section 4)."""

from mdrr.dependence.association import (
    MEASURES,
    Measure,
    covariance,
    cramers_v,
    debiased,
    measure_of,
    measured,
    pearson,
)
from mdrr.dependence.noise import NoisyTable
from mdrr.dependence.sources import (
    dependences,
    from_codes,
    from_noisy,
    from_tables,
    is_vague,
    pair_tables,
    unknown_spread,
)
from mdrr.dependence.strengths import LEVEL, Dependences

__all__ = [
    "LEVEL",
    "MEASURES",
    "Dependences",
    "Measure",
    "NoisyTable",
    "covariance",
    "cramers_v",
    "debiased",
    "dependences",
    "from_codes",
    "from_noisy",
    "from_tables",
    "is_vague",
    "measure_of",
    "measured",
    "pair_tables",
    "pearson",
    "unknown_spread",
]
