"""The settings of a model: its weights, its device, and the meaning of its boxes' numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import field_validator

from countenance.settings.base import SettingsModel, setting
from countenance.settings.box_words import FormSetting, UnitsSetting

DEVICES = ("cpu", "cuda")


class ModelSettings(SettingsModel):
    """The model."""

    weights: str | Path | None = setting(None, "Weights of a zoo model that takes them by path.")
    device: str = setting("cpu", "Where the model runs: cpu or cuda.")
    settings: Mapping[str, Any] | None = setting(
        None,
        "NAME=VALUE, for a model by name or a file of predictions (format=my_format.py:FORMAT); may be repeated.",
        flag="--setting",
        repeated=True,
    )
    box_format: FormSetting | None = setting(
        None,
        "What the four numbers of the model's boxes are (default: as a file of predictions has them, else xyxy).",
        flag="--boxes",
    )
    units: UnitsSetting | None = setting(None, "What the model's boxes are measured in: pixels (default) or shares.")
    allow_mismatch: bool = setting(
        False, "Evaluate a model even if it finds something else than the task asks for.", flag="--allow-mismatch"
    )
    timed: bool = setting(
        False, "Measure the time of each image, one image at a time, as the metric latency_ms.", flag="--timed"
    )
    card: Any = setting(None, "A card in place of the model's own.", python_only=True)

    @field_validator("settings", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        return _of_pairs(value) if isinstance(value, list) else value

    @field_validator("device")
    @classmethod
    def _device(cls, word: str) -> str:
        if word.partition(":")[0] not in DEVICES:
            raise ValueError(f"device {word!r}, expected cpu or cuda")
        return word


def _of_pairs(texts: Sequence[str]) -> dict[str, Any]:
    """Settings written NAME=VALUE, as a dict by name; numbers are converted.

    >>> _of_pairs(["format=lines:LINES", "top=11"])
    {'format': 'lines:LINES', 'top': 11}
    """
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise ValueError(f"settings {text!r}: expected NAME=VALUE, such as format=my_format.py:FORMAT")
        if name in pairs:
            raise ValueError(f"settings {text!r}: {name} is given twice")
        pairs[name] = _number_or_text(value)
    return pairs


def _number_or_text(value: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
