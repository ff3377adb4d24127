"""Which attributes to randomize together (Algorithm 1)."""

from __future__ import annotations

import math

import numpy as np

from mdrr.dependence import Dependences
from mdrr.domain import Domain
from mdrr.errors import DesignError


def cluster(
    dependences: Dependences, domain: Domain, *, max_cells: int, min_dependence: float
) -> tuple[tuple[str, ...], ...]:
    """Merge the most dependent clusters while their combinations stay few (Algorithm 1).

    The dependence of two clusters is the largest between an attribute of one and an attribute of
    the other. Ties go to the pair that comes first in the domain's order, which is also that of the
    partition it gives. Public attributes are reported as they are and are in no cluster.

    Arguments:
        dependences: of every pair of attributes, learnt in any way.
        domain: gives the order and the category counts.
        max_cells: T_v, the most combinations a cluster may have.
        min_dependence: T_d, the least dependence that merges two clusters.

    Example:
        >>> import numpy as np
        >>> from mdrr.domain import Attribute
        >>> d = Domain(tuple(Attribute(name, ("x", "y")) for name in "abc"))
        >>> v = Dependences(d.names, np.array([[1, 0.1, 0.6], [0.1, 1, 0.2], [0.6, 0.2, 1]]))
        >>> cluster(v, d, max_cells=4, min_dependence=0.15)
        (('a', 'c'), ('b',))
    """
    if set(dependences.names) != set(domain.names):
        raise DesignError("the dependences are not of this domain's attributes")
    if max_cells < 1:
        raise DesignError(f"max_cells={max_cells}: a cluster has at least one combination")
    if not 0 <= min_dependence <= (math.inf if dependences.measure == "covariance" else 1):
        raise DesignError(f"min_dependence={min_dependence}: a dependence lies between 0 and 1")
    clusters: list[tuple[str, ...]] = [(name,) for name in domain.private]
    places = [dependences.names.index(name) for name in domain.private]
    strengths = dependences.values[np.ix_(places, places)]
    cells = np.array([domain.attribute(name).size for name in domain.private], dtype=object)
    while True:
        fits = np.multiply.outer(cells, cells) <= max_cells
        mergeable = np.triu(fits & (strengths >= min_dependence), 1)
        if not mergeable.any():
            return tuple(tuple(sorted(names, key=domain.index)) for names in clusters)
        best = np.argmax(np.where(mergeable, strengths, -1.0))  # the first of equals
        first, second = np.unravel_index(best, strengths.shape)
        strengths[first] = strengths[:, first] = np.maximum(strengths[first], strengths[second])
        strengths = np.delete(np.delete(strengths, second, axis=0), second, axis=1)
        cells[first] *= cells[second]
        cells = np.delete(cells, second)
        clusters[first] += clusters.pop(second)
