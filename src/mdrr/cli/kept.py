"""What a device keeps of an answer until the collector has it: the drawn report, nothing true."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdrr.errors import MdrrError
from mdrr.response import Report
from mdrr.securesum.private import write_atomically

if TYPE_CHECKING:
    from mdrr.collector import Link


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Kept:
    """A drawn report on this device, in a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def at(cls, link: Link, folder: Path | None) -> Kept:
        """Where the report of one invitation to a survey is kept; refused if it was sent already.

        Without an invitation there is one report per survey, in whichever phase.
        """
        home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        folder = folder or home / "mdrr"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            raise MdrrError(
                f"the folder {folder} cannot be made. Name one that you may write to with --state"
            ) from None
        name = _hash(f"{link.base}/{link.survey}")
        if link.invitation is not None:
            name += f"-{_hash(link.invitation)}"
        kept = cls(folder / f"{name}.json")
        drawn = kept.report()
        if kept.read().get("sent") or (drawn and drawn.fingerprint != link.fingerprint):
            raise MdrrError(
                "you answered this survey before, on this device. Answering again would reveal "
                "more, so nothing was asked"
            )
        return kept

    def others(self) -> bool:
        """Whether a report to this survey was drawn here for another invitation, or without one."""
        survey = self._path.stem.partition("-")[0]
        beside = [path for path in self._path.parent.glob(f"{survey}*.json") if path != self._path]
        return any({"sent", "report"} & Kept(path).read().keys() for path in beside)

    def sent_so_far(self) -> str:
        """What has left this device, in words."""
        held = self.read()
        if held.get("tried"):
            return "the report was sent, and the collector has not said that it has it"
        if "hidden" in held:
            return "no answer was sent, only your invitation, in exchange for a blind signature"
        return "no answer was sent"

    def report(self) -> Report | None:
        """The report that was drawn before."""
        held = self.read().get("report")
        return None if held is None else Report.from_dict(held)

    def write(self, fields: Mapping[str, Any]) -> None:
        """Write it, whole or not at all."""
        write_atomically(self._path, json.dumps(fields).encode())

    def read(self) -> dict[str, Any]:
        """What is kept; nothing before the first draw."""
        try:
            return dict(json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError):
            raise MdrrError(
                f"{self._path} is not what this command wrote. Remove it if you did not answer yet"
            ) from None
