"""Default mode: where ours deliberately differs from the original, and every task from stored outputs."""

import json

import numpy as np
import pytest

from countenance.data.adapters.fhibe.attributes import label
from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.suites.fhibe import evaluate_task, read_dataset
from countenance.suites.fhibe.published import all_groups
from countenance.tasks.results import Number

from . import small
from .test_bad_input import run
from .test_functions import table_of


def scores(finished, metric):
    """The scores of people, in the order of the table; `false_positives`: those of images."""
    records = {record.published: record.name for record in finished.manifest.metrics}
    rows = finished.scores().to_pylist()
    if metric == "false_positives":
        return [row["m.false_positives"] for row in rows if row["subject"] is None]
    people = sorted((row for row in rows if row["subject"] is not None), key=lambda row: int(row["subject"]))
    return [row.get(f"m.{records.get(metric, metric)}") for row in people]


def numbers(finished):
    """The numbers of everybody, by name."""
    return {r.name: r for r in finished.results() if isinstance(r, Number) and r.group is None}


def test_an_overlap_of_60_passes_60(tmp_path):
    rows = small.body(tmp_path, people=2, person_bbox=lambda i: [0, 0, 10, 50])
    entries = {row["filepath"]: {"detections": [[0, 0, 10, 30]], "scores": [1]} for row in rows}
    small.outputs(tmp_path, "person_localization", entries)
    assert scores(run(tmp_path), "AR_IOU") == [0.3, 0.3]
    assert scores(run(tmp_path, compat="strict"), "AR_IOU") == [0.2, 0.2]


def test_false_alarms_are_not_free(tmp_path):
    rows = small.body(tmp_path)
    entries = small.perfect_boxes(rows)
    for entry in entries.values():
        entry["detections"] += [[50, 50, 60, 60], [0, 0, 5, 5]]
        entry["scores"] += [0.95, 0.2]
    small.outputs(tmp_path, "person_localization", entries)
    finished = run(tmp_path)
    assert scores(finished, "AR_IOU") == [1.0] * 6
    assert scores(finished, "false_positives") == [2.0] * 6
    precision = numbers(finished)["average_precision@0.5"]
    assert precision.published == "AP@0.5" and precision.value < 0.6
    assert precision.low <= precision.value <= precision.high


def points_of(row):
    return [[x, y] for x, y, _ in row["keypoints"].values()]


def test_keypoints_pair_by_similarity_not_by_order(tmp_path):
    rows = small.body(tmp_path, people=2, per_image=2)
    people = [points_of(row) for row in rows]
    small.outputs(tmp_path, "keypoint_estimation", {rows[0]["filepath"]: {"detections": people[::-1]}})
    assert scores(run(tmp_path, "keypoint_estimation"), "PCK") == [1.0, 1.0]
    assert max(scores(run(tmp_path, "keypoint_estimation", compat="strict"), "PCK")) < 1.0


def test_a_person_without_an_answer_is_a_miss_not_a_copy(tmp_path):
    rows = small.body(tmp_path, people=2, per_image=2)
    small.outputs(tmp_path, "keypoint_estimation", {rows[0]["filepath"]: {"detections": [points_of(rows[1])]}})
    assert scores(run(tmp_path, "keypoint_estimation"), "PCK") == [0.0, 1.0]


def test_nobody_visible_is_left_out_of_both_metrics(tmp_path):
    hidden = {f"{k}. {name}": [0, 0, 0] for k, name in enumerate(small.KEYPOINTS)}
    rows = small.body(tmp_path, people=2)
    rows[0]["keypoints"] = hidden
    small.write(tmp_path, "fhibe_downsampled", rows)
    entries = {row["filepath"]: {"detections": [[[1.0, 2.0]] * 17]} for row in rows}
    small.outputs(tmp_path, "keypoint_estimation", entries)
    finished = run(tmp_path, "keypoint_estimation")
    assert scores(finished, "PCK")[0] is None
    assert scores(finished, "AR_OKS")[0] is None
    assert scores(run(tmp_path, "keypoint_estimation", compat="strict"), "AR_OKS")[0] == 0.0


