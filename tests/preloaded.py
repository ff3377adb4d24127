"""What the fork server of `tests.processes` has loaded, so that its children need not."""

import ssl
import tempfile
from functools import cache

import httpx

import tests.faults.aggregating
import tests.faults.cast
import tests.securesum.test_history  # noqa: F401
from mdrr.securesum.prio3.field import FIELD64
from mdrr.securesum.prio3.xof import stream
from mdrr.securesum.transport.postbox import Postbox
from mdrr.securesum.transport.service import create_service
from mdrr.server.app import server_config

# Much is loaded when it is first used: compiled loops, streams, clients, databases and servers.
_ones = FIELD64.elements([1, 1])
FIELD64.multiply(_ones, _ones)
FIELD64.dot(_ones, _ones)
FIELD64.total(_ones)
stream(bytes(32), b"", b"")
ssl.create_default_context = cache(ssl.create_default_context)
httpx.Client().close()
with tempfile.TemporaryDirectory() as _folder:
    _box = Postbox(f"sqlite:///{_folder}/relay.db")
    server_config(create_service(_box), "", 0).load()
    _box.dispose()
