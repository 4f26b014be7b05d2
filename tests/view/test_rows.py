"""Every number leads to its rows: as many as its n, in order, a page at a time."""

from pathlib import Path

import numpy as np
import pytest
from tests.view.conftest import Viewer, query

from countenance.auditing import estimates
from countenance.errors import InputError
from countenance.run import Run
from countenance.view.open_run import OpenRun
from countenance.view.rows import Selection
from countenance.view.scope import ScopedStorage


@pytest.fixture(scope="module")
def opened(runs: Path) -> OpenRun:
    return OpenRun("second", ScopedStorage((runs / "second").resolve()))


def select(opened: OpenRun, **parts: str) -> Selection:
    return Selection.of(opened, list(parts.items()))


@pytest.mark.parametrize("by", ["skin_tone", "gender", "skin_tone*gender"])
def test_a_group_has_as_many_rows_as_its_n(opened: OpenRun, by: str) -> None:
    for one in opened.estimates(opened.question([("by", by), ("metric", "recall@0.5"), ("depth", "1")])):
        page = select(opened, of=by, group=one.group, by_metric="recall@0.5").page()
        assert page.total == one.n, one.group


def test_the_rows_of_a_group_have_its_mean(opened: OpenRun) -> None:
    (one,) = [
        e
        for e in opened.estimates(opened.question([("by", "skin_tone"), ("metric", "best_iou")]))
        if e.group == "monk_9"
    ]
    rows = select(opened, of="skin_tone", group="monk_9", by_metric="best_iou", size="200").page().rows
    assert np.mean([row["m.best_iou"] for row in rows]) == pytest.approx(one.estimate)


