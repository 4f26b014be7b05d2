"""The state of a run under the challenge's rules, and embeddings on disk, with numbers that can be counted by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from challenge_files import write_truth, write_v2, write_v3
from PIL import Image

from countenance.answers import Identifications
from countenance.data.adapters.uccs import read_dataset
from countenance.data.reading.arrays import save_arrays
from countenance.errors import InputError
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.baseline import Baseline
from countenance.suites.uccs.baseline.embeddings import GALLERY, PROBES, read_embeddings, write_embeddings
from countenance.suites.uccs.baseline.recognition import _from_file
from countenance.suites.uccs.comparison import compare
from countenance.suites.uccs.rules import evaluated
from countenance.suites.uccs.run import write_runs
from countenance.suites.uccs.sections import evaluation_again, sections
from countenance.suites.uccs.task import CurveOptions, _finish, partial, submission_of
from countenance.tasks import Shard

FACE, AWAY = (0.0, 0.0, 10.0, 10.0), (80.0, 80.0, 9.0, 9.0)


def state(tmp_path, version=2, faces=(("a.jpg", 1, FACE),), alarms=16, names=False):
    """One shard: the first face is found with .9, and so many false alarms from .30 on."""
    data = read_dataset(write_truth(tmp_path / "data", faces), "validation", version, pictures=False)
    boxes = np.array([FACE, *([AWAY] * alarms)])
    scores = np.array([0.9, *(0.3 + k / 100 for k in range(alarms))])
    more = (np.ones(len(boxes), int), np.ones(len(boxes), int), scores) if names else ()
    return partial(Shard(data.samples, {sample.id: Identifications(boxes, scores, *more) for sample in data}, None))


def test_one_face_says_of_which_version_the_data_are(tmp_path):
    for version in (2, 3):
        found = evaluated(submission_of(state(tmp_path, version), CurveOptions(), recognition=False))
        assert (found.version, found.total, found.hits, len(found.negatives)) == (version, 1, 1, 16)
    assert submission_of(state(tmp_path, 2), CurveOptions(version=3), recognition=False).version == 3


@pytest.mark.parametrize(("wanted", "threshold"), [(None, 0.44), (8.0, 0.38), (16.0, 0.3)])
def test_rows_are_read_at_the_number_of_false_alarms_asked_for(tmp_path, wanted, threshold):
    for version in (2, 3):
        made = _finish(CurveOptions(false_alarms=wanted), False)(state(tmp_path, version), None)
        results = {one.name: one for one in made.results}
        assert results["threshold"].value == pytest.approx(threshold)
        assert made.columns["false_alarms"][1] == (wanted or 2) and made.columns["found"].tolist()[0] == 1
        assert len(made.columns["found"]) == 2 and np.isnan(made.columns["found"][1])


def test_a_run_without_faces_or_without_names_has_no_curve(tmp_path):
    nobody = state(tmp_path)
    nobody = {name: values[:0] if name.startswith("face") else values for name, values in nobody.items()}
    with pytest.raises(InputError, match="no image of this run has a face"):
        _finish(CurveOptions(), False)(nobody, None)
    with pytest.raises(InputError, match="detections only: recognition needs identities"):
        _finish(CurveOptions(), True)(state(tmp_path), None)
    named = _finish(CurveOptions(), True)(state(tmp_path, names=True), None)
    assert list(named.columns) == ["identified", "identified_at_all", "rejected", "false_identifications"]


def test_a_run_keeps_one_similarity_more_than_its_rank(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE), ("b.jpg", 2, FACE)])
    rows = [(name, FACE, 0.9, [0.5, 0.4, 0.3, 0.2]) for name in ("a.jpg", "b.jpg")] + [("a.jpg", AWAY, 0.8, [0.1] * 4)]
    path = write_v3(tmp_path / "s.txt", rows, 4)
    for rank in (1, 2):
        (found,) = evaluate_recognizer(data, [path], settings=CurveSettings(rank=rank))
        (run,) = write_runs([found], data, [tmp_path / f"{rank}"])
        again, dataset = evaluation_again(run)
        assert again.scores.labels.count.tolist() == [rank + 1] * 3 and again.kind == "O-ROC"
        assert (again.hits, again.total, len(dataset)) == (rank, 2, 2) and again.label == "s.txt"


def test_a_submission_alone_is_first(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE), ("b.jpg", 2, FACE)])
    path = write_v2(tmp_path / "s.txt", [("a.jpg", FACE, 0.9, []), ("b.jpg", AWAY, 0.5, [])])
    (one,) = compare(evaluate_detector(data, [path]), [1], rounds=5)
    assert one.to_dict()["ranks"] == {"s.txt": 1} and one.to_dict()["rates"] == {"s.txt": 0.5} and one.lines() == []


def test_detections_of_a_file_are_those_of_its_images(tmp_path):
    """Columns of the protocol in another order, names without their ending: only version 3 reads them so."""
    head = "SUBJECT_ID,FACE_ID,FILE,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT\n"
    (tmp_path / "validation.csv").write_text(f"{head}1,5,a.jpg,0,0,9,9\n2,6,b.jpg,0,0,9,9\n3,7,c.jpg,0,0,9,9\n")
    rows = [("c", FACE, 0.3, []), ("a", AWAY, 0.2, []), ("c", AWAY, 0.1, []), ("a", FACE, 0.9, [])]
    found = _from_file(Baseline(tmp_path), write_v3(tmp_path / "d.txt", rows))
    assert found.images == ("a.jpg", "b.jpg", "c.jpg") and found.folder == tmp_path / "validation_images"
    assert [one["score"].tolist() for one in found.faces] == [[0.2, 0.9], [], [0.3, 0.1]]
    assert found.faces[0]["box"].tolist() == [list(AWAY), list(FACE)]
    assert _from_file(Baseline(tmp_path, images=tmp_path / "x"), tmp_path / "d.txt").folder == tmp_path / "x"


@pytest.mark.parametrize(("gallery", "shown"), [("auto", 0), ("off", 0), ("full", 3), ("blurred", 3)])
def test_sections_show_people_only_where_that_is_asked_for(tmp_path, gallery, shown):
    data = write_truth(tmp_path / "data", [(name, 1, FACE) for name in ("a.jpg", "b.jpg")])
    (data / "validation").mkdir()
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (120, 100)).save(data / "validation" / name)
    path = write_v2(tmp_path / "s.txt", [("a.jpg", FACE, 0.9, []), ("a.jpg", AWAY, 0.5, []), ("b.jpg", AWAY, 0.4, [])])
    (run,) = write_runs(evaluate_detector(data, [path]), data, [tmp_path / "run"])
    source = SimpleNamespace(run=run, audit=SimpleNamespace(settings={"by": ["known"]}), gallery=gallery)
    made = {name: (title, str(text)) for name, title, text in sections(source)}
    assert [title for title, _ in made.values()] == ["Operating points", "Choosing a threshold", "What the errors cost"]
    errors = made["challenge-errors"][1]
    assert errors.count("<img") == shown and ("show real people, so none is shown" in errors) is (gallery == "auto")
    assert errors.count("Costs 1 of 2") == 1 and errors.count("the threshold must exceed") == 2
    assert "1 of 2 faces in 2 images are found" in made["challenge-operating"][1]
    assert "(1 were allowed)" in made["challenge-threshold"][1]


def probes():
    images = np.array(["x/b.jpg", "a.b.jpg", "x/b.jpg"])
    return {
        "image": images,
        "box": np.arange(12.0).reshape(3, 4),
        "score": np.array([0.5, 0.6, 0.7]),
        "embedding": np.array([[1.0, 0], [0, 1], [0.6, 0.8]]),
    }


def test_embeddings_are_read_as_they_were_written(tmp_path):
    pytest.importorskip("torch")
    write_embeddings(tmp_path / "probes", probes())
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.pth")) == [
        "probes/a.b.pth",
        "probes/x/b.pth",
    ]
    back = read_embeddings(tmp_path / "probes", PROBES)
    assert back["image"].tolist() == ["a.b", "x/b", "x/b"] and back["score"].tolist() == [0.6, 0.5, 0.7]
    assert back["box"].tolist() == [[4, 5, 6, 7], [0, 1, 2, 3], [8, 9, 10, 11]]
    assert back["embedding"].tolist() == [[0, 1], [1, 0], [0.6, 0.8]]
    gallery = {"subject": np.array([12, 3, 12]), "embedding": np.array([[1.0, 0], [0, 2], [0, 1]])}
    write_embeddings(tmp_path / "gallery", gallery)
    assert sorted(path.name for path in (tmp_path / "gallery").iterdir()) == ["0003.pth", "0012.pth"]
    means = read_embeddings(tmp_path / "gallery", GALLERY)
    assert means["subject"].tolist() == [3, 12] and means["embedding"].tolist() == [[0, 2], [0.5, 0.5]]
    (tmp_path / "gallery" / "S_0020.pth").write_bytes((tmp_path / "gallery" / "0003.pth").read_bytes())
    assert read_embeddings(tmp_path / "gallery", GALLERY)["subject"].tolist() == [3, 12, 20]
    (tmp_path / "gallery" / "me.pth").write_bytes(b"")
    with pytest.raises(InputError, match="the name is not a subject's number"):
        read_embeddings(tmp_path / "gallery", GALLERY)


def test_embeddings_of_one_file_and_of_different_sizes(tmp_path):
    save_arrays(tmp_path / "one" / "all.npz", probes())
    assert read_embeddings(tmp_path / "one", PROBES)["score"].tolist() == [0.5, 0.6, 0.7]
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"holds no \.pth file"):
        read_embeddings(tmp_path / "none", PROBES)
    for name, wrong in (("embedding", np.ones(3)), ("score", np.ones(2)), ("embedding", np.ones((3, 2, 2)))):
        save_arrays(tmp_path / "w.npz", probes() | {name: wrong})
        with pytest.raises(InputError, match=r"a row for each face|one row for each face"):
            read_embeddings(tmp_path / "w.npz", PROBES)
    torch = pytest.importorskip("torch")
    (tmp_path / "two").mkdir()
    for subject, size in ((1, 2), (2, 3)):
        torch.save({"embeddings": torch.ones(1, size)}, tmp_path / "two" / f"{subject}.pth")
    with pytest.raises(InputError, match="embeddings of 2, 3 numbers; make all with one model"):
        read_embeddings(tmp_path / "two", GALLERY)
    content = {"detection_scores": torch.ones(2), "bboxes": torch.ones(1, 4), "embeddings": torch.ones(1, 2)}
    (tmp_path / "odd").mkdir()
    torch.save(content, tmp_path / "odd" / "a.pth")
    with pytest.raises(InputError, match="2 scores, 1 boxes, 1 embeddings; expected as many of each"):
        read_embeddings(tmp_path / "odd", PROBES)
