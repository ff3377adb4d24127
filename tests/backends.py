"""Every kind of data frame, so that one test runs on all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa


@dataclass(frozen=True)
class Backend:
    """How to make a frame of a kind, and how to read one back."""

    name: str
    kind: type
    make: Callable[[dict[str, Any]], Any]
    to_dict: Callable[[Any], dict[str, list[Any]]]


def pandas_values(frame: pd.DataFrame) -> dict[str, list[Any]]:
    return pa.Table.from_pandas(frame, preserve_index=False).to_pydict()


BACKENDS = (
    Backend("pandas", pd.DataFrame, lambda c: pa.table(c).to_pandas(), pandas_values),
    Backend(
        "polars",
        pl.DataFrame,
        lambda c: pl.from_arrow(pa.table(c)),
        lambda f: f.to_dict(as_series=False),
    ),
    Backend(
        "lazy",
        pl.LazyFrame,
        lambda c: pl.from_arrow(pa.table(c)).lazy(),
        lambda f: f.collect().to_dict(as_series=False),
    ),
    Backend("pyarrow", pa.Table, pa.table, lambda f: f.to_pydict()),
)
