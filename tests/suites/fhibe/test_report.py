"""The bias report: one finding first in every format, the asked attributes alone, the file that was named."""

import html
import json
import re
import sys

import pytest

from countenance import Run
from countenance.errors import InputError, MissingExtra
from countenance.report.charts import forests
from countenance.report.draw.mpl import forest_figures
from countenance.report.source import ReportSource
from countenance.suites.fhibe import evaluate_task
from countenance.suites.fhibe.made_data import ATTRIBUTES

from . import small
from .helpers import call, pdf_text
from .test_bad_input import run
from .test_default import embeddings


@pytest.fixture
def evaluated(rendered):
    def make(task="person_localization", model="demo", **options):
        dataset = "fhibe_face_crop_align" if task.startswith("face_ver") else "fhibe"
        return evaluate_task(
            rendered,
            dataset,
            None,
            model,
            task,
            attributes=ATTRIBUTES,
            reuse_model_outputs=True,
            results_rootdir=rendered / "results",
            **options,
        )

    return make


def page_text(path) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", " ", path.read_text()))
    return " ".join(text.split())


def test_a_strict_evaluation_leaves_the_default_run_and_its_report(evaluated):
    default = evaluated()
    page = default.report(pdf=True)
    before = {path: path.read_bytes() for path in default.path.rglob("*") if path.is_file()}
    strict = evaluated(compat="strict", fhibe_layout=True)
    assert strict.path != default.path
    assert strict.path.parent == default.path.parent
    assert {path: path.read_bytes() for path in default.path.rglob("*") if path.is_file()} == before
    assert page.exists()
    assert Run(default.path).manifest.about["compat"] == "default"
    strict.report()
    assert {path: path.read_bytes() for path in default.path.rglob("*") if path.is_file()} == before


def test_an_evaluation_of_other_outputs_keeps_the_earlier_run(tmp_path):
    rows = small.body(tmp_path, people=40)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    first = run(tmp_path)
    first.report(pdf=True)
    again = run(tmp_path)  # nothing changed: the run and its pages stay
    assert again.path == first.path and (first.path / "report.pdf").exists()
    other = {name: {"detections": None, "scores": None} for name in small.perfect_boxes(rows)}
    small.outputs(tmp_path, "person_localization", other)
    lines = []
    latest = run(tmp_path, say=lines.append)
    assert latest.path == first.path and not (latest.path / "report.html").exists()
    (line,) = [line for line in lines if "held another run" in line]
    (earlier,) = [path for path in first.path.parent.glob("run-*") if path.name != "run-strict"]
    assert str(earlier) in line and (earlier / "report.pdf").exists()


def test_out_writes_the_kind_of_file_that_it_names(evaluated, tmp_path):
    finished = evaluated()
    before = (finished.path / "report.html").exists()
    pdf = finished.report(tmp_path / "x.pdf")
    assert pdf == tmp_path / "x.pdf"
    assert "FHIBE: the task and its metrics" in pdf_text(pdf)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.pdf"]
    assert (finished.path / "report.html").exists() == before
    page = finished.report(tmp_path / "y.HTML", pdf=True)
    assert page.read_text().startswith("<!doctype html>")
    assert pdf_text(tmp_path / "y.pdf") == pdf_text(pdf)
    code, printed = call("report", finished.path, "--out", tmp_path / "z.PDF")
    assert code == 0
    assert "z.PDF" in printed
    assert (tmp_path / "z.PDF").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("name", ["x.docx", "x", "x.pdf.txt"])
def test_out_of_another_kind_is_refused_by_name(evaluated, tmp_path, name):
    finished = evaluated()
    with pytest.raises(InputError, match=rf"{name}: expected a name that ends in .html or .pdf"):
        call("report", finished.path, "--out", tmp_path / name)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match="a folder; name the file"):
        finished.report(tmp_path / "folder.html")
    with pytest.raises(InputError, match="a PDF never shows a face"):
        finished.report(tmp_path / "x.pdf", gallery="full")


