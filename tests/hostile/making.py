"""How items of the hostile corpus are made from good input."""

import io
import json
import os
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PWN = """
import os, pathlib
pathlib.Path(os.environ["CANARY"]).write_text("code of a stranger ran")
x = X = model = task = lambda *_, **__: None
"""
ACTING = "<script>alert(1)</script>\x1b[31m\u202e\x00=cmd|' /C calc'!A0"
Make = Callable[[Path], None]


def make_good(folder: Path) -> None:
    """The good input that items are made from."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from countenance.answers import Boxes
    from countenance.data import load_dataset
    from countenance.data.image import decode
    from countenance.run import audit_run, evaluate, store_audit
    from countenance.testing import DiscDetector, write_small_dataset

    data = write_small_dataset(folder / "set", n=24, size=32)
    (folder / "pwn.py").write_text(PWN)
    (folder / "gone.txt").write_text("id0003\n")
    (folder / "gate.yaml").write_text("insufficient: warn\nrules:\n- estimate: {metric: recall@0.5, at_least: 0.1}\n")
    rows = []
    for sample in load_dataset(data):
        x0, y0, x1, y1 = sample.subjects[0].face_box.tolist()
        rows.append({"image": sample.id, "x0": x0, "y0": y0, "x1": x1, "y1": y1, "score": 0.9})
    pq.write_table(pa.Table.from_pylist(rows), folder / "boxes.parquet")
    lines = [",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in rows)]
    (folder / "boxes.csv").write_text("\n".join(lines) + "\n")
    (folder / "boxes.json").write_text(
        json.dumps([{"image_id": row["image"], "bbox": [1, 1, 9, 9], "category_id": 1, "score": 0.5} for row in rows])
    )
    found = DiscDetector()

    def stumbling(images: Any) -> Any:
        """A detector that fails on one picture, so that the run has a failed image."""
        if any(int(image.sum()) == troublesome for image in images):
            raise ValueError("a picture that the detector refuses")
        return found(images)

    troublesome = int(decode(next(iter(load_dataset(data))).image.read_bytes()).sum())
    for name, model in (("run", stumbling), ("other", lambda images: [Boxes([[1, 1, 9, 9]]) for _ in images])):
        made = evaluate(model, "face_localization", data, out=folder / name, shard=16)
        store_audit(made, audit_run(made, by=["gender"], adjust="holm"))


def resealed(folder: Path) -> None:
    """Write the list of hashes again, as an attacker does: hashes do not say who wrote them."""
    from countenance.run.store import RunStore

    RunStore(folder).seal()


def edit(name: str, change: Callable[[Any], Any], *, seal: bool = True) -> Make:
    """Change a JSON file of the run."""

    def make(folder: Path) -> None:
        path = folder / "run" / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
        if seal:
            resealed(folder / "run")

    return make


def replace(name: str, content: bytes | str, *, seal: bool = True) -> Make:
    """Put other content in place of a file."""

    def make(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if seal and name.startswith("run/"):
            resealed(folder / "run")

    return make


def instead(name: str, put: Callable[[Path], object]) -> Make:
    """Put something that is no file in place of a file."""

    def make(folder: Path) -> None:
        path = folder / name
        if path.exists():
            path.unlink()
        put(path)

    return make


def table(name: str, columns: Callable[[], dict[str, Any]], **options: Any) -> Make:
    """Put another Parquet table in place of a file."""

    def make(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns()), folder / name, compression="zstd", store_schema=False, **options)
        if name.startswith("run/"):
            resealed(folder / "run")

    return make


def many_rows() -> dict[str, Any]:
    """600 million rows of one value: some kilobytes on disk, gigabytes in memory."""
    import numpy as np
    import pyarrow as pa

    zeros = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int8)), ["s"])
    numbers = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int8)), pa.array([0.5]))
    return {
        "sample": zeros,
        "subject": zeros,
        "identity": zeros,
        "attr.gender": zeros,
        "m.recall@0.5": numbers,
        **{f"m.{k}": numbers for k in range(40)},
    }


def long_text() -> dict[str, Any]:
    """One word of 4 MB in each of 20,000 rows."""
    import numpy as np
    import pyarrow as pa

    word = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), ["x" * 4_000_000])
    return {"sample": word, "subject": word, "identity": word, "attr.gender": word, "m.recall@0.5": [0.5] * 20_000}


def tar(name: str, *members: tarfile.TarInfo, content: bytes = b"x", mode: str = "") -> Make:
    """An archive in place of the dataset."""

    def make(folder: Path) -> None:
        with tarfile.open(folder / name, f"w:{mode}") as stored:
            for member in members:
                member.size = len(content) if member.isfile() else 0
                stored.addfile(member, io.BytesIO(content) if member.isfile() else None)

    return make


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def picture_bomb(folder: Path) -> None:
    """A PNG that says that it is 60,000 pixels wide and high."""
    import struct
    import zlib

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10_000))) + chunk(b"IEND", b"")
    for path in list((folder / "set" / "images").iterdir())[:3]:
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + data)


def labels(change: Callable[[str], str]) -> Make:
    """Other labels of the dataset."""

    def make(folder: Path) -> None:
        path = folder / "set" / "labels.csv"
        path.write_text(change(path.read_text()))

    return make


class Pwned:
    """A pickle that runs code when it is read."""

    def __reduce__(self) -> Any:
        return os.system, (f"touch {os.environ.get('CANARY', '/nowhere')}",)


def pickled(name: str) -> Make:
    def make(folder: Path) -> None:
        (folder / name).write_bytes(pickle.dumps(Pwned()))

    return make


def deep(depth: int = 20_000) -> str:
    return "[" * depth + "]" * depth


def yaml_bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    names = "abcdefghi"
    lines += [f"{names[k]}: &{names[k]} [{', '.join([f'*{names[k - 1]}'] * 9)}]" for k in range(1, 9)]
    return "\n".join([*lines, "rules: *i"])


def forged(folder: Path) -> None:
    """A `local.json` as its attacker wishes it, with a mark that they made up."""
    local = {"source": "/usr", "paths": {"data": "/usr"}, "code": str(folder), "salt": "x", "mark": "0" * 64}
    (folder / "run" / "local.json").write_text(json.dumps(local))


def named(task: str) -> Callable[[Any], Any]:
    return lambda found: found | {"task": task, "task_source": task, "metrics": None}


def table_edited(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "run" / "scores.parquet"
    found = pq.read_table(path)
    place = found.column_names.index("m.recall@0.5")
    pq.write_table(found.set_column(place, "m.recall@0.5", pa.array([1.0] * found.num_rows)), path)


def column(name: str, kind: str, value: Any) -> Make:
    """One value of another kind in a whole column of the score table."""

    def make(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = folder / "run" / "scores.parquet"
        rows = pq.read_table(path)
        values = pa.array([value] * rows.num_rows, getattr(pa, kind)())
        pq.write_table(rows.set_column(rows.column_names.index(name), name, values), path)
        resealed(folder / "run")

    return make


def unfinished_and_edited(folder: Path) -> None:
    """An edited table in a run that says that it did not finish, so that it has no hashes yet."""
    table_edited(folder)
    edit("run.json", lambda manifest: manifest | {"status": "running"}, seal=False)(folder)


def no_format(folder: Path) -> None:
    edit("run.json", lambda m: {name: value for name, value in m.items() if name != "format"}, seal=False)(folder)
    (folder / "run" / "files.json").unlink()


def acting(manifest: Any) -> Any:
    card = manifest["dataset"]["card"] | {"name": ACTING, "licence": ACTING, "warning": ACTING, "citation": ACTING}
    model = manifest["model"] | {"name": ACTING, "licence": ACTING, "description": ACTING}
    return manifest | {"model": model, "dataset": manifest["dataset"] | {"card": card}, "notes": [ACTING] * 3}


def filled(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "theirs.txt").write_text("not ours")


def linked_folder(folder: Path) -> None:
    (folder / "run" / "answers").rename(folder / "outside" / "answers")
    (folder / "run" / "answers").symlink_to(folder / "outside" / "answers")


def as_dataset(name: str, content: str) -> Make:
    """Only this file in place of the dataset."""

    def make(folder: Path) -> None:
        (folder / "set" / "labels.csv").unlink()
        (folder / "set" / name).write_text(content)

    return make


def yolo(names: str) -> Make:
    def make(folder: Path) -> None:
        (folder / "set" / "labels.csv").unlink()
        for path in (folder / "set" / "images").iterdir():
            path.with_suffix(".txt").write_text("0 0.5 0.5 0.2 0.2\n")
        (folder / "set" / "data.yaml").write_text(names)

    return make


def voc(text: str) -> Make:
    def make(folder: Path) -> None:
        (folder / "set" / "labels.csv").unlink()
        for path in (folder / "set" / "images").iterdir():
            path.with_suffix(".xml").write_text(text)

    return make
