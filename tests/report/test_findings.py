"""The findings as CSV: safe in a spreadsheet, a line each, whatever the names hold."""

import pytest

from countenance.auditing import Finding
from countenance.auditing.effects import effect_label
from countenance.report.findings import by_size, finding_words, safe_cell, to_csv
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


def test_the_largest_effects_come_first_among_those_alike(hostile_run: Run) -> None:
    source = ReportSource.of(hostile_run)
    one = source.audit.findings[0]
    nan = float("nan")

    def made(verdict: str, effect: float, difference: float = 0.1, depth: int = 1) -> Finding:
        return one.model_copy(update={"verdict": verdict, "effect": effect, "difference": difference, "depth": depth})

    wanted = [
        made("disparity", -0.9),
        made("disparity", 0.4, -0.3),
        made("disparity", 0.4, 0.2),
        made("disparity", 0.4, 0.2, depth=2),
        made("inconclusive", 2.0),
        made("inconclusive", nan),
        made("untestable", 3.0),
    ]
    given = [wanted[i] for i in (6, 3, 0, 5, 2, 4, 1)]
    assert [id(f) for f in by_size([*given, made("disparity", 1.0, nan)])] == [id(f) for f in wanted]
    said = finding_words(wanted[3], source)
    assert said["depth"] == "crossed" and finding_words(wanted[0], source)["depth"] == "alone"
    assert said["n"].count(" / ") == 1 and said["effect"].startswith(effect_label(one.effect_name))
