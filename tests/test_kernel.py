"""`make test-kernels` sets another BLAS kernel for the numerical tests: does the setting work here?

OpenBLAS picks its kernels by processor and they differ in the last bits. A name it does not know is
ignored in silence, and the second run would then show nothing.
"""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = (Path(__file__).resolve().parents[1] / "Makefile").read_text("utf-8")
LOOK = """
import numpy, scipy.linalg, threadpoolctl
for library in threadpoolctl.threadpool_info():
    if library["internal_api"] == "openblas":
        print(library["architecture"], library["num_threads"])
"""


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="kernels have other names here"
)
def test_the_kernel_and_the_threads_asked_for_are_used():
    kernel = re.search(r"^KERNEL \?= (\w+)$", MAKEFILE, re.MULTILINE)
    asked = {"OPENBLAS_CORETYPE": kernel[1], "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        env=os.environ | asked, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = set(done.stdout.splitlines())
    if not found:
        pytest.skip("numpy and scipy use another BLAS here")
    assert found == {f"{kernel[1]} 1"}
