"""make-data and the dataset adapter."""

import csv
from pathlib import Path

import numpy as np
import pytest

from countenance.data.image import LazyImage
from countenance.data.sample import Dataset
from countenance.errors import InputError
from countenance.suites.bias_bounty.files import read_labels, read_names
from countenance.suites.bias_bounty.layout import read_challenge
from countenance.suites.bias_bounty.make_data import write_challenge


def people_of(folder: Path) -> dict[str, str]:
    with (folder / "identities.csv").open() as stream:
        return {row["name"]: row["identity"] for row in csv.DictReader(stream)}


@pytest.fixture(scope="module")
def made(population: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "data"
    write_challenge(out, population, unlabelled=0.4)
    return out


def test_about_a_fifth_are_not_faces(made: Path) -> None:
    names = read_labels(made / "holdout" / "labels.csv").names
    outside = read_names(made / "holdout" / "nonfaces.txt")
    assert set(outside) <= set(names)
    assert len(outside) / len(names) == pytest.approx(0.2, abs=0.06)


def test_only_the_organisers_holdout_tells_which_are_not_faces(made: Path) -> None:
    assert not (made / "train" / "nonfaces.txt").exists()
    assert not (made / "test" / "nonfaces.txt").exists()
    assert set(people_of(made / "train")) == set(read_labels(made / "train" / "labels.csv").names)


def test_faces_too_lose_labels_in_train(made: Path) -> None:
    table = read_labels(made / "train" / "labels.csv")
    missing = np.stack([table.codes[name] < 0 for name in ("skin_tone", "age", "gender")])
    assert (missing.any(axis=0) & ~missing.all(axis=0)).any()


def test_twins_are_in_train_alone_and_every_picture_is_read_back(made: Path, population: Dataset) -> None:
    own = [sample for sample in population if sample.attributes["split"] == "train"]
    faces = sum(sample.attributes["part"] in ("portraits", "twins") for sample in own)
    assert len(set(people_of(made / "train").values())) > 1
    train = read_challenge(made, "train")
    assert len(train) == pytest.approx(faces / 0.8, abs=1)
    assert all(sample.load().shape == (256, 256, 3) for sample in train)


def test_a_cutting_touches_no_face(made: Path, population: Dataset) -> None:
    scenes = {s.attributes["split"]: s for s in population if s.attributes["part"] == "groups"}
    scene, outside = scenes["test"], read_names(made / "holdout" / "nonfaces.txt")
    pixels = scene.load()
    found = 0
    for name in outside:
        cut = LazyImage(made / "holdout" / name).load()
        places = np.argwhere((pixels[: 600 - 255, : 900 - 255] == cut[0, 0]).all(axis=2))
        for top, left in places:
            if (pixels[top : top + 256, left : left + 256] == cut).all():
                found += 1
                assert not (left < 460 and left + 256 > 400 and top < 330 and top + 256 > 250)
    assert found >= 1


def test_the_same_seed_makes_the_same_files(population: Dataset, made: Path, tmp_path: Path) -> None:
    write_challenge(tmp_path / "again", population, unlabelled=0.4)
    for file in sorted(made.rglob("*")):
        if file.is_file():
            assert (tmp_path / "again" / file.relative_to(made)).read_bytes() == file.read_bytes()


def test_an_existing_folder_is_refused(population: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        write_challenge(tmp_path, population)


def test_the_adapter_keeps_what_is_known(challenge: Path) -> None:
    data = read_challenge(challenge, "test")
    by_name = {sample.id: sample for sample in data}
    (person,) = by_name["h003.png"].subjects
    assert person.attributes["skin_tone"] == "monk_4"
    assert by_name["n000.png"].subjects == ()
    assert by_name["n000.png"].attributes["labelled"] == "no"


def test_a_missing_split_names_those_that_are_there(challenge: Path) -> None:
    with pytest.raises(InputError, match="there is train, test, holdout"):
        read_challenge(challenge, "validation")


def test_a_name_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("name,skin_tone,gender,age\n../x.png,monk_1,male,0_17\n")
    with pytest.raises(InputError, match="leads out"):
        read_challenge(tmp_path)
