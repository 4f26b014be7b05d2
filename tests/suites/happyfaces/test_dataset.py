"""Reading the official layout and building it."""

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.data.adapters.happyfaces_layout import LIST, read_happyfaces, read_photo
from countenance.errors import InputError
from countenance.suites.happyfaces.people import PAIRS, assign, features_of, usable
from countenance.suites.happyfaces.printed_sets import build_official, print_word, read_list, strokes


def jpeg(value: int = 90, side: int = 250) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((side, side, 3), value, np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """A tiny official folder: labelled as .jpg.gz, validation as .jpg, no unlabelled set, a list; and originals."""
    root, lines = tmp_path / "official", []
    for folder, tags in (("labeled_sets", ("FHWH", "FSWS")), ("validation_sets", ("FHWH", "FHWS", "FSWH", "FSWS"))):
        for number, tag in enumerate(tags):
            place = root / folder / tag
            place.mkdir(parents=True)
            name = f"Somebody_{number:04d}_{tag}.jpg"
            if folder == "labeled_sets":
                (place / f"{name}.gz").write_bytes(gzip.compress(jpeg(60 + number)))
            else:
                (place / name).write_bytes(jpeg(90 + number))
            lines.append(f"{folder}/{tag}/{name}")
    (tmp_path / "lfw" / "Nested").mkdir(parents=True)
    for number, tag in enumerate(("FHWH", "FHWS", "FSWH", "FSWS")):
        lines.append(f"unlabeled_set/{tag}/Nested_{number:04d}_{tag}.jpg")
        place = tmp_path / "lfw" / ("Nested" if number % 2 else ".")
        (place / f"Nested_{number:04d}.jpg").write_bytes(jpeg(120 + number))
    (root / LIST).write_text("\n".join(lines) + "\n")
    return root


def test_an_official_folder_is_completed_and_can_be_read(official: Path, tmp_path: Path):
    assert build_official(official, tmp_path / "lfw", tmp_path / "made") == 4
    data = read_happyfaces(tmp_path / "made")
    assert (len(data.labelled), len(data.unlabelled), len(data.validation)) == (2, 4, 4)
    assert data.unlabelled.truth().tolist() == [[True, True], [True, False], [False, True], [False, False]]
    red = data.unlabelled.pixels[..., 0].astype(int) - data.unlabelled.pixels[..., 1]
    assert (red[:, 209:245] > 150).any((1, 2)).all()  # the word is there
    assert (red[:, :195] < 20).all()  # and nowhere else
    assert red[0].sum() > red[1].sum()  # HAPPY is longer than SAD


def test_archives_are_read_like_folders(official: Path, tmp_path: Path):
    build_official(official, tmp_path / "lfw", tmp_path / "made")
    packed = tmp_path / "packed"
    packed.mkdir()
    for name in ("labeled_sets", "unlabeled_set", "validation_sets"):
        with tarfile.open(packed / f"{name}.tar.gz", "w:gz") as tar:
            tar.add(tmp_path / "made" / name, name)
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "made", "HappyFaces")
    whole = read_happyfaces(tmp_path / "made").fingerprint()
    assert read_happyfaces(packed).fingerprint() == whole
    assert read_happyfaces(tmp_path / "all.tar.gz").fingerprint() == whole


def test_an_archive_that_leads_out_of_its_folder_is_refused(official: Path, tmp_path: Path):
    evil = official / "unlabeled_set.tar.gz"
    with tarfile.open(evil, "w:gz") as tar:
        member = tarfile.TarInfo("../../out.jpg")
        content = jpeg()
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    with pytest.raises(InputError, match="leads out of"):
        read_happyfaces(official)


@pytest.mark.parametrize(
    "line", ["unlabeled_set/FHWH/../../etc_FHWH.jpg", "unlabeled_set/FXWH/A_0001_FXWH.jpg", "nonsense"]
)
def test_a_wrong_line_in_the_list_is_named(official: Path, line: str):
    (official / LIST).write_text(f"{line}\n")
    with pytest.raises(InputError, match="line 1"):
        read_list(official / LIST)


def test_a_missing_original_is_named_and_nothing_is_left_behind(official: Path, tmp_path: Path):
    (tmp_path / "lfw" / "Nested" / "Nested_0001.jpg").unlink()
    with pytest.raises(InputError, match=r"has no Nested_0001\.jpg"):
        build_official(official, tmp_path / "lfw", tmp_path / "made")
    assert not (tmp_path / "made").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".made")]


def test_a_list_that_contradicts_the_smile_list_is_refused(official: Path, tmp_path: Path):
    (official / "nonsmile.txt").write_text("Nested_0000.jpg\n")
    with pytest.raises(InputError, match=r"Nested_0000 is tagged FHWH, but nonsmile\.txt lists it"):
        build_official(official, tmp_path / "lfw", tmp_path / "made")


def test_a_missing_set_says_how_to_make_it(official: Path):
    with pytest.raises(InputError, match=r"holds no unlabeled_set .*happyfaces build"):
        read_happyfaces(official)


def test_the_words_are_those_of_the_font_where_it_is_installed():
    from PIL import ImageDraw, ImageFont

    try:
        font = ImageFont.truetype("DejaVuSans-Bold.ttf", 50, layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        pytest.skip("DejaVu Sans Bold is not installed here")
    for tag, word, origin in (("FHWH", "HAPPY", (29, 198)), ("FHWS", "SAD", (66, 198))):
        canvas = Image.new("RGB", (250, 250))
        ImageDraw.Draw(canvas).text(origin, word, font=font, fill=(255, 0, 0))
        ours = print_word(np.zeros((250, 250, 3), np.uint8), tag)
        assert np.abs(np.asarray(canvas).astype(int) - ours).max() <= 40  # versions of FreeType differ a little
        assert strokes(word).max() == 1


def test_words_grow_with_the_picture():
    small, large = (print_word(np.zeros((s, s, 3), np.uint8), "FHWS")[..., 0] > 128 for s in (125, 500))
    assert 12 < large.sum() / small.sum() < 20


def test_the_words_lie_where_the_benchmark_printed_them(shared: Path):
    """On official photos the letters' inner pixels are red already: printing again changes little."""
    for tag in ("FHWH", "FSWS"):
        folder = shared / "data" / "happyfaces" / "labeled_sets" / tag
        changes = {}
        for shift in (0, 3):
            result = []
            for path in sorted(folder.iterdir())[:12]:
                photo = np.roll(read_photo(path), shift, (0, 1))
                result.append(np.abs(print_word(photo, tag).astype(int) - photo)[205:248].mean())
            changes[shift] = np.mean(result)
        assert changes[0] < 6
        assert changes[0] < 0.7 * changes[3]


def test_pairs_of_people_never_share_a_person_between_sets():
    from countenance.data import load_dataset

    try:
        people = load_dataset("people:portraits")
    except InputError:
        pytest.skip("the rendered people are not here")
    for pair in PAIRS:
        sets = assign(usable(people, pair), seed=0)
        owners = [{picture.identity for picture, _ in members} for members in sets.values()]
        assert not owners[0] & owners[1] and not owners[0] & owners[2] and not owners[1] & owners[2]
        assert {tag for _, tag in sets["labelled"]} == {"FHWH", "FSWS"}
        for members in sets.values():
            kinds = [tag for _, tag in members]
            assert len({kinds.count(kind) for kind in set(kinds)}) == 1


def test_an_unknown_pair_is_refused():
    with pytest.raises(InputError, match="expected two of"):
        features_of("smile+smile")
