"""Runs in other projects' formats, held against those projects' own rules."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from countenance.cli.app import run as run_command
from countenance.report.exports.eval_results import hub_results
from countenance.report.exports.every_eval_ever import every_eval_ever
from countenance.report.exports.published import published, source_of
from countenance.run import Run

TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}


def required(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(parts), "properties": parts}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
METRIC = required(lower_is_better={"type": "boolean"})
METRIC["properties"] |= {
    "evaluation_description": TEXT,
    "metric_id": TEXT,
    "metric_name": TEXT,
    "metric_unit": TEXT,
    "additional_details": TEXTS,
    "min_score": NUMBER,
    "max_score": NUMBER,
    "score_type": {"enum": ["binary", "continuous", "levels"]},
}
METRIC |= {
    "if": {"properties": {"score_type": {"const": "levels"}}},  # also true where there is no score_type
    "then": {"required": ["level_names", "has_unknown_level"]},
    "else": {
        "if": {"properties": {"score_type": {"const": "continuous"}}},
        "then": {"required": ["min_score", "max_score"]},
    },
}
INTERVAL = required(lower=NUMBER, upper=NUMBER)
INTERVAL["properties"] |= {"confidence_level": {"type": "number", "minimum": 0, "maximum": 1}, "method": TEXT}
SCORE = required(score=NUMBER)
SCORE["properties"] |= {
    "details": TEXTS,
    "uncertainty": {
        "type": "object",
        "properties": {"confidence_interval": INTERVAL, "num_samples": {"type": "integer"}},
    },
}
PRIVATE = required(dataset_name=TEXT, source_type={"const": "other"})
PRIVATE["properties"]["additional_details"] = TEXTS
SOURCE = required(
    source_type={"enum": ["documentation", "evaluation_run"]},
    source_organization_name=TEXT,
    evaluator_relationship={"enum": ["first_party", "third_party", "collaborative", "other"]},
)
SOURCE["properties"] |= {"source_name": TEXT, "additional_details": TEXTS}
MODEL = required(name=TEXT, id=TEXT)
MODEL["properties"]["additional_details"] = TEXTS
RESULT = required(evaluation_name=TEXT, source_data=PRIVATE, metric_config=METRIC, score_details=SCORE)
SCHEMA = required(
    schema_version=TEXT,
    evaluation_id=TEXT,
    retrieved_timestamp=TEXT,
    source_metadata=SOURCE,
    model_info=MODEL,
    eval_library=required(name=TEXT, version=TEXT),
    evaluation_results={"type": "array", "items": RESULT},
)
SCHEMA["properties"]["evaluation_timestamp"] = TEXT
SCHEMA["additionalProperties"] = False
"""What version 0.2.2 of evaleval's eval.schema.json demands of the parts that are written here."""


