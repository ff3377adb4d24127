"""Estimates, fitted by a named method with its options (`--option classes=5`) or saved before."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdrr.cli.inputs import SAVED, load, load_design, load_tally
from mdrr.cli.screen import note
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


def load_fit(
    paths: Sequence[Path], design: Path | None, method: str, words: Sequence[str] | None = None
) -> tuple[Design, Callable[[], Estimate]]:
    """The design, and a function that gives the estimate: by fitting, or as it was saved.

    A saved estimate is given alone and holds its own design. `words` are the method's options.
    """
    from mdrr.estimation import Estimate

    chosen = read_options(method, words or ())
    if not any(path.suffix.lower() == SAVED for path in paths):
        if design is None:
            raise MdrrError("reports need the --design they were made under")
        made = load_design(design)
        return made, lambda: estimated(load_tally(paths, made), made, method, chosen)
    if len(paths) > 1:
        raise MdrrError("give a saved estimate alone: no reports can be added to it")
    if method != "auto" or chosen:
        raise MdrrError(f"{paths[0]} is estimated already: leave out --method and --option")
    kept = load(paths[0], "a saved estimate", lambda path: Estimate.from_bytes(path.read_bytes()))
    held = kept.evidence.design
    if design is not None and load_design(design) != held:
        raise MdrrError(f"{paths[0]} was estimated under another design than {design}")
    for doubt in kept.notes.get("warnings", ()):
        note(f"Warning: {doubt}")
    return held, lambda: kept


def estimated(
    tally: Tally, design: Design, method: str, given: Mapping[str, Any] | None = None
) -> Estimate:
    """The estimate of a named method, with the options that it takes."""
    from mdrr.estimation import estimate as by_method

    try:
        return by_method(tally, design, method, **given or {})
    except ValueError as error:
        if isinstance(error, MdrrError) or not given:
            raise
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


def say_bias(design: Design, method: str, names: Sequence[str]) -> None:
    """Say that a method of the paper takes the attributes of different clusters as unrelated."""
    clusters = (cluster for q in design.questionnaires for cluster in q.clusters)
    together = any(set(names) <= set(cluster.attributes) for cluster in clusters)
    if method in ("product", "adjust") and not together:
        how = "as independent" if method == "product" else "as less related than they are"
        note(
            f"Note: {' and '.join(names)} are reported apart, and {method} takes them {how}. The "
            "interval allows for that, the estimate does not; --method auto does"
        )