def test_parts_are_also_averaged(tmp_path):
    rows = small.body(tmp_path, people=2)
    chances = {"Face": 0.96, "Hand": 0.1}
    entries = {row["filepath"]: {"detections": [chances]} for row in rows}
    small.outputs(tmp_path, "body_parts_detection", entries)
    finished = run(tmp_path, "body_parts_detection", fhibe_layout=True)
    assert scores(finished, "AR_DET Face") == [1.0, 1.0]
    assert scores(finished, "AR_DET Hand") == [None, None]  # no knuckle, no glove: nothing was to be found
    assert scores(finished, "AR_DET") == [1.0, 1.0]
    assert scores(finished, "ACC_DET") == [1.0, 1.0]
    file = finished.path.parent / "intersectional_results_ACC_DET.json"
    assert json.loads(file.read_text())["['pronoun']"]["['0. She/her/hers']"]["All"]["ACC_DET"] == 1.0


def test_a_draw_keeps_each_person_with_their_own_parts(tmp_path):
    rows = small.body(tmp_path, people=12, per_image=2)
    entries = {}
    for i, row in enumerate(rows):
        people = entries.setdefault(row["filepath"], {"detections": []})["detections"]
        people.append({"Face": i / 100})
    small.outputs(tmp_path, "body_parts_detection", entries)
    finished = run(
        tmp_path,
        "body_parts_detection",
        use_mini_dataset=True,
        mini_dataset_size=7,
        metrics={"ACC_DET": {"thresholds": [0.05]}},
    )
    actual = {row["identity"]: row["m.ACC_DET"] for row in finished.scores().to_pylist()}
    assert actual == {name: float(int(name[1:]) >= 5) for name in actual}


def test_ears_become_skin_on_request(tmp_path):
    rows = small.faces(tmp_path, people=1, each=1)
    labels = np.zeros((64, 64), np.uint8)
    labels[10:50, 10:50] = 8
    labels[20:30, 20:30] = 2
    entry = {"detections_rle": {str(v): small.rle(labels == v) for v in np.unique(labels)}}
    small.outputs(tmp_path, "face_parsing", {rows[0]["filepath"]: entry})
    assert scores(run(tmp_path, "face_parsing"), "F1")[0] == pytest.approx(2 / 3)
    assert scores(run(tmp_path, "face_parsing", map_ears_to_skin=True), "F1") == [1.0]


def embeddings(rows, spread=0.2):
    rng = np.random.default_rng(1)
    centre = {row["subject_id"]: rng.normal(size=16) for row in rows}
    out = {}
    for row in rows:
        vector = centre[row["subject_id"]] + spread * rng.normal(size=16)
        out[row["filepath"]] = {"detections": (vector / np.linalg.norm(vector)).tolist()}
    return out


def test_verification_says_when_the_evidence_is_too_thin(tmp_path):
    rows = small.faces(tmp_path, people=6, each=4)
    small.outputs(tmp_path, "face_verification", embeddings(rows))
    finished = run(tmp_path, "face_verification", fhibe_layout=True)
    file = finished.path.parent / "intersectional_results_VAL.json"
    entry = json.loads(file.read_text())["['pronoun']"]["['0. She/her/hers']"]
    assert entry["VAL"] == 1.0
    assert entry["Evidence"] == "insufficient evidence"
    assert entry["Identities"] == 3
    names = set(numbers(finished))
    assert {"VAL", "EER"} <= names
    assert set(scores(finished, "genuine_accepted")) == {1.0}
    assert set(scores(finished, "impostor_accepted")) == {0.0}


