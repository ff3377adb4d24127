"""Results as JSON-ready fields."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any


def json_fields(value: Any) -> Any:
    """A dataclass as a dictionary, tuples as lists, and null for what JSON cannot say (∞, NaN).

    >>> from mdrr.privacy.ledger import Entry
    >>> json_fields((Entry("exact tables", math.inf), 0.5))
    [{'name': 'exact tables', 'epsilon': None, 'delta': 0.0, 'fingerprint': ''}, 0.5]
    """
    if is_dataclass(value):
        return {f.name: json_fields(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {key: json_fields(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [json_fields(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
