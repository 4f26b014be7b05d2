"""The findings as CSV: safe in a spreadsheet, a line each, whatever the names hold."""

import pytest

from countenance.report.findings import safe_cell, to_csv
from countenance.report.source import ReportSource
from countenance.run import Run


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1"])
def test_a_csv_cell_is_never_a_formula(text: str) -> None:
    assert safe_cell(text).startswith("'")


def test_numbers_in_the_csv_stay_numbers() -> None:
    assert safe_cell(-0.25) == "-0.25"
    assert safe_cell(float("nan")) == "" == safe_cell(None)


def test_a_line_break_in_a_name_does_not_break_the_csv(hostile_run: Run) -> None:
    found = ReportSource.of(hostile_run).audit.findings
    broken = [f.model_copy(update={"group": "a\r\nb"}) for f in found[:3]]
    assert len(to_csv(broken).split("\r\n")) == 5
