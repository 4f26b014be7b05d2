"""Cards and exports: what leaves a run carries its intervals and the licences of what made it."""

import csv
import io
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from countenance.answers import Boxes, Keypoints, Masks
from countenance.answers.formats import PredictionRequest, read_predictions
from countenance.answers.formats.coco import write_coco_results
from countenance.cli.app import run as run_command
from countenance.data import load_dataset
from countenance.data.names import ImageNames
from countenance.report.cards import dataset_card, findings_table, groups_table, model_card
from countenance.report.cards.front_matter import front_matter
from countenance.report.names import value_label
from countenance.report.source import ReportSource
from countenance.run import Run


def command(*arguments: object) -> int:
    return run_command([str(argument) for argument in arguments])


def fields_of(card: str) -> dict:
    _, front, _ = card.split("---\n", 2)
    return yaml.safe_load(front)


def test_the_model_card_begins_with_the_verdict_and_has_every_group(run: Run) -> None:
    card = model_card(run)
    source = ReportSource.of(run)
    fields = fields_of(card)
    assert fields["countenance"]["verdict"] == source.audit.verdict == "disparity"
    (index,) = fields["model-index"]
    overall = source.overall["recall@0.5"]
    (number,) = [m for m in index["results"][0]["metrics"] if m["type"] == "recall@0.5"]
    assert number["value"] == pytest.approx(overall.estimate, abs=1e-6) and f"{overall.low:.4f}" in number["name"]
    assert "**drawn-faces misses 35 of 59 pictures of women with skin tone Monk 10 (darkest)" in card
    for tone in range(1, 11):
        assert f"| skin tone | {value_label('skin_tone', f'monk_{tone}')} |" in card
    assert "CC0" in card and "Drawn people are no stand-in" in card


def test_the_library_and_our_own_yaml_say_the_same(run: Run, monkeypatch) -> None:
    pytest.importorskip("huggingface_hub")
    by_library = fields_of(model_card(run))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert fields_of(model_card(run)) == by_library
    assert front_matter({"license": "mit"}, "model") == "---\nlicense: mit\n---\n"


def test_the_hub_library_reads_the_card(run: Run) -> None:
    hub = pytest.importorskip("huggingface_hub")
    read = hub.ModelCard(model_card(run))
    assert {one.metric_type for one in read.data.eval_results} >= {"recall@0.5"}


def test_tables_hold_the_numbers_of_the_audit(run: Run) -> None:
    source = ReportSource.of(run)
    table = groups_table(source)
    exact = list(csv.DictReader(io.StringIO(table.csv(), newline="")))
    wanted = {(e.metric, e.attribute, e.group): e for e in source.audit.groups}
    for row in exact:
        if row["attribute"]:
            estimate = wanted[row["metric"], row["attribute"], row["group"]]
            assert float(row["low"]) == estimate.low and float(row["high"]) == estimate.high
        assert "CC0" in row["licences"]
    assert table.markdown().count("\n| ") == len(exact) + 1
    text = table.latex()
    assert text.count(r"\\") == len(exact) + 1 and r"\toprule" in text and text.startswith("% Made by countenance")
    findings = findings_table(source)
    assert len(findings.rows) == len(source.audit.findings) and r"recall@0.5" in findings.latex()


def test_hostile_names_stay_text(hostile_run: Run) -> None:
    card = model_card(hostile_run)
    body = card.split("---\n", 2)[2]
    assert "<script" not in body and "<img" not in body and "<svg" not in body
    assert fields_of(card)["tags"]
    cells = [cell for row in csv.reader(io.StringIO(groups_table(ReportSource.of(hostile_run)).csv())) for cell in row]
    assert "'=HYPERLINK(1)" in cells and not any(cell.startswith("=") for cell in cells)


@pytest.mark.parametrize(("name", "start"), [("t.md", "drawn-faces on drawn"), ("t.tex", "%"), ("t.csv", "metric,")])
def test_export_chooses_the_format_by_the_name(run: Run, tmp_path: Path, name: str, start: str) -> None:
    assert command("export", run.place, "--what", "groups", "--out", tmp_path / name) == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_export_refuses_what_it_cannot_write(run: Run, tmp_path: Path, capsys) -> None:
    assert command("export", run.place, "--what", "groups", "--out", tmp_path / "t.doc") == 2
    assert "add --format md, latex or csv" in capsys.readouterr().err
    assert command("export", run.place, "--what", "coco", "--format", "csv", "--out", tmp_path / "t") == 2
    assert command("card", tmp_path, "--out", tmp_path / "c.md") == 2


def test_coco_results_of_a_run_can_be_evaluated_again(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    assert command("export", run.place, "--what", "coco", "--out", out) == 0
    assert "CC0" in (tmp_path / "results.json.licences.json").read_text()
    answers = run.answers()
    names = ImageNames(list(answers), {})
    found = read_predictions(out, PredictionRequest(Boxes, names, {}))
    for name, answer in answers.items():
        if len(answer):
            read = found.by_id[name].xyxy
            corners = np.concatenate([read[:, :2], read[:, :2] + read[:, 2:]], axis=1)
            assert np.allclose(corners, answer.xyxy)


def test_masks_and_keypoints_survive_coco_results(tmp_path: Path) -> None:
    mask = Masks(np.eye(4, dtype=bool)[None], [0.5])
    points = Keypoints(np.arange(51.0).reshape(1, 17, 3), [0.25])
    for answer in (mask, points):
        write_coco_results(tmp_path / "r.json", [("a", answer)])
        read = read_predictions(tmp_path / "r.json", PredictionRequest(type(answer), ImageNames(["a"], {}), {})).by_id[
            "a"
        ]
        assert read.to_row() == answer.to_row()


def test_the_dataset_card_counts_everybody(tmp_path: Path) -> None:
    people = load_dataset("people:portraits")
    assert command("data", "card", "people:portraits", "--out", tmp_path / "README.md") == 0
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert card == dataset_card(people) and fields_of(card)["size_categories"] == ["1K<n<10K"]
    assert (
        "| Images | 1,600 |" in card and "| Monk 10 (darkest) |" in card and "nobody in these pictures exists" in card
    )


@pytest.mark.filterwarnings("ignore")
def test_croissant_of_the_people_is_valid(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    assert command("data", "croissant", "people", "--out", tmp_path / "croissant.json") == 0
    read = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    assert not read.metadata.ctx.issues.errors
    counts = {(row["groups/attribute"], row["groups/value"]): row["groups/number"] for row in read.records("groups")}
    people = [s for sample in load_dataset("people") for s in sample.subjects]
    assert counts["skin_tone", "monk_10"] == sum(s.attributes["skin_tone"] == "monk_10" for s in people)
    content = json.loads((tmp_path / "croissant.json").read_text())
    assert content["rai:personalSensitiveInformation"].startswith("none") and "Apache-2.0" in content["license"][0]
    assert {one["@id"] for one in content["distribution"]} == {"samples.parquet", "subjects.parquet"}


def test_an_audit_carries_the_licences(run: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    copied = tmp_path / "run"
    shutil.copytree(run.path, copied)
    assert command("audit", copied, "--by", "gender", "--adjust", "holm", "--json", tmp_path / "a.json") == 0
    assert json.loads((tmp_path / "a.json").read_text())["licences"]["data: drawn"] == "CC0"

    assert json.loads((run.path / "audit.json").read_text())["licences"]["data: drawn"] == "CC0"
    assert b"CC0" in pq.read_schema(run.path / "findings.parquet").metadata[b"countenance.licences"]
