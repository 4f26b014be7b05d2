"""Spatial discovery, step by step: HOG maps, windows, two groups of windows, a head for each, EM."""
