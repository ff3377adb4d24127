"""A report: what leaves a device, and nothing else. One type and one validator for everybody.

The randomizer on the device makes it, and whoever receives it checks it: files, tallies, a server.
Standard library alone, so that a device can load it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdrr.errors import TallyError

if TYPE_CHECKING:
    from mdrr.design import Design

_NEEDED = frozenset(("design", "questionnaire", "codes"))
_KNOWN = _NEEDED | {"id"}


@dataclass(frozen=True, slots=True)
class Report:
    """One person's randomized answers.

    Arguments:
        fingerprint: of the design it was made under; the key `design` in its JSON form.
        questionnaire: which one she answered, counted from 0.
        codes: one whole number per cluster of the questionnaire.
        id: a text by which the report is told from others, if there is one. It is no part of the
            counts, and must say nothing of the person.

    Example:
        >>> report = Report("15f2", 0, (2, 1))
        >>> report.to_json()
        '{"design":"15f2","questionnaire":0,"codes":[2,1]}'
        >>> Report.from_dict({"design": "15f2", "questionnaire": 0, "codes": [2, 1]}) == report
        True
    """

    fingerprint: str
    questionnaire: int
    codes: tuple[int, ...]
    id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.fingerprint, str):
            raise TallyError("the 'design' of a report is the fingerprint of its design, a text")
        if type(self.questionnaire) is not int or self.questionnaire < 0:
            raise TallyError("the 'questionnaire' of a report is a whole number, 0 for the first")
        if type(self.codes) is not tuple:
            if not isinstance(self.codes, tuple | list):
                raise TallyError("the 'codes' of a report are a list of whole numbers")
            object.__setattr__(self, "codes", tuple(self.codes))
        for code in self.codes:
            if type(code) is not int or code < 0:
                raise TallyError("the 'codes' of a report are whole numbers, none negative")
        if self.id is not None and not (isinstance(self.id, str) and self.id):
            raise TallyError("the 'id' of a report is a text that is not empty")

    @classmethod
    def from_dict(cls, fields: object) -> Report:
        """The report that parsed JSON describes; refused if anything is missing or left over."""
        if not isinstance(fields, Mapping) or not fields.keys() >= _NEEDED:
            raise TallyError("a report has a 'design', a 'questionnaire' and 'codes'")
        if not fields.keys() <= _KNOWN:
            key = next(key for key in fields if key not in _KNOWN)
            raise TallyError(
                f"a report holds 'design', 'questionnaire', 'codes' and perhaps 'id', and "
                f"nothing else; this one has {key!r} too"
            )
        return cls(fields["design"], fields["questionnaire"], fields["codes"], fields.get("id"))

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready values."""
        fields = {
            "design": self.fingerprint,
            "questionnaire": self.questionnaire,
            "codes": list(self.codes),
        }
        return fields if self.id is None else {**fields, "id": self.id}

    def to_json(self) -> str:
        """The report as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    def check(self, design: Design) -> None:
        """Refuse a report that nobody can have made under the design."""
        check_fingerprint(self.fingerprint, design)
        if self.questionnaire >= len(design.outcomes):
            raise TallyError(f"the questionnaire is not in 0…{len(design.outcomes) - 1}")
        outcomes = design.outcomes[self.questionnaire]
        if len(self.codes) != len(outcomes):
            raise TallyError(
                f"a report to questionnaire {self.questionnaire} needs {len(outcomes)} codes, one "
                f"per cluster, and has {len(self.codes)}"
            )
        for j, code in enumerate(self.codes):
            if code >= outcomes[j]:
                name = design.questionnaires[self.questionnaire].clusters[j].name
                raise TallyError(f"the code of {name!r} is not in 0…{outcomes[j] - 1}")


def check_fingerprint(stated: str, design: Design) -> None:
    """Refuse what states another design's fingerprint."""
    if stated != design.fingerprint:
        raise TallyError(
            f"these reports were made under the design {stated[:12]}…, not under "
            f"{design.fingerprint[:12]}…. Use the design they were made under"
        )
