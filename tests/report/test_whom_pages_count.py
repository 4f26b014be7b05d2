"""A page counts people only where a row, or a unit of rows, is one person, and says of whom a rate is."""

import re
from pathlib import Path
from typing import Any

import numpy as np

import countenance as ct
from countenance.auditing.headline import headline
from countenance.report.harms import HarmSide, everyone, unit_of
from countenance.report.source import AuditSource
from countenance.tasks import load_task


def text_of(audit: ct.Audit, folder: Path) -> str:
    page = Path(audit.report(folder / "page.html")).read_text(encoding="utf-8")
    body = re.sub(r"<(style|script|svg).*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def faces_in_images(images: int = 300) -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    return {
        "sample": [f"s{i}" for i in range(images) for _ in range(2)],
        "masked": rng.choice(["yes", "no"], 2 * images).tolist(),
        "found": (rng.random(2 * images) < 0.93).astype(int).tolist(),
    }


def test_several_faces_of_an_image_are_people_and_images_are_not(tmp_path: Path) -> None:
    audit = ct.audit(faces_in_images(), ["masked"], ["found"])
    text = text_of(audit, tmp_path)
    assert audit.settings["nouns"] == ["image", "images"]
    assert re.search(r"The model fails \d+ of 600 people\.", text)
    assert "600 pictures" not in text and "300 people" not in text and "600 rows of 300 images" in text


def test_pictures_of_people_who_are_not_told_apart_stay_pictures(tmp_path: Path) -> None:
    rows = {name: values[::2] for name, values in faces_in_images().items()}
    rows["sample"][1], rows["found"][:2] = rows["sample"][0], [0, 0]
    whole = ct.audit(rows, ["masked"], ["found"])
    assert whole.overall[0].n == 300 and whole.overall[0].clusters == 299
    assert re.search(r"The model fails \d+ of 300 people\.", text_of(whole, tmp_path))
    assert unit_of(80, 80, {"ways": ["sample"]}) == "picture"
    assert unit_of(80, 80, {"ways": ["sample"]}, whole.overall[0]) == "", (
        "a group of lone faces among groups of several"
    )


def test_rows_of_images_with_several_people_are_faces_where_the_task_is_about_faces() -> None:
    rows = faces_in_images() | {"identity": [f"p{i % 90}" for i in range(600)]}
    audit = ct.audit(rows, ["masked"], ["found"], better="higher")
    assert audit.settings["ways"] == ["identity", "sample"]
    for name, words in (
        ("face_localization", r"\d+ of 600 faces"),
        ("person_localization", r"\d+ of 600 rows of .*people"),
    ):
        source = AuditSource(audit, load_task(name))
        whole = everyone(source, source.metrics[0])
        assert whole is not None and re.fullmatch(words, whole.failed_people), whole.failed_people


def test_one_person_is_not_a_people() -> None:
    side = HarmSide("", "", "", "people", 30, 1, 0.9, 0.5, 1.0, 3, "picture")
    assert (side.failed_people, side.many_people) == ("3 of 30 pictures of 1 person", "30 pictures of 1 person")


def rooms(count: int = 34) -> dict[str, list[Any]]:
    rng = np.random.default_rng(1)
    place = np.repeat(rng.choice(["in", "out"], count), 30)
    right = rng.random(count * 30) < np.repeat(rng.beta(8, 2, count), 30)
    return {
        "room": np.repeat([f"r{i}" for i in range(count)], 30).tolist(),
        "place": place.tolist(),
        "correct": right.astype(int).tolist(),
    }


def test_units_that_are_not_people_are_not_called_people(tmp_path: Path) -> None:
    audit = ct.audit(rooms(), ["place"], ["correct"], cluster="room")
    text = text_of(audit, tmp_path)
    assert re.search(r"\d+ of 1,020 rows\.", text)
    assert "34 people" not in text and "permutation of people" not in text
    assert "too few room clusters in every group" in text and "by permutation of room clusters" in audit.reason


def test_few_that_were_tested_are_not_said_to_be_untested(tmp_path: Path) -> None:
    audit = ct.audit(rooms(), ["place"], ["correct"], cluster="room")
    assert audit.verdict == "untestable" and np.isfinite(audit.findings[0].p_adjusted)
    for said in (text_of(audit, tmp_path), str(audit)):
        assert "nobody can be cleared" in said and "Nothing could be tested" not in said
    assert "The only comparison shows no difference, and clears nobody" in text_of(audit, tmp_path)
    single = {"g": ["a"] * 3 + ["b"] * 60, "correct": [1, 0] * 31 + [1]}
    assert "Nothing could be tested" in text_of(ct.audit(single, ["g"], ["correct"]), tmp_path)


