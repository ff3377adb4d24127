"""The single-record randomizer: standard library alone, a fixed number of bytes, no leaks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mdrr.errors import DesignError, MatrixError, MdrrError, SchemaError
from mdrr.respondent import (
    check,
    draw,
    fingerprint,
    readable,
    record_bytes,
    respond,
    total_of,
)
from mdrr.source import BytesSource
from tests.cases import designs, unequal_questionnaires, weights_of
from tests.chance import nothing_else

ALONE = """
import sys, json

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "mdrr"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import mdrr.respondent
matrix = {"kind": "constant", "cells": 2, "diagonal": 49152, "off": 16384}
design = {"mdrr": 1, "attributes": [{"name": "a", "categories": ["no", "yes"]}],
          "questionnaires": [{"weight": 1, "clusters": [{"attributes": ["a"], "matrix": matrix}]}]}
report = mdrr.respondent.respond({"a": "yes"}, design)
print(json.dumps([report.codes[0] in (0, 1), "numpy" in sys.modules, "scipy" in sys.modules]))
"""


class Filled:
    """A source whose bytes are all the same, and which notes how many were asked for."""

    def __init__(self, fill, asked):
        self.fill, self.asked = fill, asked

    def read(self, count):
        self.asked.append(count)
        return bytes([self.fill]) * count


def places(value, path=()):
    """The path to every part of parsed JSON."""
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in steps:
        if key != "fingerprint":
            yield (*path, key)
            if isinstance(part, dict | list):
                yield from places(part, (*path, key))


def test_it_runs_on_the_standard_library_alone():
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, False, False]


@pytest.mark.parametrize("name", designs())
def test_one_read_of_the_same_length_whatever_the_answers(name):
    design = designs()[name]
    fields = json.loads(design.to_json())
    asked = []

    for end in (0, -1):
        record = {a.name: a.categories[end] for a in design.domain.attributes}
        for fill in (0, 255):
            report = respond(record, fields, Filled(fill, asked))
            assert set(report.to_dict()) == {"design", "questionnaire", "codes"}
            assert report.fingerprint == design.fingerprint
            assert respond(record, design, Filled(fill, [])) == report
            report.check(design)
    assert asked == [design.record_bytes] * 4
    assert record_bytes(fields) == design.record_bytes


@pytest.mark.parametrize("name", ["independent", "mixed", "unequal"])
def test_every_draw_falls_where_its_weight_is(name):
    """The draw's breakpoints are the whole function: checked at each, for every true cell."""
    for questionnaire in json.loads(designs()[name].to_json())["questionnaires"]:
        for cluster in questionnaire["clusters"]:
            matrix = cluster["matrix"]
            cells = matrix.get("cells") or len(matrix["weights"])
            for cell in range(cells):
                weights = weights_of(cluster, cell)
                found = [0] * len(weights)
                u = 0
                while u < sum(weights):  # from stretch to stretch
                    code = draw(matrix, cell, u)
                    stop = stretch_end(matrix, cell, u)
                    assert draw(matrix, cell, stop - 1) == code
                    found[code] += stop - u
                    u = stop
                assert found == weights


def stretch_end(matrix, cell, u):
    """The end of the stretch of draws around u, from the definition."""
    edges = [0]
    if matrix["kind"] == "constant":
        edges = [matrix["off"] * k for k in range(matrix["cells"] + 1)]
        edges.append(matrix["diagonal"] + (matrix["cells"] - 1) * matrix["off"])
    else:
        for weight in matrix["weights"][cell]:
            edges.append(edges[-1] + weight)
    return min(edge for edge in edges if edge > u)


def test_the_system_is_the_default_source():
    fields = json.loads(designs()["one"].to_json())
    seen = {respond({"a": "a0"}, fields).codes[0] for _ in range(300)}
    assert seen == {0, 1, 2, 3}  # each is missing with probability below 0.9^300 = 2e-14


def test_nothing_but_the_system_decides_by_default():
    fields = json.loads(designs()["one"].to_json())
    drawn = []
    for _ in range(2):
        with nothing_else():
            drawn.append([respond({"a": "a0"}, fields).codes[0] for _ in range(200)])
    assert drawn[0] != drawn[1]  # equal with probability below (1 − 2·0.1·0.9)^200 = 1e-17


@pytest.mark.parametrize("name", ["mixed", "sampled"])
def test_every_byte_of_a_report_is_the_systems(system, name):
    design = designs()[name]
    record = {a.name: a.categories[0] for a in design.domain.attributes}
    sent = [respond(record, design) for _ in range(50)]
    assert [len(piece) for piece in system.pieces] == [design.record_bytes] * 50
    assert sent == [respond(record, design, BytesSource(piece)) for piece in system.pieces]


