"""Write the test vectors that every implementation of the randomizer must reproduce.

    python -m scripts.make_vectors [FOLDER]

Each file of `vectors/` has a design, its canonical text and fingerprint, and people: a true record,
the random bytes she draws (hex) and the report they must give. `bad.json` has what must be refused.
Everything is text, booleans and integers below 2^53.

The answers are computed here from the definition, by walking along the weights, and with a JSON
writer of its own: not with the library, which is tested against them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from scripts.vector_designs import (
    LETTERS,
    Fields,
    cluster,
    constant,
    design,
    designs,
    exact,
    nominal,
    subset,
)

FOLDER = Path(__file__).resolve().parents[1] / "vectors"


def row(matrix: Fields, cell: int) -> list[tuple[int, int]]:
    """(code, weight) along the draws: the definition of every kind of matrix."""
    if matrix["kind"] == "dense":
        return list(enumerate(matrix["weights"][cell]))
    if matrix["kind"] == "public":
        return [(cell, 1)]
    if matrix["kind"] in ("banded", "subset"):
        if matrix["kind"] == "banded":
            band = 2 * matrix["width"] + 1
            codes = matrix["cells"] + 2 * matrix["width"]
            held = [cell + i for i in range(band)]
            middle = cell + matrix["width"]
        else:
            codes = matrix["codes"]
            held = [(cell - shift) % codes for shift in matrix["block"]]
            middle = held[0]
        step, left = divmod(matrix["total"] - codes * matrix["low"], len(held))
        low = [(code, matrix["low"]) for code in range(codes)]
        return [*low, *((code, step) for code in held), (middle, left)]
    spread = [(code, matrix["off"]) for code in range(matrix["cells"])]
    return [*spread, (cell, matrix["diagonal"] - matrix["off"])]


def total(matrix: Fields) -> int:
    """D, the sum of a row."""
    return sum(weight for _, weight in row(matrix, 0))


def width(size: int) -> int:
    """Bytes of a draw below 2^16, 2^32 or 2^48; none below 1."""
    return {1: 0, 2**16: 2, 2**32: 4, 2**48: 6}[size]


def walk(pairs: list[tuple[int, int]], u: int) -> int:
    """The code in whose stretch u lies, stretches laid end to end."""
    for code, weight in pairs:
        if u < weight:
            return code
        u -= weight
    raise AssertionError("a draw beyond the total")


def report(fields: Fields, codes: dict[str, int], stream: bytes) -> Fields:
    """What a person with these true codes and bytes sends."""
    sizes = {a["name"]: len(a["categories"]) for a in fields["attributes"]}
    at = 0

    def draw(size: int) -> int:
        nonlocal at
        digits = stream[at : at + width(size)]
        at += width(size)
        return sum(digit * 256**i for i, digit in enumerate(digits))

    chosen = 0
    questionnaires = fields["questionnaires"]
    if len(questionnaires) > 1:
        weights = [q["weight"] for q in questionnaires]
        chosen = walk(list(enumerate(weights)), draw(sum(weights)))
    sent = []
    for part in questionnaires[chosen]["clusters"]:
        cell = 0
        for name in part["attributes"]:
            cell = cell * sizes[name] + codes[name]
        sent.append(walk(row(part["matrix"], cell), draw(total(part["matrix"]))))
    return {"design": digest(fields), "questionnaire": chosen, "codes": sent}


def record_bytes(fields: Fields) -> int:
    """The bytes one person draws."""
    questionnaires = fields["questionnaires"]
    longest = max(sum(width(total(c["matrix"])) for c in q["clusters"]) for q in questionnaires)
    first = width(sum(q["weight"] for q in questionnaires)) if len(questionnaires) > 1 else 0
    return first + longest


def canonical(value: Any) -> str:
    """JSON with keys in order and no blanks, only what must be escaped escaped."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(k)}:{canonical(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(escaped(character) for character in value) + '"'