def test_pictures_are_measured_and_absent_weights_skip_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("countenance.models.zoo.lpips_weights._installed", lambda: None)
    rows = small.faces(tmp_path, people=2, each=2)
    folder = tmp_path / "results" / "face_encoding" / "fhibe_face_crop_align" / "m" / "face_encodings"
    folder.mkdir(parents=True)
    for row in rows[:-1]:
        source = tmp_path / row["filepath"]
        (folder / source.name).write_bytes(source.read_bytes())
    finished = run(tmp_path, "face_encoding")
    assert scores(finished, "PSNR") == [80.0, 80.0, 80.0]
    assert finished.failures()["reason"].to_pylist() == ["no saved answer in face_encodings"]
    assert scores(finished, "SSIM")[:3] == pytest.approx([1, 1, 1])
    assert "nothing is downloaded" in finished.manifest.about["skipped"]["LPIPS"]
    assert "CURRICULAR_FACE" in finished.manifest.about["skipped"]
    assert len(finished.failures()) == 1


def test_lpips_and_face_similarity_from_given_models(tmp_path):
    from countenance.metrics.perceptual import weight_shapes

    rng = np.random.default_rng(0)
    weights = {n: np.abs(rng.normal(0, 0.1, s)).astype(np.float32) for n, s in weight_shapes().items()}
    np.savez(tmp_path / "w.npz", **weights)
    rows = small.faces(tmp_path, people=1, each=2)
    entries = {}
    folder = tmp_path / "results" / "face_super_resolution" / "fhibe_face_crop_align" / "m"
    folder.mkdir(parents=True)
    for i, row in enumerate(rows):
        pixels = np.full((64, 64, 3), 128, np.uint8)
        source = tmp_path / row["filepath"]
        (folder / f"super_{i}.png").write_bytes(source.read_bytes() if i == 0 else encode_png(pixels))
        entries[row["filepath"]] = {"super_res_filename": str(folder / f"super_{i}.png")}
    small.outputs(tmp_path, "face_super_resolution", entries)
    finished = run(tmp_path, "face_super_resolution", lpips_weights=tmp_path / "w.npz")
    lpips = scores(finished, "LPIPS")
    assert lpips[0] == 0.0
    assert lpips[1] > 0.01

    folder = tmp_path / "results" / "face_encoding" / "fhibe_face_crop_align" / "m" / "face_encodings"
    folder.mkdir(parents=True)
    for row in rows:
        source = tmp_path / row["filepath"]
        (folder / source.name).write_bytes(source.read_bytes())
    embed = lambda images: [image.mean(axis=(0, 1)) for image in images]  # noqa: E731
    finished = run(tmp_path, "face_encoding", metrics=["CURRICULAR_FACE"], face_embedding=embed)
    assert scores(finished, "CURRICULAR_FACE") == pytest.approx([1.0, 1.0])


def test_membership_is_exact_and_regions_are_added():
    table = table_of({"ancestry": ["['11. Asia']", "['1. Asia']", "['5. Western Africa']", ""]})
    values = label(table, "ancestry").rows
    assert values[0] == ("11. Asia",)
    assert "11. Asia" not in values[1]
    assert values[2] == ("0. Africa", "5. Western Africa")
    assert values[3] == ("(unknown)",)
    assert label(table, "ancestry", "strict").rows[0] == ("1. Asia", "11. Asia")


def test_groups_cover_every_row_of_every_value():
    table = table_of(
        {"pronoun": ["['0. She/her/hers', '2. They/them/their']", "['1. He/him/his']"], "age": ["20", "70"]}
    )
    groups = all_groups([label(table, "pronoun"), label(table, "age")])
    actual = {(g.attributes_key, g.values_key): g.rows.tolist() for g in groups}
    assert actual["['pronoun', 'age']", "['2. They/them/their', '[18, 30)']"] == [0]
    assert actual["['age']", "['[60, +]']"] == [1]
    assert len(groups) == 3 + 2 + 3
    assert len(all_groups([label(table, "pronoun"), label(table, "age")], depth=1)) == 5


@pytest.mark.parametrize("compat", ["default", "strict"])
def test_an_attribute_of_which_nobody_has_a_value(tmp_path, compat):
    rows = small.body(tmp_path, ancestry=lambda i: [])
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path, compat=compat, fhibe_layout=True, attributes=["ancestry", "age"])
    table = json.loads((finished.path.parent / "intersectional_results_AR_IOU.json").read_text())
    assert len(table["['age']"]) == 5
    assert list(table.get("['ancestry']", {})) == (["['(unknown)']"] if compat == "default" else [])


