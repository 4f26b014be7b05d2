"""`countenance data index`: every kind of source gives the same samples, in parts, with a fingerprint of the parts."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from countenance.cli.app import run as command
from countenance.data import Dataset, load_dataset
from countenance.data.image import EncodedImage, LazyImage, encode_png
from countenance.data.index import index_dataset, open_source
from countenance.data.indexed_dataset import IndexedDataset
from countenance.data.manifest import StoredImage, read_manifest
from countenance.data.manifest_writer import ManifestWriter
from countenance.data.sample import truth
from countenance.errors import InputError
from countenance.run import Run, evaluate
from countenance.testing import small_dataset, write_small_dataset
from countenance.view.dataset import Indexed

MODEL = "countenance.testing:DiscDetector"


@pytest.fixture(scope="module")
def discs() -> Dataset:
    return small_dataset(30, size=16)


def record(sample) -> dict:
    subject = sample.subjects[0]
    return {"identity": subject.identity, "face_box": subject.face_box.tolist(), **subject.attributes}


def hugging_face(dataset: Dataset, out: Path) -> Path:
    """What `datasets` writes with save_to_disk: a dictionary of two splits, labels as numbers, pictures as records."""
    names = ["female", "male"]
    for split, part in (("train", dataset[:20]), ("test", dataset[20:])):
        folder = out / split
        folder.mkdir(parents=True)
        rows = [
            {"id": s.id, "image": {"bytes": encode_png(s.load()), "path": None}, **record(s)}
            | {"gender": names.index(s.subjects[0].attributes["gender"])}
            for s in part
        ]
        table = pa.Table.from_pylist(rows)
        half = len(rows) // 2
        files = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
        for name, piece in zip(files, (table[:half], table[half:]), strict=True):
            with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(piece)
        features = {"image": {"_type": "Image"}, "gender": {"_type": "ClassLabel", "names": names}}
        (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in files]}))
    (out / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    return out


def web_dataset(dataset: Dataset, out: Path) -> Path:
    out.mkdir(parents=True)
    for k, part in enumerate((dataset[:20], dataset[20:])):
        with tarfile.open(out / f"shard-{k:04d}.tar", "w") as tar:
            for s in part:
                for ending, content in (("png", encode_png(s.load())), ("json", json.dumps(record(s)).encode())):
                    member = tarfile.TarInfo(f"{s.id}.{ending}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    return out


def parquet(dataset: Dataset, out: Path) -> Path:
    rows = [{"id": s.id, "image": encode_png(s.load()), **record(s)} for s in dataset]
    pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=7)
    return out


def plain(sample, *without: str) -> dict:
    told = truth(sample)
    told["id"] = told["id"].rpartition("/")[2]
    for subject in told["subjects"]:
        subject["attributes"] = {k: v for k, v in subject["attributes"].items() if k not in without}
    return told


@pytest.mark.parametrize("make", [hugging_face, web_dataset, parquet])
@pytest.mark.parametrize("embed", [None, True])
def test_every_kind_of_source_gives_the_same_samples(discs: Dataset, tmp_path: Path, make, embed) -> None:
    source = make(discs, tmp_path / f"source{'.parquet' if make is parquet else ''}")
    manifest = index_dataset(open_source(source), tmp_path / "manifest", embed=embed)
    found = list(manifest)
    assert [plain(s, "split") for s in found] == [plain(s) for s in discs]
    assert all(np.array_equal(one.load(), other.load()) for one, other in zip(found, discs, strict=True))
    lies = isinstance(found[0].image, LazyImage)
    assert lies == (make is web_dataset and embed is None), "pictures stay in their tar unless they are wanted inside"
    if make is hugging_face:
        assert [s.subjects[0].attributes["split"] for s in found] == ["train"] * 20 + ["test"] * 10


def test_a_manifest_is_loaded_like_any_dataset(tmp_path: Path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=20, size=16)
    plain_set = load_dataset(folder)
    index_dataset(open_source(folder), tmp_path / "manifest")
    loaded = load_dataset(tmp_path / "manifest")
    assert isinstance(loaded, IndexedDataset) and len(loaded) == 20 and loaded.card == plain_set.card
    assert loaded.attribute_names() == plain_set.attribute_names()
    assert [truth(s) for s in loaded] == [truth(s) for s in plain_set]
    assert loaded[3].id == plain_set[3].id and loaded[-1].id == plain_set[19].id and len(loaded[2:5]) == 3
    with pytest.raises(IndexError):
        loaded[20]


def test_the_fingerprint_is_of_the_partitions(discs: Dataset, tmp_path: Path) -> None:
    def made(name: str, samples, partition: int = 10) -> str:
        return ManifestWriter(tmp_path / name, discs.card, partition=partition).write(samples).fingerprint()

    assert made("a", discs) == made("b", discs)
    assert made("c", discs[:29]) != made("a2", discs) == made("b2", discs)
    assert len(read_manifest(tmp_path / "a").partitions) == 3


def test_a_run_on_a_manifest_has_the_rows_of_one_on_the_folder(tmp_path: Path, s3: str) -> None:
    folder = write_small_dataset(tmp_path / "set", n=90, size=16)
    whole = evaluate(MODEL, "face_localization", folder, out=tmp_path / "whole", batch=4)
    index_dataset(open_source(folder), tmp_path / "manifest")
    index_dataset(open_source(folder), "s3://tests/index/manifest")
    for data in (tmp_path / "manifest", "s3://tests/index/manifest"):
        out = tmp_path / f"run-{str(data)[:2]}"
        found = evaluate(MODEL, "face_localization", data, out=out, batch=4, workers=2, threads=1)
        assert found.scores().equals(whole.scores())
        assert len(found.manifest.dataset.pictures) == 64
        assert next(iter(found.dataset())).id == "s00000"
    here, there = (Run(tmp_path / f"run-{name}").manifest.dataset for name in (str(tmp_path)[:2], "s3"))
    assert here.pictures == there.pictures == whole.manifest.dataset.pictures, "the same pictures, wherever they are"


def test_the_commands_of_a_large_dataset(tmp_path: Path, capsys) -> None:
    folder, out = write_small_dataset(tmp_path / "set", n=30, size=16), tmp_path / "manifest"
    assert command(["data", "index", str(folder), "--out", str(out), "-q"]) == 0
    assert "30 images in 1 partition" in capsys.readouterr().out
    assert command(["data", "index", str(folder), "--out", str(out), "-q"]) == 2
    assert "holds a manifest already" in capsys.readouterr().err
    run = ["run", "face_localization", "--model", MODEL, "--data", str(out), "--out", str(tmp_path / "run"), "-q"]
    assert command([*run, "--by", "skin_tone"]) == 0
    assert command([*run, "--by", "skin_tune"]) == 2 and "did you mean skin_tone" in capsys.readouterr().err


def test_an_index_that_was_killed_is_made_again(discs: Dataset, tmp_path: Path) -> None:
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest/part-00000.parquet").write_bytes(b"half")
    source = parquet(discs, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"dataset\.json: missing"):
        read_manifest(tmp_path / "manifest")
    assert len(index_dataset(open_source(source), tmp_path / "manifest")) == 30


def test_ids_must_be_unique(discs: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the id 's00003' names several images"):
        ManifestWriter(tmp_path / "m", discs.card, partition=10).write([*discs, discs[3]])
    assert not (tmp_path / "m/dataset.json").exists()


def test_pictures_inside_are_read_a_row_group_at_a_time(discs: Dataset, tmp_path: Path) -> None:
    manifest = ManifestWriter(tmp_path / "m", discs.card).write(
        type(s)(f"{k}-{s.id}", s.image, s.width, s.height, s.subjects) for k in range(10) for s in discs
    )
    samples = manifest.rows(0, 0, 300)
    assert isinstance(samples[0].image, StoredImage)
    file = samples[0].image.file
    assert file.group[0] == -1, "no picture is read before it is needed"
    samples[150].load()
    assert file.group[0] == 1 and len(file.group[1]) == 100


def test_a_picture_that_changed_after_it_was_indexed_is_a_failed_image(discs: Dataset, tmp_path: Path) -> None:
    web = web_dataset(discs, tmp_path / "web")
    picture = tmp_path / "a.png"
    picture.write_bytes(encode_png(discs[0].load()))
    sample = type(discs[0])("a", LazyImage(picture), 16, 16, discs[0].subjects, {}, "0" * 64)
    with pytest.raises(InputError, match="has changed since the dataset was made"):
        sample.load_checked()
    assert open_source(web).kind == "WebDataset"


def broken_dict(folder: Path, discs: Dataset) -> Path:
    hugging_face(discs, folder)
    (folder / "train/data-00000-of-00002.arrow").write_bytes(b"not arrow")
    return folder


def lost_file(folder: Path, discs: Dataset) -> Path:
    hugging_face(discs, folder)
    (folder / "test/data-00001-of-00002.arrow").unlink()
    return folder


def outside(folder: Path, discs: Dataset) -> Path:
    hugging_face(discs, folder)
    (folder / "dataset_dict.json").write_text('{"splits": ["../../etc"]}')
    return folder


def no_pictures(folder: Path, discs: Dataset) -> Path:
    folder.mkdir()
    pq.write_table(pa.table({"id": ["a"], "age": [3]}), folder / "a.parquet")
    return folder


def no_image_in_sample(folder: Path, discs: Dataset) -> Path:
    folder.mkdir()
    with tarfile.open(folder / "a.tar", "w") as tar:
        for name in ("a.png", "b.json"):
            member = tarfile.TarInfo(name)
            member.size = 2
            tar.addfile(member, io.BytesIO(b"{}"))
    return folder


def cut_tar(folder: Path, discs: Dataset) -> Path:
    web_dataset(discs, folder)
    tar = folder / "shard-0001.tar"
    tar.write_bytes(tar.read_bytes()[:3000])
    return folder


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (broken_dict, "not a readable Arrow file"),
        (lost_file, "missing"),
        (outside, "leads out of its folder"),
        (no_pictures, "no column of pictures"),
        (no_image_in_sample, "no picture"),
        (cut_tar, "not a readable tar"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_leaves_no_manifest(
    discs: Dataset, tmp_path: Path, capsys, make, message
) -> None:
    source = make(tmp_path / "source", discs)
    assert command(["data", "index", str(source), "--out", str(tmp_path / "m"), "-q"]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1
    assert not (tmp_path / "m/dataset.json").exists()


def test_look_ahead_has_a_budget_of_bytes(discs: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    from countenance.run import feeding
    from countenance.run.shard import grouped

    decoded: list[str] = []

    class Counting(EncodedImage):
        def read_bytes(self) -> bytes:
            decoded.append(self.name)
            return super().read_bytes()

    samples = [type(s)(s.id, Counting(encode_png(s.load()), s.id), s.width, s.height, s.subjects) for s in discs]

    def most_ahead(budget: int) -> int:
        import time

        decoded.clear()
        monkeypatch.setattr(feeding, "BUDGET", budget)
        most = 0
        for k, _ in enumerate(feeding.by_thread(grouped(samples, 5))):
            time.sleep(0.05)
            most = max(most, len(decoded) - 5 * (k + 1))
        return most

    assert most_ahead(10**9) == 10  # two batches
    assert most_ahead(16 * 16 * 3 * 5) <= 5  # one batch
    assert most_ahead(1) <= 5  # a single batch is always allowed


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda table: table.drop_columns(["attributes"]), "no column attributes, expected string"),
        (lambda table: table.set_column(5, "width", pa.array(["wide"] * 12)), "column width holds string"),
        (lambda table: table.set_column(9, "subjects", pa.array(["["] * 12)), "damaged .JSONDecodeError"),
        (lambda table: table.set_column(9, "subjects", pa.array([None] * 12, pa.string())), "damaged .TypeError"),
        (lambda table: table.slice(0, 5), "5 rows, the manifest says 12"),
        (lambda table: table.append_column("attributes", table["attributes"]), "two columns of one name"),
        (lambda table: table.set_column(6, "height", pa.nulls(12, pa.int32())), "only one of width and height"),
    ],
)
def test_a_damaged_partition_is_refused_by_name(discs: Dataset, tmp_path: Path, damage, message) -> None:
    ManifestWriter(tmp_path / "m", discs.card, embed=True).write(list(discs)[:12])
    place = tmp_path / "m" / "part-00000.parquet"
    pq.write_table(damage(pq.read_table(place)), place)
    with pytest.raises(InputError, match=message):
        list(read_manifest(tmp_path / "m"))
    if "rows" not in message:  # as the viewer reads it
        with pytest.raises(InputError, match=message):
            Indexed(read_manifest(tmp_path / "m")).some([discs[0].id])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 10**29}, "dataset.json: damaged .a partition named 1000"),
        ({"name": None}, "dataset.json: damaged .a partition named None"),
        ({"sha256": ["x"]}, "dataset.json: damaged .a partition named"),
        ({"name": "../outside.parquet"}, "leads out of it"),
    ],
)
def test_a_partition_is_named_by_text_that_stays_in_the_folder(
    discs: Dataset, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    ManifestWriter(tmp_path / "set", discs.card, embed=True).write(list(discs)[:12])
    place = tmp_path / "set" / "dataset.json"
    index = json.loads(place.read_text())
    index["partitions"][0] |= change
    place.write_text(json.dumps(index))
    with pytest.raises(InputError, match=message):
        read_manifest(tmp_path / "set")


def test_a_tar_of_a_folder_is_one_wherever_its_table_stands(tmp_path: Path) -> None:
    """`tar cf faces.tar faces` puts files in the order of the disk: the table may come after hundreds of pictures."""
    folder = write_small_dataset(tmp_path / "discs", n=60)
    with tarfile.open(tmp_path / "discs.tar", "w") as tar:
        for path in sorted(folder.rglob("*"), key=lambda path: (path.suffix != ".png", path.name)):
            if path.is_file():
                tar.add(path, f"discs/{path.relative_to(folder)}")
    assert open_source(tmp_path / "discs.tar").kind not in ("WebDataset",)
    assert command(["data", "index", str(tmp_path / "discs.tar"), "--out", str(tmp_path / "manifest"), "--quiet"]) == 0
    assert len(load_dataset(tmp_path / "manifest")) == 60
