"""The tables of faults and of promises in the docs name a test for every line."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/faults.md", "docs/security.md"])
def test_every_line_of_the_table_has_a_test_that_exists(page: str) -> None:
    lines = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("| ")]
    rows = [line for line in lines if not line.endswith("| test |")]
    known = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        known |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert len(rows) > 25
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named, f"no test for {row}"
        assert set(named) <= known, f"{set(named) - known} of {row}"
