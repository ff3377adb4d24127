import json

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mdrr.design import QUESTIONNAIRE, Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import SchemaError, TallyError
from mdrr.frames import encode, infer_domain, randomize, tally
from mdrr.matrix import constant_matrix
from mdrr.matrix.banded import Banded
from mdrr.protocols import independent, sampled
from mdrr.randomizer import randomize_codes
from mdrr.report_frames import FINGERPRINT, report_codes, report_table, stated_fingerprint
from mdrr.response import Report
from mdrr.source import BytesSource, SeededSource
from mdrr.tallies import tally_codes
from tests.backends import BACKENDS
from tests.cases import MIXED, designs

PEOPLE = {
    "ville": ["東京", "Genève", "🦔", "Zürich"],
    "age": [17, 120, 18, 64],
    "children": [0, 2, 1, -5],
    "smokes": [True, False, False, True],
    "ssn": ["1", "2", "3", "4"],
}
CODES = {
    "ville": [2, 0, 3, 1],
    "smokes": [1, 0, 0, 1],
    "children": [0, 2, 1, 3],
    "age": [0, 2, 1, 1],
}
DESIGN = independent(MIXED, p=0.5)
PAIRS = sampled(MIXED, 2, epsilon=3.0)
BANDED = Cluster(("age",), Banded(3, width=1, low=6000, total=2**16))


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request):
    return request.param


def exact(domain: Domain) -> object:
    """A design that all but always sends the truth."""
    return independent(domain, epsilon=60.0)


def test_labels_of_every_type_become_codes_in_the_domains_order(backend):
    codes = encode(backend.make(PEOPLE), MIXED)
    assert [c.tolist() for c in codes] == [CODES[name] for name in MIXED.names]


def test_every_byte_of_randomized_people_is_the_systems(system):
    people = pl.DataFrame(PEOPLE)
    sent = randomize(people, PAIRS)
    read = b"".join(system.pieces)
    assert len(read) == len(people) * PAIRS.record_bytes
    assert sent.equals(randomize(people, PAIRS, source=BytesSource(read)))


def test_dictionary_columns(backend):
    # Polars' categoricals hold text only.
    names = ["ville"] if backend.name in ("polars", "lazy") else ["ville", "smokes", "children"]
    columns = {name: pa.array(PEOPLE[name]).dictionary_encode() for name in names}
    codes = encode(backend.make(columns), MIXED.project(names))
    assert [c.tolist() for c in codes] == [CODES[name] for name in names]


def test_a_frame_of_reports_is_of_the_same_kind_with_the_designs_columns_only(backend):
    reports = randomize(backend.make(PEOPLE), DESIGN)
    assert isinstance(reports, backend.kind)
    values = backend.to_dict(reports)
    assert list(values) == list(MIXED.names)
    for name, labels in values.items():
        assert set(labels) <= set(MIXED.attribute(name).categories)


def test_rows_keep_their_order_when_the_truth_is_sent(backend):
    values = backend.to_dict(randomize(backend.make(PEOPLE), exact(MIXED)))
    assert values["ville"] == PEOPLE["ville"]
    assert values["smokes"] == PEOPLE["smokes"]
    assert values["children"] == PEOPLE["children"]
    assert values["age"] == ["[0, 17.5)", "[65, 120]", "[17.5, 65)", "[17.5, 65)"]


def test_every_backend_sends_the_same_for_the_same_bytes(backend):
    for design in (DESIGN, PAIRS):
        reports = randomize(backend.make(PEOPLE), design, source=SeededSource(5))
        codes = report_codes(reports, design)
        direct = randomize(pa.table(PEOPLE), design, source=SeededSource(5))
        assert backend.to_dict(reports) == direct.to_pydict()
        assert tally(reports, design) == tally_codes(codes, design) == tally(direct, design)


