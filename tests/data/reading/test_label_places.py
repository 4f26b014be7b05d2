"""Which label file belongs to which picture: other layouts than our own."""

from pathlib import Path
from unicodedata import normalize

import pytest
from PIL import Image

from countenance.data import load_dataset
from countenance.data.categories import choose
from countenance.data.reading.label_files import read_voc, read_yolo
from countenance.data.reading.label_places import label_places
from countenance.data.truth_problems import check
from countenance.errors import InputError

HEAD = "0 .5 .5 .2 .2\n"


def tree(root: Path, *names: str) -> Path:
    """A folder with these files: pictures, and label files with one head each."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() in (".jpg", ".png"):
            Image.new("RGB", (20, 10)).save(path, format="PNG")
        elif path.suffix == ".xml":
            path.write_text("<annotation></annotation>")
        else:
            path.write_text(HEAD)
    return root


def pairs(root: Path, suffix: str = ".txt") -> dict[str, str]:
    found = label_places(root, suffix).pairs
    return {one.relative_to(root).as_posix(): two.relative_to(root).as_posix() for one, two in found}


def test_a_picture_of_one_split_never_takes_the_labels_of_another(tmp_path):
    tree(tmp_path, "images/train/a.jpg", "images/val/a.jpg", "labels/train/a.txt")
    assert pairs(tmp_path) == {"images/train/a.jpg": "labels/train/a.txt"}
    (note,) = label_places(tmp_path, ".txt").notes
    assert note.endswith("1 picture has no .txt file and is left out (images/val/a.jpg)")


def test_folders_in_folders_are_matched_by_all_their_names(tmp_path):
    tree(
        tmp_path, *(f"{kind}/{cam}/val/a.{end}" for cam in "xy" for kind, end in (("images", "jpg"), ("labels", "txt")))
    )
    assert pairs(tmp_path) == {f"images/{cam}/val/a.jpg": f"labels/{cam}/val/a.txt" for cam in "xy"}


def test_the_tree_of_pascal_voc_with_two_years_and_segmentations(tmp_path):
    years = ("VOC2007", "VOC2012")
    tree(tmp_path, *(f"{y}/{name}" for y in years for name in ("JPEGImages/1.jpg", "SegmentationClass/1.png")))
    tree(tmp_path, *(f"{year}/Annotations/1.xml" for year in years))
    assert pairs(tmp_path, ".xml") == {f"{year}/JPEGImages/1.jpg": f"{year}/Annotations/1.xml" for year in years}
    assert "2 pictures have no .xml file and are left out (VOC2007/SegmentationClass/1.png, …)" in str(
        label_places(tmp_path, ".xml").notes
    )


def test_two_pictures_for_one_label_file_are_refused_unless_they_are_copies(tmp_path):
    tree(tmp_path, "a.jpg", "a.png", "a.txt")
    with pytest.raises(InputError, match=r"a.txt: could be of .*a.jpg or of .*a.png"):
        label_places(tmp_path, ".txt")
    assert len(label_places(tmp_path, ".txt", shared=True).pairs) == 2


def test_label_files_without_a_picture_and_linked_folders_are_said(tmp_path):
    tree(tmp_path / "set", "images/a.jpg", "labels/a.txt", "labels/b.txt", "labels/c.txt", "classes.txt", "notes.txt")
    (tmp_path / "set/labels/c.txt").write_text("")
    (tmp_path / "set/notes.txt").write_text("read me\n")
    (tmp_path / "set/more").symlink_to(tree(tmp_path / "other", "z.jpg"))
    lost, link = label_places(tmp_path / "set", ".txt").notes
    assert lost == "set: 2 .txt files have no picture and are left out (labels/b.txt, …)"
    assert link == "set: 1 folder is a link (not followed) and is left out (more)"
    (tmp_path / "set/images/a.jpg").unlink()
    with pytest.raises(InputError, match="more is a link, which is not followed"):
        load_dataset(tmp_path / "set")


def test_accents_capitals_and_files_of_a_mac(tmp_path):
    one, other = normalize("NFC", "é"), normalize("NFD", "é")
    tree(tmp_path, f"{one}.jpg", f"{other}.TXT")
    (tmp_path / f"._{one}.jpg").write_bytes(b"\0\5\x16\7")
    (tmp_path / f"._{one}.txt").write_bytes(b"\0\5\x16\7")
    assert pairs(tmp_path) == {f"{one}.jpg": f"{other}.TXT"}


@pytest.mark.parametrize("text", ["<annotations><image/></annotations>", "<annotation xmlns='http://x'/>", "<kml/>"])
def test_xml_of_another_form_is_not_a_picture_without_people(tmp_path, text):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(InputError, match="expected the <annotation> of Pascal VOC"):
        read_voc(tmp_path / "a.xml", 10, 10)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 .5 .5 .2 .2 .9", "6 fields.*are these predictions"),
        ("0" + " .5" * 8, "9 fields.*polygons"),
        ("0", "1 field,"),
    ],
)
def test_lines_of_another_length_say_what_they_may_be(tmp_path, line, said):
    (tmp_path / "a.txt").write_text(line)
    with pytest.raises(InputError, match=f"line 1: {said}"):
        read_yolo(tmp_path / "a.txt", 10, 10)


def test_the_first_box_that_leaves_its_picture_and_an_empty_class_are_named(tmp_path):
    tree(tmp_path, "a.jpg", "a.txt", "b.jpg", "b.txt")
    (tmp_path / "classes.txt").write_text("head\n")
    (tmp_path / "b.txt").write_text("0 .5 .5 0 .2\n")
    with pytest.raises(InputError, match=r"50 % of 2 boxes leave .*the first in b.jpg"):
        load_dataset(tmp_path)
    (tmp_path / "classes.txt").write_text("head\n\nperson\n")
    with pytest.raises(InputError, match=r"classes.txt line 2: empty"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("names", [(None, "dog"), ("0", "1"), ("none", "dog"), ("no", "yes")])
def test_names_that_say_nothing_of_masks_make_no_faces_without_masks(names):
    found = choose([{"id": i, "name": name} for i, name in enumerate(names)], None, "a.json")
    assert not found.masked and not found.kinds
    both = choose([{"id": 0, "name": "none"}, {"id": 1, "name": "with_mask"}], None, "a.json")
    assert both.masked == {0: "no", 1: "yes"}


def fairface(root: Path, rows: str) -> str:
    tree(root, "val/1.jpg")
    (root / "fairface_label_val.csv").write_text("file,age,gender,race\n" + rows)
    return f"fairface:{root}"


def test_fairface_as_it_is_published_has_no_problem_and_options_say_yes_or_no(tmp_path):
    name = fairface(tmp_path, "val/1.jpg,3-9, Male,Black \nval/2.jpg,3-9,Female,White\n")
    data = load_dataset(f"{name}?only_present=yes")
    assert data[0].subjects[0].attributes["gender"] == "Male" and data[0].subjects[0].attributes["race"] == "Black"
    assert [problem.kind for problem in check(data)] in ([], ["wrong extension"])  # the test's pictures are PNG
    with pytest.raises(InputError, match=r"val/2.jpg not there; .*\?only_present=yes"):
        load_dataset(f"{name}?only_present=no")
    for wrong in ("only_present=maybe", "only_present", "only_present=yes&only_present=no"):
        with pytest.raises(InputError, match="expected"):
            load_dataset(f"{name}?{wrong}")
    with pytest.raises(InputError, match=r"val//1.jpg has a row already"):
        load_dataset(fairface(tmp_path, "val/1.jpg,3-9,Male,Black\nval//1.jpg,3-9,Male,Black\n"))


def test_bafmd_names_a_picture_with_and_without_its_ending_once(tmp_path):
    tree(tmp_path, "a.jpg")
    (tmp_path / "faces.csv").write_text("filename,x,y,dx,dy,mask\na.jpg,.5,.5,.2,.2,1\na,.3,.3,.2,.2,0\n")
    (sample,) = load_dataset(f"bafmd:{tmp_path}")
    assert len(sample.subjects) == 2
    for wrong, said in (("labels=json", "expected csv, yolo or voc"), ("classes=0=mask,1=no_mask", "for label files")):
        with pytest.raises(InputError, match=said):
            load_dataset(f"bafmd:{tmp_path}?{wrong}")


def test_boxes_without_an_area_are_said(tmp_path):
    tree(tmp_path / "set", *(f"{i}.{end}" for i in range(30) for end in ("jpg", "txt")))
    (tmp_path / "set/classes.txt").write_text("head\n")
    (tmp_path / "set/7.txt").write_text("0 .5 .5 0 .2\n")
    assert "set: 1 box has no area and cannot be found (7.jpg)" in str(load_dataset(tmp_path / "set").notes)