class Wrapper:
    """The original's protocol for boxes: batches from data_preprocessor, dicts from __call__."""

    map_ears_to_skin = True

    def __init__(self, answers):
        self.answers = answers
        self.seen = {}

    def data_preprocessor(self, img_filepaths, **kwargs):
        self.seen = kwargs
        for a in range(0, len(img_filepaths), 2):
            yield img_filepaths[a : a + 2]

    def __call__(self, batch):
        return [self.answers(path) for path in batch]


def evaluate(root, task, model, **options):
    face = task.startswith("face_") and task != "face_localization"
    dataset = "fhibe_face_crop_align" if face else "fhibe"
    return evaluate_task(root, dataset, model, "w", task, results_rootdir=root / "results", **options)


def test_a_wrapper_of_the_original_runs_unchanged_on_body_tasks(tmp_path):
    rows = small.body(tmp_path)
    by_path = {f"{tmp_path}/{row['filepath']}": row for row in rows}

    def person(path):
        x, y, w, h = by_path[path]["person_bbox"]
        return {"bboxes": [[x, y, x + w, y + h], [0, 0, 9, 9]], "scores": [0.9, 0.8], "labels": [0, 7]}

    finished = evaluate(tmp_path, "person_localization", Wrapper(person))
    assert scores(finished, "AR_IOU") == [1.0] * 6
    stored = json.loads((finished.path.parent / "model_outputs.json").read_text())
    assert all(len(entry["detections"]) == 1 for entry in stored.values())  # label 7 is nobody

    def mask(path):
        full = np.zeros((64, 64), bool)
        x, y, w, h = by_path[path]["person_bbox"]
        full[y : y + h + 1, x : x + w + 1] = True
        return {"masks": [full], "scores": [0.9], "labels": [0]}

    assert scores(evaluate(tmp_path, "person_parsing", Wrapper(mask)), "AR_MASK") == [1.0] * 6

    def keypoints(path):
        return {"keypoints": [points_of(by_path[path])], "scores": [[[1.0]] * 17]}

    model = Wrapper(keypoints)
    assert scores(evaluate(tmp_path, "keypoint_estimation", model), "PCK") == [1.0] * 6
    assert len(model.seen["img_filepath_gt_bboxes"]) == 6
    assert scores(evaluate(tmp_path, "body_parts_detection", Wrapper(lambda p: [{"Face": 1.0}])), "AR_DET") == [1.0] * 6
    nothing = Wrapper(lambda p: {"detections": [], "scores": []})
    assert scores(evaluate(tmp_path, "face_localization", nothing), "AR_IOU") == [0.0] * 6


@pytest.mark.parametrize("compat", ["default", "strict"])
@pytest.mark.parametrize("stored", [False, True])
def test_label_maps_of_another_size_are_refused_as_the_original_cannot_compare_them(tmp_path, compat, stored):
    rows = small.faces(tmp_path)
    flat = np.zeros((59, 59), np.uint8)  # the original stops in numpy: 59 × 59 and 64 × 64 do not fit together
    words = "a label map of 59×59, the image is 64×64; scale it to the image without mixing labels"
    with pytest.raises(InputError, match=words):
        if stored:
            entry = {"detections_rle": {"0": small.rle(flat == 0)}}
            small.outputs(tmp_path, "face_parsing", {row["filepath"]: entry for row in rows})
            run(tmp_path, "face_parsing", compat=compat)
        else:
            evaluate(tmp_path, "face_parsing", Wrapper(lambda p: {"detections": flat.copy()}), compat=compat)


