"""Tables are compared and planned with as a spreadsheet saved them: semicolons and decimal commas."""

from pathlib import Path

from countenance.cli.app import run as command
from countenance.comparing import compare


def write(path: Path, scores: list[float]) -> Path:
    rows = [f"{i};{'xyz'[i % 3]};{score:.2f}".replace(".", ",") for i, score in enumerate(scores)]
    path.write_text("\n".join(["case;team;score", *rows]) + "\n", encoding="utf-8")
    return path


def test_a_table_with_semicolons_is_compared(tmp_path: Path) -> None:
    old = write(tmp_path / "old.csv", [(i % 10) / 10 for i in range(300)])
    new = write(tmp_path / "new.csv", [(i % 10) / 10 + 0.05 for i in range(300)])
    comparison = compare(old, new, by=["team"], metrics=["score"], pair="case", better={"score": "higher"})
    assert comparison.overall[0].n == 300
    assert abs(comparison.overall[0].difference - 0.05) < 1e-9


def test_a_table_with_semicolons_is_planned_with(tmp_path: Path, capsys) -> None:
    table = write(tmp_path / "table.csv", [(i * 7 % 10) / 10 for i in range(300)])
    assert command(["plan", "--source", str(table), "--metric", "score", "--by", "team", "--effect", "d=.3"]) == 0
    assert "team = x against everyone else: 100 rows show a gap of" in capsys.readouterr().out
