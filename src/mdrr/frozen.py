"""A frozen survey: the texts people read and the designs they answer under, which never change.

`mdrr survey freeze` writes it (`survey.json`) and everything later reads it through
`FrozenSurvey.from_json`: the collector, the page, the dashboard, the terminal.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mdrr.design import Design
from mdrr.errors import DesignError, MdrrError, SchemaError, is_number
from mdrr.respondent import fingerprint
from mdrr.survey import TEXTS, Question, Survey

FORMAT = 1
"""The version of its JSON form."""
_KEY = "mdrr-survey"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID = re.compile(r"[a-z2-7]{8}")
_FIELDS = frozenset((_KEY, "id", "survey", "phases", "predicted"))


@dataclass(frozen=True)
class FrozenSurvey:
    """What is asked, in people's words, under one design or, with a pilot, two.

    Arguments:
        id: eight letters and digits (base32) by which a collector knows it.
        survey: the texts, in every language.
        phases: the designs: of the only phase, or of the pilot and the main survey. Nobody is
            asked in both.
        predicted: what the plan expects of the last phase, as `{"people": n, "error": …}`; empty
            if the number of people is not known.

    Example:
        >>> survey = Survey.from_toml('''
        ... title = "Health"
        ... design = { epsilon = 1.0 }
        ... [[attributes]]
        ... name = "smokes"
        ... categories = ["no", "yes"]
        ... ''')
        >>> frozen = freeze(survey)
        >>> FrozenSurvey.from_json(frozen.to_json()) == frozen
        True
    """

    id: str
    survey: Survey
    phases: tuple[Design, ...]
    predicted: Mapping[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", tuple(self.phases))
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise SchemaError("the id of a survey has 8 letters a to z or digits 2 to 7")
        if not 1 <= len(self.phases) <= 2:
            raise DesignError(f"a survey has one phase or two, not {len(self.phases)}")
        for design in self.phases:
            if design.domain != self.survey.domain:
                raise DesignError(
                    "the design and the survey do not ask the same. Make the design from this "
                    "survey file"
                )
        for key, value in self.predicted.items():
            if value is not None and not is_number(value):
                raise SchemaError(f"predicted: {key!r} is not a number")

    @property
    def words(self) -> str:
        """The fingerprint of what people read: SHA-256 of the canonical JSON of all texts."""
        return fingerprint(texts(self.survey))

    @property
    def design(self) -> Design:
        """The design of the last phase."""
        return self.phases[-1]

    def to_dict(self) -> dict[str, Any]:
        """The frozen survey as JSON-ready values."""
        return {
            _KEY: FORMAT,
            "id": self.id,
            "survey": texts(self.survey),
            "phases": [
                {"design": {"fingerprint": design.fingerprint, **design.to_dict()}}
                for design in self.phases
            ],
            "predicted": dict(self.predicted),
        }

    def to_json(self) -> str:
        """The frozen survey as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> FrozenSurvey:
        """The frozen survey written by `to_json`, validated again."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"the frozen survey is not JSON: {error}") from None
        return cls.from_dict(fields)

    @classmethod
    def from_dict(cls, fields: object) -> FrozenSurvey:
        """The frozen survey described by `to_dict`, validated again."""
        if not isinstance(fields, Mapping) or _KEY not in fields:
            raise SchemaError(
                f"this is not a frozen survey: it has no {_KEY!r}. 'mdrr survey freeze survey.toml "
                "-o survey.json' makes one"
            )
        if fields[_KEY] != FORMAT:
            raise SchemaError(
                f"this frozen survey has format {fields[_KEY]!r}; this version reads {FORMAT}"
            )
        for key in sorted(fields.keys() ^ _FIELDS):
            has = "has no" if key in _FIELDS else "has the unknown key"
            raise SchemaError(f"the frozen survey {has} {key!r}")
        try:
            phases = tuple(Design.from_dict(phase["design"]) for phase in fields["phases"])
            if not phases:
                raise DesignError("a survey has one phase or two, not 0")
            survey = read_texts(fields["survey"], phases[0])
            return cls(fields["id"], survey, phases, dict(fields["predicted"]))
        except KeyError as error:
            raise SchemaError(f"the frozen survey has no {error.args[0]!r}") from None
        except MdrrError:
            raise
        except (TypeError, AttributeError, ValueError, RecursionError) as error:
            raise SchemaError(f"the frozen survey cannot be read: {error}") from None


def freeze(survey: Survey, design: Design | None = None) -> FrozenSurvey:
    """Give a survey an id and fix its design.

    Arguments:
        survey: the draft.
        design: made from it; what its `[design]` settings make by default.
    """
    settings = survey.settings
    if design is None:
        if settings is None:
            raise DesignError(
                'the survey has no [design]. Add one to the file, as in protocol = "planned", '
                "epsilon = 2.0, people = 1000"
            )
        design = settings.make(survey.domain)
    people = settings.people if settings else None
    id = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    others = tuple(replace(each, settings=None) for each in survey.translations)
    words = replace(survey, settings=None, translations=others)
    return FrozenSurvey(id, words, (design,), predictions(design, people))


def predictions(design: Design, people: int | None) -> dict[str, float | None]:
    """What is expected of a design when so many people answer; nothing if that is not known."""
    from mdrr.planning.plan import assume, tables_of
    from mdrr.planning.predict import predict

    if people is None:
        return {}
    found = predict(design, people, tables_of(design.domain), dependences=assume(design.domain))
    kept = ("error", "alone", "together", "worst", "forged", "guess")
    return {"people": people, **{key: getattr(found, key) for key in kept}}


def shortfall(frozen: FrozenSurvey, design: Design, n: int) -> str:
    """What n people less than expected cost, in a sentence; empty if it is not less.

    Arguments:
        frozen: says how many were expected, and which error that promised.
        design: of the phase that n people answered. Nothing is promised but of the last one.
        n: how many answered, or will.
    """
    expected, promised = frozen.predicted.get("people"), frozen.predicted.get("error")
    if expected is None or promised is None or n >= expected:
        return ""
    if design.fingerprint != frozen.design.fingerprint:
        return ""
    text = f"{n:,} of {expected:,.0f} people expected"
    if not n:
        return f"{text}."
    error = predictions(design, n)["error"] or 0.0
    return f"{text}. A typical count errs by about {error:.1%}, not {promised:.1%}."


def texts(survey: Survey) -> dict[str, Any]:
    """A survey's words as JSON-ready values, each text by language."""
    spoken = [survey, *survey.translations]
    return {
        "languages": list(survey.languages),
        **{key: {each.language: getattr(each, key) for each in spoken} for key in TEXTS},
        "questions": [
            {
                "name": attribute.name,
                "text": {each.language: each.questions[j].text for each in spoken},
                "labels": [
                    {each.language: each.questions[j].labels[k] for each in spoken}
                    for k in range(attribute.size)
                ],
                "kind": attribute.kind,
                "missing": attribute.missing,
                "public": attribute.public,
            }
            for j, attribute in enumerate(survey.domain.attributes)
        ],
    }


