"""A survey file: what is asked, in people's words, and how it is to be randomized.

TOML. One `[[attributes]]` table per question with `name`, `categories` (or `edges` for a numeric
one), and optionally `kind`, `missing`, `public` (reported as it is, outside ε), `question` (the
text shown) and `labels` (the text shown for each category). Texts for people (`title`,
`introduction`, `purpose`, `consent`, `retention`, `contact`) and `[design]` settings are optional.
With `languages = ["en", "de"]` any text may be a table, `{ en = "…", de = "…" }`; the first
language is the default.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mdrr.domain import Attribute, Domain, attribute_faults, bins_in_words, known
from mdrr.errors import MdrrError, SchemaError, did_you_mean
from mdrr.settings import Settings as Settings
from mdrr.settings import making_faults, setting_faults

TEXTS = ("title", "introduction", "purpose", "consent", "retention", "contact")
"""What a survey says to the people it asks, beside its questions."""
ENGLISH = "en"

_ATTRIBUTE_KEYS = ("name", "kind", "categories", "edges", "missing", "public", "question", "labels")
_SURVEY_KEYS = (*TEXTS, "languages", "design", "attributes")
_SETTINGS = tuple(each.name for each in fields(Settings))
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True)
class Question:
    """One attribute and the words it is asked in.

    Arguments:
        attribute: what can be answered.
        text: the question; the attribute's name by default.
        labels: the words for each category, in order; the categories themselves by default.
    """

    attribute: Attribute
    text: str = ""
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name, categories = self.attribute.name, self.attribute.categories
        object.__setattr__(self, "text", self.text or name)
        object.__setattr__(self, "labels", tuple(self.labels) or tuple(map(str, categories)))
        if len(self.labels) != len(categories):
            raise SchemaError(
                f"{name!r} has {len(categories)} categories and {len(self.labels)} labels"
            )

    @property
    def answers(self) -> tuple[str, ...]:
        """The labels as people read them: bins without a label of their own are put in words."""
        edges = self.attribute.edges
        bins = () if edges is None else bins_in_words(edges)
        rest = self.labels[len(bins) :]
        pairs = zip(bins, self.labels, self.attribute.categories, strict=False)
        return (*(text if label == bin else label for text, label, bin in pairs), *rest)


@dataclass(frozen=True)
class Survey:
    """A declared survey in one language: its texts, questions and default design settings.

    Arguments:
        title: its name.
        questions: what is asked, in order.
        introduction: what people read first.
        settings: how to make its design, if the file says so.
        purpose: what the answers are for.
        consent: what people agree to before anything is sent.
        retention: how long the randomized answers are kept.
        contact: whom to ask.
        language: of these texts, such as `"en"` or `"pt-BR"`.
        translations: the same survey in other languages.

    Example:
        >>> survey = Survey.from_toml('''
        ... title = "Health"
        ... languages = ["en", "de"]
        ... [[attributes]]
        ... name = "smokes"
        ... question = { en = "Do you smoke?", de = "Rauchen Sie?" }
        ... categories = ["no", "yes"]
        ... ''')
        >>> survey.domain.names, survey.questions[0].text
        (('smokes',), 'Do you smoke?')
        >>> survey.spoken("de").questions[0].text
        'Rauchen Sie?'
    """

    title: str
    questions: tuple[Question, ...]
    introduction: str = ""
    settings: Settings | None = None
    purpose: str = ""
    consent: str = ""
    retention: str = ""
    contact: str = ""
    language: str = ENGLISH
    translations: tuple[Survey, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        object.__setattr__(self, "translations", tuple(self.translations))
        self.domain  # noqa: B018  made now, so that a bad one is refused now
        for fault in language_faults(self.languages):
            raise SchemaError(fault)
        for other in self.translations:
            if other.domain != self.domain:
                raise SchemaError(f"the survey in {other.language!r} asks something else")

    @cached_property
    def domain(self) -> Domain:
        """What can be answered."""
        return Domain(tuple(question.attribute for question in self.questions))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages it is written in, the default first."""
        return (self.language, *(other.language for other in self.translations))

    def spoken(self, language: str) -> Survey:
        """The survey in one of its languages."""
        for each in (self, *self.translations):
            if each.language == language:
                return each
        raise SchemaError(
            f"the survey has no texts in {language!r}. It has {known(self.languages)}"
        )

    def question(self, name: str) -> Question:
        """The question of an attribute."""
        return self.questions[self.domain.index(name)]

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey file.

        Arguments:
            path: a TOML file; an error names it, the table and the key.
        """
        return cls.from_toml(Path(path).read_text(encoding="utf-8-sig"), str(path))

    @classmethod
    def from_toml(cls, text: str, where: str = "the survey") -> Survey:
        """Read a survey from TOML text; `where` stands at the head of errors."""
        try:
            return cls.from_dict(tomllib.loads(text), where)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"{where}: not TOML: {error}") from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "the survey") -> Survey:
        """Read a survey from the values a TOML file holds."""
        found: list[str] = []
        read = _survey(content, found)
        if read is None:
            raise SchemaError(f"{where}: {found[0]}")
        return read


def problems(text: str) -> list[str]:
    """Everything that is wrong with a survey file, each with its table and key.

    >>> problems("design = 3")
    ['no [[attributes]]. Declare one table per question', '[design]: not a table']
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [f"not TOML: {error}"]
    found: list[str] = []
    survey = _survey(content, found)
    listed = [each for each in _list(content) if isinstance(each, Mapping) and "name" in each]
    names = [each["name"] for each in listed]
    public = [each["name"] for each in listed if each.get("public") is True]
    if names and len(public) == len(names):
        found.append("all attributes are public, so there is nothing to randomize")
    if isinstance(content.get("design"), Mapping):
        given = {key: content["design"][key] for key in _SETTINGS if key in content["design"]}
        found += [f"[design]: {fault}" for fault in making_faults(given, names, public)]
    # A planned design exists for every ε that settings take, and planning takes a while.
    if survey and not found and survey.settings and survey.settings.protocol != "planned":
        try:
            survey.settings.make(survey.domain)
        except MdrrError as error:
            found.append(f"[design]: {error}")
    return found