@pytest.mark.parametrize("task", ["person_localization", "face_verification"])
def test_a_report_by_some_attributes_is_about_these_alone(evaluated, tmp_path, task):
    finished = evaluated(task)
    code, _ = call("report", finished.path, "--attributes", "pronoun,age", "--out", tmp_path / "page.html", "--pdf")
    assert code == 0
    page, pdf = page_text(tmp_path / "page.html"), pdf_text(tmp_path / "page.pdf")
    assert page.count("apparent skin color, lighting not named") == 1  # who was not compared is said
    page = page.replace("apparent skin color, lighting not named", "")
    for text in (page, pdf):
        assert "pronoun" in text
        for other in ("apparent skin color", "apparent_skin_color", "Monk Skin Tone", "lighting", "skin colour"):
            assert other not in text
    assert "Who assigned the 2 attributes" in page
    whole = finished.report(tmp_path / "whole.html")
    assert "Who assigned the 4 attributes" in page_text(whole)


def test_an_attribute_that_was_not_evaluated_is_refused(evaluated):
    with pytest.raises(InputError, match=r"no attribute 'ancestry'.*there are pronoun, age_group, apparent_skin_color"):
        call("report", evaluated().path, "--attributes", "ancestry")


@pytest.fixture
def unfair(tmp_path):
    """A run that fails women, most of all the oldest."""
    root = tmp_path / "unfair"
    rows = small.body(root, people=240)
    entries = small.perfect_boxes(rows)
    for i, row in enumerate(rows):
        if i % 2:
            x, y, w, h = row["person_bbox"]
            far = 14 if row["age"] == 60 else 3 + i % 3
            entries[row["filepath"]]["detections"] = [[x + far, y, x + far + w, y + h]]
    small.outputs(root, "person_localization", entries)
    return run(root)


def same_lead(finished, folder) -> list[str]:
    """What page and PDF begin with: the sentence, and the groups of both lists."""
    page = finished.report(folder / "page.html", pdf=True)
    printed = pdf_text(folder / "page.pdf")
    text = page.read_text()
    headline = re.search(r'<h1 id="verdict" class="sentence">(.*?)</h1>', text, re.S)
    assert headline is not None
    lead = printed[: printed.index("How sure:")]
    first = [headline[1], *re.findall(r'<li class="\w+"><svg.*?</svg><strong>(.*?)</strong>', text, re.S)]
    first = [" ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split()) for part in first]
    for words in first:
        assert words[:30] in lead, words
    table = page.read_text().split('<caption class="hidden">Disparities by size</caption>')[1]
    listed = re.search(r'<tbody>\s*<tr><td>(.*?)</td><th scope="row">(.*?)</th><td>(.*?)</td>', table)
    assert listed is not None
    words = " ".join(html.unescape(" ".join(listed.groups())).split())
    assert words in printed.split("Disparities by size")[1]
    return first


def test_pdf_and_page_begin_with_the_same_findings(unfair, tmp_path):
    first = same_lead(unfair, tmp_path)
    assert "She/her/hers" in " ".join(first)
    assert len(first) > 1
    assert "How sure:" in pdf_text(tmp_path / "page.pdf")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["person_localization", "keypoint_estimation", "body_parts_detection"])
def test_pdf_and_page_agree_also_where_little_is_known(evaluated, tmp_path, task):
    assert same_lead(evaluated(task), tmp_path)


def test_the_dataset_version_is_on_page_and_pdf(rendered, evaluated, tmp_path):
    finished = evaluated(dataset_version="fhibe.20250708")
    page = finished.report(tmp_path / "page.html", pdf=True)
    assert "version fhibe.20250708" in page_text(page)
    assert "version fhibe.20250708" in pdf_text(tmp_path / "page.pdf")
    call("report", finished.path, "--out", tmp_path / "two.html", "--dataset-version", "second")
    assert "version second" in page_text(tmp_path / "two.html")
    assert Run(finished.path).manifest["dataset"]["card"]["version"] == "second"
    call("evaluate", "--data", rendered, "--task", "person_localization", "--dataset-version", "third", "--quiet")
    assert "version third" in page_text(finished.path / "report.html")


def test_without_a_version_the_report_does_not_invent_one(tmp_path):
    rows = small.body(tmp_path, people=40)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    assert "version not stated" in page_text(run(tmp_path).report())