def escaped(character: str) -> str:
    """A character within a JSON text."""
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r"}
    short["\t"] = "\\t"
    if character in short:
        return short[character]
    return f"\\u{ord(character):04x}" if ord(character) < 32 else character


def digest(fields: Fields) -> str:
    """The fingerprint: SHA-256 of the canonical text."""
    return hashlib.sha256(canonical(fields).encode()).hexdigest()


def streams(fields: Fields, name: str) -> list[tuple[bytes, dict[str, int]]]:
    """Bytes that hit every boundary of every draw, with true codes where those matter, and more.

    A dense matrix has boundaries in every row, so its draws come with the row's true codes.
    """
    sizes = {a["name"]: len(a["categories"]) for a in fields["attributes"]}
    length = record_bytes(fields)
    questionnaires = fields["questionnaires"]
    starts: list[tuple[bytes, dict[str, int]]] = []
    used = 0
    for q in questionnaires:
        prefix = b""
        if len(questionnaires) > 1:
            size = sum(other["weight"] for other in questionnaires)
            prefix = used.to_bytes(width(size), "little")
            starts += [(prefix, {}), ((used + q["weight"] - 1).to_bytes(width(size), "little"), {})]
            used += q["weight"]
        for part in q["clusters"]:
            size = total(part["matrix"])
            dense = part["matrix"]["kind"] == "dense"
            for cell in range(len(part["matrix"]["weights"]) if dense else 1):
                codes = unravel(cell, part["attributes"], sizes) if dense else {}
                edge = 0
                for _, weight in row(part["matrix"], cell):
                    for u in (edge - 1, edge):
                        if 0 <= u < size:
                            starts.append((prefix + u.to_bytes(width(size), "little"), codes))
                    edge += weight
            prefix += (size - 1).to_bytes(width(size), "little")
    found = [(bytes(length), {}), (b"\xff" * length, {})]
    found += [((start + bytes(length))[:length], codes) for start, codes in starts]
    for i in range(40):
        blocks = b"".join(hashlib.sha256(f"{name} {i} {j}".encode()).digest() for j in range(3))
        found.append((blocks[:length], {}))
    return [pair for i, pair in enumerate(found) if pair not in found[:i]]


def unravel(cell: int, names: list[str], sizes: dict[str, int]) -> dict[str, int]:
    """The codes of a cell, the first attribute most significant."""
    codes = {}
    for name in reversed(names):
        cell, codes[name] = divmod(cell, sizes[name])
    return codes


