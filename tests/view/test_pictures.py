"""Pictures: drawn over, cached, private; thumbnails go with the people they show."""

import io
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from tests.gating.conftest import write_run
from tests.view.conftest import Viewer, drawn, query, start

from countenance.cli.app import run as command
from countenance.report.charts.forest import Forest
from countenance.run import Run
from countenance.run.file_names import thumbnails_of
from countenance.run.purge import purge
from countenance.run.store import RunStore
from countenance.run.verification import verify
from countenance.view import figures
from countenance.view.library import Library
from countenance.view.privacy import Privacy


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A run on real people (so the card says)."""
    drawn.make_run(tmp_path / "real", people=24, each=1, real=True)
    return tmp_path / "real" / "run"


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(float)


def detail(content: bytes) -> float:
    """How much neighbouring pixels differ."""
    return float(np.abs(np.diff(pixels(content), axis=1)).mean())


def test_a_row_leads_to_its_picture_with_truth_and_prediction(viewer: Viewer, first: str) -> None:
    row = viewer.ask(f"/api/runs/{first}/rows?{query(by_metric='recall@0.5', order='best')}").json()["rows"][0]
    page = viewer.ask(f"/runs/{first}/samples/{row['place']}").text
    assert row["sample"] in page and 'class="truth"' in page and 'class="answer"' in page
    answer = viewer.ask(f"/runs/{first}/pictures/{row['place']}")
    assert answer.headers["content-type"] == "image/jpeg" and pixels(answer.content).shape == (48, 48, 3)


def test_a_thumbnail_is_made_once(viewer: Viewer, first: str, first_run: Run) -> None:
    content = viewer.ask(f"/runs/{first}/thumbnails/3").content
    sample = first_run.scores()["sample"][3].as_py()
    (path,) = [
        p for p in (first_run.path / "thumbnails").iterdir() if p.name.startswith(Path(thumbnails_of(sample)).name)
    ]
    assert path.read_bytes() == content
    path.write_bytes(b"\xff\xd8 the file is read, not made again")
    assert viewer.ask(f"/runs/{first}/thumbnails/3").content == path.read_bytes()
    path.unlink()


def test_thumbnails_are_no_part_of_the_run(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "second", tmp_path / "run")
    store = RunStore(tmp_path / "run")
    before = store.sealed()
    here = start([tmp_path])
    name = here.id_of("run")
    assert here.ask(f"/runs/{name}/thumbnails/3").status == 200
    assert list((tmp_path / "run" / "thumbnails").iterdir())
    store.seal()
    assert set(store.sealed()) == set(before)
    assert not verify(store).problems
    here.close()


def test_a_purge_removes_the_thumbnails_of_those_who_withdrew(tmp_path: Path) -> None:
    run = drawn.make_run(tmp_path / "made", people=40, each=1)
    here = start([tmp_path])
    name = here.id_of("made/run")
    table = run.scores().to_pylist()
    places = {row["identity"]: i for i, row in enumerate(table) if row["m.recall@0.5"] is not None}
    for person in ("p003", "p004"):
        assert here.ask(f"/runs/{name}/thumbnails/{places[person]}").status == 200
    gone, kept = (thumbnails_of(table[places[person]]["sample"]) for person in ("p003", "p004"))
    purge(run.path, ["p003"])
    left = [f"thumbnails/{path.name}" for path in (run.path / "thumbnails").iterdir()]
    assert not any(one.startswith(gone) for one in left)
    assert any(one.startswith(kept) for one in left)
    assert "p003" not in here.ask(f"/runs/{name}/rows?show=all&size=200").text
    assert not verify(RunStore(run.path)).problems
    here.close()


def test_real_people_are_blurred(real: Path) -> None:
    here = start([real])
    name = here.id_of("run")
    page = here.ask(f"/runs/{name}/samples?show=all").text
    assert "real people and are blurred" in page
    shown = start([real], Privacy(show_faces=True))
    for kind in ("thumbnails", "pictures"):
        blurred, clear = (one.ask(f"/runs/{name}/{kind}/3").content for one in (here, shown))
        assert detail(blurred) < 0.6 * detail(clear)
    kept = [path.name for path in (real / "thumbnails").iterdir()]
    assert kept and all("blurred" in one for one in kept)  # clear faces are never written down
    here.close()
    shown.close()


def test_showing_faces_is_recorded(real: Path, tmp_path: Path) -> None:
    assert not (real / "viewed.jsonl").exists()
    assert command(["view", str(real), "--show-faces", "--bundle", str(tmp_path / "out")]) == 0
    (line,) = (real / "viewed.jsonl").read_text(encoding="utf-8").splitlines()
    assert "--show-faces" in json.loads(line)["what"] and json.loads(line)["when"]
    assert command(["view", str(real), "--show-faces", "--bundle", str(tmp_path / "out")]) == 0
    assert len((real / "viewed.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert not verify(RunStore(real)).problems
    purge(real, ["p003"])
    assert (real / "viewed.jsonl").exists()


def test_pictures_of_another_dataset_are_not_shown(real: Path) -> None:
    """A run that names a folder of somebody's pictures cannot show them: it would have to know their content."""
    pictures = real.parent / "data" / "images"
    victim = sorted(pictures.glob("*.png"))[0]
    Image.fromarray(np.full((48, 48, 3), 77, np.uint8)).save(victim)
    here = start([real], Privacy(show_faces=True))
    name = here.id_of("run")
    assert here.ask(f"/runs/{name}/pictures/3").status == 400
    page = here.ask(f"/runs/{name}/samples?show=all")
    assert page.status == 200 and "the dataset has changed since this run" in page.text
    assert here.ask(f"/runs/{name}").status == 200
    here.close()


