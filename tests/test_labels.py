import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mdrr.domain import Attribute
from mdrr.errors import SchemaError
from mdrr.labels import categorical_codes, decode_column, encode_column, labelled

SIZE = Attribute("size", ("s", "m", "l"))
ROOMS = Attribute("rooms", (1, 2, 300))
OWNS = Attribute("owns", (False, True))
AGE = Attribute("age", kind="numeric", edges=(0, 17.5, 65, 120))
ASKED = Attribute("size", ("s", "m", "?"), missing="?")


@pytest.fixture(params=[1, 2**17], ids=["compiled", "plain"], autouse=True)
def loops(request, monkeypatch):
    monkeypatch.setattr("mdrr.randomizer.COMPILED", request.param)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["l", "s", "m"]),
        pa.array(["l", "s", "m"], pa.large_string()),
        pa.array(["l", "s", "m"], pa.string_view()),
        pa.array(["l", "s", "m"]).dictionary_encode(),
        pa.chunked_array([["l"], [], ["s", "m"]]),
        pa.chunked_array(
            [pa.array(["l"]).dictionary_encode(), pa.array(["s", "m"]).dictionary_encode()]
        ),
        pl.Series(["l", "s", "m"]),
        pl.Series(["l", "s", "m"], dtype=pl.Categorical),
        pl.Series(["l", "s", "m"], dtype=pl.Enum(["m", "l", "s"])),
    ],
    ids=str,
)
def test_text_in_every_form_has_the_code_of_its_place(column):
    codes = encode_column(column, SIZE)
    assert codes.tolist() == [2, 0, 1]
    assert codes.dtype == np.uint8


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_integers_of_every_width(kind):
    # 300 does not fit in 8 bits: nobody can have answered it there, and 1 and 2 still can.
    assert encode_column(pa.array([2, 1, 2], kind), ROOMS).tolist() == [1, 0, 1]


def test_an_integer_of_a_wide_type_is_not_folded_into_a_category():
    with pytest.raises(SchemaError, match="no category 18446744073709551615"):
        encode_column(pa.array([1, 2**64 - 1], "uint64"), ROOMS)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_whole_numbers_may_come_as_floats_as_pandas_does_with_gaps(kind):
    column = pa.array([1.0, float("nan"), 300.0], kind)
    assert encode_column(column, ROOMS, nulls=True).tolist() == [0, -1, 2]


@pytest.mark.parametrize("value", [1.5, float("inf")])
def test_floats_that_are_not_whole_are_refused_without_being_printed(value):
    with pytest.raises(SchemaError, match="'rooms' has values that are not whole") as error:
        encode_column(pa.array([1.0, value]), ROOMS)
    assert str(value) not in str(error.value)


def test_booleans_are_booleans_and_not_integers():
    assert encode_column(pa.array([True, False]), OWNS).tolist() == [1, 0]
    with pytest.raises(SchemaError, match="'owns' holds int64, its categories are bool"):
        encode_column(pa.array([1, 0]), OWNS)
    with pytest.raises(SchemaError, match="'rooms' holds bool, its categories are int"):
        encode_column(pa.array([True]), ROOMS)


def test_text_is_not_taken_for_numbers():
    with pytest.raises(SchemaError, match=r"'rooms' holds string.*Convert the column first"):
        encode_column(pa.array(["1"]), ROOMS)


@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float32", "float64"])
def test_numbers_are_binned_closed_below_and_the_last_bin_above(kind):
    assert encode_column(pa.array([0, 17, 18, 65, 120], kind), AGE).tolist() == [0, 0, 1, 2, 2]


def test_the_edges_themselves():
    below = float(np.nextafter(17.5, 0))
    assert encode_column(pa.array([17.5, below, 0.0, 120.0]), AGE).tolist() == [1, 0, 0, 2]


@pytest.mark.parametrize("value", [-1.0, 120.5, float("inf"), float("-inf")])
def test_numbers_outside_the_bins_are_counted_not_printed(value):
    with pytest.raises(SchemaError, match="1 values outside its bins") as error:
        encode_column(pa.array([5.0, value]), AGE)
    assert "5.0" not in str(error.value)
    assert "120.5" not in str(error.value)


