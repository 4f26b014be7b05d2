"""Every picture of the README and the docs, made from the embedded people and from real runs on them.

    python tools/docs_pictures.py [--only ladder first-screen] [--runs out/pictures] [--out docs/images]

Contact sheets come from the dataset; the ladder, the first screen, the viewer and the pictures of docs/why.md from runs
that are made first (those in `--runs` are used again); the curves from docs/results/scale.json. A picture with an empty
tile is an error: every image on it must have been drawn and must show something. Needs chromium and the extras `dev`
and `view`.
"""

import argparse
import importlib.util
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from countenance.data import Sample, load_dataset
from countenance.report.spread import spread_evenly
from countenance.run import Run

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = "/usr/bin/chromium"
RUNS = {
    "twins": ["face_localization", "--model", "haar", "--data", "people:twins", "--by", "skin_tone"],
    "demo": [
        "face_localization",
        "--model",
        "mtcnn",
        "--data",
        "people:portraits",
        "--by",
        "skin_tone,age_group,gender,masked",
    ],
    "haar": ["face_localization", "--model", "haar", "--data", "people:portraits"],
}
SHOWN_CHANGES = ("age", "gender", "mask", "glasses", "expression", "headwear", "hair", "light", "pose")
WOMEN_MASKED_SEED = 7
"""Draws the rows of docs/why.md in which women wear masks more often."""
MOST_WAITED = 120
"""Seconds that the viewer may take until every picture is there."""
COUNTENANCE = (sys.executable, "-c", "import sys; from countenance.cli.app import main; sys.exit(main())")
TILES = """() => [...document.images].map(image => { const box = image.getBoundingClientRect();
    return [image.complete && image.naturalWidth > 0, box.x, box.y, box.width, box.height]; })"""
MARGIN = 24.0
LEAST = 8.0
"""Pixels of a tile that must lie on the picture for it to be looked at."""
FLAT = 4.0
"""The standard deviation of grey values below which a tile is called empty."""


class EmptyTile(SystemExit):
    """A picture has a tile without anything on it."""


def check_tile(pixels: np.ndarray, name: str) -> None:
    """Raise where a tile shows nothing.

    >>> check_tile(np.zeros((8, 8, 3), np.uint8), "people.webp, tile 3")
    Traceback (most recent call last):
    docs_pictures.EmptyTile: people.webp, tile 3: the tile is empty
    """
    if pixels.size == 0 or float(np.std(pixels.astype(np.float64).mean(axis=-1))) < FLAT:
        raise EmptyTile(f"{name}: the tile is empty")


def sheet(part: str, across: int, down: int, size: tuple[int, int]) -> Image.Image:
    """Pictures of a part of the people beside each other."""
    return board(spread_evenly(load_dataset(f"people:{part}").samples, across * down), across, size)


def drawn(part: str, across: int, down: int, size: tuple[int, int]) -> Image.Image:
    """Pictures of a part drawn at random, so that masks, hats and glasses are as frequent as in the part."""
    samples = load_dataset(f"people:{part}").samples
    places = np.random.default_rng(0).choice(len(samples), across * down, replace=False)
    return board([samples[place] for place in places], across, size)


