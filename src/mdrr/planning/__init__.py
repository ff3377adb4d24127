"""Which design to use before anyone is asked: predicted errors and optimal split questionnaires."""

from __future__ import annotations

from mdrr.planning.plan import Candidate, Plan, plan
from mdrr.planning.pool import pool
from mdrr.planning.predict import Predicted, predict
from mdrr.planning.sampling import best_split, quietest_matrix, split_questionnaire

__all__ = [
    "Candidate",
    "Plan",
    "Predicted",
    "best_split",
    "plan",
    "pool",
    "predict",
    "quietest_matrix",
    "split_questionnaire",
]
