"""The settings of pages."""

from typing import Literal

from countenance.settings.base import SettingsModel, setting

Gallery = Literal["auto", "off", "blurred", "full"]


class ReportSettings(SettingsModel):
    """The report."""

    gallery: Gallery = setting("auto", "Pictures on pages; auto shows no real people.")
