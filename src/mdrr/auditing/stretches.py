"""The definition of every row, as stretches of integers, and which of them an audit looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design
from mdrr.respondent import draw_bytes

Integers: TypeAlias = npt.NDArray[np.int64]

SMALL = 2**16
MOST_PROBES = {"single": 2**15, "bulk": 2**20, "browser": 2**17}
"""So many people are randomized at most."""
MOST_QUESTIONNAIRES = 64


def stretches(matrix: Mapping[str, Any], cell: int) -> tuple[Integers, Integers]:
    """The codes and the lengths of the stretches of [0, D), in order: the definition of a row.

    A stretch may be empty, such as that of what division leaves over.

    >>> codes, lengths = stretches({"kind": "constant", "cells": 2, "diagonal": 3, "off": 1}, 0)
    >>> codes.tolist(), lengths.tolist()
    ([0, 1, 0, 0], [1, 1, 2, 0])
    """
    if matrix["kind"] == "dense":
        weights = np.array(matrix["weights"][cell], dtype=np.int64)
        return np.arange(len(weights)), weights
    if matrix["kind"] == "constant":
        low, around = matrix["off"], np.array([cell])
        codes, middle = matrix["cells"], cell
        total = matrix["diagonal"] + (codes - 1) * low
    elif matrix["kind"] == "banded":
        width, low, total = matrix["width"], matrix["low"], matrix["total"]
        codes, middle = matrix["cells"] + 2 * width, cell + width
        around = cell + np.arange(2 * width + 1)
    else:
        codes, low, total = matrix["codes"], matrix["low"], matrix["total"]
        around = (cell - np.array(matrix["block"])) % codes
        middle = around[0]
    step, left = divmod(total - codes * low, len(around))
    lengths = np.repeat([low, step, left], [codes, len(around), 1])
    return np.concatenate([np.arange(codes), around, [middle]]), lengths


def probabilities(matrix: Mapping[str, Any], cells: Integers) -> npt.NDArray[np.float64]:
    """Rows of P by the definition, `(cells, codes)`.

    >>> coin = {"kind": "constant", "cells": 2, "diagonal": 3, "off": 1}
    >>> probabilities(coin, np.array([0, 1])).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    if matrix["kind"] == "public":
        return np.eye(matrix["cells"])[cells]
    rows = [np.bincount(*stretches(matrix, cell)) for cell in cells.tolist()]
    return np.asarray(np.stack(rows) / rows[0].sum(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Place:
    """A cluster of a questionnaire, and which of its rows and stretches are looked at."""

    chosen: int
    at: int
    cluster: Cluster
    fields: Mapping[str, Any]
    offset: int
    cells: Integers
    how: str  # "every", "ends" or "some ends"

    @property
    def words(self) -> str:
        """What to call it in a finding."""
        return f"questionnaire {self.chosen}, {self.cluster.name}"

    def points(self, cell: int) -> tuple[Integers, Integers]:
        """Integers u and the code that the definition gives each."""
        codes, lengths = stretches(self.fields, cell)
        codes, lengths = codes[lengths > 0], lengths[lengths > 0]
        if self.how == "every":
            return np.arange(SMALL), np.repeat(codes, lengths)
        ends = np.cumsum(lengths)
        kept = np.arange(len(codes))
        if self.how == "some ends":
            kept = np.unique(np.linspace(0, len(codes) - 1, 2**10).astype(np.int64))
        both = np.stack([ends[kept] - lengths[kept], ends[kept] - 1], axis=1).ravel()
        points, first = np.unique(both, return_index=True)  # a stretch of one has one end
        return points, np.repeat(codes[kept], 2)[first]


def places_of(design: Design, most: int) -> tuple[list[Place], list[int]]:
    """Which clusters, rows and stretches can be looked at, and which questionnaires."""
    count = len(design.questionnaires)
    asked = _spread(count, MOST_QUESTIONNAIRES).tolist()
    listed = []
    for q in asked:
        offset = design.selection_bytes
        for at, cluster in enumerate(design.questionnaires[q].clusters):
            if cluster.matrix.kind != "public":
                listed.append((q, at, cluster, offset))
            offset += draw_bytes(cluster.matrix.total)
    small = [c.matrix.cells for _, _, c, _ in listed if c.matrix.total == SMALL]
    every = sum(small) * SMALL <= most
    share = most // (2 * len(listed))
    places = []
    for q, at, cluster, offset in listed:
        fields = cluster.matrix.to_dict()
        how = "every" if every and cluster.matrix.total == SMALL else "ends"
        size = 2 * len(stretches(fields, 0)[0])
        if how == "ends" and 2 * size > share:
            how, size = "some ends", 2 * 2**10
        rows = cluster.matrix.cells if how == "every" else max(2, share // size)
        places.append(
            Place(q, at, cluster, fields, offset, _spread(cluster.matrix.cells, rows), how)
        )
    return places, asked


def _spread(count: int, most: int) -> Integers:
    """At most so many of the first integers, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
