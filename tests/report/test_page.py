"""The report: one file, from the run directory alone, the same bytes every time, whatever the names hold."""

import csv
import io
import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from markupsafe import Markup

from countenance.auditing import Finding
from countenance.errors import InputError
from countenance.report import render, write_report
from countenance.report.evidence import _measured
from countenance.report.page import context
from countenance.report.source import ReportSource
from countenance.run import Run, audit_run, evaluate, store_audit
from countenance.run.manifest import Place

Reader = Callable[[Path], Any]


@pytest.fixture(scope="module")
def page(report: Path, read: Reader) -> Any:
    return read(report)


def copy_of(run: Run, folder: Path) -> Run:
    shutil.copytree(run.path, folder)
    return Run(folder)


def test_the_page_lies_in_the_run_directory_unless_told_otherwise(small_run: Run, tmp_path: Path) -> None:
    run = copy_of(small_run, tmp_path / "run")
    assert write_report(run) == tmp_path / "run" / "report.html"
    assert not [child for child in (tmp_path / "run").iterdir() if child.name.endswith(".part")]


def test_whom_it_fails_and_how_sure_come_first(page: Any) -> None:
    text = page.text
    first = text.index("drawn-faces misses ")
    assert re.match(r"drawn-faces misses \d+ of \d+ ", text[first:])
    assert first < text.index("Who") < text.index("When") < text.index("How sure:") < text.index("a gap matters from")
    assert re.search(r"chance would produce a gap this clear .*? audits \(all \d+ comparisons counted\)", text)


def test_every_section_is_there_in_order(page: Any) -> None:
    wanted = [
        "gaps",
        "groups",
        "cannot-tell",
        "numbers",
        "intersections",
        "failures",
        "curves",
        "results",
        "findings",
        "unanswered",
        "data",
        "model",
        "method",
        "provenance",
    ]
    ids = [found["id"] for tag, found in page.elements if tag == "h2" and "id" in found]
    assert [name for name in ids if name != "matrix"] == wanted
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_ids_are_unique_and_links_lead_somewhere(page: Any) -> None:
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    inside = [address[1:] for address in page.addresses() if address.startswith("#")]
    assert inside and set(inside) <= set(ids)


def test_every_group_stands_with_its_n(page: Any, run: Run) -> None:
    source = ReportSource.of(run)
    for name in source.names.by:
        for estimate in source.estimates("recall@0.5", name):
            label = source.names.group(name, estimate.group)
            assert f"{label} {estimate.n} " in page.text, label


def test_nobody_is_left_out_silently(page: Any, run: Run) -> None:
    section = page.text[page.text.index("What we cannot tell", page.text.index("Groups: faces found")) :]
    source = ReportSource.of(run)
    open_ones = [f for f in source.audit.findings if f.verdict in ("untestable", "insufficient evidence")]
    assert len(open_ones) > 50
    for finding in open_ones:
        assert source.names.group(finding.attribute, finding.group) in section
    some = next(f for f in open_ones if f.n_needed and f.n_needed > f.n)
    assert f"{some.n_needed:,}" in section


def test_the_overall_number_is_that_of_the_rows(page: Any, run: Run) -> None:
    values = [v for v in run.scores().column("m.recall@0.5").to_pylist() if v is not None]
    assert f"{100 * sum(values) / len(values):.1f}\u202f%".replace("\u202f", " ") in page.text.replace("\u202f", " ")
    assert f"{int(sum(values)):,} of {len(values):,}, likely" in page.text


def test_images_without_an_answer_are_told_with_their_reasons(page: Any, run: Run) -> None:
    assert run.manifest["failed"] == 4
    assert "the picture could not be read" in page.text
    assert "damaged or truncated" in page.text


def test_data_model_method_and_provenance_are_told(page: Any, run: Run) -> None:
    manifest = run.manifest
    wanted = [
        "CC0",
        "not needed",
        "Drawn people are no stand-in for real people.",
        "as drawn",
        "Holm",
        "Wilson",
        manifest["key"],
        manifest["dataset"]["fingerprint"],
        manifest["model"]["content"],
        manifest["finished"],
        "countenance audit RUN --by skin_tone,age_group,gender",
        f"numpy {manifest['versions']['numpy']}",
    ]
    for words in wanted:
        assert words in page.text, words


def test_nothing_is_fetched(page: Any) -> None:
    for address in page.addresses():
        assert address.startswith(("#", "data:image/jpeg;base64,", "data:text/csv;")), address
    assert not page.tags("link") and not page.tags("iframe") and not page.tags("form")
    style = re.search(r"<style>(.*?)</style>", page.source, re.S)
    assert style and not re.search(r"url\((?!#)", style[1]) and "@import" not in style[1]
    policy = [meta["content"] for meta in page.tags("meta") if meta.get("http-equiv")]
    assert policy and policy[0].startswith("default-src 'none'")


