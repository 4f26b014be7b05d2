"""Pairs of embeddings: every genuine and impostor comparison, counted exactly, never all of them in memory."""
