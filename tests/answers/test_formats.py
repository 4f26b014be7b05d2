"""Saved predictions as people have them: plain tables, COCO results, and names that differ from the dataset's."""

import dataclasses
import inspect
import json

import numpy as np
import pyarrow as pa
import pytest

from countenance import answers as package
from countenance.answers import Age, Boxes, Embedding, Keypoints, Labels, Masks
from countenance.answers.formats import PredictionRequest, base, read_predictions
from countenance.answers.formats.coco import write_coco_results
from countenance.data.names import ImageNames
from countenance.errors import InputError

IDS = ["a/1.jpg", "a/2.jpg", "b/3.jpg"]


def read(source, kind, ids=IDS, **options):
    return read_predictions(source, PredictionRequest(kind, ImageNames(list(ids)), options))


def written(tmp_path, text, name="p.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


# JSON by image, and folders of text files

BOX = [1, 2, 5, 8]
SIZED = {"x": 1, "y": 2, "width": 4, "height": 6}


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ({"1.jpg": [{"box": BOX, "score": 0.5, "label": "face"}], "2.jpg": []}, "xyxy"),
        ({"1.jpg": [{"bbox": SIZED, "confidence": 0.5, "class": "face"}], "2.jpg": []}, "xywh"),
        ({"1.jpg": {"boxes": [BOX], "scores": [0.5], "labels": ["face"]}, "2.jpg": {"boxes": []}}, "xyxy"),
        ([{"image": "/x/a/1.jpg", "detections": [{"xyxy": BOX, "conf": 0.5, "class_name": "face"}]}], "xyxy"),
        ([{"file_name": "1.jpg", "faces": [{"left": 1, "top": 2, "right": 5, "bottom": 8, "score": 0.5}]}], "xyxy"),
        ({"1.jpg": [[*BOX, 0.5]]}, "xyxy"),
        ({"results": [{"image": "1.jpg", "boxes": [BOX], "scores": [0.5]}], "model": "net"}, "xyxy"),
    ],
)
def test_boxes_of_json_by_image(tmp_path, content, form):
    result = read(written(tmp_path, json.dumps(content), "p.json"), Boxes)
    numbers = [1, 2, 4, 6] if form == "xywh" else BOX
    assert (result.format, result.reading.form) == ("table", form)
    assert result.by_id["a/1.jpg"].xyxy.tolist() == [numbers] and result.by_id["a/1.jpg"].scores.tolist() == [0.5]
    if isinstance(content, list):
        lines = written(tmp_path, "\n".join(map(json.dumps, content)), "p.jsonl")
        assert read(lines, Boxes).by_id["a/1.jpg"].xyxy.tolist() == [numbers]


def test_json_without_boxes_by_image_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"p\.jsonl: not JSON"):
        read(written(tmp_path, "x", "p.jsonl"), Boxes)
    with pytest.raises(InputError, match="expected boxes by image, such as"):
        read(written(tmp_path, '["box"]', "p.json"), Boxes)
    with pytest.raises(InputError, match=r"no column that names the image"):
        read(written(tmp_path, '[{"box": [1, 2, 3, 4]}]', "p.json"), Boxes)


def test_a_folder_of_text_files_as_yolo_saves_them(tmp_path):
    folder = tmp_path / "labels"
    folder.mkdir()
    written(folder, "0 0.5 0.5 0.2 0.4 0.9\n\n0 0.1 0.1 0.1 0.1\n", "1.txt")
    written(folder, "", "3.txt")
    result = read(folder, Boxes)
    assert (result.reading.form, result.reading.units) == ("cxcywh", "rel")
    assert result.by_id["a/1.jpg"].scores.tolist() == [0.9, 1.0] and len(result.by_id["b/3.jpg"]) == 0
    assert "1 of 3 images have no file" in (result.absent or "")
    written(folder, "0 0.5 0.5\n", "2.txt")
    with pytest.raises(InputError, match=r"2\.txt line 1: 3 fields, expected class cx cy w h score"):
        read(folder, Boxes)


