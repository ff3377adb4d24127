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

    Arguments:
        method: the estimator.
        words: what was given.

    Example:
        >>> read_options("latent", ["classes=5", "prior=0.5"])
        {'classes': 5, 'prior': 0.5}
    """
    from mdrr.estimation import estimator

    known = _known(estimator(method))
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in known:
            listed = ", ".join(f"{each} ({kind})" for each, kind in known.items())
            hint = did_you_mean(name, known) or "."
            raise EstimateError(f"method {method!r} has no option {name!r}{hint} Known: {listed}")
        if not equals or name in found:
            raise EstimateError(f"--option {word}: give each option once, as {name}=VALUE")
        found[name] = _value(word, text, known[name])
    return found


def _known(function: Callable[..., Any]) -> dict[str, str]:
    """The names of a function's options, and what each of them is in words."""
    words = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    return {
        each.name: words.get(str(each.annotation).split(" | ")[0], "text")
        for each in inspect.signature(function).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _value(word: str, text: str, kind: str) -> Any:
    try:
        if kind == "true or false":
            return _TRUTHS[text.lower()]
        value = {"a whole number": int, "a number": float, "text": str}[kind](text)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError
        return value
    except (ValueError, KeyError):
        raise EstimateError(f"--option {word}: it is {kind}, not {text!r}") from None
