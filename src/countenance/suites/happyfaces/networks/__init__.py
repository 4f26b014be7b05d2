"""Real networks for the published methods, and the training that they share. Needs PyTorch."""
