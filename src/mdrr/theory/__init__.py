"""How accurate a design is before anyone is asked: the paper's error theory, for λ̂ and for π̂."""

from __future__ import annotations

from mdrr.theory.counts import CountError as CountError
from mdrr.theory.counts import Influence as Influence
from mdrr.theory.counts import count_error as count_error
from mdrr.theory.counts import influence as influence
from mdrr.theory.counts import product_count_error as product_count_error
from mdrr.theory.frequencies import FrequencyErrors as FrequencyErrors
from mdrr.theory.frequencies import deviations as deviations
from mdrr.theory.frequencies import e_abs as e_abs
from mdrr.theory.frequencies import e_abs_pi as e_abs_pi
from mdrr.theory.frequencies import e_rel as e_rel
from mdrr.theory.frequencies import e_rel_pi as e_rel_pi
from mdrr.theory.frequencies import frequency_errors as frequency_errors
from mdrr.theory.frequencies import people_needed as people_needed
from mdrr.theory.frequencies import propagation as propagation
from mdrr.theory.frequencies import sqrt_b as sqrt_b
from mdrr.theory.printed import Comparison as Comparison
from mdrr.theory.printed import PrintedComparison as PrintedComparison
from mdrr.theory.printed import cluster_diagonal as cluster_diagonal
from mdrr.theory.printed import compare as compare
from mdrr.theory.printed import compare_printed as compare_printed
from mdrr.theory.printed import paper_epsilon as paper_epsilon
from mdrr.theory.printed import paper_p_cluster as paper_p_cluster
from mdrr.theory.printed import reported_covariance as reported_covariance
