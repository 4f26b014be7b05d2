"""Saved predictions become a run without a model and without a decoded picture."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from countenance.answers import Boxes
from countenance.data import load_dataset
from countenance.errors import InputError
from countenance.run import evaluate
from countenance.testing import DiscDetector, write_small_dataset

TASK = "face_localization"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_small_dataset(tmp_path / "set", n=30)


def boxes(data: Path) -> list[dict[str, object]]:
    return [
        {
            "image": s.id,
            "score": 0.9,
            **dict(zip(("x0", "y0", "x1", "y1"), s.subjects[0].face_box.tolist(), strict=True)),
        }
        for s in load_dataset(data)
    ]


def test_every_form_of_a_table_gives_the_model_s_own_scores(tmp_path: Path, data: Path) -> None:
    scores = evaluate(DiscDetector(), TASK, data, out=tmp_path / "model").scores()
    scores = scores.select([name for name in scores.column_names if not name.startswith("img.")])  # no picture is read
    frame = pd.DataFrame(boxes(data))
    frame.to_csv(tmp_path / "p.csv", index=False)
    frame.to_parquet(tmp_path / "p.parquet")
    coco = [
        {
            "image_id": r["image"],
            "category_id": 1,
            "score": 0.9,
            "bbox": [r["x0"], r["y0"], r["x1"] - r["x0"], r["y1"] - r["y0"]],
        }
        for r in boxes(data)
    ]
    (tmp_path / "p.json").write_text(json.dumps(coco))
    columns = {name: list(frame[name]) for name in frame}
    files = [f"predictions:{tmp_path / 'p.csv'}", tmp_path / "p.parquet", str(tmp_path / "p.json")]
    models = [*files, frame, columns, pa.Table.from_pandas(frame)]
    for i, model in enumerate(models):
        run = evaluate(model, TASK, data, out=tmp_path / f"run{i}")
        assert run.scores().equals(scores) and run.manifest.model.hashed, i


def test_no_picture_is_opened(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame(boxes(data))
    dataset = load_dataset(data)
    dataset.fingerprint = lambda: "known"  # type: ignore[method-assign]
    monkeypatch.setattr("countenance.data.image.decode", lambda *_: pytest.fail("a picture was decoded"))
    assert evaluate(table, TASK, dataset, out=tmp_path / "run").manifest.failed == 0


def test_names_are_matched_without_folders_and_endings(tmp_path: Path, data: Path) -> None:
    rows = [row | {"image": f"C:\\photos\\{row['image']}.jpeg"} for row in boxes(data)]
    run = evaluate(pd.DataFrame(rows), TASK, data, out=tmp_path / "run")
    assert set(run.scores()["m.recall@0.5"].drop_null().to_pylist()) == {1.0}


def test_images_without_a_box_are_counted_and_strangers_are_named(tmp_path: Path, data: Path) -> None:
    rows = [*boxes(data)[:20], boxes(data)[0] | {"image": "stranger"}]
    run = evaluate(pd.DataFrame(rows), TASK, data, out=tmp_path / "run")
    assert "names 1 image that the dataset does not have (stranger)" in run.manifest.notes[0]
    assert "10 of 30 images have no row and count as images without boxes" in run.manifest.notes[1]
    assert sum(run.scores()["m.recall@0.5"].drop_null().to_pylist()) == 20


def test_an_image_that_was_looked_at_without_success_may_say_so(tmp_path: Path, data: Path) -> None:
    rows = [*boxes(data)[:29], {"image": "s00029"}]
    run = evaluate(pd.DataFrame(rows), TASK, data, out=tmp_path / "run")
    assert run.manifest.notes == [] and len(run.answers()["s00029"]) == 0


def test_labels_and_embeddings(tmp_path: Path, data: Path) -> None:
    people = load_dataset(data)
    labels = pd.DataFrame([{"file": s.id, "gender": s.subjects[0].attributes["gender"]} for s in people][:28])
    run = evaluate(labels, "attributes", data, out=tmp_path / "labels")
    assert set(run.scores()["m.correct.gender"].to_pylist()) == {1.0}
    assert run.manifest.failed == 2 and "no saved answer" in run.failures()["reason"][0].as_py()
    vectors = [{"image": s.id, "vector": [float(int(s.id[1:]) // 2), 1.0]} for s in people]
    pq.write_table(pa.Table.from_pylist(vectors), tmp_path / "v.parquet")
    wide = pd.DataFrame([{"image": r["image"], "e0": r["vector"][0], "e1": r["vector"][1]} for r in vectors])
    wide.to_csv(tmp_path / "v.csv", index=False)
    found = [
        evaluate(tmp_path / name, "face_verification", data, out=tmp_path / f"run-{name}")
        for name in ("v.parquet", "v.csv")
    ]
    assert found[0].scores().equals(found[1].scores()) and found[0].results() == found[1].results()


def test_a_model_may_ask_for_the_ids_of_the_images(tmp_path: Path, data: Path) -> None:
    seen: list[str] = []

    def detect(images, ids):  # type: ignore[no-untyped-def]
        seen.extend(ids)
        return [Boxes([[0, 0, 1, 1]]) for _ in images]

    evaluate(detect, TASK, data, out=tmp_path / "run")
    assert seen == [s.id for s in load_dataset(data)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "a,b\n1,2\n", "no column that names the image"),
        ("p.csv", "image,x0,y0\ns00000,1,2\n", r"no columns x0, y0, x1, y1 \(or x, y, w, h\)"),
        ("p.csv", "image,x0,y0,x1,y1\ns00000,1,2,3,wide\n", "line 2: y1 is 'wide', expected a number"),
        ("p.csv", "image,x0,y0,x1,y1\ns00000,1,2,3,inf\n", "expected a finite number"),
        ("p.csv", "image,x0,y0,x1,y1\nzebra,1,2,3,4\n", "names 1 image that the dataset does not have"),
        ("p.csv", "image,x0,y0,x1,y1\n", "holds no predictions"),
        ("p.csv", "", "the file is empty"),
        ("p.parquet", "no parquet", "not a readable Parquet file"),
        ("p.json", "{}", "expected a list of results, found dict"),
        ("p.json", '[{"image_id": 1, "bbox": [1, 2, 3]}]', "names 1 image that the dataset does not have"),
        ("p.json", '[{"image_id": "s00001", "bbox": [1, 2, 3]}]', r"\[0\]: bbox is \[1, 2, 3\], expected 4 numbers"),
        ("p.json", '[{"image_id": "s00001", "bbox": [1, 2, 3, 4], "score": "x"}]', "score is 'x', expected a number"),
        ("p.json", '[{"image_id": "s00001"', "not JSON"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    tmp_path: Path, data: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        evaluate(f"predictions:{tmp_path / name}", TASK, data, out=tmp_path / "run")


@pytest.mark.parametrize("size", [[64], [64, 64, 1], [64, 0], [64.5, 64], "64"])
def test_the_size_of_a_mask_is_two_whole_numbers(tmp_path: Path, data: Path, size: object) -> None:
    row = {"image_id": "s00001", "category_id": 1, "score": 1, "segmentation": {"size": size, "counts": "0"}}
    (tmp_path / "p.json").write_text(json.dumps([row]))
    with pytest.raises(InputError, match=r"expected \[height, width\]|is not a run-length mask"):
        evaluate(tmp_path / "p.json", "person_parsing", data, out=tmp_path / "run")
