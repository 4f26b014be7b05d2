"""What a run and its dataset are told: sources, places, rows, seeds."""

import numpy as np
import pytest

from countenance.answers import LabelMap
from countenance.auditing.groups import CROSS
from countenance.data.adapters.fhibe import load, read_dataset
from countenance.data.adapters.fhibe.table import read_table
from countenance.data.adapters.fhibe.words import MEANINGS, age_bin
from countenance.errors import InputError
from countenance.suites.fhibe import demo, evaluate_task
from countenance.suites.fhibe.outputs import entry_of
from countenance.suites.fhibe.purge import folders, settings_of
from countenance.suites.fhibe.report import ReportedRun
from countenance.tasks.results import Table
from countenance.tasks.validation_rate import RATES

from . import small
from .test_default import embeddings


def test_faces_fill_their_pictures_and_a_source_names_its_table(tmp_path):
    small.faces(tmp_path, people=2, each=2)
    rendered = read_dataset(tmp_path, "fhibe_face_crop_align", "face_parsing", ("age",))
    (subject,) = rendered.samples[0].subjects
    assert subject.face_box.tolist() == [0, 0, 64, 64] and list(subject.face_parts) == ["skin", "nose"]
    assert int(subject.face_parts["nose"].decode().sum()) == 100 and subject.id == "1" and subject.identity == "s0"
    assert (rendered.samples[0].width, rendered.samples[0].height, len(rendered)) == (
        64,
        64,
        4,
    ) and rendered.card.real_people is True
    again = load(f"{tmp_path}?dataset=fhibe_face_crop_align&task=face_parsing&attributes=age,pronoun")
    assert again.fingerprint() == rendered.fingerprint() and set(again.samples[0].subjects[0].attributes) == {
        "age_group",
        "pronoun",
    }
    for wrong in (
        None,
        "",
        "?dataset=x&task=y&attributes=z",
        f"{tmp_path}?size=3",
        f"{tmp_path}?mini=few",
        f"{tmp_path}?ages=days",
    ):
        with pytest.raises(InputError, match="expected fhibe:ROOT"):
            load(wrong)
    with pytest.raises(InputError, match="task 'y' is not one of"):
        load(f"{tmp_path}?task=y")
    with pytest.raises(InputError, match="no data/processed"):
        load(f"{tmp_path}/nowhere")


def test_age_is_a_number_of_years_and_its_bins_are_groups(tmp_path):
    rows = small.body(tmp_path, people=3)
    bins, years = load(f"{tmp_path}?task=person_localization"), load(f"{tmp_path}?task=person_localization&ages=years")
    groups, both = (dataset.samples[0].subjects[0].attributes for dataset in (bins, years))
    age = float(rows[0]["age"])
    assert "age" not in groups and groups["age_group"] == age_bin(age)
    assert (both["age"], both["age_group"]) == (age, age_bin(age))
    meanings = {name: about.meaning for name, about in years.card.attributes.items()}
    assert meanings["age_group"] == MEANINGS["age"] == f"{meanings['age']}, in five bins"
    assert "ages=years" in years.source and years.fingerprint() != bins.fingerprint()


