"""The mini dataset draws rows, not images: whoever was not drawn is still in the picture."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countenance.data.adapters.fhibe.table import everyone_in, mini, read_table
from countenance.errors import InputError

from . import small
from .helpers import people
from .test_bad_input import run
from .test_default import Wrapper, evaluate, numbers, points_of, scores


def summaries(finished):
    return {name: number.value for name, number in numbers(finished).items()}


def drawn_mini(root, task="person_localization", size=7, **options):
    return run(root, task, use_mini_dataset=True, mini_dataset_size=size, **options)


def test_a_box_on_somebody_who_was_not_drawn_is_no_false_alarm(tmp_path):
    rows = small.body(tmp_path, people=12, per_image=2)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = drawn_mini(tmp_path)
    table = read_table(tmp_path, "fhibe_downsampled", "person_localization", ("age",))
    drawn = mini(table, 7)
    assert len(everyone_in(table, drawn)) > 7  # some people were not drawn, or this test says nothing
    assert scores(finished, "AR_IOU") == [1.0] * 7
    assert set(scores(finished, "false_positives")) == {0.0}
    assert summaries(finished)["average_precision@0.5"] == pytest.approx(1)


coordinate = st.integers(0, 30)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(coordinate, coordinate), min_size=12, max_size=12),
    st.permutations(range(12)),  # no two alike: equal scores would be ranked in the order of the images
    st.integers(1, 11),
)
def test_the_mini_dataset_has_the_precision_of_its_whole_images(tmp_path_factory, answers, ranks, size):
    """The oracle: a dataset that holds every person of the drawn images and nobody else."""
    root = tmp_path_factory.mktemp("mini")
    rows = small.body(root, people=12, per_image=3)
    entries: dict[str, dict[str, list]] = {}
    for row, (dx, dy), rank in zip(rows, answers, ranks, strict=True):
        x, y, w, h = row["person_bbox"]
        entry = entries.setdefault(row["filepath"], {"detections": [], "scores": []})
        entry["detections"].append([x + dx / 3, y + dy, x + dx / 3 + w, y + dy + h])
        entry["scores"].append(rank / 12)
    small.outputs(root, "person_localization", entries)
    finished = drawn_mini(root, size=size)
    images = set(finished.scores().column("sample").to_pylist())
    small.write(root, "fhibe_downsampled", [row for row in rows if row["filepath"] in images])
    assert summaries(finished) == pytest.approx(summaries(run(root)), nan_ok=True)


def test_keypoints_of_somebody_who_was_not_drawn_stay_theirs(tmp_path):
    rows = small.body(tmp_path, people=12, per_image=2)
    table = read_table(tmp_path, "fhibe_downsampled", "keypoint_estimation", ("age",))
    lines = set(mini(table, 7).line)
    crowd: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        crowd.setdefault(row["filepath"], []).append(i)
    alone = next(pair for pair in crowd.values() if len([i for i in pair if i + 1 in lines]) == 1)
    seen, unseen = sorted(alone, key=lambda i: i + 1 not in lines)
    entries = {name: {"detections": [points_of(rows[i]) for i in pair]} for name, pair in crowd.items()}
    entries[rows[seen]["filepath"]] = {"detections": [points_of(rows[unseen])]}
    small.outputs(tmp_path, "keypoint_estimation", entries)
    actual = {r["identity"]: r["m.PCK"] for r in people(drawn_mini(tmp_path, "keypoint_estimation"))}
    assert actual.pop(f"s{seen}") == 0.0
    assert set(actual.values()) == {1.0}


class Parts(Wrapper):
    """Answers once for every box it was given, as FHIBE's protocol asks; the probability says whose box it was."""

    def __init__(self):
        super().__init__(None)

    def __call__(self, batch):
        boxes = self.seen["img_filepath_gt_bboxes"]
        return [[{"Face": round(box[0] / 100, 2)} for box in boxes[path]] for path in batch]


@pytest.mark.parametrize("compat", ["default", "strict"])
@pytest.mark.parametrize("again", ["default", "strict"])
def test_a_wrapper_that_answers_what_it_was_given_keeps_everybody_apart(tmp_path, compat, again):
    rows = small.body(tmp_path, people=12, per_image=2)
    options = {"use_mini_dataset": True, "mini_dataset_size": 7, "metrics": {"ACC_DET": {"thresholds": [0.2]}}}
    model = Parts()
    first = evaluate(tmp_path, "body_parts_detection", model, compat=compat, **options)
    given_boxes = sum(map(len, model.seen["img_filepath_gt_bboxes"].values()))
    assert given_boxes == 7 if compat == "strict" else given_boxes > 7
    second = run(
        tmp_path,
        "body_parts_detection",
        model="w",
        compat=again,
        **options,
    )
    expected = {row["subject_id"]: float(row["person_bbox"][0] >= 20) for row in rows}
    for finished in (first, second):
        for row in people(finished):
            assert row["m.ACC_DET"] == expected[row["identity"]]


def test_published_outputs_of_a_draw_are_in_its_order(tmp_path):
    rows = small.body(tmp_path, people=12, per_image=2)
    drawn = mini(read_table(tmp_path, "fhibe_downsampled", "body_parts_detection", ("age",)), 7)
    entries: dict[str, dict[str, list]] = {}
    for line, key in zip(drawn.line, drawn.keys(), strict=True):
        entries.setdefault(key, {"detections": []})["detections"].append({"Face": line / 100})
    path = tmp_path / "results/mini/body_parts_detection/fhibe_downsampled/m/model_outputs.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(entries))
    finished = drawn_mini(tmp_path, "body_parts_detection", metrics={"ACC_DET": {"thresholds": [0.06]}})
    actual = {row["subject"]: row["m.ACC_DET"] for row in finished.scores().to_pylist()}
    assert actual == {str(line): float(line >= 6) for line in drawn.line}
    assert rows


@pytest.mark.parametrize("named", [[1], [1, 3], "1", [2, 2]])
def test_rows_that_do_not_name_the_people_are_refused(tmp_path, named):
    rows = small.body(tmp_path, people=2, per_image=2)
    entry = {"detections": [{"Face": 0.9}, {"Face": 0.8}], "rows": named}
    small.outputs(tmp_path, "body_parts_detection", {rows[0]["filepath"]: entry})
    with pytest.raises(InputError, match=r"main_0.png: rows .* do not name the rows \[1, 2\] of its 2 answers"):
        run(tmp_path, "body_parts_detection")


@pytest.mark.parametrize("size", ["20", 2.5, True])
def test_a_size_that_is_no_number_is_refused(tmp_path, size):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    with pytest.raises(InputError, match="expected a whole number"):
        drawn_mini(tmp_path, size=size)
    assert np.isfinite(size) if not isinstance(size, str) else True