# plain tables


def test_a_table_as_a_spreadsheet_saves_it(tmp_path):
    path = written(tmp_path, "Image Name;X1;Y1;X2;Y2;Conf\n1;1,5;2;3;4;0,25\n")
    boxes = read(path, Boxes).by_id["a/1.jpg"]
    assert boxes.xyxy.tolist() == [[1.5, 2, 3, 4]] and boxes.scores.tolist() == [0.25]


@pytest.mark.parametrize("header", ["x0,y0,x1,y1", "X0, Y0 ,x1,Y1", "xmin,ymin,xmax,ymax"])
@pytest.mark.parametrize("image", ["image", "File", "image_id", "photo"])
def test_boxes_of_a_table(tmp_path, header, image):
    path = written(tmp_path, f"{image},{header},score,label\na/1.jpg,1,2,3,4,.5,mask\n1,5,6,7,8,,no\na/2.jpg,,,,,,\n")
    found = read(path, Boxes)
    assert found.by_id["a/1.jpg"].xyxy.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert found.by_id["a/1.jpg"].scores.tolist() == [0.5, 1] and found.by_id["a/1.jpg"].labels == ("mask", "no")
    assert found.by_id["a/2.jpg"].xyxy.shape == (0, 4) and found.reading.form == "xyxy"
    assert found.absent.endswith("1 of 3 images have no row and count as images without boxes")
    assert found.empty().xyxy.shape == (0, 4) and found.format == "table"
    assert [note.partition(": ")[2] for note in found.notes] == [
        "1 of 2 boxes has no score and counts as certain (score 1)"
    ]


@pytest.mark.parametrize("header", ["x,y,w,h", "x,y,width,height"])
def test_boxes_by_their_sizes_are_read_so(tmp_path, header):
    found = read(written(tmp_path, f"image,{header}\n" + "".join(f"{name},1,2,3,4\n" for name in IDS)), Boxes)
    assert found.reading.form == "xywh" and found.absent is None and found.by_id["b/3.jpg"].labels is None


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("picture,x0,y0,x1,y1\n1,1,2,3,4\n", Boxes, "no column that names the image .*; it has picture, x0"),
        ("image,x0,y0\n1,1,2\n", Boxes, r"p\.csv: no columns x0, y0, x1, y1 \(or x, y, w, h\); it has image, x0, y0"),
        ("image,x0,y0,x1,y1\n1,1,2,3,\n", Boxes, "line 2: y1 is '', expected a number"),
        ("image,x0,y0,x1,y1\n1,1,2,3,inf\n", Boxes, "line 2: y1 is 'inf', expected a finite number"),
        ("image,x0,y0,x1,y1,score\n1,1,2,3,4,high\n", Boxes, "line 2: score is 'high'"),
        ("image,x0,y0,x1,y1\n9,1,2,3,4\n", Boxes, "names 1 image that the dataset does not have"),
        ("image,x0,y0,x1,y1\n", Boxes, "holds no predictions"),
        ("image,gender\n1,f\n1,m\n", Labels, "line 3: names '1' a second time; expected one row for each image"),
        ("image,e0\n1,1\na/1.jpg,1\n", Embedding, "line 3: names 'a/1.jpg' a second time"),
        ("image,age\n1,1\n1,1\n", Age, "line 3: names '1' a second time"),
        ("image,vektor\n1,1\n", Embedding, r"line 2: no column vector and no columns e0, e1, ….*it has image, vektor"),
        ("image,vector\n1,1 x\n", Embedding, "line 2: vector is 'x'"),
        ("image,old\n1,1\n", Age, "line 2: no column age or years, and no columns p0, p1"),
        ("image,p0,p2\n1,.5,.5\n", Age, "line 2: no column age or years, and no columns p0, p1"),
        ("image,p0,p1\n1,.5,.6\n", Age, "line 2: a distribution over years"),
        ("image,x0\n1,1\n", Masks, "table holds boxes, labels, embedding, age, scalars; the task needs masks"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_with_its_line(tmp_path, text, kind, message):
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, text), kind)


