"""Runs made from rows alone: what a purge counts, what an audit of a run adds, and what verify looks at."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.run.recorded import SHARD, record, scores_table

from countenance.answers import Labels
from countenance.auditing.source import NOTE, Source
from countenance.data.card import DatasetCard
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.run import Run, audit_run, read_audit, store_audit
from countenance.run.auditing import audit_again, rows_about
from countenance.run.file_names import SCORES, thumbnails_of
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord
from countenance.run.purge import purge
from countenance.run.surroundings import _holds
from countenance.run.verification import verify


def manifest(**given: Any) -> Manifest:
    metrics = [
        MetricRecord(name="right", headline=True, better="higher", delta=0.1),
        MetricRecord(name="ms", better="lower", delta=5.0),
    ]
    dataset = DatasetRecord(card=DatasetCard(name="d", real_people=False))
    return Manifest(**{"task": "mine", "metrics": metrics, "model": ModelCard(name="m"), "dataset": dataset} | given)


def failure(sample: str, *people: str, reason: str = "torn") -> dict[str, Any]:
    return {"sample": sample, "kind": "image", "reason": reason, "people": list(people), "attributes": {}}


def rows(people: int = 40) -> list[dict[str, Any]]:
    """Two pictures a person, the second of which shows the next person too; the last person has no identity."""
    found = []
    for k in range(people):
        who = None if k == people - 1 else f"p{k}"
        found += [
            {
                "sample": f"{k}-{i}",
                "subject": "0",
                "identity": who,
                "attr.g": "ab"[k % 2],
                "m.right": float(k % 5 > 0),
                "m.ms": 10.0 + k + i,
            }
            for i in range(2)
        ]
        found.append(
            {
                "sample": f"{k}-1",
                "subject": "1",
                "identity": f"p{(k + 1) % people}",
                "attr.g": "ba"[k % 2],
                "m.right": 1.0,
                "m.ms": 9.0,
            }
        )
    return found


def made(place: Path, **given: Any) -> Run:
    answers = [(f"{k}-{i}", Labels({"a": "b"})) for k in range(40) for i in range(2)]
    options = {"failures": [failure("x", "p3", "p7"), failure("y", "q")], "answers": answers, **given}
    return record(place, manifest(), rows(), **options)


def test_a_purge_says_what_it_removed(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    assert (run.manifest.dataset.images, run.manifest.failed) == (82, 2)
    for name in (f"{thumbnails_of('3-0')}-64.jpg", f"{thumbnails_of('5-0')}-64.jpg", "notes.txt", "page.html"):
        run.store.storage.write(name, b"p3")
    run.store.storage.write("pages.json", b'{"page.html": {"gallery": 3}}')
    run.store.seal(["page.html"])
    asked: list[Any] = []
    done = purge(run.path, ["p3", "p3", "p7", "z1"], lambda run, journal: asked.append(journal) or ["page.html"])
    # p3 is on 3-0, 3-1 and 2-1, p7 on 7-0, 7-1 and 6-1, both on the failed x
    assert (done.people, done.images, done.rows, done.unknown) == (2, 7, 10, ("z1",))
    assert done.runs == (run.place,) and done.left == (f"{run.place}/notes.txt",)
    assert set(done.removed) == {"page.html", "results.json"}
    assert "page.html" in done.made_again and any(name.startswith("answers/") for name in done.made_again)
    assert asked[0]["pages"] == {"page.html": {"gallery": 3}} and asked[0]["people"] == 2 and asked[0]["rows"] == 10
    again = Run(run.path)
    assert (again.manifest.dataset.images, again.manifest.failed, again.manifest.purged) == (75, 1, 7)
    assert again.scores().num_rows == 120 - 10 and len(again.answers()) == 80 - 6
    assert again.failures()["sample"].to_pylist() == ["y"] and len(again.manifest.withdrawn) == 7
    left = [entry.name for entry in again.store.storage.entries("thumbnails/")]
    assert left == [f"{thumbnails_of('5-0')}-64.jpg"]
    marker = again.store.committed(rows=False)[0]
    assert marker.answered == 74 and [row["sample"] for row in again.store.shard_failures(0)] == ["y"]
    assert set(marker.sizes) == {name for name in marker.files if (run.path / name).exists()}
    assert verify(again.store).problems == []
    # once more: they are gone, and nothing is counted twice
    with pytest.raises(InputError, match=r"nobody on the list is in this run \(p3, p7\)"):
        purge(run.path, ["p3", "p7"])
    assert Run(run.path).manifest.purged == 7


def test_who_has_no_identity_leaves_by_image(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    done = purge(run.path, ["39-0", "0-0"])  # the second shows somebody who has a name
    assert (done.people, done.images, done.rows, done.unknown) == (1, 1, 1, ("0-0",))
    assert purge(run.path, []) == type(done)()
    with pytest.raises(InputError, match=r"\(a, b, c, d, e, …\)"):
        purge(run.path, list("abcdef"))
    with pytest.raises(InputError, match=r"\(a, b, c, d, e\)"):
        purge(run.path, list("abcde"))


def test_only_failed_images_may_hold_somebody(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    done = purge(run.path, ["q"])
    assert (done.people, done.images, done.rows) == (1, 1, 0) and Run(run.path).manifest.failed == 1


@pytest.mark.parametrize(
    ("text", "holds"),
    [("p3", True), ("a p3 b", True), ("p33", False), ("ap3", False), ("p33 p3", True), ("p3p3", False), ("x=p3", True)],
)
def test_a_name_is_a_whole_value(text: str, holds: bool) -> None:
    assert _holds(text, "p3") is holds


# audits of runs


@pytest.mark.parametrize(("most", "told"), [(2 / 82, False), (0.02, True)])
def test_too_many_failures_leave_no_all_clear(tmp_path: Path, most: float, told: bool) -> None:
    failures = [failure("x", reason="torn"), failure("y", reason="gone")]
    run = record(tmp_path / "run", manifest(max_failures=most), rows(), failures=failures)
    found = audit_run(run, ["g"], ["right"], adjust="holm", delta=0.9)
    assert found.verdict == ("insufficient evidence" if told else "none larger than 0.9")
    said = "2 of 82 images (2.4%) have no answer, more than the limit of 2.0%; 1 of them: torn. "
    assert found.reason.startswith(said) is told


def test_a_disparity_stays_one_whatever_failed(tmp_path: Path) -> None:
    table = [{"sample": str(i), "attr.g": "ab"[i % 2], "m.right": float(i % 2)} for i in range(200)]
    failures = [failure(f"f{k}", reason="b" if k else "a") for k in range(100)]
    run = record(tmp_path / "run", manifest(), table, failures=failures)
    found = audit_run(run, ["g"], ["right"], adjust="holm")
    assert found.verdict == "disparity" and "99 of them: b. 2 of 3 comparisons differ" in found.reason


def test_metrics_deltas_and_directions_come_from_the_task_unless_the_user_says_so(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    plain = audit_run(run, ["g"], adjust="holm").settings
    assert plain["metrics"] == ["right"] and plain["delta"] == {"right": 0.1} and plain["better"] == {"right": "higher"}
    both = audit_run(run, ["g"], ["right", "ms"], adjust="holm", delta={"right": 0.2}).settings
    assert both["delta"] == {"right": 0.2, "ms": 5.0} and both["better"] == {"right": "higher", "ms": "lower"}
    one = audit_run(run, ["g"], ["right", "ms"], adjust="holm", delta=0.3, better={"ms": "higher"}).settings
    assert one["delta"] == {"right": 0.3, "ms": 5.0} and one["better"]["ms"] == "higher"  # 5 ms are no share
    each = audit_run(run, ["g"], ["right", "ms"], adjust="holm", delta=".3,ms=7").settings
    assert each["delta"] == {"right": 0.3, "ms": 7.0}


def test_a_stored_audit_comes_back_and_is_made_again_with_all_its_settings(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    asked = {"adjust": "holm", "alpha": 0.01, "min_n": 7, "where": {"g": ["a", "b"]}, "equity": True, "delta": 0.9}
    found = audit_run(run, ["g"], ["right"], **asked)
    store_audit(run, found)
    back = read_audit(run)
    assert back.to_json(groups=True) == found.to_json(groups=True) and back.equity
    again = audit_again(run, back.settings)
    assert again.to_json(groups=True) == found.to_json(groups=True)
    old = dict(back.settings, cluster="identity, else sample", delta={"right": None}, by=["data"])
    old.pop("adjust_asked")
    older = audit_again(run, old)
    assert older.settings["cluster"] == "auto" and older.settings["by"] == ["g"] and older.settings["adjust"] == "holm"
    (run.path / "audit.json").write_text("[]")
    with pytest.raises(InputError, match="its content is not what was written"):
        read_audit(run)
    run.store.seal(["audit.json"])
    with pytest.raises(InputError, match="damaged"):
        read_audit(run)
    (run.path / "audit.json").unlink()
    with pytest.raises(InputError, match=r"audit.json: missing; `countenance audit RUN` writes it"):
        read_audit(run)


def test_rows_are_about_a_metric_where_it_has_a_value() -> None:
    table = pa.table({"sample": list("abcd"), "m.x": [1.0, None, None, 4.0], "m.y": [None, 2.0, None, 4.0]})

    def samples(*columns: str) -> list[str]:
        return rows_about(Source(table), columns).read([], ["sample"])["sample"].to_pylist()

    assert samples("m.x") == ["a", "d"]
    assert samples("m.x", "m.y", "m.none") == ["a", "b", "d"]


@pytest.mark.parametrize("failed", [[], [failure("x", "p3")]])
def test_a_slice_in_a_run_is_compared_for_its_people_only_and_a_note_says_so(tmp_path: Path, failed: Any) -> None:
    run = made(tmp_path / "run", failures=failed)
    scores = run.scores()
    slice_of = ["yes" if k % 3 else "no" if k < 60 else None for k in range(scores.num_rows)]
    field = pa.field("attr.hard", pa.string(), metadata={NOTE: b"only they are compared"})
    rights = [None if k % 7 == 0 else value for k, value in enumerate(scores["m.right"].to_pylist())]
    table = scores.set_column(scores.column_names.index("m.right"), "m.right", pa.array(rights, pa.float64()))
    with run.store.replacing(SCORES):
        run.store.write_table(SCORES, table.append_column(field, pa.array(slice_of, pa.string())))
    result = audit_run(run, ["hard"], ["right"], adjust="holm")
    assert "only they are compared" in result.notes
    assert {(each.group, each.versus) for each in result.findings} == {("no", "yes")}


def test_names_that_are_not_there_are_refused(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    for by, where, said in (
        (["h"], None, "no attribute 'h'"),
        (["g*h"], None, "no attribute 'h'"),
        (["h:1,2"], None, "no attribute 'h'"),
        (["g"], {"k": ["a"]}, "where: no attribute 'k'"),
    ):
        with pytest.raises(InputError, match=said):
            audit_run(run, by, where=where)
    with pytest.raises(InputError, match="no metric 'rigth'"):
        audit_run(run, ["g"], ["rigth"])


# recorded runs and their files


def test_predictions_are_stored_in_blocks(tmp_path: Path) -> None:
    answers = [(f"s{k}", Labels({"a": "b"})) for k in range(2 * SHARD + 1)]
    table = [{"sample": name, "attr.g": "a", "m.right": 1} for name, _ in answers]
    run = record(tmp_path / "run", manifest(), table, answers=answers, failures=[failure("x")])
    markers = run.store.committed(rows=False)
    assert [markers[k].answered for k in range(3)] == [256, 256, 1] and len(run.answers()) == 513
    assert [len(run.store.shard_failures(k)) for k in range(3)] == [1, 0, 0]
    assert run.manifest.dataset.images == 514 and run.manifest.failed == 1 and SHARD == 256
    single = record(tmp_path / "single", manifest(), table[:1], answers=answers[:1])
    assert list(single.answers()) == ["s0"]
    plain = record(tmp_path / "other", manifest(), table)
    assert plain.store.answer_files() == [] and plain.manifest.dataset.images == 513


def test_a_table_gets_its_first_columns_and_their_kinds() -> None:
    found = scores_table([{"sample": 1, "attr.n": None, "m.x": 1}, {"sample": 2, "m.x": None, "attr.k": 3}])
    assert found.column_names == ["sample", "subject", "identity", "attr.n", "m.x", "attr.k"]
    assert found["sample"].to_pylist() == ["1", "2"] and found["m.x"].to_pylist() == [1.0, None]
    assert [str(found.schema.field(name).type) for name in ("attr.n", "attr.k")] == ["string", "int64"]
    with pytest.raises(InputError, match="no row was scored"):
        scores_table([])


def test_verify_counts_files_and_names_each_problem(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    found = verify(run.store)
    sealed = json.loads((run.path / "files.json").read_text())["files"]
    assert found.files == len(sealed) and found.problems == []
    (run.path / "work").mkdir(exist_ok=True)
    (run.path / "work" / "00001.scores.parquet").write_bytes(b"x")
    (run.path / "purge.json").write_bytes(b"{}")
    (run.path / "audit.json").write_bytes(b"{}")
    (run.path / "scores.parquet").write_bytes(b"x")
    (run.path / "results.json").unlink()
    told = "; ".join(verify(run.store).problems)
    for said in (
        "scores.parquet: its content is not what was written",
        "results.json: missing",
        "purge.json: a purge was",
        "audit.json: not on the list of hashes",
        "work/00001.scores.parquet: left behind",
    ):
        assert said in told, said
    assert len(verify(run.store).problems) == 5
    short = {name: value for name, value in sealed.items() if not name.startswith("answers/")}
    (run.path / "files.json").write_text(json.dumps({"files": short}))
    assert any("names it, the list of hashes does not" in problem for problem in verify(run.store).problems)
    (run.path / "files.json").unlink()
    assert verify(run.store).problems == ["files.json: the list of hashes is missing, so no file can be checked"]