def test_only_the_answers_to_what_is_asked_are_needed():
    fields = json.loads(unequal_questionnaires().to_json())
    last = (2**16 - 1).to_bytes(2, "little")
    report = respond({"b": "b1"}, fields, BytesSource(last + bytes(record_bytes(fields) - 2)))
    assert report.questionnaire == 2


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({}, "there is no answer to 'a'"),
        ({"a": None}, "there is no answer to 'a'"),
        ({"a": "secret"}, "the answer to 'a' is not one of its 4 categories"),
        ({"a": 0}, "the answer to 'a' is not one of its 4 categories"),
        ({"a": float("nan")}, "the answer to 'a' is not one of its 4 categories"),
    ],
)
def test_a_bad_record_is_refused_without_repeating_the_answer(record, complaint):
    fields = json.loads(designs()["one"].to_json())
    with pytest.raises(SchemaError) as error:
        respond(record, fields)
    assert str(error.value) == complaint
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("answers", [{"smokes": 1}, {"smokes": 0.0}, {"children": True}])
def test_an_answer_of_another_type_is_refused_even_if_it_compares_equal(answers):
    design = designs()["labels"]
    record = {a.name: a.categories[0] for a in design.domain.attributes}
    respond(record, design)
    with pytest.raises(SchemaError, match="is not one of its"):
        respond(record | answers, design)


def test_a_cluster_of_an_unknown_attribute_is_refused():
    fields = with_matrix({"kind": "constant", "cells": 4, "diagonal": 40960, "off": 8192})
    fields["questionnaires"][0]["clusters"][0]["attributes"].append("z")
    with pytest.raises(MatrixError, match="'a\\+z' are not fair"):
        respond({"a": "a1", "z": "z0"}, fields)


def test_a_design_that_was_changed_is_refused():
    fields = json.loads(designs()["one"].to_json())
    assert check(fields) == fingerprint(fields) == fields["fingerprint"]
    fields["attributes"][0]["categories"][0] = "other"
    with pytest.raises(DesignError, match="not as published"):
        respond({"a": "a1"}, fields)


BAND = {"kind": "banded", "cells": 4, "width": 1, "low": 4000, "total": 2**16}
SETS = {"kind": "subset", "cells": 4, "codes": 7, "block": [1, 2, 4], "low": 4000, "total": 2**16}


def with_matrix(matrix):
    fields = json.loads(designs()["one"].to_json())
    del fields["fingerprint"]
    fields["questionnaires"][0]["clusters"][0]["matrix"] = matrix
    return fields


@pytest.mark.parametrize("matrix", [BAND, SETS], ids=["banded", "subset"])
def test_a_fair_matrix_of_any_kind_is_used(matrix):
    assert respond({"a": "a1"}, with_matrix(matrix), BytesSource(b"\xff\xff")).codes


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        ({"kind": "constant", "cells": 4, "diagonal": 65536, "off": 0}, "'a' are not fair"),
        ({"kind": "constant", "cells": 4, "diagonal": 30000, "off": 10000}, "'a' are not fair"),
        ({"kind": "constant", "cells": 2, "diagonal": 49152, "off": 16384}, "'a' are not fair"),
        ({"kind": "constant", "cells": 4, "diagonal": 16384, "off": 16384}, "'a' are not fair"),
        ({"kind": "dense", "weights": [[65536, 0, 0, 0]] * 3}, "'a' are not fair"),
        (
            {"kind": "dense", "weights": [[65537, -1, 0, 0], *[[65536, 0, 0, 0]] * 3]},
            "'a' are not fair",
        ),
        (
            {"kind": "dense", "weights": [[65536, 65536, 0, 0], *[[65536, 0, 0, 0]] * 3]},
            "'a' are not fair",
        ),
        *(
            (BAND | change, "'a' are not fair")
            for change in (
                {"low": 0},
                {"low": -1},
                {"cells": 5},
                {"total": 60000},
                {"low": 10923},
                {"width": -1},
            )
        ),
        *(
            (SETS | change, "'a' are not fair")
            for change in (
                {"low": 0},
                {"low": -1},
                {"cells": 5},
                {"total": 60000},
                {"low": 9362},
                {"codes": 3},
                {"block": []},
                {"block": [1, 2, 7]},
                {"block": [2, 1, 4]},
                {"block": [1, 1, 2]},
                {"block": 1},
                {"codes": [[]], "low": 2**40},  # no list of 2^40 lists is made
            )
        ),
        ({"kind": "other"}, "unknown kind of matrix: 'other'"),
    ],
)
def test_an_unfair_matrix_is_refused(matrix, complaint):
    with pytest.raises(MatrixError) as error:
        respond({"a": "a1"}, with_matrix(matrix))
    assert complaint in str(error.value)
    assert isinstance(error.value, MdrrError)


