"""Rendering of people who do not exist: the design, the bodies, the light, and the exact truth."""
