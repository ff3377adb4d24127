"""A report: one type, one validator, the same JSON whoever writes it."""

import json

import pytest

from mdrr.errors import TallyError
from mdrr.protocols import independent
from mdrr.response import Report
from tests.cases import designs, domain_of

D = independent(domain_of(2, 3), p=0.5)
GOOD = {"design": D.fingerprint, "questionnaire": 0, "codes": [1, 2]}


def test_a_report_survives_json_with_and_without_an_id():
    report = Report.from_dict(GOOD)
    assert report == Report(D.fingerprint, 0, (1, 2))
    assert report.to_dict() == GOOD
    assert json.loads(report.to_json()) == GOOD
    named = Report.from_dict({**GOOD, "id": "número 7"})
    assert named.id == "número 7"
    assert Report.from_dict(json.loads(named.to_json())) == named
    named.check(D)
    assert hash(named) != hash(report)


@pytest.mark.parametrize("given", [None, 3, "x", [], {}, {"design": D.fingerprint, "codes": [0]}])
def test_what_lacks_a_part_is_no_report(given):
    with pytest.raises(TallyError, match="a 'design', a 'questionnaire' and 'codes'"):
        Report.from_dict(given)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"design": None}, "fingerprint of its design, a text"),
        ({"questionnaire": True}, "'questionnaire' of a report is a whole number"),
        ({"questionnaire": -1}, "'questionnaire' of a report is a whole number"),
        ({"questionnaire": 0.0}, "'questionnaire' of a report is a whole number"),
        ({"codes": "12"}, "a list of whole numbers"),
        ({"codes": [1, 2.0]}, "whole numbers, none negative"),
        ({"codes": [1, True]}, "whole numbers, none negative"),
        ({"codes": [1, None]}, "whole numbers, none negative"),
        ({"codes": [-1, 2]}, "whole numbers, none negative"),
        ({"id": ""}, "'id' of a report is a text"),
        ({"id": 7}, "'id' of a report is a text"),
        ({"answers": ["secret"]}, "nothing else; this one has 'answers' too"),
    ],
)
def test_a_part_that_cannot_be_is_refused_without_repeating_it(change, complaint):
    with pytest.raises(TallyError, match=complaint) as error:
        Report.from_dict({**GOOD, **change})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"design": "0" * 64}, "made under the design 000000000000…, not under"),
        ({"questionnaire": 1}, "the questionnaire is not in 0…0"),
        ({"codes": [1]}, "needs 2 codes, one per cluster, and has 1"),
        ({"codes": [1, 2, 0]}, "needs 2 codes, one per cluster, and has 3"),
        ({"codes": [2, 0]}, "the code of 'a' is not in 0…1"),
        ({"codes": [0, 3]}, "the code of 'b' is not in 0…2"),
    ],
)
def test_a_report_that_nobody_can_have_made_is_refused(change, complaint):
    report = Report.from_dict({**GOOD, **change})
    with pytest.raises(TallyError, match=complaint):
        report.check(D)


def test_a_code_may_be_any_the_matrix_can_report():
    """A banded matrix reports more codes than there are cells."""
    design = designs()["ordered"]
    most = tuple(cluster.matrix.outcomes - 1 for cluster in design.clusters)
    Report(design.fingerprint, 0, most).check(design)
    for j in range(len(most)):
        over = tuple(code + (i == j) for i, code in enumerate(most))
        with pytest.raises(TallyError, match="is not in 0…"):
            Report(design.fingerprint, 0, over).check(design)
