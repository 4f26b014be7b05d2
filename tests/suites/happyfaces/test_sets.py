"""Making and reading sets: printed words, lists, archives, sizes, people; predictions and runs made from them."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.data.adapters import happyfaces_layout as dataset
from countenance.data.adapters.happyfaces_layout import SETS, TAGS, HappyFaces, make_photos
from countenance.data.image import ArrayImage, encode_png
from countenance.data.sample import Sample, Subject
from countenance.errors import InputError
from countenance.suites.happyfaces import people, predictions, printed_sets
from countenance.suites.happyfaces.runs import record_of


def place_of(photo: np.ndarray) -> tuple[int, int, int, int]:
    rows, columns = np.nonzero(photo[..., 0])
    return rows.min(), rows.max() + 1, columns.min(), columns.max() + 1


def test_a_word_is_centred_with_its_middle_at_eight_ninths():
    for side, tag, word in ((250, "FHWH", "HAPPY"), (250, "FSWS", "SAD"), (500, "FSWH", "HAPPY"), (125, "FHWS", "SAD")):
        cover = printed_sets.strokes(word)
        height, width = round(cover.shape[0] * side / 250), round(cover.shape[1] * side / 250)
        y, x = int(side * 8 / 9 - height / 2), int((side - width) / 2)
        black = np.zeros((side, side, 3), np.uint8)
        result = printed_sets.print_word(black, tag)
        expected = np.rint(cover * 255).astype(np.uint8)
        if side != 250:
            expected = np.asarray(Image.fromarray(expected).resize((width, height), Image.Resampling.BILINEAR))
        assert (result[y : y + height, x : x + width, 0] == expected[: side - y]).all() and not result[..., 1:].any()
        assert int(result[..., 0].sum()) == int(expected[: side - y].sum()), "and nowhere else"
        assert not black.any(), "the photo itself stays as it is"
    grey = printed_sets.print_word(np.full((250, 250, 3), 100, np.uint8), "FHWH")
    cover = printed_sets.strokes("HAPPY")[20, 60:90]
    assert (grey[198 + 20, 29 + 60 : 29 + 90, 1] == np.rint(100 * (1 - cover))).all()
    assert (grey[198 + 20, 29 + 60 : 29 + 90, 0] == np.rint(100 * (1 - cover) + 255 * cover)).all()
    tiny = printed_sets.print_word(np.zeros((2, 2, 3), np.uint8), "FHWS")
    assert tiny.shape == (2, 2, 3), "a word has at least a pixel"


def test_the_word_s_scale_is_that_of_the_shorter_side():
    tall, wide = (
        printed_sets.print_word(np.zeros(shape, np.uint8), "FHWS") for shape in ((500, 250, 3), (250, 500, 3))
    )
    for photo in (tall, wide):
        top, bottom, left, right = place_of(photo)
        plain = place_of(printed_sets.print_word(np.zeros((250, 250, 3), np.uint8), "FHWS"))
        assert (bottom - top, right - left) == (plain[1] - plain[0], plain[3] - plain[2])
    assert place_of(wide)[2] == place_of(printed_sets.print_word(np.zeros((250, 250, 3), np.uint8), "FHWS"))[2] + 125


def jpeg(value: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((50, 50, 3), value, np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def official(tmp_path: Path) -> Path:
    root, lines = tmp_path / "official", []
    for (folders, tags), present in zip(SETS.values(), (True, False, True), strict=True):
        for k, tag in enumerate(tags):
            lines.append(f"{folders[0]}/{tag}/Ann_Lee_{k:04d}_{tag}.jpg")
            if present:
                (root / folders[0] / tag).mkdir(parents=True)
                (root / folders[0] / tag / f"Ann_Lee_{k:04d}_{tag}.jpg").write_bytes(jpeg(60 + k))
    (tmp_path / "lfw" / "Ann_Lee").mkdir(parents=True)
    for k in range(4):
        (tmp_path / "lfw" / "Ann_Lee" / f"Ann_Lee_{k:04d}.jpg").write_bytes(jpeg(100 + k))
    (root / "images_list.txt").write_text("\n".join(lines) + "\n\n")
    return root


def test_what_is_missing_is_made_at_the_official_quality(official: Path, tmp_path: Path):
    steps: list[int] = []
    assert printed_sets.to_make(official) == 4 and list(printed_sets.present_sets(official)) == [
        "labelled",
        "validation",
    ]
    assert printed_sets.build_official(official, tmp_path / "lfw", tmp_path / "made", lambda n=1: steps.append(n)) == 4
    assert (
        steps == [1] * 4
        and (tmp_path / "made" / dataset.LIST).read_text() == (official / "images_list.txt").read_text()
    )
    built = tmp_path / "made" / "unlabeled_set" / "FHWS" / "Ann_Lee_0001_FHWS.jpg"
    printed = printed_sets.print_word(dataset.read_photo(tmp_path / "lfw" / "Ann_Lee" / "Ann_Lee_0001.jpg"), "FHWS")
    Image.fromarray(printed).save(tmp_path / "expected.jpg", "JPEG", quality=75)
    assert built.read_bytes() == (tmp_path / "expected.jpg").read_bytes()
    lines = (official / "images_list.txt").read_text().splitlines()
    (official / "images_list.txt").write_text("\n".join(line for line in lines if "unlabeled_set/FSWH" not in line))
    with pytest.raises(InputError, match=r"names no photo of type FSWH for unlabeled_set$"):
        printed_sets.build_official(official, tmp_path / "lfw", tmp_path / "other")
    (official / "images_list.txt").write_text("unlabeled_set/FHWH/A_0001_FHWH.jpg\n\nx\n")
    with pytest.raises(InputError, match="line 3: 'x', expected"):
        printed_sets.read_list(official / "images_list.txt")
    assert printed_sets.list_of(tmp_path / "made").name == dataset.LIST


def test_smiles_are_checked_by_the_first_letter_after_f(official: Path):
    entries = [("s", "FHWS", "A_0001"), ("s", "FSWH", "B_0001")]
    (official / "smile.txt").write_text("A_0001.jpg\n\n")
    (official / "nonsmile.txt").write_text("x/B_0001.jpg\n")
    printed_sets._check_smiles(official, entries)
    (official / "smile.txt").write_text("B_0001.jpg\n")
    with pytest.raises(InputError, match=r"B_0001 is tagged FSWH, but smile\.txt lists it"):
        printed_sets._check_smiles(official, entries)


def solid(value: int, height: int = 4, width: int = 4) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def test_photos_of_different_sizes_are_named_width_by_height():
    sizes = [solid(0, 4, 5), solid(0, 6, 5), solid(0, 4, 7), solid(0, 9, 9)]
    with pytest.raises(InputError, match=r"here: photos of different sizes \(5×4, 7×4, 5×6\); make"):
        make_photos(sizes, ["FHWH"] * 4, list("abcd"), "here")
    none = make_photos([], [], [], "here")
    assert none.pixels.shape == (0, 1, 1, 3) and none.truth().shape == (0, 2) and len(none) == 0
    two = make_photos([solid(9), solid(5), solid(7)], ["FSWS", "FHWH", "FHWH"], ["a", "b", "c"], "here")
    order = sorted((hashlib.sha256(solid(v).tobytes()).digest(), name) for v, name in ((5, "b"), (7, "c")))
    assert two.names == (*(name for _, name in order), "a") and two.take([2, 0]).names == ("a", order[0][1])


def write(folder: Path, world: dict[str, tuple[str, ...]], side: int = 4) -> Path:
    for number, (name, tags) in enumerate(world.items()):
        for k, tag in enumerate(tags):
            (folder / name / tag).mkdir(parents=True)
            (folder / name / tag / "a.png").write_bytes(encode_png(solid(16 * number + k, side, side)))
    return folder


def test_sets_of_different_sizes_and_unknown_cards_are_refused(tmp_path: Path):
    data = write(tmp_path / "data", {folders[0]: tags for folders, tags in SETS.values()})
    plain = dataset.read_happyfaces(data)
    assert plain.features == ("face", "writing") and plain.real_people is True and plain.held_back is None
    (data / "happyfaces.json").write_text('{"features": ["smile", "tone"], "real_people": false}')
    other = dataset.read_happyfaces(data)
    assert other.features == ("smile", "tone") and other.real_people is False
    (data / "happyfaces.json").write_text('{"features": ["smile", "tone"]}')
    assert dataset.read_happyfaces(data).real_people is True
    held = write(tmp_path / "held", {"x": TAGS}, side=5) / "x"
    with pytest.raises(InputError, match="its sets hold photos of different sizes"):
        dataset.read_happyfaces(data, held)
    with tarfile.open(tmp_path / "held.tar", "w") as tar:
        tar.add(write(tmp_path / "again", {"y": TAGS}) / "y", "around/inner")
    assert dataset.read_happyfaces(data, tmp_path / "held.tar").held_back.tags == TAGS, (
        "folders around it are stepped into"
    )
    (data / "happyfaces.json").unlink()
    with tarfile.open(tmp_path / "whole.tar", "w") as tar:
        tar.add(data, "x/y")
    assert dataset.read_happyfaces(tmp_path / "whole.tar").fingerprint() == plain.fingerprint(), (
        "three folders, no file"
    )
    with pytest.raises(
        InputError, match="no such folder; give the folder that holds labeled_sets, unlabeled_set, valid"
    ):
        dataset.read_happyfaces(tmp_path / "nowhere")
    assert list(plain.scored()) == ["validation", "not_drawn"] and len(plain.scored(np.array([1]))["not_drawn"]) == 1
    digest = hashlib.sha256()
    for photos in (plain.labelled, plain.unlabelled, plain.validation):
        digest.update(photos.pixels.tobytes() + " ".join(photos.tags).encode())
    assert plain.fingerprint() == digest.hexdigest()


def test_packed_photos_have_a_largest_size(tmp_path: Path, monkeypatch):
    assert dataset.LARGEST_FILE == 67_108_864  # 64 MiB
    monkeypatch.setattr(dataset, "LARGEST_FILE", 10)
    path = tmp_path / "a.png.gz"
    path.write_bytes(gzip.compress(b"0123456789"))
    assert dataset.photo_bytes(path) == b"0123456789"
    path.write_bytes(gzip.compress(b"0123456789x"))
    with pytest.raises(InputError, match="unpacks to more than 10 bytes"):
        dataset.photo_bytes(path)


def sample(name: str, *who: dict[str, str], **about: str) -> Sample:
    people_ = tuple(Subject(f"{k}", identity=item.pop("identity", None), attributes=item) for k, item in enumerate(who))
    return Sample(name, ArrayImage(solid(0)), 4, 4, people_, about)


def test_only_people_alone_whose_mouth_is_seen_can_serve():
    room = {"background": "room"}
    some = [
        sample("a", {"smile": "yes", "identity": "p"}, **room),
        sample("b", {"smile": "no"}, background="studio"),
        sample("c", {"smile": "yes", "masked": "yes"}, **room),
        sample("d", {"smile": "yes"}, {}, **room),
        sample("e", {"masked": "no"}, **room),
        sample("f", {"smile": "yes"}),
    ]
    result = people.usable(some, "smile+background")
    assert [(item.sample.id, item.identity, item.first, item.second) for item in result] == [
        ("a", "p", True, True),
        ("b", "b", False, False),
    ]
    text = people.usable(some, "smile+text")
    assert [(item.sample.id, item.second) for item in text] == [("a", None), ("b", None), ("f", None)]
    assert [item.sample.id for item in people.usable(some, "mask+text")] == ["c", "e"]
    assert [item.sample.id for item in people.usable(some, "mask+background")] == ["c", "e"]
    printed, plain = text[0], result[0]
    assert [tag for tag in TAGS if printed.fits(tag)] == ["FHWH", "FHWS"] and [t for t in TAGS if plain.fits(t)] == [
        "FHWH"
    ]
    assert [tag for tag in TAGS if result[1].fits(tag)] == ["FSWS"]
    assert (printed.pixels("FHWS") == printed_sets.print_word(solid(0), "FHWS")).all() and not plain.pixels(
        "FHWH"
    ).any()
    for pair in ("smile", "smile+smile", "text+smile", "smile+nose", "smile+text+mask", "nose+text"):
        with pytest.raises(InputError, match="expected two of"):
            people.features_of(pair)


def test_people_are_divided_by_documented_shares():
    """36, 42 and 22 of 100 people, in an order drawn from the seed."""
    assert sum(people.SHARES.values()) == pytest.approx(1)
    pictures = [people.PersonPicture(sample("x"), f"p{k:03d}", k % 2 == 0, None) for k in range(200)]
    sets = people.assign(pictures, 3)
    order = sorted({item.identity for item in pictures})
    np.random.default_rng(3).shuffle(order)
    homes = {"labelled": order[:72], "unlabelled": order[72:156], "validation": order[156:]}
    for name, members in sets.items():
        assert {item.identity for item, _ in members} <= set(homes[name])
        counts = [sum(tag == kind for _, tag in members) for kind in SETS[name][1]]
        assert len(set(counts)) == 1 and len(homes[name]) - 16 < sum(counts) <= len(homes[name])
        assert all(item.fits(tag) for item, tag in members)


def test_people_are_written_with_a_card(tmp_path: Path, monkeypatch):
    some = [sample(f"{k}", {"smile": "yes" if k % 2 else "no", "identity": f"p{k}"}) for k in range(120)]
    calls = []
    monkeypatch.setattr(people, "load_dataset", lambda name: calls.append(name) or some)
    count = people.build_people(tmp_path / "made")
    data = dataset.read_happyfaces(tmp_path / "made")
    assert calls == ["people:portraits"] and data.features == ("smile", "text") and data.real_people is False
    assert count == len(data.labelled) + len(data.unlabelled) + len(data.validation)
    assert '"seed": 0' in (tmp_path / "made" / "happyfaces.json").read_text()
    assert (tmp_path / "made" / "labeled_sets" / "FHWH" / "0000_FHWH.png").is_file()


def test_predictions_made_elsewhere_are_refused_with_three_examples(tmp_path: Path):
    def photos(start: int):
        return make_photos([solid(start + k) for k in range(4)], list(TAGS), [f"{t}.png" for t in TAGS], "x")

    data = HappyFaces(photos(0), photos(10), photos(20))
    ids = data.validation.ids("validation")
    for count, shown in ((0, None), (3, ", ".join(ids[:3])), (4, ", ".join(ids[:3]) + ", …")):
        rows = [f"{name},0.9,0.2" for name in ids[count:]] or [f"unlabelled/{TAGS[0]}/{TAGS[0]}.png,1,0"]
        (tmp_path / "p.csv").write_text("photo,head1,head 2\n" + "\n".join(rows) + "\n")
        if shown is None:
            words = record_of(predictions.evaluate_predictions(tmp_path / "p.csv", data, "theirs"))
            assert words["validation"]["photos"] == 4 and words["not_drawn"] is None and words["mix_rate"] is None
            assert (words["answered"], words["seed"], words["cpu_seconds"]) == (True, 0, 0.0)
            assert words["method"] == "theirs" and words["uses_batch"] is False
            continue
        with pytest.raises(InputError) as caught:
            predictions.evaluate_predictions(tmp_path / "p.csv", data, "theirs")
        assert f"{count} of 4 validation photos are missing ({shown})" in str(caught.value)
    (tmp_path / "p.csv").write_text("photo,head_1,head_2\n" + "".join(f"{name},x,0\n" for name in ids))
    with pytest.raises(InputError, match="head_1 is 'x', expected a number"):
        predictions.evaluate_predictions(tmp_path / "p.csv", data, "theirs")