def _list(content: Mapping[str, Any]) -> list[Any]:
    listed = content.get("attributes")
    return listed if isinstance(listed, list) else []


def _survey(content: Mapping[str, Any], found: list[str]) -> Survey | None:
    """The survey, or None after its problems were put into `found`, the first first."""
    _only(content, _SURVEY_KEYS, found)
    languages = _languages(content, found)
    texts: dict[str, Any] = {
        key: _spoken(content.get(key, ""), key, languages, found) for key in TEXTS
    }
    listed = _list(content)
    questions = [_question(each, i, languages, found) for i, each in enumerate(listed, start=1)]
    if not listed:
        found.append("no [[attributes]]. Declare one table per question")
    named = Counter(
        str(each["name"]) for each in listed if isinstance(each, Mapping) and "name" in each
    )
    found += [f"the attribute {n!r} is declared twice" for n, times in named.items() if times > 1]
    settings = _settings(content["design"], found) if "design" in content else None
    if found:
        return None
    spoken = [
        Survey(
            questions=tuple(question[j] for question in questions),
            settings=settings,
            language=language,
            **{key: words[j] for key, words in texts.items()},
        )
        for j, language in enumerate(languages)
    ]
    return replace(spoken[0], translations=tuple(spoken[1:]))


def language_faults(languages: Sequence[str]) -> Iterator[str]:
    """Everything that is wrong with a survey's languages."""
    for language, times in Counter(languages).items():
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            yield f"{language!r} is no language. Write it as in 'en' or 'pt-BR'"
        if times > 1:
            yield f"languages: {language!r} is named twice"


def _languages(content: Mapping[str, Any], found: list[str]) -> list[str]:
    given = content.get("languages", [ENGLISH])
    if not (isinstance(given, list) and given and all(isinstance(each, str) for each in given)):
        found.append(f"languages = {given!r} is not a list of languages, as in ['en', 'de']")
        return [ENGLISH]
    found += language_faults(given)
    return list(dict.fromkeys(given))


