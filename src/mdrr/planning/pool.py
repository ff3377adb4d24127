"""Several surveys over one domain, estimated as one."""

from __future__ import annotations

from collections.abc import Sequence

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import DesignError
from mdrr.groups import Group, merged
from mdrr.tallies import Tally


def pool(surveys: Sequence[tuple[Tally, Design]]) -> tuple[Tally, Design]:
    """One tally and one design out of several over the same domain, for any estimator.

    Pool a pilot and a main survey, or the old and the new version of one survey. The pooled design
    has the questionnaires of all of them, weighted by how many people answered each; those that ask
    the same in the same way are there once. Its ε is the largest of theirs. A person spent no more
    than that only if nobody took part twice.

    The pooled design is not for asking anyone, only for estimating.

    Example:
        >>> import numpy as np
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> from mdrr.tallies import tally_codes
        >>> domain = Domain((Attribute("a", ("x", "y")),))
        >>> designs = [independent(domain, epsilon=e) for e in (1.0, 2.0)]
        >>> tally, design = pool([(tally_codes([[np.array([0, 1])]], d), d) for d in designs])
        >>> tally.n, design.epsilon <= 2.0, len(design.questionnaires)
        (4, True, 2)
    """
    if not surveys:
        raise DesignError("give at least one survey")
    domain = surveys[0][1].domain
    asked: dict[tuple[Cluster, ...], list[Group]] = {}
    for tally, design in surveys:
        tally.check(design)
        if design.domain != domain:
            raise DesignError("surveys are pooled over one domain; theirs differ")
        for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
            asked.setdefault(questionnaire.clusters, []).append(group)
    groups = [merged(parts) for parts in asked.values()]
    parts = zip(asked, whole_shares([group.n for group in groups]), strict=True)
    design = Design(domain, tuple(Questionnaire(clusters, weight) for clusters, weight in parts))
    libraries = {tally.library for tally, _ in surveys}
    library = libraries.pop() if len(libraries) == 1 else None
    return Tally(design.fingerprint, tuple(groups), library=library), design


def whole_shares(shares: Sequence[float]) -> list[int]:
    """Questionnaires' weights: positive integers that sum to 2^32, in proportion to the shares.

    >>> whole_shares([3, 1]) == [3 * 2**30, 2**30], whole_shares([5])
    (True, [1])
    """
    if len(shares) == 1:
        return [1]
    total = sum(shares) or 1
    whole = [max(int(2**32 * share / total), 1) for share in shares]
    whole[whole.index(max(whole))] += 2**32 - sum(whole)
    return whole
