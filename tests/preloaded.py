"""What the fork server of `tests.processes` has loaded, so that its children need not."""

import tests.faults.aggregating
import tests.faults.cast
import tests.securesum.test_history  # noqa: F401
from mdrr.securesum.prio3.field import FIELD64

# Loops are loaded when they are first called.
_ones = FIELD64.elements([1, 1])
FIELD64.multiply(_ones, _ones)
FIELD64.dot(_ones, _ones)
FIELD64.total(_ones)
