"""The seam for a proof that a hidden vector is well-formed; reports carry none yet.

An aggregator sees uniform residues, whatever a person put in: a person who lies about her answer,
or counts herself twice, looks like everybody else. Prio3 (`mdrr.securesum.prio3`) attaches a proof
that the shares add up to one-hot tables, checked by the aggregators together without opening
anything. A report has a place for such a proof (`proof`, null in this version) and
an aggregator asks a `Validity` about every report before it counts it.
"""

from __future__ import annotations

from typing import Protocol

from mdrr.securesum.ring import Vector


class Validity(Protocol):
    """Decides about a report from this aggregator's own share and the proof it came with."""

    def accepts(self, report: str, share: Vector, proof: None, /) -> bool:
        """Whether the report may be counted."""
        ...


class NoProof:
    """Counts every report of the right form: what is used while reports carry no proof."""

    def accepts(self, report: str, share: Vector, proof: None, /) -> bool:
        """Always."""
        return True
