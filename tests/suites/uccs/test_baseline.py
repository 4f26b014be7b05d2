"""Baselines and made data, end to end with people whose colour is who they are."""

import numpy as np
import pytest
from challenge_models import scenes
from PIL import Image

from countenance.data.adapters.uccs_protocol import read_gallery
from countenance.data.reading.arrays import Cache, save_arrays
from countenance.errors import InputError
from countenance.run.image_jobs import How
from countenance.suites.uccs import CurveSettings, check_file, evaluate_detector, evaluate_recognizer, read_protocol
from countenance.suites.uccs.baseline import Baseline, detect, recognize, score
from countenance.suites.uccs.baseline.steps import enlarged
from countenance.suites.uccs.made_data import make_data

SQUARES = "challenge_models:Squares"
MODELS = {"embedding": "challenge_models:Colour", "detector": SQUARES}


@pytest.fixture(scope="module", params=[2, 3])
def made(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / f"v{request.param}"
    make_data(scenes(), out, request.param)
    return out, request.param


@pytest.fixture
def how(tmp_path):
    return How(Cache(tmp_path / "temp"))


def test_made_data_has_the_layout_of_its_version(made):
    folder, version = made
    validation = read_protocol(folder, "validation", version, attributes=True)
    assert len(validation.images) == 2
    assert sorted(set(validation.subject.tolist())) == [-1, 1, 2, 3]
    assert validation.attributes["SKIN_TONE"][0] == "monk_2"
    assert set(validation.attributes["FACE_SIZE"]) == {"small"}
    test = read_protocol(folder, "test", version)
    assert (test.truth, len(test.images)) == (False, 1)
    images = folder / ("validation" if version == 2 else "validation_images")
    assert sorted(path.name for path in images.iterdir()) == sorted(validation.images)
    if version == 2:
        assert {path.name for path in folder.iterdir()} >= {"training", "validation", "test", "sample", "protocol"}
    else:
        gallery = read_gallery(folder)
        assert {entry.subject for entry in gallery} == {1, 2, 3}
        with Image.open(folder / "gallery_images" / "0001" / gallery[0].file) as picture:
            assert picture.size == (112, 112)


def test_strangers_never_recur_and_known_unknowns_do():
    people = [(person.identity, person.attributes["role"]) for scene in scenes() for person in scene.subjects]
    strangers = [identity for identity, role in people if role == "unknown"]
    assert len(strangers) == len(set(strangers))
    assert sum(role == "known_unknown" for _, role in people) == 5


def test_a_gallery_picture_from_the_searched_images_is_excluded(tmp_path):
    data = scenes(("train", "validation", "validation", "test", "test"))  # carl is in no training scene
    made = make_data(data, tmp_path / "v3", 3)
    protocol = read_protocol(tmp_path / "v3", "validation", 3)
    assert protocol.subject[protocol.excluded].tolist() == [3]
    assert made.gallery == 3


def test_made_data_is_whole_or_not_there(tmp_path):
    data = scenes(("train", "train", "validation", "validation", "validation"))
    with pytest.raises(InputError, match="no scene for the test set"):
        make_data(data, tmp_path / "out", 2)
    make_data(scenes(), tmp_path / "out", 2)
    with pytest.raises(InputError, match="exists already"):
        make_data(scenes(), tmp_path / "out", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_detection_baseline_finds_every_face_and_its_file_is_good(made, how, tmp_path):
    folder, version = made
    out, _ = detect(Baseline(folder, detector=SQUARES, result_file=tmp_path / "d.txt"), how)
    assert check_file(out, data=folder).good
    found = evaluate_detector(folder, [out])[0]
    assert (found.version, found.hits, found.total) == (version, found.total, 8)
    assert len(found.negatives) == 2


def test_the_recognition_baseline_knows_everybody(made, how, tmp_path):
    folder, version = made
    out = recognize(Baseline(folder, result_file=tmp_path / "r.txt", **MODELS), how)
    assert check_file(out, data=folder).good
    found = evaluate_recognizer(folder, [out])[0]
    assert (found.version, found.hits, found.total) == (version, 4, 4)
    if version == 2:
        lines = [line.split(",") for line in out.read_text().splitlines() if line[0] != "#"]
        assert all("-1" not in line[6:-2:2] for line in lines), "nothing is listed after -1"


def test_a_second_run_asks_no_model_and_force_asks_again(made, how, tmp_path, monkeypatch):
    import challenge_models

    folder, _ = made
    first = recognize(Baseline(folder, result_file=tmp_path / "a.txt", **MODELS), how)
    monkeypatch.setattr(challenge_models.Squares, "__call__", challenge_models.Broken.__call__)
    monkeypatch.setattr(challenge_models.Colour, "__call__", challenge_models.Broken.__call__)
    second = recognize(Baseline(folder, result_file=tmp_path / "b.txt", **MODELS), how)
    body = [path.read_text().split("\n", 2)[2] for path in (first, second)]
    assert body[0] == body[1]
    forced = How(Cache(how.cache.folder, force=True))
    with pytest.raises(InputError, match="was asked"):
        recognize(Baseline(folder, result_file=tmp_path / "c.txt", **MODELS), forced)
    assert not (tmp_path / "c.txt").exists()


def test_a_changed_image_is_asked_about_again(made, how, tmp_path):
    import shutil

    folder, version = made
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    detect(Baseline(copy, detector=SQUARES, result_file=tmp_path / "a.txt"), how)
    images = copy / ("validation" if version == 2 else "validation_images")
    picture = sorted(images.iterdir())[0]
    Image.new("RGB", (160, 120)).save(picture, "JPEG")
    out, found = detect(Baseline(copy, detector=SQUARES, result_file=tmp_path / "b.txt"), how)
    assert [len(one["score"]) for one in found.faces] == [1, 5]
    assert out.read_text() != (tmp_path / "a.txt").read_text()


def test_several_processes_give_the_same_file(made, how, tmp_path):
    folder, _ = made
    one, _ = detect(Baseline(folder, detector=SQUARES, result_file=tmp_path / "a.txt"), how)
    several = How(Cache(tmp_path / "other"), parallel=2)
    two, _ = detect(Baseline(folder, detector=SQUARES, result_file=tmp_path / "b.txt"), several)
    assert one.read_text() == two.read_text()


def test_debug_takes_a_part_and_says_so(made, how, tmp_path):
    folder, version = made
    _, found = detect(Baseline(folder, detector=SQUARES, result_file=tmp_path / "d.txt", debug=1), how)
    assert len(found.images) == 1
    out = recognize(Baseline(folder, result_file=tmp_path / "r.txt", debug=1, **MODELS), how)
    assert out.name == "r-debug-1.txt"
    if version == 2:
        numbers = {int(i) for line in out.read_text().splitlines()[2:] for i in line.split(",")[6::2]}
        assert numbers <= {1, -1}


def test_display_draws_detections_green_and_truth_red(made, how, tmp_path):
    folder, _ = made
    detect(
        Baseline(folder, detector=SQUARES, result_file=tmp_path / "d.txt", display=tmp_path / "shown"),
        how,
    )
    pictures = sorted((tmp_path / "shown").iterdir())
    assert len(pictures) == 2
    with Image.open(pictures[0]) as picture:
        pixels = np.asarray(picture)
    assert ((pixels == (0, 190, 60)).all(axis=2)).any()
    assert ((pixels == (230, 30, 30)).all(axis=2)).any()


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_missing_or_damaged_image_is_told_and_the_rest_goes_on(made, tmp_path, damage):
    import shutil

    folder, version = made
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    bad, good = sorted((copy / ("validation" if version == 2 else "validation_images")).iterdir())
    content = bad.read_bytes()
    bad.unlink()
    if damage == "damaged":
        bad.write_bytes(content[:200])
    told = []
    how = How(Cache(tmp_path / "temp"), warn=told.append)
    out, found = detect(Baseline(copy, detector=SQUARES, result_file=tmp_path / "d.txt"), how)
    assert len(told) == 1 and bad.name in told[0] and told[0].endswith("it has no detection")
    assert [len(one["score"]) > 0 for one in found.faces] == [False, True]
    assert good.stem in out.read_text() and bad.stem not in out.read_text()
    recognize(Baseline(copy, result_file=tmp_path / "r.txt", **MODELS), how)
    assert good.stem in (tmp_path / "r.txt").read_text() and bad.stem not in (tmp_path / "r.txt").read_text()


def test_no_image_at_all_is_refused(made, how, tmp_path):
    import shutil

    folder, version = made
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / ("validation" if version == 2 else "validation_images"))
    with pytest.raises(InputError, match=r"no image that .* names is there; extract the validation images there"):
        detect(Baseline(copy, detector=SQUARES, result_file=tmp_path / "d.txt"), how)


def test_cards_and_models_that_are_not_there_are_refused_before_any_image_is_opened(made, tmp_path, monkeypatch):
    from countenance.run import image_jobs

    monkeypatch.setattr(image_jobs, "graphics_cards", lambda: 1)
    how = How(Cache(tmp_path / "temp"), parallel=2, gpus=(0, 1))
    with pytest.raises(InputError, match="gpus=1: this machine has 1 graphics card; leave gpus= out"):
        detect(Baseline(made[0], detector=SQUARES, result_file=tmp_path / "d.txt"), how)
    monkeypatch.setattr("countenance.models.zoo.find_spec", lambda name: None)
    with pytest.raises(InputError, match="model 'dlib' is not installed: pip install"):
        recognize(
            Baseline(made[0], result_file=tmp_path / "r.txt", **(MODELS | {"embedding": "dlib"})),
            How(Cache(tmp_path / "temp")),
        )
    assert not (tmp_path / "temp").exists()


def test_a_part_never_replaces_the_result_of_the_whole_set(made, how, tmp_path):
    whole, _ = detect(Baseline(made[0], detector=SQUARES, result_file=tmp_path / "d.txt"), how)
    content = whole.read_bytes()
    part, _ = detect(Baseline(made[0], detector=SQUARES, result_file=tmp_path / "d.txt", debug=1), how)
    assert part.name == "d-debug-1.txt" and whole.read_bytes() == content


def test_scoring_takes_embeddings_of_ones_own(tmp_path):
    save_arrays(tmp_path / "g.npz", {"subject": np.array([1, 1, 2]), "embedding": np.eye(3)})
    probes = {"image": np.array(["b.jpg", "a.jpg"]), "box": np.ones((2, 4)), "score": np.array([0.5, 0.6])}
    save_arrays(tmp_path / "p.npz", probes | {"embedding": np.eye(3)[:2]})
    out = score(tmp_path / "g.npz", tmp_path / "p.npz", result_file=tmp_path / "s.txt")
    lines = out.read_text().splitlines()
    assert lines[0] == "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,S_0001,S_0002"
    assert lines[1] == "a,0.60,1.00,1.00,1.00,1.00,0.707107,0.000000"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"embedding": np.full((3, 3), np.nan)}, "not finite"),
        ({"embedding": np.eye(2)}, "arrays of different length"),
        ({"embedding": np.array(1.0)}, "embedding is a single value"),
        ({"embedding": np.ones((3, 0))}, "holds embedding of float64"),
        ({"embedding": np.ones((3, 3), complex)}, "holds embedding of complex128"),
        ({"subject": np.array(["a", "b", "c"])}, "holds subject of <U1 .*; expected whole numbers"),
        ({"subject": np.zeros(3, [("a", "f8")])}, "expected whole numbers"),
        ({"subject": np.array([-1, -2, 0])}, "the gallery has no known subject"),
        ({"embedding": np.ones((3, 5))}, "gallery embeddings have 5 numbers, probe embeddings 3"),
    ],
)
def test_wrong_embeddings_are_named(tmp_path, change, expected):
    save_arrays(tmp_path / "g.npz", {"subject": np.array([1, 1, 2]), "embedding": np.eye(3)} | change)
    probes = {
        "image": np.array(["a.jpg"]),
        "box": np.ones((1, 4)),
        "score": np.array([0.5]),
        "embedding": np.eye(3)[:1],
    }
    save_arrays(tmp_path / "p.npz", probes)
    with pytest.raises(InputError, match=expected):
        score(tmp_path / "g.npz", tmp_path / "p.npz", result_file=tmp_path / "s.txt")
    assert not (tmp_path / "s.txt").exists()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"box": np.ones((1, 3))}, "arrays of different length or shape"),
        ({"box": np.array([["x"] * 4])}, "expected rows of four numbers"),
        ({"score": np.array(["x"])}, "expected numbers"),
        ({"score": np.array([np.nan])}, "score holds a number that is not finite"),
        ({"image": np.array([7])}, "expected names"),
        ({"image": np.array(["\ud800"])}, "cannot be written into a line"),
        ({"image": np.array(["a\nb,1,1,1,1,1"])}, "cannot be written into a line"),
    ],
)
def test_wrong_probes_are_named(tmp_path, change, expected):
    save_arrays(tmp_path / "g.npz", {"subject": np.array([1, 2, 3]), "embedding": np.eye(3)})
    probes = {"image": np.array(["a"]), "box": np.ones((1, 4)), "score": np.array([0.5]), "embedding": np.eye(3)[:1]}
    np.savez(tmp_path / "p.npz", **(probes | change))
    with pytest.raises(InputError, match=expected):
        score(tmp_path / "g.npz", tmp_path / "p.npz", result_file=tmp_path / "s.txt")
    assert not (tmp_path / "s.txt").exists()


