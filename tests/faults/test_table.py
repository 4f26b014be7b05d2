"""The table of faults in the docs names a test for every line."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_line_of_the_table_has_a_test_that_exists() -> None:
    lines = [line for line in (ROOT / "docs/faults.md").read_text().splitlines() if line.startswith("| ")]
    rows = [line for line in lines if not line.startswith("| fault")]
    known = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        known |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert len(rows) > 25
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named, f"no test for {row}"
        assert set(named) <= known, f"{set(named) - known} of {row}"
