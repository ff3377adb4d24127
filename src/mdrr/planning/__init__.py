"""Which design to use before anyone is asked: predicted errors and optimal split questionnaires."""

from __future__ import annotations

from mdrr.planning.pilot import MainSurvey as MainSurvey
from mdrr.planning.pilot import main_survey as main_survey
from mdrr.planning.pilot import pool as pool
from mdrr.planning.plan import Candidate as Candidate
from mdrr.planning.plan import Plan as Plan
from mdrr.planning.plan import plan as plan
from mdrr.planning.predict import Predicted as Predicted
from mdrr.planning.predict import predict as predict
from mdrr.planning.sampling import best_split as best_split
from mdrr.planning.sampling import quietest_matrix as quietest_matrix
from mdrr.planning.sampling import split_questionnaire as split_questionnaire
