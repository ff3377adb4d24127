"""Keys on disk: one JSON file, readable by its owner only, made once and used for every run.

Keep it: earlier groups are recognised by these keys, and an aggregator opens its ledger with them.
"""

from __future__ import annotations

from pathlib import Path

from mdrr.securesum.keys import KEY_BYTES, Identity
from mdrr.securesum.private import locked, refuse_if_others_read, write_atomically
from mdrr.securesum.wire import Fields, canonical, encode64, parse
from mdrr.source import Source


def load_or_make(path: Path, source: Source, operator: str = "") -> Identity:
    """The identity in a file; a fresh one, saved there, when the file does not exist.

    Arguments:
        path: the file.
        source: where a fresh identity's keys come from.
        operator: who runs it, for an aggregator.
    """
    if not path.exists():
        with locked(path):  # of two processes that start at once, one makes the keys of both
            if not path.exists():
                signing, sealing = source.read(KEY_BYTES), source.read(KEY_BYTES)
                fields = {"signing": encode64(signing), "sealing": encode64(sealing)}
                write_atomically(path, canonical(fields))
    refuse_if_others_read(path, "remove the file, and new keys are made")
    with Fields(parse(path.read_bytes()), f"the key file {path}") as read:
        signing, sealing = read.data("signing", KEY_BYTES), read.data("sealing", KEY_BYTES)
        return Identity(signing, sealing, operator)
