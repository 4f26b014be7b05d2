"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Some virtual machines announce matrix instructions that their host does not allow; torch would end with a signal.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference vectors, photographs and weights beside the repository; absent: the test is skipped."""
    if not SHARED.is_dir():
        pytest.skip("../shared is not here: reference vectors, photographs and weights")
    return SHARED
