"""Estimators: plain functions of one signature, `method(tally, design, **options) -> Estimate`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mdrr.design import Design
from mdrr.errors import EstimateError, did_you_mean
from mdrr.estimation.adjust import adjust as adjust
from mdrr.estimation.auto import auto
from mdrr.estimation.latent import latent
from mdrr.estimation.pairwise import correspondence, pairwise
from mdrr.estimation.product import product
from mdrr.estimation.raking import Adjustment as Adjustment
from mdrr.estimation.result import Count as Count
from mdrr.estimation.result import Estimate as Estimate
from mdrr.estimation.result import Table as Table
from mdrr.plausibility import doubts
from mdrr.tallies import Tally

METHODS: dict[str, Callable[..., Estimate]] = {
    "product": product,
    "adjust": adjust,
    "pairwise": pairwise,
    "latent": latent,
    "correspondence": correspondence,
    "auto": auto,
}


def estimate(tally: Tally, design: Design, method: str = "auto", **options: Any) -> Estimate:
    """Estimate the true joint distribution from a tally.

    Arguments:
        tally: the reports.
        design: the design they were made under.
        method: which estimator; `mdrr.estimation.METHODS` lists them. The default mixes several
            models, as held-out people suggest.
        options: passed to the estimator.

    Returns:
        The estimate. `.notes` says how it was made; `.notes["warnings"]` says why these may not be
        randomized reports, if anything speaks against it.

    Example:
        >>> import numpy as np
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> from mdrr.tallies import tally_codes
        >>> design = independent(Domain((Attribute("a", ("x", "y")),)), p=0.5)
        >>> tally = tally_codes([[np.repeat([0, 1], [600, 400])]], design)
        >>> found = estimate(tally, design, "product")
        >>> found.table("a").values
        array([0.7, 0.3])
        >>> count = found.count({"a": ["x"]})
        >>> round(count.value), count.low < 700 < count.high
        (700, True)
    """
    first: Any = tally
    if isinstance(first, Design):
        raise EstimateError("the tally comes first, then the design: mdrr.estimate(tally, design)")
    if not isinstance(first, Tally):
        raise EstimateError(
            f"estimates are made of a Tally, not a {type(first).__name__}: "
            "mdrr.tally(reports, design) counts reports"
        )
    if not isinstance(design, Design):
        raise EstimateError(f"the design is an mdrr.Design, not a {type(design).__name__}")
    made_by = estimator(method)
    known = [*inspect.signature(made_by).parameters][2:]
    for name in options:
        if name not in known:
            raise EstimateError(
                f"method {method!r} has no option {name!r}. Known: {', '.join(known) or 'none'}"
            )
    found = made_by(tally, design, **options)
    return replace(found, notes={**found.notes, "warnings": doubts(tally, design)})


def estimator(method: str) -> Callable[..., Estimate]:
    """The function of a method, by name.

    >>> estimator("product") is product
    True
    """
    try:
        return METHODS[method]
    except (KeyError, TypeError):
        hint = did_you_mean(method, METHODS) or "."
        raise EstimateError(
            f"there is no method {method!r}{hint} Known: {', '.join(map(repr, METHODS))}"
        ) from None