def vector(name: str, fields: Fields) -> Fields:
    """One file: a design and what its people must send."""
    people = []
    for i, (stream, fixed) in enumerate(streams(fields, name)):
        codes = {
            a["name"]: fixed.get(a["name"], (i * (j + 1) + i // 3) % len(a["categories"]))
            for j, a in enumerate(fields["attributes"])
        }
        record = {a["name"]: a["categories"][codes[a["name"]]] for a in fields["attributes"]}
        people.append(
            {
                "record": record,
                "bytes": stream.hex(),
                "report": report(fields, codes, stream),
            }
        )
    return {
        "design": fields,
        "canonical": canonical(fields),
        "fingerprint": digest(fields),
        "record_bytes": record_bytes(fields),
        "people": people,
    }


def changed(fields: Fields, value: Any, *path: str | int) -> Fields:
    """A copy with one field replaced."""
    copy: Fields = json.loads(json.dumps(fields))
    place: Any = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


def bad() -> list[Fields]:
    """What must be refused: a design that is none, a record or a report that does not fit one."""
    good = designs()["constant-16"]
    signed = {"fingerprint": digest(good), **good}
    matrix = ("questionnaires", 0, "clusters", 0, "matrix")
    dense = designs()["dense"]
    sent = {"design": digest(good), "questionnaire": 0, "codes": [1]}
    bad_designs = {
        "fingerprint of another design": {**signed, "fingerprint": digest(dense)},
        "a category changed after publishing": changed(
            signed, "w", "attributes", 0, "categories", 2
        ),
        "the diagonal changed after publishing": changed(signed, constant(3, 6000, 2**16), *matrix),
        "weights that sum to 65535": changed(good, 51535, *matrix, "diagonal"),
        "weights that sum to 65537": changed(good, 51537, *matrix, "diagonal"),
        "a band that leaves no weight": changed(designs()["banded"], 11_000, *matrix, "low"),
        "a band that betrays": changed(designs()["banded"], 0, *matrix, "low"),
        "a block out of order": changed(designs()["subset"], [2, 1, 4], *matrix, "block"),
        "a block beyond its codes": changed(designs()["subset"], [1, 2, 7], *matrix, "block"),
        "a dense row that sums to less": changed(dense, [1, 65533, 1], *matrix, "weights", 1),
        "a dense row with a negative weight": changed(dense, [-1, 65536, 1], *matrix, "weights", 1),
        "off of 0": changed(good, constant(3, 0, 2**16), *matrix),
        "a negative off": changed(good, constant(3, -1, 2**16), *matrix),
        "a diagonal below the rest": changed(good, constant(3, 30000, 2**16), *matrix),
        "an unknown kind of matrix": changed(good, "quantum", *matrix, "kind"),
        "more cells than combinations": changed(good, constant(4, 7000, 2**16), *matrix),
        "questionnaire weights that sum to 2^16 + 1": design(
            LETTERS,
            (2**15 + 1, good["questionnaires"][0]["clusters"]),
            (2**15, good["questionnaires"][0]["clusters"]),
        ),
        "an unknown format": changed(good, 2, "mdrr"),
        "an unknown attribute in a cluster": changed(
            good, ["b"], "questionnaires", 0, "clusters", 0, "attributes"
        ),
        "a control character in a category": changed(
            good, ["x", "y", "z\u0000"], "attributes", 0, "categories"
        ),
        "a line separator in a name": design(
            [{**LETTERS[0], "name": "a\u2028"}],
            (1, [{**good["questionnaires"][0]["clusters"][0], "attributes": ["a\u2028"]}]),
        ),
        "dense rows of unlike length": changed(dense, [65534, 2], *matrix, "weights", 1),
        "a category twice": changed(good, ["x", "y", "x"], "attributes", 0, "categories"),
    }
    shown = designs()["public"]
    first, second = (q["clusters"] for q in shown["questionnaires"])
    halves = 2**15, 2**15
    bad_designs |= {
        "a public attribute that is randomized": changed(shown, constant(3, 7000, 2**16), *matrix),
        "a secret that is reported as it is": changed(good, exact(3), *matrix),
        "two attributes in one public cluster": design(
            shown["attributes"], (1, [cluster(["region", "wave"], exact(6)), *first[1:2]])
        ),
        "a public attribute not in every questionnaire": design(
            shown["attributes"], *zip(halves, (first, second[1:]), strict=True)
        ),
        "a public matrix with another number of cells": changed(shown, exact(4), *matrix),
        "nothing but public attributes": design(
            [{**LETTERS[0], "public": True}], (1, [cluster(["a"], exact(3))])
        ),
        "public that is false": changed(good, False, "attributes", 0, "public"),
        "public that is a number": changed(shown, 1, "attributes", 0, "public"),
    }
    asked = good["questionnaires"][0]["clusters"]
    rows = dense["questionnaires"][0]["clusters"][0]["matrix"]["weights"]
    bad_designs |= {
        "an attribute twice": design([*LETTERS, *LETTERS], (1, asked)),
        "an attribute asked twice": design(LETTERS, (1, [*asked, *asked])),
        "a questionnaire that nobody gets": design(LETTERS, (0, asked), (2**16, asked)),
        "a weight that is text": changed(good, "7000", *matrix, "off"),
        "a diagonal like the rest": design(
            [nominal("a", 2)], (1, [cluster(["a"], constant(2, 2**15, 2**16))])
        ),
        "a dense row too few": changed(dense, rows[:-1], *matrix, "weights"),
        "dense rows that sum to 65535": changed(dense, [[65533, 1, 1]] * 3, *matrix, "weights"),
        "a block with a shift twice": changed(designs()["subset"], [1, 1, 4], *matrix, "block"),
        "more cells than codes": design(
            [nominal("a", 4)], (1, [cluster(["a"], subset(4, 3, [0, 1], 6000, 2**16))])
        ),
        "a band whose total is 65537": changed(designs()["banded"], 65537, *matrix, "total"),
    }
    bad_records: dict[str, Fields] = {
        "an unknown category": {"a": "w"},
        "another type": {"a": 0},
        "no answer": {},
        "null": {"a": None},
        "a list of a category": {"a": ["x"]},
    }
    bad_reports = {
        "another design": {**sent, "design": digest(dense)},
        "an unknown questionnaire": {**sent, "questionnaire": 1},
        "a negative questionnaire": {**sent, "questionnaire": -1},
        "a code out of range": {**sent, "codes": [3]},
        "a negative code": {**sent, "codes": [-1]},
        "too few codes": {**sent, "codes": []},
        "too many codes": {**sent, "codes": [1, 1]},
        "a code that is text": {**sent, "codes": ["1"]},
        "a code that is a boolean": {**sent, "codes": [True]},
        "no questionnaire": {key: sent[key] for key in ("design", "codes")},
        "more than a report holds": {**sent, "answers": ["x"]},
    }
    return [
        *({"why": why, "kind": "design", "design": d} for why, d in bad_designs.items()),
        *(
            {"why": why, "kind": "record", "design": good, "record": r}
            for why, r in bad_records.items()
        ),
        *(
            {"why": why, "kind": "report", "design": good, "report": r}
            for why, r in bad_reports.items()
        ),
    ]


def words() -> Fields:
    """A survey's words in three languages, with everything that JSON escapes; no design is like it.

    The first categories are integers with one that stands for no answer, the second are booleans.
    """
    languages = ["en", "pt-BR", "ar"]

    def said(*spoken: str) -> Fields:
        return dict(zip(languages, spoken, strict=True))

    blank = said("", "", "")
    survey = {
        "languages": languages,
        "title": said('Health, "2026"', "Saúde \\ 2026", "الصحة"),
        "introduction": said("Five minutes.\n\nThank you.\t\u0007", "\r\n", "\u2028\u00a0"),
        "purpose": blank,
        "consent": said("</script><b>&", "é e\u0301", "🦔"),
        "retention": blank,
        "contact": blank,
        "questions": [
            {
                "name": "children",
                "text": said("How many?", "Quantos?", "كم؟"),
                "labels": [said(label, label, label) for label in ("none", "one", "\u007f")],
                "kind": "ordinal",
                "missing": -5,
                "public": False,
            },
            {
                "name": "smokes",
                "text": said("Do you smoke?", "Fuma?", "هل تدخن؟"),
                "labels": [said("No", "Não", "لا"), said("Yes", "Sim", "نعم")],
                "kind": "nominal",
                "missing": None,
                "public": True,
            },
        ],
    }
    return {"survey": survey, "canonical": canonical(survey), "fingerprint": digest(survey)}


def texts() -> dict[str, str]:
    """The files, by name."""
    found: dict[str, Any] = {f"{name}.json": vector(name, d) for name, d in designs().items()}
    found["bad.json"] = bad()
    found["words/survey.json"] = words()
    return {
        name: json.dumps(value, ensure_ascii=True, indent=1) + "\n" for name, value in found.items()
    }


def main(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="ascii")
        print(f"{folder / name}: {len(text):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