def read_texts(fields: Mapping[str, Any], design: Design) -> Survey:
    """The survey that `texts` wrote, over a design's attributes."""
    languages = fields["languages"]
    asked = fields["questions"]
    if not isinstance(languages, list) or not languages:
        raise SchemaError("the frozen survey has no languages")
    if [question["name"] for question in asked] != list(design.domain.names):
        raise DesignError("the questions of the frozen survey are not those of its design")

    def said(given: Mapping[str, str], language: str) -> str:
        text = given[language]
        if not isinstance(text, str) or set(given) != set(languages):
            raise SchemaError("a text of the frozen survey is not there once for each language")
        return text

    def spoken(language: str, others: tuple[Survey, ...] = ()) -> Survey:
        questions = tuple(
            Question(
                attribute,
                said(question["text"], language),
                tuple(said(label, language) for label in question["labels"]),
            )
            for attribute, question in zip(design.domain.attributes, asked, strict=True)
        )
        words: dict[str, Any] = {key: said(fields[key], language) for key in TEXTS}
        return Survey(questions=questions, language=language, translations=others, **words)

    survey = spoken(languages[0], tuple(map(spoken, languages[1:])))
    if texts(survey) != dict(fields):
        raise SchemaError("the frozen survey says of its questions what its design does not")
    return survey
