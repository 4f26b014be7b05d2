"""The list of runs and the command: what is damaged, empty, taken or running gets a sentence, and nothing ends."""

import json
import shutil
import socket
from pathlib import Path

import pytest
from tests.view.conftest import Viewer, query, start

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run
from countenance.run.store import RunStore
from countenance.storage.local import LocalStorage
from countenance.view.named_views import Saved
from countenance.view.server import bind


def test_a_damaged_run_is_listed_and_the_others_are_shown(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "second", tmp_path / "good")
    for name, content in {"garbage": b"{", "other": b"[]", "newer": b'{"format": 99}', "empty": b""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_bytes(content)
    shutil.copytree(runs / "second", tmp_path / "no-scores")
    (tmp_path / "no-scores" / "scores.parquet").write_bytes(b"PAR1")
    here = start([tmp_path])
    found = {one["name"]: one for one in here.ask("/api/runs").json()}
    assert set(found) == {"good", "garbage", "other", "newer", "empty", "no-scores"}
    assert all(found[name]["status"] == "damaged" and found[name]["problem"] for name in ("garbage", "other", "empty"))
    assert "newer version" in found["newer"]["problem"]
    page = here.ask("/")
    assert page.status == 200 and "damaged" in page.text
    for name in ("garbage", "no-scores"):
        answer = here.ask(f"/runs/{found[name]['id']}")
        assert answer.status == 400 and "run" in answer.text
        assert here.ask(f"/api/runs/{found[name]['id']}/estimates").status == 400
    assert here.ask(f"/runs/{found['good']['id']}").status == 200
    here.close()


def test_an_empty_folder_shows_how_to_begin_and_a_new_run_appears(runs: Path, tmp_path: Path) -> None:
    here = start([tmp_path])
    assert here.ask("/api/runs").json() == []
    assert "make demo" in here.ask("/").text
    shutil.copytree(runs / "second", tmp_path / "new")
    found = here.ask("/api/runs").json()
    assert [one["name"] for one in found] == ["new"]
    here.close()


def test_a_running_run_shows_its_progress(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "second", tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    shards = len(list((tmp_path / "run" / "shards").iterdir()))
    path.write_text(json.dumps(manifest | {"status": "running"}), encoding="utf-8")
    (tmp_path / "run" / "scores.parquet").unlink()
    here = start([tmp_path])
    (found,) = here.ask("/api/runs").json()
    assert found["status"] == "running"
    assert found["done"] == min(shards * manifest["shard"], manifest["dataset"]["images"])
    page = here.ask(f"/runs/{found['id']}")
    assert page.status == 200 and "<progress" in page.text
    assert here.ask(f"/api/runs/{found['id']}/estimates").status == 400
    here.close()


def test_runs_are_searched_filtered_and_sorted(viewer: Viewer) -> None:
    assert "3 of 3 runs" in viewer.ask("/").text
    assert "2 of 3 runs" in viewer.ask("/?q=drawn-faces").text
    assert "No run matches" in viewer.ask("/?q=nothing-like-it").text
    assert "2 of 3 runs" in viewer.ask(f"/?{query(model='drawn-faces')}").text
    text = viewer.ask("/?sort=name").text
    assert text.index("first/run") < text.index("hostile/run") < text.index("second")


def test_views_are_saved_under_a_name_and_only_pages_of_the_viewer(viewer: Viewer, runs: Path, first: str) -> None:
    def post(path: str, body: str) -> int:
        return viewer.ask(path, method="POST", body=body, Origin=viewer.url).status

    address = f"/runs/{first}?{query(by='gender', metric='recall@0.5')}"
    assert post("/views", query(name="Vergleich <b>größer</b>", address=address)) == 200
    assert {"name": "Vergleich <b>größer</b>", "address": address} in viewer.ask("/api/views").json()
    assert "Vergleich &lt;b&gt;größer" in viewer.ask("/").text
    assert viewer.ask(address).status == 200
    for bad in ("http://evil.example/", "//evil.example/", "javascript:alert(1)", "/static/x", "/runs/a b", ""):
        assert post("/views", query(name="bad", address=bad)) == 400
    assert post("/views", query(name="  ", address="/")) == 400
    (runs / "views.json").write_text('{"views": [{"name": "x", "address": "javascript:alert(1)"}]}', encoding="utf-8")
    assert viewer.ask("/api/views").json() == []
    (runs / "views.json").write_text("[", encoding="utf-8")
    assert viewer.ask("/api/views").json() == []
    assert post("/views", query(name="again", address="/")) == 200
    assert post("/views/delete", query(name="again")) == 200
    assert viewer.ask("/api/views").json() == []


def test_a_port_in_use_gets_a_sentence(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match="in use"):
            bind("127.0.0.1", port)
        assert command(["view", str(runs), "--no-browser", "--port", str(port)]) == 2
        assert f"--port {port}: in use" in capsys.readouterr().err
        free = bind("127.0.0.1", None, usual=port)
        assert free.getsockname()[1] != port
        assert free.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on: 40 ms for every answer
        free.close()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),
        (["--host", "0.0.0.0", "--allow-remote"], "--token"),
        (["--host", "0.0.0.0", "--token", "a-long-token"], "--allow-remote"),
        (["--token", ""], "empty or not printable"),
        (["--host", "0.0.0.0", "--allow-remote", "--token", "short"], "at least 16"),
    ],
)
def test_wrong_options_are_refused(
    runs: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["view", str(runs), "--no-browser", *options]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert command(["view", str(tmp_path / "nothing"), "--no-browser"]) == 2
    assert command(["view", str(tmp_path / "file"), "--no-browser"]) == 2
    assert command(["view", str(tmp_path), "--bundle", str(tmp_path / "out")]) == 2
    assert "holds no run" in capsys.readouterr().err


def test_a_bundle_stands_alone(runs: Path, tmp_path: Path) -> None:
    import re

    out = tmp_path / "site"
    assert command(["view", str(runs / "second"), "--bundle", str(out)]) == 0
    pages = list(out.rglob("*.html"))
    assert len(pages) >= 3 and list(out.rglob("pictures/*.jpg")) and list(out.rglob("figure.pdf"))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for address in re.findall(r'(?:href|src)="([^"#]+)"', text):
            if not address.startswith("data:"):
                assert not address.startswith("/") and (page.parent / address).exists(), (page, address)
    assert command(["view", str(runs / "second"), "--bundle", str(out)]) == 0  # again
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x", encoding="utf-8")
    assert command(["view", str(runs / "second"), "--bundle", str(tmp_path / "mine")]) == 2
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_code_that_a_run_names_is_not_imported(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hostile_module.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    shutil.copytree(runs / "second", tmp_path / "runs" / "run")
    path = tmp_path / "runs" / "run" / "run.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest |= {"task": "hostile_module:task", "task_source": "hostile_module:task", "metrics": None}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    RunStore(path.parent).seal()
    here = start([tmp_path / "runs"])
    name = here.id_of("run")
    for page in ("", "/samples", "/rows", "/tests"):
        assert here.ask(f"/runs/{name}{page}").status == 200
    assert Run(tmp_path / "runs" / "run").manifest.task == "hostile_module:task"
    here.close()


def test_thousands_of_runs_are_shown_a_page_at_a_time(runs: Path, tmp_path: Path) -> None:
    """10,000 runs made a page of 8 MB, asked for again every 2.5 seconds."""
    for number in range(130):
        folder = tmp_path / f"run{number:03d}"
        folder.mkdir()
        for name in ("run.json", "audit.json", "files.json"):
            (folder / name).write_bytes((runs / "second" / name).read_bytes())
    viewer = start([tmp_path])
    try:
        pages = [viewer.ask(f"/?sort=name&page={number}").text for number in (1, 2, 3)]
        assert [text.count('class="run-card') for text in pages] == [60, 60, 10]
        assert "130 of 130 runs" in pages[0] and "page 1 of 3" in pages[0] and 'rel="next"' not in pages[2]
        assert all(f"<bdi>run{number:03d}</bdi>" in "".join(pages) for number in range(130))
        assert viewer.ask("/?page=999").text.count('class="run-card') == 10
        first = viewer.ask("/api/stamp").json()["stamp"]
        assert viewer.ask("/api/stamp").json()["stamp"] == first
        shutil.rmtree(tmp_path / "run000")
        viewer.library._searched.clear()
        assert viewer.ask("/api/stamp").json()["stamp"] != first
        assert len(viewer.ask("/api/runs").json()) == 129
    finally:
        viewer.close()


def test_a_saved_view_leaves_the_others_and_replaces_the_one_of_its_name(tmp_path: Path) -> None:
    saved = Saved(LocalStorage(tmp_path))
    for name, address in (("first", "/"), ("second", "/?q=a"), ("first", "/?q=b")):
        saved.save(name, address)
    assert [(view.name, view.address) for view in saved.views()] == [("second", "/?q=a"), ("first", "/?q=b")]
    saved.delete("second")
    assert [view.name for view in saved.views()] == ["first"]
