"""The single-record randomizer, on the standard library alone: read it in a minute.

This is what runs on a respondent's device. It takes a published design (its JSON), one true record
and the system's random bytes, and gives the report: nothing else leaves. The bulk randomizer and
the browser's give the same report for the same bytes.

One person reads a fixed number of bytes, whatever she is asked and answers. With several
questionnaires the first draw picks one; then each cluster takes one draw, little-endian. A public
attribute takes none: its answer is sent as it is.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

from mdrr.errors import DesignError, MatrixError, MdrrError, SchemaError
from mdrr.response import Report

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.source import Source

TOTALS = (2**16, 2**32, 2**48)
DEPTHS = {"block": 1, "weights": 2}
"""What a matrix writes as a list, or as a list of lists. All else of it is a single integer."""


def respond(
    record: Mapping[str, Any], design: Design | Mapping[str, Any], source: Source | None = None
) -> Report:
    """Randomize one record under a design (paper, Protocols 1 and 2).

    Arguments:
        record: her true answer to each attribute, `{name: label}`; it is not kept anywhere.
        design: how to randomize: an `mdrr.Design`, or its JSON, parsed.
        source: where the bytes come from; the system's CSPRNG by default.

    Example:
        >>> matrix = {"kind": "constant", "cells": 2, "diagonal": 49152, "off": 16384}
        >>> design = {"mdrr": 1, "attributes": [{"name": "a", "categories": ["no", "yes"]}],
        ...     "questionnaires": [{"weight": 1, "clusters": [
        ...         {"attributes": ["a"], "matrix": matrix}]}]}
        >>> respond({"a": "yes"}, design).codes in ((0,), (1,))
        True
    """
    design = _fields(design, record)
    mark = check(design)
    if not hasattr(record, "get"):
        raise SchemaError(
            "a record is a mapping from names to answers, as in {'smokes': 'no'}, not a "
            f"{type(record).__name__}"
        )
    labels = {a["name"]: a["categories"] for a in design["attributes"]}
    questionnaires = design["questionnaires"]
    needed = record_bytes(design)
    stream = secrets.token_bytes(needed) if source is None else source.read(needed)
    if len(stream) != needed:
        raise MdrrError(f"{needed} random bytes are needed, {len(stream)} were read")
    used = 0

    def uniform(total: int) -> int:
        nonlocal used
        size = draw_bytes(total)
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
    return Report(mark, chosen, tuple(codes))


def _fields(design: Design | Mapping[str, Any], record: object) -> Mapping[str, Any]:
    """A design as its parsed JSON."""
    if isinstance(design, Mapping):
        if "mdrr" not in design and isinstance(record, Mapping) and "mdrr" in record:
            raise DesignError("the record comes first, then the design: respond(record, design)")
        return design
    if not hasattr(design, "to_dict"):
        raise DesignError(
            f"a design is an mdrr.Design or its JSON, parsed, not a {type(design).__name__}"
        )
    return design.to_dict()


def draw(matrix: Mapping[str, Any], cell: int, u: int) -> int:
    """The code reported for a true cell, given u uniform on [0, D)."""
    if matrix["kind"] == "public":
        return cell
    if matrix["kind"] == "constant":
        noise: int = u // matrix["off"]
        return noise if noise < matrix["cells"] else cell
    if matrix["kind"] == "banded":
        width, low = matrix["width"], matrix["low"]
        codes = matrix["cells"] + 2 * width
        if u < codes * low:
            return int(u // low)
        step = (matrix["total"] - codes * low) // (2 * width + 1)
        shift = (u - codes * low) // step
        return int(cell + (shift if shift <= 2 * width else width))
    if matrix["kind"] == "subset":
        codes, block, low = matrix["codes"], matrix["block"], matrix["low"]
        if u < codes * low:
            return int(u // low)
        at = (u - codes * low) // ((matrix["total"] - codes * low) // len(block))
        return int((cell - block[at if at < len(block) else 0]) % codes)
    return bisect_right(list(accumulate(matrix["weights"][cell])), u)


def total_of(matrix: Mapping[str, Any]) -> int:
    """D, the sum of a row's weights: 2^16, 2^32 or 2^48; 1, a draw of no bytes, if public."""
    if matrix["kind"] == "public":
        return 1
    if matrix["kind"] == "constant":
        total: int = matrix["diagonal"] + (matrix["cells"] - 1) * matrix["off"]
        return total
    if matrix["kind"] in ("banded", "subset"):
        return int(matrix["total"])
    return sum(matrix["weights"][0])


def check(design: Mapping[str, Any]) -> str:
    """The design's fingerprint, or an error when it is not as published or its draws are unfair."""
    try:
        return _checked(design)
    except MdrrError:
        raise
    except KeyError as error:
        raise DesignError(f"the design has no {error.args[0]!r}") from None
    except (TypeError, AttributeError, ValueError, IndexError):
        raise DesignError("the design is not as published: it cannot be read") from None