def test_bins_and_lists_are_cut_as_the_audit_cuts_them(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from countenance.view.columns import Columns

    table = pa.table(
        {
            "sample": [f"s{i}" for i in range(8)],
            "attr.age": [3.0, 17, 18, 40, 64, 65, 90, None],
            "attr.worn": [["hat"], ["hat", "mask"], [], None, ["mask"], ["hat"], ["mask"], ["hat"]],
            "m.found": [1.0, 0, 1, 0, 1, 0, 1, 1],
        }
    )
    pq.write_table(table, tmp_path / "a [1] *.parquet")
    columns = Columns([tmp_path / "a [1] *.parquet"], "table")
    assert columns.distinct("attr.data") == columns.about(["found"]).distinct("attr.data") == 1  # no column of the file
    for by in ("age:18,65", "age:quantiles3", "worn", "age:18,65*worn"):
        for one in estimates(table, [by], ["found"], cluster=None):
            assert columns.members(by, one.group).sum() == one.n, (by, one.group)
    with pytest.raises(InputError, match="no group"):
        columns.members("worn", "scarf")


def test_worst_come_first_and_finer_metrics_break_ties(opened: OpenRun) -> None:
    rows = select(opened, by_metric="recall@0.5", size="200").page().rows
    hits = [row["m.recall@0.5"] for row in rows]
    assert hits == sorted(hits)
    missed = [row["m.best_iou"] for row in rows if row["m.recall@0.5"] == 0]
    assert missed == sorted(missed)
    best = select(opened, by_metric="recall@0.5", order="best", size="200").page().rows
    assert best[0]["m.recall@0.5"] == 1


def test_failed_and_passed_are_all(opened: OpenRun) -> None:
    totals = {
        show: select(opened, by_metric="recall@0.5", show=show).page().total for show in ("all", "failed", "passed")
    }
    assert totals["failed"] + totals["passed"] == totals["all"] and totals["failed"]
    alarms = select(opened, by_metric="false_positives", show="failed").page()
    assert alarms.rows and all(row["m.false_positives"] > 0 for row in alarms.rows)


def test_pages_follow_each_other_without_gap(opened: OpenRun) -> None:
    seen = [
        row["place"]
        for number in range(1, 12)
        for row in select(opened, by_metric="best_iou", page=str(number), size="24").page().rows
    ]
    whole, _ = select(opened, by_metric="best_iou").places()
    assert seen[: len(whole)] == [int(place) for place in whole]
    assert (
        select(opened, by_metric="best_iou", page="999").page().number
        == select(opened, by_metric="best_iou").page().pages
    )


def test_the_rows_are_those_of_the_table(opened: OpenRun, runs: Path) -> None:
    table = Run(runs / "second").scores()
    for row in select(opened, by_metric="best_iou", size="24").page().rows:
        assert row["sample"] == table["sample"][row["place"]].as_py()
        assert row["m.best_iou"] == table["m.best_iou"][row["place"]].as_py()


def test_every_estimate_on_the_page_is_a_link_to_as_many_rows(viewer: Viewer, first: str) -> None:
    import html
    import re

    text = viewer.ask(f"/runs/{first}?{query(by='gender', metric='recall@0.5', depth='1')}").text
    links = [html.unescape(link) for link in re.findall(r'<a class="rows" href="([^"]+)"', text)]
    counts = {
        one["group"]: one["n"]
        for one in viewer.ask(
            f"/api/runs/{first}/estimates?{query(by='gender', metric='recall@0.5', depth='1')}"
        ).json()
    }
    assert len(set(links)) == len([n for n in counts.values() if n]) + 1  # and the rows of everybody
    for link in links:
        page = viewer.ask(link.replace("/runs/", "/api/runs/", 1))
        assert page.status == 200 and page.json()["total"] in (*counts.values(), sum(counts.values()))


@pytest.mark.parametrize(
    "parts", [{"show": "some"}, {"order": "up"}, {"page": "0"}, {"page": "x"}, {"by_metric": "no"}]
)
def test_a_wrong_selection_gets_a_sentence(viewer: Viewer, first: str, parts: dict[str, str]) -> None:
    answer = viewer.ask(f"/api/runs/{first}/rows?{query(**parts)}")
    assert answer.status == 400 and answer.json()["error"]


def test_everyone_else_has_as_many_rows_as_the_other_side_of_a_finding(opened: OpenRun) -> None:
    assert opened.audit is not None
    against_rest = [f for f in opened.audit.findings if f.versus == "rest" and f.kind == "group"]
    assert {f.depth for f in against_rest} == {1, 2}
    for one in against_rest:
        by = one.attribute.replace(" × ", "*")
        page = select(opened, of=by, group=one.group, by_metric=one.metric, side="rest").page()
        assert page.total == one.n_versus, (one.attribute, one.group)


def test_every_number_of_the_tables_leads_to_its_rows(viewer: Viewer, first: str) -> None:
    import html
    import re

    text = viewer.ask(f"/runs/{first}/tests").text
    for part in ("groups", "intersections", "results", "equity", "cannot-tell", "findings"):
        section = text.partition(f'aria-labelledby="{part}"')[2].partition("</section>")[0]
        cells = re.findall(r'<td class="(?:number|n)"[^>]*>(.*?)</td>', section)
        told = [cell for cell in cells if re.search(r"\d", cell) and "more people" not in cell]
        linked = [cell for cell in told if "<a class=" in cell]
        assert len(linked) == len(told), (part, [cell for cell in told if cell not in linked][:5])
        addresses = [html.unescape(one) for one in re.findall(r'<a class="rows[^"]*" href="([^"]+)"', section)]
        for address in dict.fromkeys(addresses[:: max(1, len(addresses) // 3)]):
            assert viewer.ask(address).status == 200, address
    figures = re.findall(r'<table class="short-forest">(.*?)</table>', text, re.DOTALL)
    assert len(figures) == 1 and figures[0].count('<a class="rows') >= figures[0].count("<tr") - 2 > 0
    groups = re.findall(r"of=skin_tone&amp;group=(monk_\d+)", viewer.ask(f"/runs/{first}/samples").text)
    assert list(dict.fromkeys(groups)) == sorted(set(groups), key=lambda name: int(name[5:]))
