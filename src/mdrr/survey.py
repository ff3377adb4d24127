"""A survey file: what is asked, in people's words, and how it is to be randomized.

TOML. One `[[attributes]]` table per question with `name`, `categories` (or `edges` for a numeric
one), and optionally `kind`, `missing`, `public` (reported as it is, outside ε), `question` (the
text shown) and `labels` (the text shown for each category). `title`, `introduction` and default
`[design]` settings are optional.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from mdrr.design import Design
from mdrr.domain import Attribute, Domain, known
from mdrr.errors import DesignError, MdrrError, SchemaError, did_you_mean
from mdrr.protocols import clustered, independent, joint, sampled

PROTOCOLS = ("independent", "joint", "clusters", "sampled")

_GOES_WITH = {
    "clusters": "clusters",
    "size": "sampled",
    "report": "sampled",
    "ordered": "independent",
}
_ATTRIBUTE_KEYS = ("name", "kind", "categories", "edges", "missing", "public", "question", "labels")
_SURVEY_KEYS = ("title", "introduction", "design", "attributes")


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


@dataclass(frozen=True)
class Settings:
    """How to make a design: one of the protocols and its parameters.

    Arguments:
        protocol: `"independent"`, `"joint"`, `"clusters"` or `"sampled"`.
        p: probability of keeping each true answer; not for `"sampled"`.
        epsilon: instead of p, what one person spends; `{name: ε}` too for `"independent"`.
        clusters: for `"clusters"`, a partition of the attributes.
        size: for `"sampled"`, how many attributes each person is asked.
        report: for `"sampled"`, `"cell"` or `"subset"`: see `mdrr.sampled`.
        ordered: for `"independent"`, `"constant"` or `"banded"`: see `mdrr.independent`.

    Example:
        >>> domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
        >>> Settings("joint", p=0.5).make(domain).clusters[0].name
        'a+b'
    """

    protocol: str = "independent"
    p: float | None = None
    epsilon: float | Mapping[str, float] | None = None
    clusters: tuple[tuple[str, ...], ...] | None = None
    size: int | None = None
    report: str | None = None
    ordered: str | None = None

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise DesignError(
                f"there is no protocol {self.protocol!r}. Known: {known(PROTOCOLS)}"
                f"{did_you_mean(self.protocol, PROTOCOLS)}"
            )
        numbers = {"p": int | float, "size": int, "epsilon": int | float | Mapping}
        for key, wanted in numbers.items():
            value = getattr(self, key)
            if value is not None and (isinstance(value, bool) or not isinstance(value, wanted)):
                raise DesignError(f"{key} = {value!r} is not a number")
        if self.protocol == "clusters" and self.clusters is None:
            raise DesignError("protocol 'clusters' needs clusters, as in [['a', 'b'], ['c']]")
        if self.protocol == "sampled" and self.size is None:
            raise DesignError("protocol 'sampled' needs size: how many attributes each is asked")
        for key, protocol in _GOES_WITH.items():
            if getattr(self, key) is not None and self.protocol != protocol:
                raise DesignError(f"{key} goes with protocol {protocol!r}, not {self.protocol!r}")

    def make(self, domain: Domain) -> Design:
        """The design of these settings over a domain."""
        if self.protocol == "independent":
            ordered: Any = self.ordered or "constant"
            return independent(domain, p=self.p, epsilon=self.epsilon, ordered=ordered)
        if isinstance(self.epsilon, Mapping):
            raise DesignError("one ε per attribute goes with protocol 'independent'")
        if self.protocol == "joint":
            return joint(domain, p=self.p, epsilon=self.epsilon)
        if self.protocol == "clusters":
            return clustered(domain, self.clusters or (), p=self.p, epsilon=self.epsilon)
        if self.p is not None or self.epsilon is None:
            raise DesignError("protocol 'sampled' needs epsilon, and takes no p")
        report: Any = self.report or "cell"
        return sampled(domain, self.size or 0, epsilon=self.epsilon, report=report)


@dataclass(frozen=True)
class Survey:
    """A declared survey: title, questions in people's words, and default design settings.

    Example:
        >>> survey = Survey.from_toml('''
        ... title = "Health"
        ... [[attributes]]
        ... name = "smokes"
        ... question = "Do you smoke?"
        ... categories = ["no", "yes"]
        ... ''')
        >>> survey.domain.names, survey.questions[0].text
        (('smokes',), 'Do you smoke?')
    """

    title: str
    questions: tuple[Question, ...]
    introduction: str = ""
    settings: Settings | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        self.domain  # noqa: B018  made now, so that a bad one is refused now

    @cached_property
    def domain(self) -> Domain:
        """What can be answered."""
        return Domain(tuple(question.attribute for question in self.questions))

    def question(self, name: str) -> Question:
        """The question of an attribute."""
        return self.questions[self.domain.index(name)]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a survey file.

        Arguments:
            path: a TOML file; an error names it, the table and the key.
        """
        return cls.from_toml(Path(path).read_text(encoding="utf-8"), str(path))

    @classmethod
    def from_toml(cls, text: str, where: str = "the survey") -> Self:
        """Read a survey from TOML text; `where` stands at the head of errors."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"{where}: not TOML: {error}") from None
        return cls.from_dict(content, where)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "the survey") -> Self:
        """Read a survey from the values a TOML file holds."""
        with _within(where):
            _only(content, _SURVEY_KEYS)
            listed = content.get("attributes")
            if not isinstance(listed, list) or not listed:
                raise SchemaError("no [[attributes]]. Declare one table per question")
            return cls(
                title=_text(content, "title"),
                questions=tuple(_question(each, i) for i, each in enumerate(listed, start=1)),
                introduction=_text(content, "introduction"),
                settings=_settings(content["design"]) if "design" in content else None,
            )


@contextmanager
def _within(where: str) -> Iterator[None]:
    """Errors say where in the file they are."""
    try:
        yield
    except MdrrError as error:
        raise SchemaError(f"{where}: {error}") from None


def _question(content: Any, number: int) -> Question:
    named = isinstance(content, Mapping) and "name" in content
    with _within(f"attribute {number}" + (f" ({content['name']!r})" if named else "")):
        if not isinstance(content, Mapping):
            raise SchemaError("not a table. Write [[attributes]]")
        _only(content, _ATTRIBUTE_KEYS)
        for key in ("categories", "edges"):
            if key in content and not isinstance(content[key], list):
                raise SchemaError(f"{key} = {content[key]!r} is not a list")
        kind = {"kind": "numeric"} if "edges" in content else {}
        attribute = Attribute.from_dict({**kind, **content})
        labels = _labels(content.get("labels", {}), attribute)
        return Question(attribute, _text(content, "question"), labels)


def _labels(given: object, attribute: Attribute) -> tuple[str, ...]:
    """The words for each category; a boolean or integer category is a key in its TOML spelling."""
    keys = [str(c).lower() if isinstance(c, bool) else str(c) for c in attribute.categories]
    if not isinstance(given, Mapping):
        raise SchemaError('labels must be a table, as in labels = { F = "Female" }')
    for key, text in given.items():
        if key not in keys:
            raise SchemaError(f"labels: {key!r} is not a category{did_you_mean(key, keys)}")
        if not isinstance(text, str):
            raise SchemaError(f"labels: the words for {key!r} are not text")
    return tuple(given.get(key, key) for key in keys)


def _settings(content: object) -> Settings:
    with _within("[design]"):
        if not isinstance(content, Mapping):
            raise SchemaError("not a table")
        _only(content, tuple(f.name for f in fields(Settings)))
        clusters = content.get("clusters")
        if clusters is not None:
            if not isinstance(clusters, list) or not all(isinstance(c, list) for c in clusters):
                raise SchemaError("clusters is a list of lists, as in [['a', 'b'], ['c']]")
            clusters = tuple(tuple(cluster) for cluster in clusters)
        return Settings(**{**content, "clusters": clusters})


def _only(content: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in content:
        if key not in keys:
            raise SchemaError(
                f"there is no key {key!r}. Known: {known(keys, limit=len(keys))}"
                f"{did_you_mean(key, keys)}"
            )


def _text(content: Mapping[str, Any], key: str) -> str:
    value = content.get(key, "")
    if not isinstance(value, str):
        raise SchemaError(f"{key} = {value!r} is not text")
    return value