def test_every_row_is_one_step_and_two_attributes_are_crossed(tmp_path):
    rows = small.faces(tmp_path, people=6, each=3)
    labels = np.zeros((64, 64), np.uint8)
    labels[10:50, 10:50], labels[20:30, 20:30] = 1, 2
    entry = entry_of(LabelMap(labels))
    small.outputs(tmp_path, "face_parsing", {row["filepath"]: entry for row in rows})
    folder = small.outputs(
        tmp_path, "face_super_resolution", {row["filepath"]: {"super_res_filename": "a.png"} for row in rows}
    )
    (folder.parent / "a.png").write_bytes((tmp_path / rows[0]["filepath"]).read_bytes())
    small.outputs(tmp_path, "face_verification", embeddings(rows))
    usual = {
        "reuse_model_outputs": True,
        "results_rootdir": tmp_path / "results",
        "attributes": ["pronoun", "age", "ancestry"],
    }
    for task, metrics in (("face_parsing", None), ("face_super_resolution", ["PSNR", "SSIM"])):
        steps = []
        rendered = evaluate_task(
            tmp_path, "fhibe_face_crop_align", None, "m", task, metrics, step=steps.append, **usual
        )
        assert sum(steps) == len(rows) == 18 and rendered.manifest.failed == 0
    run = evaluate_task(tmp_path, "fhibe_face_crop_align", None, "m", "face_verification", **usual)
    table = next(item for item in run.results() if isinstance(item, Table) and item.name == RATES)
    assert {str(row[0]).count(CROSS) for row in table.rows} == {0, 1}


def test_the_demo_s_embeddings_have_64_numbers_and_its_seed_is_zero(tmp_path, monkeypatch):
    small.faces(tmp_path, people=3, each=2)
    table = read_table(tmp_path, "fhibe_face_crop_align", "face_verification", ("apparent_skin_color", "age"))
    rendered = dict(demo._noisy_embeddings("face_verification", table, np.random.default_rng(0)))
    assert len(rendered) == 6 and {len(item["detections"]) for item in rendered.values()} == {64}
    seeds = []
    monkeypatch.setattr(demo, "TASKS", ("person_parsing", "face_parsing"))
    monkeypatch.setattr(demo, "read_table", lambda *parameters: None)
    monkeypatch.setattr(demo, "_noisy", lambda task, table, draw: [])
    monkeypatch.setattr(demo, "write_entries", lambda path, entries: None)
    monkeypatch.setattr(demo.np.random, "default_rng", seeds.append)
    demo.write_outputs(tmp_path, tmp_path / "results")
    demo.write_outputs(tmp_path, tmp_path / "results", seed=5)
    assert seeds == [[0, 0], [0, 1], [5, 0], [5, 1]]


def test_a_run_knows_its_settings_and_its_places(tmp_path):
    rows = small.body(tmp_path, people=5)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    options = {"reuse_model_outputs": True, "results_rootdir": tmp_path / "results", "attributes": ["age", "pronoun"]}
    run = evaluate_task(tmp_path, "fhibe", None, "m", "person_localization", **options)
    assert folders(run) == (tmp_path, tmp_path / "results", run.path.parent)
    assert run.manifest.suite == "fhibe" and run.manifest.dataset.images == 5
    assert run.manifest.model.name == "m" and run.manifest.model.hashed
    again = settings_of(run)
    assert (again.dataset, again.attributes, again.compat) == ("fhibe_downsampled", ("pronoun", "age"), "default")
    assert again.thresholds["AR_IOU"].tolist() == run.manifest.about["thresholds"]["AR_IOU"]
    assert run.dataset().fingerprint() == run.manifest.dataset.fingerprint
    other = evaluate_task(tmp_path, "fhibe", None, "m", "person_localization", **options | {"attributes": ["age"]})
    assert [name for name in other.scores().column_names if name.startswith("attr.")] == ["attr.age_group"]


def test_a_report_is_about_what_was_asked_for(tmp_path):
    rows = small.body(tmp_path, people=5)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    options = {"reuse_model_outputs": True, "results_rootdir": tmp_path / "results"}
    shown = ReportedRun(evaluate_task(tmp_path, "fhibe", None, "m", "person_localization", **options).path)
    assert shown.compares("age", "x") and shown.compares(f"age{CROSS}scene", f"x{CROSS}y")
    shown.compared = ("age",)
    assert not shown.compares(f"age{CROSS}scene", f"x{CROSS}y") and not shown.compares("scene", "y")
    shown.compared, shown.largest_regions = None, True
    assert shown.compares("ancestry", "0. Africa") and not shown.compares("ancestry", "5. Western Africa")
