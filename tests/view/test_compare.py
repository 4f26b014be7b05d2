"""Runs side by side: the numbers of `countenance.compare`, links to rows, and the samples that changed."""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.view.conftest import Viewer, query, start

from countenance.compare import compare
from countenance.run import Run, audit_run, store_audit


@pytest.fixture(scope="module")
def pair(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Two runs of the same data; the second misses twenty faces more and finds five that the first missed."""
    root = tmp_path_factory.mktemp("pair")
    for name in ("one", "two"):
        shutil.copytree(runs / "second", root / name)
    run = Run(root / "two")
    rows = run.scores().to_pylist()
    people = [row for row in rows if row["m.recall@0.5"] is not None]
    hits, misses = ([one for one in people if one["m.recall@0.5"] == value] for value in (1, 0))
    for row in hits[:20]:
        row["m.recall@0.5"], row["m.best_iou"] = 0.0, 0.0
    for row in misses[:5]:
        row["m.recall@0.5"] = 1.0
    run.store.write_table("scores.parquet", pa.Table.from_pylist(rows, schema=run.scores().schema))
    store_audit(run, audit_run(run, ["skin_tone", "gender"], ["recall@0.5"]))
    made = start([root])
    yield made
    made.close()


def both(viewer: Viewer) -> str:
    return f"run={viewer.id_of('one')}&run={viewer.id_of('two')}&{query(by='gender', metric='recall@0.5')}"


def test_the_estimates_of_both_stand_side_by_side(pair: Viewer) -> None:
    text = pair.ask(f"/compare?{both(pair)}").text
    links = [html.unescape(one) for one in re.findall(r'<a class="rows" href="(/runs/[^"]+)"', text)]
    assert len(links) == 6  # female, male and unknown, in both
    for link in links:
        assert pair.ask(link).status == 200


def test_the_changes_are_those_of_compare(pair: Viewer) -> None:
    text = html.unescape(pair.ask(f"/compare/changes?{both(pair)}").text)
    roots = pair.library.roots[0].path
    found = compare(Run(roots / "one"), Run(roots / "two"), by=["gender"], metrics=["recall@0.5"], names=["one", "two"])
    assert found.decision in text
    assert "Gaps that moved" in text


def test_the_samples_that_changed_are_all_there(pair: Viewer) -> None:
    for change, count in (("lost", "20 rows"), ("gained", "5 rows"), ("any", "25 rows")):
        text = pair.ask(f"/compare/samples?{both(pair)}&change={change}").text
        assert f"{count} by recall@0.5" in text
    assert text.count("changed-pair") == 24 and "page 1 of 2" in text


def test_too_few_or_too_different_runs_get_a_sentence(pair: Viewer, viewer: Viewer, first: str) -> None:
    assert "Choose two runs" in pair.ask("/compare").text
    assert "Choose two runs" in pair.ask(f"/compare?run={pair.id_of('one')}").text
    assert pair.ask(f"/compare/changes?run={pair.id_of('one')}").status == 400
    answer = viewer.ask(f"/compare/changes?run={first}&run={viewer.id_of('hostile/run')}&by=gender&metric=recall@0.5")
    assert answer.status == 400 and "not comparable" in answer.text
    assert pair.ask("/compare?run=nobody-000000000000").status == 404


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_changes_are_exported(pair: Viewer, form: str) -> None:
    answer = pair.ask(f"/compare/export/changes.{form}?{both(pair)}")
    assert answer.status == 200 and "attachment" in answer.headers["content-disposition"] and len(answer.content) > 500
