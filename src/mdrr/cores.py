"""Threads for work that releases the interpreter's lock: one for each core, started once.

To start threads takes as long as some 100,000 rows, and their fresh memory is slow at first.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache


def cores() -> int:
    """How many cores there are."""
    return os.cpu_count() or 1


@cache
def threads() -> ThreadPoolExecutor:
    """A thread for each core. What runs in them must not wait for others that do.

    >>> list(threads().map(abs, [-1, 2]))
    [1, 2]
    """
    return ThreadPoolExecutor(cores(), thread_name_prefix="mdrr")


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=threads.cache_clear)
