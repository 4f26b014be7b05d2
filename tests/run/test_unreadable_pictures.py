"""Pictures that cannot be read, in a dataset that names nobody and states no sizes."""

import csv
from pathlib import Path

import pytest

import countenance as ct
from countenance.testing import write_small_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty pictures with a box each, of nobody named; three files are damaged."""
    folder = write_small_dataset(tmp_path / "set", n=40, size=64)
    with (folder / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kept = [name for name in rows[0] if name not in ("width", "height", "identity", "sha256")]
    with (folder / "labels.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, kept, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    for row in rows[:3]:
        (folder / row["file"]).write_bytes(b"no picture")
    return folder


def predictions(folder: Path, place: Path, numbers: str) -> str:
    names = [sample.id for sample in ct.load_dataset(folder)]
    place.write_text("image,x0,y0,x1,y1,score\n" + "".join(f"{name},{numbers},0.9\n" for name in names))
    return f"predictions:{place}"


def test_shares_of_a_picture_of_unknown_size_are_no_box(folder: Path, tmp_path: Path) -> None:
    model = predictions(folder, tmp_path / "shares.csv", "0.1,0.1,0.9,0.9")
    run = ct.evaluate(model, "face_localization", str(folder), out=tmp_path / "run", units="rel", max_failures=0.5)
    assert (
        run.failures()["reason"].to_pylist()
        == ["boxes are shares of a picture whose size is not known, since its file cannot be read"] * 3
    )


def test_they_say_nothing_about_where_boxes_are(folder: Path, tmp_path: Path) -> None:
    model = predictions(folder, tmp_path / "shares.csv", "0.1,0.1,0.9,0.9")
    run = ct.evaluate(model, "face_localization", str(folder), out=tmp_path / "run")
    assert not any("leave their pictures" in note for note in run.notes), run.notes


def test_their_people_are_not_one_person(folder: Path, tmp_path: Path) -> None:
    def centre(images: list) -> list:
        return [[[8, 8, 56, 56, 0.9]] for _ in images]

    run = ct.evaluate(centre, "face_localization", str(folder), out=tmp_path / "run", max_failures=0.5)
    audit = run.audit(metrics=["recall@0.5"], adjust="holm")
    assert "1 person" not in audit.settings["unit"], audit.settings["unit"]
    assert (audit.overall[0].n, audit.overall[0].missing) == (37, 3)
