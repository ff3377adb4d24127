"""Threads for work that releases the interpreter's lock: one for each core, started once.

To start threads takes as long as some 100,000 rows, and their fresh memory is slow at first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def cores() -> int:
    """How many cores there are."""
    return os.cpu_count() or 1


@cache
def threads() -> ThreadPoolExecutor:
    """A thread for each core. What runs in them must not wait for others that do."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="mdrr")


def side_by_side(work: Callable[[T], U], columns: Iterable[T], quick: bool) -> list[U]:
    """Work on columns, on all cores unless it is done sooner than cores could start.

    >>> side_by_side(abs, [-1, 2], quick=False)
    [1, 2]
    """
    return list((map if quick else threads().map)(work, columns))


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=threads.cache_clear)
