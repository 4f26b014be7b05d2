"""What a task says about the whole run, equity measures, and the evidence page."""

import numpy as np
import pytest

from countenance.cli.app import run as run_command
from countenance.report.draw.svg import panel
from countenance.report.names import Names
from countenance.report.results import result_sections
from countenance.tasks import Curve, Matrix, Number, Table
from countenance.tasks.results import Axis, Line


def test_every_type_of_result_is_drawn():
    found = result_sections(
        [
            Number(name="FMR", value=0.01),
            Number(name="group FMR", value=0.02, low=0.01, high=0.03, n=50, attribute="skin_tone", group="monk_1"),
            Number(name="group FMR", value=0.001, bound="<", n=9, attribute="skin_tone", group="<b>"),
            Curve(
                name="DET",
                x=Axis(label="FMR", log=True),
                y=Axis(label="FNMR", log=True),
                marks=[0.01],
                lines=[Line(label="all", x=[0, 0.001, 1], y=[1, 0.1, 0], low=[1, 0.05, 0], high=[1, 0.2, 0.01])],
            ),
            Matrix(
                name="FMR by group",
                rows=["a", "b"],
                columns=["a", "b"],
                values=[[0.1, 0], [0, float("nan")]],
                counts=[[9, 9], [9, 0]],
                attribute="g",
            ),
            Table(name="Counts", columns=["group", "n"], rows=[["a", 1234], [None, float("nan")]]),
        ],
        Names([], {}, 1),
    )
    [table] = found.by_group
    assert [row[0] for row in table.rows] == ["Monk 1 (lightest)", "<b>"]
    assert table.rows[1][1][0][0] == "< 0.001" and table.rows[0][1][0] == ("0.020", "0.010–0.030", "n 50")
    [figure] = found.figures
    picture = panel(figure.chart, "k")
    assert "nan" not in picture and "polygon" in picture and 'class="ref"' in picture
    [grid] = found.grids
    assert [cell.step for cell in grid.rows[0][1]] == [8, 0] and grid.rows[1][1][1].step is None
    [sheet] = found.sheets
    assert sheet.rows == [["a", "1,234"], ["–", "–"]]


def test_a_table_names_attributes_and_groups_in_words():
    table = Table(
        name="equity within groups: skin_tone",
        columns=["by", "group"],
        rows=[["skin_tone × age", "monk_10 × [18, 30)"], ["hat", "no"]],
        note="fewer than 20 people: monk_10, [18, 30); see --by skin_tone.x",
    )
    names = Names(["skin_tone", "age", "hat"], {"skin_tone": ["monk_10"], "age": ["[18, 30)"], "hat": ["no"]}, 2)
    [sheet] = result_sections([table], names).sheets
    assert sheet.title == "equity within groups: skin tone"
    assert sheet.rows == [["skin tone × age", "Monk 10 (darkest) × 18–29"], ["hat", "no"]]
    assert sheet.about.startswith("Fewer than 20 people: Monk 10 (darkest), 18–29;")


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """A verification run from saved embeddings of the embedded portraits."""
    from countenance.data import load_dataset

    folder = tmp_path_factory.mktemp("verified")
    rng = np.random.default_rng(0)
    people: dict[str, np.ndarray] = {}
    lines = ["file," + ",".join(f"e{i}" for i in range(8))]
    for sample in sorted(load_dataset("people:portraits"), key=lambda sample: sample.id)[:240]:
        centre = people.setdefault(str(sample.subjects[0].identity), rng.normal(size=8))
        lines.append(",".join([sample.id, *(f"{v:.4f}" for v in centre + rng.normal(size=8) * 0.3)]))
    (folder / "e.csv").write_text("\n".join(lines))
    command = ["run", "face_verification", "--model", f"predictions:{folder / 'e.csv'}", "--data", "people:portraits"]
    command += ["--by", "gender", "--fmr", "1e-2", "--out", str(folder / "run"), "--quiet", "--max-failures", "1"]
    assert run_command(command) == 0
    return folder / "run"


def test_a_verification_run_has_results_equity_and_evidence(verified, capsys):
    assert run_command(["audit", str(verified), "--by", "gender", "--equity", "--quiet"]) == 0
    assert "fairness_discrepancy_rate" in capsys.readouterr().out
    assert run_command(["report", str(verified)]) == 0
    page = (verified / "report.html").read_text()
    assert 'id="results"' in page and "FMR by group" in page and 'id="equity"' in page and "garbe" in page
    assert run_command(["report", str(verified), "--evidence"]) == 0
    evidence = (verified / "evidence.html").read_text()
    for part in ("What was measured", "On whom", "Assigned by:", "Measure by measure", "Content hash", "garbe"):
        assert part in evidence
    assert "does not say that the model complies" in evidence
    assert run_command(["verify", str(verified)]) == 0


def test_a_difference_of_false_match_rates_is_judged_by_the_rate_that_was_allowed(verified):
    import json

    assert json.loads((verified / "audit.json").read_text())["settings"]["delta"]["FMR"] == 2
