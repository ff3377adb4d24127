"""Everything that does not fit is found at once, by row, and no answer is repeated."""

import polars as pl

from mdrr.domain import Attribute, Domain
from mdrr.labels import encode_column
from mdrr.misfits import misfits

DOMAIN = Domain(
    (
        Attribute("smokes", ("no", "yes", "?"), missing="?"),
        Attribute("age", kind="numeric", edges=(0, 18, 120)),
        Attribute("visits", (0, 1, 2), kind="ordinal"),
        Attribute("insured", (False, True)),
    )
)
GOOD = pl.DataFrame(
    {
        "smokes": ["no", None, "?"],
        "age": [0.0, 17.5, 120.0],
        "visits": [0, 1, 2],
        "insured": [True, False, True],
    }
)


def test_good_people_fit_in_every_spelling():
    assert misfits(GOOD, DOMAIN) == []
    assert misfits(pl.read_csv(GOOD.write_csv().encode(), infer_schema=False), DOMAIN) == []
    floats = GOOD.with_columns(pl.col("visits").cast(pl.Float64))
    assert misfits(floats, DOMAIN) == []
    bins = GOOD.with_columns(age=pl.Series(["[0, 18)", "[18, 120]", "[0, 18)"]))
    assert misfits(bins, DOMAIN) == []


def test_every_problem_is_found_with_its_rows():
    people = pl.DataFrame(
        {
            "smokes": ["no", "sometimes", None, "secret"],
            "age": ["17", "-1", "abc", ""],
            "visits": ["0", "7", None, "2.0"],
        }
    )
    found = {(each.attribute, each.rows): each.what for each in misfits(people, DOMAIN)}
    assert set(found) == {
        ("smokes", (2, 4)),
        ("age", (4,)),
        ("age", (2,)),
        ("age", (3,)),
        ("visits", (3,)),
        ("visits", (2,)),
        ("insured", ()),
    }
    assert "outside the edges, 0 to 120" in found["age", (2,)]
    assert "no answer" in found["age", (4,)]
    assert "not a number" in found["age", (3,)]
    assert "no such column" in found["insured", ()]
    for text in ("sometimes", "secret", "abc", "7"):
        assert not any(text in what for what in found.values())


def test_what_fits_can_be_encoded():
    for attribute in DOMAIN.attributes:
        codes = encode_column(GOOD[attribute.name], attribute)
        assert len(codes) == len(GOOD[attribute.name])
        assert max(codes) < attribute.size
