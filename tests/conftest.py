"""Fixtures that every test may use."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.browser import CHROMIUM

sys.path.append(str(Path(__file__).parent))  # s3_servers
from s3_servers import CREDENTIALS, Proxy, moto_server

# The collected tests are a million objects that stay until the end: the collector need not look through them again.
gc.disable()
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The secret that tells runs made here from others is not the one of whoever runs the tests.
_STATE = tempfile.TemporaryDirectory(prefix="countenance-tests-")
os.environ["COUNTENANCE_STATE"] = _STATE.name
# Some virtual machines announce matrix instructions that their host does not allow; torch would end with a signal.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")


def _known(handle: int) -> None:
    """Refuse a handle that is not open, as `os.fsync` does, and do not wait."""
    os.fstat(handle)


# Waiting for the disk guards against a power cut alone, which no test makes; a run writes two dozen files, 5 ms each.
os.fsync = _known

# A busy machine is no failure, and the first example of a test often imports a library.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")


def pytest_collection_finish() -> None:
    """Leave the collected tests out of every later garbage collection."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Give them back, so that nothing is reported as leaked."""
    gc.unfreeze()


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def no_contradictions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run that a test writes in this process may contradict itself."""
    if "contradicting" in request.keywords:
        return
    from countenance.run import purge, stages
    from countenance.run.invariants import contradictions

    def notes(results: Any, rows: Any) -> list[str]:
        assert contradictions(results, rows) == []
        return []

    for module in (stages, purge):
        monkeypatch.setattr(module, "notes_on_contradictions", notes)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference vectors, photographs and weights beside the repository; absent: the test is skipped."""
    if not SHARED.is_dir():
        pytest.skip("../shared is not here: reference vectors, photographs and weights")
    return SHARED


@pytest.fixture
def fewer_to_train_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made bounty has a quarter of train; test and holdout, which the figures come from, are whole."""
    from countenance.suites.bias_bounty import made_data

    faces = made_data._faces
    monkeypatch.setattr(
        made_data, "_faces", lambda people, split: list(faces(people, split))[:: 4 if split == "train" else 1]
    )


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


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server on loopback, with a bucket `tests`."""
    with moto_server() as address:
        yield address


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's address, with the variables set that lead to it."""
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": s3_server}.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def proxy(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before the server that misbehaves when told to; the variables lead to it."""
    with Proxy(s3).serving() as made:
        monkeypatch.setenv("AWS_ENDPOINT_URL", made.address)
        yield made
