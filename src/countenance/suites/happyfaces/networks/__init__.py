"""Real networks for the published methods, and their shared training. Needs PyTorch."""