def test_sampled_designs_say_which_questionnaire_and_leave_the_rest_null(backend):
    people = {name: column * 50 for name, column in PEOPLE.items()}
    reports = randomize(backend.make(people), PAIRS, source=SeededSource(1))
    values = backend.to_dict(reports)
    assert next(iter(values)) == QUESTIONNAIRE
    assert len(set(values[QUESTIONNAIRE])) == 6
    for row in zip(*values.values(), strict=True):
        q, answers = row[0], dict(zip(list(values)[1:], row[1:], strict=True))
        asked = PAIRS.questionnaires[q].attributes
        assert {name for name, label in answers.items() if label is not None} == set(asked)
        for name in asked:
            MIXED.attribute(name).code(answers[name])  # of the right type, and known
    assert tally(reports, PAIRS).n == 200


def test_reports_read_back_are_the_reports_made():
    for name, design in designs().items():
        domain = design.domain
        frame = pa.table(
            {a.name: a.categories * 12 for a in domain.project(domain.names[:1]).attributes}
        )
        people = {
            a.name: [a.categories[i % a.size] for i in range(len(frame))] for a in domain.attributes
        }
        reports = randomize(pa.table(people), design, source=SeededSource(2))
        again = report_table(report_codes(reports, design), design)
        assert again.equals(reports, check_metadata=True), name


def test_the_index_of_true_records_stays_behind_unless_asked_for():
    people = pd.DataFrame(PEOPLE).set_index("ville", drop=False)
    reports = randomize(people, DESIGN)
    assert list(reports.index) == [0, 1, 2, 3]
    assert reports.index.name is None
    kept = randomize(people, DESIGN, keep_index=True)
    assert list(kept.index) == PEOPLE["ville"]
    assert tally(kept, DESIGN).n == 4


def test_pandas_keeps_its_whole_numbers():
    people = pd.DataFrame(PEOPLE)
    reports = randomize(pd.concat([people] * 20), PAIRS)
    assert str(reports["children"].dtype) == "Int64"
    assert str(reports["smokes"].dtype) == "boolean"
    assert tally(reports, PAIRS).n == 80


@pytest.mark.parametrize("kind", ["Int8", "Int64", "UInt16", "Float64", "int16", "uint8", "object"])
def test_pandas_integers_of_every_kind(kind):
    domain = Domain((Attribute("rooms", (1, 2, 9), missing=9),))
    series = pd.Series([1, 2, 2], dtype=kind)
    assert encode(pd.DataFrame({"rooms": series}), domain)[0].tolist() == [0, 1, 1]
    if kind[0].isupper() or kind == "object":
        gaps = pd.Series([1, None, 2], dtype=kind)
        assert encode(pd.DataFrame({"rooms": gaps}), domain)[0].tolist() == [0, 2, 1]


@pytest.mark.parametrize("dtype", [object, "string", "str", "category"])
def test_pandas_text_of_every_kind(dtype):
    domain = Domain((Attribute("size", ("s", "m", "?"), missing="?"),))
    frame = pd.DataFrame({"size": pd.Series(["m", None, "s"], dtype=dtype)})
    assert encode(frame, domain)[0].tolist() == [1, 2, 0]


def test_missing_values_need_a_declared_category(backend):
    domain = Domain((Attribute("size", ("s", "m", "?"), missing="?"), Attribute("x", ("a", "b"))))
    frame = backend.make({"size": ["s", None], "x": ["a", "b"]})
    assert encode(frame, domain)[0].tolist() == [0, 2]
    with pytest.raises(SchemaError, match=r"'size' has 1 missing values. Declare a category"):
        encode(frame, Domain((Attribute("size", ("s", "m")),)))


def test_an_unknown_category_is_named_with_what_to_do(backend):
    frame = backend.make({**PEOPLE, "ville": ["Genève", "Bern", "Genève", "Genève"]})
    with pytest.raises(SchemaError, match=r"'ville' has no category 'Bern'.*survey file") as error:
        randomize(frame, DESIGN)
    assert "\n" not in str(error.value)