def test_rows_of_speakers_are_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = {
        "speaker": [f"p{i // 2}" for i in range(600)],
        "accent": ["Scottish"] * 200 + ["US"] * 400,
        "wer": np.r_[rng.gamma(2, 0.15, 200), rng.gamma(2, 0.05, 400)].tolist(),
    }
    text = text_of(ct.audit(rows, ["accent"], ["wer"]), tmp_path)
    assert "serves 200 rows of 100 people with accent Scottish worse" in text and not re.search(r"\d pictures", text)


def test_rates_of_predictions_say_of_whom_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    sex, truth = np.repeat(["f", "m"], 300), rng.integers(0, 2, 600)
    wrong = rng.random(600) < np.where((sex == "f") & (truth == 0), 0.3, 0.04)
    rows = {"sex": sex.tolist(), "truth": truth.tolist(), "pred": np.where(wrong, 1 - truth, truth).tolist()}
    negatives = int(((sex == "f") & (truth == 0)).sum())
    text = text_of(ct.audit(rows, ["sex"], truth="truth", pred="pred"), tmp_path)
    assert re.search(rf"The model fails \d+ of {negatives} women whose truth is negative", text)


def test_without_a_size_that_matters_no_size_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = {"g": ["a", "b"] * 100, "latency_ms": rng.lognormal(3, 0.3, 200).tolist()}
    text = text_of(ct.audit(rows, ["g"], ["latency_ms"]), tmp_path)
    assert "any size" not in text and "no gap that matters" in text


def test_bases_of_twins_are_people_only_where_each_is_another(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"base": [], "change": [], "identity": [], "correct": []}
    for base in range(60):
        for change, right in (("none", 1), ("dark", int(base % 3 == 0))):
            for name, value in zip(rows, (f"b{base}", change, f"p{base % 25}", right), strict=True):
                rows[name].append(value)
    audit = ct.audit(rows, metrics=["correct"], paired_by={"base": "base", "change": "change"})
    finding = audit.findings[0]
    assert (finding.bases, finding.clusters, finding.lost) == (60, 25, 40)
    assert "40 of 60 bases of 25 people" in headline(audit)
    text = text_of(audit, tmp_path)
    assert "For 40 of 60 pictures of 25 people, dark alone decides" in text and "60 people" not in text
    assert "40 of 60 pictures of 25 people that it had" in str(audit)
    rows["identity"] = rows["base"]
    audit = ct.audit(rows, metrics=["correct"], paired_by={"base": "base", "change": "change"})
    assert "40 of 60 people whom it had" in str(audit) and "For 40 of 60 people, dark" in text_of(audit, tmp_path)


def test_a_large_ratio_is_a_number(tmp_path: Path) -> None:
    rows = {"g": ["a"] * 60 + ["b"] * 2000, "correct": [0] * 60 + [1] * 2000}
    audit = ct.audit(rows, ["g"], ["correct"])
    assert re.search(r"at least [\d,]{3,} times as many failures", audit.findings[0].reason)
    assert "e+" not in text_of(audit, tmp_path)


def test_twins_of_a_table_name_the_model_within_the_sentence() -> None:
    rows: dict[str, list[Any]] = {"base": [], "change": [], "correct": [], "iou": []}
    for base in range(40):
        for change, right, iou in (("none", 1, 0.8), ("dark", base % 2, None if base < 2 else 0.8)):
            for name, value in zip(rows, (f"b{base}", change, right, iou), strict=True):
                rows[name].append(value)
    audit = ct.audit(rows, metrics=["correct", "iou"], paired_by={"base": "base", "change": "change"}, poor=0.5)
    assert "By dark alone, the model fails 20 of 40 people whom it had correct." in str(audit)
    assert any(f.kind == "missing" and f.bases and f.verdict == "insufficient evidence" for f in audit.findings)


def test_missing_scores_of_twins_are_not_the_gap_that_looks_worst(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"base": [], "change": [], "correct": []}
    for base in range(40):
        for change, right in (("none", 1), ("dark", None if base < 2 else 1)):
            for name, value in zip(rows, (f"b{base}", change, right), strict=True):
                rows[name].append(value)
    audit = ct.audit(rows, metrics=["correct"], paired_by={"base": "base", "change": "change"})
    assert {f.kind for f in audit.findings} == {"missing", "twins"} and audit.verdict == "insufficient evidence"
    assert "Looks worse" not in text_of(audit, tmp_path)


