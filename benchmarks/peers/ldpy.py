"""multi-freq-ldpy (Arcolezi et al. 2022): SPL, SMP and RS+FD, each with its adaptive oracle.

The package's own clients randomize every person and its own aggregators estimate every attribute;
`ADP` takes GRR or OUE per attribute, whichever has the smaller variance, its authors'
recommendation. These protocols estimate one attribute at a time, so wider tables are products.
"""

from __future__ import annotations

import numpy as np
from benchmarks.data import People
from benchmarks.metrics import Answer, product_of


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