def test_a_wrong_column_is_named_with_those_there_are(backend):
    frame = backend.make({"town": ["Genève"], "age": [3]})
    with pytest.raises(SchemaError, match=r"no column 'ville'. It has 'town', 'age'"):
        encode(frame, MIXED)
    with pytest.raises(SchemaError, match="no column 'ville'"):
        tally(frame, DESIGN)


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_arrays], ids=["pandas", "pyarrow"])
def test_two_columns_of_one_name_are_refused(make):
    rows = [["s", "m"], ["s", "m"]]
    if make is pd.DataFrame:
        frame = pd.DataFrame(list(zip(*rows, strict=True)), columns=["size", "size"])
    else:
        frame = make([pa.array(row) for row in rows], names=["size", "size"])
    with pytest.raises(SchemaError, match="two columns named 'size'"):
        encode(frame, Domain((Attribute("size", ("s", "m")),)))


def test_an_empty_frame_is_refused(backend):
    empty = {name: pa.array(column).slice(0, 0) for name, column in PEOPLE.items()}
    for read in (lambda f: encode(f, MIXED), lambda f: tally(f, DESIGN), infer_domain):
        with pytest.raises(SchemaError, match="no rows: there is nobody"):
            read(backend.make(empty))


@pytest.mark.parametrize("thing", [{"a": [1]}, [1, 2], pd.Series([1]), None])
def test_what_is_not_a_frame_is_refused(thing):
    with pytest.raises(SchemaError, match="is not a data frame that can be read"):
        encode(thing, MIXED)


@pytest.mark.parametrize("kind", [object, "category"])
def test_a_column_of_several_types_is_refused(kind):
    frame = pd.DataFrame({"size": pd.Series(["s", 3], dtype=kind)})
    with pytest.raises(SchemaError, match="'size' mixes values of different types"):
        encode(frame, Domain((Attribute("size", ("s", "m")),)))


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_a_fingerprint_travels_with_frames_that_can_carry_it(name):
    backend = next(b for b in BACKENDS if b.name == name)
    reports = randomize(backend.make(PEOPLE), DESIGN)
    assert stated_fingerprint(reports) == DESIGN.fingerprint
    other = independent(MIXED, p=0.6)
    for frame in (reports, narwhals.from_native(reports)):
        with pytest.raises(TallyError, match=f"under the design {DESIGN.fingerprint[:12]}"):
            tally(frame, other)


def test_polars_carries_none_and_is_taken_on_trust():
    reports = randomize(pl.DataFrame(PEOPLE), DESIGN)
    assert stated_fingerprint(reports) is None
    assert stated_fingerprint(pa.table(PEOPLE)) is None
    assert stated_fingerprint(pd.DataFrame(PEOPLE)) is None
    assert randomize(pa.table(PEOPLE), DESIGN).schema.metadata == {
        FINGERPRINT.encode(): DESIGN.fingerprint.encode()
    }


def test_raw_numbers_are_no_reports(backend):
    people = {name: PEOPLE[name] for name in ("ville", "smokes", "children", "age")}
    with pytest.raises(TallyError, match=r"'age' holds numbers.*true answers: randomize them"):
        tally(backend.make(people), DESIGN)
    with pytest.raises(TallyError, match="'age' holds numbers"):
        tally(backend.make({**people, "age": [17.0, 120.0, 18.0, 64.0]}), DESIGN)


def test_a_column_nobody_was_asked_may_come_back_as_empty_numbers():
    """So pandas reads an empty column of a CSV file."""
    frame = pd.DataFrame({**REPORT, "age": [float("nan")]})
    assert tally(frame, PAIRS).n == 1