def test_a_dataset_that_is_gone_costs_the_pictures_alone(real: Path) -> None:
    shutil.rmtree(real.parent / "data")
    here = start([real])
    name = here.id_of("run")
    page = here.ask(f"/runs/{name}/samples?show=all")
    assert page.status == 200 and "No pictures" in page.text
    assert here.ask(f"/runs/{name}/samples/3").status == 200
    here.close()


def test_unanswered_images_are_listed_by_reason(viewer: Viewer, first: str, first_run: Run) -> None:
    failures = first_run.failures().to_pylist()
    page = viewer.ask(f"/runs/{first}/unanswered").text
    assert failures and all(row["sample"] in page for row in failures)
    reason = failures[0]["reason"]
    some = viewer.ask(f"/runs/{first}/unanswered?{query(reason=reason)}").text
    counted = sum(row["reason"] == reason for row in failures)
    assert f"{counted} of {len(failures)} images." in some and counted < len(failures)


def test_unanswered_images_have_pictures_and_groups(viewer: Viewer, first: str, first_run: Run) -> None:
    import re

    failures = first_run.failures().to_pylist()
    viewer.ask(f"/runs/{first}/samples")  # the dataset is loaded by then
    page = viewer.ask(f"/runs/{first}/unanswered").text
    shown = re.findall(rf'src="(/runs/{first}/unanswered/\d+/small)"', page)
    assert len(shown) == len(failures)
    kinds = [viewer.ask(path).headers["content-type"] for path in shown]
    readable = [row["kind"] != "image" for row in failures]
    assert [kind == "image/jpeg" for kind in kinds] == readable
    for path in (f"/runs/{first}/unanswered/{len(failures)}/small", f"/runs/{first}/unanswered/0/huge"):
        assert viewer.ask(path).status == 404
    group = failures[0]["attr.gender"][0]
    some = viewer.ask(f"/runs/{first}/unanswered?{query(of='gender', group=group)}").text
    assert some.count('<div class="picture') == sum(group in row["attr.gender"] for row in failures)
    assert f"of=gender&amp;group={group}" in viewer.ask(f"/runs/{first}/tests").text


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_are_exported_whole(viewer: Viewer, first: str, form: str) -> None:
    asked = query(by="gender", metric="recall@0.5", depth="1")
    answer = viewer.ask(f"/runs/{first}/export/estimates.{form}?{asked}")
    assert "attachment" in answer.headers["content-disposition"]
    found = viewer.ask(f"/api/runs/{first}/estimates?{asked}").json()
    if form == "parquet":
        assert pq.read_table(io.BytesIO(answer.content)).to_pylist() == found
    else:
        assert len(answer.content.decode("utf-8-sig").strip().splitlines()) == len(found) + 1
    rows = viewer.ask(f"/runs/{first}/export/rows.{form}?{query(of='gender', group='female')}")
    assert rows.status == 200
    assert viewer.ask(f"/runs/{first}/export/findings.{form}").status == 200
    assert viewer.ask(f"/runs/{first}/export/estimates.xlsx").status == 404


