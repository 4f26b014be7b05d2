"""Label maps are truth that lies beside the table: a changed one is another dataset, one that is left out is not."""

import numpy as np
import pytest

import countenance as ct
from countenance.data.adapters.fhibe import load, read_dataset
from countenance.data.image import encode_png

from . import small

FOLDER = "fhibe_face_crop_align"


def skin(images):
    """A model that calls every pixel skin."""
    return [np.ones(image.shape[:2], np.uint8) for image in images]


def change(root, row):
    """Write another label map of the same size and length of name."""
    labels = np.zeros((small.SIDE, small.SIDE), np.uint8)
    labels[:5] = 1
    (root / row["CelebA"][1]).write_bytes(encode_png(labels))


def test_a_changed_mask_is_noticed_when_a_run_is_resumed(tmp_path):
    rows, notes = small.faces(tmp_path), []
    data = f"fhibe:{tmp_path}?dataset={FOLDER}&task=face_parsing"

    def evaluate():
        return ct.evaluate(skin, "face_parsing", data, out=tmp_path / "run", say=notes.append)

    first = evaluate()
    before = first.scores().column("m.F1").to_pylist()
    assert evaluate().manifest.key == first.manifest.key and any("nothing to do" in note for note in notes)
    change(tmp_path, rows[0])
    notes.clear()
    again = evaluate()
    assert any("held another run" in note for note in notes) and not any("nothing to do" in note for note in notes)
    after = again.scores().column("m.F1").to_pylist()
    assert after[0] != before[0] and after[1:] == before[1:]


def test_the_truth_of_other_tasks_has_no_masks(tmp_path):
    rows = small.faces(tmp_path)
    before = {task: read_dataset(tmp_path, FOLDER, task).fingerprint() for task in ("face_parsing", "face_encoding")}
    change(tmp_path, rows[3])
    after = {task: read_dataset(tmp_path, FOLDER, task).fingerprint() for task in before}
    assert after["face_parsing"] != before["face_parsing"] and after["face_encoding"] == before["face_encoding"]


def test_images_that_are_left_out_do_not_make_another_truth(tmp_path):
    rows = small.faces(tmp_path)
    whole = load(f"{tmp_path}?task=face_parsing")
    some = read_dataset(tmp_path, FOLDER, "face_parsing", without=frozenset({rows[0]["filepath"]}))
    assert len(some) == len(whole) - 1 and some.fingerprint() == whole.fingerprint()
    (tmp_path / rows[0]["CelebA"][1]).unlink()
    gone = read_dataset(tmp_path, FOLDER, "face_parsing", without=frozenset({rows[0]["filepath"]}))
    assert len(gone) == len(some) and gone.fingerprint() != some.fingerprint()
    with pytest.raises(ct.InputError, match="no such mask"):
        read_dataset(tmp_path, FOLDER, "face_parsing")


def test_each_mask_is_read_once(tmp_path, monkeypatch):
    rows, opened = small.faces(tmp_path), []
    from countenance.data.adapters.fhibe import truth

    actual = truth.mask_bytes
    monkeypatch.setattr(truth, "mask_bytes", lambda table, i: opened.append(i) or actual(table, i))
    read_dataset(tmp_path, FOLDER, "face_parsing").truth_fingerprint()
    assert sorted(opened) == list(range(len(rows)))
