"""How a run ends when it cannot end in a total: the step, the reason, and who was missing.

The protocol of paper section 4.2 has no tolerance for absence: one missing share and the totals
are noise. So a run stops at the first thing amiss, says at which step, and opens nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mdrr.errors import AbortedError
from mdrr.securesum.wire import Fields


@dataclass(frozen=True, slots=True)
class Abort:
    """Why a run stopped.

    Arguments:
        step: the step during which it stopped.
        reason: in words; never contains an answer or a share.
        who: ids of those who were missing or misbehaved, if that is known.
    """

    step: str
    reason: str
    who: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = ", ".join(name[:12] for name in self.who[:5])
        more = f" and {len(self.who) - 5} more" if len(self.who) > 5 else ""
        return f"stopped at step '{self.step}': {self.reason}" + (
            f" ({names}{more})" if names else ""
        )

    @property
    def error(self) -> AbortedError:
        """The same as an exception."""
        return AbortedError(str(self))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {"step": self.step, "reason": self.reason[:1000], "who": list(self.who)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Abort:
        """The abort described by `to_dict`, validated again."""
        read = Fields(fields, "an abort")
        abort = cls(read.text("step", 40), read.text("reason"), read.hashes("who", 100_000))
        read.finish()
        return abort
