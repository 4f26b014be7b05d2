"""Real networks for the published methods: backbones and the training loop they share. Needs PyTorch."""

from typing import Any

from countenance.errors import MissingExtra


def need_torch() -> Any:
    """PyTorch, or one line that says how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("training a network", "torch") from None
    return torch