def test_the_same_run_gives_the_same_bytes(run: Run, report: Path, tmp_path: Path) -> None:
    assert write_report(run, tmp_path / "again.html").read_bytes() == report.read_bytes()


def test_the_page_is_the_same_wherever_the_run_lies(run: Run, report: Path, tmp_path: Path) -> None:
    moved = copy_of(run, tmp_path / "elsewhere")
    assert write_report(moved).read_bytes() == report.read_bytes()


def test_the_csv_holds_every_finding_with_every_column(page: Any, run: Run) -> None:
    (link,) = [a for a in page.tags("a") if a.get("download") == "findings.csv"]
    text = unquote(link["href"].split(",", 1)[1]).removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text)))
    found = ReportSource.of(run).audit.findings
    assert len(rows) == len(found) and list(rows[0]) == list(Finding.model_fields)
    by_key = {(f.metric, f.attribute, f.group, f.versus, f.kind): f for f in found}
    for row in rows:
        finding = by_key[row["metric"], row["attribute"], row["group"], row["versus"], row["kind"]]
        assert row["verdict"] == finding.verdict
        assert float(row["estimate"]) == finding.estimate


def test_hostile_names_stay_text(hostile_run: Run, tmp_path: Path, read: Reader) -> None:
    page = read(write_report(hostile_run, tmp_path / "hostile.html"))
    assert len(page.tags("script")) == 1
    for tag, found in page.elements:
        assert not [name for name in found if name.startswith("on")], (tag, found)
        assert found.get("src", "data:").startswith("data:")
    assert "<script>window.pwned=1</script>" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "=HYPERLINK(1)" in page.text
    assert "\u202e" not in page.source
    link = next(a for a in page.tags("a") if a.get("download"))
    rows = csv.DictReader(io.StringIO(unquote(link["href"].split(",", 1)[1]).removeprefix("\ufeff")))
    assert {row["group"][0] for row in rows if "HYPERLINK" in row["group"][:12]} == {"'"}


def test_hostile_pictures_are_shown_and_named_as_text(hostile_run: Run, tmp_path: Path, read: Reader) -> None:
    page = read(write_report(hostile_run, tmp_path / "hostile.html"))
    assert len(page.tags("img")) >= 10
    assert "onerror=window.pwned=" in page.text


def test_a_run_that_can_test_nothing_still_has_a_page(small_run: Run, tmp_path: Path, read: Reader) -> None:
    page = read(write_report(small_run, tmp_path / "small.html"))
    assert "No gap is shown, and nobody can be cleared: too few pictures in every group." in page.text
    assert "fewer than 20" in page.text


def test_the_gallery_shows_rendered_people_with_truth_and_answer(page: Any, run: Run) -> None:
    shown = [image for image in page.tags("img") if image["src"].startswith("data:image/jpeg")]
    assert len(shown) > 18
    drawn = [found.get("class", "").split()[0] for tag, found in page.elements if tag == "rect" and "class" in found]
    assert drawn.count("truth") == drawn.count("answer") == 18


def as_real(run: Run, folder: Path) -> Run:
    copied = copy_of(run, folder)
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    manifest["dataset"]["card"]["real_people"] = True
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    copied.store.seal()
    return Run(copied.path)


def test_real_people_are_not_shown_unless_asked_for(run: Run, tmp_path: Path, read: Reader) -> None:
    real = as_real(run, tmp_path / "real")
    page = read(write_report(real))
    assert not page.tags("img")
    assert "none is shown here" in page.text and "Gallery auto (here: off)" in page.text


@pytest.mark.parametrize(("mode", "said"), [("blurred", "are blurred"), ("full", "Think before you pass this page on")])
def test_showing_real_people_is_recorded(run: Run, tmp_path: Path, mode: str, said: str, read: Reader) -> None:
    real = as_real(run, tmp_path / "real")
    page = read(write_report(real, gallery=mode))
    assert len(page.tags("img")) > 24
    assert said in page.text and f"Gallery {mode}; the pictures show real people" in page.text
    assert f"countenance report RUN --gallery {mode}" in page.text


def test_the_gallery_can_be_left_out(run: Run, tmp_path: Path, read: Reader) -> None:
    page = read(write_report(run, tmp_path / "off.html", gallery="off"))
    assert not page.tags("img") and "No picture is shown: the gallery is off" in page.text


def test_a_gallery_that_does_not_exist_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'blur', expected one of auto, off, blurred, full"):
        write_report(run, tmp_path / "x.html", gallery="blur")
    assert not (tmp_path / "x.html").exists()


def test_a_dataset_that_is_gone_costs_the_gallery_alone(run: Run, report: Path, tmp_path: Path, read: Reader) -> None:
    copied = copy_of(run, tmp_path / "run")
    copied.store.write_local(Place(source=str(tmp_path / "gone")), copied.manifest)
    page = read(write_report(Run(copied.path)))
    assert not page.tags("img")
    assert "the dataset cannot be loaded again" in page.text
    assert "drawn-faces misses " in page.text


