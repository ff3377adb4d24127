"""The audit as a whole: all randomizers, what is missing, planted faults, the certificate."""

import json
import os
import re
import shutil
import sys
from dataclasses import replace
from importlib import metadata

import pytest

import mdrr
from mdrr.auditing import RANDOMIZERS, Check, audit, origin, planted
from mdrr.auditing.platforms import in_node
from mdrr.cli.promises import _RANDOMIZERS
from mdrr.errors import MdrrError
from mdrr.protocols import independent
from tests.cases import domain_of

DESIGN = independent(domain_of(2, 3), epsilon=1.0)
SURE = 1 - 1e-9
PYTHON = ("single", "bulk")


@pytest.fixture(scope="module")
def found():
    return audit(DESIGN, n=2_000, confidence=SURE, randomizers=PYTHON)


def test_every_part_of_every_randomizer_passes(found):
    (audited,) = found.designs
    assert [(c.part, c.randomizer, c.passed) for c in audited.checks] == [
        (part, name, True) for name in PYTHON for part in ("exact", "empirical")
    ]
    assert [(c.part, c.randomizer, c.passed) for c in found.provenance] == [
        ("provenance", name, True) for name in PYTHON
    ]
    assert found.passed is found.complete is True
    assert audited.fingerprint == DESIGN.fingerprint
    assert audited.checks[0].epsilon == audited.epsilon == DESIGN.epsilon
    assert found.version == metadata.version("mdrr")
    assert (found.n, found.confidence) == (2_000, SURE)
    assert mdrr.audit is audit


def test_without_a_design_the_built_in_ones_are_audited_under_node():
    if shutil.which("node") is None and os.environ.get("CI") != "true":
        pytest.skip("node is missing: apt-get install nodejs")
    told = []
    found = audit(n=1_000, confidence=SURE, randomizers=["browser"], progress=told.append)
    assert [each.name for each in found.designs] == ["every kind of matrix", "questionnaires drawn"]
    assert found.passed is found.complete is True
    assert len(found.checks) == 5
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert "Node.js" in found.platform


