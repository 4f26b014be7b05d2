"""Figures: pure functions from numbers to inline SVG or table cells. Colours live in the style sheet alone."""
