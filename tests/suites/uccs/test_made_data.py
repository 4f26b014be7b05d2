"""Made data and the baselines' steps, number by number: ids, crops, landmarks, limits, default names."""

import numpy as np
import pytest
from challenge_files import write_truth
from PIL import Image

from countenance.answers import Boxes
from countenance.answers.formats.uccs_scores import read_scores
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.data.adapters.uccs_protocol import read_gallery
from countenance.data.reading.arrays import Cache
from countenance.errors import InputError
from countenance.run.image_jobs import How
from countenance.suites.uccs import read_protocol
from countenance.suites.uccs.baseline import Baseline, detect, recognize
from countenance.suites.uccs.baseline.recognition import box_of_landmarks, gallery_picture
from countenance.suites.uccs.baseline.steps import DETECT, detect_step, embedding, enlarged
from countenance.suites.uccs.made_data import face_size, make_data, subject_numbers

POINTS = np.array([[45.0, 30], [55, 30], [50, 35], [46, 42], [54, 44]])


def person(name, box=(40, 20, 60, 50), role="known", landmarks=True, **about):
    points = POINTS if landmarks else None
    attributes = {"role": role, **about}
    return Subject(name, identity=name, face_box=np.array(box, dtype=float), landmarks=points, attributes=attributes)


def scene(name, split, *people):
    pixels = np.random.default_rng(len(name)).integers(0, 255, (100, 120, 3), dtype=np.uint8)
    return Sample(name, ArrayImage(pixels), 120, 100, people, {"split": split})


def people(*further):
    """Anna and bert are known; bert is nowhere clear but in a validation scene."""
    samples = [
        scene("t1", "train", person("anna"), person("cleo", role="unknown")),
        scene(
            "t2", "train", person("bert", masked="yes"), person("bert", landmarks=False), person("bert", visible=0.6)
        ),
        scene("v1", "validation", person("anna"), person("bert", (0, 0, 10, 64.0))),
        scene("v2", "validation", person("bert", (0, 0, 10, 32), age_group="old", skin_tone="monk_1"), person("bert")),
        scene("s1", "test", person("anna", (5, 5, 12, 36.99))),
    ]
    return Dataset(DatasetCard(name="few", real_people=False), [*samples, *further])


def ids(path):
    return [int(line.split(",")[0]) for line in path.read_text().splitlines()[1:]]


def test_version_two_numbers_faces_through_and_samples_five_of_the_training_pictures(tmp_path):
    portraits = [scene(f"p{k}", "", person("anna")) for k in range(5)]
    nobody, stranger = scene("n", ""), scene("q", "", person("cleo"))
    made = make_data(people(), tmp_path / "v2", 2, portraits=[*portraits, nobody, stranger])
    folder = tmp_path / "v2" / "protocol"
    found = {name: ids(folder / f"{name}.csv") for name in ("training", "validation", "test_truth", "sample")}
    assert found == {
        "training": [*range(1, 11)],
        "validation": [11, 12, 13, 14],
        "test_truth": [15],
        "sample": [*range(16, 24)],
    }
    assert list(made.lines()) == [
        f"{tmp_path / 'v2'}: version 2, 2 known subjects",
        "  training         7 images     10 faces",
        "  validation       2 images      4 faces",
        "  test             1 images      1 faces",
        "  sample           5 images      8 faces",
    ]
    lines = (folder / "validation.csv").read_text().splitlines()
    assert lines[0].endswith("FACE_HEIGHT,SKIN_TONE,AGE_GROUP,MASKED,POSE,FACE_SIZE")
    assert lines[2] == "12,v1.jpg,2,0.00,0.00,10.00,64.00,,,,,large"
    assert lines[3] == "13,v2.jpg,2,0.00,0.00,10.00,32.00,monk_1,old,,,medium"
    assert (folder / "test.csv").read_text() == "FILE\ns1.jpg\n" and subject_numbers(people()) == {"anna": 1, "bert": 2}
    protocol = read_protocol(tmp_path / "v2", "training", 2)
    assert protocol.subject.tolist() == [1, -1, 2, 2, 2, 1, 1, 1, 1, 1]
    Image.fromarray(people().samples[2].load()).save(tmp_path / "v1.jpg", "JPEG", quality=95, subsampling=0)
    assert (tmp_path / "v2" / "validation" / "v1.jpg").read_bytes() == (tmp_path / "v1.jpg").read_bytes()
    assert [face_size(height) for height in (31.99, 32, 63.99, 64)] == ["small", "medium", "medium", "large"]


