"""Reports as records: against the posterior of every report, enumerated."""

import numpy as np
import pytest

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.estimation import records as module
from mdrr.estimation.mixture import MixtureJoint
from mdrr.estimation.records import with_records
from mdrr.matrix import banded_matrix, constant_matrix
from mdrr.protocols import independent
from mdrr.tallies import tally_codes
from tests.cases import domain_of, uneven
from tests.people import distribution, records, reported

D = domain_of(2, 2, 3, 3, 4)
"""b, c and e are reported as one; a through a dense matrix, d through a banded one."""


def questionnaire(p=0.7, weight=2**16):
    return Questionnaire(
        (
            Cluster(("a",), uneven(2, 1)),
            Cluster(("b", "c", "e"), constant_matrix(24, p=p)),
            Cluster(("d",), banded_matrix(3, epsilon=1.0, width=1)),
        ),
        weight,
    )


DESIGN = Design(D, (questionnaire(),))


def classes(seed=2) -> MixtureJoint:
    rng = np.random.default_rng(seed)
    tables = tuple(rng.dirichlet(np.ones(size), 3).T for size in D.shape)
    return MixtureJoint(D, np.array([0.5, 0.3, 0.2]), tables)


def enumerated(mixture, tally, design):
    """Σ_i P(z | report i)·P(b, c, e | z, report i)·Π θ of the others, cell by cell.

    The part of b, c and e that is the truth's is scaled up as the classes need it.
    """
    group, clusters = tally.groups[0], design.questionnaires[0].clusters
    scale = module._underrated(mixture, group, design.questionnaires[0], design, 1)
    floor = clusters[1].matrix.floor
    whole = np.zeros(D.shape)
    for row, count in enumerate(group.counts):
        seen = [
            c.matrix.likelihood(np.array([codes[row]]))[0].reshape(design.shape(c))
            for c, codes in zip(clusters, group.codes, strict=True)
        ]
        seen[1] = scale * (seen[1] - floor) + floor
        likely = np.einsum("a,bce,d->abcde", seen[0], seen[1], seen[2])
        for z in range(3):
            a, b, c, d, e = (table[:, z] for table in mixture.tables)
            prior = np.einsum("a,b,c,d,e->abcde", a, b, c, d, e)
            told = mixture.weights[z] * (prior * likely).sum()
            wide = np.einsum("b,c,e,bce->bce", b, c, e, seen[1])
            own = np.einsum("a,bce,d->abcde", a, wide / wide.sum(), d)
            whole += count / tally.n * told / evidence(mixture, likely) * own
    return whole


def evidence(mixture, likely):
    return float((mixture.table(D.names) * likely).sum())


def test_the_joint_is_the_posterior_of_all_reports():
    tally = reported(records(distribution(D, 4), 60, 1), DESIGN, 1)
    mixture = classes()
    found = with_records(mixture, tally, DESIGN)
    (group,) = found.pinned
    assert group.places == (1, 2, 4)
    assert len(group.codes) == len(tally.groups[0].counts), "every report is worth keeping here"
    np.testing.assert_allclose(found.table(D.names), enumerated(mixture, tally, DESIGN), atol=1e-12)


def test_a_report_stands_for_the_truth_as_often_as_it_is_true():
    """One class of even answers: P(true | report) = s·φ/(s·φ + o)."""
    tally = tally_codes([[np.full(3, code) for code in (0, 5, 1)]], DESIGN)
    even = MixtureJoint(D, np.ones(1), tuple(np.full((size, 1), 1 / size) for size in D.shape))
    found = with_records(even, tally, DESIGN)
    matrix = DESIGN.clusters[1].matrix
    right = matrix.signal / 24 / (matrix.signal / 24 + matrix.floor)
    b, c, e = np.unravel_index(5, (2, 3, 4))
    assert found.table(("e", "b", "c"))[e, b, c] == pytest.approx(right + (1 - right) / 24)


def test_people_asked_something_narrow_stay_with_their_classes():
    narrow = Questionnaire((Cluster(("a",), constant_matrix(2, p=0.5)),), 2**15)
    design = Design(D, (questionnaire(weight=2**15), narrow))
    tally = reported(records(distribution(D, 4), 90, 1), design, 2)
    mixture = classes()
    found = with_records(mixture, tally, design)
    wide = tally.groups[0]
    alone = tally_codes([list(wide.codes)], DESIGN, counts=[wide.counts])
    part = wide.n / tally.n
    wanted = part * enumerated(mixture, alone, DESIGN) + (1 - part) * mixture.table(D.names)
    np.testing.assert_allclose(found.table(D.names), wanted, atol=1e-12)
    assert with_records(mixture, tally_codes([[np.array([0, 1])] * 5], FLAT), FLAT) is mixture


