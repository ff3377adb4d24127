"""Write a design to a file, never over another one: reports made under it need it to be read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design


def publish(path: Path, made: Design, *, force: bool = False, option: str = "-o") -> str:
    """Write a design and say so; a file that holds anything else is refused without `force`."""
    from mdrr.files.streams import write_text

    if path.is_file() and not force:
        held = held_design(path)
        if held == made.fingerprint:
            return f"{path} holds this very design already and was left as it is."
        what = "is no design" if held is None else f"holds another design ({held[:12]}…)"
        why = "" if held is None else ", and reports made under it cannot be read without it"
        raise MdrrError(
            f"{path} {what}{why}. Nothing was written. Name another file with {option}, or replace "
            "it with --force"
        )
    write_text(path, made.to_json())
    return f"Wrote {path}. It is frozen: reports carry its fingerprint."


def held_design(path: Path) -> str | None:
    """The fingerprint of the design a file holds, or None when it holds none."""
    from mdrr.design import Design

    try:
        with path.open("rb") as file:
            if not file.read(64).lstrip().startswith(b"{"):  # spares reading large files
                return None
        return Design.from_json(path.read_text(encoding="utf-8")).fingerprint
    except (ValueError, RecursionError):
        return None
