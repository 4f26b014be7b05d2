import os
import sys
from pathlib import Path

import pytest

from countenance.testing import write_small_dataset

HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def fakes_importable(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])]))
    yield
    sys.modules.pop("fakes", None)


@pytest.fixture(scope="session")
def discs(tmp_path_factory) -> Path:
    """A small dataset on disk."""
    return write_small_dataset(tmp_path_factory.mktemp("data") / "discs", n=120)
