"""Figures of the docs that rest on the embedded people are those that `make results` wrote."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "results" / "people.json"
if not FILE.is_file():
    pytest.skip("docs/results/people.json: `make results` has not been run since it was added", allow_module_level=True)
FOUND = json.loads(FILE.read_text(encoding="utf-8"))
VERIFICATION = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")


def number(name: str, attribute: str | None = None, group: str | None = None) -> dict:
    """One number of the verification run."""
    (found,) = [
        one
        for one in FOUND["verification"]["results"]
        if (one["name"], one["attribute"], one["group"]) == (name, attribute, group)
    ]
    return found


def shown(one: dict, digits: int) -> str:
    if one["bound"]:
        return f"{one['bound']} {one['value']:.{digits}f}"
    return f"{one['value']:.{digits}f} [{one['low']:.{digits}f}, {one['high']:.{digits}f}]"


def test_the_command_and_what_it_says() -> None:
    assert FOUND["verification"]["command"] in VERIFICATION
    (block,) = re.findall(r"ends with\n\n```text\n(.*?)```", VERIFICATION, re.DOTALL)
    assert [line for line in block.splitlines() if line not in FOUND["verification"]["lines"]] == []


def test_the_table_of_results() -> None:
    rows = {
        "FMR": shown(number("FMR"), 4),
        "FNMR": shown(number("FNMR"), 3),
        "EER": shown(number("EER"), 3),
        "FNMR at an FMR of 0.1 / 0.001": f"{shown(number('FNMR@FMR=0.1'), 3)} / {shown(number('FNMR@FMR=0.001'), 3)}",
    }
    for name, text in rows.items():
        assert f"| {name} | {text} |" in VERIFICATION, (name, text)
    assert f"{number('FMR')['n']:,} impostor pairs" in VERIFICATION
    assert f"{number('FNMR')['n']:,} genuine pairs" in VERIFICATION


def test_the_demo_says_what_it_said() -> None:
    assert FOUND["demo"]["lines"][0] == "verdict  disparity"
