"""`audit.json`: its content is checked when it is read, since a run may come from somebody else."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

DEEPEST = 10
"""Attributes of an intersection; an audit stops long before."""


class NotCompared(BaseModel):
    """An attribute that was left out, and why."""

    model_config = ConfigDict(extra="allow")
    attribute: str
    why: str


class LeftOut(BaseModel):
    """A group that was too small to test."""

    model_config = ConfigDict(extra="allow")
    metric: str = ""
    attribute: str
    group: str
    n: int = 0
    why: str = ""


class StoredSettings(BaseModel):
    """The settings of an audit as pages, gates and the viewer use them; other settings are kept unchanged."""

    model_config = ConfigDict(extra="allow")
    by: list[str] = []
    metrics: list[str] = []
    where: dict[str, list[str]] | None = {}
    cluster: str | list[str] | None = "auto"
    ways: list[str] = []
    unit: str = ""
    comparison: str = "rest"
    reference: str | None = None
    depth: int | None = Field(1, ge=1, le=DEEPEST)
    alpha: float = Field(0.05, gt=0, lt=1)
    delta: FiniteFloat | dict[str, FiniteFloat | None] | None = None
    better: dict[str, Literal["higher", "lower"] | None] | None = {}
    h0: FiniteFloat = 0.2
    power: float = Field(0.8, gt=0, lt=1)
    min_n: int = 20
    adjust: Literal["minp", "holm", "bh"] = "holm"
    adjust_asked: Literal["minp", "holm", "bh"] | None = None
    adjust_why: str | None = ""
    permutations: int = 0
    families: str | dict[str, list[str]] | None = None
    seed: int = 0
    pair: str | list[str] | None = None
    denominators: dict[str, str] | None = {}
    poor: float = Field(0.2, ge=0, le=1)
    ordered: dict[str, list[str]] | None = {}
    roles: dict[str, Literal["person", "condition"]] | None = {}
    paired_by: dict[str, str] | None = None
    answered: dict[str, str] | None = {}
    better_inferred: list[str] = []
    questions: int = 0
    not_compared: list[NotCompared] = []
    levels: dict[str, list[str]] = {}
    named: list[str] = []
    crosses: list[list[str]] = []
    bins: dict[str, list[FiniteFloat]] = {}
    rows: int = 0
    comparisons: int = 0
    notes: list[str] = []


def checked_settings(settings: Any) -> dict[str, Any]:
    """The settings of an audit, after a check of their types; missing settings are not filled with defaults.

    >>> checked_settings({"by": ["gender"], "metrics": ["recall"], "alpha": 0.05, "further": 1})["by"]
    ['gender']
    """
    checked = StoredSettings.model_validate(settings).model_dump(exclude_unset=True)
    return {name: checked[name] for name in [*settings, *checked] if name in checked}  # in file order


def checked_excluded(excluded: Any) -> list[dict[str, Any]]:
    """The groups that were left out, each with the fields that pages show."""
    return [LeftOut.model_validate(group).model_dump() for group in excluded]