REPORT = {QUESTIONNAIRE: [0], "ville": ["🦔"], "smokes": [True], "children": [None], "age": [None]}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({QUESTIONNAIRE: [6]}, r"missing or outside 0…5"),
        ({QUESTIONNAIRE: [-1]}, r"missing or outside 0…5"),
        ({QUESTIONNAIRE: pa.array([None], "int64")}, r"missing or outside 0…5"),
        ({QUESTIONNAIRE: [0.5]}, "'questionnaire' must hold whole numbers"),
        ({QUESTIONNAIRE: ["zero"]}, "'questionnaire' must hold whole numbers"),
        ({"smokes": pa.array([None], "bool")}, "1 reports lack an answer to 'smokes'"),
        ({"age": ["[65, 120]"]}, "a report to questionnaire 0 answers 'age', which is not in it"),
        ({"ville": ["Bern"]}, "'ville' has no category 'Bern'"),
    ],
)
def test_reports_that_do_not_fit_their_questionnaire_are_refused(backend, change, complaint):
    assert tally(backend.make(REPORT), PAIRS).n == 1
    with pytest.raises((TallyError, SchemaError), match=complaint):
        tally(backend.make({**REPORT, **change}), PAIRS)


def test_reports_to_several_questionnaires_need_the_column(backend):
    frame = backend.make({name: v for name, v in REPORT.items() if name != QUESTIONNAIRE})
    with pytest.raises(TallyError, match="the reports need a column 'questionnaire'"):
        tally(frame, PAIRS)


def test_a_domain_read_off_a_frame_is_in_natural_order(backend):
    frame = backend.make(
        {"n": [10, 9, 10, 9], "t": ["b", "a", None, "a"], "f": [2.0, 1.0, 2.0, 10.0]}
    )
    domain = infer_domain(frame)
    assert [a.categories for a in domain.attributes] == [(9, 10), ("a", "b"), (1, 2, 10)]
    assert infer_domain(frame, ["t"]).names == ("t",)
    with pytest.raises(SchemaError, match="no column 'x'"):
        infer_domain(frame, ["x"])


def test_decimals_are_not_categories(backend):
    with pytest.raises(SchemaError, match=r"'w' holds decimals.*kind='numeric'"):
        infer_domain(backend.make({"w": [1.5, 2.0]}))


@pytest.mark.parametrize(
    "design",
    [
        sampled(MIXED, 2, epsilon=0.3, report="subset"),
        Design(MIXED, (Questionnaire((*DESIGN.clusters[:3], BANDED)),)),
        # The age goes out as a number, or as a label together with another answer.
        Design(
            MIXED,
            (
                Questionnaire((*DESIGN.clusters[:2], BANDED), 2**15),
                Questionnaire((Cluster(("children", "age"), constant_matrix(12, p=0.5)),), 2**15),
            ),
        ),
    ],
    ids=["subset", "banded", "both"],
)
def test_reports_that_are_no_combination_travel_as_numbers(backend, design):
    people = {name: column * 50 for name, column in PEOPLE.items()}
    reports = randomize(backend.make(people), design, source=SeededSource(3))
    values = backend.to_dict(reports)
    coded = [name for name in values if name.endswith(" (code)")]
    assert coded
    assert all(v is None or v == int(v) for name in coded for v in values[name])
    whole = report_codes(reports, design)
    assert tally(reports, design) == tally_codes(whole, design)
    assert report_table(whole, design).to_pydict() == values
    wrong = {**values, coded[0]: [None if v is None else 10**6 for v in values[coded[0]]]}
    with pytest.raises(TallyError, match="codes outside 0…"):
        tally(backend.make(wrong), design)


@pytest.mark.parametrize("name", ["mixed", "unequal", "labels", "subsets"])
def test_a_tally_is_the_same_in_whatever_form_the_reports_come(name):
    design = designs()[name]
    rng = np.random.default_rng(1)
    people = [rng.integers(size, size=300) for size in design.domain.shape]
    reports = randomize_codes(people, design, SeededSource(1))
    wanted = tally(reports, design)
    assert wanted.n == 300
    arrays = [batch.codes for batch in reports.batches]
    single = [
        Report(design.fingerprint, q, tuple(map(int, row)))
        for q, batch in enumerate(reports.batches)
        for row in zip(*batch.codes, strict=True)
    ]
    assert tally(report_table(reports, design), design) == wanted
    assert tally(arrays, design) == wanted
    assert tally([[c.tolist() for c in codes] for codes in arrays], design) == wanted
    assert tally(single, design) == wanted
    assert tally(iter(single), design) == wanted
    assert tally([json.loads(report.to_json()) for report in single], design) == wanted
    counted = [group.counts.tolist() for group in wanted.groups]
    assert tally([group.codes for group in wanted.groups], design, counts=counted) == wanted
    assert tally([], design).n == 0


