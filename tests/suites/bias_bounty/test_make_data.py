"""make-data and the dataset adapter."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from countenance.data.adapters.bias_bounty import read_challenge
from countenance.data.adapters.bias_bounty_files import organiser_folder, read_labels, read_names
from countenance.data.image import ArrayImage
from countenance.data.sample import Dataset, Sample
from countenance.errors import InputError
from countenance.suites.bias_bounty.made_data import _nonfaces, write_challenge
from countenance.suites.bias_bounty.scoring import score_files


def people_of(root: Path, split: str) -> dict[str, str]:
    with (organiser_folder(root, split) / "identities.csv").open() as stream:
        return {row["name"]: row["identity"] for row in csv.DictReader(stream)}


def nonfaces_of(root: Path, split: str) -> set[str]:
    return set(read_names(organiser_folder(root, split) / "nonfaces.txt"))


@pytest.fixture(scope="module")
def made(population: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "data"
    write_challenge(out, population, unlabelled=0.4)
    return out


def test_about_a_fifth_are_not_faces(made: Path) -> None:
    for split in ("train", "test", "holdout"):
        names = read_labels(made / split / "labels.csv").names
        outside = nonfaces_of(made, split)
        assert outside <= set(names)
        assert len(outside) / len(names) == pytest.approx(0.2, abs=0.06)


def test_participants_get_pictures_and_labels_and_nothing_else(made: Path) -> None:
    for split in ("train", "test"):
        files = {path.name for path in (made / split).iterdir()}
        assert files == {"labels.csv", *read_labels(made / split / "labels.csv").names}


def test_every_non_face_is_labelled_and_only_faces_of_train_are_not(made: Path) -> None:
    for split in ("train", "test", "holdout"):
        table = read_labels(made / split / "labels.csv")
        missing = np.stack([table.codes[name] < 0 for name in ("skin_tone", "age", "gender")]).any(axis=0)
        unlabelled = {name for name, gone in zip(table.names, missing, strict=True) if gone}
        assert not unlabelled & nonfaces_of(made, split)
        assert bool(unlabelled) == (split == "train")


def test_faces_lose_all_labels_or_one(made: Path) -> None:
    table = read_labels(made / "train" / "labels.csv")
    missing = np.stack([table.codes[name] < 0 for name in ("skin_tone", "age", "gender")])
    assert missing.all(axis=0).any()
    assert (missing.any(axis=0) & ~missing.all(axis=0)).any()


@pytest.mark.slow
def test_labels_do_not_tell_non_faces(embedded: Path) -> None:
    """Labels of non-faces are drawn from those of faces: no class, and no pair of classes, is theirs more often."""
    from scipy.stats import chi2_contingency

    table, outside = read_labels(embedded / "train" / "labels.csv"), nonfaces_of(embedded, "train")
    theirs = np.array([name in outside for name in table.names])
    assert theirs.sum() == 354
    for name in ("skin_tone", "age", "gender"):
        codes = table.codes[name]
        known = codes >= 0
        counts = [np.bincount(codes[known & side], minlength=codes.max() + 1) for side in (theirs, ~theirs)]
        assert chi2_contingency(np.stack(counts))[1] > 0.01
    # and they are random: the pictures of one scene do not share them
    assert len({tuple(int(table.codes[n][i]) for n in table.codes) for i in np.flatnonzero(theirs)}) > 40


@pytest.mark.slow
def test_no_file_tells_a_non_face_by_its_kind(embedded: Path) -> None:
    """Suffix, size in pixels and encoder settings are the same for all; order and number say nothing."""
    from PIL import Image

    for split in ("train", "test", "holdout"):
        names, outside = read_labels(embedded / split / "labels.csv").names, nonfaces_of(embedded, split)
        kinds = set()
        for name in names[:: 5 if split == "train" else 1]:
            with Image.open(embedded / split / name) as image:
                kinds.add((name[-5:], image.format, image.size, image.mode, tuple(sorted(image.info))))
        assert len(kinds) == 1
        places = [i for i, name in enumerate(names) if name in outside]
        assert abs(np.mean(places) / len(names) - 0.5) < 0.15


@pytest.mark.slow
def test_an_identity_that_occurs_once_is_not_a_non_face(embedded: Path) -> None:
    """Non-faces share made-up identities of the sizes that persons have, in the organiser's own files too."""
    for split in ("test", "holdout"):
        people, outside = people_of(embedded, split), nonfaces_of(embedded, split)
        sizes = Counter(people.values())
        faces = {sizes[who] for name, who in people.items() if name not in outside}
        others = {sizes[who] for name, who in people.items() if name in outside}
        assert others <= faces
        assert not {people[n] for n in outside} & {who for n, who in people.items() if n not in outside}