def test_labels_of_a_table(tmp_path):
    found = read(written(tmp_path, "image,gender,tone\n1, f ,\nb/3.jpg,m,2\n"), Labels)
    assert found.by_id == {"a/1.jpg": Labels({"gender": "f"}), "b/3.jpg": Labels({"gender": "m", "tone": "2"})}
    assert found.absent is None and found.empty is None  # an image without labels is a failed image


@pytest.mark.parametrize(
    ("text", "vectors"),
    [
        ("image,e1,e0,e10,note\n1,2,1,3,x\n2,,,,\n", [[1, 2, 3], None]),
        ("image,0,1\n1,1,2\n2,,\n", [[1, 2], None]),
        ('image,vector\n1,"[1, 2.5]"\n2,3 4\n', [[1, 2.5], [3, 4]]),
    ],
)
def test_embeddings_of_a_table(tmp_path, text, vectors):
    found = read(written(tmp_path, text), Embedding)
    shown = [None if one.vector is None else one.vector.tolist() for one in found.by_id.values()]
    assert shown == vectors and found.empty().vector is None
    assert "1 of 3 images have no row and count as failures to enrol" in found.absent
    assert read(written(tmp_path, text), Embedding, IDS[:2]).absent is None


def test_one_missing_number_of_an_embedding_is_an_error(tmp_path):
    with pytest.raises(InputError, match="line 2: e1 is ''"):
        read(written(tmp_path, "image,e0,e1\n1,1,\n"), Embedding)


@pytest.mark.parametrize(("cell", "years"), [("31.5", 31.5), ("", None), ("nan", None)])
@pytest.mark.parametrize("column", ["age", "Years", "predicted_age"])
def test_ages_of_a_table(cell, years, column):
    value = float(cell) if cell == "nan" else cell
    assert read({"image": ["1"], column: [value]}, Age).by_id == {"a/1.jpg": Age(years)}


def test_ages_as_a_distribution(tmp_path):
    found = read(written(tmp_path, "image,p1,p0,P2\n1,.25,.25,.5\n"), Age).by_id["a/1.jpg"]
    assert found.years == 1.25 and found.probabilities.tolist() == [0.25, 0.25, 0.5]


def test_tables_of_a_program():
    columns = {"image": ["1", "2"], "x0": [1, None], "y0": [2, None], "x1": [3, None], "y1": [4, float("nan")]}
    pandas = pytest.importorskip("pandas")
    for source in (columns, pa.table(columns), pandas.DataFrame(columns)):
        found = read(source, Boxes)
        assert [len(boxes) for boxes in found.by_id.values()] == [1, 0] and found.place == "predictions"
    assert read(pa.table({"image": ["1"], "vector": [[1.0, 2.0]]}), Embedding).by_id["a/1.jpg"].vector.tolist() == [
        1,
        2,
    ]
    with pytest.raises(InputError, match="columns of different lengths"):
        read({"image": ["1"], "x0": []}, Boxes)
    with pytest.raises(InputError, match="predictions are a int"):
        read(7, Boxes)
    for empty in ({"image": [], "age": []}, pandas.DataFrame({"image": [], "age": []})):
        with pytest.raises(InputError, match="holds no predictions"):
            read(empty, Age)
    with pytest.raises(InputError, match="row 2: x0 is 'a'"):
        read({"image": ["1", "1"], "x0": [1, "a"], "y0": [1, 1], "x1": [2, 2], "y1": [2, 2]}, Boxes)