FLAT = independent(D, p=0.5)


def test_only_clusters_that_may_all_be_true_are_pinned_together():
    domain = domain_of(*[2] * 9)
    names = domain.names
    for keeps, pinned in (((0.9, 0.8, 0.2), 6), ((0.6, 0.5, 0.4), 3), ((0.95, 0.9, 0.85), 9)):
        clusters = tuple(
            Cluster(names[3 * i : 3 * i + 3], constant_matrix(8, p=p)) for i, p in enumerate(keeps)
        )
        design = Design(domain, (Questionnaire(clusters),))
        tally = reported(records(distribution(domain, 1), 50, 1), design, 1)
        even = MixtureJoint(domain, np.ones(1), tuple(np.full((2, 1), 0.5) for _ in names))
        found = with_records(even, tally, design)
        assert len(found.pinned[0].places) == pinned
        assert found.table(names).sum() == pytest.approx(1, abs=1e-12)


def test_too_many_records_leave_the_faintest_to_their_classes(monkeypatch):
    tally = reported(records(distribution(D, 4), 60, 1), DESIGN, 1)
    whole = with_records(classes(), tally, DESIGN)
    monkeypatch.setattr(module, "_MOST_RECORDS", 5)
    found = with_records(classes(), tally, DESIGN)
    sizes = np.sort(whole.pinned[0].shares.sum(axis=1))[::-1]
    kept = found.pinned[0].shares.sum(axis=1)
    assert len(kept) <= 5
    assert kept.min() >= sizes[5]
    assert found.table(D.names).sum() == pytest.approx(1, abs=1e-12)


def thin(first=1e-4) -> MixtureJoint:
    """One class that hardly expects b1 together with c1 and e3."""
    tables = [np.full((size, 1), 1 / size) for size in D.shape]
    tables[1] = np.array([[1 - first], [first]])
    tables[2] = np.array([[1 - first], [first / 2], [first / 2]])
    tables[4] = np.array([[1 - first], [first / 3], [first / 3], [first / 3]])
    return MixtureJoint(D, np.ones(1), tuple(tables))


def test_no_more_reports_are_called_untrue_than_randomization_makes():
    """Of 2,000 people 60 agree on what the class hardly expects: they stay where they are.

    By the class alone each of their reports would be untrue: s·φ = 1e-14 against o = 4e-5.
    """
    design = Design(D, (questionnaire(p=0.999),))
    wide = np.repeat([0, 23], [1940, 60])
    zeros = np.zeros(2000, dtype=np.int64)
    tally = tally_codes([[zeros, wide, zeros]], design)
    found = with_records(thin(), tally, design)
    matrix = design.clusters[1].matrix
    agreed = found.table(("b", "c", "e"))[1, 2, 3]
    untrue = 1 - sum(group.shares.sum() for group in found.pinned)
    assert untrue == pytest.approx(1 - matrix.signal, rel=1e-6)
    assert agreed == pytest.approx(60 / 2000 - (1 - matrix.signal), abs=1e-4)
    scale = module._underrated(thin(), tally.groups[0], design.questionnaires[0], design, 1)
    assert scale > 1e6


def test_classes_that_fit_are_believed_as_they_are():
    """The reports of their own people: about as many seem untrue as are, so the scale stays near 1.

    It is 1 where fewer seem untrue, and never below.
    """
    mixture = classes()
    tally = reported(records(mixture.table(D.names), 20_000, 3), DESIGN, 3)
    scale = module._underrated(mixture, tally.groups[0], DESIGN.questionnaires[0], DESIGN, 1)
    assert 1 <= scale < 1.1
    even = MixtureJoint(D, np.ones(1), tuple(np.full((size, 1), 1 / size) for size in D.shape))
    one = tally_codes([[np.full(3, code) for code in (0, 5, 1)]], DESIGN)
    trusting = module._underrated(even, one.groups[0], DESIGN.questionnaires[0], DESIGN, 1)
    assert trusting == 1.0