def test_a_gallery_has_ten_pictures_of_a_person_at_most_half_as_large_again_as_the_face(tmp_path):
    portraits = [scene(f"p{k}", "", person("anna")) for k in range(11)]
    made = make_data(people(), tmp_path / "v3", 3, portraits=portraits)
    assert [*made.lines()][-1] == "  gallery         11 pictures" and made.gallery == 11
    gallery = read_gallery(tmp_path / "v3")
    assert [entry.file for entry in gallery] == [*(f"0001_{k}.png" for k in range(10)), "0002_0.png"]
    # The face is 20 by 30 pixels about (50, 35); 45 pixels about that point, rounded: 28 to 72 and 12 to 58.
    expected = [((x - 28) * 112 / 44, (y - 12) * 112 / 46) for x, y in POINTS]
    assert gallery[0].landmarks.reshape(5, 2) == pytest.approx(np.array(expected), abs=0.051)
    with Image.open(tmp_path / "v3" / "gallery_images" / "0001" / "0001_0.png") as picture:
        pixels = (
            Image.fromarray(portraits[0].load()).crop((28, 12, 72, 58)).resize((112, 112), Image.Resampling.LANCZOS)
        )
        assert picture.size == (112, 112) and np.array_equal(np.asarray(picture), np.asarray(pixels))
    assert (tmp_path / "v3" / "exclude_gallery_validation.txt").read_text() == "2\n", "bert's first face in validation"
    assert ids(tmp_path / "v3" / "validation.csv") == [1, 2, 3, 4] and ids(tmp_path / "v3" / "test_truth.csv") == [5]


def test_a_face_that_is_mostly_visible_serves_as_a_gallery_picture(tmp_path):
    seen = scene("t3", "train", person("bert", visible=0.61), person("bert", visible=1), person("bert", masked="no"))
    make_data(people(seen), tmp_path / "v3", 3)
    assert [entry.subject for entry in read_gallery(tmp_path / "v3")] == [1, 2, 2, 2]
    assert (tmp_path / "v3" / "exclude_gallery_validation.txt").read_text() == ""


def test_an_enlarged_box_by_hand():
    large = (4000, 3000)
    assert enlarged(np.array([1000.0, 1000, 200, 100]), *large) == (970, 985, 1230, 1115)
    assert enlarged(np.array([3900.0, 2900, 200, 200]), *large) == (3870, 2870, 4000, 3000)
    assert enlarged(np.array([5000.0, 4000, 20, 20]), *large) == (3999, 2999, 4000, 3000)
    assert enlarged(np.array([10.0, 20.5, 200, 100]), *large) == (0, 5, 240, 136)
    assert enlarged(np.array([-90.0, -90, 20, 20]), *large) == (0, 0, 1, 1)
    shapes = {name: array.shape for name, array in DETECT.instead.items()}
    assert shapes == {"box": (0, 4), "score": (0,), "landmarks": (0, 10)}


def test_a_model_is_told_where_the_face_lies_in_its_cut_out():
    class Told:
        def embed(self, crop, box):
            return [*crop.shape[:2], *box]

    found = embedding(
        Told(), np.zeros((100, 120, 3), np.uint8), np.array([10.0, 30, 24, 16])
    )  # cut out from (6, 27) on
    assert (found / found[2]).tolist() == pytest.approx([22 / 4, 32 / 4, 1, 3 / 4, 28 / 4, 19 / 4])


