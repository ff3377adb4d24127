"""Processes of their own for tests, from a fork server that has the modules loaded.

Each starts in milliseconds, where a new Python that loads NumPy needs a second. They share nothing
with each other or with the tests but files and what they are given.
"""

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.preloaded"])