def test_every_eval_ever_accepts_the_record(run: Run, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    out = tmp_path / "a.json"
    assert run_command(["export", run.place, "--what", "every-eval-ever", "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    jsonschema.validate(record, SCHEMA, jsonschema.Draft7Validator)
    by_name = {result["evaluation_name"]: result for result in record["evaluation_results"]}
    assert len(by_name) == len(record["evaluation_results"])
    source = source_of(run)
    dark = next(e for e in source.audit.groups if (e.metric, e.group) == ("recall@0.5", "monk_10"))
    score = by_name["face_localization/recall@0.5/skin_tone=monk_10"]["score_details"]
    assert score["score"] == dark.estimate and score["uncertainty"]["num_samples"] == dark.n
    assert score["uncertainty"]["confidence_interval"]["lower"] == dark.low
    assert record["source_metadata"]["additional_details"]["verdict"] == "disparity"
    broken = json.loads(out.read_text())
    del broken["evaluation_results"][0]["metric_config"]["max_score"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA, jsonschema.Draft7Validator)


def test_every_eval_ever_accepts_a_metric_without_bounds(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema takes a metric without `score_type` for one of levels, so that it is refused."""
    jsonschema = pytest.importorskip("jsonschema")
    source = source_of(run)
    numbers = [replace(number, share=False, value=7 * number.value) for number in published(source)]
    monkeypatch.setattr("countenance.report.exports.every_eval_ever.published", lambda _: numbers)
    record = every_eval_ever(source)
    jsonschema.validate(record, SCHEMA, jsonschema.Draft7Validator)
    for result in record["evaluation_results"]:
        metric, score = result["metric_config"], result["score_details"]["score"]
        assert metric["min_score"] <= score <= metric["max_score"] and "metric_unit" not in metric
        assert "has none" in metric["additional_details"]["bounds"]


def test_the_hub_reads_both_forms(run: Run, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    parse = pytest.importorskip("huggingface_hub", minversion="1.0").parse_eval_result_entries
    for name in ("run.yaml", "run.md"):
        assert run_command(["export", run.place, "--what", "eval-results", "--out", str(tmp_path / name)]) == 0
    entries = parse(yaml.safe_load((tmp_path / "run.yaml").read_text()))
    numbers = published(source_of(run))
    assert [entry.value for entry in entries] == [round(number.value, 6) for number in numbers]
    assert entries[0].dataset_id == "drawn" and entries[0].task_id == "face_localization/recall@0.5"
    assert "drawn-faces misses 35 of 59 pictures" in (entries[0].notes or "")
    card = hub.ModelCard((tmp_path / "run.md").read_text())
    assert len(card.data.eval_results) == len(numbers)
    dark = [one for one in card.data.eval_results if one.dataset_config == "skin_tone=monk_10"]
    assert {one.metric_type for one in dark} >= {"recall@0.5"} and "interval" in dark[0].metric_name


def test_without_the_hub_library_the_entries_are_the_same(run: Run, monkeypatch) -> None:
    from countenance.report.exports.eval_results import checked

    entries = hub_results(source_of(run))
    with_library = checked(entries)
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    assert checked(entries) == entries == with_library


def test_numbers_that_are_none_are_not_published(run: Run) -> None:
    numbers = published(source_of(run))
    assert all(math.isfinite(number.value) for number in numbers)
    assert len({(n.metric, n.who) for n in numbers}) == len(numbers)
    assert {n.attribute for n in numbers} == {None, "skin_tone", "age_group", "gender"}
    record = every_eval_ever(source_of(run), now=5.0)
    assert record["evaluation_id"].endswith("/5.000000")


@pytest.mark.parametrize(("what", "name"), [("eval-results", "a.json"), ("every-eval-ever", "a.yaml")])
def test_other_endings_are_refused(run: Run, tmp_path: Path, capsys, what: str, name: str) -> None:
    assert run_command(["export", run.place, "--what", what, "--out", str(tmp_path / name)]) == 2
    assert "end the name in" in capsys.readouterr().err and not (tmp_path / name).exists()


def test_the_summary_has_the_sentence_and_the_picture(run: Run, tmp_path: Path, capsys) -> None:
    assert run_command(["export", run.place, "--what", "summary", "--out", str(tmp_path / "s.md")]) == 0
    text = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert text.startswith("### drawn-faces misses 35 of 59 pictures of women") and "CC0" in text
    drawn = text.partition("```text\n")[2].partition("```")[0].splitlines()
    assert "recall@0.5" not in text, "metrics are named in words"
    assert drawn[0] == "faces found by skin tone" and len(drawn) == 13 and all("●" in line for line in drawn[2:])
    lightest, darkest = (next(line for line in drawn if line.startswith(f"Monk {n} ")) for n in (1, 10))
    assert darkest.index("●") < lightest.index("●") and "served worse" in darkest
    assert run_command(["export", run.place, "--what", "summary", "--out", str(tmp_path / "s.txt")]) == 2
    assert "end the name in .md" in capsys.readouterr().err
