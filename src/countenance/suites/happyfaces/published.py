"""The published curves, read from the benchmark's own page, and the configurations that ever saw validation."""

import json
from importlib.resources import files
from typing import Any

PUBLISHED: dict[str, dict[float, float]] = {
    "Extrapolate low data (published)": {0.0: 0.765, 0.1: 0.921, 0.2: 0.94, 0.3: 0.928},
    "DivDis (published)": {0.3: 0.825},
}
"""Worst-head accuracy by mix rate. The page also states 92.48 % at 10 % and an AUC of .903."""
CHANCE, MATCHED_ONLY = 0.5, 0.75
"""One head guesses; both are right on matched types and guess on cross types."""


def configurations() -> list[dict[str, Any]]:
    """Every configuration whose validation figures were looked at while this package was made, in order."""
    content = files("countenance.suites.happyfaces").joinpath("configurations.json").read_text("utf-8")
    listed: list[dict[str, Any]] = json.loads(content)
    return listed
