"""Write vectors/securesum/proofs.json: python scripts/make_proof_vectors.py

Reports with proofs of our circuit for pair tables, in the form of the VDAF draft's own vectors: all
messages of three people, and of one whose vector is not valid and who is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.prio3.field import Elements
from mdrr.securesum.prio3.pairs import PROOFS, PairTables
from mdrr.securesum.prio3.scheme import Prio3

FILE = Path(__file__).resolve().parents[1] / "vectors" / "securesum" / "proofs.json"
SHAPE = (2, 3, 2)
KEY, CTX = bytes(range(32)), b"mdrr securesum test"
# Where the ones stand in tables 2×3, 2×2 and 3×2, one after the other; the last is refused.
EXACT = [[0, 6, 10], [5, 9, 15], [4, 8, 12], [0, 6, 15]]
RANDOMIZED = [[0, 9, 10], [5, 6, 11], [3, 8, 15], [0, 1, 10]]


@dataclass(frozen=True)
class Unchecked(PairTables):
    """Shares the ones wherever they are said to stand."""

    def encode(self, measurements: Any) -> Elements:
        """Vectors that need not be valid."""
        ones = np.zeros((len(measurements), self.length), np.bool_)
        np.put_along_axis(ones, np.asarray(measurements), True, axis=1)
        return self.field.bits(ones)


def run(groups: tuple[tuple[int, ...], ...], shares: int, positions: list[list[int]]) -> Any:
    """One run: everything that is given, and everything that follows from it."""
    prio3 = Prio3(Unchecked(SHAPE, groups), shares, PROOFS)
    n, sizes = len(positions), prio3.sizes
    nonces = np.arange(n * vdaf.NONCE, dtype=np.uint8).reshape(n, -1)
    rand = (np.arange(n * sizes.rand) * 7 % 251).astype(np.uint8).reshape(n, -1)
    public, inputs = vdaf.shard(prio3, CTX, positions, nonces, rand)
    said = [
        vdaf.verify_init(prio3, KEY, CTX, k, nonces, public, share)
        for k, share in enumerate(inputs)
    ]
    sent = [share for _, share in said]
    messages, refused = vdaf.verifier_shares_to_message(prio3, CTX, sent)
    ends = [vdaf.verify_next(prio3, state, messages) for state, _ in said]
    refused = vdaf.first_reason(refused, *(late for _, late in ends))
    totals = [vdaf.aggregate(prio3, outputs, refused == 0) for outputs, _ in ends]
    return {
        "algorithm": prio3.circuit.algorithm,
        "shape": list(SHAPE),
        "groups": [list(group) for group in groups],
        "shares": shares,
        "proofs": PROOFS,
        "ctx": CTX.hex(),
        "verify_key": KEY.hex(),
        "reports": [
            {
                "measurement": positions[i],
                "nonce": nonces[i].tobytes().hex(),
                "rand": rand[i].tobytes().hex(),
                "public_share": public[i].tobytes().hex(),
                "input_shares": [share[i].tobytes().hex() for share in inputs],
                "verifier_shares": [share[i].tobytes().hex() for share in sent],
                "verifier_message": messages[i].tobytes().hex(),
                "refused": vdaf.REASONS.get(int(refused[i])),
            }
            for i in range(n)
        ],
        "agg_shares": [share.hex() for share in totals],
        "agg_result": vdaf.unshard(prio3, totals).tolist(),
    }


def vectors() -> dict[str, Any]:
    """Exact tables with two aggregators, randomized ones with three."""
    return {
        "exact": run(((0, 1, 2),), 2, EXACT),
        "randomized": run(((0, 1), (0, 2), (1, 2)), 3, RANDOMIZED),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
