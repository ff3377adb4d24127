"""Adult is as published, fits its declared codebook, and comes in every kind of frame."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mdrr import datasets
from mdrr.columns import Extra
from mdrr.datasets import ADULT, PAPER, adult, adult_domain
from mdrr.errors import ExtraError, SchemaError

ROWS = {"train": 32_561, "test": 16_281, "all": 48_842}


@pytest.mark.parametrize("part", ["train", "test", "all"])
def test_size_and_columns(part):
    assert adult(part).shape == (ROWS[part], 8)
    assert tuple(adult(part).columns) == PAPER
    assert tuple(adult(part, columns="all").columns) == ADULT.names


def test_all_is_train_then_test():
    both = adult("all", columns="all")
    assert both.head(ROWS["train"]).equals(adult("train", columns="all"))
    assert both.tail(ROWS["test"]).equals(adult("test", columns="all"))


def test_default_is_the_papers_data():
    people = adult()
    assert isinstance(people, pl.DataFrame)
    assert people.unique().height == 7_783
    assert adult_domain().names == PAPER
    assert adult_domain().size == 1_814_400
    assert adult_domain().shape == (9, 16, 7, 15, 6, 5, 2, 2)
    assert {attribute.kind for attribute in adult_domain().attributes} == {"nominal"}


@pytest.mark.parametrize("attribute", ADULT.attributes, ids=lambda attribute: attribute.name)
def test_data_fits_the_declared_domain(attribute):
    values = adult("all", columns=[attribute.name])[attribute.name]
    assert values.null_count() == 0
    if attribute.kind == "numeric":
        counts, _ = np.histogram(values.to_numpy(), bins=np.array(attribute.edges))
        assert counts.sum() == ROWS["all"]
        assert counts.min() > 0
    else:
        assert set(values.unique()) == set(attribute.categories)


def test_no_answer_is_the_last_category():
    with_missing = [a for a in ADULT.attributes if "?" in a.categories]
    assert [a.name for a in with_missing] == ["workclass", "occupation", "native-country"]
    assert all(a.missing == "?" == a.categories[-1] for a in with_missing)
    assert ADULT.attribute("native-country").size == 42


def test_education_num_is_education_in_order():
    pairs = adult("all", columns=["education-num", "education"]).unique().sort("education-num")
    assert pairs["education-num"].to_list() == list(ADULT.attribute("education-num").categories)
    assert pairs["education"].n_unique() == 16
    assert pairs["education"][0] == "Preschool"
    assert pairs["education"][15] == "Doctorate"


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)],
)
def test_backends_hold_the_same_records(backend, kind):
    columns = ["income", "age", "fnlwgt", "sex"]  # not in the file's order
    frame = adult("test", columns=columns, backend=backend)
    assert isinstance(frame, kind)
    as_polars = frame if backend == "polars" else pl.DataFrame(frame)
    assert as_polars.equals(adult("test", columns="all").select(columns))
    assert as_polars.dtypes == [pl.String, pl.Int64, pl.Int64, pl.String]


def test_domain_follows_the_order_asked():
    assert adult_domain(["income", "age"]).names == ("income", "age")
    assert adult_domain("all").names == tuple(adult(columns="all").columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"part": "validation"}, "no part 'validation'.*'train', 'test', 'all'"),
        ({"backend": "spark"}, "no backend 'spark'.*'polars', 'pandas', 'pyarrow'"),
        ({"columns": ["sex", "gender"]}, "no attribute 'gender'"),
        ({"columns": ["sex", "sex"]}, "'sex' is declared twice"),
        ({"columns": "sex"}, r"Write \['sex'\]"),
        ({"columns": []}, "at least one attribute"),
    ],
)
def test_bad_arguments_say_what_is_known(arguments, message):
    with pytest.raises(SchemaError, match=message):
        adult(**arguments)


@pytest.mark.parametrize(
    ("backend", "package", "extra"),
    [
        ("polars", "polars", "frames"),
        ("pandas", "pandas", "pandas"),
        ("pyarrow", "pyarrow", "frames"),
        ("polars", "pyarrow", "frames"),
    ],
)
def test_missing_package_says_what_to_install(monkeypatch, backend, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("pa", "parquet", "pl"):  # as if they were used for the first time
        used = getattr(datasets, name)
        monkeypatch.setattr(datasets, name, Extra(used._module, used._extra))
    with pytest.raises(
        ExtraError, match=rf"{package} is not installed.*pip install 'mdrr\[{extra}\]'"
    ):
        adult(backend=backend)


def test_the_codebook_needs_no_frames():
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('polars', 'pandas', 'pyarrow', 'narwhals')))\n"
        "import mdrr.datasets\n"
        "print(mdrr.datasets.adult_domain().size)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "1814400\n", run.stderr
