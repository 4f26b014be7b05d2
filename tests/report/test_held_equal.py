"""The section on conditions held equal, from the command line to the page; and the columns of a run's pictures."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

import countenance as ct
from countenance.auditing import audit
from countenance.cli.app import app
from countenance.data.conditions import COLUMNS
from countenance.report.charts import waterfall
from countenance.report.held_equal import section
from countenance.report.names import MEASURED


def rows(seed=1):
    r = np.random.default_rng(seed)
    g = np.repeat(r.integers(0, 2, 300), 4)
    light = (r.random(len(g)) < np.where(g, 0.8, 0.2)).astype(int)
    return {
        "tone": np.array(["dark", "pale"])[g].tolist(),
        "light": np.array(["bright", "dim"])[light].tolist(),
        "person_id": np.repeat(np.arange(300), 4).tolist(),
        "found": (r.random(len(g)) < 0.95 - 0.4 * light).astype(float),
    }


def test_the_command_prints_writes_and_draws_it(tmp_path):
    pq.write_table(pa.table(rows()), tmp_path / "t.parquet")
    words = ["audit", str(tmp_path / "t.parquet"), "--by", "tone", "--metric", "found", "--given", "light", "-q"]
    words += ["--json", str(tmp_path / "a.json"), "--report", str(tmp_path / "r.html")]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    assert answer.exit_code == 0 and "held equal light" in answer.stdout and "gap explained by light" in answer.stdout
    content = json.loads((tmp_path / "a.json").read_text())
    (given,) = [f for f in content["findings"] if f["kind"] == "given"]
    names = {"raw", "held_equal", "low", "high", "p_adjusted", "explained", "overlap", "verdict"}
    assert names <= given.keys() and set(given["explained"]["light"]) >= {"share", "low", "high"}
    assert content["settings"]["given"] == ["light"]
    page = (tmp_path / "r.html").read_text()
    assert 'id="held-equal"' in page and 'class="fall held"' in page and "The strata behind it" in page
    assert page.count("gap explained by light") >= 1 and 'id="held-equal"' in page
    plain = CliRunner().invoke(app, [*words[:6], "-q"], catch_exceptions=False).stdout
    assert "held equal:" not in plain and "--by tone --given light holds that equal" in plain


def test_the_waterfall_ends_where_the_gap_held_equal_is():
    found = audit(rows(), ["tone"], ["found"], given=["light"], adjust="holm")
    held = section(found.without_given(), {"found": "faces found"})
    (fall,) = held.falls
    f = found.given[0]
    assert [step.name for step in fall.steps] == ["raw gap", "light", "held equal"]
    made = waterfall.steps((f.raw, 0, 0), [("light", f.explained["light"].part, 0, 0)], (f.held_equal, 0, 0))
    assert abs(made[1].end - made[2].end) < 1e-12
    assert sum(one.weight for one in f.strata) <= 1 + 1e-9 and f.strata[0].conditions.keys() == {"light"}
    assert section(audit(rows(), ["tone"], ["found"], adjust="holm"), {}) is None


def test_every_measured_condition_has_words():
    assert MEASURED.keys() == COLUMNS.keys()


def answers(folder, columns, *words):
    """What the terminal, the JSON and the page say of a table."""
    pq.write_table(pa.table(columns), folder / "t.parquet")
    words = ["audit", str(folder / "t.parquet"), "--by", "tone", "--metric", "found", "--given", "light", "-q", *words]
    words += ["--json", str(folder / "a.json"), "--report", str(folder / "r.html")]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    assert answer.exit_code == 0
    content = json.loads((folder / "a.json").read_text())
    page = (folder / "r.html").read_text()
    section = page[page.index('id="held-equal"') :].partition("</section>")[0]
    return answer.stdout, [f for f in content["findings"] if f["kind"] == "given"], section


def test_without_overlap_no_number_is_shown(tmp_path):
    columns = rows()
    columns["light"] = ["dim" if tone == "dark" or i < 12 else "bright" for i, tone in enumerate(columns["tone"])]
    terminal, (given,), page = answers(tmp_path, columns)
    (line,) = [line for line in terminal.splitlines() if "untestable (no overlap)" in line]
    assert re.fullmatch(r"found +tone = dark +[+-]\d\.\d{3} +untestable \(no overlap\)", line.strip())
    assert given["held_equal"] is given["low"] is given["high"] is given["p_adjusted"] is None
    assert 'class="fall held"' not in page and "effective people" in page and "nan" not in page
    cells = re.findall(r'<td class="number">(.*?)</td>', page)
    assert cells[1:4] == ["–", "no interval", "–"]


def test_rows_without_a_recorded_condition_are_counted_everywhere(tmp_path):
    columns = rows()
    columns["light"] = [None if i % 10 == 0 else light for i, light in enumerate(columns["light"])]
    words = "120 rows left out because light is not recorded"
    terminal, (given,), page = answers(tmp_path, columns)
    assert words in " ".join(terminal.split()) and words in page and given["unknown_conditions"] == 120
    columns["light"] = rows()["light"]
    terminal, (given,), page = answers(tmp_path, columns)
    assert "not recorded" not in terminal + page and given["unknown_conditions"] == 0


def test_a_run_measures_its_pictures_and_holds_them_equal(tmp_path):
    run = ct.evaluate("haar", "face_localization", "people:portraits", out=tmp_path / "run", limit=120, workers=1)
    scores = run.scores()
    assert set(COLUMNS) <= set(scores.column_names)
    known = [value for value in scores["img.brightness"].to_pylist() if value is not None]
    assert len(known) > 100 and 0 < min(known) < max(known) < 255
    found = run.audit(by=["gender"], metrics=["recall@0.5"], given=["img.brightness", "light"], adjust="holm")
    assert found.given[0].given == ["img.brightness", "light"]
    by_light = run.audit(by=["img.brightness:quantiles2"], metrics=["recall@0.5"], adjust="holm")
    assert {f.attribute for f in by_light.findings if f.kind == "group"} == {"img.brightness"}
    again = ct.evaluate(
        f"answers:{tmp_path / 'run'}", "face_localization", "people:portraits", out=tmp_path / "again", limit=120
    )
    assert not [name for name in again.scores().column_names if name.startswith("img.")]
    page = run.report(tmp_path / "r.html").read_text()
    assert not re.search(r'id="held-equal"', page)  # the last audit held nothing equal
