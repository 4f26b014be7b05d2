"""make-data, number by number: where cuttings may lie, which labels are hidden, how identities are dealt out."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from countenance.data.image import ArrayImage
from countenance.data.sample import Dataset, Sample, Subject
from countenance.suites.bias_bounty import made_data
from countenance.suites.bias_bounty.made_data import ChallengePicture, _identities, _labels, _nonfaces, _touches


class Told:
    """A generator that gives the numbers it was told, and notes the bounds that it was asked for."""

    def __init__(self, *numbers: float, then: Any = None) -> None:
        self.numbers, self.bounds, self.then = list(numbers), [], then

    def integers(self, bound: int) -> int:
        self.bounds.append(bound)
        return int(self.numbers.pop(0)) if self.numbers else self.then

    def random(self) -> float:
        return self.numbers.pop(0)

    def choice(self, some: list[str]) -> str:
        return some[int(self.numbers.pop(0))]


def scene(width: int, height: int, *boxes: list[float], part: str = "groups", split: str = "test") -> Sample:
    people = tuple(Subject(f"{i}", face_box=np.array(box, dtype=float)) for i, box in enumerate(boxes))
    picture = ArrayImage(np.zeros((height, width, 3), np.uint8))
    return Sample(f"{part}/{width}x{height}", picture, width, height, people, {"part": part, "split": split})


def dataset(population: Dataset, *samples: Sample) -> Dataset:
    return Dataset(population.card, list(samples))


def test_a_face_is_touched_up_to_a_quarter_of_its_height_around_it() -> None:
    box = np.array([400.0, 300, 460, 380])  # 80 high: 20 px around it
    for left, top, touched in (
        (479, 300, True),
        (480, 300, False),  # right of it: 460 + 20
        (125, 300, True),
        (124, 300, False),  # left of it: 400 - 20 - 256
        (400, 399, True),
        (400, 400, False),  # below: 380 + 20
        (400, 25, True),
        (400, 24, False),  # above: 300 - 20 - 256
    ):
        assert _touches(left, top, box) is touched, (left, top)
    assert _touches(0, 0, None) is False


def test_cuttings_lie_on_the_grid_and_apart_from_each_other(population: Dataset) -> None:
    data = dataset(population, scene(900, 600))
    # scene, left and top in steps of 16 px: twice the same, half a side away, a little more, down, elsewhere
    places = [(0, 0), (0, 0), (8, 8), (9, 0), (0, 9), (40, 21)]
    rng = Told(*(number for left, top in places for number in (0, left, top)))
    found = _nonfaces(data, "test", 4, rng)
    assert [picture.cut for picture in found] == [(0, 0), (144, 0), (0, 144), (640, 336)]
    assert rng.bounds[:3] == [1, 41, 22], "900 - 256 and 600 - 256 in steps of 16, the last one included"
    other = dataset(population, scene(900, 600), scene(256, 256, part="bodies"))
    both = _nonfaces(other, "test", 2, Told(0, 0, 0, 1, 0, 0))
    assert [(one.source.width, one.cut) for one in both] == [(900, (0, 0)), (256, (0, 0))], "scenes are apart"


def test_objects_come_first_and_small_or_other_scenes_serve_not(population: Dataset) -> None:
    things = [scene(256, 256, part="objects") for _ in range(3)]
    data = dataset(population, *things, scene(255, 300), scene(300, 255), scene(600, 600, split="train"))
    assert [one.source for one in _nonfaces(data, "test", 2, Told())] == things[:2]
    assert [one.source for one in _nonfaces(data, "test", 5, Told())] == things, "no scene is large enough"
    assert all(one.cut is None and one.labels is None for one in _nonfaces(data, "test", 2, Told()))
    large = dataset(population, *things, scene(256, 300))
    assert [one.cut for one in _nonfaces(large, "test", 4, Told(then=0))] == [None, None, None, (0, 0)]


def test_a_crowded_scene_is_given_up_after_fifty_tries_for_each_picture(population: Dataset) -> None:
    rng = Told(then=0)
    assert _nonfaces(dataset(population, scene(256, 256, [100, 100, 150, 150])), "test", 3, rng) == []
    assert len(rng.bounds) == 3 * 50 * 3


def portrait(identity: str, tone: str = "monk_1") -> ChallengePicture:
    return ChallengePicture(scene(256, 256), None, {"skin_tone": tone, "gender": "male", "age": "0_17"}, identity)


def test_half_of_the_hidden_faces_lose_every_label_and_the_others_one() -> None:
    faces = [portrait("a"), portrait("b", "monk_2"), ChallengePicture(scene(256, 256)), portrait("c")]
    rows = _labels(faces, Told(0.3, 0.29, 0.49, 1, 0.29, 0.5, 2), 0.3)  # type: ignore[arg-type]
    kept = {"skin_tone": "monk_1", "gender": "male", "age": "0_17"}
    assert rows[0] == kept, "drawn at the share itself: not hidden"
    assert rows[1] == {"skin_tone": "", "gender": "", "age": ""}
    assert rows[2] == kept | {"skin_tone": "monk_2"}, "a non-face has the labels of the second face"
    assert rows[3] == kept | {"skin_tone": ""}, "the third of age, gender, skin_tone"


@pytest.mark.parametrize("seed", range(5))
def test_made_up_identities_have_sizes_that_persons_have(seed: int) -> None:
    faces = [portrait(who) for who in "aabbbccccc"]  # two, three and five pictures
    pictures = faces + [ChallengePicture(scene(256, 256)) for _ in range(19)]
    found = _identities(pictures, np.random.default_rng(seed))
    assert found[:2] == [hashlib.sha256(b"a").hexdigest()[:12]] * 2
    sizes = Counter(found[10:])
    assert not set(found[:10]) & set(sizes) and sum(sizes.values()) == 19
    names = {hashlib.sha256(f"nobody {k}".encode()).hexdigest()[:12]: k for k in range(20)}
    in_order = [sizes[who] for who, _ in sorted(((who, names[who]) for who in sizes), key=lambda pair: pair[1])]
    assert sorted(names[who] for who in sizes) == list(range(len(sizes))), "numbered from 0"
    assert set(in_order[:-1]) <= {2, 3, 5} and min(in_order) >= 2, "nobody has fewer than a person"
    rng = np.random.default_rng(seed)
    order, expected, left = rng.permutation(19), {}, 19
    while left:  # the sizes are drawn as they come; too few for another identity go to the last
        size = min(left, (2, 3, 5)[int(rng.integers(3))])
        size = left if left - size < 2 else size
        for k in order[19 - left : 19 - left + size]:
            expected[int(k)] = len(set(expected.values())) if k == order[19 - left] else expected[int(order[19 - left])]
        left -= size
    assert [names[who] for who in found[10:]] == [expected[k] for k in range(19)]


def test_faces_are_portraits_and_in_train_twins(population: Dataset) -> None:
    for split, parts in (("train", {"portraits", "twins"}), ("test", {"portraits"})):
        found = list(made_data._faces(population, split))
        own = [s for s in population if s.attributes["split"] == split and s.attributes["part"] in parts]
        assert [picture.source for picture in found] == own and all(picture.cut is None for picture in found)
        assert [picture.identity for picture in found] == [sample.subjects[0].identity for sample in own]


def test_the_written_challenge(population: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Published figures rest on these draws: the same seed makes the same files in every version."""
    told: list[Any] = []

    class Progress:
        def __init__(self, what: str, total: int) -> None:
            told.append((what, total))

        def __enter__(self) -> Any:
            return lambda n=1: told.append(n)

        def __exit__(self, *_: Any) -> None:
            pass

    shares: list[float] = []
    monkeypatch.setattr(made_data, "_labels", lambda *given: shares.append(given[2]) or _labels(*given))
    counts = made_data.write_challenge(tmp_path / "data", population, progress=Progress)  # type: ignore[arg-type]
    assert counts["train"] == {"images": 38, "nonfaces": 8, "unlabelled_faces": counts["train"]["unlabelled_faces"]}
    assert [counts[split]["images"] for split in ("test", "holdout")] == [19, 15], "15 and 12 faces, four fifths"
    assert shares == [0.1, 0.0, 0.0] and told[0] == ("writing", 72) and told[1:] == [1] * 72
    digest = hashlib.sha256()
    for split in ("train", "test", "holdout"):
        digest.update((tmp_path / "data" / split / "labels.csv").read_bytes())
        private = made_data.organiser_folder(tmp_path / "data", split)
        digest.update((private / "identities.csv").read_bytes() + (private / "nonfaces.txt").read_bytes())
    assert digest.hexdigest() == "22699998bd2e34c31402469c124d2310467b4bd2dac4579db68f4ba52baaf9d3"
    hidden = counts["train"]["unlabelled_faces"]
    lines = (tmp_path / "data" / "train" / "labels.csv").read_text().splitlines()
    assert hidden == sum(",," in line or line.endswith(",") for line in lines) and 0 < hidden < 9, "a tenth of 30"
    with Image.open(tmp_path / "data" / "train" / "TRAIN0000.webp") as picture:
        assert picture.size == (256, 256)
    assert len(list((tmp_path / "data" / "train").glob("TRAIN*.webp"))) == 38


def test_pictures_are_written_at_quality_92_and_cut_square(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (300, 320, 3), dtype=np.uint8)
    cut = ChallengePicture(Sample("a", ArrayImage(pixels), 320, 300), (16, 32))
    layout = made_data.FolderWriter(tmp_path)
    row = {"skin_tone": "monk_1", "gender": "male", "age": ""}
    found = made_data._write_split(layout, "test", [cut], [row], ["somebody"])
    assert found == {"images": 1, "nonfaces": 1, "unlabelled_faces": 1}
    Image.fromarray(pixels[32:288, 16:272]).save(tmp_path / "expected.webp", "WEBP", quality=92)
    assert (tmp_path / "test" / "TEST0000.webp").read_bytes() == (tmp_path / "expected.webp").read_bytes()
