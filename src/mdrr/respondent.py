"""The single-record randomizer, on the standard library alone: read it in a minute.

This is what runs on a respondent's device. It takes a published design (its JSON), one true record
and the system's random bytes, and gives the report: nothing else leaves. The bulk randomizer and
the browser's give the same report for the same bytes.

One person reads a fixed number of bytes, whatever she is asked and answers. With several
questionnaires the first draw picks one; then each cluster takes one draw, little-endian.
"""

import hashlib
import json
import secrets
from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from mdrr.errors import DesignError, MatrixError, SchemaError


def respond(
    design: Mapping[str, Any],
    record: Mapping[str, Any],
    read: Callable[[int], bytes] = secrets.token_bytes,
) -> dict[str, Any]:
    """Randomize one record under a design (paper, Protocols 1 and 2).

    Arguments:
        design: the design's JSON, parsed.
        record: her true answer to each attribute, `{name: label}`; it is not kept anywhere.
        read: gives random bytes; the system's CSPRNG unless a test says otherwise.

    Returns:
        `{"design": fingerprint, "questionnaire": which, "codes": [one integer per cluster]}`.

    Example:
        >>> matrix = {"kind": "constant", "cells": 2, "diagonal": 49152, "off": 16384}
        >>> design = {"mdrr": 1, "attributes": [{"name": "a", "categories": ["no", "yes"]}],
        ...     "questionnaires": [{"weight": 1, "clusters": [
        ...         {"attributes": ["a"], "matrix": matrix}]}]}
        >>> respond(design, {"a": "yes"}, read=lambda n: bytes([0, 128]))["codes"]
        [1]
    """
    mark = fingerprint(design)
    if design.get("fingerprint", mark) != mark:
        raise DesignError("the design is not the published one: its fingerprint does not match")
    labels = {a["name"]: a["categories"] for a in design["attributes"]}
    questionnaires = design["questionnaires"]
    stream = read(record_bytes(design))
    used = 0

    def uniform(total: int) -> int:
        nonlocal used
        size = (total.bit_length() - 1) // 8
        used += size
        return int.from_bytes(stream[used - size : used], "little")

    chosen = 0
    if len(questionnaires) > 1:
        weights = list(accumulate(q["weight"] for q in questionnaires))
        chosen = bisect_right(weights, uniform(weights[-1]))
    codes = []
    for cluster in questionnaires[chosen]["clusters"]:
        cell = 0
        for name in cluster["attributes"]:
            cell = cell * len(labels[name]) + position(labels[name], record.get(name), name)
        codes.append(draw(cluster["matrix"], cell, uniform(total_of(cluster["matrix"]))))
    return {"design": mark, "questionnaire": chosen, "codes": codes}


def draw(matrix: Mapping[str, Any], cell: int, u: int) -> int:
    """The code reported for a true cell, given u uniform on [0, D)."""
    if matrix["kind"] == "constant":
        noise: int = u // matrix["off"]
        return noise if noise < matrix["cells"] else cell
    if matrix["kind"] == "dense":
        return bisect_right(list(accumulate(matrix["weights"][cell])), u)
    raise MatrixError(f"unknown kind of matrix: {matrix['kind']!r}")


def total_of(matrix: Mapping[str, Any]) -> int:
    """D, the sum of a row's weights: 2^16, 2^32 or 2^48."""
    if matrix["kind"] == "constant":
        totals = {matrix["diagonal"] + (matrix["cells"] - 1) * matrix["off"]}
    else:
        totals = {sum(row) for row in matrix["weights"]}
    if len(totals) > 1 or not totals <= {2**16, 2**32, 2**48}:
        raise MatrixError("a row's weights do not sum to 2^16, 2^32 or 2^48: no fair draw")
    total: int = totals.pop()
    return total


def record_bytes(design: Mapping[str, Any]) -> int:
    """How many random bytes one person uses."""
    questionnaires = design["questionnaires"]
    longest: int = max(
        sum((total_of(c["matrix"]).bit_length() - 1) // 8 for c in q["clusters"])
        for q in questionnaires
    )
    if len(questionnaires) == 1:
        return longest
    selection: int = (sum(q["weight"] for q in questionnaires).bit_length() - 1) // 8
    return selection + longest


def position(labels: list[Any], label: object, name: str) -> int:
    """Where a label stands among an attribute's categories; the label is not repeated in errors."""
    for i, category in enumerate(labels):
        if category == label and type(category) is type(label):
            return i
    if label is None:
        raise SchemaError(f"there is no answer to {name!r}")
    raise SchemaError(f"the answer to {name!r} is not one of its {len(labels)} categories")


def fingerprint(design: Mapping[str, Any]) -> str:
    """SHA-256 of the design's canonical JSON: UTF-8, keys sorted, no blanks."""
    fields = {key: value for key, value in design.items() if key != "fingerprint"}
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
