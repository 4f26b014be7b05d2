"""Folders and tables as people have them are read at the first try, and what was understood is said."""

from pathlib import Path

import folders_of_studies  # noqa: F401 - registers its folders
import folders_of_tools  # noqa: F401
import pytest
from folders import FOLDERS
from typer.testing import CliRunner

from countenance.cli.app import app
from countenance.data import load_dataset


def filled(name: str, root: Path) -> dict[str, object]:
    """The options of `load_dataset` for a folder, which is filled."""
    fill, options, _ = FOLDERS[name]
    root.mkdir()
    fill(root)
    labels = options.get("labels")
    if labels is None:
        return dict(options)
    files = [labels] if isinstance(labels, str) else labels
    return {**options, "labels": [root / file for file in files]}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_read_at_the_first_try(tmp_path: Path, name: str) -> None:
    root = tmp_path / "set"
    options = filled(name, root)
    dataset = load_dataset(root, **options)  # type: ignore[arg-type]
    holds = FOLDERS[name][2]
    people = [subject for sample in dataset for subject in sample.subjects]
    names = {subject.identity or f"{i}" for i, subject in enumerate(people)}
    boxed = [subject for subject in people if subject.face_box is not None or subject.person_box is not None]
    assert (
        len(dataset),
        len(boxed),
        set(dataset.attribute_names()) - {"split"} | ({"split"} if "split" in holds["attributes"] else set()),
    ) == (holds["pictures"], holds["boxes"], holds["attributes"])
    assert len(names) == max(holds["people"], holds["boxes"] if "one_column" in name else 0)
    assert all(isinstance(subject.attributes.get("age"), float | None) for subject in people)
    for subject in boxed:
        box = subject.person_box if subject.face_box is None else subject.face_box
        assert box is not None and (box[2:] > box[:2]).all() and (box >= 0).all() and box[2] <= 96 and box[3] <= 80


@pytest.mark.parametrize("name", FOLDERS)
def test_data_check_says_what_it_understood_and_exits_0(tmp_path: Path, name: str) -> None:
    root = tmp_path / "set"
    words = ["data", "check", str(root), "-q"]
    for option, value in filled(name, root).items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{option.replace('_', '-')}", str(each)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "no problem found" in result.output
    if name == "the_example_of_the_issue":
        sentence = "read 60 pictures of 15 people; boxes from xmin, ymin, xmax, ymax; attributes gender, skin"
        assert result.output.count(sentence) == 1
