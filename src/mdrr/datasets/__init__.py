"""UCI Adult (Becker & Kohavi, 1996): the records the paper experiments on, and their codebook.

The codebook is declared in `adult.toml` and below, not read off the records: categories are those
of the published `adult.names` in its order, with "?" (no answer) last where it is allowed; bin
edges are round numbers within the published ranges and top codes. See ATTRIBUTION.md for source
and licence.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any, Literal, TypeAlias

from mdrr.columns import BACKENDS, Extra, pa, pl, require
from mdrr.domain import Attribute, Domain, known
from mdrr.errors import SchemaError
from mdrr.survey import Survey

parquet = Extra("pyarrow.parquet", "frames")

__all__ = ["adult", "adult_domain", "adult_survey", "ADULT", "PAPER"]

Part: TypeAlias = Literal["train", "test", "all"]
Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]
Columns: TypeAlias = Literal["paper", "all"] | Sequence[str]

PARTS = {"train": ("train",), "test": ("test",), "all": ("train", "test")}


def adult_survey() -> Survey:
    """The eight questions of the paper's experiments in people's words.

    >>> adult_survey().question("sex").text
    'What is your sex?'
    """
    text = resources.files("mdrr.datasets").joinpath("adult.toml").read_text(encoding="utf-8")
    return Survey.from_toml(text, "adult.toml")


_ASKED = adult_survey().domain

PAPER = _ASKED.names
"""The eight attributes of the paper's experiments: 9·16·7·15·6·5·2·2 = 1,814,400 combinations."""


_COUNTRIES = (
    "United-States, Cambodia, England, Puerto-Rico, Canada, Germany, Outlying-US(Guam-USVI-etc), "
    "India, Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, Italy, Poland, "
    "Jamaica, Vietnam, Mexico, Portugal, Ireland, France, Dominican-Republic, Laos, Ecuador, "
    "Taiwan, Haiti, Columbia, Hungary, Guatemala, Nicaragua, Scotland, Thailand, Yugoslavia, "
    "El-Salvador, Trinadad&Tobago, Peru, Hong, Holand-Netherlands"
)


def _numeric(name: str, *edges: float) -> Attribute:
    return Attribute(name, kind="numeric", edges=edges)


ADULT = Domain(
    (
        _numeric("age", 17, *range(20, 95, 5)),  # persons over 16; 90: top code
        _ASKED.attribute("workclass"),
        # fnlwgt is the Census Bureau's sampling weight, not an answer: coarse bins suffice.
        _numeric("fnlwgt", *range(0, 350_000, 50_000), 400_000, 1_500_000),
        _ASKED.attribute("education"),
        Attribute("education-num", tuple(range(1, 17)), kind="ordinal"),  # education, in order
        *map(_ASKED.attribute, ("marital-status", "occupation", "relationship", "race", "sex")),
        # Most people have neither gain nor loss: 0 is a bin of its own.
        _numeric("capital-gain", 0, 1, 2_500, 5_000, 7_500, 10_000, 20_000, 99_999),  # the top code
        _numeric("capital-loss", 0, 1, 1_000, 1_500, 2_000, 2_500, 5_000),
        _numeric("hours-per-week", 1, 10, 20, 30, 35, 40, 45, 50, 60, 80, 99),  # 99: top code
        Attribute("native-country", (*_COUNTRIES.split(", "), "?"), missing="?"),
        _ASKED.attribute("income"),
    )
)
"""The codebook of all fifteen published columns, in the published order."""


def adult_domain(columns: Columns = "paper") -> Domain:
    """Declare the attributes of Adult.

    The paper's eight are all nominal, as the paper treats them: dependences between them are
    Cramér's V, also for education and income, which could be called ordered. Of the other seven,
    `education-num` is ordinal, `native-country` nominal and the rest numeric, in declared bins.

    Arguments:
        columns: "paper" (the eight attributes of its experiments, in the paper's order), "all"
            (the fifteen published columns), or column names in the order wanted.

    Example:
        >>> adult_domain().shape
        (9, 16, 7, 15, 6, 5, 2, 2)
        >>> adult_domain(["sex", "income"]).attribute("income").categories
        ('>50K', '<=50K')
    """
    return ADULT.project(_names(columns))


def adult(part: Part = "train", *, columns: Columns = "paper", backend: Backend = "polars") -> Any:
    """Load the records of Adult, in published order: labels as text, numbers as integers.

    There are no missing values: "?" is a category.

    Arguments:
        part: "train" (32,561 records), "test" (16,281), or "all" (train, then test).
        columns: as in `adult_domain`.
        backend: the kind of data frame: "polars", "pandas" or "pyarrow".

    Example:
        >>> people = adult(columns=["age", "income"])
        >>> people.shape, people.row(0)
        ((32561, 2), (39, '<=50K'))
    """
    if part not in PARTS:
        raise SchemaError(f"Adult has no part {part!r}. Known: {known(PARTS)}")
    if backend not in BACKENDS:
        raise SchemaError(f"there is no backend {backend!r}. Known: {known(BACKENDS)}")
    table = _read(PARTS[part], _names(columns))
    if backend == "polars":
        return pl.from_arrow(table)
    if backend == "pandas":
        require("pandas", "pandas")
        return table.to_pandas()
    return table


def _names(columns: Columns) -> tuple[str, ...]:
    if columns == "paper":
        return PAPER
    if columns == "all":
        return ADULT.names
    if isinstance(columns, str):
        raise SchemaError(
            f"columns is 'paper', 'all' or a list of names, not {columns!r}. Write [{columns!r}]"
        )
    return ADULT.project(columns).names


def _read(parts: Sequence[str], names: Sequence[str]) -> Any:
    """Read the columns as a PyArrow table, integers with 64 bits so that sums do not overflow."""
    tables = []
    for part in parts:
        file = resources.files("mdrr.datasets") / f"adult-{part}.parquet"
        tables.append(parquet.read_table(pa.BufferReader(file.read_bytes()), columns=list(names)))
    # A reader returns columns in the file's order: select puts them into the caller's.
    table = pa.concat_tables(tables).select(list(names)).combine_chunks()
    wide = [
        pa.field(field.name, pa.int64() if pa.types.is_integer(field.type) else pa.string())
        for field in table.schema
    ]
    return table.cast(pa.schema(wide))