def nights(**columns: list[str]) -> dict[str, list[Any]]:
    """Rows of 30 units, a third of them wrong at night."""
    rng = np.random.default_rng(6)
    light = rng.choice(["day", "night"], 1500)
    right = rng.random(1500) > np.where(light == "night", 0.3, 0.03)
    return {**columns, "light": light.tolist(), "correct": right.astype(int).tolist()}


def test_rows_that_show_nobody_are_not_of_people(tmp_path: Path) -> None:
    cameras = [f"c{i % 30}" for i in range(1500)]
    for audit in (
        ct.audit(nights(camera=cameras), ["light"], ["correct"], cluster="camera"),
        ct.audit(nights(), ["light"], ["correct"], cluster=None),
    ):
        text = text_of(audit, tmp_path)
        assert re.search(r"The model fails \d+ of \d+ rows in night light\.", text), text[:400]
        assert re.search(r"It fails \d+ of \d+ rows in day light\.", text)
        assert "rows of people" not in text and "dashed line: all rows" in text and "dashed line: everyone" not in text
        assert re.search(r"Who\s+Nothing of this kind was compared\.", text)


def test_rows_of_nobody_stay_rows_in_every_phrase(tmp_path: Path) -> None:
    """A condition may stand before the noun, and the other side may be all other rows."""
    cameras = [f"c{i % 30}" for i in range(1500)]
    rng = np.random.default_rng(8)
    masked, light = rng.choice(["yes", "no"], 1500), rng.choice(["day", "dusk", "night"], 1500)
    right = rng.random(1500) > np.where(masked == "yes", 0.3, 0.03)
    rows = {"camera": cameras, "masked": masked.tolist(), "correct": right.astype(int).tolist()}
    text = text_of(ct.audit(rows, ["masked"], ["correct"], cluster="camera"), tmp_path)
    assert re.search(r"The model fails \d+ of \d+ masked rows\. It fails \d+ of \d+ unmasked rows\.", text), text[:300]
    right = rng.random(1500) > np.where(light == "night", 0.3, 0.03)
    rows = {"camera": cameras, "light": light.tolist(), "correct": right.astype(int).tolist()}
    text = text_of(ct.audit(rows, ["light"], ["correct"], cluster="camera"), tmp_path)
    assert re.search(r"The model fails \d+ of \d+ rows in night light\. It fails \d+ of [\d,]+ other rows\.", text)


def test_a_rate_of_predictions_about_no_people_is_of_rows() -> None:
    rng = np.random.default_rng(4)
    light, truth = rng.choice(["day", "dusk", "night"], 1800), rng.integers(0, 2, 1800)
    wrong = rng.random(1800) < np.where((light == "night") & (truth == 0), 0.4, 0.04)
    rows = {"light": light.tolist(), "truth": truth.tolist(), "pred": np.where(wrong, 1 - truth, truth).tolist()}
    text = str(ct.audit(rows, ["light"], truth="truth", pred="pred", cluster=None))
    assert re.search(r"The model fails \d+ of \d+ rows in night light whose truth is negative\.", text), text
    assert re.search(r"It fails \d+ of [\d,]+ other rows\.", text), text


def test_rows_of_people_in_a_table_are_rows_and_in_scores_of_a_run_pictures(tmp_path: Path) -> None:
    people = [f"p{i % 400}" for i in range(1500)]
    audits = {
        noun: ct.audit(nights(**{column: people}), ["light"], ["correct"])
        for noun, column in (("rows", "person"), ("pictures", "identity"))
    }
    for noun, audit in audits.items():
        text = text_of(audit, tmp_path)
        assert f"1,500 {noun} of 400 people" in text
        assert re.search(rf"The model fails \d+ of \d+ {noun} of \d+ people in night light\.", text)
        assert re.search(rf"in \d+ {noun} of \d+ people", audit.findings[0].reason)
    assert not re.search(r"\d pictures", text_of(audits["rows"], tmp_path))


def test_the_legend_names_a_size_only_if_all_metrics_share_it(tmp_path: Path) -> None:
    rows = nights()
    rows["minutes"] = np.random.default_rng(7).gamma(2, 2, 1500).tolist()
    text = text_of(ct.audit(rows, ["light"], ["correct", "minutes"], cluster=None), tmp_path)
    assert "no gap that matters" in text and "no gap of 0.05" not in text