def test_a_parquet_file_is_read_and_a_damaged_one_refused(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"image": ["1"], "age": [3.0]}), tmp_path / "p.parquet")
    assert read(tmp_path / "p.parquet", Age).by_id == {"a/1.jpg": Age(3.0)}
    (tmp_path / "p.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read(tmp_path / "p.parquet", Age)


# names


def test_names_are_found_in_every_way_that_means_one_image():
    names = ImageNames([*IDS, "b/1.png", "c/3.jpg"], {"7": "a/2.jpg"})
    for name, found in {
        "a/1.jpg": "a/1.jpg",
        "7": "a/2.jpg",
        "2": "a/2.jpg",
        "a/2": "a/2.jpg",
        "C:\\x\\a\\2.jpg": "a/2.jpg",
        "1.jpg": "a/1.jpg",
        "1.png": "b/1.png",
        "1": None,
        "3.jpg": None,
        "x/b/3.jpeg": "b/3.jpg",
        "": None,
    }.items():
        assert names.find(name) == found, name
    assert names.other_folders("p") is None


def test_names_in_other_folders_are_told(tmp_path):
    names = ImageNames(list(IDS))
    assert [names.find(name) for name in ("z/1.jpg", "z/b/3.jpg", "y/2")] == ["a/1.jpg", "b/3.jpg", "a/2.jpg"]
    sentence = "p: 2 images have another folder than in the dataset (z/1.jpg was taken for a/1.jpg)"
    assert names.other_folders("p") == sentence


def test_two_names_for_one_image_are_refused():
    names = ImageNames(list(IDS))
    names.find("y/1.jpg"), names.find("z/1.jpg")
    with pytest.raises(InputError, match=r"p: y/1\.jpg and z/1\.jpg can both only mean a/1\.jpg"):
        names.other_folders("p")


@pytest.mark.parametrize(
    ("lost", "shown"), [("x", "1 image that"), ("xxy", "2 images that"), ("xyzw", r"\(x, y, z, …\)")]
)
def test_names_of_no_image_are_counted_and_some_shown(lost, shown):
    import re

    assert re.search(shown, ImageNames(list(IDS)).unmatched(list(lost), "p"))
    assert ImageNames(list(IDS)).unmatched(["1"], "p") is None


# COCO results


def coco(tmp_path, rows, kind, ids=IDS):
    return read(written(tmp_path, json.dumps(rows), "p.json"), kind, ids)


def test_coco_boxes(tmp_path):
    rows = [{"image_id": "1", "bbox": [1, 2, 3, 4], "score": 0.5, "category": "mask"}]
    found = coco(tmp_path, rows, Boxes)
    assert found.by_id["a/1.jpg"].xyxy.tolist() == [[1, 2, 3, 4]] and found.by_id["a/1.jpg"].labels == ("mask",)
    assert found.reading.form == "xywh" and found.empty().xyxy.shape == (0, 4)
    assert found.absent.endswith("2 of 3 images have no result and count as images where nothing was found")
    rows.append({"image_id": "1", "bbox": [1, 2, 3, 4]})
    found = coco(tmp_path, rows, Boxes, IDS[:1])
    assert found.by_id["a/1.jpg"].labels is None and found.by_id["a/1.jpg"].scores.tolist() == [0.5, 1]
    assert found.absent is None


def test_an_empty_list_of_results_found_nothing(tmp_path):
    found = coco(tmp_path, [], Boxes)
    assert found.by_id == {} and "3 of 3 images" in found.absent


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([{"image_id": "9", "bbox": [1, 2, 3, 4]}], Boxes, "names 1 image .* image_id is the id of the image"),
        ([{"image_id": "1", "bbox": [1, 2, 3]}], Boxes, r"\[0\]: bbox is \[1, 2, 3\], expected 4 numbers"),
        ([{"image_id": "1", "bbox": [1, 2, 3, True]}], Boxes, r"\[0\]: bbox is"),
        ([{"image_id": "1", "bbox": [1, 2, 3, 4], "score": True}], Boxes, r"\[0\]: score is True"),
        ([{"image_id": "1", "bbox": [1, 2, 3, 4], "score": "1"}], Boxes, r"\[0\]: score is '1'"),
        ([{"image_id": "1", "keypoints": [0] * 50}], Keypoints, r"\[0\]: keypoints is .* expected 51 numbers"),
        ([{"image_id": "1", "segmentation": [[1, 2]]}], Masks, r"\[0\]: segmentation: .* is not a run-length mask"),
        ([{"image_id": "1", "segmentation": {"size": [0, 2], "counts": [0]}}], Masks, r"\[0\]: segmentation: size"),
        ([{"image_id": "1", "segmentation": {"size": [1, 2, 3], "counts": [6]}}], Masks, r"\[0\]: segmentation: size"),
        ([{"image_id": "1"}, 7], Boxes, r"\[1\]: expected an object with image_id"),
    ],
)
def test_what_is_wrong_with_results_is_said_with_their_place(tmp_path, rows, kind, message):
    with pytest.raises(InputError, match=message):
        coco(tmp_path, rows, kind)