def test_a_pickled_file_is_not_opened(tmp_path):
    np.savez(tmp_path / "g.npz", subject=np.array([{}], dtype=object), embedding=np.eye(1))
    with pytest.raises(InputError, match=r"not a readable \.npz file"):
        score(tmp_path / "g.npz", tmp_path / "g.npz")


def test_an_enlarged_box_stays_in_the_image():
    assert enlarged(np.array([-50.0, -50.0, 10.0, 10.0]), 20, 20) == (0, 0, 1, 1)
    assert enlarged(np.array([500.0, 5.0, 10.0, 10.0]), 20, 20) == (19, 3, 20, 17)


def test_made_people_are_not_real_and_all_others_are(made, tmp_path):
    from countenance.data.adapters.uccs_protocol import real_people

    assert not real_people(made[0])
    assert real_people(tmp_path)


def test_real_networks_on_the_embedded_people(tmp_path, how):
    from countenance.data import load_dataset
    from countenance.data.people.dataset import SHIPPED

    if not (SHIPPED / "samples.parquet").exists():
        pytest.skip("the embedded people are not rendered in this checkout")
    make_data(load_dataset("people:groups"), tmp_path / "v2", 2)
    out, _ = detect(Baseline(tmp_path / "v2", result_file=tmp_path / "d.txt", debug=2), how)
    found = evaluate_detector(tmp_path / "v2", [out], settings=CurveSettings(only_present=True))[0]
    assert found.hits / found.total > 0.5
