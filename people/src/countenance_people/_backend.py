"""The one place that imports the optional renderer (mitsuba, drjit, anny, torch), and says when it is missing."""

from __future__ import annotations

import os
from typing import Any

MISSING = "rendering needs mitsuba and anny: pip install ./people (from the repository)"
DEFAULT_VARIANT = "llvm_ad_rgb"


class RendererMissing(ImportError):
    """The libraries that render are not installed."""


def load_anny() -> tuple[Any, Any]:
    """The modules anny and torch."""
    try:
        import anny
        import torch
    except ImportError as error:
        raise RendererMissing(MISSING) from error
    return anny, torch


def load_mitsuba(variant: str | None = None, threads: int | None = None) -> tuple[Any, Any]:
    """The modules mitsuba and drjit, with the variant set on first use.

    `llvm_ad_rgb` needs an LLVM shared library (DRJIT_LIBLLVM_PATH; version 19 is known to work, 14 and 15
    abort); without one the slower `scalar_rgb` is taken, which needs nothing.
    """
    try:
        import drjit
        import mitsuba
    except ImportError as error:
        raise RendererMissing(MISSING) from error
    if mitsuba.variant() is None or (variant is not None and mitsuba.variant() != variant):
        name = variant or os.environ.get("COUNTENANCE_VARIANT", DEFAULT_VARIANT)
        if name == "llvm_ad_rgb" and not drjit.has_backend(drjit.JitBackend.LLVM):
            name = "scalar_rgb"
        if name == "cuda_ad_rgb" and not drjit.has_backend(drjit.JitBackend.CUDA):
            raise RendererMissing("cuda_ad_rgb needs an NVIDIA GPU, and none is found; leave --variant out")
        mitsuba.set_variant(name)
        if threads and name.startswith("llvm"):
            drjit.set_thread_count(threads)
    return mitsuba, drjit


def on_gpu() -> bool:
    """Whether mitsuba renders on a GPU."""
    return "cuda" in str(load_mitsuba()[0].variant())