def _checked(design: Mapping[str, Any]) -> str:
    mark = fingerprint(design)
    if "mdrr" not in design:
        raise DesignError("this is not a design: it has no 'mdrr', the version of its format")
    if design["mdrr"] != 1 or design.get("fingerprint", mark) != mark:
        raise DesignError("the design is not as published: its format or fingerprint is another")
    sizes, public = {}, set()
    for attribute in design["attributes"]:
        labels = attribute["categories"]
        if not all(readable(text) for text in (attribute["name"], *labels) if type(text) is str):
            raise SchemaError("a name or category has characters that cannot be shown")
        if attribute["name"] in sizes:
            raise SchemaError(f"the design lists the attribute {attribute['name']!r} twice")
        sizes[attribute["name"]] = len(labels)
        if len({(type(label), label) for label in labels}) < len(labels):
            raise SchemaError(f"{attribute['name']!r} lists a category twice")
        if attribute.get("public", True) is not True:
            raise SchemaError(f"{attribute['name']!r}: 'public' is there only if it is true")
        if "public" in attribute:
            public.add(attribute["name"])
    if len(public) == len(sizes):
        raise DesignError("all attributes are public, so there is nothing to randomize")
    questionnaires = design["questionnaires"]
    for q in questionnaires:
        asked = [name for c in q["clusters"] for name in c["attributes"]]
        empty = not asked or not all(c["attributes"] for c in q["clusters"])
        if empty or len(set(asked)) < len(asked):
            raise DesignError("a questionnaire asks nothing, or an attribute twice")
        exact = [c["attributes"] for c in q["clusters"] if c["matrix"]["kind"] == "public"]
        if sorted(exact) != sorted([name] for name in public):
            raise DesignError("what is reported as it is are not the attributes declared public")
        if type(q["weight"]) is not int or q["weight"] < 1:
            raise DesignError(
                f"a questionnaire's weight is a positive integer, not {q['weight']!r}"
            )
    if not questionnaires:
        raise DesignError("a design needs at least one questionnaire")
    if len(questionnaires) > 1 and sum(q["weight"] for q in questionnaires) not in TOTALS:
        raise DesignError("the questionnaires' weights do not sum to 2^16, 2^32 or 2^48")
    for cluster in (c for q in questionnaires for c in q["clusters"]):
        matrix, cells = cluster["matrix"], prod(sizes.get(n, 0) for n in cluster["attributes"])
        if not all(_whole(v, DEPTHS.get(k, 0)) for k, v in matrix.items() if k != "kind"):
            fits = False
        elif matrix["kind"] == "constant":
            fits = matrix["cells"] == cells and 0 < matrix["off"] < matrix["diagonal"]
        elif matrix["kind"] == "dense":
            rows = matrix["weights"]
            fits = len(rows) == cells and min(map(min, rows)) >= 0
            fits = fits and len({(len(row), sum(row)) for row in rows}) == 1
        elif matrix["kind"] == "banded":
            codes, band = cells + 2 * matrix["width"], 2 * matrix["width"] + 1
            room = matrix["total"] - codes * matrix["low"]
            fits = matrix["cells"] == cells and matrix["low"] > 0 and 0 < band <= room
        elif matrix["kind"] == "subset":
            codes, block = matrix["codes"], matrix["block"]
            room = matrix["total"] - codes * matrix["low"]
            fits = matrix["cells"] == cells <= codes and matrix["low"] > 0
            fits = fits and block == sorted(set(block) & set(range(codes)))
            fits = fits and 0 < len(block) <= room
        elif matrix["kind"] == "public":
            fits = matrix["cells"] == cells
        else:
            raise MatrixError(f"unknown kind of matrix: {matrix['kind']!r}")
        if not fits or (matrix["kind"] != "public" and total_of(matrix) not in TOTALS):
            raise MatrixError(f"the weights for {'+'.join(cluster['attributes'])!r} are not fair")
    return mark


def readable(text: str) -> bool:
    r"""Whether a text has no control characters, line separators or lone surrogates.

    >>> readable("Genève, 東京"), readable("two\nlines"), readable("a\u2028b")
    (True, False, False)
    """
    return not any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in text)


def _whole(value: object, depth: int) -> bool:
    """Whether a value is an integer, or a list (depth 1) or table (depth 2) of such."""
    if depth == 0:
        return type(value) is int
    return isinstance(value, list | tuple) and all(_whole(part, depth - 1) for part in value)


def draw_bytes(total: int) -> int:
    """The bytes of one uniform draw on [0, total).

    >>> [draw_bytes(total) for total in TOTALS]
    [2, 4, 6]
    """
    return (total.bit_length() - 1) // 8


def record_bytes(design: Mapping[str, Any]) -> int:
    """How many random bytes one person uses."""
    asked = design["questionnaires"]
    longest = max(sum(draw_bytes(total_of(c["matrix"])) for c in q["clusters"]) for q in asked)
    return longest + (draw_bytes(sum(q["weight"] for q in asked)) if len(asked) > 1 else 0)


def position(labels: list[Any], label: object, name: str) -> int:
    """Where a label stands among an attribute's categories; the label is not repeated in errors."""
    for i, category in enumerate(labels):
        if category == label and type(category) is type(label):
            return i
    if label is None:
        raise SchemaError(f"there is no answer to {name!r}")
    raise SchemaError(f"the answer to {name!r} is not one of its {len(labels)} categories")


def fingerprint(published: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of a design, or of words: UTF-8, keys sorted, no blanks."""
    fields = {key: value for key, value in published.items() if key != "fingerprint"}
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
