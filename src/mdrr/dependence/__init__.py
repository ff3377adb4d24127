"""How strongly attributes go together, pair by pair, and how sure that is (section 4)."""

from mdrr.dependence.association import MEASURES as MEASURES
from mdrr.dependence.association import measure_of as measure_of
from mdrr.dependence.noise import NoisyTable as NoisyTable
from mdrr.dependence.sources import dependences as dependences
from mdrr.dependence.sources import from_codes as from_codes
from mdrr.dependence.sources import from_noisy as from_noisy
from mdrr.dependence.sources import from_tables as from_tables
from mdrr.dependence.sources import is_vague as is_vague
from mdrr.dependence.sources import pair_tables as pair_tables
from mdrr.dependence.sources import unknown_spread as unknown_spread
from mdrr.dependence.strengths import LEVEL as LEVEL
from mdrr.dependence.strengths import Dependences as Dependences
