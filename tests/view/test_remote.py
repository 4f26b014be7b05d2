"""Runs in an object store are looked at like those on a disk; nothing outside the named prefix is fetched."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.view.conftest import SECRET, Viewer, query, start

from countenance.errors import InputError
from countenance.run import Run, audit_run, store_audit
from countenance.storage import Storage, open_storage
from countenance.view.library import Library
from countenance.view.privacy import Privacy
from countenance.view.remote import Fetched


def put(folder: Path, url: str) -> Storage:
    """Every file of a run, copied into the store."""
    storage = open_storage(url)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith((".", "thumbnails/")):
            storage.write(name, path.read_bytes())
    return storage


@pytest.fixture
def remote(s3: str, runs: Path) -> Iterator[Viewer]:
    put(runs / "first" / "run", "s3://tests/view/runs/first")
    put(runs / "second", "s3://tests/view/elsewhere/second")
    made = start(["s3://tests/view/runs"])
    yield made
    made.close()


def test_a_run_in_a_store_is_listed_opened_and_shown(remote: Viewer, first_run: Run) -> None:
    (listed,) = remote.ask("/api/runs").json()
    assert listed["name"] == "first" and listed["place"].startswith("s3://") and listed["status"] == "complete"
    run = listed["id"]
    found = remote.ask(f"/api/runs/{run}/estimates?{query(by='skin_tone', metric='recall@0.5')}").json()
    groups = json.loads((first_run.path / "audit.json").read_text(encoding="utf-8"))["groups"]
    assert found == [g for g in groups if g["attribute"] == "skin_tone" and g["metric"] == "recall@0.5"]
    for path in ("", "/tests", "/rows", "/samples?show=all", "/samples/3", "/unanswered", "/export/rows.csv"):
        assert remote.ask(f"/runs/{run}{path}").status == 200
    assert "rect" in remote.ask(f"/runs/{run}/samples/3").text
    assert remote.ask(f"/runs/{run}/thumbnails/3").headers["content-type"] == "image/jpeg"
    (storage, _) = remote.library.runs()[run]
    assert isinstance(storage, Fetched) and not [e for e in storage.remote.entries() if "thumbnails" in e.name]


def test_a_new_audit_in_the_store_is_seen(remote: Viewer) -> None:
    run = Run("s3://tests/view/runs/first")
    store_audit(run, audit_run(run, by=["gender"], metrics=["recall@0.5"], min_n=10_000))
    remote.library._searched.clear()  # a listing counts for some seconds
    assert remote.ask("/api/runs").json()[0]["verdict"] == "untestable"


def test_views_and_the_record_of_shown_faces_stay_in_the_store(remote: Viewer) -> None:
    body = f"name=mine&address=/runs/{remote.id_of('first')}"
    assert remote.ask("/views", method="POST", body=body, Origin=remote.url).status == 200
    assert json.loads(open_storage("s3://tests/view/runs").read("views.json"))["views"][0]["name"] == "mine"
    assert [one["name"] for one in remote.ask("/api/views").json()] == ["mine"]
    storage, _ = remote.library.runs()[remote.id_of("first")]
    opened = Run(storage)
    card = opened.manifest.dataset.card.model_copy(update={"real_people": True})
    opened.manifest.dataset = opened.manifest.dataset.model_copy(update={"card": card})
    assert "recorded" in Privacy(show_faces=True).record(opened)
    assert b"--show-faces" in open_storage("s3://tests/view/runs/first").read("viewed.jsonl")


def test_nothing_beside_the_prefix_is_reached(remote: Viewer) -> None:
    storage, _ = remote.library.runs()[remote.id_of("first")]
    for name in ("../../elsewhere/second/run.json", "/etc/hostname"):
        with pytest.raises(InputError, match="leads out"):
            storage.read(name)
    other = next(iter(Library(["s3://tests/view/elsewhere"]).runs()))
    assert remote.ask(f"/runs/{other}").status == 404
    assert SECRET not in remote.ask("/").text


def test_a_store_without_runs_and_one_that_is_not_there(s3: str) -> None:
    empty = start(["s3://tests/view/nothing"])
    assert "No run below" in empty.ask("/").text
    empty.close()
    with pytest.raises(InputError, match="no bucket"):
        Library(["s3://nosuchbucket/runs"]).runs()