@pytest.mark.parametrize("given", [b"", b"\0"])
def test_too_few_random_bytes_are_refused(given):
    class Short:
        def read(self, count):
            return given

    with pytest.raises(MdrrError, match="random bytes are needed"):
        respond({"a": "a0"}, designs()["one"], Short())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(questionnaires=[]), "at least one questionnaire"),
        (lambda d: d["questionnaires"][0].update(clusters=[]), "asks nothing"),
        (
            lambda d: d["questionnaires"][0]["clusters"].append(
                d["questionnaires"][0]["clusters"][0]
            ),
            "twice",
        ),
        (lambda d: d["questionnaires"][0].update(weight=-1), "positive integer"),
        (lambda d: d["questionnaires"][0].update(weight=1.0), "positive integer"),
    ],
)
def test_a_questionnaire_that_cannot_be_is_refused(change, says):
    design = json.loads(designs()["one"].to_json())
    design.pop("fingerprint", None)
    change(design)
    with pytest.raises(DesignError, match=says):
        respond({"a": "a0"}, design)


def test_a_design_must_be_parsed_json():
    with pytest.raises(DesignError, match="parsed"):
        respond({"a": "a0"}, "{}")
    with pytest.raises(DesignError, match=r"the record comes first"):
        respond(json.loads(designs()["one"].to_json()), {"a": "a0"})


@pytest.mark.parametrize("name", ["ordered", "subsets", "unequal"])
@pytest.mark.parametrize("value", [None, "drop", 1.5, "x", [], {}, [[]], -1], ids=repr)
def test_a_malformed_design_is_one_clear_error(name, value):
    """Whatever part of a design is missing or of another type, the error is one of ours."""
    published = designs()[name]
    record = {a.name: a.categories[0] for a in published.domain.attributes}
    refused = 0
    for path in places(json.loads(published.to_json())):
        design = json.loads(published.to_json())
        del design["fingerprint"]
        place = design
        for key in path[:-1]:
            place = place[key]
        if value == "drop":
            del place[path[-1]]
        else:
            place[path[-1]] = value
        try:
            report = respond(record, design)
        except MdrrError:  # and no other
            refused += 1
        else:  # what the randomizer does not use: a kind, edges, another label
            assert all(type(code) is int for code in report.codes), path
    assert refused > 20


@pytest.mark.parametrize("record", [None, [], "no", 3])
def test_a_record_that_is_no_mapping_is_refused(record):
    design = designs()["one"]
    with pytest.raises(SchemaError, match="a record is a mapping from names to answers"):
        respond(record, design)


def test_a_design_whose_name_breaks_the_line_is_refused():
    fields = designs()["one"].to_dict()
    name = "a\u2028b"
    fields["attributes"][0]["name"] = name
    fields["questionnaires"][0]["clusters"][0]["attributes"] = [name]
    with pytest.raises(SchemaError, match="characters that cannot be shown"):
        check(fields)


def test_a_single_questionnaire_takes_no_bytes_to_choose_whatever_its_weight():
    path = Path(__file__).resolve().parents[1] / "vectors" / "constant-16.json"
    vector = json.loads(path.read_text("ascii"))
    fields = json.loads(json.dumps(vector["design"]))
    fields.pop("fingerprint", None)
    fields["questionnaires"][0]["weight"] = 2**16
    assert record_bytes(fields) == vector["record_bytes"]
    for person in vector["people"]:
        source = BytesSource(bytes.fromhex(person["bytes"]))
        found = respond(person["record"], fields, source)
        assert list(found.codes) == person["report"]["codes"]


def test_nothing_is_drawn_for_what_is_public():
    assert total_of({"kind": "public", "cells": 3}) == 1


def test_an_attribute_may_be_called_like_the_format():
    matrix = {"kind": "constant", "cells": 2, "diagonal": 49152, "off": 16384}
    cluster = {"attributes": ["mdrr"], "matrix": matrix}
    fields = {
        "mdrr": 1,
        "attributes": [{"name": "mdrr", "kind": "nominal", "categories": ["no", "yes"]}],
        "questionnaires": [{"weight": 1, "clusters": [cluster]}],
    }
    assert respond({"mdrr": "yes"}, fields, BytesSource(b"\xff\xff")).codes == (1,)


@pytest.mark.parametrize(
    "matrix",
    [
        BAND | {"low": 10_000},
        BAND | {"low": 1},
        BAND | {"cells": 5, "width": 0, "low": 13_107},  # one unit is left, for a band of one
        BAND | {"cells": 5, "width": 3, "low": 5_957},  # 9 units for a band of 7
        SETS | {"low": 1},
        SETS | {"codes": 4, "block": [1]},
        SETS | {"block": [1, 2], "low": 9_362},  # 2 units for a block of 2
    ],
)
def test_weights_at_the_limits_are_fair(matrix):
    labels = [str(i) for i in range(matrix["cells"])]
    fields = {
        "mdrr": 1,
        "attributes": [{"name": "a", "kind": "ordinal", "categories": labels}],
        "questionnaires": [{"weight": 1, "clusters": [{"attributes": ["a"], "matrix": matrix}]}],
    }
    assert check(fields) == fingerprint(fields)


@pytest.mark.parametrize("text", ["two\nlines", "\ud800", "a\u2028b", "a\u2029b"], ids=range(4))
def test_a_text_that_cannot_be_shown_is_known(text):
    assert not readable(text)
    assert readable("Genève, 東京")