@pytest.mark.slow
def test_the_organiser_scores_the_public_test_over_persons(embedded: Path, tmp_path: Path) -> None:
    labels = embedded / "test" / "labels.csv"
    found = score_files(labels, labels, replicates=100)
    assert found.clustered and found.clusters == 151  # 120 persons, 31 made-up identities of non-faces
    assert found.notes == ()
    (tmp_path / "labels.csv").write_bytes(labels.read_bytes())  # what a participant has
    assert not score_files(tmp_path / "labels.csv", labels, replicates=100).clustered


def test_twins_are_in_train_alone_and_every_picture_is_read_back(made: Path, population: Dataset) -> None:
    own = [sample for sample in population if sample.attributes["split"] == "train"]
    faces = sum(sample.attributes["part"] in ("portraits", "twins") for sample in own)
    assert len(set(people_of(made, "train").values())) > 1
    train = read_challenge(made, "train")
    assert len(train) == pytest.approx(faces / 0.8, abs=1)
    assert all(sample.load().shape == (256, 256, 3) for sample in train)


def test_a_cutting_touches_no_face(population: Dataset) -> None:
    (scene,) = [s for s in population if s.attributes["part"] == "groups" and s.attributes["split"] == "test"]
    pictures = _nonfaces(population, "test", 12, np.random.default_rng(0))
    cuttings = [picture.cut for picture in pictures if picture.source is scene and picture.cut is not None]
    assert len(cuttings) >= 3
    for left, top in cuttings:
        assert not (left < 460 and left + 256 > 400 and top < 330 and top + 256 > 250)
        assert left % 16 == 0 and top % 16 == 0  # on the compression's grid, like whole pictures


def test_pictures_of_another_size_are_written_at_the_same_one(population: Dataset, tmp_path: Path) -> None:
    larger = [
        Sample(s.id, ArrayImage(np.repeat(np.repeat(s.load(), 2, 0), 2, 1)), 512, 512, s.subjects, s.attributes)
        if s.attributes["part"] == "portraits"
        else s
        for s in population
    ]
    write_challenge(tmp_path / "data", Dataset(population.card, larger))
    assert {sample.load().shape for sample in read_challenge(tmp_path / "data", "test")} == {(256, 256, 3)}


def test_the_same_seed_makes_the_same_files(population: Dataset, made: Path, tmp_path: Path) -> None:
    write_challenge(tmp_path / "again", population, unlabelled=0.4)
    for file in sorted(made.rglob("*")):
        if file.is_file():
            assert (tmp_path / "again" / file.relative_to(made)).read_bytes() == file.read_bytes()


def test_an_existing_folder_is_refused(population: Dataset, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(InputError, match="exists already"):
        write_challenge(tmp_path, population)
    assert (tmp_path / "mine.txt").read_text() == "kept"


def test_the_adapter_keeps_what_is_known(challenge: Path, tmp_path: Path) -> None:
    data = read_challenge(challenge, "test")
    (person,) = next(sample for sample in data if sample.id == "h003.png").subjects
    assert person.attributes["skin_tone"] == "monk_4"
    (tmp_path / "h003.png").write_bytes((challenge / "test" / "h003.png").read_bytes())
    (tmp_path / "labels.csv").write_text("name,skin_tone,gender,age\nh003.png,,,\n")
    (unlabelled,) = read_challenge(tmp_path)
    assert unlabelled.subjects == ()
    assert unlabelled.attributes["labelled"] == "no"


def test_a_missing_split_names_those_that_are_there(challenge: Path) -> None:
    with pytest.raises(InputError, match="there is train, test, holdout"):
        read_challenge(challenge, "validation")


def test_a_name_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("name,skin_tone,gender,age\n../x.png,monk_1,male,0_17\n")
    with pytest.raises(InputError, match="leads out"):
        read_challenge(tmp_path)
