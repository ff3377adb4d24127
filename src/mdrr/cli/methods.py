"""Estimators by name, with the options each of them takes: `--option classes=5`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mdrr.errors import EstimateError, MdrrError, did_you_mean

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.estimation import Estimate
    from mdrr.tallies import Tally

_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


_KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "int": ("a whole number", int),
    "float": ("a number", _finite),
    "bool": ("true or false", lambda text: _TRUTHS[text.lower()]),
}
"""What an option is by its annotation: in words, and how it is read."""


def estimated(
    tally: Tally, design: Design, method: str, given: Mapping[str, Any] | None = None
) -> Estimate:
    """The estimate of a named method, with the options that it takes."""
    from mdrr.estimation import estimate as by_method

    if not given:
        return by_method(tally, design, method)
    try:
        return by_method(tally, design, method, **given)
    except MdrrError:
        raise
    except ValueError as error:
        listed = ", ".join(f"{name}={value}" for name, value in given.items())
        raise EstimateError(f"method {method!r} with {listed}: {error}") from None


def read_options(method: str, words: Sequence[str]) -> dict[str, Any]:
    """Options written NAME=VALUE, as the method's function declares them.

    >>> read_options("latent", ["classes=5", "prior=0.5"])
    {'classes': 5, 'prior': 0.5}
    """
    from mdrr.estimation import estimator

    known = {
        each.name: _KINDS.get(str(each.annotation).split(" | ")[0], ("text", str))
        for each in inspect.signature(estimator(method)).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    }
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in known:
            listed = ", ".join(f"{each} ({kind})" for each, (kind, _) in known.items())
            hint = did_you_mean(name, known) or "."
            raise EstimateError(f"method {method!r} has no option {name!r}{hint} Known: {listed}")
        if not equals or name in found:
            raise EstimateError(f"--option {word}: give each option once, as {name}=VALUE")
        kind, read = known[name]
        try:
            found[name] = read(text)
        except (ValueError, KeyError):
            raise EstimateError(f"--option {word}: it is {kind}, not {text!r}") from None
    return found
