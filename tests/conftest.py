"""Fixtures that every test may use."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser import CHROMIUM

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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        browser.close()
