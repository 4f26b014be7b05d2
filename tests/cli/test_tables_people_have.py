"""Tables with predictions or metrics as people have them are audited at the first try, alike."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import countenance as ct
from countenance.cli.app import app

FORMS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "commas.csv": lambda rows, path: rows.to_csv(path, index=False),
    "with an index.csv": lambda rows, path: rows.to_csv(path),
    "tabs.tsv": lambda rows, path: rows.to_csv(path, index=False, sep="\t"),
    "semicolons.csv": lambda rows, path: rows.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig"),
    "windows.csv": lambda rows, path: rows.assign(ort="Köln").to_csv(path, index=False, sep=";", encoding="cp1252"),
    "packed.csv.gz": lambda rows, path: path.write_bytes(gzip.compress(rows.to_csv(index=False).encode())) and None,
    "lines.jsonl": lambda rows, path: rows.to_json(path, orient="records", lines=True),
    "records.json": lambda rows, path: rows.to_json(path, orient="records"),
    "columns.json": lambda rows, path: path.write_text(json.dumps(rows.to_dict(orient="list"))) and None,
    "rows.parquet": lambda rows, path: rows.to_parquet(path),
}


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    n = 240
    truth = rng.integers(0, 2, n)
    score = np.clip(truth * 0.5 + rng.normal(0.25, 0.2, n), 0, 1).round(3)
    sex = np.where(np.arange(n) % 2 == 0, "f", "m")
    return pd.DataFrame(
        {"user": np.arange(n) // 2, "sex": sex, "hired": truth, "score": score, "advice": (score > 0.5).astype(int)}
    )


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_findings(tmp_path: Path, rows: pd.DataFrame, name: str) -> None:
    path = tmp_path / name
    FORMS[name](rows, path)
    expected = {
        "predictions": ct.audit(rows, by="sex", truth="hired", pred="advice", score="score"),
        "metric": ct.audit(rows, by="sex", metrics="advice", cluster="user"),
    }
    options = {
        "predictions": ["--truth", "hired", "--pred", "advice", "--score", "score"],
        "metric": ["--metric", "advice", "--cluster", "user"],
    }
    for kind, answer in expected.items():
        out = tmp_path / f"{kind}.json"
        arguments = ["audit", str(path), "--by", "sex", *options[kind], "--json", str(out), "--quiet"]
        result = CliRunner().invoke(app, [*arguments, "--report", str(tmp_path / f"{kind}.html")])
        assert result.exit_code == 0, result.output
        shown = {finding["metric"]: finding["p_adjusted"] for finding in json.loads(out.read_text())["findings"]}
        assert shown == {finding.metric: finding.p_adjusted for finding in answer.findings}
    again = ct.audit(path, by="sex", metrics="advice", cluster="user")
    assert again.findings == expected["metric"].findings


def test_what_is_no_table_is_refused_with_the_forms_that_are(tmp_path: Path, rows: pd.DataFrame) -> None:
    for name, content, words in (
        ("a.json", '{"rows": 3}', "expected a list of records"),
        ("b.jsonl", "{'x'}", "not JSON"),
        ("c.json", '[{"x": 1}, {"x": "a"}]', "mixed kinds of values"),
        ("d.xyz.gz", "a,b", "expected .parquet, .csv, .tsv, .json or .jsonl"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(ct.InputError, match=words):
            ct.audit(tmp_path / name, by="sex")


@pytest.mark.parametrize(
    ("above", "remark"),
    [
        ("Results of the third quarter\n", "line 1 (Results of the third quarter) is a title and left out"),
        ("Results of the third quarter,,,,\n,,,,\n", "line 1 (Results of the third quarter) is a title and left out"),
        ("Results\n\n", "line 1 (Results) is a title and left out"),
        ("\n", ""),
        ("# exported in May\n", ""),
    ],
)
def test_lines_above_the_header_of_commas_are_left_out(
    tmp_path: Path, rows: pd.DataFrame, above: str, remark: str
) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "audit.json"
    path.write_text(above + rows.to_csv(index=False))
    arguments = ["audit", str(path), "--by", "sex", "--metric", "advice", "--cluster", "user", "--json", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0 and remark in result.output
    expected = ct.audit(rows, by="sex", metrics="advice", cluster="user")
    assert [finding["p"] for finding in json.loads(out.read_text())["findings"]] == [f.p for f in expected.findings]
    assert [f.p for f in ct.audit(path, by="sex", metrics="advice", cluster="user").findings] == [
        f.p for f in expected.findings
    ]


def test_a_title_that_reads_as_a_header_is_refused_with_the_columns(tmp_path: Path, rows: pd.DataFrame) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("Results, third quarter, team West\n" + rows.to_csv(index=False))
    with pytest.raises(ct.InputError, match="no metric 'advice'; the columns are 'Results', ' third quarter'"):
        ct.audit(path, by="sex", metrics="advice")
