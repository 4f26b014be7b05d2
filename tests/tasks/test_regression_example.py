"""The regression task and the fitted model of docs/extend/regression.md, run as they stand there."""

import re
from pathlib import Path

import pytest

import countenance as ct
from countenance.testing import small_dataset

PAGE = Path(__file__).parents[2] / "docs" / "extend" / "regression.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    for name, code in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text("utf-8"), re.S):
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_regression_task_is_evaluated_and_audited_by_its_error(folder: Path):
    run = ct.evaluate("brightness.py:corner", "brightness.py:BRIGHTNESS", small_dataset(60), out=folder / "run")
    first = small_dataset(60)[0]
    errors = dict(zip(run.scores()["sample"].to_pylist(), run.scores()["m.error"].to_pylist(), strict=True))
    assert errors[first.id] == pytest.approx(abs(first.load()[:8, :8].mean() - first.load().mean()))
    assert run.answers()[first.id].values == {"grey": pytest.approx(first.load()[:8, :8].mean())}
    audit = run.audit(by=["gender"])
    assert {finding.metric for finding in audit.findings} == {"error"}
    (folder / "p.csv").write_text("image,grey\n" + "".join(f"{s.id},{s.load().mean()}\n" for s in small_dataset(60)))
    saved = ct.evaluate("predictions:p.csv", "brightness.py:BRIGHTNESS", small_dataset(60))
    assert max(saved.scores()["m.error"].to_pylist()) < 1e-9


def test_a_model_of_the_page_is_fitted_on_ten_pictures(folder: Path):
    run = ct.evaluate("fitted.py:Mean", "fitted.py:FITTED", small_dataset(30), out=folder / "run")
    assert run.scores().num_rows == 20 and {a.values["grey"] for a in run.answers().values()} == {
        run.fit_notes()["mean"]
    }
