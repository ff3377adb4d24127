"""How a run ends when it cannot end in a total: the step, the reason, and who was missing.

The protocol of paper section 4.2 has no tolerance for absence: one missing share and the totals
are noise. So a run stops at the first thing amiss, says at which step, and opens nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mdrr.errors import AbortedError
from mdrr.securesum.wire import Fields


class StoppedError(AbortedError):
    """An abort as it is raised.

    Arguments:
        abort: what happened.
    """

    def __init__(self, abort: Abort) -> None:
        super().__init__(str(abort))
        self.abort = abort


@dataclass(frozen=True, slots=True)
class Abort:
    """Why a run stopped.

    Arguments:
        step: the step during which it stopped.
        reason: in words; never contains an answer or a share.
        who: ids of those who were missing or misbehaved, if that is known.
        by: id of the member who says so, if it is another one; it does not travel.
    """

    step: str
    reason: str
    who: tuple[str, ...] = ()
    by: str = ""

    def __str__(self) -> str:
        names = ", ".join(name[:12] for name in self.who[:5])
        more = f" and {len(self.who) - 5} more" if len(self.who) > 5 else ""
        told = f"; so says {self.by[:12]}, who ended the run" if self.by else ""
        return f"stopped at step '{self.step}': {self.reason}" + (
            f" ({names}{more}){told}" if names else told
        )

    @property
    def error(self) -> StoppedError:
        """The same as an exception."""
        return StoppedError(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {"step": self.step, "reason": self.reason[:1000], "who": list(self.who)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Abort:
        """The abort described by `to_dict`, validated again."""
        with Fields(fields, "an abort") as read:
            return cls(read.text("step", 40), read.text("reason"), read.hashes("who", 100_000))