@pytest.mark.parametrize(("form", "start_of"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_figures_are_exported(viewer: Viewer, first: str, form: str, start_of: bytes) -> None:
    answer = viewer.ask(f"/runs/{first}/export/figure.{form}?{query(by='skin_tone', metric='recall@0.5')}")
    assert answer.status == 200 and answer.content.startswith(start_of) and len(answer.content) > 1000
    assert viewer.ask(f"/runs/{first}/export/figure.{form}?{query(by_metric='average_recall')}").status == 200
    assert viewer.ask(f"/runs/{first}/export/figure.{form}?{query(by_metric='nothing')}").status == 400


def test_a_figure_prints_shares_in_percent_as_the_page_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [0.5, 0.75, 1.0, 1.0] * 20
    write_run(tmp_path / "run", {"attr.tone": ["dark", "light"] * 40, "m.genuine_accepted": scores})
    library = Library([tmp_path])
    opened = library.open(library.summaries()[0].id)
    plots: list[Forest] = []
    monkeypatch.setattr(figures, "whole_figure", plots.append)
    monkeypatch.setattr(figures, "content_of", lambda figure, ending: b"")
    figures.forest_figure(opened, opened.question(), "svg", "genuine_accepted")
    values = [row.value for row in plots[0].rows]
    assert len(values) == 2 and all(value.endswith("%") for value in values), values


def test_a_csv_of_hostile_names_holds_no_formula(viewer: Viewer) -> None:
    text = viewer.ask(f"/runs/{viewer.id_of('hostile/run')}/export/rows.csv").content.decode("utf-8-sig")
    assert "=HYPERLINK" in text and ",=HYPERLINK" not in text


def test_a_dataset_in_a_manifest_is_not_held_in_memory(runs: Path, first_run: Run, tmp_path: Path) -> None:
    """A manifest's samples are read when they are shown, whatever is in its other rows."""
    from countenance.data.index import index_dataset, open_source
    from countenance.run.manifest import Place
    from countenance.view.dataset import Indexed, LoadedSamples

    manifest = index_dataset(open_source(str(runs / "first" / "data")), tmp_path / "data")
    shutil.copytree(first_run.path, tmp_path / "runs" / "run")
    copied = Run(tmp_path / "runs" / "run")
    copied.store.write_local(Place(source=str(tmp_path / "data")), copied.manifest)
    copied.manifest.dataset = copied.manifest.dataset.model_copy(update={"fingerprint": manifest.fingerprint()})
    copied.store.write_manifest(copied.manifest)
    copied.store.seal()
    here = start([tmp_path / "runs"])
    run = here.id_of("run")
    for _ in range(600):  # the page shows what is read already, and its script asks for the others
        page = here.ask(f"/runs/{run}/samples?show=all")
        if page.text.count('rect class="truth"') >= 40:
            break
        time.sleep(0.1)
    assert "No pictures" not in page.text and page.text.count('rect class="truth"') >= 40
    assert here.ask(f"/runs/{run}/thumbnails/3").content == here.ask(f"/runs/{run}/thumbnails/3").content != b""
    here.close()
    few, all_of_them = Indexed(manifest), LoadedSamples(first_run.dataset())
    names = [f"{sample}" for sample in first_run.scores()["sample"].to_pylist()[:30]]
    one, two = few.some([*names, "nobody"]), all_of_them.some([*names, "nobody"])
    assert one.keys() == two.keys() == set(names)
    assert all(one[name].subjects[0].face_box.tolist() == two[name].subjects[0].face_box.tolist() for name in names)


def test_a_hash_that_is_not_of_the_picture_costs_no_picture(first_run: Run) -> None:
    """Datasets of score files have another hash; the fingerprint of the dataset has been compared already."""
    from dataclasses import replace

    from countenance.data import Dataset
    from countenance.view.dataset import LoadedSamples
    from countenance.view.samples import RunGallery

    dataset = first_run.dataset()
    sample = replace(dataset[0], sha256="of something else")
    gallery = RunGallery.__new__(RunGallery)
    gallery._samples = LoadedSamples(Dataset(dataset.card, [sample]))
    assert gallery._pixels(sample).shape == (sample.height, sample.width, 3)


def test_pictures_that_are_still_being_read_say_so_and_nothing_waits_for_them(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from countenance.view.samples import RunGallery

    go, load = threading.Event(), RunGallery._load

    def slowly(gallery: RunGallery) -> None:
        go.wait(60)
        load(gallery)

    monkeypatch.setattr(RunGallery, "_load", slowly)
    slow = start([runs])
    try:
        key = slow.id_of("first/run")
        early = slow.send(f"/runs/{key}/samples?show=all").text
        assert ">loading</span>" in early and "no picture" not in early and "data-waiting=" in early
        assert slow.send(f"/api/runs/{key}/pictures").json()["state"] == "loading"
        go.set()
        late = slow.ask(f"/runs/{key}/samples?show=all").text
        assert "/thumbnails/" in late and "loading</span>" not in late and "data-waiting" not in late
    finally:
        go.set()
        slow.close()


@pytest.mark.parametrize(
    "page",
    [
        "/runs/{first}/samples?show=all",
        "/runs/{first}/samples/3",
        "/runs/{first}/tests",
        "/compare/samples?run={first}&run={second}&change=any",
        "/compare/changes?run={first}&run={second}",
    ],
)
def test_pictures_that_arrive_while_a_page_is_made_are_brought_in(
    runs: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dataset is read right after the page looked for it in vain the first time."""
    import threading

    from countenance.report.album import Album
    from countenance.view import comparing, pages
    from countenance.view.samples import RunGallery

    go, load, some, album_of = threading.Event(), RunGallery._load, RunGallery.some, pages.album_of
    early: list[str] = []

    def slowly(gallery: RunGallery) -> None:
        go.wait()
        load(gallery)

    def arrives(gallery: RunGallery) -> None:
        early.append(gallery.state)
        go.set()
        gallery.wait()

    def looked_up(gallery: RunGallery, names: Any) -> Any:
        known = some(gallery, names)
        arrives(gallery)
        return known

    def album(site: Any, opened: Any) -> Album:
        faces = album_of(site, opened)
        arrives(site.gallery(opened))
        return faces

    monkeypatch.setattr(RunGallery, "_load", slowly)
    monkeypatch.setattr(RunGallery, "some", looked_up)
    for module in (pages, comparing):
        monkeypatch.setattr(module, "album_of", album)
    here = start([runs])
    try:
        address = page.format(first=here.id_of("first/run"), second=here.id_of("second"))
        text = here.send(address).text
        assert early[0] == "loading" and "data-waiting=" in text and ">no picture<" not in text
        assert "data-waiting=" not in here.ask(address).text
    finally:
        go.set()
        here.close()


def test_captions_are_one_line_and_filters_count_failures(viewer: Viewer, first: str) -> None:
    text = viewer.ask(f"/runs/{first}/samples").text
    captions = re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", text, re.DOTALL)
    assert captions and all(caption.count("<span") == 1 for caption in captions)
    failed = re.search(r"<p class=\"lead\">([\d,]+) of ([\d,]+) rows", text)
    assert failed is not None
    counts = re.findall(
        r"group=(?:female|male)&amp;[^>]*>[^<]*<bdi>[^<]*</bdi> <span class=\"soft\">(\d+) of (\d+)", text
    )
    assert sum(int(n) for n, _ in counts) <= int(failed[1].replace(",", "")) and len(counts) == 2


def test_the_list_shows_a_sentence_numbers_and_faces_of_nobody_real(viewer: Viewer, first: str) -> None:
    text = viewer.ask("/").text
    assert "card-sentence" in text and "card-figures" in text
    if f"/runs/{first}/faces/0" in text:
        answer = viewer.ask(f"/runs/{first}/faces/0")
        assert answer.status == 200 and answer.content.startswith(b"\xff\xd8")
    assert viewer.ask(f"/runs/{first}/faces/7").status == 404
