"""What an entry answers, with networks whose numbers are known; the pixels they see; files, hashes and formats."""

import hashlib
import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from countenance.answers import Labels
from countenance.answers.formats.bias_bounty import BIAS_BOUNTY
from countenance.data import Sample, Subject
from countenance.data.adapters import bias_bounty as layout
from countenance.data.adapters import bias_bounty_files as files
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, Truth
from countenance.data.image import ArrayImage, encode_png
from countenance.errors import InputError
from countenance.suites.bias_bounty import entry as entries
from countenance.suites.bias_bounty import task
from countenance.suites.bias_bounty import timing as timings
from countenance.suites.bias_bounty.entry import EntryCard, EntryNetwork, network_input, predict_files, random_classes
from countenance.suites.bias_bounty.scoring import Draws, Score, score_files, score_tables
from countenance.suites.bias_bounty.task import ScoredFiles

HEADER = "name,skin_tone,gender,age\n"


class Session:
    """A network whose outputs follow the first pixel: tone p mod 10, age p mod 4, gender p mod 2; face p − 100."""

    seen: list[int]

    def __init__(self, *_: Any) -> None:
        self.seen = []

    def get_inputs(self) -> list[Any]:
        return [types.SimpleNamespace(name="images", type="tensor(float)")]

    def get_outputs(self) -> list[Any]:
        return [types.SimpleNamespace(name=name) for name in (*ATTRIBUTES, "face")]

    def run(self, outputs: list[str], given: dict[str, Any]) -> list[Any]:
        pixels = given["images"]
        self.seen.append(len(pixels))
        value = pixels[:, 0, 0, 0].astype(int)
        made = {name: np.eye(len(CLASSES[name]), dtype=np.float32)[value % len(CLASSES[name])] for name in ATTRIBUTES}
        made["face"] = np.stack([value - 100.0, -value], axis=1)
        return [made[name] for name in outputs]


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> entries.BountyEntry:
    monkeypatch.setattr(entries, "open_session", Session)
    network = EntryNetwork(file="a.onnx", size=8, outputs=(*ATTRIBUTES, "face"))
    card = EntryCard(name="e", kind="supervised", networks=(network,), face_output="face")
    assert card.face_threshold == 0.0
    (tmp_path / "entry.json").write_text(card.model_dump_json())
    (tmp_path / "a.onnx").write_bytes(b"\n\x01n")
    return entries.BountyEntry(tmp_path)


def flat(value: int) -> np.ndarray:
    return np.full((8, 8, 3), value, np.uint8)


def test_a_picture_at_the_threshold_is_answered_and_one_below_gets_random_classes(entry: Any) -> None:
    images = [flat(value) for value in (100, 99, 103, 117)]
    assert entry.classes(images) == [
        {"skin_tone": 0, "age": 0, "gender": 0},
        random_classes(flat(99)),
        {"skin_tone": 3, "age": 3, "gender": 1},
        {"skin_tone": 7, "age": 1, "gender": 1},
    ]
    assert entry.classes([]) == []
    assert entry(images[2:3]) == [Labels({"skin_tone": "monk_4", "age": "61_100", "gender": "male"})]
    entry.card = entry.card.model_copy(update={"face_output": None})
    assert entry.classes([flat(99)]) == [{"skin_tone": 9, "age": 3, "gender": 1}]


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (lambda part: part.astype(str).astype(object), "is object, expected numbers"),
        (lambda part: list(part), "is list, expected numbers"),
        (
            lambda part: np.vstack([part, part]),
            r"has the shape \(4, .*, expected a row of numbers for each of 2 images",
        ),
        (lambda part: np.asarray(part.mean()), r"has the shape \(\)"),
        (lambda part: part[:, :0], "has the shape"),
        (lambda part: part[:1], "has the shape"),
        (lambda part: part * np.nan, "has values that are not a number"),
    ],
)
@pytest.mark.parametrize("output", ["age", "face"])
def test_outputs_that_are_no_row_of_numbers_for_each_image_are_refused(entry: Any, odd: Any, why: str, output: str):
    (_, session, _), run = entry.sessions[0], entry.sessions[0][1].run
    order = (*ATTRIBUTES, "face")

    def answered(outputs: list[str], given: dict[str, Any]) -> list[Any]:
        parts = run(list(order), given)
        parts[order.index(output)] = odd(parts[order.index(output)])
        return parts

    session.run = answered
    with pytest.raises(InputError, match=f"output '{output}' ({why})"):
        entry([flat(100), flat(101)])


