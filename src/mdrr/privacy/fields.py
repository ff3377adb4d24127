"""Results as JSON-ready fields."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any


def json_fields(result: Any) -> dict[str, Any]:
    """A result as a dictionary, tuples as lists, and null for what JSON cannot say (∞, NaN).

    >>> from mdrr.privacy import Entry
    >>> json_fields(Entry("exact tables", math.inf))
    {'name': 'exact tables', 'epsilon': None, 'delta': 0.0, 'fingerprint': ''}
    """
    found: dict[str, Any] = _plain(result)
    return found


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
