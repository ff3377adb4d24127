"""The page's randomizer is Python's: fingerprints, refusals, ε and the report of every vector."""

import copy
import json
import math
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from mdrr.design import Design
from mdrr.errors import MdrrError
from mdrr.respondent import check
from tests.browser.collector import STATIC
from tests.cases import designs

HERE = Path(__file__).parent
VECTORS = HERE.parents[1] / "vectors"
NAMES = sorted(path.stem for path in VECTORS.glob("*.json") if path.stem != "bad")
GOOD = [json.loads((VECTORS / f"{name}.json").read_text("ascii")) for name in NAMES]
BAD = json.loads((VECTORS / "bad.json").read_text("ascii"))


def in_node(node: str, task: dict, changes: tuple[str, str] = ("", "")):
    """Run a task with the page's modules, one text in the randomizer replaced."""
    right, wrong = changes
    with tempfile.TemporaryDirectory() as folder:
        for path in STATIC.glob("*.js"):
            shutil.copy(path, folder)
        Path(folder, "package.json").write_text('{"type": "module"}', "ascii")
        if right:
            source = Path(folder, "randomize.js").read_text("utf-8")
            assert source.count(right) == 1
            Path(folder, "randomize.js").write_text(source.replace(right, wrong), "utf-8")
        run = subprocess.run(
            [node, str(HERE / "harness.mjs")],
            input=json.dumps({**task, "folder": folder}).encode(),
            capture_output=True,
            timeout=300,
            check=False,
        )
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def in_chromium(page, collector, task: dict):
    """In a page of the collector, under its policy."""
    page.goto(f"{collector.url}/static/form.css")
    tasks = (HERE / "tasks.mjs").read_text("utf-8").replace("export ", "")
    program = """async (task) => {
        const randomizer = await import("/static/randomize.js");
        const risk = await import("/static/risk.js");
        return agree(randomizer, risk, task);
    }"""
    return page.evaluate(f"(task) => {{ {tasks} return ({program})(task); }}", task)


@pytest.fixture(params=["node", "chromium"])
def agree(request):
    """`agree(cases)`: what the page's modules say of them."""
    if request.param == "node":
        node = request.getfixturevalue("node")
        return lambda cases: in_node(node, {"name": "agree", "cases": cases})
    page, collector = map(request.getfixturevalue, ("page", "collector"))
    return lambda cases: in_chromium(page, collector, {"cases": cases})


def test_every_vector_is_reproduced(agree):
    for vector, found in zip(GOOD, agree(GOOD), strict=True):
        assert found["mark"] == vector["fingerprint"]
        assert found["canonical"] == vector["canonical"]
        assert found["bytes"] == vector["record_bytes"]
        assert found["reports"] == [person["report"] for person in vector["people"]]


def test_words_have_the_fingerprint_of_the_vector(node):
    vector = json.loads((VECTORS / "words" / "survey.json").read_text("ascii"))
    found = in_node(node, {"name": "words", "surveys": [vector["survey"]]})
    assert found == {"marks": [vector["fingerprint"]], "texts": [vector["canonical"]]}


def test_what_is_bad_is_refused(agree):
    cases = [
        {**case, "people": [{"record": case["record"], "bytes": "0000"}]}
        if case["kind"] == "record"
        else case
        for case in BAD
    ]
    for case, found in zip(BAD, agree(cases), strict=True):
        if case["kind"] == "design":
            assert "refused" in found, case["why"]
        elif case["kind"] == "record":
            assert "'a'" in found["reports"][0]["refused"]
            assert "'w'" not in found["reports"][0]["refused"], "an answer must not be repeated"
        else:
            assert found["fits"] is False, case["why"]


def test_epsilon_is_that_of_the_integers_and_never_below(node):
    """The page rounds up by a few units in the last place; Python rounds up to the next float."""
    known = [*(Design.from_dict(v["design"]) for v in GOOD), *designs().values()]
    found = in_node(node, {"name": "agree", "cases": [{"design": d.to_dict()} for d in known]})
    for design, said in zip(known, found, strict=True):
        pairs = [(said["epsilon"], design.epsilon)]
        pairs += [
            (mine, q.epsilon)
            for mine, q in zip(said["questionnaires"], design.questionnaires, strict=True)
        ]
        for name in design.domain.names:
            clusters = [c for q in design.questionnaires for c in q.clusters]
            worst = max(c.epsilon for c in clusters if name in c.attributes)
            pairs.append((said["attributes"][name], worst))
        for mine, exact in pairs:
            if math.isinf(exact):
                assert mine == "Infinity"
            else:
                assert exact <= mine <= exact * (1 + 1e-13)


def changed(fields: dict, draw: random.Random) -> dict:
    """A design with one thing replaced, doubled or taken away, anywhere."""
    fields = copy.deepcopy(fields)
    places = []

    def walk(value):
        keys = value.keys() if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk(fields)
    holder, key = draw.choice(places)
    kind = draw.random()
    if kind < 0.1:
        del holder[key]
    elif kind < 0.2 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif kind < 0.5 and type(holder[key]) is int:
        holder[key] += draw.choice([-1, 1, holder[key], 2**16, -(2**16)])
    else:
        values = [0, 1, -1, 2, 2**16, 2**48, 2**60, 0.5, True, False, "", "a", "x", "é\ud800"]
        holder[key] = draw.choice([*values, None, [], {}, [0], {"a": 1}, "public", "dense"])
    return fields


def published(fields: dict) -> bool:
    """Whether a design is written so: reading it and writing it again changes nothing."""
    try:
        written = Design.from_dict(fields).to_dict()
    except MdrrError:
        return False
    return json.dumps(written, sort_keys=True) == json.dumps(fields, sort_keys=True)


def test_changed_designs_are_refused_alike(node):
    """What the page accepts Python's randomizer accepts; what can be published the page accepts."""
    draw = random.Random(15)
    cases = [changed(draw.choice(GOOD)["design"], draw) for _ in range(4000)]
    found = in_node(node, {"name": "agree", "cases": [{"design": each} for each in cases]})
    both = 0
    for fields, said in zip(cases, found, strict=True):
        if "mark" in said:
            assert check(fields) == said["mark"]
            both += 1
        else:
            assert not published(fields), (said, fields)
    assert 100 < both < 3000
