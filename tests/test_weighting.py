import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mdrr.errors import EstimateError, SchemaError
from mdrr.estimation import adjust, product
from mdrr.frames import randomize, tally
from mdrr.protocols import clustered, independent, sampled
from mdrr.randomizer import randomize_codes
from mdrr.report_frames import report_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes
from mdrr.weighting import record_weights, weigh
from tests.backends import BACKENDS
from tests.cases import domain_of

DOMAIN = domain_of(3, 2, 4)
DESIGN = clustered(DOMAIN, [["a", "c"], ["b"]], p=0.6)


def people(n: int = 400, domain=DOMAIN) -> dict[str, list[str]]:
    rng = np.random.default_rng(4)
    return {
        a.name: [a.categories[i] for i in rng.binomial(a.size - 1, 0.3, n)]
        for a in domain.attributes
    }


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_weighted_margins_of_the_microdata_are_the_estimated_ones(backend):
    reports = randomize(backend.make(people()), DESIGN, source=SeededSource(1))
    weighted = weigh(reports, DESIGN, column="w")
    assert isinstance(weighted, backend.kind)
    values = backend.to_dict(weighted)
    assert {k: v for k, v in values.items() if k != "w"} == backend.to_dict(reports)
    wanted = product(tally(reports, DESIGN), DESIGN)
    for name in DOMAIN.names:
        shares = [
            sum(w for w, label in zip(values["w"], values[name], strict=True) if label == category)
            for category in DOMAIN.attribute(name).categories
        ]
        assert np.allclose(np.array(shares) / 400, wanted.table(name).values, atol=1e-8)


def test_pandas_weights_follow_the_index():
    frame = pd.DataFrame(people(5), index=[9, 7, 7, 3, 1])
    weighted = weigh(randomize(frame, DESIGN, keep_index=True), DESIGN)
    assert list(weighted.index) == [9, 7, 7, 3, 1]
    assert weighted["weight"].mean() == pytest.approx(1)


def test_equal_records_weigh_the_same_and_chunks_weigh_what_the_whole_does():
    reports = randomize(pa.table(people()), DESIGN, source=SeededSource(1))
    counted = tally(reports, DESIGN)
    estimate = adjust(counted, DESIGN)
    whole = record_weights(report_codes(reports, DESIGN), counted, estimate)
    parts = [report_codes(reports.slice(at, 150), DESIGN) for at in (0, 150, 300)]
    assert np.array_equal(
        whole, np.concatenate([record_weights(part, counted, estimate) for part in parts])
    )
    by_record: dict[tuple, set] = {}
    for record, weight in zip(zip(*reports.to_pydict().values(), strict=True), whole, strict=True):
        by_record.setdefault(record, set()).add(weight)
    assert all(len(weights) == 1 for weights in by_record.values())


def test_more_combinations_than_can_be_numbered():
    domain = domain_of(*[9] * 30)
    design = independent(domain, p=0.9)
    frame = pa.table(people(60, domain))
    reports = pa.concat_tables([randomize(frame, design, source=SeededSource(1))] * 2)
    weighted = weigh(reports, design, sweeps=3)
    weights = weighted["weight"].to_pylist()
    assert weights[:60] == weights[60:]
    assert np.mean(weights) == pytest.approx(1)
    assert len(set(weights)) > 30


def test_reports_that_were_not_tallied_have_no_weight():
    reports = randomize(pa.table(people()), DESIGN, source=SeededSource(1))
    few = reports.slice(0, 3)
    counted = tally(few, DESIGN)
    with pytest.raises(EstimateError, match="a report is not in the tally"):
        record_weights(report_codes(reports, DESIGN), counted, adjust(counted, DESIGN))


def test_what_cannot_be_weighed_is_refused():
    reports = randomize(pa.table(people()), DESIGN)
    counted = tally(reports, DESIGN)
    with pytest.raises(EstimateError, match="only an adjusted estimate weighs records"):
        record_weights(report_codes(reports, DESIGN), counted, product(counted, DESIGN))
    with pytest.raises(SchemaError, match="have a column 'a' already"):
        weigh(reports, DESIGN, column="a")
    pairs = sampled(DOMAIN, 2, epsilon=2.0)
    with pytest.raises(EstimateError, match="several questionnaires"):
        weigh(randomize(pa.table(people()), pairs), pairs)


def test_sums_weigh_no_records():
    design = independent(domain_of(2, 3, 4), p=0.5)
    codes = [np.arange(50) % size for size in (2, 3, 4)]
    reports = randomize_codes(codes, design, SeededSource(1))
    tally = tally_codes(reports, design, keep="sums")
    with pytest.raises(EstimateError, match="Tally with keep='reports'"):
        record_weights(reports, tally, adjust(tally, design))
