"""A real run with something to say: a detector that misses dark faces, on 1,200 small drawn pictures."""

import csv
import io
import json
import shutil
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.data import Dataset, load_dataset
from countenance.data.image import encode_png
from countenance.report import write_report
from countenance.run import Run, audit_run, evaluate, store_audit

AGES = ("0_17", "18_30", "31_60", "61_100")
ATTRIBUTES = ("skin_tone", "age_group", "gender")
SIZE = 48


def portrait(rng: np.random.Generator, tone: int, age: int) -> tuple[np.ndarray, list[int]]:
    """A drawn face: an ellipse whose brightness is its tone, on a plain ground; and its box."""
    pixels = np.full((SIZE, SIZE, 3), rng.integers(60, 200, 3), dtype=np.uint8)
    cx, cy = rng.integers(18, 30, 2)
    rx, ry = rng.integers(8, 12), rng.integers(10, 14)
    y, x = np.mgrid[:SIZE, :SIZE]
    inside = ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1
    bright = 240 - 20 * tone
    pixels[inside] = (bright, int(bright * 0.8), int(bright * 0.65))
    pixels[0, 0] = (tone, age, int(rng.integers(0, 256)))  # what this detector goes by
    return pixels, [int(cx - rx), int(cy - ry), int(cx + rx), int(cy + ry)]


class Detector:
    """Finds most faces; far fewer of the darkest two tones, and a few fewer of the oldest people."""

    name = "drawn-faces"

    def __init__(self, boxes: dict[bytes, list[int]]) -> None:
        self.boxes = boxes

    def __call__(self, images: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [self.one(image) for image in images]

    def one(self, image: np.ndarray) -> np.ndarray:
        tone, age, luck = (int(value) for value in image[0, 0])
        x0, y0, x1, y1 = self.boxes[image.tobytes()]
        if (tone, age, luck) == (5, 1, 77):
            return np.array([[np.nan, 0, 1, 1, 0.5]])
        found = luck >= (110 if tone >= 8 else 25 if age == 3 else 12)
        shift = (luck % 5) * 0.6 if found else SIZE
        return np.array([[x0 + shift, y0, x1 + shift, y1, 0.6 + luck / 1000]])


Boxes = dict[bytes, list[int]]


def make_dataset(root: Path, *, people: int = 400, each: int = 3, real: bool = False, seed: int = 0) -> Boxes:
    """Write a folder dataset of drawn portraits and return the boxes by pixels."""
    rng = np.random.default_rng(seed)
    (root / "images").mkdir(parents=True)
    rows, boxes = [], {}
    for person in range(people):
        tone, age = person % 10, (person // 10) % 4
        gender = "" if person % 25 == 7 else ("female", "male")[(person // 40) % 2]
        for shot in range(each):
            pixels, box = portrait(rng, tone, age)
            boxes[pixels.tobytes()] = box
            file = f"images/p{person:03d}_{shot}.png"
            (root / file).write_bytes(encode_png(pixels))
            rows.append(
                {
                    "file": file,
                    "subject": "0",
                    "identity": f"p{person:03d}",
                    "face_box": json.dumps(box),
                    "skin_tone": f"monk_{tone + 1}",
                    "age_group": AGES[age],
                    "gender": gender,
                }
            )
    for broken in rows[5:400:131] if people > 20 else ():
        broken["file"] = str(Path(broken["file"]).with_suffix(".jpg"))
        whole = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (SIZE, SIZE, 3), dtype=np.uint8)).save(whole, "JPEG")
        (root / broken["file"]).write_bytes(whole.getvalue()[: whole.tell() // 2])
    with (root / "labels.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    card = {
        "name": "drawn",
        "description": "drawn portraits",
        "licence": "CC0",
        "consent": "not needed",
        "warning": "Drawn people are no stand-in for real people.",
        "real_people": real,
        "attributes": {name: {"assigned_by": "rendered", "meaning": "as drawn"} for name in ATTRIBUTES},
    }
    (root / "card.json").write_text(json.dumps(card), encoding="utf-8")
    return boxes


def make_run(root: Path, **options: object) -> Run:
    """A dataset, a run on it and its audit, all by the real code."""
    boxes = make_dataset(root / "data", **options)  # type: ignore[arg-type]
    run = evaluate(Detector(boxes), "face_localization", str(root / "data"), out=root / "run", batch=32)
    store_audit(run, audit_run(run, by=list(ATTRIBUTES)))
    return run


HOSTILE = (
    "<script>window.pwned=1</script>",
    "</script><!--<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "=HYPERLINK(1)",
    "{{ 7 * 7 }}",
    "a × b",
    "back\u202ewards",
    "' onmouseover='window.pwned=1",
)


def make_hostile_run(root: Path) -> Run:
    """Names that try to break out of the page: of groups, files, the dataset and the model."""
    data = root / "data"
    boxes = make_dataset(data, people=160, each=1)
    with (data / "labels.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for number, row in enumerate(rows):
        row["skin_tone"], row["gender"] = HOSTILE[number % 4], HOSTILE[4 + number // 4 % 4]
        row["identity"] = f"{HOSTILE[0]}{number}"
        if number % 10 == 9:
            named = f"images/<img src=x onerror=window.pwned={number}>.png"
            (data / row["file"]).rename(data / named)
            row["file"] = named
    with (data / "labels.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    card = json.loads((data / "card.json").read_text(encoding="utf-8"))
    for name in ("name", "description", "licence", "consent", "citation", "warning"):
        card[name] = HOSTILE[1]
    card["attributes"]["skin_tone"]["meaning"] = HOSTILE[2]
    (data / "card.json").write_text(json.dumps(card), encoding="utf-8")
    detector = Detector(boxes)
    detector.name = HOSTILE[0]
    run = evaluate(detector, "face_localization", str(data), out=root / "run", batch=32)
    store_audit(run, audit_run(run, by=list(ATTRIBUTES), min_n=5))
    return run


class Page(HTMLParser):
    """The elements of a page, and the text of its tables."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.source = path.read_text(encoding="utf-8")
        self._in: list[str] = []
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._in or self._in[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """All visible text, with single spaces."""
        return " ".join(" ".join(self.words).split())

    def tags(self, name: str) -> list[dict[str, str]]:
        """The attributes of every element of this name."""
        return [attributes for tag, attributes in self.elements if tag == name]

    def addresses(self) -> list[str]:
        """Everything that a browser might follow or fetch."""
        names = ("src", "href", "srcset", "action", "data", "poster", "xlink:href", "background")
        return [found[name] for _, found in self.elements for name in names if name in found]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """1,200 pictures of 400 drawn people."""
    return make_run(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A dozen pictures of a dozen people: nothing can be tested."""
    return make_run(tmp_path_factory.mktemp("small"), people=12, each=1)


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose every name is an attack."""
    return make_hostile_run(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def report(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the large run."""
    return write_report(run, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def read() -> type[Page]:
    """Reads a page as a machine does."""
    return Page


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """160 pictures of 80 drawn people."""
    root = tmp_path_factory.mktemp("sheet") / "data"
    make_dataset(root, people=80, each=2)
    return load_dataset(root)


@pytest.fixture(scope="session")
def short_report(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the same run by two attributes and one metric: every kind of verdict, in fewer rows."""
    folder = tmp_path_factory.mktemp("short") / "run"
    shutil.copytree(run.path, folder)
    copied = Run(folder)
    store_audit(copied, audit_run(copied, by=["skin_tone", "gender"], metrics=["recall@0.5"]))
    return write_report(copied)