def test_what_is_missing_is_not_audited(monkeypatch):
    monkeypatch.setattr("mdrr.auditing.platforms.shutil.which", lambda name: None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    found = audit(DESIGN, n=1_000, confidence=SURE, randomizers=["bulk", "browser", "spark"])
    away = [c for c in found.checks if c.passed is None]
    assert [(c.part, c.randomizer) for c in away] == [
        ("exact", "browser"),
        ("empirical", "browser"),
        ("empirical", "spark"),
        ("provenance", "browser"),
        ("provenance", "spark"),
    ]
    assert all(c.looked_at.startswith("not audited: ") for c in away)
    assert "Node.js is not installed" in away[0].looked_at
    assert "pyspark is not installed. Run: pip install 'mdrr[spark]'" in away[2].looked_at
    assert found.passed is True
    assert found.complete is False
    with pytest.raises(MdrrError, match="is not installed"):
        in_node({"name": "version"})


def test_without_java_spark_is_not_audited(monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setattr("mdrr.auditing.platforms.shutil.which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    (check, _) = audit(DESIGN, n=1_000, randomizers=["spark"]).checks
    assert check.looked_at == "not audited: Java is not installed. Spark needs Java 17 or later"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": 99}, "n=99 must be a whole number, at least 100"),
        ({"confidence": 1}, "between 0 and 1"),
        ({"confidence": "x"}, "between 0 and 1"),
        ({"randomizers": ["sigle"]}, "Did you mean 'single'"),
        ({"randomizers": []}, "at least one randomizer"),
        ({"design": {}}, "an audit is of an mdrr.Design, not of a dict"),
    ],
)
def test_bad_input_is_refused(options, said):
    with pytest.raises(MdrrError, match=re.escape(said)):
        audit(**({"design": DESIGN} | options))


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize("fault", planted.OBSERVED)
def test_bytes_that_are_not_the_systems_are_found(name, fault):
    found = origin.provenance(name, planted.OBSERVED[fault])
    assert found.passed is False
    assert "no byte was read from the system" in found.findings
    assert any("decide" in each for each in found.findings)


USED = """
def fill(self, room): memoryview(room)[:] = read(len(room))
mdrr.respondent.secrets = types.SimpleNamespace(token_bytes=read)
mdrr.source.SystemSource.fill = fill
"""
MIXED = """
import random, os, time, types, mdrr.respondent, mdrr.source
def read(*given):
    clock = random.Random(time.time_ns()).randbytes(given[-1])
    return bytes(a ^ b for a, b in zip(os.urandom(given[-1]), clock))
"""
FEW = """
import os, hashlib, types, mdrr.respondent, mdrr.source
def read(*given): return hashlib.shake_256(os.urandom(4)).digest(given[-1])
"""


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize(
    ("program", "said"),
    [(MIXED + USED, "more than they decide"), (FEW + USED, "4 bytes were read where")],
)
def test_bytes_that_are_not_only_the_systems_or_too_few_are_found(name, program, said):
    found = origin.provenance(name, program)
    assert [said in each for each in found.findings] == [True]


def test_a_page_that_draws_otherwise_is_found():
    if shutil.which("node") is None and os.environ.get("CI") != "true":
        pytest.skip("node is missing: apt-get install nodejs")
    assert origin.provenance("browser").passed is True
    found = origin.provenance("browser", edit=planted.MATH_RANDOM)
    assert "no byte was read from the system" in found.findings


@pytest.mark.slow
def test_planted_faults_are_found_by_the_part_meant():
    told = []
    found = planted.self_test(PYTHON, 20_000, 1e-5, told.append)
    assert [each.fault for each in found if not each.passed] == []
    assert {each.part for each in found} == {"exact", "empirical", "provenance"}
    sampled = [each for each in found if each.part == "empirical"]
    assert sampled[0].sound
    assert all(each.power > 0.75 for each in sampled[1:])
    assert told == sorted(told)


def test_a_fault_that_is_missed_fails_the_self_test():
    checks = [Check("empirical", "bulk", True, "")] * 10
    checks += [Check("empirical", "bulk", False, "", ("wrong",))] * 20
    found = planted._planted("a fault", "bulk", checks, "wrong")
    assert (found.found, found.runs, found.passed) == (20, 30, False)
    assert 0.4 < found.power < 20 / 30
    other = planted._planted("a fault", "bulk", checks, "another finding")
    assert (other.found, other.power) == (0, 0.0)


def test_an_audit_that_misses_planted_faults_says_that_it_is_weak(found):
    missed = planted.Planted("a fault", "empirical", "bulk", 30, 20, 0.5)
    weak = replace(found, planted=(missed,))
    assert weak.passed is False
    assert weak.verdict.startswith("The audit missed faults that were planted")
    assert found.verdict == "Nothing wrong was found."


def test_the_json_is_json(found):
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


def test_the_certificate_says_what_was_audited_and_what_not(found, tmp_path):
    page = found.certificate(tmp_path / "certificate.html").read_text("utf-8")
    text = " ".join(re.sub(r"<[^>]*>", " ", page.partition("</style>")[2]).split())
    for said in (
        *("Nothing wrong was found.", DESIGN.fingerprint, "2,000", "99.9999999 %"),
        *(metadata.version("mdrr"), f"ε = {DESIGN.epsilon:.4f}", "one record, Python"),
        *("cannot prove that ε is kept", "Side channels are not looked at"),
        "The randomizer of the page that respondents open in a browser was not audited.",
    ):
        assert said in text, said
    assert "<script" not in page
    assert "built-in examples" not in text
    assert "Faults planted" not in text
    assert "Node.js" not in text
    one = replace(found.designs[0].checks[0], randomizer="browser")
    with_page = replace(found, designs=(replace(found.designs[0], checks=(one,)),))
    with_page = replace(with_page, designs=(replace(with_page.designs[0], name="every matrix"),))
    page = with_page.certificate(tmp_path / "with_page.html").read_text("utf-8")
    assert "The designs audited are built-in examples." in page
    assert "ran under Node.js and not in anybody" in page
    assert "open in a browser was not audited" not in page


def test_the_certificate_of_a_fault_shows_it(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "mdrr.auditing.exact",
        lambda run, design, name: planted.exact(
            planted.COUNTED["two clusters use the same random bytes"](run), design, name
        ),
    )
    design = independent(domain_of(2, 2), epsilon=1.0)
    found = audit(design, n=1_000, confidence=SURE, randomizers=["bulk"])
    assert found.passed is False
    page = found.certificate(tmp_path / "c.html").read_text("utf-8")
    assert "Something is wrong: see the findings." in page
    assert "depends on other answers or on other bytes" in page


def test_the_command_knows_the_same_randomizers():
    assert RANDOMIZERS == _RANDOMIZERS