@pytest.mark.parametrize(
    "answer",
    [
        Boxes([[0, 1, 4, 6]], [0.25], ["mask"]),
        Masks(np.random.default_rng(0).random((2, 5, 7)) > 0.5, [0.5, 0.25]),
        Keypoints(np.random.default_rng(0).random((2, 17, 3)), [1, 0.5]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_written_results_are_read_back(tmp_path, answer):
    write_coco_results(tmp_path / "p.json", [("a/1.jpg", answer)])
    found = read(tmp_path / "p.json", type(answer))
    again = found.by_id["a/1.jpg"]
    assert again.scores.tolist() == answer.scores.tolist() and len(found.empty().scores) == 0
    if isinstance(answer, Boxes):
        assert again.xyxy.tolist() == [[0, 1, 4, 5]] and again.labels == answer.labels
    elif isinstance(answer, Masks):
        assert np.array_equal(again.masks, answer.masks)
    else:
        assert np.allclose(again.points, answer.points)


def test_other_answers_are_not_written_as_results(tmp_path):
    with pytest.raises(InputError, match="not from embedding"):
        write_coco_results(tmp_path / "p.json", [("a", Embedding(None))])


def test_a_file_in_no_format_lists_them(tmp_path):
    with pytest.raises(InputError, match=r"in none of the formats that hold boxes \(coco: .*table: "):
        read(written(tmp_path, "x", "p.xml"), Boxes)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "no.csv", Boxes)
    with pytest.raises(InputError, match=r"format table has no option 'units'; it has none"):
        read(written(tmp_path, "image,age\n1,1\n"), Age, units="px")
    with pytest.raises(InputError, match=r"no format 'coko' \(did you mean coco\?\); there are"):
        read_predictions(written(tmp_path, "x"), PredictionRequest(Boxes, ImageNames(IDS)), "coko")


# answers


@pytest.mark.parametrize("years", [-1, 0, 150, None])
def test_ages_that_people_have(years):
    assert Age(years).problem(1, 1) is None


@pytest.mark.parametrize("years", [-1.01, 150.01, float("nan"), float("inf")])
def test_ages_that_nobody_has(years):
    assert "expected 0 to 150" in Age(years).problem(1, 1)


@pytest.mark.parametrize("shares", [[[1.0]], [0.5, 0.4], [1.5, -0.5], [float("nan")], [0.5, 0.502]])
def test_what_is_no_distribution_of_ages(shares):
    with pytest.raises(ValueError, match="distribution"):
        Age.of(shares)


def test_a_distribution_may_round():
    assert Age.of([0.5, 0.4995]).years == pytest.approx(0.4995 / 0.9995)


def test_answers_and_formats_never_change():
    found = [one for one in vars(package).values() if inspect.isclass(one) and dataclasses.is_dataclass(one)]
    found += [one for one in vars(base).values() if inspect.isclass(one) and dataclasses.is_dataclass(one)]
    assert len(found) > 12
    for one in found:
        assert one.__dataclass_params__.frozen, one


@pytest.mark.parametrize(("size", "fine"), [(0.5, True), (1, True), (0, False), (-1, False)])
def test_an_identified_box_has_a_size(size, fine):
    from countenance.answers import Identifications

    for sides in ((size, 5), (5, size)):
        assert (Identifications([[1, 1, *sides]], [0.5]).problem(20, 20) is None) is fine


# inputs that nobody designed for these readers


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        ("y1,x1,y0,x0,image\n40,30,20,10,1\n", [[10, 20, 30, 40]]),
        ("\ufeffimage,x0,y0,x1,y1\r\n\r\n1,10,20,30,40\r\n", [[10, 20, 30, 40]]),
        ("image,x0,y0,x1,y1\r1,10,20,30,40\r", [[10, 20, 30, 40]]),
        ("\nimage, x0 ,y0,x1,y1\n 1 , 10 ,20,30,40\n", [[10, 20, 30, 40]]),
        ("image,x,y,w,h,x0,y0,x1,y1\n1,1,2,3,4,10,20,30,40\n", [[10, 20, 30, 40]]),
        ("C:\\data\\a\\1.jpg,1,0.9,10,20,30,40\n", [[10, 20, 30, 40]]),
        ('"/data, old/a/1.jpg",1,0.9,10,20,30,40\n', [[10, 20, 30, 40]]),
    ],
)
def test_tables_as_other_programs_write_them(tmp_path, text, boxes):
    path = tmp_path / "p.csv"
    path.write_bytes(text.encode())
    header = text.startswith(("C:", '"/'))
    assert read(path, Boxes).by_id["a/1.jpg"].xyxy.tolist() == boxes and (not header or read(path, Boxes).classes)


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ('[{"image_id": "1", "bbox": [1, NaN, 3, 4]}]', Boxes, r"\[0\]: bbox is nan, expected a finite number"),
        ('[{"image_id": "1", "bbox": [1, 2, 3, 4], "score": Infinity}]', Boxes, r"\[0\]: score is inf"),
        ('[{"image_id": "1", "bbox": [%s, 2, 3, 4]}]' % ("9" * 500), Boxes, "bbox is an integer too large"),
        ('[{"image_id": "1", "bbox": [1, 2, 3, 4], "score": %s}]' % ("9" * 500), Boxes, "score is an integer too"),
        ('{"images": [], "annotations": []}', Boxes, "expected a list of results, found dict"),
        ('{"image_id": 1}\n{"image_id": 2}', Boxes, "not JSON"),
        ("", Boxes, "not JSON"),
        (
            json.dumps([{"image_id": "1", "segmentation": {"size": [n, 4], "counts": [4 * n]}} for n in (4, 5)]),
            Masks,
            r"\[1\]: segmentation of size \[5, 4\], and \[4, 4\] in the same image",
        ),
    ],
)
def test_hostile_results_are_refused_with_their_place(tmp_path, rows, kind, message):
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, rows, "p.json"), kind)


