"""Domains and designs that vary everything once: sizes, kinds, label types, orders, totals."""

import math
from dataclasses import replace

import numpy as np

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.matrix import Constant, Dense, constant_matrix, dense_matrix, matrix_from_dict
from mdrr.protocols import clustered, independent, joint, sampled


def nominal(name: str, size: int) -> Attribute:
    return Attribute(name, tuple(f"{name}{i}" for i in range(size)))


def domain_of(*sizes: int) -> Domain:
    """Attributes a, b, c … z, a1, b1, … with the given category counts."""
    names = (chr(97 + i % 26) + str(i // 26 or "") for i in range(len(sizes)))
    return Domain(tuple(nominal(name, size) for name, size in zip(names, sizes, strict=True)))


EIGHT = domain_of(3, 2, 4, 2, 5, 2, 3, 2)
"""Eight attributes, unequal sizes."""

MIXED = Domain(
    (
        Attribute("ville", ("Genève", "Zürich", "東京", "🦔")),
        Attribute("smokes", (False, True)),
        Attribute("children", (0, 1, 2, -5), kind="ordinal", missing=-5),
        Attribute("age", kind="numeric", edges=(0, 17.5, 65, 120)),
    )
)
"""Text beyond ASCII, booleans, integers, bins."""


def public(domain: Domain, *names: str) -> Domain:
    """The same domain with some attributes public."""
    return Domain(tuple(replace(a, public=a.name in names) for a in domain.attributes))


def uneven(cells: int, seed: int) -> Dense:
    """A dense matrix without any symmetry."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(cells), size=cells) + 2 * np.eye(cells)
    return dense_matrix(rows / rows.sum(axis=1, keepdims=True))


def banded(cells: int, total: int = 2**16) -> Dense:
    """A banded matrix: only neighbours are ever reported, so ε is infinite."""
    rows = np.eye(cells) * 2 + np.eye(cells, k=1) + np.eye(cells, k=-1)
    return dense_matrix(rows / rows.sum(axis=1, keepdims=True), total=total)


def mixed_matrices() -> Design:
    """Eight attributes out of order in clusters; every total; constant and dense; unlike ε."""
    clusters = (
        Cluster(("h", "a"), constant_matrix(6, p=0.3)),
        Cluster(("b",), Constant(2, diagonal=2**32 - 2**30, off=2**30)),
        Cluster(("c", "d"), uneven(8, seed=3)),
        Cluster(("e",), constant_matrix(5, epsilon=24.0)),
        Cluster(("g", "f"), constant_matrix(6, epsilon=1.5)),
    )
    return Design(EIGHT, (Questionnaire(clusters),))


def unequal_questionnaires() -> Design:
    """Three questionnaires with unlike weights, lengths and clusters."""
    domain = domain_of(3, 2, 4)
    return Design(
        domain,
        (
            Questionnaire((Cluster(("a", "b"), constant_matrix(6, p=0.5)),), 40_000),
            Questionnaire(
                (Cluster(("c",), uneven(4, 1)), Cluster(("a",), constant_matrix(3, p=0.2))), 15_536
            ),
            Questionnaire((Cluster(("b",), constant_matrix(2, p=0.7)),), 10_000),
        ),
    )


def designs() -> dict[str, Design]:
    """Every kind of design, by name."""
    return {
        "independent": independent(EIGHT, p=0.4),
        "joint": joint(domain_of(3, 2, 4), p=0.5),
        "clustered": clustered(EIGHT, [["h", "a"], ["b"], ["c", "d", "e"], ["g"], ["f"]], p=0.5),
        "mixed": mixed_matrices(),
        "sampled": sampled(domain_of(3, 2, 4, 2), 2, epsilon=2.0),
        "unequal": unequal_questionnaires(),
        "labels": independent(MIXED, p=0.5),
        "one": independent(domain_of(4), p=0.6),
        "ordered": independent(MIXED, epsilon=4.0, ordered="banded"),
        "subsets": sampled(domain_of(3, 4, 5), 2, epsilon=1.0, report="subset"),
        "public": clustered(public(EIGHT, "a", "e"), [["h", "c"], ["b", "d"], ["f"], ["g"]], p=0.5),
        "public, sampled": sampled(public(domain_of(3, 2, 4, 2), "b"), 2, epsilon=2.0),
    }


def weights_of(cluster: dict, cell: int) -> list[int]:
    """A cluster's integer weights for one true cell, written out from the design's JSON."""
    matrix = cluster["matrix"]
    if matrix["kind"] == "dense":
        return matrix["weights"][cell]
    if matrix["kind"] == "public":
        return [int(code == cell) for code in range(matrix["cells"])]
    if matrix["kind"] in ("banded", "subset"):
        return matrix_from_dict(matrix).weights[cell].tolist()
    row = [matrix["off"]] * matrix["cells"]
    row[cell] = matrix["diagonal"]
    return row


def cell_of(codes: dict[str, int], names, domain: Domain) -> int:
    """The mixed-radix cell of a record, the first attribute most significant."""
    sizes = [domain.attribute(name).size for name in names]
    return sum(codes[n] * math.prod(sizes[i + 1 :]) for i, n in enumerate(names))


def dense_form(matrix) -> np.ndarray:
    """P[true, reported] of a constant matrix, written out."""
    table = np.full((matrix.cells, matrix.cells), matrix.off / matrix.total)
    np.fill_diagonal(table, matrix.diagonal / matrix.total)
    return table
