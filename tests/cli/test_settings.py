"""Options come from settings: their names, types, defaults, help panels and refusals."""

from typing import Literal

import pytest
import typer
from typer.testing import CliRunner

from countenance.cli.settings import flag_of, with_settings
from countenance.errors import OptionError
from countenance.settings import SettingsModel, setting


class Work(SettingsModel):
    """How the work is done."""

    workers: int = setting(1, "Worker processes.", ge=1, short="-w")
    engine: Literal["local", "ray"] = setting("local", "What runs the workers.")
    limit: int | None = setting(None, "At most so many images.")
    strict: bool = setting(False, "Stop at the first failure.")
    by: list[str] | None = setting(None, "Attributes.", repeated=True, flag="--group-by")
    progress: object = setting(None, "Called with each step.", python_only=True)


def invoke(*arguments: str) -> tuple[Work | None, str, int]:
    seen: list[Work] = []
    app = typer.Typer(rich_markup_mode="rich")

    def go(name: str, work: Work) -> None:
        """Do it."""
        seen.append(work)

    app.command()(with_settings(go))
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return (seen[0] if seen else None), result.output, result.exit_code


def test_defaults_are_those_of_the_settings():
    work, _, _ = invoke("a")
    assert work == Work()


def test_every_kind_of_option_is_read():
    work, _, _ = invoke("a", "-w", "3", "--limit", "5", "--strict", "--group-by", "a", "--group-by", "b")
    assert work == Work(workers=3, limit=5, strict=True, by=["a", "b"])


def test_help_has_a_panel_with_meaning_and_choices_and_no_python_only_setting():
    _, output, _ = invoke("--help")
    assert "How the work is done" in output
    assert "Worker processes." in output
    assert "One of local, ray." in " ".join(output.split())
    assert "progress" not in output


def test_a_wrong_value_is_refused_by_its_name():
    with pytest.raises(OptionError, match="workers is 0, expected at least 1") as refused:
        invoke("a", "--workers", "0")
    assert refused.value.argument == "workers"
    with pytest.raises(OptionError, match="engine is 'dask', expected 'local' or 'ray'"):
        invoke("a", "--engine", "dask")


def test_the_flag_of_a_setting_is_known_for_messages():
    assert (flag_of(Work, "by"), flag_of(Work, "workers")) == ("--group-by", "--workers")


def test_settings_are_stored_without_callables():
    assert Work(progress=print).plain() == {
        "workers": 1,
        "engine": "local",
        "limit": None,
        "strict": False,
        "by": None,
    }