def test_a_dataset_that_has_changed_costs_the_gallery_alone(run: Run, tmp_path: Path, read: Reader) -> None:
    copied = copy_of(run, tmp_path / "run")
    shutil.copytree(str(run.local.source), tmp_path / "data")
    labels = tmp_path / "data" / "labels.csv"
    labels.write_text(labels.read_text(encoding="utf-8").replace("monk_3", "monk_4"), encoding="utf-8")
    copied.store.write_local(Place(source=str(tmp_path / "data")), copied.manifest)
    page = read(write_report(Run(copied.path)))
    assert not page.tags("img") and "has changed since this run" in page.text


def test_a_run_without_an_audit_says_what_to_do(run: Run, tmp_path: Path) -> None:
    copied = copy_of(run, tmp_path / "run")
    (copied.path / "audit.json").unlink()
    with pytest.raises(InputError, match="countenance audit"):
        write_report(copied)


def test_a_run_that_did_not_finish_says_so(run: Run, tmp_path: Path) -> None:
    copied = copy_of(run, tmp_path / "run")
    manifest = json.loads((copied.path / "run.json").read_text(encoding="utf-8")) | {"status": "running"}
    (copied.path / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InputError, match="did not finish"):
        write_report(Run(copied.path))


def test_too_many_failures_are_said_in_the_verdict(run: Run, tmp_path: Path, read: Reader) -> None:
    copied = copy_of(run, tmp_path / "run")
    manifest = json.loads((copied.path / "run.json").read_text(encoding="utf-8")) | {"max_failures": 0.001}
    (copied.path / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    copied.store.seal()
    strict = Run(copied.path)
    store_audit(strict, audit_run(strict))
    text = read(write_report(strict)).text
    assert "4 images of 1,200 have no prediction" in text and "more than the limit of 0.1 %" in text


@pytest.mark.parametrize("comparison", ["pairs", "reference", "spread"])
def test_every_comparison_has_its_page(run: Run, tmp_path: Path, comparison: str, read: Reader) -> None:
    copied = copy_of(run, tmp_path / "run")
    store_audit(copied, audit_run(copied, comparison=comparison, by=["skin_tone", "gender"]))
    page = read(write_report(copied))
    assert "All findings" in page.text and "nan" not in page.text.lower().split()


def test_a_task_without_curves_has_its_page(tmp_path: Path, run: Run, read: Reader) -> None:
    data = str(run.local.source)
    names = ("female", "male")

    def guess(images: list[object]) -> list[dict[str, str]]:
        return [{"gender": names[len(str(image)) % 2], "age_group": "0_17"} for image in images]

    other = evaluate(guess, "attributes", data, out=tmp_path / "run", batch=64, limit=300)
    store_audit(other, audit_run(other, by=["skin_tone"]))
    page = read(write_report(other))
    assert "Curves by group" not in page.text
    assert "answered: age_group: 0_17, gender:" in page.text


def test_a_suite_can_add_its_own_section(run: Run, tmp_path: Path, read: Reader) -> None:
    told = context(ReportSource.of(run), "off") | {"extra": [("own", "<Own>", Markup("<p>Our own words.</p>"))]}
    page = read(render.write(tmp_path / "own.html", render.page("report.html.j2", **told)))
    assert {"id": "own"} in page.tags("h2")
    assert "<Own> Our own words." in page.text


def test_both_of_two_groups_have_their_side_of_the_comparison_as_evidence(run: Run) -> None:
    [measured, *_] = [m for m in _measured(ReportSource.of(run)) if m.attribute == "gender"]
    first, second = (row for row in measured.rows if row.group in ("female", "male"))
    assert first.verdict != "not compared" and second.verdict != "not compared"
    assert first.difference.endswith(f"from {second.group}") and second.difference.endswith(f"from {first.group}")
    assert {first.difference[0], second.difference[0]} == {"+", "−"}


def test_a_page_that_would_be_heavy_lists_fewer_findings(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countenance.report.page.HEAVIEST", 1000)
    text = write_report(run, tmp_path / "page.html").read_text(encoding="utf-8")
    assert run.findings().num_rows > 200 and "The page holds the first 200" in text
    assert text.count("<tr data-metric=") == 200


def test_a_note_that_begins_with_the_name_of_a_file_keeps_its_case(small_run: Run, tmp_path: Path) -> None:
    run = copy_of(small_run, tmp_path / "run")
    run.manifest.notes = ["model_outputs.json: 100 of 300 rows are left out", "one picture is empty."]
    run.store.write_manifest(run.manifest)
    run.store.seal()
    html = write_report(Run(run.path)).read_text()
    assert '<p class="note">model_outputs.json: 100 of 300 rows are left out.</p>' in html
    assert '<p class="note">One picture is empty.</p>' in html