def test_a_numeric_attribute_takes_its_bins_labels_too():
    assert encode_column(pa.array(["[65, 120]", "[0, 17.5)"]), AGE).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("column", "attribute"),
    [
        (pa.array(["s", None]), ASKED),
        (pa.array(["s", None]).dictionary_encode(), ASKED),
        (
            pa.array([5.0, float("nan")]),
            Attribute("a", kind="numeric", edges=(0, 9, 10, 20), missing="?"),
        ),
        (pa.array([5, None]), Attribute("a", kind="numeric", edges=(0, 9, 10, 20), missing="?")),
        (pa.array([1, None]), Attribute("a", (1, 2, -1), missing=-1)),
        (pa.array([False, None]), Attribute("a", (False, True), missing=True)),
    ],
    ids=str,
)
def test_a_missing_value_takes_the_declared_category(column, attribute):
    last = attribute.code(attribute.missing)
    assert encode_column(column, attribute).tolist() == [0, last]
    assert encode_column(column, attribute, nulls=True).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("column", "attribute"),
    [
        (pa.array(["s", None, None]), SIZE),
        (pa.array(["s", None, None]).dictionary_encode(), SIZE),
        (pa.array([1.0, float("nan"), None]), ROOMS),
        (pa.array([1, None, None]), AGE),
        (pa.nulls(2), SIZE),
        (pa.nulls(2), AGE),
    ],
    ids=str,
)
def test_without_one_the_error_offers_to_declare_it(column, attribute):
    with pytest.raises(SchemaError, match=r"has 2 missing values. Declare a category .*missing ="):
        encode_column(column, attribute)


@pytest.mark.parametrize("dictionary", [False, True])
def test_an_unknown_label_is_named_and_known_ones_of_people_are_not(dictionary):
    column = pa.array(["l", "xl", "s"])
    with pytest.raises(SchemaError) as error:
        encode_column(column.dictionary_encode() if dictionary else column, SIZE)
    assert str(error.value) == (
        "row 2: 'size' has no category 'xl'. Known: 's', 'm', 'l'. "
        "Add it to the survey file or map it first"
    )


def test_a_label_that_differs_by_blanks_or_case_is_recognised_in_the_error():
    with pytest.raises(SchemaError, match=r"no category ' Private'. Did you mean 'Private'\?"):
        encode_column(pa.array([" Private"]), Attribute("work", ("Private", "Public")))


def test_a_dictionary_may_list_what_nobody_answered():
    categorical = pd.Categorical(["s", "m"], categories=["xl", "m", "s"])
    assert encode_column(pa.array(categorical), SIZE).tolist() == [0, 1]


def test_dictionaries_of_one_attribute_are_not_taken_for_each_other():
    """What a dictionary's words are is remembered, for the same words and attribute alone."""
    for words in (["s", "m", "l"], ["l", "m", "s"], ["m", "l"], ["s", "m", "l"]):
        column = pa.DictionaryArray.from_arrays(pa.array(range(len(words))), words)
        assert [SIZE.categories[code] for code in encode_column(column, SIZE)] == words
    yes = pa.DictionaryArray.from_arrays([0], pa.array([True]))
    assert encode_column(yes, Attribute("x", (False, True))).tolist() == [1]
    with pytest.raises(SchemaError, match="'x' holds"):  # though (0, 1) == (False, True)
        encode_column(yes, Attribute("x", (0, 1)))


def test_codes_and_labels_are_inverse_and_null_is_nobody():
    for attribute in (SIZE, ROOMS, OWNS, AGE):
        codes = np.array([*range(attribute.size), -1])
        labels = decode_column(codes, attribute)
        assert labels.to_pylist() == [*attribute.categories, None]
        assert encode_column(labels, attribute, nulls=True).tolist() == codes.tolist()


def test_many_categories_use_wider_codes():
    wide = Attribute("id", tuple(range(40_000)))
    codes = encode_column(pa.array([39_999, 0]), wide)
    assert codes.dtype == np.uint16
    assert codes.tolist() == [39_999, 0]
    assert encode_column(pa.array([39_999, None]), wide, nulls=True).tolist() == [39_999, -1]


def own(words, physical=pl.UInt32, before=()):
    """A Categorical of categories of its own, some of which were there before."""
    if not hasattr(pl, "Categories"):
        pytest.skip("this version of Polars has no categories of their own")
    kind = pl.Categorical(pl.Categories.random(physical=physical))
    first = pl.Series(before, dtype=kind)
    return pl.Series(words, dtype=kind), first


@pytest.mark.parametrize("physical", [pl.UInt8, pl.UInt16, pl.UInt32])
@pytest.mark.parametrize("before", [(), ("l", "xl"), ("other", "l", "m", "more")])
def test_categoricals_of_every_width_and_order_have_the_attributes_codes(physical, before):
    column, _kept = own(["l", "s", "m", "s"], physical, before)
    codes = categorical_codes(column, SIZE)
    assert codes.tolist() == [2, 0, 1, 0]
    assert codes.dtype == np.uint8


def test_slices_and_chunks_of_a_categorical():
    column, _ = own(["l", "s", "m", "s"])
    assert categorical_codes(column[1:3], SIZE).tolist() == [0, 1]
    chunks = pl.concat([column, column[:1]], rechunk=False)
    assert chunks.n_chunks() == 2
    assert categorical_codes(chunks, SIZE).tolist() == [2, 0, 1, 0, 2]
    assert categorical_codes(column[:0], SIZE).tolist() == []


