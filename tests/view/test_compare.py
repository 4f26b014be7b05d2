"""Runs side by side: the numbers of `countenance.comparing`, links to rows, and the samples that changed."""

import html
import math
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.view.conftest import Viewer, query, start

from countenance.comparing import compare, leaderboard
from countenance.run import Run, audit_run, store_audit
from countenance.view.comparing import MOST_RUNS
from countenance.view.samples import RunGallery


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
    run.store.seal()
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


def test_the_pictures_of_as_many_runs_as_are_compared_are_each_read_once(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(MOST_RUNS):
        shutil.copytree(runs / "second", tmp_path / f"run{number}")
    read, load = [], RunGallery._load
    monkeypatch.setattr(RunGallery, "_load", lambda gallery: (read.append(gallery.opened.id), load(gallery)))
    here = start([tmp_path])
    ids = sorted(one.id for one in here.library.summaries())
    address = "/compare/changes?" + "&".join(f"run={one}" for one in ids) + "&by=gender&metric=recall@0.5"
    assert here.send(address).status == 200
    for one in ids:
        while here.send(f"/api/runs/{one}/pictures").json()["state"] == "loading":
            time.sleep(0.05)
    assert "data-waiting=" not in here.send(address).text and sorted(read) == ids
    here.close()


def test_the_changes_are_those_of_compare(pair: Viewer) -> None:
    text = html.unescape(pair.ask(f"/compare/changes?{both(pair)}").text)
    roots = pair.library.roots[0].path
    found = compare(Run(roots / "one"), Run(roots / "two"), by=["gender"], metrics=["recall@0.5"], names=["one", "two"])
    assert found.decision in text
    assert "Faces found: gaps that moved" in text and "recall@0.5, group by group" not in text


def test_the_samples_that_changed_are_all_there(pair: Viewer) -> None:
    for change, count in (("lost", "20 rows"), ("gained", "5 rows"), ("any", "25 rows")):
        text = pair.ask(f"/compare/samples?{both(pair)}&change={change}").text
        assert f"{count} by recall@0.5" in text
    assert text.count("changed-pair") == 24 and "page 1 of 2" in text


def test_the_changes_begin_with_the_people_of_whom_the_models_differ(pair: Viewer) -> None:
    address = f"/compare/changes?{both(pair)}"
    first_part = pair.ask(address).text.partition("<table")[0]
    titles = re.findall(r'class="tile-title"><strong>([^<]+)</strong> <span class="soft">([^<]+)<', first_part)
    assert [(heading, text.partition(" ")[0]) for heading, text in titles] == [("Now missed", "20"), ("Now found", "5")]
    assert first_part.count('class="tile failed"') == 6 and first_part.count('class="tile right"') == 5
    ((way, more),) = [
        (heading, html.unescape(link))
        for heading, link in re.findall(r"<strong>([^<]+)</strong>[^\n]*<a href=\"([^\"]+)\">more", first_part)
    ]
    assert way == "Now missed" and "20 rows by recall@0.5" in pair.ask(more).text


def test_real_people_are_dots_where_a_comparison_begins(pair: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        record = pair.library.open(pair.id_of(name)).run.manifest.dataset
        monkeypatch.setattr(record, "card", record.card.model_copy(update={"real_people": True}))
    first_part = pair.ask(f"/compare/changes?{both(pair)}").text.partition("<table")[0]
    assert "data:image" not in first_part and 'class="dot-failed"' in first_part


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


def test_three_runs_are_one_family_as_the_command_has_them(pair: Viewer) -> None:
    root = pair.library.roots[0].path
    shutil.copytree(root / "two", root / "three")
    pair.library._searched.clear()
    try:
        names = ["one", "two", "three"]
        asked = "&".join(f"run={pair.id_of(name)}" for name in names) + f"&{query(by='gender', metric='recall@0.5')}"
        runs = [Run(root / name) for name in names]
        expected = leaderboard(runs, ["gender"], ["recall@0.5"], names=names, against_first=True)
        text = html.unescape(pair.ask(f"/compare/changes?{asked}").text)
        for sentence in expected.decisions:
            assert sentence.removeprefix("Against one: ") in text
        content = pair.ask(f"/compare/export/changes.parquet?{asked}").content
        rows = pq.read_table(pa.BufferReader(content)).to_pylist()
        for part, listed in (("group", expected.groups), ("gap", expected.gaps)):
            shown = {(r["b"], r["attribute"], r["group"]): repr(r["p_adjusted"]) for r in rows if r["part"] == part}
            p_values = {(change.b, change.attribute, change.group): change.p_adjusted for change in listed}
            assert shown == {key: repr(None if math.isnan(p) else p) for key, p in p_values.items()}
        whole = {row["b"]: row["p_adjusted"] for row in rows if row["part"] == "overall"}
        assert whole == {name: expected.pair("recall@0.5", "one", name).p_adjusted for name in names[1:]}
    finally:
        shutil.rmtree(root / "three")
        pair.library._searched.clear()


def test_every_number_of_the_changes_is_a_link(pair: Viewer) -> None:
    text = pair.ask(f"/compare/changes?{both(pair)}").text
    cells = re.findall(r'<td class="(?:number|n)"[^>]*>(.*?)</td>', text)
    told = [cell for cell in cells if re.search(r"\d", cell)]
    assert told and all("<a class=" in cell for cell in told)
    addresses = {html.unescape(one) for one in re.findall(r'<a class="rows[^"]*" href="([^"]+)"', text)}
    assert all(pair.ask(address).status == 200 for address in sorted(addresses)[:8])


def test_runs_of_one_model_in_folders_of_one_name_are_told_apart(pair: Viewer, tmp_path: Path) -> None:
    root = pair.library.roots[0].path
    for where, name in (("a", "one"), ("b", "two")):
        shutil.copytree(root / name, tmp_path / where / "run")
    viewer = start([tmp_path])
    try:
        asked = f"run={viewer.id_of('a/run')}&run={viewer.id_of('b/run')}&{query(by='gender', metric='recall@0.5')}"
        assert viewer.ask(f"/compare?{asked}").status == viewer.ask(f"/compare/changes?{asked}").status == 200
    finally:
        viewer.close()
