"""All settings: frozen records whose fields have a type, a default and a meaning.

From these records, and only from these, come the options of the command line (`countenance.cli.settings`), what a run's
manifest stores, and the reference pages; a test compares the signatures of the Python functions with them. Nothing here
imports more than pydantic, so that `--help` is quick.
"""

from countenance.settings.audit import AuditFields
from countenance.settings.base import SettingsModel, default_of, option_error, refuse_unknown, setting, split
from countenance.settings.data import DataSettings, ReadingSettings
from countenance.settings.engine import EngineSettings
from countenance.settings.model import ModelSettings
from countenance.settings.report import ReportSettings
from countenance.settings.run import RunSettings

__all__ = [
    "AuditFields",
    "DataSettings",
    "EngineSettings",
    "ModelSettings",
    "ReadingSettings",
    "ReportSettings",
    "RunSettings",
    "SettingsModel",
    "default_of",
    "option_error",
    "refuse_unknown",
    "setting",
    "split",
]
