"""Calibration of verdicts: the results of simulations with a known truth, shipped with the package.

`calibration.json` has a line for each promise (a level, a coverage, a power) and each kind of data that was simulated;
`tools/calibrate.py` writes it. `calibration` finds the lines nearest to the sizes of an audit.
"""

import hashlib
import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict

from countenance.auditing.result import Audit

FILE = "calibration.json"
AUDIT_SURFACES = ("adjusted p", "interval", "all-clear", "detectable effect and plan")
"""What an audit promises; the other surfaces belong to gates, comparisons of models and further commands."""
QUESTIONS = {
    "paired": ("paired",),
    "pairs": ("pairs",),
    "spread": ("spread",),
    "reference": ("reference", "best,"),
    "": ("twins", "gate", "compare", "false match", "missing"),
}
"""By kind of comparison, words in the names of the processes that simulate it; the last entry is for other
comparisons."""


class CalibrationLine(BaseModel):
    """The result for one kind of simulated data."""

    model_config = ConfigDict(frozen=True)
    surface: str
    """What is promised: the adjusted p of a comparison, an interval, a detectable effect, an all-clear."""
    process: str
    """How the data were made."""
    n: int
    """People in a table; 0 where tables of many sizes were summed."""
    groups: int
    kind: str
    """level, coverage or power."""
    nominal: float
    """What is promised."""
    value: float
    """What came out."""
    se: float
    tables: int
    seed: int
    code: str
    """Hash of the code that was simulated."""


@cache
def _content() -> bytes:
    return (files("countenance") / FILE).read_bytes()


def calibration_hash() -> str:
    """The sha256 of the shipped table, which reports cite.

    >>> len(calibration_hash())
    64
    """
    return hashlib.sha256(_content()).hexdigest()


@cache
def calibration_lines() -> tuple[CalibrationLine, ...]:
    """Every line of the shipped table.

    >>> sorted({line.kind for line in calibration_lines()})
    ['coverage', 'level', 'power']
    """
    return tuple(CalibrationLine(**line) for line in json.loads(_content())["lines"])


def calibration(audit: Audit | None = None, most: int = 12) -> list[CalibrationLine]:
    """The lines of the shipped table that are nearest to the sizes of an audit; without an audit, all lines.

    The nearest lines simulate the same kind of comparison and of metric, where the table has them, and similar numbers
    of people and groups.
    Returns at most `most` lines for `audit`, best first; it raises nothing.

    >>> import countenance as ct
    >>> rows = {"sex": ["f", "m"] * 200, "found": [1, 0, 1, 1] * 100}
    >>> lines = ct.calibration(ct.audit(rows, by="sex", metrics="found"))
    >>> {line.kind for line in lines} == {"level", "coverage", "power"}
    True
    """
    if audit is None:
        return list(calibration_lines())
    people, groups, words = _sizes(audit)
    comparison = str(audit.settings.get("comparison"))
    own = QUESTIONS.get(comparison, ())
    foreign = [word for question, named in QUESTIONS.items() if question != comparison for word in named]

    def distance(line: CalibrationLine) -> tuple[float, ...]:
        other_question = any(word in line.process for word in foreign) or bool(own) != any(
            w in line.process for w in own
        )
        other_kind = not any(word in line.process for word in words)
        size = abs(math.log(line.n / people)) if line.n else 2.0
        near_groups = abs(math.log(line.groups / groups)) if line.groups else 1.0
        return line.surface not in AUDIT_SURFACES, other_question, other_kind, size + near_groups

    nearest = sorted(calibration_lines(), key=distance)
    kinds = ("level", "coverage", "power")
    chosen = [line for kind in kinds for line in [near for near in nearest if near.kind == kind][: max(most // 3, 1)]]
    return chosen[: max(most, len(kinds))]


def _sizes(audit: Audit) -> tuple[int, int, tuple[str, ...]]:
    """People, groups of the first attribute, and words of the processes that have the audit's kind of metric."""
    people = max((estimate.clusters for estimate in audit.overall), default=1)
    groups: dict[str, set[Any]] = {}
    for estimate in audit.groups:
        groups.setdefault(estimate.attribute, set()).add(estimate.group)
    rates = any(finding.metric_kind == "rate" for finding in audit.findings if finding.kind != "given")
    return max(people, 1), max((len(names) for names in groups.values()), default=1), ("rate",) if rates else ("mean",)
