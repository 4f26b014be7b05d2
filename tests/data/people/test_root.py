"""People of a folder or an archive that the renderer wrote: the columns of its second edition, and wrong roots."""

import tarfile
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from countenance.data import load_dataset
from countenance.data.people import checks
from countenance.data.people.dataset import SHIPPED
from countenance.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shipped portraits as an attack and a natural picture, in the renderer's columns."""
    root = tmp_path_factory.mktemp("people")
    samples = pq.read_table(SHIPPED / "samples.parquet").slice(0, 2)
    subjects = pq.read_table(SHIPPED / "subjects.parquet")
    names = samples["sample"].to_pylist()
    rows = samples.to_pylist()
    rows[0] |= {"part": "attacks", "attack": "phone", "exposure": "face", "stops": 0.5, "kind": None}
    rows[1] |= {"part": "natural", "attack": "none", "exposure": "face", "stops": -0.5, "kind": None}
    people = subjects.filter(pc.is_in(subjects["sample"], samples["sample"])).rename_columns(
        ["hair_style" if name == "hair" else name for name in subjects.column_names]
    )
    (root / "portraits").mkdir()
    for name in names:
        (root / f"{name}.webp").write_bytes((SHIPPED / f"{name}.webp").read_bytes())
    pq.write_table(type(samples).from_pylist(rows), root / "samples.parquet")
    pq.write_table(people, root / "subjects.parquet")
    return root


def test_a_part_is_read_from_a_folder_and_from_its_archive(folder: Path, tmp_path: Path) -> None:
    archive = tmp_path / "full.tar"
    with tarfile.open(archive, "w") as tar:
        for path in sorted(folder.rglob("*.*")):
            tar.add(path, path.relative_to(folder))
    for root in (folder, str(folder), archive):
        (sample,) = load_dataset("people:attacks", root=root)
        assert sample.attributes["attack"] == "phone" and sample.attributes["stops"] == 0.5
        assert isinstance(sample.subjects[0].attributes["hair"], str)
        assert sample.load().shape == (sample.height, sample.width, 3)
    assert len(load_dataset("people", root=folder)) == 2


def test_a_wrong_root_is_refused(folder: Path, tmp_path: Path) -> None:
    for source, root, message in (
        ("people", tmp_path / "none", "no such folder or archive"),
        ("people", tmp_path, "samples.parquet: no such file"),
        ("fairface", folder, "only people"),
        ("people:twins", folder, "has no part 'twins', only attacks, natural"),
        ("people:twin", folder, "did you mean twins"),
    ):
        with pytest.raises(InputError, match=message):
            load_dataset(source, root=root)


@pytest.mark.parametrize(("change", "everywhere"), [("light", True), ("gender", False), ("glasses", False)])
def test_a_change_may_touch_no_more_than_its_region(folder: Path, change: str, everywhere: bool) -> None:
    row = pq.read_table(folder / "subjects.parquet").to_pylist()[0]
    width, height = 256, 256
    region = checks.touched(change, row, row, width, height)
    assert region.all() == everywhere
    assert np.asarray(region).any()


def test_the_shipped_people_are_read_once_and_a_folder_each_time(folder: Path, tmp_path: Path) -> None:
    assert load_dataset("people:objects")[0] is load_dataset("people:objects")[0]
    for name in ("samples.parquet", "subjects.parquet"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert len(load_dataset("people", root=tmp_path)) == 2
    samples = pq.read_table(tmp_path / "samples.parquet")
    pq.write_table(samples.slice(0, 1), tmp_path / "samples.parquet")
    assert len(load_dataset("people", root=tmp_path)) == 1