@pytest.mark.parametrize(
    ("reports", "counts", "complaint"),
    [
        (Report("15f2", 0, (1,)), None, r"goes in a list: mdrr.tally\(\[report\], design\)"),
        ({"design": "15f2"}, None, "goes in a list"),
        (["{}"], None, "a report has a 'design', a 'questionnaire' and 'codes'"),
        ([3], None, "a report has a 'design', a 'questionnaire' and 'codes'"),
        (pl.DataFrame(PEOPLE), [[1]], "counts go with arrays of codes"),
    ],
)
def test_what_cannot_be_tallied_is_refused_with_what_to_do(reports, counts, complaint):
    with pytest.raises(TallyError, match=complaint):
        tally(reports, DESIGN, counts=counts)


def test_a_tally_and_a_swapped_order_are_refused():
    counted = tally(randomize(pl.DataFrame(PEOPLE), DESIGN), DESIGN)
    with pytest.raises(TallyError, match=r"tallies add up with \+"):
        tally(counted, DESIGN)
    with pytest.raises(TallyError, match="the reports come first, then the design"):
        tally(DESIGN, pl.DataFrame(PEOPLE))


ORDER = Domain((Attribute("v", ("b", "a", "c")), Attribute("w", ("x", "y"))))
WORDS = {"v": ["a", "c", "a", "b"], "w": ["x", "y", "y", "x"]}
AS_CODES = [[1, 2, 1, 0], [0, 1, 1, 0]]


def categoricals(values, extra=()):
    """The same columns as every kind of dictionary, with labels that nobody has among them."""
    kinds = {}
    arrow = {
        name: pa.DictionaryArray.from_arrays(
            pa.array([words.index(v) if v is not None else None for v in column], pa.int8()), words
        )
        for name, column in values.items()
        for words in [[*extra, *sorted({v for v in column if v is not None})]]
    }
    kinds["pyarrow"] = pa.table(arrow)
    kinds["pandas"] = pa.table(arrow).to_pandas()
    kinds["categorical"] = pl.DataFrame(values, schema=dict.fromkeys(values, pl.Categorical))
    kinds["enum"] = pl.DataFrame(
        values,
        schema={name: pl.Enum(column.dictionary.to_pylist()) for name, column in arrow.items()},
    )
    return kinds


@pytest.mark.parametrize("extra", [(), ("zzz",), ("x", "y")])
@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "categorical", "enum"])
@pytest.mark.parametrize("compiled", [1, 2**17])
def test_codes_of_dictionaries_are_taken_in_any_order(kind, extra, compiled, monkeypatch):
    monkeypatch.setattr("mdrr.randomizer.COMPILED", compiled)
    pl.Series(["someone", "else's", "category"], dtype=pl.Categorical)
    frame = categoricals(WORDS, [e for e in extra if e not in ("x", "y")])[kind]
    assert [c.tolist() for c in encode(frame, ORDER)] == AS_CODES
    assert [c.dtype for c in encode(frame, ORDER)] == [np.uint8, np.uint8]


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "categorical", "enum"])
def test_dictionaries_come_back_as_dictionaries(kind):
    frame = categoricals(WORDS)[kind]
    sent = randomize(frame, exact(ORDER))
    assert type(sent) is type(frame)
    if kind == "pandas":
        assert [list(sent[name].cat.categories) for name in "vw"] == [["b", "a", "c"], ["x", "y"]]
    elif kind == "pyarrow":
        assert all(pa.types.is_dictionary(field.type) for field in sent.schema)
    else:
        wanted = pl.Categorical if kind == "categorical" else pl.Enum(["b", "a", "c"])
        assert sent.schema["v"] == wanted
    plain = pl.from_arrow(sent) if kind == "pyarrow" else pl.DataFrame(sent)
    assert plain.cast(pl.String).to_dict(as_series=False) == WORDS
    assert tally(sent, exact(ORDER)).n == 4


