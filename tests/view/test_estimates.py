"""The numbers of the viewer are the audit's own, to the last digit."""

import json
from pathlib import Path

import pytest
from tests.view.conftest import Viewer, query, start

from countenance.run import Run, audit_run, store_audit

FIELDS = {"attribute", "group", "metric", "n", "estimate", "low", "high"}


def stored(run: Run) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((run.path / "audit.json").read_text(encoding="utf-8"))["groups"]
    return found


def test_the_runs_are_listed_with_ids_that_fit_an_address(viewer: Viewer) -> None:
    found = viewer.ask("/api/runs").json()
    assert {one["name"] for one in found} == {"first/run", "second", "hostile/run"}
    assert all(set(one["id"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for one in found)
    assert len({one["id"] for one in found}) == 3
    assert viewer.ask("/api/runs").json() == found


def test_without_parameters_the_groups_of_the_audit_come_back(viewer: Viewer, first: str, first_run: Run) -> None:
    found = viewer.ask(f"/api/runs/{first}/estimates").json()
    assert found == stored(first_run)
    assert set(found[0]) >= FIELDS


@pytest.mark.parametrize("metric", ["recall@0.5", "average_recall"])
@pytest.mark.parametrize("by", ["skin_tone", "age_group", "gender", "skin_tone,gender"])
def test_each_attribute_and_metric_is_equal(viewer: Viewer, first: str, first_run: Run, by: str, metric: str) -> None:
    found = viewer.ask(f"/api/runs/{first}/estimates?{query(by=by, metric=metric)}").json()
    known = {(one["metric"], one["attribute"], one["group"]): one for one in stored(first_run)}
    assert found and all(one == known[one["metric"], one["attribute"], one["group"]] for one in found)


def test_other_questions_equal_the_command(viewer: Viewer, runs: Path, tmp_path: Path) -> None:
    import shutil

    copied = tmp_path / "copy"
    shutil.copytree(runs / "second", copied)
    run = Run(copied)
    store_audit(run, audit_run(run, ["age_group", "skin_tone*gender"], ["best_iou"], ["gender=female,male"]))
    asked = query(by="age_group,skin_tone*gender", metric="best_iou", where="gender=female,male")
    second = viewer.id_of("second")
    found = viewer.ask(f"/api/runs/{second}/estimates?{asked}").json()
    assert [(one["group"], one["n"]) for one in found] == [(one["group"], one["n"]) for one in stored(run)]
    for one, known in zip(found, stored(run), strict=True):
        for name in ("estimate", "low", "high"):
            assert one[name] == pytest.approx(known[name], rel=1e-12, nan_ok=True)
    here = start([tmp_path])
    answer = here.ask(f"/api/runs/{here.id_of('copy')}/estimates?{asked}").json()
    assert answer == stored(run)
    here.close()


def test_a_new_audit_is_seen_at_once(runs: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs / "second", tmp_path / "run")
    here = start([tmp_path])
    name = here.id_of("run")
    before = here.ask(f"/api/runs/{name}/estimates").json()
    run = Run(tmp_path / "run")
    store_audit(run, audit_run(run, ["gender"], ["recall@0.75"]))
    after = here.ask(f"/api/runs/{name}/estimates").json()
    assert after == stored(run) and after != before
    here.close()


def test_a_stored_number_that_is_wrong_is_not_repeated(runs: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs / "second", tmp_path / "run")
    path = tmp_path / "run" / "audit.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    right = content["groups"][0]["estimate"]
    content["groups"][0]["estimate"] = right + 0.01
    path.write_text(json.dumps(content), encoding="utf-8")
    here = start([tmp_path])
    found = here.ask(f"/api/runs/{here.id_of('run')}/estimates").json()
    assert found[0]["estimate"] == pytest.approx(right, rel=1e-12)
    here.close()


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"by": "skin_ton"}, "did you mean"),
        ({"metric": "recal"}, "no metric"),
        ({"where": "gender=nobody"}, "no row has"),
        ({"where": "gender"}, "expected ATTRIBUTE=VALUE"),
        ({"depth": "9"}, "from 1 to 4"),
        ({"alpha": "x"}, "expected a number"),
        ({"adjust": "luck"}, "minp"),
        ({"by": "gender:1,2"}, "cannot be cut"),
    ],
)
def test_a_wrong_question_gets_a_sentence(viewer: Viewer, first: str, asked: dict[str, str], sentence: str) -> None:
    answer = viewer.ask(f"/api/runs/{first}/estimates?{query(**asked)}")
    assert answer.status == 400 and sentence in answer.json()["error"]


def test_the_tests_come_as_a_stream(viewer: Viewer, first: str) -> None:
    asked = query(by="gender", metric="recall@0.5", depth="1")
    lines = [json.loads(line) for line in viewer.ask(f"/api/runs/{first}/audit?{asked}").text.splitlines()]
    assert any("total" in line for line in lines)
    verdict = next(line for line in lines if "verdict" in line)
    kinds = [line["finding"]["kind"] for line in lines if "finding" in line]
    assert kinds == ["group", "missing"] and verdict["comparisons"] == 2, (
        "two images failed: who has no score is compared"
    )


def test_a_stored_audit_is_not_computed_again(viewer: Viewer, first: str, first_run: Run) -> None:
    lines = [json.loads(line) for line in viewer.ask(f"/api/runs/{first}/audit").text.splitlines()]
    assert not any("total" in line for line in lines)
    assert len(lines) == first_run.findings().num_rows + 1


def test_many_requests_at_once_get_the_same_numbers(viewer: Viewer, first: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    asked = [
        query(by=by, metric=metric, where=where)
        for by in ("skin_tone", "age_group", "gender", "skin_tone*gender")
        for metric in ("recall@0.5", "best_iou", "false_positives")
        for where in ("", "gender=female", "age_group=0_17,18_30")
    ]
    alone = [viewer.ask(f"/api/runs/{first}/estimates?{one}").json() for one in asked]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda one: viewer.ask(f"/api/runs/{first}/estimates?{one}"), asked * 3))
        pages = list(pool.map(lambda n: viewer.ask(f"/runs/{first}/samples?show=all&page={n % 5 + 1}"), range(20)))
    assert [one.json() for one in together] == alone * 3
    assert {one.status for one in pages} == {200}


def test_who_is_favoured_is_not_called_failed(runs: Path) -> None:
    from countenance.auditing import audit
    from countenance.view.live_source import Live
    from countenance.view.open_run import OpenRun
    from countenance.view.scope import ScopedStorage

    opened = OpenRun("second", ScopedStorage((runs / "second").resolve()))
    rows = {"gender": ["a"] * 300 + ["b"] * 300 + ["c"] * 300, "recall@0.5": [1] * 300 + ([1, 1, 1, 0] * 75) * 2}
    found = audit(rows, by=["gender"], metrics=["recall@0.5"], adjust="holm")
    better = found.model_copy(update={"findings": [f for f in found.findings if f.direction == "better"]})
    asked = opened.question([("by", "gender"), ("metric", "recall@0.5")])
    assert {f.group for f in Live.tested(opened, asked, found).failed()} == {"b", "c"}
    assert better.findings and Live.tested(opened, asked, better).failed() == []
