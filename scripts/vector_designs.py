"""The designs of `vectors/`, written as they are published and not with the library."""

from __future__ import annotations

from typing import Any

Fields = dict[str, Any]

LETTERS = [{"name": "a", "kind": "nominal", "categories": ["x", "y", "z"]}]
PUBLIC = [
    {"name": "region", "kind": "nominal", "categories": ["N", "W", "S"], "public": True},
    {"name": "a", "kind": "nominal", "categories": ["a0", "a1", "a2", "a3"]},
    {"name": "wave", "kind": "ordinal", "categories": [1, 2], "public": True},
    {"name": "b", "kind": "nominal", "categories": ["b0", "b1"]},
]
LABELS = [
    {
        "name": "ville \"où\" \\ 'ça'",
        "kind": "nominal",
        # Composed and decomposed è are two categories: nothing is normalised. The hedgehog is
        # beyond the basic plane; the rest is what JSON writers disagree about.
        "categories": ["Gen\u00e8ve", "Gene\u0300ve", "東京", "🦔", "\u00a0\u200d", '"\\/<'],
    },
    {"name": "smokes", "kind": "nominal", "categories": [False, True]},
    {"name": "children", "kind": "ordinal", "categories": [0, 1, 2, -5], "missing": -5},
    {"name": "big", "kind": "nominal", "categories": [2**53 - 1, -(2**53) + 1]},
    {
        "name": "age",
        "kind": "numeric",
        "categories": ["[0, 17.5)", "[17.5, 65)", "[65, 120]", "?"],
        "edges": ["0", "17.5", "65", "120"],
        "missing": "?",
    },
]


def constant(cells: int, off: int, total: int) -> Fields:
    """A constant matrix of that total."""
    return {
        "kind": "constant",
        "cells": cells,
        "diagonal": total - (cells - 1) * off,
        "off": off,
    }


def band(cells: int, width: int, low: int, total: int) -> Fields:
    """A banded matrix of that total."""
    return {"kind": "banded", "cells": cells, "width": width, "low": low, "total": total}


def subset(cells: int, codes: int, block: list[int], low: int, total: int) -> Fields:
    """A subset matrix of that total."""
    fields = {"kind": "subset", "cells": cells, "codes": codes}
    return {**fields, "block": block, "low": low, "total": total}


def exact(cells: int) -> Fields:
    """The matrix of a public attribute."""
    return {"kind": "public", "cells": cells}


def nominal(name: str, size: int) -> Fields:
    """An attribute with that many categories."""
    return {"name": name, "kind": "nominal", "categories": [f"{name}{i}" for i in range(size)]}


def design(attributes: list[Fields], *questionnaires: tuple[int, list[Fields]]) -> Fields:
    """A design of (weight, clusters) pairs."""
    return {
        "mdrr": 1,
        "attributes": attributes,
        "questionnaires": [{"weight": w, "clusters": clusters} for w, clusters in questionnaires],
    }


def cluster(names: list[str], matrix: Fields) -> Fields:
    """Attributes reported through one matrix."""
    return {"attributes": names, "matrix": matrix}


def designs() -> dict[str, Fields]:
    """Every design of the vectors, by file name."""
    dense = {
        "kind": "dense",
        "weights": [[60000, 5536, 0], [1, 65534, 1], [20000, 20000, 25536]],
    }
    wide = {"kind": "dense", "weights": [[2**47, 2**47 - 1, 1], [1, 2**46, 2**48 - 2**46 - 1]]}
    four = [nominal("a", 3), nominal("b", 2), nominal("c", 4), nominal("d", 2)]
    one = [cluster(["a"], constant(3, 7000, 2**16))]
    names = [a["name"] for a in LABELS]
    sizes = [len(a["categories"]) for a in LABELS]
    return {
        "constant-16": design(LETTERS, (1, one)),
        "constant-32": design(LETTERS, (1, [cluster(["a"], constant(3, 123_456_789, 2**32))])),
        "constant-48": design(LETTERS, (1, [cluster(["a"], constant(3, 1, 2**48))])),
        "dense": design(LETTERS, (1, [cluster(["a"], dense)])),
        "dense-more-codes": design([nominal("a", 2)], (1, [cluster(["a"], wide)])),
        "banded": design(
            [nominal("a", 4), nominal("b", 5)],
            (
                1,
                [
                    cluster(["a"], band(4, 1, 6_553, 2**16)),
                    cluster(["b"], band(5, 2, 200_000_001, 2**32)),
                ],
            ),
        ),
        "subset": design(
            [nominal("a", 2), nominal("b", 3)],
            (1, [cluster(["a", "b"], subset(6, 7, [1, 2, 4], 6_000, 2**16))]),
        ),
        "joint": design(four, (1, [cluster(["a", "b", "c", "d"], constant(48, 2**26 + 1, 2**32))])),
        "clusters": design(
            four,
            (
                1,
                [
                    cluster(["a", "d"], constant(6, 4_000, 2**16)),
                    cluster(["b"], constant(2, 2**46 + 12_345, 2**48)),
                    cluster(["c"], constant(4, 2**29, 2**32)),
                ],
            ),
        ),
        "sampled": design(
            four,
            (2**32 - 3 * 2**30, [cluster(["a", "c"], constant(12, 2**27, 2**32))]),
            (2**31, [cluster(["b"], dense_two()), cluster(["d"], constant(2, 1_000, 2**16))]),
            (2**30 - 1, [cluster(["c"], constant(4, 16_000, 2**16))]),
            (1, [cluster(["a"], constant(3, 2**40, 2**48))]),
        ),
        "public": design(
            PUBLIC,
            (
                2**14,
                [
                    cluster(["region"], exact(3)),
                    cluster(["a"], constant(4, 7_000, 2**16)),
                    cluster(["wave"], exact(2)),
                ],
            ),
            (
                2**16 - 2**14,
                [
                    cluster(["region"], exact(3)),
                    cluster(["wave"], exact(2)),
                    cluster(["b"], constant(2, 2**30 + 1, 2**32)),
                ],
            ),
        ),
        "labels": design(
            LABELS,
            (
                1,
                [
                    cluster([name], constant(size, 5_000, 2**16))
                    for name, size in zip(names, sizes, strict=True)
                ],
            ),
        ),
    }


def dense_two() -> Fields:
    """A dense matrix over two cells with draws of four bytes."""
    return {"kind": "dense", "weights": [[2**31, 2**31], [2**30, 3 * 2**30]]}