def test_dictionaries_and_other_columns_mix():
    people = pl.DataFrame(PEOPLE).with_columns(pl.col("ville").cast(pl.Categorical))
    sent = randomize(people, exact(MIXED))
    assert sent.schema["ville"] == pl.Categorical
    assert sent["children"].to_list() == PEOPLE["children"]
    assert sent["ville"].cast(pl.String).to_list() == PEOPLE["ville"]
    pairs = randomize(pl.concat([people] * 30), PAIRS, source=SeededSource(3))
    assert pairs.schema["ville"] == pl.Categorical
    assert 0 < pairs["ville"].null_count() < 120
    enum = people.with_columns(pl.col("ville").cast(pl.Enum(MIXED.attribute("ville").categories)))
    enums = randomize(pl.concat([enum] * 30), PAIRS, source=SeededSource(3))
    assert enums["ville"].cast(pl.String).to_list() == pairs["ville"].cast(pl.String).to_list()
    assert tally(enums, PAIRS) == tally(pairs, PAIRS)


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "categorical", "enum"])
def test_what_a_dictionary_column_lacks_is_said(kind):
    holed = {"v": ["a", None, "b"], "w": ["x", "y", "x"]}
    with pytest.raises(SchemaError, match="row 2: 'v' has 1 missing values"):
        encode(categoricals(holed)[kind], ORDER)
    missing = Domain((Attribute("v", ("b", "a", "?"), missing="?"), ORDER.attribute("w")))
    assert encode(categoricals(holed)[kind], missing)[0].tolist() == [1, 2, 0]
    wrong = {"v": ["a", "b", "q"], "w": ["x", "y", "x"]}
    with pytest.raises(SchemaError, match="row 3: 'v' has no category 'q'"):
        encode(categoricals(wrong)[kind], ORDER)


@pytest.mark.parametrize("size", [127, 128, 129, 255, 256, 257])
def test_dictionaries_of_many_labels(size):
    words = [f"label {i}" for i in range(size)]
    domain = Domain((Attribute("v", tuple(words)),))
    rng = np.random.default_rng(size)
    codes = np.concatenate([np.arange(size), rng.integers(size, size=300)])
    for order in (np.arange(size), rng.permutation(size)):
        labels = [words[i] for i in order]
        column = pa.DictionaryArray.from_arrays(pa.array(np.argsort(order)[codes]), labels)
        frame = pa.table({"v": column})
        assert encode(frame, domain)[0].tolist() == codes.tolist()
        sent = randomize(frame, nearly := independent(domain, epsilon=30.0))
        assert sent["v"].to_pylist() == [words[c] for c in codes]
        assert randomize(frame.to_pandas(), nearly)["v"].tolist() == sent["v"].to_pylist()


def test_long_columns_are_encoded_side_by_side(monkeypatch):
    monkeypatch.setattr("mdrr.frames.AT_ONCE", 0)
    assert [c.tolist() for c in encode(pl.DataFrame(PEOPLE), MIXED)] == [
        CODES[name] for name in MIXED.names
    ]
    assert randomize(pl.DataFrame(PEOPLE), exact(MIXED))["ville"].to_list() == PEOPLE["ville"]
    with pytest.raises(SchemaError, match="'ville' has no category 'Atlantis'"):
        encode(pl.DataFrame({**PEOPLE, "ville": ["Atlantis"] * 4}), MIXED)
    sent = randomize(pl.DataFrame(PEOPLE), PAIRS, source=SeededSource(1))
    few = tally(sent, PAIRS)
    monkeypatch.setattr("mdrr.report_frames.AT_ONCE", 0)
    assert tally(sent, PAIRS) == few
    with pytest.raises(SchemaError, match=r"row 1: 'ville' has no category 'Bern'.*Use the design"):
        tally(pl.DataFrame({**REPORT, "ville": ["Bern"]}), PAIRS)


