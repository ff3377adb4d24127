"""The threads of a process are its own."""

import os
import subprocess
import sys

import pytest

from mdrr.cores import cores, threads

FORKED = """
import os
from mdrr.cores import cores, threads

assert list(threads().map(abs, range(-cores(), 0))) == list(range(cores(), 0, -1))
child = os.fork()
if child == 0:
    found = threads().submit(lambda: 7).result(timeout=60)
    os._exit(0 if found == 7 else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_there_is_one_pool_with_a_thread_for_each_core():
    assert threads() is threads()
    assert threads()._max_workers == cores() == os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_forked_from_one_with_threads_starts_its_own():
    """Those it inherits are not there, so that it would wait for them for ever."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=120)