def test_reading_adds_no_label_to_those_of_polars():
    column, _ = own(["s"])
    assert categorical_codes(column, SIZE).tolist() == [0]
    other = pl.Series(["new"], dtype=column.dtype)
    assert other.to_physical().to_list() == [1]


def test_a_row_without_a_category_is_named_and_labels_nobody_has_are_not():
    column, _kept = own(["l", "s"], before=["xl", "xxl"])
    assert encode_column(column, SIZE).tolist() == [2, 0]
    for before in [(), ("s", "m", "l"), ("xl", "s")]:  # before, within and behind the known ones
        wrong, _kept = own(["l", "xl", "s", "xl"], before=before)
        with pytest.raises(SchemaError, match="row 2: 'size' has no category 'xl'"):
            encode_column(wrong, SIZE)
    with pytest.raises(SchemaError, match="row 1: 'size' has no category 'xl'"):
        encode_column(own(["xl"])[0], SIZE)


def test_missing_values_of_a_categorical():
    column, _ = own(["s", None, "m"])
    assert categorical_codes(column, ASKED) is None
    assert encode_column(column, ASKED).tolist() == [0, 2, 1]
    assert encode_column(column, ASKED, nulls=True).tolist() == [0, -1, 1]
    with pytest.raises(SchemaError, match="row 2: 'size' has 1 missing values"):
        encode_column(column, SIZE)


def test_labels_among_very_many_are_found_otherwise(monkeypatch):
    column, _kept = own(["m", "s"], before=["a", "b", "c"])
    monkeypatch.setattr("mdrr.labels._MOST_PLACES", 3)
    assert categorical_codes(column, SIZE) is None
    assert encode_column(column, SIZE).tolist() == [1, 0]


def test_numbers_are_no_labels_of_a_categorical():
    column, _ = own(["x", "y"])
    with pytest.raises(SchemaError, match="its categories are int"):
        encode_column(column, Attribute("rooms", (0, 1)))


def test_versions_of_polars_that_list_no_labels(monkeypatch):
    column, _ = own(["l", "s", "m"])
    monkeypatch.delattr(pl.Categories, "__getitem__")
    assert categorical_codes(column, SIZE) is None
    assert encode_column(column, SIZE).tolist() == [2, 0, 1]


def test_versions_of_polars_that_say_none_of_a_label_they_lack(monkeypatch):
    """There, `in` and `for` ask for number after number and never end."""
    column, _ = own(["l", "s"])
    place = pl.Categories.__getitem__
    held = {"l": place(column.dtype.categories, "l"), "s": place(column.dtype.categories, "s")}
    monkeypatch.setattr(pl.Categories, "__getitem__", lambda labels, word: held.get(word))
    for name in ("__contains__", "__iter__"):
        monkeypatch.delattr(pl.Categories, name, raising=False)
    assert categorical_codes(column, SIZE).tolist() == [2, 0]


@pytest.mark.parametrize(
    "column", [pa.array(["s"]), pl.Series(["s"]), pl.Series(["s"], dtype=pl.Enum(["s", "m"]))]
)
def test_other_columns_are_not_taken(column):
    assert categorical_codes(column, SIZE) is None


@pytest.mark.parametrize("rows", [2, 2**20])
@pytest.mark.parametrize("codes", ["uint8", "uint16", "int8", "int64"])
@pytest.mark.parametrize("kind", ["Enum", "Categorical", None])
def test_codes_as_series_of_labels(kind, codes, rows, monkeypatch):
    monkeypatch.setattr("mdrr.labels._ROWS", rows)
    wanted = {"Enum": pl.Enum(["s", "m", "l"]), "Categorical": pl.Categorical, None: pl.String}
    for places in ([2, 0, 1, 2, 2], [], [2, -1, 1] if codes.startswith("i") else [0]):
        made = labelled("size", np.array(places, codes), SIZE, kind)
        assert made.name == "size"
        assert made.dtype == wanted[kind]
        assert made.to_list() == [SIZE.categories[i] if i >= 0 else None for i in places]
        assert len(made) < 2 or not any(made.flags.values())


def test_codes_as_other_labels_and_as_numbers():
    codes = np.array([1, -1, 0])
    rooms = labelled("rooms", codes, Attribute("rooms", (1, 300)), None)
    assert (rooms.dtype, rooms.to_list()) == (pl.Int64, [300, None, 1])
    owns = labelled("owns", codes, Attribute("owns", (False, True)), None)
    assert (owns.dtype, owns.to_list()) == (pl.Boolean, [True, None, False])
    for kind in (np.int64, np.uint16):
        numbers = labelled("n", np.array([7, 3], kind), None, None)
        assert (numbers.dtype, numbers.to_list()) == (pl.Int64, [7, 3])
    assert labelled("n", np.array([2**40, -1]), None, None).to_list() == [2**40, None]
