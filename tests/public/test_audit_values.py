"""What an audit gives in a notebook: a short table, its page, and the extra that a DataFrame needs."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import countenance as ct
from countenance.auditing import Audit
from countenance.errors import InputError, MissingExtra
from countenance.testing import DiscDetector, small_dataset

ROWS = {"sex": ["f"] * 200 + ["m"] * 200, "found": [1, 0] * 100 + [1] * 180 + [0] * 20}


def test_short_has_ten_columns_with_the_number_its_interval_and_the_verdict() -> None:
    short = ct.audit(ROWS, by="sex", metrics="found", adjust="holm").short()
    assert list(short.columns) == [
        "metric",
        "attribute",
        "group",
        "versus",
        "n",
        "estimate",
        "low",
        "high",
        "difference",
        "verdict",
    ]
    assert short.loc[0, "verdict"] == "disparity" and short.loc[0, "estimate"] == 0.5


@pytest.mark.parametrize("kind", ["mapping", "frame", "csv"])
def test_an_audit_of_a_table_writes_its_page(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = {"mapping": ROWS, "frame": frame, "csv": tmp_path / "t.csv"}[kind]
    page = ct.audit(source, by="sex", metrics="found", adjust="holm").report(tmp_path / "a.html")
    assert "sex" in page.read_text() and page == tmp_path / "a.html"


def test_an_audit_of_predictions_and_of_a_run_by_its_path_write_their_pages(tmp_path: Path) -> None:
    rows = {"sex": ["f", "m"] * 100, "y": [1, 0] * 100, "p": [1, 1, 0, 0] * 50}
    page = ct.audit(rows, by="sex", truth="y", pred="p", adjust="holm").report(tmp_path / "p.html")
    assert "accuracy" in page.read_text()
    ct.evaluate(DiscDetector(), "face_localization", small_dataset(24), out=tmp_path / "v1")
    audit = ct.audit(str(tmp_path / "v1"), by="gender", adjust="holm")
    assert audit.report(tmp_path / "run.html").is_file() and len(audit.short().columns) == 10


def test_an_audit_from_a_file_says_that_it_does_not_know_its_rows(tmp_path: Path) -> None:
    audit = ct.audit(ROWS, by="sex", metrics="found", adjust="holm")
    again = Audit.read(audit.write(tmp_path / "findings.parquet"))
    assert again.verdict == audit.verdict
    with pytest.raises(InputError, match="audit the run or table again"):
        again.report(tmp_path / "a.html")


def test_a_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = ct.audit(ROWS, by="sex", metrics="found", adjust="holm")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pip install 'countenance\[pandas\]'"):
        audit.to_pandas()
