"""What a run, its report and its dataset are told: settings, seeds, rounded times, places, thresholds in words."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.auditing.groups import CROSS
from countenance.errors import InputError
from countenance.models.model import file_hash
from countenance.suites.fhibe import FhibeRun, demo, evaluate_task
from countenance.suites.fhibe import evaluate as evaluating
from countenance.suites.fhibe import report as pages
from countenance.suites.fhibe.dataset import read_dataset
from countenance.suites.fhibe.purge import files_again
from countenance.suites.fhibe.rundir import load, settings_of
from countenance.suites.fhibe.table import read_table
from countenance.suites.fhibe.wrapper_answers import entry_of
from countenance.tasks import Metric
from countenance.tasks.results import Table

from . import small
from .test_default import embeddings


class Told(Exception):
    pass


def test_a_mini_dataset_has_fifty_rows_unless_told_otherwise(monkeypatch, tmp_path):
    def settings(*given, **named):
        raise Told(named)

    monkeypatch.setattr(evaluating, "FhibeSettings", settings)

    def asked(**named):
        with pytest.raises(Told) as told:
            evaluate_task(tmp_path, "fhibe", len, "m", "person_parsing", **named)
        return told.value.args[0]

    assert [asked(use_mini_dataset=True, mini_dataset_size=size)["mini"] for size in (None, 0, 7)] == [50, 50, 7]
    usual = asked()
    assert (usual["mini"], usual["layout"], usual["downsampled"], usual["results"]) == (
        None,
        False,
        True,
        Path("results"),
    )
    assert asked(fhibe_layout=True, depth=1, lpips_weights="w")["options"] == {"lpips_weights": "w"}


def test_times_are_kept_with_three_digits_and_rates_with_two(monkeypatch, tmp_path):
    rows = small.body(tmp_path, people=5)
    outputs = small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    clock = iter([10.0, 11.23456])
    monkeypatch.setattr(evaluating, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    run = evaluate_task(
        tmp_path, "fhibe", None, "m", "person_localization", reuse_model_outputs=True,
        results_rootdir=tmp_path / "results", attributes=["age", "pronoun"],
    )  # fmt: skip
    assert (run.manifest.seconds, run.manifest.images_per_second) == (1.235, 4.05)
    assert run.manifest.model.content == file_hash(outputs), "stored outputs are known by what is in them"
    assert run.manifest.dataset.images == 5 and run.manifest.dataset.card.real_people is True
    assert run.folders() == (tmp_path, tmp_path / "results", run.path.parent) and run.replaced == ()
    again = settings_of(run)
    assert (again.dataset, again.attributes, again.compat) == ("fhibe_downsampled", ("pronoun", "age"), "default")
    assert again.thresholds["AR_IOU"].tolist() == run.manifest.about["thresholds"]["AR_IOU"] and again.without == frozenset()


def report(run, out=None, **options):
    pages.write_bias_report(run, out, **options)
    return run


def test_a_report_is_audited_with_seed_zero_and_two_attributes_crossed(monkeypatch, tmp_path):
    calls = []

    def note(*given, **named):
        calls.append((given, named))

    about = {"attributes": ["age", "pronoun"], "reports": ["z.html"]}
    run = SimpleNamespace(path=tmp_path / "m" / "run", fhibe=about, audit=note, amend=note)
    monkeypatch.setattr(pages, "write_pages", lambda *given, **named: calls.append((given[1:], named)))
    monkeypatch.setattr(pages, "check_installed", note)
    report(run)
    assert (run.largest_regions, run.compared) == (False, ("age", "pronoun"))
    usual = {"gallery": "off", "group_largest_regions": False}
    page = tmp_path / "m" / "run" / "report.html"
    assert calls == [
        ((["age", "pronoun"],), {"depth": 2, "seed": 0}), ((None,), usual),
        ((page,), {"gallery": "off", "pdf": False, "show_significance": True}),
    ]  # fmt: skip
    calls.clear()
    beside = tmp_path / "m" / "mine.PDF"
    report(run, beside, by=["age"], depth=1, group_largest_regions=True, show_significance=False)
    assert calls[0] == (("a report as PDF",), {"pdf": True}) and calls[1] == ((["age"],), {"depth": 1, "seed": 0})
    assert calls[2][1]["reports"] == ["mine.PDF", "z.html"] and calls[3][1]["show_significance"] is False
    assert (run.largest_regions, run.compared) == (True, ("age",))
    for out, options, said in (
        ("a.txt", {}, "expected a name that ends in .html or .pdf"),
        ("a.pdf", {"gallery": "full"}, "never shows a face"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            report(run, tmp_path / out, **options)
    (tmp_path / "d.html").mkdir()
    with pytest.raises(InputError, match="a folder; name the file to write"):
        report(run, tmp_path / "d.html")


@pytest.mark.parametrize(
    ("name", "pdf", "written"),
    [("a.html", False, ["a.html"]), ("a.htm", True, ["a.htm", "a.pdf"]), ("a.PDF", False, ["a.PDF"])],
)
def test_pages_are_written_as_their_names_say(monkeypatch, tmp_path, name, pdf, written):
    made = []
    card = {"attributes": {"age": 1, "scene": 2}, "name": "x"}
    monkeypatch.setattr(
        pages, "ReportSource", SimpleNamespace(of=lambda run: SimpleNamespace(names=SimpleNamespace(by=["age"])))
    )
    monkeypatch.setattr(pages, "context", lambda source, gallery: {"card": card})
    monkeypatch.setattr(pages, "write_page", lambda source, path, gallery, said: made.append((path.name, said)))
    monkeypatch.setattr(pages, "write_pdf", lambda source, path, said, verdicts: made.append((path.name, said)))
    run = SimpleNamespace(path=tmp_path / "run")
    pages.write_pages(run, tmp_path / name, gallery="off", pdf=pdf)
    assert [one for one, _ in made] == written and made[0][1] == {"card": {"attributes": {"age": 1}, "name": "x"}}


def test_a_section_is_made_from_its_template_and_pages_are_made_again_where_they_were(monkeypatch):
    template = SimpleNamespace(from_string=lambda text: SimpleNamespace(render=lambda **told: f"{text[:1]}{told}"))
    monkeypatch.setattr(pages, "render", SimpleNamespace(environment=lambda: template))
    monkeypatch.setattr(pages, "_section", lambda run, source: {"by": "age"})
    ((key, title, text),) = pages.sections(SimpleNamespace(run=FhibeRun.__new__(FhibeRun)))
    assert (key, title, str(text)[1:]) == ("fhibe", "FHIBE: the task and its metrics", "{'by': 'age'}")
    for names, audits in ((["other"], [1]), (["report.html"], [])):
        storage = SimpleNamespace(entries=lambda name, audits=audits: audits)
        assert files_again(SimpleNamespace(store=SimpleNamespace(storage=storage)), names) == []


def test_a_metric_is_told_with_its_thresholds():
    run = SimpleNamespace(fhibe={"thresholds": {"PCK": [0.1, 0.25]}})
    whole = SimpleNamespace(estimate=0.5, low=0.4, high=0.6, metric_kind="mean", n=1200)
    source = SimpleNamespace(overall={"PCK part": whole})
    told = pages._metric(run, Metric("PCK part", "share", better="higher"), source)
    assert (told["thresholds"], told["n"]) == ("0.1, 0.25", "1,200") and told["overall"].startswith("0.5")
    nobody = pages._metric(run, Metric("VAL", "rate", None), source)
    assert (nobody["overall"], nobody["n"], nobody["thresholds"]) == ("–", "0", "none")


def test_a_report_is_about_what_was_asked_for():
    def compares(by, group, compared=None, largest=False):
        return FhibeRun._compares(SimpleNamespace(compared=compared, largest_regions=largest), by, group)

    assert compares("age", "x") and compares("age × scene", "x × y", ("age", "scene", "pronoun"))
    assert not compares("age × scene", "x × y", ("age",)) and not compares("scene", "y", ("age",))
    assert compares("ancestry", "0. Africa", largest=True) and not compares(
        "ancestry", "5. Western Africa", largest=True
    )
    assert compares("ancestry", "5. Western Africa") and FhibeRun.largest_regions is False


def test_faces_fill_their_pictures_and_a_source_names_its_table(tmp_path):
    small.faces(tmp_path, people=2, each=2)
    made = read_dataset(tmp_path, "fhibe_face_crop_align", "face_parsing", ("age",))
    (subject,) = made.samples[0].subjects
    assert subject.face_box.tolist() == [0, 0, 64, 64] and list(subject.face_parts) == ["skin", "nose"]
    assert int(subject.face_parts["nose"].decode().sum()) == 100 and subject.id == "1" and subject.identity == "s0"
    assert (made.samples[0].width, made.samples[0].height, len(made)) == (64, 64, 4) and made.card.real_people is True
    again = load(f"{tmp_path}?dataset=fhibe_face_crop_align&task=face_parsing&attributes=age,pronoun")
    assert again.fingerprint() == made.fingerprint() and set(again.samples[0].subjects[0].attributes) == {
        "age",
        "pronoun",
    }
    for wrong in (None, "", f"{tmp_path}?dataset=x&task=y", "?dataset=x&task=y&attributes=z"):
        with pytest.raises(InputError, match="expected fhibe:ROOT"):
            load(wrong)


def test_every_row_is_one_step_and_two_attributes_are_crossed(tmp_path):
    rows = small.faces(tmp_path, people=6, each=3)
    labels = np.zeros((64, 64), np.uint8)
    labels[10:50, 10:50], labels[20:30, 20:30] = 1, 2
    entry = entry_of("face_parsing", {"detections": labels}, "x")
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
        made = evaluate_task(tmp_path, "fhibe_face_crop_align", None, "m", task, metrics, step=steps.append, **usual)
        assert sum(steps) == len(rows) == 18 and made.manifest.failed == 0
    run = evaluate_task(tmp_path, "fhibe_face_crop_align", None, "m", "face_verification", **usual)
    table = next(one for one in run.results() if isinstance(one, Table))
    assert {str(row[0]).count(CROSS) for row in table.rows} == {0, 1}


def test_the_demo_s_embeddings_have_64_numbers_and_its_seed_is_zero(tmp_path, monkeypatch):
    small.faces(tmp_path, people=3, each=2)
    table = read_table(tmp_path, "fhibe_face_crop_align", "face_verification", ("apparent_skin_color", "age"))
    made = dict(demo._noisy_embeddings("face_verification", table, np.random.default_rng(0)))
    assert len(made) == 6 and {len(one["detections"]) for one in made.values()} == {64}
    seeds = []
    monkeypatch.setattr(demo, "TASKS", ("person_parsing", "face_parsing"))
    monkeypatch.setattr(demo, "read_table", lambda *given: None)
    monkeypatch.setattr(demo, "_noisy", lambda task, table, draw: [])
    monkeypatch.setattr(demo, "write_entries", lambda path, entries: None)
    monkeypatch.setattr(demo.np.random, "default_rng", seeds.append)
    demo.write_outputs(tmp_path, tmp_path / "results")
    demo.write_outputs(tmp_path, tmp_path / "results", seed=5)
    assert seeds == [[0, 0], [0, 1], [5, 0], [5, 1]]
