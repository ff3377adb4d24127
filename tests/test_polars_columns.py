import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from mdrr.domain import Attribute
from mdrr.errors import SchemaError
from mdrr.labels import encode_column
from mdrr.polars_columns import categorical_codes, labelled

SIZE = Attribute("size", ("s", "m", "l"))
ASKED = Attribute("size", ("s", "m", "?"), missing="?")


@pytest.fixture(params=[1, 2**17], ids=["compiled", "plain"], autouse=True)
def loops(request, monkeypatch):
    monkeypatch.setattr("mdrr.randomizer.COMPILED", request.param)


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
    monkeypatch.setattr("mdrr.polars_columns._MOST_PLACES", 3)
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
    monkeypatch.setattr("mdrr.polars_columns._ROWS", rows)
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
