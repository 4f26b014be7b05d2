"""The settings of a dataset: its labels, which of its categories are people, and where it comes from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from countenance.settings.base import SettingsModel, setting
from countenance.settings.box_words import FormSetting, UnitsSetting

Compat = Literal["default", "strict"]
"""Whether the quirks of a published protocol are followed (strict) or corrected."""


class ReadingSettings(SettingsModel):
    """The data."""

    labels: str | Path | Sequence[str | Path] | None = setting(
        None,
        "A table of labels beside the pictures (CSV, TSV, JSON, Parquet, CVAT, VIA, Label Studio); may be repeated.",
        repeated=True,
    )
    columns: str | None = setting(
        None, "What the columns of the labels hold, where their names do not say: file=img,person=who,box=x+y+w+h."
    )
    only_present: bool = setting(False, "Leave out rows of the labels whose picture is missing.", flag="--only-present")
    categories: str | None = setting(
        None, "COCO, YOLO, VOC, labels: categories that are people or faces, by id or name: face=1,person=18."
    )
    truth_boxes: FormSetting | None = setting(None, "What the dataset's boxes are, where its files do not say.")
    truth_units: UnitsSetting | None = setting(
        None, "What the dataset's boxes are measured in, where its files do not say."
    )

    def reading(self) -> dict[str, Any]:
        """These settings as arguments of `load_dataset`."""
        return {name: getattr(self, name) for name in ReadingSettings.model_fields}

    def label_files(self) -> list[Path]:
        """The label files, as a list."""
        files = [self.labels] if isinstance(self.labels, str | Path) else list(self.labels or ())
        return [Path(file) for file in files]


class DataSettings(ReadingSettings):
    """The data."""

    source: str | None = setting(None, "Where a dataset object comes from, for the manifest.", python_only=True)
    withdrawn: str | Path | Sequence[str] | None = setting(
        None, "Who withdrew (as for purge); needed when a run from another machine is resumed."
    )
