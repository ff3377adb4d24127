"""What participants bring: the domain that is asked about, and one person's answers to it."""

from __future__ import annotations

import json
from pathlib import Path

from mdrr.domain import Domain
from mdrr.errors import SchemaError


def read_domain(name: str) -> Domain:
    """The domain of a survey file (.toml), of a JSON list of attributes, or of Adult.

    Arguments:
        name: a path, or "adult".
    """
    if name == "adult":
        from mdrr.datasets import adult_domain

        return adult_domain()
    path = Path(name)
    if path.suffix == ".json":
        try:
            return Domain.from_dict(json.loads(path.read_text()))
        except json.JSONDecodeError:
            raise SchemaError(f"{name} is not JSON") from None
    from mdrr.survey import Survey  # late: a party needs neither this nor scipy behind it

    return Survey.load(path).domain


def read_record(path: Path, domain: Domain) -> list[int]:
    """One person's answers as codes, in the domain's order; attributes not asked are ignored.

    Arguments:
        path: a JSON object, attribute name to label.
        domain: what is asked.
    """
    try:
        answers = json.loads(path.read_text())
    except json.JSONDecodeError:
        raise SchemaError(f"{path} is not JSON") from None
    if not isinstance(answers, dict):
        raise SchemaError(f"{path} must hold one JSON object: attribute to label")
    for name in domain.names:
        if name not in answers:
            raise SchemaError(f"{path} has no answer to {name!r}, which is asked")
    return [one.code(answers[one.name]) for one in domain.attributes]
