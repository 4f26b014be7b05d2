"""The settings of a run: what it evaluates, and everything that its numbers depend on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from countenance.settings.base import SettingsModel, setting


class RunSettings(SettingsModel):
    """The run."""

    options: Mapping[str, Any] | None = setting(None, "Options of the task.", python_only=True)
    by: Sequence[str] | None = setting(
        None, "Attributes by which results by group are computed (default: all).", python_only=True
    )
    batch: int = setting(8, "Images that the model gets at once.", ge=1)
    limit: int | None = setting(None, "Evaluate only this many images, drawn with the seed.", ge=1)
    seed: int = setting(0, "Seed of everything random.", ge=0)
    shard: int | None = setting(None, "Images in a shard (default: by the number of images).", ge=1, python_only=True)
    decode: Literal["exact", "gpu"] = setting(
        "exact",
        "exact: on the CPU, the same pixels everywhere; gpu: with nvJPEG, faster and slightly different pixels.",
    )
    allow_licence: Sequence[Any] | None = setting(
        None,
        "Licences that data and weights may have (MIT,CC0,'CC-BY-*'); with others the run does not start.",
        repeated=True,
    )
    suite: str | None = setting(None, "The suite that the run belongs to.", python_only=True)
    about: Mapping[str, Any] | None = setting(None, "Further facts for the manifest.", python_only=True)
    notes: Callable[..., Any] | None = setting(
        None, "Replaces the task's own notes on predictions that look like a mistake.", python_only=True
    )

    def of_key(self) -> dict[str, Any]:
        """The settings that the numbers of a run depend on."""
        return {name: getattr(self, name) for name in ("batch", "seed", "limit", "shard", "decode")}