def test_results_whose_first_object_is_long_are_recognised(tmp_path):
    row = {"extra": "x" * 9000, "image_id": "1", "bbox": [1, 2, 30, 40]}
    assert len(read(written(tmp_path, json.dumps([row]), "p.json"), Boxes).by_id) == 1


def test_accents_are_the_same_in_either_unicode_form():
    names = ImageNames(["caf\u00e9/zoe\u0308.png"])
    assert names.find("cafe\u0301/zo\u00eb.png") == names.ids[0] and names.other_folders("p.csv") is None


def test_columns_of_a_program_may_be_numbers_and_cells_missing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"image": ["1", "2"], 0: [1.0, None], 1: [2.0, None]})
    vectors = [one.vector for one in read(frame, Embedding).by_id.values()]
    assert vectors[0].tolist() == [1, 2] and vectors[1] is None
    assert list(read({"image": ["1", "2"], "gender": [float("nan"), "male"]}, Labels).by_id) == ["a/2.jpg"]
    assert read({"image": ["1"], "vector": [[]]}, Embedding).by_id["a/1.jpg"].vector is None
    with pytest.raises(InputError, match=r"row 1: vector is 5\.0, expected a list of numbers"):
        read({"image": ["1"], "vector": [5.0]}, Embedding)
    twice = pandas.DataFrame([["1", 2, 3]], columns=["image", "age", "age"])
    with pytest.raises(InputError, match="column 'age' occurs twice"):
        read(twice, Age)
    with pytest.raises(InputError, match="row 1: age is '1_0', expected a number"):
        read({"image": ["1"], "age": ["1_0"]}, Age)


