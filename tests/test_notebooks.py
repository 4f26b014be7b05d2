"""The notebooks run from their first cell to their last, in an empty folder, as a reader runs them."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last expression, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_there_are_four() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["bias_bounty", "own_detector", "production_table", "verification"]


@pytest.mark.usefixtures("fewer_to_train_on")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["metadata"]["kernelspec"]["name"]) == (4, "python3")
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    names: dict[str, Any] = {"__name__": "__main__"}
    tables = 0
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]  # nothing of a machine is in them
            shown = run_cell("".join(cell["source"]), names)
            tables += hasattr(shown, "columns") and len(shown.columns) == 10
    assert tables and names["audit"].verdict in ("disparity", "insufficient evidence", "no disparity found")
    if path.stem in ("own_detector", "production_table"):
        assert names["audit"].verdict == "disparity"
    if path.stem == "bias_bounty":
        written = json.loads(Path("submission.json").read_text(encoding="utf-8"))
        assert {"submission_name", "score", "metrics"} < set(written) and 0 < written["score"] < 16
        assert Path("entry.zip").is_file()
