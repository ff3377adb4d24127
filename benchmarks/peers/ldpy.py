"""multi-freq-ldpy (Arcolezi et al. 2022): SPL, SMP and RS+FD, each with its adaptive oracle.

The package's own clients randomize every person and its own aggregators estimate every attribute;
`ADP` takes GRR or OUE per attribute, whichever has the smaller variance, its authors'
recommendation. These protocols estimate one attribute at a time, so wider tables are products.

RS+FD as published randomizes the sampled attribute with ε' = ln(d(e^ε − 1) + 1). That is ε-LDP
for two records that differ in one attribute. For two records that differ in all, which is what
everything else here promises, the reports' probabilities differ by up to e^ε' (`record_epsilon`):
at ε = 1 and eight attributes ε' = 2.7. So the comparison at equal ε takes `matched`, the budget to
give RS+FD so that ε' is ε; the published one is run beside it and marked.
"""

from __future__ import annotations

import math

import numpy as np
from benchmarks.data import People
from benchmarks.metrics import Answer, product_of


def record_epsilon(epsilon: float, attributes: int) -> float:
    """What RS+FD, given ε, spends on two records that differ in every attribute."""
    return math.log(attributes * math.expm1(epsilon) + 1)


def matched(epsilon: float, attributes: int) -> float:
    """What to give RS+FD so that it spends ε on whole records."""
    return math.log1p(math.expm1(epsilon) / attributes)


def ldpy(kind: str, people: People, epsilon: float, seed: int) -> Answer:
    """`kind` is SPL (split the budget), SMP (one attribute each) or RSpFD (and fake the others)."""
    from multi_freq_ldpy.mdim_freq_est import RSpFD_solution, SMP_solution, SPL_solution

    module = {"SPL": SPL_solution, "SMP": SMP_solution, "RSpFD": RSpFD_solution}[kind]
    client = getattr(module, f"{kind}_ADP_Client")
    aggregator = getattr(module, f"{kind}_ADP_Aggregator_MI")
    sizes = [int(size) for size in people.domain.shape]
    d = len(sizes)
    _seed(seed)
    records = np.column_stack(people.codes).tolist()
    reports = [client(record, sizes, d, epsilon) for record in records]
    found = aggregator(reports, sizes, d, epsilon)
    margins = {}
    for name, size, values in zip(people.domain.names, sizes, found, strict=True):
        shares = np.asarray(values, dtype=float)
        if not shares.sum() > 0:  # the package gives zeros when every estimate is negative
            shares = np.ones(size)
        margins[name] = shares / shares.sum()
    return product_of(margins)


def _seed(seed: int) -> None:
    """The package draws from NumPy's global generator, and from Numba's inside its kernels."""
    from numba import njit

    @njit
    def inside(value):  # pragma: no cover - compiled
        np.random.seed(value)  # noqa: NPY002

    np.random.seed(seed)  # noqa: NPY002
    inside(seed)
