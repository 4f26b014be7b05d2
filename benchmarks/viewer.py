"""How fast the viewer answers on a large run: 1,000,000 rows, 100,000 pictures. `python benchmarks/viewer.py`."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from countenance.data import DatasetCard
from countenance.models.model import ModelCard
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord
from countenance.view.library import Library
from countenance.view.opened import OpenRun
from countenance.view.pages import run_context
from countenance.view.privacy import Privacy
from countenance.view.rows import Selection
from countenance.view.site import Site

ROWS, PICTURES, PEOPLE = 1_000_000, 100_000, 50_000
VALUES = {"skin_tone": 10, "age_group": 4, "gender": 2, "masked": 2, "light": 4, "hair": 6}


def make_run(folder: Path) -> None:
    """A run's files, drawn at random: ten rows a picture."""
    rng = np.random.default_rng(0)
    identity = rng.integers(0, PEOPLE, ROWS)
    columns: dict[str, object] = {
        "sample": pa.array([f"images/{i // 10:06d}.jpg" for i in range(ROWS)]),
        "subject": pa.array([str(i % 10) for i in range(ROWS)]),
        "identity": pa.array([f"p{i:05d}" for i in identity]),
    }
    for name, count in VALUES.items():
        columns[f"attr.{name}"] = pa.array([f"{name}_{v}" for v in rng.integers(0, count, PEOPLE)]).take(
            pa.array(identity)
        )
    overlap = rng.beta(8, 2, ROWS)
    columns |= {"m.best_iou": pa.array(overlap), "m.found": pa.array((overlap > 0.6).astype(float))}
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "scores.parquet", compression="zstd")
    metrics = [MetricRecord(name="found", headline=True), MetricRecord(name="best_iou")]
    manifest = Manifest(
        task="drawn", metrics=metrics, model=ModelCard(name="random"),
        dataset=DatasetRecord(card=DatasetCard(name="drawn", real_people=False), images=PICTURES),
    )  # fmt: skip
    (folder / "run.json").write_bytes(manifest.to_bytes())


def timed(what: str, call, times: int = 15) -> None:  # type: ignore[no-untyped-def]
    """Print how long a call takes: the first, the later ones by the clock, and their share of a processor."""
    start = time.perf_counter()
    call()
    first = time.perf_counter() - start
    took, busy = [], time.process_time()
    for _ in range(times):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    busy = (time.process_time() - busy) / times
    p50, p95 = np.median(took), np.quantile(took, 0.95)
    print(
        f"{what:44} first {1000 * first:5.0f} ms, p50 {1000 * p50:5.0f}, p95 {1000 * p95:5.0f}, cpu {1000 * busy:5.0f}"
    )


def memory() -> int:
    """Resident memory in MB."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        make_run(Path(place) / "run")
        print(f"{ROWS:,} rows; {memory()} MB before the viewer")
        library = Library([place])
        opened: OpenRun = library.open(next(iter(library.runs())))
        site = Site(library, Privacy())
        one = [("by", "skin_tone"), ("metric", "found"), ("depth", "1")]
        # Answers are kept for the same address; another level each time asks for the arithmetic again.
        levels = iter(range(1, 10_000))

        def asked(*parts: tuple[str, str]) -> None:
            opened.estimates(opened.question([*parts, ("depth", "1"), ("alpha", f"{0.05 + 1e-6 * next(levels)}")]))

        timed("estimates by one attribute, a rate", lambda: asked(("by", "skin_tone"), ("metric", "found")))
        timed("estimates by one attribute, a mean", lambda: asked(("by", "skin_tone"), ("metric", "best_iou")))
        where = ("where", "gender=gender_1")
        timed("the same where gender=gender_1", lambda: asked(("by", "skin_tone"), ("metric", "found"), where))
        timed("the same address again", lambda: opened.estimates(opened.question(one)))
        timed(
            "the page of one run by one attribute",
            lambda: site.render("run.html.j2", **run_context(opened, opened.question(one))),
            5,
        )
        numbers = iter(range(1, 10_000))
        chosen = [*one, ("of", "skin_tone"), ("group", "skin_tone_3"), ("size", "48")]
        timed(
            "the next page of rows of one group",
            lambda: Selection.of(opened, [*chosen, ("page", str(next(numbers)))]).page(),
        )
        everything = [*one, ("show", "failed"), ("size", "48")]
        timed(
            "the next page of failures of everybody",
            lambda: Selection.of(opened, [*everything, ("page", str(next(numbers)))]).page(),
        )
        print(f"{memory()} MB at the end")


if __name__ == "__main__":
    main()