def test_a_wrapper_of_the_original_runs_unchanged_on_face_tasks(tmp_path):
    rows = small.faces(tmp_path)
    labels = np.zeros((64, 64), np.uint8)
    labels[10:50, 10:50] = 9  # an ear, to be skin
    labels[20:30, 20:30] = 2
    finished = evaluate(tmp_path, "face_parsing", Wrapper(lambda p: {"detections": labels.copy()}))
    assert scores(finished, "F1") == [1.0] * len(rows)

    class Faces(Wrapper):
        def align_faces(self, img_filepaths, aligned_img_filepaths, batch_size, num_workers, cuda):
            assert all(path.startswith(f"{tmp_path}/data/processed/") for path in aligned_img_filepaths)
            return [not path.endswith("0_0.png") for path in img_filepaths]

        def data_preprocessor(self, img_filepaths, **kwargs):
            yield kwargs["success_aligned_img_filepaths"]

        def save_encoding(self, encoding, filename):
            from pathlib import Path

            Path(filename).write_bytes(encoding)

        def save_array(self, array, filename):
            from pathlib import Path

            Path(filename).write_bytes(encode_png(array))

    vectors = embeddings(rows)

    def embed(path):
        return {"embeddings": vectors[path.removeprefix(f"{tmp_path}/data/processed/")]["detections"]}

    finished = evaluate(tmp_path, "face_verification", Faces(embed))
    assert scores(finished, "enrolled") == [0.0] + [1.0] * (len(rows) - 1)

    class Pictures(Faces):
        data_preprocessor = Wrapper.data_preprocessor

    def same(path):
        from pathlib import Path

        return {"encoding": Path(path).read_bytes()}

    finished = evaluate(tmp_path, "face_encoding", Pictures(same), metrics=["PSNR"])
    assert set(scores(finished, "PSNR")) == {80.0}

    def sharp(path):
        from pathlib import Path

        from countenance.data import LazyImage

        return LazyImage(Path(path)).load()

    finished = evaluate(tmp_path, "face_super_resolution", Pictures(sharp), metrics=["PSNR", "SSIM"])
    assert set(scores(finished, "PSNR")) == {80.0}


def test_a_model_of_ours_runs_too(tmp_path):
    from countenance import Boxes, LabelMap, Picture

    rows = small.faces(tmp_path)
    finished = evaluate(tmp_path, "face_encoding", lambda images: [Picture(i) for i in images], metrics=["PSNR"])
    assert set(scores(finished, "PSNR")) == {80.0}
    finished = evaluate(
        tmp_path, "face_super_resolution", lambda images: [Picture(i) for i in images], metrics=["PSNR"]
    )
    assert set(scores(finished, "PSNR")) == {80.0}
    flat = LabelMap(np.zeros((64, 64), np.uint8))
    assert len(scores(evaluate(tmp_path, "face_parsing", lambda images: [flat for _ in images]), "F1")) == len(rows)
    body = small.body(tmp_path)
    for row in body:
        path = tmp_path / row["filepath"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_png(np.zeros((64, 64, 3), np.uint8)))
    whole = Boxes([[4, 10, 19, 50]], [0.5])
    assert (
        scores(evaluate(tmp_path, "person_localization", lambda images: [whole for _ in images]), "AR_IOU") == [1.0] * 6
    )


def test_the_dataset_reads_as_samples(tmp_path):
    small.body(tmp_path, people=4, per_image=2)
    dataset = read_dataset(tmp_path, "fhibe_downsampled", "keypoint_estimation")
    assert len(dataset) == 2
    first = dataset[0].subjects[0]
    assert first.keypoints is not None
    assert first.keypoints.shape == (17, 3)
    assert first.mask is not None
    assert first.mask.decode().sum() == 16 * 41
    assert first.attributes["pronoun"] == ("1. He/him/his",)
    assert dataset.card.real_people
    assert "Face" in read_dataset(tmp_path, "fhibe_downsampled", "body_parts_detection")[0].subjects[0].body_parts
    small.faces(tmp_path)
    parts = read_dataset(tmp_path, "fhibe_face_crop_align", "face_parsing")[0].subjects[0].face_parts
    assert set(parts) == {"skin", "nose"}