def test_boxes_without_a_label_among_labelled_ones_are_told():
    columns = {"image": ["1", "1", "2"], "x0": [1, 1, 1], "y0": [2, 2, 2], "x1": [30, 30, 30], "y1": [40, 40, 40]}
    found = read({**columns, "label": ["mask", None, "mask"]}, Boxes)
    assert found.by_id["a/1.jpg"].labels is None and found.by_id["a/2.jpg"].labels == ("mask",)
    assert "1 image (a/1.jpg) with boxes that have no label" in found.notes[0]
    assert read({**columns, "label": [None] * 3}, Boxes).notes == ()


def test_what_a_file_leaves_unsaid_is_said(tmp_path):
    rows = [{"image_id": f"a/{i}.jpg", "category_id": i, "bbox": [1, 2, 3, 4], "score": 0.5} for i in (1, 2)]
    (note,) = read(written(tmp_path, json.dumps(rows), "p.json"), Boxes).notes
    assert note.endswith("results of 2 categories (1 of 1, 1 of 2) count alike: the dataset names no categories")
    with pytest.raises(InputError, match="no row has a label"):
        read(written(tmp_path, "image,gender\n1,\n"), Labels)
    assert list(read(written(tmp_path, "image,gender\na/1.jpg,\na/2.jpg,male\n"), Labels).by_id) == ["a/2.jpg"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a/1.jpg": {"detections": null}, "a/1.jpg": {"detections": [[1, 2, 3, 4]]}}', "a second answer for a/1.jpg"),
        ('{"a/1.jpg": {"detections": null}, "1.jpg": {"detections": null}}', "1.jpg: a second answer for a/1.jpg"),
        ('{"a/1.jpg": null}', "a/1.jpg: expected an object with 'detections', found NoneType"),
        ('{"annotations": []}', "expected a list of results"),
    ],
)
def test_outputs_that_say_two_things_or_nothing_are_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read(written(tmp_path, text, "p.json"), Boxes)


FORMAT_OF_MY_OWN = """
import countenance as ct

def read(path, wanted):
    boxes = {image: ct.Boxes([[10, 10, 40, 40]]) for image in wanted.names.ids}
    return ct.Predictions(str(path), "mine", boxes)

MINE = ct.Format("mine", "anything", (ct.Boxes,), lambda path: False, read)
"""


def test_the_command_line_names_a_format_of_ones_own(tmp_path, capsys):
    """`--setting format=path.py:attr` is `settings={"format": …}`; a setting without a value is refused."""
    from countenance.cli.app import run as command

    (tmp_path / "my_format.py").write_text(FORMAT_OF_MY_OWN)
    (tmp_path / "saved.mine").write_text("")
    words = ["run", "face_localization", "--model", f"predictions:{tmp_path}/saved.mine", "--data", "people:portraits"]
    words += ["--by", "gender", "--limit", "8", "--out", str(tmp_path / "run"), "-q"]
    assert command([*words, "--setting", f"format={tmp_path}/my_format.py:MINE"]) == 0
    assert command(words) == 2 and "--setting format=module:attr" in capsys.readouterr().err
    assert command([*words, "--setting", "format"]) == 2
    assert "--setting 'format': expected NAME=VALUE" in capsys.readouterr().err
    assert command([*words, "--setting", "format=a", "--setting", "format=b"]) == 2
    assert "format is given twice" in capsys.readouterr().err