def test_ancestry_by_continent(tmp_path):
    rows = small.body(
        tmp_path, people=60, ancestry=lambda i: ["12. Central Asia", "5. Western Africa"] if i % 2 else ["11. Asia"]
    )
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path)
    whole = page_text(finished.report(tmp_path / "whole.html"))
    assert "Central Asia" in whole
    by = {"by": ["ancestry"], "group_largest_regions": True}
    page = page_text(finished.report(tmp_path / "page.html", pdf=True, **by))
    for text in (page, pdf_text(tmp_path / "page.pdf")):
        assert "Asia" in text
        assert "Africa" in text
        assert "Central Asia" not in text.split("What the attributes mean")[0]  # there it is an option
        assert "by continent" in text
    actual = json.loads((finished.path / "audit.json").read_text())
    assert {group["group"] for group in actual["groups"]} == {"11. Asia", "0. Africa"}
    assert {group["n"] for group in actual["groups"]} == {60, 30}
    assert "12. Central Asia" in str(Run(finished.path).scores()["attr.ancestry"].to_pylist())


def test_disparities_are_marked_in_the_plots_of_the_pdf(unfair, tmp_path):
    marked = unfair.report(tmp_path / "a.pdf").read_bytes()
    plain = unfair.report(tmp_path / "b.pdf", show_significance=False)
    assert marked != plain.read_bytes()
    unfair.audit(unfair.manifest.about["attributes"], depth=2)
    source = ReportSource.of(unfair)
    forest = next(forest for forest in forests(source) if forest.metric == "average_recall")
    kinds = {row.label: row.mark for row in forest.rows}
    assert kinds["She/her/hers"] == "severe"
    assert kinds["He/him/his"] not in ("severe", "minor")  # who is served better is not marked as failed
    with_legend, without = (forest_figures(chart)[0] for chart in (forest, forest.unmarked()))
    assert "served worse" in [text.get_text() for text in with_legend.legends[0].get_texts()]
    assert without.legends == []


@pytest.mark.parametrize("missing", ["matplotlib", "fpdf"])
def test_without_the_extra_a_pdf_is_refused_in_one_line_before_any_work(evaluated, tmp_path, monkeypatch, missing):
    finished = evaluated("face_localization")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=r"a report as PDF needs .* pip install 'countenance\[plots\]'"):
        finished.report(tmp_path / "x.pdf")
    with pytest.raises(MissingExtra):
        call("report", finished.path, "--pdf")
    assert finished.report(tmp_path / "page.html").exists()


def test_the_roc_is_logarithmic_with_its_band_and_the_rate_of_val_marked(evaluated):
    (roc,) = (single for single in evaluated("face_verification").results() if single.name == "ROC")
    (line,) = roc.lines
    assert roc.x.log and roc.marks == [0.001] and len(line.low) == len(line.high) == len(line.x)
    assert all(low <= y <= high for low, y, high in zip(line.low, line.y, line.high, strict=True))


def test_a_mini_report_says_that_it_is_one(rendered, evaluated):
    finished = evaluated(use_mini_dataset=True, mini_dataset_size=50)
    assert "a mini dataset of 50 rows" in page_text(finished.report())


def test_the_validation_rate_of_each_group_is_on_page_and_pdf(tmp_path):
    rows = small.faces(tmp_path, people=8, each=3)
    small.outputs(tmp_path, "face_verification", embeddings(rows))
    finished = run(tmp_path, "face_verification", attributes=["pronoun", "ancestry"])
    page = finished.report(tmp_path / "page.html", pdf=True)
    for text in (page_text(page), pdf_text(tmp_path / "page.pdf")):
        table = text.split("Pairs, same / different")[1]
        assert re.search(r"pronoun She/her/hers 1.000 1.000 to 1.000 4 12/54 insufficient evidence", table)
        assert "pronoun × ancestry She/her/hers × Asia" in table
    some = page_text(finished.report(tmp_path / "some.html", by=["pronoun"]))
    assert "pronoun He/him/his" in some and "× Asia" not in some


NUMBERED = re.compile(
    r"(?<!\w)\d+\. (?:She/her|He/him|They/them|Africa|Americas|Asia|Europe|Oceania|\[\d)|\[\d+, (?:\d+\)|\+\])"
)
"""A value as the dataset spells it: `0. She/her/hers`, `2. [164, 131, 103]`, `[18, 30)`."""


@pytest.mark.parametrize("task", ["face_verification", "keypoint_estimation"])
def test_page_and_pdf_spell_no_value_as_the_dataset_does(evaluated, tmp_path, task):
    page = evaluated(task).report(tmp_path / "page.html", pdf=True)
    for text in (page_text(page), pdf_text(tmp_path / "page.pdf")):
        assert not NUMBERED.findall(text)