def _question(content: Any, number: int, languages: list[str], found: list[str]) -> list[Question]:
    """One attribute's question in each language."""
    named = isinstance(content, Mapping) and "name" in content
    where = f"attribute {number}" + (f" ({content['name']!r})" if named else "")
    inside: list[str] = []
    made: list[Question] = []
    if not isinstance(content, Mapping):
        inside.append("not a table. Write [[attributes]]")
    else:
        _only(content, _ATTRIBUTE_KEYS, inside)
        texts = _spoken(content.get("question", ""), "question", languages, inside)
        bad = [key for key in ("categories", "edges") if not isinstance(content.get(key, []), list)]
        inside += [f"{key} = {content[key]!r} is not a list" for key in bad]
        fields: dict[str, Any] = {"kind": "numeric"} if "edges" in content else {}
        fields |= {key: content[key] for key in content if key not in ("question", "labels", *bad)}
        inside += [] if bad else attribute_faults(fields)
        attribute = None if inside else Attribute.from_dict(fields)
        categories = attribute.categories if attribute else fields.get("categories", [])
        labels = _labels(content.get("labels", {}), categories, languages, inside)
        if attribute and not inside:
            made = [Question(attribute, *each) for each in zip(texts, labels, strict=True)]
    found += [f"{where}: {problem}" for problem in inside]
    return made


def _labels(
    given: object, categories: Sequence[Any], languages: list[str], found: list[str]
) -> list[tuple[str, ...]]:
    """The words for each category; a boolean or integer category is a key in its TOML spelling."""
    keys = [str(c).lower() if isinstance(c, bool) else str(c) for c in categories]
    if not isinstance(given, Mapping):
        found.append('labels must be a table, as in labels = { F = "Female" }')
        return []
    found += [
        f"labels: {key!r} is not a category{did_you_mean(key, keys)}"
        for key in given
        if key not in keys
    ]
    words = {
        key: _spoken(given[key], f"labels: the words for {key!r}", languages, found)
        for key in keys
        if key in given
    }
    return [
        tuple(words[key][j] if key in words else key for key in keys) for j in range(len(languages))
    ]


def _settings(content: object, found: list[str]) -> Settings | None:
    if not isinstance(content, Mapping):
        found.append("[design]: not a table")
        return None
    inside: list[str] = []
    _only(content, _SETTINGS, inside)
    clusters = content.get("clusters")
    if clusters is not None:
        if not isinstance(clusters, list) or not all(isinstance(c, list) for c in clusters):
            inside.append("clusters is a list of lists, as in [['a', 'b'], ['c']]")
        else:
            clusters = tuple(tuple(cluster) for cluster in clusters)
    inside += setting_faults({key: content[key] for key in _SETTINGS if key in content})
    found += [f"[design]: {problem}" for problem in inside]
    return None if inside else Settings(**{**content, "clusters": clusters})


def _only(content: Mapping[str, Any], keys: tuple[str, ...], found: list[str]) -> None:
    found += [
        f"there is no key {key!r}. Known: {known(keys, limit=len(keys))}{did_you_mean(key, keys)}"
        for key in content
        if key not in keys
    ]


def _spoken(value: object, what: str, languages: list[str], found: list[str]) -> list[str]:
    if isinstance(value, str):
        return [value] * len(languages)
    if not isinstance(value, Mapping):
        words = what.startswith("labels")
        found.append(f"{what} are not text" if words else f"{what} = {value!r} is not text")
        return [""] * len(languages)
    for language, text in value.items():
        if language not in languages:
            found.append(
                f"{what}: {language!r} is not among the survey's languages, {known(languages)}"
            )
        elif not isinstance(text, str):
            found.append(f"{what}: the words in {language!r} are not text")
    lacking = [language for language in languages if language not in value]
    found += [f"{what}: there are no words in {language!r}" for language in lacking]
    return [str(value.get(language, "")) for language in languages]
