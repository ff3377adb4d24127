"""Small faults in the page's randomizer, one at a time: the vectors must show each of them.

mutmut, which `make mutants` runs, changes Python alone. These are the changes it would make to the
lines of randomize.js that draw a report or refuse an unfair design.
"""

import pytest

from tests.browser.collector import STATIC
from tests.browser.test_randomize import BAD, GOOD, in_node

DRAWING = [
    ("chosen, bytes.subarray(used)", "chosen, bytes.subarray(0)"),
    ("if (used === 0) return", "if (used !== 0) return"),
    ("stretch(weights, integer(bytes, 0, used))", "stretch(weights, integer(bytes, 1, used))"),
    ("bytes.length !== needed", "bytes.length === needed"),
    ("at * labels.get(name).length + position", "at + position"),
    ("at * labels.get(name).length + position", "at * labels.get(name).length - position"),
    ("record, name), 0);", "record, name), 1);"),
    ("used += size;", "used = size;"),
    ("integer(bytes, used - size, size)", "integer(bytes, used, size)"),
    ('if (matrix.kind === "public") return cell;', 'if (matrix.kind === "public") return 0;'),
    ("noise < matrix.cells ? noise : cell", "noise <= matrix.cells ? noise : cell"),
    ("noise < matrix.cells ? noise : cell", "noise < matrix.cells ? cell : noise"),
    ("stretch(matrix.weights[cell], u)", "stretch(matrix.weights[0], u)"),
    ("if (u < codes * low)", "if (u <= codes * low)"),
    ("if (u < codes * low)", "if (u < (codes + 1) * low)"),
    ("quotient(u - codes * low, quotient", "quotient(u, quotient"),
    ("quotient(total - codes * low, size)", "quotient(total, size)"),
    ("quotient(total - codes * low, size)", "quotient(total - codes * low, size + 1)"),
    ("place < size ? place : middle", "place <= size ? place : middle"),
    ("place < size ? place : middle", "place < size - 1 ? place : middle"),
    ("codes: cells + 2 * width", "codes: cells + width"),
    ("size: 2 * width + 1", "size: 2 * width"),
    ("middle: width,", "middle: 0,"),
    ("(cell, place) => cell + place }", "(cell, place) => cell - place }"),
    ("(cell - block[place] + codes) % codes", "(cell + block[place]) % codes"),
    ("(cell - block[place] + codes) % codes", "cell - block[place] + codes"),
    ("size: block.length, middle: 0", "size: block.length, middle: 1"),
    ("return choiceBytes(design) + Math.max(...sizes);", "return Math.max(...sizes);"),
    ("Math.max(...sizes)", "Math.min(...sizes)"),
    ("weights.length > 1 ?", "weights.length > 2 ?"),
    ("2 * (TOTALS.indexOf(total) + 1)", "2 * TOTALS.indexOf(total)"),
    ("value * 256 + bytes[start + i]", "value * 255 + bytes[start + i]"),
    ("value * 256 + bytes[start + i]", "value * 256 + bytes[start + size - 1 - i]"),
    ("for (let i = size - 1; i >= 0; i--)", "for (let i = size - 1; i > 0; i--)"),
    ("for (let i = size - 1; i >= 0; i--)", "for (let i = size - 2; i >= 0; i--)"),
    ("(u - (u % by)) / by", "u / by"),
    ("(u - (u % by)) / by", "Math.round(u / by)"),
    ("if (u < end) return i;", "if (u <= end) return i;"),
    ("end += weights[i];", "end = weights[i];"),
    ("label === answer", "label == answer"),
    ("if (at >= 0) return at;", "if (at > 0) return at;"),
]
CHECKING = [
    ("design.mdrr !== 1", "design.mdrr === undefined"),
    ("design.fingerprint !== mark)", "design.fingerprint === mark)"),
    ("sort(byCodePoint)", "sort().reverse()"),
    ("|| attributes.has(name)", ""),
    ("|| !readable(String(text))", ""),
    ("new Set(categories).size < categories.length", "false"),
    ("questionnaires.length > 1 && !TOTALS", "questionnaires.length > 9 && !TOTALS"),
    ("|| new Set(asked).size < asked.length", ""),
    ("|| q.weight < 1", ""),
    ("attribute.public === true && !asked.includes(name)", "false"),
    ('open !== (matrix.kind === "public")', "false"),
    ("|| (open && names.length > 1)", ""),
    ("(cells, a) => cells * a.categories.length, 1)", "(cells, a) => cells, matrix.cells)"),
    ("if (!numbers.every(whole) || cells < 1)", "if (cells < 1)"),
    ('matrix.kind !== "dense" && matrix.cells !== cells', "false"),
    ("return 0 < matrix.off &&", "return 0 <= matrix.off &&"),
    ("matrix.off < matrix.diagonal", "matrix.off <= matrix.diagonal"),
    ("matrix.off < matrix.diagonal && TOTALS.includes(Number(sum))", "true"),
    ("rows.length === cells && TOTALS", "TOTALS"),
    ("rows.length === cells && TOTALS.includes(Number(total(rows[0])))", "true"),
    ("row.length === rows[0].length && total", "total"),
    ("&& total(row) === total(rows[0])", ""),
    ("weight >= 0)", "true)"),
    ("shift > (i ? block[i - 1] : -1)", "true"),
    ("shift > (i ? block[i - 1] : -1)", "shift >= (i ? block[i - 1] : -1)"),
    ("&& shift < codes)", ")"),
    ("|| cells > codes)", ")"),
    ("return matrix.low > 0 && 0 < size", "return 0 < size"),
    ("BigInt(size) <= room", "true"),
    ("&& TOTALS.includes(matrix.total);", ";"),
    ("if (report.design !== mark ||", "if ("),
    ("sent.length === clusters.length &&", ""),
    ("code >= 0 && code < outcomes", "code < outcomes"),
    ("code < outcomes(clusters[i].matrix)", "code <= outcomes(clusters[i].matrix)"),
]


def right(found: list[dict]) -> bool:
    """Whether the good vectors are reproduced and the bad ones refused."""
    for vector, said in zip(GOOD, found, strict=False):
        expected = (
            vector["fingerprint"],
            vector["canonical"],
            vector["record_bytes"],
            [person["report"] for person in vector["people"]],
        )
        if tuple(said.get(k) for k in ("mark", "canonical", "bytes", "reports")) != expected:
            return False
    for case, said in zip(BAD, found[len(GOOD) :], strict=True):
        if case["kind"] == "design" and "refused" not in said:
            return False
        if case["kind"] == "record" and "refused" not in said["reports"][0]:
            return False
        if case["kind"] not in ("design", "record") and said["fits"] is not False:
            return False
    return True


def vectors(node: str, changes: tuple[str, str]) -> bool:
    """Whether the page's randomizer, changed so, agrees with every vector."""
    bad = [
        {**c, "people": [{"record": c["record"], "bytes": "0000"}]} if c["kind"] == "record" else c
        for c in BAD
    ]
    return right(in_node(node, {"name": "agree", "cases": [*GOOD, *bad]}, changes))


def test_unchanged_it_agrees(node):
    assert vectors(node, ("", ""))


@pytest.mark.parametrize("change", [*DRAWING, *CHECKING], ids=" → ".join)
def test_a_fault_is_noticed(change, node):
    """By a difference, or because the changed module fails."""
    assert (STATIC / "randomize.js").read_text("utf-8").count(change[0]) == 1
    try:
        agrees = vectors(node, change)
    except AssertionError:  # Node ended with an error
        agrees = False
    assert not agrees
