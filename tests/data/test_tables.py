"""Reading tables: what a spreadsheet may have written instead of CSV."""

from pathlib import Path

import pytest

from countenance.data.tables import read_csv
from countenance.errors import InputError


@pytest.mark.parametrize(("sign", "named"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_are_named(tmp_path: Path, sign: str, named: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"name{sign}skin_tone\na.png{sign}monk_1\n")
    with pytest.raises(InputError, match=f"separated by {named}, expected commas"):
        read_csv(path)


def test_a_table_of_one_column_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("name\na.png\n")
    header, rows = read_csv(path)
    assert (header, [row for _, row in rows]) == (["name"], [{"name": "a.png"}])