def twins(bases: int) -> Image.Image:
    """People of whom there is every change, a row for each: the tones, then one version of other changes."""
    versions: dict[str, list[Sample]] = {}
    for sample in load_dataset("people:twins"):
        versions.setdefault(str(sample.attributes["base"]), []).append(sample)
    chosen = []
    complete = [own for own in versions.values() if {sample.attributes["change"] for sample in own} > {*SHOWN_CHANGES}]
    for own in complete[:: len(complete) // bases][:bases]:
        tones = [sample for sample in own if sample.attributes["change"] in ("none", "skin_tone")]
        chosen += sorted(tones, key=lambda sample: int(str(sample.subjects[0].attributes["skin_tone"])[5:]))
        chosen += [next(s for s in own if s.attributes["change"] == change) for change in SHOWN_CHANGES]
    return board(chosen, len(chosen) // bases, (144, 144))


def board(chosen: Sequence[Sample], across: int, size: tuple[int, int]) -> Image.Image:
    """Pictures in rows."""
    board = Image.new("RGB", (across * size[0], -(-len(chosen) // across) * size[1]), "white")
    for place, sample in enumerate(chosen):
        pixels = sample.load()
        check_tile(pixels, sample.id)
        tile = Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)
        board.paste(tile, ((place % across) * size[0], (place // across) * size[1]))
    return board


def run_of(name: str, folder: Path) -> Path:
    """The run of a name, made where it is not there yet."""
    place = folder / name
    if not (place / "report.html").exists():
        subprocess.run([*COUNTENANCE, "run", *RUNS[name], "--out", str(place), "--quiet"], check=True, cwd=ROOT)
    subprocess.run([*COUNTENANCE, "report", str(place)], check=True, cwd=ROOT)
    return place


@contextmanager
def browser_page(width: int, height: int) -> Iterator[Any]:
    """A page of a browser without a network."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=1.5)
        browser.close()


def screenshot(page: Any, name: str, least: int, selector: str | None = None) -> Image.Image:
    """A picture of a page, or of one part of it, on which at least so many images are drawn, none of them empty."""
    box = {"x": 0.0, "y": 0.0, **page.viewport_size}
    if selector:
        part = page.locator(selector).first.bounding_box()
        box = {"x": part["x"] - MARGIN, "y": max(0.0, part["y"] - MARGIN / 2)}
        box |= {"width": part["width"] + 2 * MARGIN, "height": part["height"] + MARGIN}
        if box["x"] < 0 or part["y"] < 0 or part["y"] + part["height"] > page.viewport_size["height"]:
            raise SystemExit(f"{name}: the part is larger than the window ({part})")
    picture = Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")
    scale = picture.width / box["width"]
    shown = 0
    for place, (drawn, x, y, width, height) in enumerate(page.evaluate(TILES)):
        left, top = max(0.0, (x - box["x"]) * scale), max(0.0, (y - box["y"]) * scale)
        right, bottom = (
            min(picture.width, (x + width - box["x"]) * scale),
            min(picture.height, (y + height - box["y"]) * scale),
        )
        if right - left < LEAST or bottom - top < LEAST:
            continue
        if not drawn:
            raise EmptyTile(f"{name}, image {place}: it was not drawn")
        check_tile(np.asarray(picture.crop((int(left), int(top), int(right), int(bottom)))), f"{name}, image {place}")
        shown += 1
    if shown < least:
        raise EmptyTile(f"{name}: {shown} images are drawn, expected at least {least}")
    return picture


def report_part(folder: Path, run: str, name: str, least: int) -> Image.Image:
    """The first screen of a run's report."""
    with browser_page(1440, 1200) as page:
        page.goto((run_of(run, folder) / "report.html").resolve().as_uri())
        return screenshot(page, name, least, ".first")


def viewer(folder: Path) -> Image.Image:
    """The failures of one group in the viewer, once every picture is there."""
    place = run_of("haar", folder)
    command = [*COUNTENANCE, "view", str(place), "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(match[0] for line in server.stdout or () if (match := re.search(r"http://\S+", line)))
        with browser_page(1200, 860) as page:
            page.goto(address)
            page.locator("a[href*='/runs/']").first.click()
            page.goto(f"{page.url.partition('?')[0]}/samples?of=skin_tone&group=monk_10&show=failed")
            for _ in range(MOST_WAITED):  # the viewer compares the dataset with the run's before it shows a picture
                tiles = [tile for tile in page.evaluate(TILES) if tile[2] < page.viewport_size["height"]]
                if tiles and all(tile[0] for tile in tiles):
                    break
                page.wait_for_timeout(1000)
                if not any(tile[0] for tile in tiles):
                    page.reload()
            return screenshot(page, "view.webp", 5)
    finally:
        server.terminate()
        server.wait(10)


def women_masked(folder: Path) -> Path:
    """Rows of haar's run in which women wear masks more often: the table that docs/why.md begins with."""
    scores = Run(run_of("haar", folder)).scores()
    scores = scores.filter(scores["m.recall@0.5"].is_valid())
    women = np.array([gender == "female" for gender in scores["attr.gender"].to_pylist()])
    masked = np.array([value == "yes" for value in scores["attr.masked"].to_pylist()])
    drawn = np.random.default_rng(WOMEN_MASKED_SEED).random(len(women)) < np.where(women == masked, 0.9, 0.25)
    place = folder / "why"
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(scores.filter(pa.array(drawn)), place / "scores.parquet")
    return place / "scores.parquet"


def waterfall(folder: Path) -> Image.Image:
    """From the raw gap to what remains with masks and light held equal, and the strata behind it."""
    table = women_masked(folder)
    page_file = table.with_name("page.html")
    question = ["--by", "gender", "--metric", "recall@0.5", "--given", "masked,light", "--report", str(page_file)]
    subprocess.run([*COUNTENANCE, "audit", str(table), *question], check=True, cwd=ROOT)
    with browser_page(1000, 1300) as page:
        page.goto(page_file.resolve().as_uri())
        page.locator("section[aria-labelledby='held-equal'] summary").first.click()
        page.locator("section[aria-labelledby='held-equal']").scroll_into_view_if_needed()
        return screenshot(page, "why_waterfall.webp", 0, "section[aria-labelledby='held-equal']")


def slices(folder: Path) -> Image.Image:
    """The contact sheet of the first slice that is found in haar's run."""
    place = folder / "slices"
    search = [str(run_of("haar", folder)), "--metric", "recall@0.5", "--out", str(place)]
    subprocess.run([*COUNTENANCE, "discover", *search], check=True, cwd=ROOT)
    with browser_page(1000, 1600) as page:
        page.goto((place / "discovered.html").resolve().as_uri())
        page.locator("section[aria-labelledby='slice-1']").scroll_into_view_if_needed()
        return screenshot(page, "why_slices.webp", 6, "section[aria-labelledby='slice-1']")


def scale(out: Path) -> None:
    """The curves of docs/scale.md, from the numbers that were measured."""
    spec = importlib.util.spec_from_file_location("scale_benchmark", ROOT / "benchmarks" / "scale.py")
    if spec is None or spec.loader is None:
        raise SystemExit("benchmarks/scale.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.plot(json.loads((ROOT / "docs" / "results" / "scale.json").read_text()), out / "scale.svg")


def pictures(folder: Path) -> dict[str, Callable[[], Image.Image]]:
    """How each picture is made, by its name."""
    return {
        "people": lambda: drawn("portraits", 10, 4, (160, 160)),
        "twins": lambda: twins(4),
        "groups": lambda: sheet("groups", 3, 1, (520, 390)),
        "bodies": lambda: sheet("bodies", 8, 1, (195, 300)),
        "attacks": lambda: sheet("attacks", 8, 1, (195, 195)),
        "lookalikes": lambda: sheet("lookalikes", 8, 1, (195, 195)),
        "ladder": lambda: report_part(folder, "twins", "ladder.webp", 20),
        "first-screen": lambda: report_part(folder, "demo", "first-screen.webp", 6),
        "view": lambda: viewer(folder),
        "why_waterfall": lambda: waterfall(folder),
        "why_slices": lambda: slices(folder),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="these pictures alone")
    parser.add_argument("--runs", type=Path, default=ROOT / "out" / "pictures", help="where the runs are kept")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    makers = pictures(chosen.runs)
    for name in chosen.only or [*makers, "scale"]:
        if name == "scale":
            scale(chosen.out)
        else:
            makers[name]().save(chosen.out / f"{name}.webp", quality=82, method=6)
        print(f"{name}: written", flush=True)


if __name__ == "__main__":
    main()
