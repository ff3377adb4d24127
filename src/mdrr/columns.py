"""Optional libraries, and a data frame of columns in whichever of them the user has."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from mdrr.errors import ExtraError, MdrrError

BACKENDS = ("polars", "pandas", "pyarrow")


def require(module: str, extra: str) -> Any:
    """An optional dependency, or an error that says how to install it.

    >>> require("no_such_module_here", "frames")
    Traceback (most recent call last):
    mdrr.errors.ExtraError: no_such_module_here is not installed. Run: pip install 'mdrr[frames]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise ExtraError(f"{name} is not installed. Run: pip install 'mdrr[{extra}]'") from None


class Extra:
    """An optional library, imported when something of it is first used."""

    def __init__(self, module: str, extra: str) -> None:
        self._module, self._extra = module, extra

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks at a module's names does not use the library
            raise AttributeError(name)
        value = getattr(require(self._module, self._extra), name)
        setattr(self, name, value)  # the next time it is found at once
        return value


nw, pa, pl = (Extra(module, "frames") for module in ("narwhals", "pyarrow", "polars"))
pd = Extra("pandas", "pandas")


def is_spark(frame: object) -> bool:
    """Whether something is a Spark frame; pyspark is not imported to find out."""
    return type(frame).__module__.startswith("pyspark.sql")


def make_frame(columns: Mapping[str, Sequence[Any] | Any], backend: str | None = None) -> Any:
    """A data frame of columns by name.

    `backend` is `"polars"`, `"pandas"` or `"pyarrow"`; the first one installed by default.
    """
    if backend is None:
        backend = next((name for name in BACKENDS if importlib.util.find_spec(name)), "polars")
    if backend not in BACKENDS:
        raise MdrrError(f"there is no backend {backend!r}. Known: {', '.join(BACKENDS)}")
    library = require(backend, "pandas" if backend == "pandas" else "frames")
    if backend == "pyarrow":
        return library.table(dict(columns))
    return library.DataFrame(dict(columns))
