"""An estimate: a proper joint distribution that answers tables, counts and samples."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, get_args
from zipfile import BadZipFile

import numpy as np

from mdrr.columns import make_frame
from mdrr.design import Design
from mdrr.display import charts, count_html, estimate_html, on_white, table_html
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, is_number, whole
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.joint import ProductJoint
from mdrr.estimation.mixture import MixtureJoint
from mdrr.estimation.uncertainty import Of, bounds
from mdrr.matrix import Array
from mdrr.query import MOST_CELLS, Query, Term, Where
from mdrr.tallies import Tally

FORMAT = 1
"""The version of a saved estimate."""
MOST_INTERVALS = 10_000
"""Cells of a table up to which their intervals are computed, one query each."""
RESULTS = ("probability", "low", "high")
"""The columns that stand beside the labels in a frame of a table."""

Joint: TypeAlias = ProductJoint | MixtureJoint
_SHOWN = 12
"""Cells of a table in its repr."""
_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError, EOFError, OSError, BadZipFile)
"""What reading another file as a saved estimate may raise."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A proper joint distribution of the people's true records.

    Arguments:
        method: which estimator made it.
        joint: the distribution itself; every answer comes from it.
        evidence: what the reports say without a model; intervals come from it.
        notes: what the estimator has to say: why it stopped, what it chose.
    """

    method: str
    joint: Joint
    evidence: Evidence
    notes: Mapping[str, Any] = field(default_factory=dict)
    _tables: dict[tuple[str, ...], Array] = field(default_factory=dict, repr=False)

    @property
    def domain(self) -> Domain:
        """Over what."""
        return self.evidence.design.domain

    @property
    def n(self) -> int:
        """How many people reported."""
        return self.evidence.people

    def __repr__(self) -> str:
        return f"<Estimate by {self.method}: {self.n:,} people, {len(self.domain)} attributes>"

    def _repr_html_(self) -> str:
        return estimate_html(self)

    def table(self, *names: str, level: float = 0.95) -> Table:
        """The estimated distribution of some attributes.

        Arguments:
            names: the attributes, at least one; the axes come in this order.
            level: the confidence level of `.low` and `.high`.
        """
        check_names(self.domain, names)
        cells = math.prod(self.domain.attribute(name).size for name in names)
        if cells > MOST_CELLS:
            raise EstimateError(
                f"a table of {len(names)} attributes has {cells:,} cells (the most is "
                f"{MOST_CELLS:,}). Name fewer attributes, count sets of combinations with "
                ".count({…}), or draw records with .sample(n)"
            )
        _check_level(level)
        return Table(names, self._look(names), self, level)

    def plot(self, *names: str, level: float = 0.95) -> Any:
        """A chart (Altair) of one or two attributes; without names, of each attribute."""
        if not names:
            return on_white(charts().overview(self))
        return self.table(*names, level=level).plot()

    def count(self, where: Where, *, level: float = 0.95, of: Of = "people") -> Count:
        """How many of the n people are in a set of combinations, with its interval.

        Arguments:
            where: `{attribute: [labels]}`, `{(attribute, …): [(label, …), …]}` or an expression.
            level: the confidence level of the interval.
            of: `"people"` for those who reported (only the randomization is uncertain) or
                `"population"` for the population they are a random sample of.
        """
        _check_level(level)
        if of not in ("people", "population"):
            raise EstimateError(f"of={of!r}: choose 'people' or 'population'")
        query = Query.of(where, self.domain)
        value = self.joint.mass(query)
        low, high = bounds(self.evidence, self._look, query, of, level, value)
        return Count(value * self.n, low * self.n, high * self.n, level, self.n)

    def _look(self, names: tuple[str, ...]) -> Array:
        """The table of some attributes; small ones are kept, since every cell's interval asks."""
        if names not in self._tables:
            table = self.joint.table(names)
            if table.size > MOST_INTERVALS:
                return table
            self._tables[names] = table
        return self._tables[names]

    def sample(self, n: int, *, seed: int | None = None, backend: str | None = None) -> Any:
        """Microdata: n records drawn from the estimate, as a data frame of labels.

        Arguments:
            n: how many records.
            seed: for the same records again; a fresh one by default.
            backend: `"polars"`, `"pandas"` or `"pyarrow"`; by default the library in which the
                reports came, or the first one installed.
        """
        n = whole("n", n, 1, EstimateError)
        seed = None if seed is None else whole("seed", seed, 0, EstimateError)
        columns = self.joint.sample(n, np.random.default_rng(seed))
        return self.frame(labelled(self.domain.attributes, columns), backend)

    def frame(self, columns: Mapping[str, Any], backend: str | None = None) -> Any:
        """A data frame of columns, by default of the library in which the reports came."""
        return make_frame(columns, backend or self.evidence.tally.library)

    def to_frame(self, backend: str | None = None) -> Any:
        """Every combination of positive probability, and its probability."""
        refuse_clash(self.domain.names, RESULTS[:1])
        columns, probabilities = self.joint.combinations()
        labels = labelled(self.domain.attributes, columns)
        return self.frame({**labels, "probability": probabilities}, backend)

    def save(self, path: str | Path) -> None:
        """Write the estimate to a file, to be asked again without fitting: `Estimate.load`.

        The file holds the design, the tally, the distribution and the notes. It holds no true
        answer, as no estimate does. It is written whole or not at all.
        """
        target = Path(path)
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(self.to_bytes())
            partial.replace(target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise EstimateError(f"cannot write {str(target)!r}: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | Path) -> Estimate:
        """The estimate that `save` wrote."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise EstimateError(f"cannot read {str(path)!r}: {error.strerror}") from None
        return cls.from_bytes(data)

    def to_bytes(self) -> bytes:
        """The estimate as the bytes of a file: a zip of NumPy arrays."""
        about = {
            "mdrr-estimate": FORMAT,
            "design": self.evidence.design.to_dict(),
            "method": self.method,
            "joint": type(self.joint).__name__,
            "notes": plain(self.notes),
        }
        texts = {"about": json.dumps(about), "tally": self.evidence.tally.to_json()}
        coded = {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}
        arrays: dict[str, Any] = {**coded, **self.joint.to_arrays()}
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Estimate:
        """The estimate that `to_bytes` describes, validated again."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(arrays.pop("about").tobytes())
            if about["mdrr-estimate"] != FORMAT:
                raise EstimateError(
                    f"this estimate has format {about['mdrr-estimate']!r}; this version reads "
                    f"{FORMAT}. Make it again from the tally"
                )
            design = Design.from_dict(about["design"])
            tally = Tally.from_json(arrays.pop("tally").tobytes().decode(), design)
            (kind,) = (each for each in get_args(Joint) if each.__name__ == about["joint"])
            joint = kind.from_arrays(design.domain, arrays)
            method, notes = str(about["method"]), dict(about["notes"])
        except EstimateError:
            raise
        except _UNREADABLE:
            raise EstimateError(
                "this is not a saved estimate; `Estimate.save` writes them"
            ) from None
        return cls(method, joint, Evidence(tally, design), notes)


@dataclass(frozen=True)
class Count:
    """How many people are in a set: the estimate and its interval.

    `value` comes from the estimated distribution. The interval is made from the unbiased
    count. It contains `value` and lies between 0 and n.
    """

    value: float
    low: float
    high: float
    level: float
    n: int

    def _repr_html_(self) -> str:
        return count_html(self)

    @property
    def share(self) -> float:
        """The estimate as a share of all people."""
        return self.value / self.n


@dataclass(frozen=True, eq=False)
class Table:
    """The distribution of some attributes, axes in the order they were asked for."""

    attributes: tuple[str, ...]
    values: Array
    estimate: Estimate = field(repr=False)
    level: float = 0.95

    def __repr__(self) -> str:
        attributes = [self.estimate.domain.attribute(name) for name in self.attributes]
        rows = []
        for cell in islice(np.ndindex(self.values.shape), _SHOWN):
            labels = [str(a.categories[i]) for a, i in zip(attributes, cell, strict=True)]
            rows.append(f"{', '.join(labels)}: {self.values[cell]:.4f}")
        left = self.values.size - len(rows)
        more = [f"… and {left:,} more in .values and .to_frame()"] if left else []
        return "\n  ".join([f"<Table of {' × '.join(self.attributes)}", *rows, *more]) + ">"

    def _repr_html_(self) -> str:
        return table_html(self)

    def plot(self, *, truth: Array | None = None) -> Any:
        """A chart (Altair): one attribute with intervals, or two as a map of shares.

        Arguments:
            truth: the true shares of one attribute in its order, `(r,)`, in a simulation.
        """
        draw = charts()
        if len(self.attributes) == 1:
            return on_white(draw.shares(self, truth=truth))
        if truth is not None:
            raise EstimateError("the truth is drawn for one attribute at a time")
        return on_white(draw.cross_table(self))

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        if self.values.size > MOST_INTERVALS:
            raise EstimateError(
                f"a table of {self.values.size:,} cells would need as many intervals (the most is "
                f"{MOST_INTERVALS:,}); ask for .values, a smaller table, or single counts"
            )
        low, high = np.empty_like(self.values), np.empty_like(self.values)
        for cell in np.ndindex(self.values.shape):
            each = zip(self.attributes, self.values.shape, cell, strict=True)
            terms = tuple(Term((name,), np.arange(size) == code) for name, size, code in each)
            count = self.estimate.count(Query(self.estimate.domain, terms), level=self.level)
            low[cell], high[cell] = count.low / count.n, count.high / count.n
        return low, high

    @property
    def low(self) -> Array:
        """The lower ends of the cells' intervals."""
        return self._bounds[0]

    @property
    def high(self) -> Array:
        """The upper ends of the cells' intervals."""
        return self._bounds[1]

    def to_frame(self, backend: str | None = None, *, intervals: bool = False) -> Any:
        """One row per combination: labels and probability, and its interval if asked."""
        refuse_clash(self.attributes, RESULTS if intervals else RESULTS[:1])
        attributes = [self.estimate.domain.attribute(name) for name in self.attributes]
        columns = labelled(attributes, np.indices(self.values.shape).reshape(len(attributes), -1))
        columns["probability"] = self.values.ravel()
        if intervals:
            columns["low"], columns["high"] = self.low.ravel(), self.high.ravel()
        return self.estimate.frame(columns, backend)


def check_names(domain: Domain, names: Sequence[str]) -> None:
    """Refuse attributes that make no table."""
    if not names:
        raise EstimateError("name at least one attribute, as in estimate.table('sex')")
    for name in names:
        if not isinstance(name, str):
            raise EstimateError(
                "attributes are named one by one, as in estimate.table('sex', 'race'), "
                f"not by {type(name).__name__}"
            )
    if len(set(names)) < len(names):
        raise EstimateError(f"an attribute is named twice: {', '.join(names)}")
    for name in names:
        domain.index(name)


def refuse_clash(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse a frame in which a column of results would replace an attribute's labels."""
    for name in names:
        if name in columns:
            raise EstimateError(
                f"the attribute {name!r} has the name of a column of results. Read the numbers "
                "from .values, .low and .high of a table or, with mdrr estimate, write a .json file"
            )


def labelled(attributes: Sequence[Attribute], columns: Iterable[Any]) -> dict[str, Any]:
    """Code columns of some attributes as columns of labels, each of its labels' own type."""
    kinds: dict[type, type] = {str: object, int: np.int64, bool: np.bool_}
    return {
        a.name: np.array(a.categories, dtype=kinds[type(a.categories[0])])[codes]
        for a, codes in zip(attributes, columns, strict=True)
    }


def plain(value: Any) -> Any:
    """Notes as JSON holds them: arrays are left out, records become mappings."""
    if is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if not isinstance(v, np.ndarray)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _check_level(level: float) -> None:
    if not (is_number(level) and 0 < level < 1):
        raise EstimateError(f"level={level!r}: a confidence level lies between 0 and 1")
