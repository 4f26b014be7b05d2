"""From radiance to a picture, without the renderer."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

from countenance_people.finish import denoise

GREY = np.full((4, 4, 3), 0.5, np.float32)


def test_without_the_denoiser_an_image_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "pyoidn", raising=False)
    assert denoise(GREY, GREY, GREY) is GREY


def test_a_denoiser_that_lacks_a_package_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """839 pictures were once rendered with grain because `cffi`, which pyoidn imports, was not there."""
    (tmp_path / "pyoidn.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pyoidn", raising=False)
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        denoise(GREY, GREY, GREY)