@pytest.mark.parametrize("size", [-3, 0, 4097])
def test_a_network_of_an_impossible_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="size"):
        EntryNetwork(file="a.onnx", size=size, outputs=ATTRIBUTES)


def test_a_network_may_take_bytes_and_one_that_takes_something_else_is_refused(tmp_path: Path) -> None:
    """The input is float32 or uint8 and called images; what fails while it runs names the file, in one line."""
    onnx = pytest.importorskip("onnx")
    from tests.suites.bias_bounty.written_entries import write_entry

    picture = np.full((20, 20, 3), 200, np.uint8)
    expected = entries.BountyEntry(write_entry(tmp_path / "floats"))([picture])
    model = onnx.load(tmp_path / "floats" / "net.onnx")
    kinds = onnx.TensorProto

    def changed(name: str, kind: int, source: str = "images", size: int = 8) -> Path:
        other = onnx.ModelProto.FromString(model.SerializeToString())
        graph = other.graph
        graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info(source, kind, ["n", 3, size, size]))
        for node in graph.node:
            node.input[:] = ["cast" if part == "images" else part for part in node.input]
        graph.node.insert(0, onnx.helper.make_node("Cast", [source], ["cast"], to=kinds.FLOAT))
        (tmp_path / name).mkdir()
        onnx.save(other, tmp_path / name / "net.onnx")
        (tmp_path / name / "entry.json").write_text((tmp_path / "floats" / "entry.json").read_text())
        return tmp_path / name

    assert entries.BountyEntry(changed("bytes", kinds.UINT8))([picture]) == expected
    with pytest.raises(InputError, match=r"net\.onnx: has the input images \(tensor\(double\)\); expected one that is"):
        entries.BountyEntry(changed("doubles", kinds.DOUBLE))
    with pytest.raises(InputError, match=r"net\.onnx: has the input pixels \(tensor\(float\)\)"):
        entries.BountyEntry(changed("pixels", kinds.FLOAT, "pixels"))
    with pytest.raises(InputError, match=r"floats: net\.onnx fails on \(1, 3, 8, 8\): "):
        entries.BountyEntry(changed("larger", kinds.FLOAT, size=32))([picture])


def test_sixteen_pictures_are_in_memory_at_a_time(entry: Any, tmp_path: Path) -> None:
    paths = {f"{k}.png": tmp_path / f"{k}.png" for k in range(35)}
    for k, path in enumerate(paths.values()):
        path.write_bytes(encode_png(flat(100 + k)))
    steps: list[int] = []
    found = predict_files(entry, paths, steps.append)
    assert steps == [16, 16, 3] and [row["skin_tone"] for row in found] == [f"monk_{k % 10 + 1}" for k in range(35)]
    (_, session, _), *_ = entry.sessions
    session.seen.clear()
    whole = entry.outputs([flat(k) for k in range(35)])
    assert session.seen == [16, 16, 3] and whole["face"][:, 0].tolist() == [k - 100 for k in range(35)]


def test_random_classes_are_eight_bytes_of_the_hash_for_each_attribute() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    number = int.from_bytes(hashlib.sha256("5×7×3:".encode() + pixels.tobytes()).digest(), "big")
    first, second, third = (number >> shift & (2**64 - 1) for shift in (192, 128, 64))
    assert random_classes(pixels) == {"skin_tone": first % 10, "age": second % 4, "gender": third % 2}


def test_an_entry_is_known_by_the_names_sizes_and_content_of_its_files(entry: Any, tmp_path: Path) -> None:
    card = (tmp_path / "entry.json").read_bytes()
    expected = hashlib.sha256(b"entry.json\0%d\0" % len(card) + card + b"a.onnx\0003\0\n\x01n").hexdigest()
    assert entries.entry_hash(tmp_path) == expected
    twice = EntryNetwork(file="a.onnx", size=8, outputs=("age", *ATTRIBUTES))
    (tmp_path / "entry.json").write_text(EntryCard(name="e", kind="supervised", networks=(twice,)).model_dump_json())
    with pytest.raises(InputError, match="output 'age' comes 2 times, expected once"):
        entries.BountyEntry(tmp_path)


