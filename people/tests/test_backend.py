"""Without the extra the package imports, and rendering says what to install."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("scipy")

from countenance_people import _backend


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mitsuba", "anny"):
        monkeypatch.setitem(sys.modules, name, None)
    for load in (_backend.load_mitsuba, _backend.load_anny):
        with pytest.raises(_backend.RendererMissing, match=r"pip install \./people"):
            load()


def test_a_gpu_that_is_not_there_is_named() -> None:
    drjit = pytest.importorskip("drjit")
    pytest.importorskip("mitsuba")
    if drjit.has_backend(drjit.JitBackend.CUDA):
        pytest.skip("there is a GPU")
    with pytest.raises(_backend.RendererMissing, match="NVIDIA"):
        _backend.load_mitsuba("cuda_ad_rgb")
