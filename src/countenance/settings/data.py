"""What can be set of a dataset: which of its categories are people, and where it comes from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import field_validator

from countenance.settings.base import SettingsModel, setting
from countenance.settings.box_words import Form, Units, form_named, units_named


class DataSettings(SettingsModel):
    """The data."""

    categories: str | None = setting(
        None, "COCO, YOLO, VOC: categories that are people or faces, by id or name: face=1,person=18."
    )
    truth_boxes: Form | None = setting(None, "What the dataset's boxes are, where its files do not say.")
    truth_units: Units | None = setting(None, "What the dataset's boxes are measured in, where its files do not say.")
    source: str | None = setting(None, "Where a dataset object comes from, for the manifest.", python_only=True)
    withdrawn: str | Path | Sequence[str] | None = setting(
        None, "Who withdrew (as for purge): asked for when a run from another machine goes on."
    )

    @field_validator("truth_boxes", mode="before")
    @classmethod
    def _form(cls, word: Any) -> Any:
        return form_named(word) if isinstance(word, str) else word

    @field_validator("truth_units", mode="before")
    @classmethod
    def _units(cls, word: Any) -> Any:
        return units_named(word) if isinstance(word, str) else word