def test_pictures_are_averaged_when_they_shrink_and_interpolated_otherwise() -> None:
    rng = np.random.default_rng(3)
    for shape, how in (
        ((20, 24), "BOX"),
        ((9, 40), "BOX"),
        ((8, 40), "BILINEAR"),
        ((40, 8), "BILINEAR"),
        ((5, 6), "BILINEAR"),
    ):
        image = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
        expected = np.asarray(Image.fromarray(image).resize((8, 8), Image.Resampling[how]))
        assert (network_input([image], 8)[0] == expected.transpose(2, 0, 1)).all()
    assert network_input([image, image], 8).shape == (2, 3, 8, 8)


def test_a_folder_without_pictures_is_refused_with_six_of_the_suffixes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no picture in it \(\.\w+(, \.\w+){5}, …\)"):
        entries.image_files(tmp_path)


def test_problems_are_told_with_three_examples(tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("a\nb\na\nb\n\nc\nc\n")
    with pytest.raises(InputError, match=r"duplicate names: 3 \(a \(name 3\), b \(name 4\), c \(name 6\)\)\. Write"):
        files.read_names(tmp_path / "n.txt")
    (tmp_path / "labels.csv").write_text(HEADER + "a,monk_1,,0_17\nb,,female,61_100\n")
    table = files.read_labels(tmp_path / "labels.csv")
    assert [table.words(k) for k in (0, 1)] == [
        {"skin_tone": "monk_1", "age": "0_17"},
        {"age": "61_100", "gender": "female"},
    ]
    (tmp_path / "p.csv").write_text(HEADER + "a,monk_1,male,0_17\nb,monk_1,male,0_17\n")
    with pytest.raises(InputError) as caught:
        files.read_predictions(tmp_path / "p.csv", ["a", "b", "b", "c"])
    assert "missing names: 1 (c); wrong count of rows: 1 (2 rows, expected 3)." in str(caught.value)


def test_pictures_are_measured_only_where_sizes_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(HEADER + "a.png,monk_1,male,0_17\nb.png,,,\nc.png,,,\n")
    for name in "abcd":
        (tmp_path / f"{name}.png").write_bytes(encode_png(np.zeros((6, 9, 3), np.uint8)))
    (tmp_path / "outside.txt").write_text("c.png\nd.png\n")
    (tmp_path / "who.csv").write_text("name,identity\na.png,p\nb.png,q\n")
    plain = layout.read_challenge(tmp_path)
    assert [(one.width, one.height) for one in plain] == [(9, 6)] * 3
    assert [one.attributes for one in plain] == [{"labelled": "yes"}, {"labelled": "no"}, {"labelled": "no"}]
    named = [tmp_path / "outside.txt", tmp_path / "who.csv"]
    truth = layout.read_truth(tmp_path / "labels.csv", *named)
    assert [len(one.subjects) for one in truth] == [1, 1, 0, 0], "a person is known without labels too"
    assert [one.attributes.get("face") for one in truth] == ["yes", "yes", "no", "no"]
    assert {(one.width, one.height) for one in truth} == {(9, 6)}
    for given, size in ((f"{tmp_path}", (9, 6)), (f"{tmp_path}/labels.csv?pictures=no&nonfaces=outside.txt", (0, 0))):
        loaded = list(layout.load(given))
        assert {(one.width, one.height) for one in loaded} == {size}
    assert [one.id for one in loaded] == ["a.png", "b.png", "c.png", "d.png"]


def row(name: str, identity: str | None = None, **attributes: str) -> Sample:
    who = (Subject("0", identity=identity, attributes=attributes), Subject("1", identity="other"))
    return Sample(name, ArrayImage(flat(0)), 8, 8, who if attributes else ())


def test_a_shard_keeps_codes_and_the_first_person_of_each_picture() -> None:
    said = Labels({"skin_tone": "monk_3", "age": "0_17", "gender": "male"})
    pictures = [row("a", "p", skin_tone="monk_10", age="18_30"), row("b")]
    shard = types.SimpleNamespace(answered=lambda: [(one, said) for one in pictures])
    state = task.partial(shard)  # type: ignore[arg-type]
    assert state["person"].tolist() == ["p", ""] and state["name"].tolist() == ["a", "b"]
    assert [state[f"truth.{name}"].tolist() for name in ATTRIBUTES] == [[9, -1], [1, -1], [-1, -1]]
    assert [state[f"said.{name}"].tolist() for name in ATTRIBUTES] == [[2, 2], [0, 0], [1, 1]]
    (first, second), none = task.score(pictures[0], said), task.score(pictures[1], said)
    assert (first["m.correct_skin_tone"], first["m.correct_gender"], none) == (0.0, None, [])
    assert task.score(row("c", age="0_17"), said)[0]["m.correct_age"] == 1.0 and second["m.correct_age"] is None
    assert all(metric.headline for metric in task.make(Draws()).metrics)


def test_pictures_of_one_person_stay_together_in_a_run() -> None:
    said = Labels({name: CLASSES[name][0] for name in ATTRIBUTES})
    pictures = [row(name, who, age="0_17", gender="male") for name, who in (("a", "p"), ("b", "p"), ("c", None))]
    shard = types.SimpleNamespace(answered=lambda: [(one, said) for one in pictures])
    state = dict(task.partial(shard)) | {"listed": np.ones(3, bool), "nonface": np.array([False, False, True])}
    found = task.make(Draws(replicates=100)).reduce.finish(state, None)  # type: ignore[arg-type]
    assert [note[:27] for note in found.notes] == ["1 of 1 non-faces have label", "1 of 3 images have no ident"]
    (none,) = task.make(Draws(replicates=100)).reduce.finish(state | {"person": np.array(["", "", ""])}, None).notes  # type: ignore[arg-type]
    assert none.startswith("1 of 1 non-faces"), "where nobody is named every picture stands for itself"


def test_a_run_of_a_score_opens_no_picture_and_no_file_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.csv").write_text(HEADER + "".join(f"{k}.png,monk_1,male,0_17\n" for k in range(4)))
    alone = score_files(tmp_path / "labels.csv", tmp_path / "labels.csv", replicates=100)
    files = ScoredFiles.read(tmp_path / "labels.csv", tmp_path / "labels.csv")
    monkeypatch.setattr(Truth, "read", None)
    for _ in range(2):  # the second time the run is there already
        run, score = files.run(tmp_path / "run", Draws(replicates=100), "mine", lambda *_: None)
        assert str(score.to_json()) == str(alone.to_json())
    assert run.manifest.model.name == "mine" and run.manifest.model.hashed and run.scores().num_rows == 4


def test_a_score_with_its_run_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.csv").write_text(HEADER + "".join(f"{k}.png,monk_1,male,0_17\n" for k in range(4)))
    computed: list[object] = []

    def counted(*tables: object) -> Score:
        computed.append(tables)
        return score_tables(*tables)  # type: ignore[arg-type]

    monkeypatch.setattr(task, "score_tables", counted)
    files = ScoredFiles.read(tmp_path / "labels.csv", tmp_path / "labels.csv")
    files.run(tmp_path / "run", Draws(replicates=100), "mine", lambda *_: None)
    assert len(computed) == 1


def test_the_format_is_told_by_the_first_line_alone(tmp_path: Path) -> None:
    for name, text, found in (
        ("a.csv", "\ufeff" + HEADER, True),
        ("b.csv", "name,age,gender\n" + HEADER, False),
        ("c.txt", HEADER, False),
        ("d.CSV", '"age","name","gender","skin_tone","more"\n', True),
        ("e.csv", "x" * 4090 + "," + HEADER, False),
        ("f.csv", "x" * (4096 - len(HEADER)) + "," + HEADER, True),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert BIAS_BOUNTY.detects(tmp_path / name) is found, name
    assert not BIAS_BOUNTY.detects(tmp_path / "none.csv")


def test_images_are_known_by_their_names_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(HEADER + "a.png,,,\nb.png,,,\n")
    (tmp_path / "a.png").write_bytes(b"12345")
    expected = hashlib.sha256(b"a.png\x005\nb.png\x00-1\n").hexdigest()
    assert timings.images_hash(tmp_path) == expected, "a file that is not there has no size"


def test_an_entry_is_measured_alone_with_one_thread_and_five_passes(
    entry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def time_model(spec: Any, paths: list[Path], **how: Any) -> Any:
        asked.update(how, settings=spec.settings)
        raise InputError(f"{spec.source}: broken, {spec.source}")

    monkeypatch.setattr(timings, "time_model", time_model)
    (tmp_path / "0.png").write_bytes(encode_png(flat(0)))
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}: broken, {tmp_path}")):
        timings.measure(tmp_path, tmp_path)
    limits = {"seconds": 86400.0, "memory_gb": None}
    settings = {"where": str(tmp_path), "threads": 1}
    assert asked == {"passes": 5, "threads": 1, "answers": True, "settings": settings} | limits
