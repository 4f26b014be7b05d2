"""`countenance fhibe evaluate` as a user meets it: what the page says is what was computed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from countenance.cli.app import run as command
from countenance.data.adapters.fhibe.words import ATTRIBUTES, MULTIPLE
from countenance.person_columns import GROUPS_OF
from countenance.run import Run
from countenance.suites.fhibe import evaluate_task, write_bias_report

from . import small
from .helpers import people

PEOPLE = 120


def outputs(root: Path, entries: dict[str, Any], task: str = "person_localization", model: str = "m") -> None:
    folder = root / "results" / task / "fhibe_downsampled" / model
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model_outputs.json").write_text(json.dumps(entries))


def boxes(row: dict[str, Any]) -> dict[str, Any]:
    x, y, width, height = row["person_bbox"]
    return {"detections": [[x, y, x + width, y + height]], "scores": [0.9], "labels": [0]}


def key(root: Path, row: dict[str, Any]) -> str:
    return f"{root}/{row['filepath']}"


def evaluate(root: Path, *options: str, task: str = "person_localization") -> int:
    return command(["fhibe", "evaluate", "--data", str(root), "--task", task, "--model-name", "m", "-q", *options])


def page_of(root: Path) -> str:
    path = root / "results" / "person_localization" / "fhibe_downsampled" / "m" / "run" / "report.html"
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", path.read_text()))


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """People alone in their pictures, the answers of the first tenth of whom are missing."""
    rows = small.body(tmp_path, PEOPLE)
    outputs(tmp_path, {key(tmp_path, row): boxes(row) for row in rows[PEOPLE // 10 :]})
    yield tmp_path, rows


def test_images_without_an_answer_count_as_not_found_and_the_page_says_so(tree, capsys):
    root, rows = tree
    assert evaluate(root, "--attributes", "pronoun") == 0
    assert re.search(r"AR_IOU +0\.9000 +120 rows", capsys.readouterr().out)
    page = page_of(root)
    assert "in none of the numbers" not in page and "in no number" not in page and "leave them out" not in page
    assert "12 of 120 images have no answer and count as images where nothing was found" in page
    assert "None failed. Images that a file of answers leaves out are not among these" in page
    assert "every image has a prediction" not in page
    run = Run(root / "results/person_localization/fhibe_downsampled/m/run")
    assert run.manifest.dataset.images == len(rows) == 120 and run.manifest.failed == 0
    assert len(run.answers()) == 120  # an empty answer for each image that has none


def test_keys_of_which_none_is_an_image_are_refused(tree, capsys):
    root, rows = tree
    outputs(root, {f"/elsewhere/picture{i}.jpg": boxes(row) for i, row in enumerate(rows)})
    assert evaluate(root) == 2
    text = capsys.readouterr().err.strip()
    assert len(text.splitlines()) == 1
    assert "/elsewhere/picture0.jpg" in text and rows[0]["filepath"] in text and "model_outputs.json" in text


@pytest.mark.parametrize("compat", ["default", "strict"])
def test_outputs_without_an_entry_are_refused(tree, capsys, compat):
    root, rows = tree
    outputs(root, {})
    assert evaluate(root, "--compat", compat) == 2
    assert rows[0]["filepath"] in capsys.readouterr().err


def test_entries_that_are_no_image_are_counted(tree, capsys):
    root, rows = tree
    outputs(root, {key(root, row): boxes(row) for row in rows} | {"/elsewhere/other/picture.jpg": boxes(rows[0])})
    assert evaluate(root, "--no-report") == 0
    assert "names 1 image that the dataset does not have (/elsewhere/other/picture.jpg)" in capsys.readouterr().err


def test_the_thresholds_that_were_used_are_the_ones_that_are_named(tree):
    root, _ = tree
    run = evaluate_task(
        root,
        "fhibe",
        None,
        "m",
        "person_localization",
        metrics={"AR_IOU": {"thresholds": [0.3, 0.425]}},
        attributes=["pronoun"],
        reuse_model_outputs=True,
        results_rootdir=root / "results",
    )
    write_bias_report(run)
    page = page_of(root)
    assert (
        "0.5 to 0.95" not in page and "how tightly the box fits, 0 to 1 (passed overlap thresholds 0.3, 0.425)" in page
    )
    assert "0.3, 0.425" in page[page.index("Better Thresholds") :]
    recorded = {metric.name: metric.meaning for metric in Run(run.path).manifest.metrics or ()}
    assert "0.3, 0.425" in recorded["average_recall"]


@pytest.mark.parametrize(
    ("task", "metric", "text"),
    [
        ("keypoint_estimation", "PCK", "thresholds 0.2, 0.35"),
        ("person_parsing", "AR_MASK", "thresholds 0.2, 0.35"),
        ("body_parts_detection", "AR_DET", "thresholds 0.2, 0.35"),
        ("body_parts_detection", "ACC_DET", "at a probability of 0.2, 0.35"),
    ],
)
def test_every_metric_names_its_thresholds(task, metric, text):
    from countenance.tasks import load_task

    actual = load_task(task, {"thresholds": {metric: [0.2, 0.35]}}).metric(metric)
    assert actual is not None and text in actual.meaning


def test_all_attributes_at_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a relative path and all attributes together are longer than a file's name may be
    random = np.random.default_rng(0)
    cells = {
        name: (lambda i, words=(f"0. {name} a", f"1. {name} b"): words[random.integers(2)])
        for name in ATTRIBUTES
        if name not in ("pronoun", "age", "ancestry", "apparent_skin_color")
    }
    several = {name: (lambda i, item=cell: [item(i)]) for name, cell in cells.items() if name in MULTIPLE}
    rows = small.body(tmp_path, 60, **(cells | several))
    outputs(tmp_path, {key(tmp_path, row): boxes(row) for row in rows})
    listed = ",".join(ATTRIBUTES)
    assert evaluate(Path(), "--attributes", listed, "--depth", "1") == 0
    run = Run(tmp_path / "results/person_localization/fhibe_downsampled/m/run")
    names = [name for name in run.scores().column_names if name.startswith("attr.")]
    assert names == [f"attr.{GROUPS_OF.get(name, name)}" for name in ATTRIBUTES]
    capsys.readouterr()
    assert command(["audit", str(run.path), "--by", "scene,weather", "--depth", "1"]) in (0, 1)
    assert command(["verify", str(run.path)]) == 0


def test_published_files_of_all_combinations_of_many_attributes_are_refused_before_anything_is_read(tmp_path, capsys):
    assert evaluate(tmp_path / "absent", "--attributes", ",".join(ATTRIBUTES), "--fhibe-layout") == 2
    assert "2,147,483,647 combinations of 31 attributes; cross fewer with --depth" in capsys.readouterr().err


def test_a_row_that_occurs_twice_counts_once_and_is_named(tree, capsys):
    root, rows = tree
    small.write(root, "fhibe_downsampled", [*rows, *rows[:30]])
    assert evaluate(root, "--attributes", "pronoun") == 0
    text = capsys.readouterr()
    assert re.search(r"AR_IOU +0\.9000 +120 rows", text.out)
    assert "30 rows repeat a person of an image, the first row 121 (as row 1); counted once" in text.err
    assert "30 rows repeat a person" in page_of(root)
    assert evaluate(root, "--compat", "strict", "--no-report") == 0
    text = capsys.readouterr()
    assert "150 rows" in text.out and "counted again, as published" in text.err


def test_two_unlike_rows_of_a_person_in_an_image_are_refused(tree, capsys):
    root, rows = tree
    small.write(root, "fhibe_downsampled", [*rows, rows[4] | {"person_bbox": [0, 0, 9, 9]}])
    assert evaluate(root) == 2
    text = capsys.readouterr().err
    assert "row 121: person_bbox: '[0, 0, 9, 9]', but row 5 is of the same person in the same image" in text


@pytest.mark.parametrize(("count", "code"), [(1, 0), (60, 2)])
def test_boxes_with_their_corners_the_wrong_way_round_are_said_or_refused(tree, capsys, count, code):
    root, rows = tree
    entries = {key(root, row): boxes(row) for row in rows}
    for row in rows[:count]:
        entry = entries[key(root, row)]
        x0, y0, x1, y1 = entry["detections"][0]
        entry["detections"] = [[x1, y1, x0, y0]]
    outputs(root, entries)
    assert evaluate(root, "--no-report") == code
    text = capsys.readouterr().err
    shown = ", ".join(map(str, entries[key(root, rows[0])]["detections"][0]))
    verb = "has" if count == 1 else "have"
    assert f"box [{shown}] has x1 < x0 or y1 < y0, as {verb} {count} of 120 boxes" in text
    assert evaluate(root, "--no-report", "--compat", "strict") == 0  # as published


def test_an_ancestry_is_joined_by_its_words_not_by_its_number(tmp_path, capsys):
    words = (["5. Western Africa"], ["5. Western Europe"], ["11. Asia"])
    rows = small.body(tmp_path, 60, ancestry=lambda i: words[i % 3])
    outputs(tmp_path, {key(tmp_path, row): boxes(row) for row in rows})
    assert evaluate(tmp_path, "--attributes", "ancestry", "--no-report") == 0
    assert "row 2: ancestry: '5. Western Europe' is not an ancestry of FHIBE" in capsys.readouterr().err
    run = Run(tmp_path / "results/person_localization/fhibe_downsampled/m/run")
    actual = [row["attr.ancestry"] for row in people(run)[:3]]
    assert actual == [["0. Africa", "5. Western Africa"], ["5. Western Europe"], ["11. Asia"]]


def test_average_precision_of_random_groups_is_everyones(tmp_path):
    """Pronouns by chance in shares of 50, 10 and 2 %; every third picture has a false alarm."""
    gaps: dict[str, list[float]] = {"half": [], "tenth": [], "few": []}
    for seed in range(4):
        random = np.random.default_rng(seed)
        words = [
            [word for word, share in (("half", 0.5), ("tenth", 0.1), ("few", 0.02)) if random.random() < share]
            or ["others"]
            for _ in range(800)
        ]
        rows = small.body(tmp_path, 800, pronoun=lambda i, words=words: words[i])
        entries = {key(tmp_path, row): boxes(row) for row in rows}
        for entry in entries.values():
            entry["scores"] = [float(random.beta(4, 2))]
            if random.random() < 1 / 3:
                entry["detections"].append([40, 55, 50, 60])
                entry["scores"].append(float(random.beta(2, 4)))
        outputs(tmp_path, entries)
        run = evaluate_task(
            tmp_path,
            "fhibe",
            None,
            "m",
            "person_localization",
            attributes=["pronoun"],
            reuse_model_outputs=True,
            results_rootdir=tmp_path / "results",
        )
        actual = {item.group: item.value for item in run.results() if item.name == "average_precision@0.5"}
        for name, gap in gaps.items():
            gap.append(actual[name] - actual[None])
    for name, gap in gaps.items():
        assert abs(np.mean(gap)) < 0.02 + 2 * np.std(gap, ddof=1) / 2, (name, gap)
