"""Finished runs on disk, one line a unit, so that an interrupted reproduction goes on."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from mdrr.reproduction.settings import Settings
from mdrr.reproduction.unit import Errors, Unit

_DIGITS = 9


@dataclass(eq=False)
class Store:
    """The finished units of some settings; kept in memory where there is no file.

    A line that cannot be read (the last one, after a crash) is run again.
    """

    path: Path | None = None
    done: dict[str, Errors] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, settings: Settings) -> Store:
        """The store of these settings in a folder, with what is finished already."""
        store = cls(folder / f"{settings.fingerprint}.jsonl")
        store.read()
        return store

    def read(self) -> None:
        """Take in what the file holds, also a unit that was written but not yet counted."""
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                fields = json.loads(line)
                self.done[fields["unit"]] = fields["errors"]
            except (json.JSONDecodeError, KeyError, TypeError):
                continue

    def missing(self, wanted: list[Unit]) -> list[Unit]:
        """The units that are still to be run."""
        return [unit for unit in wanted if unit.key not in self.done]

    def add(self, unit: Unit, errors: Errors) -> None:
        """Keep a finished unit, on disk before it counts as done.

        Errors are rounded to 9 digits, in memory as on disk: a resumed reproduction gives the very
        numbers of one that was not interrupted.
        """
        rounded = {name: [_rounded(error) for error in listed] for name, listed in errors.items()}
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            line = json.dumps({"unit": unit.key, "errors": rounded}, ensure_ascii=False)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")  # the first newline ends a line that was cut off
        self.done[unit.key] = rounded

    def errors(self, wanted: list[Unit]) -> Errors:
        """All errors of some units, in the order of the runs."""
        joined: Errors = {}
        for unit in wanted:
            for name, listed in self.done[unit.key].items():
                joined.setdefault(name, []).extend(listed)
        return joined


def _rounded(error: float) -> float:
    return float(f"{error:.{_DIGITS}g}") if math.isfinite(error) else error
