"""The whole assessment on small pictures: tables, run, report, comparison, commands."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import countenance as ct
from countenance.answers import Boxes
from countenance.auditing.finding import SIDES
from countenance.cli import mask_fairness
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.data.adapters.mask_fairness import ONE_FACE, MaskData
from countenance.errors import InputError
from countenance.report.harms import harms
from countenance.report.source import AuditSource
from countenance.suites.mask_fairness.assessment import METRICS
from countenance.suites.mask_fairness.assessment_run import assess, summary_lines
from countenance.suites.mask_fairness.comparison import compare, open_run
from countenance.suites.mask_fairness.made_data import make_data
from countenance.suites.mask_fairness.report import read_assessed, write_overview
from countenance.tasks import load_task

COLUMNS = ["group", "n", "rate", "n_other", "rate_other", "pooled", "z", "p", "h", "significant", "severe"]


def crowd(n: int = 240) -> Dataset:
    """One face per picture; the number of the picture is in its first pixel, so that a detector can be told apart."""
    samples = []
    for i in range(n):
        pixels = np.zeros((32, 32, 3), np.uint8)
        pixels[0, 0] = (i % 256, i // 256, 0)
        about = {"masked": "yes" if i % 2 else "no", "sex": "female" if i % 3 else "male", "race": f"r{i % 5}"}
        samples.append(
            Sample(
                f"{i}",
                ArrayImage(pixels),
                32,
                32,
                (Subject("0", face_box=np.array([4.0, 4, 24, 24]), attributes=about),),
            )
        )
    return Dataset(DatasetCard(name="crowd", real_people=False), samples)


class Detector:
    """Misses most men, judges every seventh face wrongly."""

    name = "unfair"

    def __call__(self, images):
        answers = []
        for image in images:
            i = int(image[0, 0, 0]) + 256 * int(image[0, 0, 1])
            if i % 3 == 0 and (i // 3) % 5:
                answers.append(Boxes(np.zeros((0, 4)), labels=()))
                continue
            right = "mask" if i % 2 else "no_mask"
            wrong = "no_mask" if i % 2 else "mask"
            answers.append(Boxes([[4, 4, 24, 24]], [0.9], [wrong if i % 7 == 0 else right]))
        return answers


class Faces:
    name = "faces"

    def __call__(self, images):
        return [Boxes([[4, 4, 24, 24]], [0.9]) for _ in images]


@pytest.fixture
def done(tmp_path):
    return (*assess(MaskData(crowd()), Detector(), tmp_path / "out", by=["sex", "race"]), tmp_path / "out")


def read(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_table_for_every_attribute_and_metric(done):
    _, _, out = done
    for attribute in ("sex", "race"):
        for metric in METRICS:
            rows = read(out / f"assessment_{attribute}_{metric}.csv")
            assert list(rows[0])[:11] == COLUMNS
            assert {row["group"] for row in rows} == (
                {"female", "male"} if attribute == "sex" else {f"r{i}" for i in range(5)}
            )
    assert (out / "scores.parquet").exists() and (out / "findings.parquet").exists()


def test_counts_match_a_plain_loop_over_the_detector(done):
    _, _, out = done
    dataset, detector = crowd(), Detector()
    tally: dict[str, dict[str, list[int]]] = {metric: {} for metric in METRICS}
    for sample in dataset:
        (subject,) = sample.subjects
        (answer,) = detector([sample.load()])
        sex = subject.attributes["sex"]
        found = len(answer) > 0
        tally["localization"].setdefault(sex, []).append(found)
        if found:
            worn = subject.attributes["masked"] == "yes"
            metric = "true_positive" if worn else "true_negative"
            tally[metric].setdefault(sex, []).append(answer.labels[0] == ("mask" if worn else "no_mask"))
    for metric, groups in tally.items():
        for row in read(out / f"assessment_sex_{metric}.csv"):
            values = groups[row["group"]]
            assert int(row["n"]) == len(values) and float(row["rate"]) == sum(values) / len(values)


def test_two_groups_are_one_comparison_seen_from_both_sides(done):
    _, assessment, out = done
    female, male = read(out / "assessment_sex_localization.csv")
    assert float(female["z"]) == pytest.approx(-float(male["z"])) and female["p_adjusted"] == male["p_adjusted"]
    assert float(female["difference"]) == pytest.approx(-float(male["difference"]))
    assert sum(f.attribute == "sex" and f.metric == "localised" for f in assessment.audit.findings) == 1
    assert float(male["rate"]) == pytest.approx(float(female["rate_other"]))


def test_what_cannot_be_assessed_is_said_and_never_zero(tmp_path):
    run, assessment = assess(MaskData(crowd()), Faces(), tmp_path / "out", by=["sex"])
    for row in read(tmp_path / "out" / "assessment_sex_true_negative.csv"):
        assert row["n"] == "0" and row["rate"] == row["p"] == row["significant"] == ""
        assert row["verdict"] == "not assessable" and "does not judge masks" in row["reason"]
    assert any("does not judge masks" in line for line in summary_lines(run, assessment))


def test_without_masked_faces_there_is_no_true_positive_rate(tmp_path):
    unmasked = crowd().filter(lambda sample: sample.subjects[0].attributes["masked"] == "no")
    _, assessment = assess(MaskData(unmasked, ONE_FACE), Detector(), tmp_path / "out", by=["sex"])
    assert assessment.not_assessable == {"true_positive": "not assessable: crowd has no masked faces"}


def test_the_findings_of_either_rule_each_have_a_reason(done):
    _, assessment, out = done
    rows = read(out / "assessment_findings.csv")
    assert len(rows) == len(assessment.significant()) > 0
    assert all(row["why"] for row in rows)


def test_the_report_holds_both_rules_and_a_plot_for_each_metric(done):
    from countenance.report import write_report

    run, _, out = done
    text = write_report(run, out / "report.html").read_text()
    assert "Two rules, side by side" in text and 'id="two-rules"' in text
    for metric in METRICS.values():
        assert metric in text
    assert "<svg" in text and "http://" not in text.replace("http://www.w3.org", "")


def test_a_misspelt_attribute_is_told_before_the_detector_runs(tmp_path):
    with pytest.raises(InputError, match=r"no attribute 'sexx' \(did you mean sex\?\)"):
        assess(MaskData(crowd()), Detector(), tmp_path / "out", by=["sexx"])
    assert not (tmp_path / "out").exists()


def test_two_detectors_are_compared_face_by_face(done, tmp_path):
    _, _, out = done
    assess(MaskData(crowd()), Faces(), tmp_path / "faces", by=["sex"])
    comparison = compare(out, tmp_path / "faces", ["sex"])
    assert comparison.names == ("unfair", "faces") and set(comparison.skipped) == {"true_positive", "true_negative"}
    by_group = {(d.attribute, d.group): d.finding for d in comparison.differences}
    assert by_group["all", "all"].verdict == "disparity" and by_group["all", "all"].difference == pytest.approx(
        -64 / 240
    )
    assert by_group["sex", "male"].difference == pytest.approx(-0.8)


def test_runs_of_different_pictures_are_not_compared(done, tmp_path):
    assess(MaskData(crowd(100)), Faces(), tmp_path / "faces", by=["sex"])
    with pytest.raises(InputError, match=r"data .* where .* not comparable"):
        compare(done[2], tmp_path / "faces")


def test_the_command_takes_predictions_and_writes_everything(tmp_path):
    make_data(crowd(60), tmp_path / "data", "bafmd")
    predictions = tmp_path / "theirs.csv"
    predictions.write_text("".join(f"{i}.png,{i % 2},4,4,20,20\n" for i in range(60) if i % 9))
    command = [
        "assess",
        "--dataset",
        "bafmd",
        "--data-directory",
        str(tmp_path / "data"),
        "--predictions",
        str(predictions),
        "--by",
        "sex",
        "--out",
        str(tmp_path / "out"),
        "--quiet",
    ]
    result = CliRunner().invoke(mask_fairness.app, command)
    assert result.exit_code == 0, result.output
    rows = {row["group"]: row for row in read(tmp_path / "out" / "assessment_sex_localization.csv")}
    assert int(rows["male"]["n"]) == 20 and float(rows["male"]["rate"]) == 13 / 20
    assert json.loads((tmp_path / "out" / "run.json").read_text())["task"] == "mask_detection"
    assert (tmp_path / "out" / "report.html").exists()


def test_the_command_wants_a_detector_or_predictions(tmp_path):
    result = CliRunner().invoke(mask_fairness.app, ["assess", "--dataset", "bafmd", "--out", str(tmp_path / "o")])
    assert isinstance(result.exception, InputError) and "either --detector or --predictions" in str(result.exception)


def test_the_table_of_detectors_names_status_licence_and_weights():
    text = CliRunner().invoke(mask_fairness.app, ["detectors"]).output
    for name in ("RHF", "Facemask_Detection", "Face-Mask-Detection", "WearMask", "MOXA YOLOv3", "MOXA YOLOv3-tiny"):
        assert name in text
    assert text.count("licence:") == text.count("weights:") == 10


def test_make_data_writes_a_new_folder_only(tmp_path, people):
    (tmp_path / "there").mkdir()
    result = CliRunner().invoke(mask_fairness.app, ["make-data", "--out", str(tmp_path / "there")])
    assert isinstance(result.exception, InputError) and "exists already" in str(result.exception)


def test_one_page_for_detectors_and_datasets_has_every_row(done, tmp_path):
    assess(MaskData(crowd()), Faces(), tmp_path / "faces", by=["sex"])
    assess(MaskData(crowd(100)), Detector(), tmp_path / "few", by=["sex", "race"])
    folders = [str(done[2]), str(tmp_path / "faces"), str(tmp_path / "few")]
    result = CliRunner().invoke(mask_fairness.app, ["page", *folders, "--out", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "page.html").read_text()
    details = text[text.index("<details") :]
    assert text.count('<th scope="row">female</th>') >= details.count('<th scope="row">female</th>') >= 6
    assert details.count('<th scope="row">r4</th>') >= 6 and "does not judge masks" in text
    assert text.count("rendered people: nobody in them exists") == 2 and "significant" in text
    sections = [section[: section.index("<details")] for section in text.split("<section aria-labelledby=")[1:-1]]
    overview = "".join(sections)  # one for each dataset
    assessed = [read_assessed(Path(folder))[1] for folder in folders]
    seeds = [row.seed for each in assessed for row in each.rows if row.metric not in each.not_assessable]
    for word, mark in (("severe", "**"), ("significant", "*")):  # the published rule's words, beside the audit's marks
        count = sum(seed.verdict == word for seed in seeds)
        assert overview.count(f">{mark}</span>") == overview.count(f" {word} by the published rule</span>") == count
    assert sum(seed.severe for seed in seeds) > 0
    rows = text[: text.index("<details")].count('<svg class="spans"')  # a forest plot: a row for each group and metric
    assert rows >= 6 and text.count("<circle cx=") > rows  # with a dot for each detector that has the rate


def test_detectors_of_which_one_judges_no_masks_are_compared_by_what_both_have(done, tmp_path):
    faces, _ = assess(MaskData(crowd()), Faces(), tmp_path / "faces", by=["sex"])
    answer = ct.compare(done[0], faces, by=["sex"])
    assert {change.metric for change in answer.overall} == {"localised"}
    assert "true_positive, true_negative: no row has a value in all models; not compared" in answer.notes
    board = ct.compare(done[0], faces, done[0], names=["a", "b", "c"])
    assert {place.metric for place in board.ranking} == {"localised"}
    with pytest.raises(InputError, match="true_positive: no row has a value in both"):
        ct.compare(done[0], faces, metrics=["true_positive"])


def test_the_page_asks_to_cite_the_study(done, tmp_path):
    write_overview([done[2]], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    _, assessment, _ = done
    harm = next(iter(harms(AuditSource(assessment.audit, load_task("mask_detection")))))
    headline = re.search(r"<h1>(.*?)</h1>", text)[1]
    assert harm.losing.counts in re.sub("<[^>]+>", "", headline), "the page begins with the largest confirmed harm"
    assert "Please cite" in text and "Assessing Fairness in Open-Source Face Mask Detection Algorithms" in text


def test_what_is_no_assessment_has_no_place_on_the_page(done, tmp_path):
    (done[2] / "audit.json").unlink()
    result = CliRunner().invoke(mask_fairness.app, ["page", str(done[2]), "--out", str(tmp_path / "page.html")])
    assert isinstance(result.exception, InputError) and "was not audited" in str(result.exception)


def test_an_old_assessment_is_not_mixed_with_a_new_one(tmp_path):
    (tmp_path / "old" / "run").mkdir(parents=True)
    (tmp_path / "old" / "run" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="an assessment of an earlier version"):
        assess(MaskData(crowd()), Faces(), tmp_path / "old", by=["sex"])


def test_a_finding_seen_from_the_other_side_twice_is_itself(done):
    _, assessment, _ = done
    for finding in assessment.audit.findings:
        other = finding.mirrored()
        np.testing.assert_equal(other.mirrored().model_dump(), finding.model_dump())  # NaN equals NaN here
        assert (other.group, other.versus) == (finding.versus, finding.group)
        turned = {name: f"{name}_versus" for name in SIDES}
        np.testing.assert_equal(
            [getattr(other, name) for name in turned], [getattr(finding, n) for n in turned.values()]
        )
        for name, low, high in (("difference", "diff_low", "diff_high"), ("effect", "effect_low", "effect_high")):
            mine, theirs = ([getattr(one, part) for part in (name, low, high)] for one in (other, finding))
            np.testing.assert_equal(mine, [-theirs[0], -theirs[2], -theirs[1]])
        np.testing.assert_equal(other.z, -finding.z)


def test_the_tally_counts_tests_findings_and_what_chance_would_find(done):
    run, assessment, _ = done
    tested = [row for row in assessment.rows if row.seed.tested]
    told = assessment.tally()
    assert told["tested"] == len(tested) and float(told["expected"]) == round(len(tested) * 0.05, 1)
    assert told["published"] == sum(row.seed.p < 0.05 for row in tested)
    assert told["severe"] == sum(row.seed.p < 0.05 and abs(row.seed.h) > 0.2 for row in tested)
    assert told["ours"] == sum(
        row.finding is not None and row.finding.verdict == "disparity" for row in assessment.rows
    )
    listed = assessment.significant()
    assert listed == sorted(listed, key=lambda row: (not row.ours, row.seed.p))
    assert all(row.seed.significant or row.ours for row in listed) and len(listed) == told["published"]
    said = "\n".join(summary_lines(run, assessment))
    assert "(an attribute with two values counts from both sides)" in said and "more in assessment_findings" not in said


def test_what_the_audit_finds_beyond_the_tables_is_listed_apart(done, tmp_path):
    """Ranges of ages and intersections are in no published table; the number of findings must fit the list below."""
    _, plain, _ = done
    assert any(row.ours for row in plain.rows) and plain.beyond_the_tables() == []
    run, deep = assess(MaskData(crowd()), Detector(), tmp_path / "deep", by=["sex", "race"], audit={"depth": 2})
    further = deep.beyond_the_tables()
    assert further and all(finding.depth == 2 for finding in further)
    lines = summary_lines(run, deep)
    assert any(
        f"side), {len(further)} beyond the published tables: " in line.replace("sides", "side") for line in lines
    )
    listed = [line for line in lines if line.startswith("  beyond ")]
    assert len(listed) == min(12, len(further)) and further[0].reason in listed[0]


def test_the_summary_shows_twelve_findings_and_counts_the_rest(done):
    run, assessment, _ = done
    first = assessment.significant()[0]
    for many in (12, 13, 15):
        lines = summary_lines(run, replace(assessment, rows=[first] * many))
        assert sum("localization of sex" in line for line in lines) == 12
        assert (f"  and {many - 12} more in assessment_findings.csv" in lines) == (many > 12)


def test_findings_at_a_greater_depth_are_not_those_of_a_group(tmp_path):
    _, shallow = assess(MaskData(crowd()), Detector(), tmp_path / "out", by=["sex", "race"])
    _, deep = assess(MaskData(crowd()), Detector(), tmp_path / "out", by=["sex", "race"], audit={"depth": 2})
    assert any(finding.depth == 2 for finding in deep.audit.findings)
    assert all(row.finding is None or row.finding.depth == 1 for row in deep.rows)
    assert [(row.seed.group, row.seed.p) for row in deep.rows] == [(row.seed.group, row.seed.p) for row in shallow.rows]


def test_the_run_of_an_older_assessment_is_opened_in_its_folder(done, tmp_path):
    _, _, out = done
    (tmp_path / "older").mkdir()
    out.rename(tmp_path / "older" / "run")
    assert open_run(tmp_path / "older").path == open_run(tmp_path / "older" / "run").path