@pytest.mark.parametrize("kind", ["categorical", "enum"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("at_once", [0, 2**18])
def test_polars_dictionaries_in_slices_chunks_and_among_other_columns(
    kind, lazy, at_once, monkeypatch
):
    monkeypatch.setattr("mdrr.frames.AT_ONCE", at_once)
    frame = categoricals(WORDS, ["zzz"])[kind].with_columns(ssn=pl.Series(["1", "2", "3", "4"]))
    people = pl.concat([frame[1:], frame[:2]], rechunk=False).select("ssn", "w", "v")
    assert people.n_chunks() == 2
    sent = randomize(people.lazy() if lazy else people, exact(ORDER))
    assert isinstance(sent, pl.LazyFrame) == lazy
    sent = sent.lazy().collect()
    assert sent.columns == ["v", "w"]
    assert sent.schema["v"] == (
        pl.Categorical if kind == "categorical" else pl.Enum(["b", "a", "c"])
    )
    assert sent["v"].to_list() == ["c", "a", "b", "a", "c"]
    assert sent["w"].to_list() == ["y", "y", "x", "x", "y"]
    with pytest.raises(SchemaError, match="the frame has no rows"):
        randomize(people[:0], exact(ORDER))


@pytest.mark.skipif(not hasattr(pl, "Categories"), reason="of newer versions of Polars")
@pytest.mark.parametrize("physical", [pl.UInt8, pl.UInt16])
def test_categories_of_their_own_come_back_as_plain_categoricals(physical):
    kind = pl.Categorical(pl.Categories.random(physical=physical))
    people = pl.DataFrame(WORDS, schema=dict.fromkeys(WORDS, kind))
    sent = randomize(people, exact(ORDER))
    assert sent.schema["v"] == pl.Categorical
    assert sent.to_dict(as_series=False) == WORDS


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "categorical", "enum"])
def test_a_frame_may_come_as_narwhals_has_it(kind):
    frame = categoricals(WORDS)[kind]
    given = narwhals.from_native(frame)
    assert [c.tolist() for c in encode(given, ORDER)] == AS_CODES
    assert type(randomize(given, exact(ORDER))) is type(frame)


def test_pandas_categoricals_in_slices_keep_their_rows():
    people = categoricals(WORDS, ["zzz"])["pandas"].iloc[[3, 1, 0]]
    sent = randomize(people, exact(ORDER), keep_index=True)
    assert sent["v"].tolist() == ["b", "c", "a"]
    assert list(sent.index) == [3, 1, 0]
    people.index = ["to_arrow", "dtype", "type"]
    assert randomize(people, exact(ORDER))["v"].tolist() == ["b", "c", "a"]
    assert randomize(people.astype(object), exact(ORDER))["v"].tolist() == ["b", "c", "a"]


def test_ordered_categoricals_of_pandas_are_dictionaries_as_others_are():
    people = categoricals(WORDS)["pandas"]
    people["v"] = people["v"].cat.as_ordered()
    sent = randomize(people, exact(ORDER))
    assert sent["v"].tolist() == WORDS["v"]
    assert list(sent["v"].cat.categories) == ["b", "a", "c"]
    assert tally(narwhals.from_native(sent), exact(ORDER)).n == 4


def test_enums_of_duckdb_are_read():
    duckdb = pytest.importorskip("duckdb")
    people = duckdb.sql("select unnest(['a', 'b'])::ENUM('b', 'a', 'c') v, 'y'::ENUM('x', 'y') w")
    sent = randomize(people, exact(ORDER)).fetchall()
    assert sent == [("a", "y"), ("b", "y")]