def test_a_face_around_landmarks_by_hand():
    wide = np.array([[0.0, 100], [200, 100], [90, 150], [40, 180], [160, 220]])
    # 2.2 × 200 wide; eyes at 100, mouth at 200: the middle 150 less half of it less .045 of it; the mean of x is 98.
    assert box_of_landmarks(wide).tolist() == [98 - 220, round(150 - 220 - 19.8), 440, 440]
    assert box_of_landmarks(np.full((5, 2), 0.65)).tolist() == [0, -1, 2, 2]  # at least one pixel, so 2.2


def test_boxes_of_a_wide_picture_are_checked_against_its_own_sides():
    class Wide:
        def __call__(self, images):
            return [Boxes([[100, 5, 150, 25], [60, 5, 90, 5.004]], [0.5, 0.75])]

    made = detect_step(Wide(), np.zeros((30, 200, 3), np.uint8), None)
    assert made["box"].tolist() == [[100, 5, 50, 20]] and made["score"].tolist() == [0.5]
    with pytest.raises(ValueError, match="these numbers fit the picture as cxcywh, px") as error:
        detect_step(lambda images: [Boxes([[100, 20, 50, 15]], [0.5])], np.zeros((30, 200, 3), np.uint8), None)
    assert "xywh" not in str(error.value), "20 + 15 lies below the 30 pixels of the picture"


def many(images):
    """Sixty faces in each picture."""
    rows = [[k, k, k + 5.0, k + 5.0] for k in range(60)]
    return [Boxes(rows, [1 - k / 100 for k in range(60)]) for _ in images]


@pytest.mark.parametrize(
    ("version", "asked", "kept"), [(2, {}, 60), (3, {}, 50), (3, {"most": 7}, 7), (2, {"most": 1}, 1)]
)
def test_version_three_takes_fifty_detections_of_an_image(tmp_path, monkeypatch, version, asked, kept):
    monkeypatch.chdir(tmp_path)
    data = write_truth(tmp_path / "data", [("a.png", 1, (0.0, 0.0, 5.0, 5.0))])
    folder = data / ("validation" if version == 2 else "validation_images")
    folder.mkdir()
    Image.new("RGB", (80, 90)).save(folder / "a.png")
    out, found = detect(
        Baseline(data, version=version, detector="test_made_data:many", **asked), How(Cache(tmp_path / "t"))
    )
    assert out.as_posix() == f"results/UCCS-v{version}-detection-baseline-validation.txt"
    assert len(read_scores(out)) == kept == len(found.faces[0]["box"])


def test_true_faces_are_drawn_on_their_own_picture(tmp_path):
    """One face in the upper left of a.png, one in the lower right of b.png, both red; the detection of c.png green."""
    faces = [("a.b.png", 1, (10.0, 10.0, 20.0, 20.0)), ("b.png", 1, (100.0, 30.0, 20.0, 20.0))]
    data = write_truth(tmp_path / "data", faces)
    painted(data / "validation", "a.b.png")
    painted(data / "validation", "b.png", (50, 5))
    asked = Baseline(
        data, version=2, detector="challenge_models:Exact", display=tmp_path / "shown", result_file=tmp_path / "d.txt"
    )
    detect(asked, How(Cache(tmp_path / "t")))
    one, two = (np.asarray(Image.open(tmp_path / "shown" / name)) for name in ("a.b.png", "b.png"))
    red, green = [230, 30, 30], [0, 190, 60]
    assert one[10, 20].tolist() == red == two[30, 110].tolist() and two[5, 60].tolist() == green
    assert not (one[:, 90:] == red).all(axis=2).any() and not (two[:, :49] == red).all(axis=2).any()


