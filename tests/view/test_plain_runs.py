"""Runs as they come: not audited, without attributes, with other clusters, with many files of scores."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from tests.view.conftest import Viewer, query, start

from countenance.run import Run, audit_run, store_audit


def pages(viewer: Viewer, run: str) -> None:
    for page in ("", "/tests", "/rows", "/samples", "/samples/0", "/unanswered", "/export/figure.svg"):
        assert viewer.ask(f"/runs/{run}{page}").status == 200, page


@pytest.fixture
def place(runs: Path, tmp_path: Path) -> Path:
    shutil.copytree(runs / "second", tmp_path / "run")
    return tmp_path / "run"


def test_a_run_that_was_not_audited(place: Path) -> None:
    (place / "audit.json").unlink()
    (place / "findings.parquet").unlink()
    here = start([place])
    run = here.id_of("run")
    (found,) = here.ask("/api/runs").json()
    assert found["verdict"] == "" and "not audited yet" in here.ask("/").text
    assert here.ask(f"/api/runs/{run}/estimates").json()
    pages(here, run)
    assert not (place / "audit.json").exists()  # looking changes nothing
    here.close()


def test_a_run_without_attributes(place: Path) -> None:
    run = Run(place)
    scores = run.scores()
    bare = scores.drop_columns([name for name in scores.column_names if name.startswith("attr.")])
    run.store.write_table("scores.parquet", bare)
    run.store.seal()
    store_audit(run, audit_run(run))
    here = start([place])
    found = here.ask(f"/api/runs/{here.id_of('run')}/estimates").json()
    assert {one["group"] for one in found} == {"everyone"}
    pages(here, here.id_of("run"))
    here.close()


@pytest.mark.parametrize("cluster", [None, "sample", "identity", ["identity", "sample"]])
def test_the_clusters_of_the_audit_are_kept(place: Path, cluster: object) -> None:
    import json

    run = Run(place)
    store_audit(run, audit_run(run, ["skin_tone"], ["average_recall"], cluster=cluster, alpha=0.1))
    here = start([place])
    found = here.ask(f"/api/runs/{here.id_of('run')}/estimates").json()
    assert found == json.loads((place / "audit.json").read_text(encoding="utf-8"))["groups"]
    here.close()


def test_a_score_table_of_many_files(place: Path) -> None:
    run = Run(place)
    table = run.scores()
    before = start([place])
    expected = before.ask(f"/api/runs/{before.id_of('run')}/rows?{query(by_metric='best_iou', size='200')}").json()
    half = table.num_rows // 2
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        run.store.write_table(f"scores/{number:05d}.parquet", pa.table(part))
    (place / "scores.parquet").unlink()
    run.store.seal()
    here = start([place])
    assert here.ask(f"/api/runs/{here.id_of('run')}/rows?{query(by_metric='best_iou', size='200')}").json() == expected
    pages(here, here.id_of("run"))
    here.close()
    before.close()
