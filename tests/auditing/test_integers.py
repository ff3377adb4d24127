"""The exact part: right randomizers pass with the claimed ε, one wrong integer is found."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mdrr.auditing.integers import exact, stretches
from mdrr.auditing.platforms import PLATFORMS
from mdrr.auditing.specimens import drawn_questionnaires, every_matrix, specimens
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.matrix import Constant, matrix_from_dict
from mdrr.protocols import independent, joint
from mdrr.randomizer import Batch
from scripts.make_vectors import row
from tests.cases import designs, domain_of


def bulk(codes, design, stream):
    with PLATFORMS["bulk"]() as run:
        return run(codes, design, stream)


def test_the_specimens_have_every_kind_of_everything():
    kinds, totals, lengths = set(), set(), set()
    for design in specimens().values():
        for cluster in (c for q in design.questionnaires for c in q.clusters):
            kinds.add(cluster.matrix.kind)
            totals.add(cluster.matrix.total)
            lengths.add(len(cluster.attributes))
    assert kinds == {"constant", "dense", "banded", "subset", "public"}
    assert totals == {1, 2**16, 2**32, 2**48}
    assert lengths == {1, 2}
    assert {len(d.questionnaires) for d in specimens().values()} == {1, 3}


def test_the_definition_is_that_of_the_vectors():
    for cluster in every_matrix().clusters:
        fields = cluster.matrix.to_dict()
        if fields["kind"] == "public":
            continue
        for cell in range(cluster.matrix.cells):
            pairs = np.stack(stretches(fields, cell), axis=1).tolist()
            assert [(c, n) for c, n in pairs if n] == [(c, n) for c, n in row(fields, cell) if n]


@pytest.mark.parametrize("name", designs())
def test_the_bulk_randomizer_has_the_integers_it_claims(name):
    design = designs()[name]
    found = exact(bulk, design, "bulk")
    assert found.findings == ()
    assert found.passed is True
    assert found.epsilon == design.epsilon


@pytest.mark.parametrize("name", specimens())
def test_the_single_record_randomizer_has_the_integers_it_claims(name):
    design = specimens()[name]
    with PLATFORMS["single"]() as run:
        found = exact(run, design, "single")
    assert (found.passed, found.findings) == (True, ())
    assert found.epsilon == design.epsilon


def test_every_integer_is_tried_where_that_is_affordable():
    design = drawn_questionnaires()
    tried = []

    def run(codes, given, stream):
        tried.append(np.frombuffer(stream, np.uint8).reshape(-1, given.record_bytes))
        return bulk(codes, given, stream)

    assert "every integer where D = 2¹⁶" in exact(run, design, "bulk").looked_at
    largest = max(tried, key=len)
    assert len(largest) == 2**16 * sum(
        c.matrix.cells for q in design.questionnaires for c in q.clusters
    )


def test_a_wide_design_says_how_much_was_looked_at():
    design = joint(domain_of(100, 100, 100), epsilon=9.0)
    found = exact(bulk, design, "bulk")
    assert found.passed is True
    assert found.epsilon == design.epsilon
    assert "of 1,000,000 rows of 1 matrix" in found.looked_at
    assert "1,024 stretches of wide matrices" in found.looked_at


def moved(design: Design, by: int) -> Design:
    """Some integers of the first cluster lead to the truth and not to another code."""
    (first, *rest) = design.questionnaires[0].clusters
    old = first.matrix
    new = Constant(old.cells, old.diagonal + (old.cells - 1) * by, old.off - by)
    return Design(design.domain, (Questionnaire((Cluster(first.attributes, new), *rest)),))


def test_wrong_integers_are_counted_and_so_is_their_epsilon():
    design = independent(domain_of(3, 2), epsilon=1.0)
    other = moved(design, 1)

    def run(codes, given, stream):
        return replace(bulk(codes, other, stream), fingerprint=given.fingerprint)

    found = exact(run, design, "single")  # both ends of every stretch, then bisection
    assert found.passed is False
    assert found.epsilon == other.epsilon > design.epsilon
    assert any("the design says" in each for each in found.findings)
    assert "the integers give ε" in found.findings[0]


def test_an_infinite_epsilon_is_not_taken_for_a_breach():
    fields = {"kind": "dense", "weights": [[2**15, 2**15, 0], [0, 2**15, 2**15], [2**15, 0, 2**15]]}
    domain = domain_of(3)
    design = Design(domain, (Questionnaire((Cluster(("a",), matrix_from_dict(fields)),)),))
    found = exact(bulk, design, "bulk")
    assert found.passed is True
    assert found.epsilon == math.inf
    assert found.to_dict()["epsilon"] is None


def test_a_public_answer_that_is_changed_is_found():
    design = every_matrix()

    def run(codes, given, stream):
        reports = bulk(codes, given, stream)
        (batch,) = reports.batches
        changed = (*batch.codes[:-1], 1 - batch.codes[-1])
        return replace(reports, batches=(Batch(batch.rows, changed),))

    found = exact(run, design, "single")
    assert "region is public and not reported as it is" in found.findings


def test_another_questionnaire_than_drawn_is_found():
    design = drawn_questionnaires()

    def run(codes, given, stream):
        table = np.frombuffer(stream, np.uint8).reshape(-1, given.record_bytes).copy()
        chosen = table[:, 0] + 256 * table[:, 1].astype(int)
        chosen = np.where(chosen == 29_999, 30_000, chosen)  # the last integer of the first
        table[:, 0], table[:, 1] = chosen % 256, chosen // 256
        return bulk(codes, given, table.tobytes())

    found = exact(run, design, "single")
    assert "questionnaires: u = 29,999 picks 1, the design says 0" in found.findings
