"""Progress where the standard error is no terminal: plain lines with a rate that means something."""

import time

import pytest

from countenance.cli import progress as module
from countenance.cli.progress import progress


def test_work_that_was_done_before_has_no_rate(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    """A run that resumes with nothing left to do printed 110446388.3 images a second."""
    monkeypatch.setattr(module, "SHORTEST", 60.0)
    with progress("evaluating", 240) as step:
        step(240)
    assert capsys.readouterr().err.splitlines() == ["evaluating: 240/240"]


def test_a_rate_is_printed_after_some_time(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    clock = iter((0.0, 4.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress("evaluating", 240) as step:
        step(240)
    assert capsys.readouterr().err.splitlines() == ["evaluating: 240/240, 60.0/s, 0 s left"]
