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

if TYPE_CHECKING:
    from mdrr.collector import Link


class Kept:
    """A drawn report on this device, in a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def at(cls, link: Link, folder: Path | None) -> Kept:
        """Where the report to a survey is kept; refused if it was sent already."""
        home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        folder = folder or home / "mdrr"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            raise MdrrError(
                f"the folder {folder} cannot be made. Name one that you may write to with --state"
            ) from None
        name = hashlib.sha256(f"{link.base}/{link.survey}/{link.fingerprint}".encode()).hexdigest()
        kept = cls(folder / f"{name[:32]}.json")
        if kept.read().get("sent"):
            raise MdrrError(
                "you answered this survey before, on this device. Answering again would reveal "
                "more, so nothing was asked"
            )
        return kept

    def sent_so_far(self) -> str:
        """What has left this device, in words."""
        held = self.read()
        if held.get("tried"):
            return "the report was sent, and the collector has not said that it has it"
        if "hidden" in held:
            return "no answer was sent, only your invitation, in exchange for a blind signature"
        return "nothing was sent"

    def report(self) -> Report | None:
        """The report that was drawn before."""
        held = self.read().get("report")
        return None if held is None else Report.from_dict(held)

    def write(self, fields: Mapping[str, Any]) -> None:
        """Write it, whole or not at all."""
        beside = self._path.with_suffix(f".{os.getpid()}.part")
        descriptor = os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(fields, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)

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