def test_what_a_baseline_is_asked_for_by_default(tmp_path):
    asked, how = Baseline(tmp_path, version=3), How(Cache(tmp_path / "t"))
    assert asked.face_detector(how).settings == {"thresholds": (0.2, 0.2, 0.2)} and asked.labels == 10
    other = Baseline(tmp_path, detector="yunet", detector_weights=tmp_path / "y.onnx")
    assert other.face_detector(how).settings == {} and other.face_detector(how).weights == str(tmp_path / "y.onnx")
    for debug in (0, -1):
        with pytest.raises(InputError, match=f"debug is {debug}, expected 1 or more"):
            Baseline(tmp_path, version=3, debug=debug).out("detection")
    assert (
        Baseline(tmp_path, version=3, debug=1).out("scoring").name == "UCCS-v3-scoring-baseline-validation-debug-1.txt"
    )


MODELS = {"embedding": "challenge_models:Colour", "detector": "challenge_models:Exact"}


def painted(folder, name, *places):
    """A black picture with squares of 20 pixels of different colours."""
    pixels = np.zeros((60, 160, 3), np.uint8)
    for k, (x, y) in enumerate(places):
        pixels[y : y + 20, x : x + 20] = (60 + 60 * k, 250 - 50 * k, 90)
    folder.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(folder / name)


def test_subjects_are_enrolled_from_faces_that_were_found_and_may_be_in_a_picture_alone(tmp_path, monkeypatch):
    """One face in a.png; in b.png an ignored one, two unknown ones (-1, -7) and subject 5; in c.png one not found."""
    monkeypatch.chdir(tmp_path)
    places = [(10, 10), (50, 10), (90, 10), (130, 10)]
    faces = [
        ("a.png", 9, places[0]),
        *(("b.png", s, p) for s, p in zip((0, -1, -7, 5), places, strict=True)),
        ("c.png", 7, (0, 0)),
    ]
    data = write_truth(tmp_path / "data", [("d.png", 9, (10.0, 10.0, 20.0, 20.0))])
    text = ["FACE_ID,FILE,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"]
    text += [f"{k},{name},{subject},{x},{y},20,20" for k, (name, subject, (x, y)) in enumerate(faces)]
    (data / "protocol" / "training.csv").write_text("\n".join(text) + "\n")
    painted(data / "training", "a.png", places[0])
    painted(data / "training", "b.png", *places)
    painted(data / "training", "c.png")
    painted(data / "validation", "d.png", places[0])
    out = recognize(Baseline(data, **MODELS), How(Cache(tmp_path / "t")))
    assert out.as_posix() == "results/UCCS-v2-recognition-baseline-validation.txt"
    scores = read_scores(out)
    assert len(scores) == 1 and scores.listed(0)[0][0] == 9
    whom = set(recognized(data, tmp_path / "one", labels=50)[0].tolist())
    assert 9 in whom and whom <= {9, 5, -1}
    part = recognized(data, tmp_path / "two", debug=1)[0].tolist()
    assert set(part) <= {5, -1}, "the first subject, and the unknown"
    painted(data / "validation", "d.png")
    nothing = recognize(Baseline(data, result_file=tmp_path / "n.txt", **MODELS), How(Cache(tmp_path / "t2")))
    assert len(nothing.read_text().splitlines()) == 2, "nothing was found, so only comments are written"


def recognized(data, cache, **asked):
    out = recognize(Baseline(data, result_file=cache.with_suffix(".txt"), **MODELS, **asked), How(Cache(cache)))
    return read_scores(out).listed(0)


def test_a_gallery_picture_lies_in_its_folder_or_in_its_subject_s(tmp_path):
    (tmp_path / "gallery_images" / "0001").mkdir(parents=True)
    path = tmp_path / "gallery_images" / "0001" / "0001_7.png"
    path.touch()
    assert gallery_picture(tmp_path, "0001_7.png", "here") == path
    with pytest.raises(InputError, match=r"here: '0002_7\.png' is not in"):
        gallery_picture(tmp_path, "0002_7.png", "here")
