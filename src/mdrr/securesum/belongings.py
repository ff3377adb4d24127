"""The files that participants bring: their keys, the domain that is asked about, their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mdrr.domain import Domain, known
from mdrr.errors import SchemaError
from mdrr.securesum.keys import KEY_BYTES, Identity
from mdrr.securesum.private import locked, refuse_if_others_read, write_atomically
from mdrr.securesum.wire import Fields, canonical, encode64, parse
from mdrr.source import Source


def load_or_make(path: Path, source: Source, operator: str = "") -> Identity:
    """The identity in a file of JSON, for its owner alone; a fresh one if there is no such file.

    Keep it: earlier groups are recognised by these keys, and an aggregator opens its ledger with
    them.

    Arguments:
        path: the file.
        source: where a fresh identity's keys come from.
        operator: who runs it, for an aggregator.
    """
    if path.is_dir():
        raise SchemaError(f"{path} is a folder. Name a file for the keys")
    if not path.exists():
        with locked(path):  # of two processes that start at once, one makes the keys of both
            if not path.exists():
                signing, sealing = source.read(KEY_BYTES), source.read(KEY_BYTES)
                fields = {"signing": encode64(signing), "sealing": encode64(sealing)}
                write_atomically(path, canonical(fields))
    refuse_if_others_read(path, "remove the file, and new keys are made")
    with Fields(parse(path.read_bytes()), f"the key file {path}") as read:
        signing, sealing = read.data("signing", KEY_BYTES), read.data("sealing", KEY_BYTES)
        return Identity(signing, sealing, operator)


def read_domain(name: str) -> Domain:
    """The domain of a survey file (.toml), a design or a list of attributes (.json), or of Adult.

    Arguments:
        name: a path, or "adult".
    """
    if name == "adult":
        from mdrr.datasets import adult_domain

        return adult_domain()
    path = Path(name)
    if path.suffix == ".json":
        fields = _read_json(path)
        listed = fields.get("attributes") if isinstance(fields, dict) else fields
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise SchemaError(f"{name} declares no attributes. Give a survey file or a design")
        return Domain.from_dict(listed)
    from mdrr.survey import Survey  # late: a party needs neither this nor scipy behind it

    return Survey.load(path).domain


def read_record(path: Path) -> dict[str, Any]:
    """One person's answers, attribute name to label, not yet compared with what is asked.

    Arguments:
        path: a JSON object.
    """
    answers = _read_json(path)
    if not isinstance(answers, dict):
        raise SchemaError(f"{path} must hold one JSON object: attribute to label")
    return answers


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        raise SchemaError(f"{path} is not JSON") from None


def record_codes(answers: Mapping[str, Any], domain: Domain, where: Path) -> list[int]:
    """Answers as codes, in the domain's order; attributes not asked are ignored.

    Arguments:
        answers: attribute name to label.
        domain: what is asked.
        where: the file they came from, for errors.
    """
    for name in domain.names:
        if name not in answers:
            raise SchemaError(f"{where} has no answer to {name!r}, which is asked")
    codes = []
    for one in domain.attributes:
        try:
            codes.append(one.code(answers[one.name]))
        except SchemaError:  # it repeats the answer, and its advice is for those who ask
            raise SchemaError(
                f"{where}: the answer to {one.name!r} is none of those offered. Write one of "
                f"these, letter by letter: {known(one.categories, one.size)}"
            ) from None
    return codes
