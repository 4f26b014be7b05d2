"""The first screen: the largest harm leads, counts are those of the rows, nobody real is shown."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.auditing import audit
from countenance.report.album import Album
from countenance.report.first_screen import first_screen, terminal_words
from countenance.report.handle import UNKNOWN, decides, handles, limit
from countenance.report.harms import harms
from countenance.report.ladder import ladders
from countenance.report.members import GroupRows
from countenance.report.metric_words import MetricWords, words_of
from countenance.report.notebook import audit_html
from countenance.report.sentences import decision
from countenance.report.source import AuditSource, ReportSource, TableSource
from countenance.run import Run
from countenance.tasks import Metric, load_task, task_names


def table(seed: int = 0, people: int = 1200) -> dict[str, list[Any]]:
    """People with masks and ages; masked old people are failed most."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {"identity": [], "masked": [], "age_group": [], "found": []}
    for person in range(people):
        masked, age = ("yes", "no")[person % 2], ("18_30", "61_100")[(person // 2) % 2]
        chance = 0.98 - (0.06 if masked == "yes" else 0) - (0.25 if masked == "yes" and age == "61_100" else 0)
        rows["identity"].append(f"p{person}")
        rows["masked"].append(masked)
        rows["age_group"].append(age)
        rows["found"].append(int(rng.random() < chance))
    return rows


@pytest.fixture(scope="module")
def source() -> AuditSource:
    return AuditSource(audit(table(), by=["masked", "age_group"], metrics=["found"], adjust="holm", depth=2), None)


def test_the_largest_confirmed_harm_leads_in_counts(source: AuditSource) -> None:
    rows = table()
    chosen = [i for i, m in enumerate(rows["masked"]) if m == "yes" and rows["age_group"][i] == "61_100"]
    failed = sum(1 - rows["found"][i] for i in chosen)
    first = first_screen(source, "MTCNN")
    assert first.sentence == f"MTCNN fails {failed} of {len(chosen)} masked people over 60."
    rest = first.second.partition(". ")[0]
    assert rest == f"It fails {rows['found'].count(0) - failed} of {1200 - len(chosen)} others"
    ordered = harms(source)
    assert [harm.gap for harm in ordered] == sorted((harm.gap for harm in ordered), reverse=True)
    assert first.who[0].label == "over 60, masked" and first.when[0].label == "masked"


def test_who_has_people_and_their_crossings_and_when_the_rest(source: AuditSource) -> None:
    first = first_screen(source, "m")
    assert all("over 60" in line.label or "18–30" in line.label for line in first.who)
    assert [line.label for line in first.when] == ["masked"]


def test_the_short_forest_has_the_worst_everyone_and_the_count_of_the_rest(source: AuditSource) -> None:
    first = first_screen(source, "m")
    assert first.forest is not None and 2 <= len(first.forest.rows) <= 4
    assert first.forest.rows[-1].label == "everyone" and "served worse" in first.forest.note
    own = {(e.attribute, e.group): (e.low, e.high) for e in source.audit.groups}
    for bar in first.forest.rows[:-1]:
        assert bar.key is not None and own[bar.key[1:]] == pytest.approx((bar.low, bar.high)), "one interval per number"


def test_a_model_that_fails_everybody_is_said_to() -> None:
    rows = {"sex": ["f", "m"] * 200, "found": [1, 0] * 200}
    first = first_screen(AuditSource(audit(rows, by=["sex"], metrics=["found"]), None), "Haar")
    assert first.sentence == "Haar fails everybody: it fails 200 of 400 rows."
    assert "men" in first.second


def test_counts_are_of_pictures_where_a_person_has_several(run: Run) -> None:
    source = ReportSource.of(run)
    members = GroupRows(source)
    for harm in harms(source)[:6]:
        if harm.losing.failed is None:
            continue
        values = members.values(harm.finding.metric)
        rows = members.of(harm.finding.attribute, harm.losing.group) & np.isfinite(values)
        assert harm.losing.failed == int((values[rows] == 0).sum()) and harm.losing.n == int(rows.sum())
        assert "pictures" in harm.losing.failed_people


def test_each_miss_has_a_hit_and_both_are_what_they_are_called(run: Run) -> None:
    source = ReportSource.of(run)
    first = first_screen(source, "m", Album.of(source, "auto"))
    rows = zip(*(run.scores().column(name).to_pylist() for name in ("sample", "m.recall@0.5")), strict=True)
    scores = {sample: value for sample, value in rows if value is not None}
    assert len(first.failures.rows) == 3
    for row in first.failures.rows:
        for miss, hit in row.pairs:
            assert hit is not None and (scores[miss.sample], scores[hit.sample]) == (0.0, 1.0)


def as_real(run: Run, folder: Path) -> Run:
    shutil.copytree(run.path, folder)
    copied = Run(folder)
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    manifest["dataset"]["card"]["real_people"] = True
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    copied.store.seal()
    return Run(folder)


def test_real_people_are_dots_and_no_face_leaks_into_a_notebook(run: Run, tmp_path: Path) -> None:
    real = as_real(run, tmp_path / "real")
    markup = real._repr_html_()
    assert "<img" not in markup and 'class="dot-failed"' in markup
    assert "<img" in run._repr_html_()


def test_the_notebook_has_five_lines_and_a_first_screen(run: Run, source: AuditSource, tmp_path: Path) -> None:
    assert len(repr(run).splitlines()) == len(repr(source.audit).splitlines()) == 5
    assert len(repr(source.audit)) < 700
    shutil.copytree(run.path, tmp_path / "copy")  # an audit of the run is stored in it
    of_run = repr(Run(tmp_path / "copy").audit(by=["gender"]))
    assert run.model_label in of_run and "misses" in of_run and "The model" not in of_run
    markup = audit_html(source.audit)
    assert ">Who<" in markup and ">When<" in markup and 'href="#' not in markup
    assert not re.search(r"^(html|body|h1|p|table) ", markup, re.MULTILINE), "nothing around it is styled"


def test_a_metric_of_every_task_has_a_noun_and_a_verb() -> None:
    for name in task_names():
        task = load_task(name)
        for metric in task.metrics:
            if metric.headline:
                assert words_of(metric, task).noun != metric.name, (name, metric.name)
    own = Metric("ok", "", "higher", noun="doors opened", verb="locks out", failed="locked out", right="let in")
    assert words_of(own, None).failed == "locked out"


def twins(tone_decides: int, people: int = 30) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {"sample": [], "identity": [], "base": [], "change": [], "skin_tone": [], "found": []}
    for person in range(people):
        for tone in (1, 6, 10):
            rows["sample"].append(f"t{person}_{tone}")
            rows["identity"].append(f"t{person}")
            rows["base"].append(f"t{person}_1")
            rows["change"].append("none" if tone == 1 else "skin_tone")
            rows["skin_tone"].append(f"monk_{tone}")
            rows["found"].append(int(not (tone == 10 and person < tone_decides)))
    return rows


def test_the_ladder_counts_whom_one_thing_alone_decides() -> None:
    rows = twins(12)
    found = audit(rows, metrics=["found"], paired_by={"base": "base", "change": "change"})
    (ladder,) = ladders(TableSource(found, None, rows), Album("off"))
    assert ladder.sentence == "For 12 of 30 people, skin tone alone decides whether they are found."
    assert ladder.totals == [(0, 30), (0, 30), (12, 30)] and ladder.confirmed
    assert "In all 12 the darker copy is the one that is not found" in ladder.about
    assert [rung.state for rung in ladder.rows[0][1]] == ["right", "right", "failed"]
    first = first_screen(TableSource(found, None, rows), "Haar")
    assert first.sentence == ladder.sentence and first.ladder is not None


def test_twins_whom_nothing_decides_have_a_ladder_too() -> None:
    rows = twins(0)
    found = audit(rows, metrics=["found"], paired_by={"base": "base", "change": "change"})
    (ladder,) = ladders(TableSource(found, None, rows), Album("off"))
    assert ladder.sentence.startswith("For none of 30 people does skin tone alone decide") and len(ladder.rows) == 5


def test_a_ladder_that_is_not_confirmed_names_its_measure_and_the_one_that_is() -> None:
    unsure = (
        "So few may be chance: that skin tone alone decides whether people are found or not found is not confirmed."
    )
    rows = twins(1)
    dark = [tone == "monk_10" for tone in rows["skin_tone"]]
    rows["iou"] = [0.9 - 0.4 * is_dark + 0.001 * (place % 7) for place, is_dark in enumerate(dark)]
    rows["overlap"] = rows["iou"]
    for others, confirmed in (
        ([], ""),
        (["iou"], " What is confirmed is another measure, the iou."),
        (["iou", "overlap"], " What is confirmed are other measures, the iou and the overlap."),
    ):
        result = audit(rows, metrics=["found", *others], paired_by={"base": "base", "change": "change"})
        source = TableSource(result, None, rows)
        (ladder,) = ladders(source, Album("off"))
        assert ladder.sentence.startswith("For 1 of 30 people") and not ladder.confirmed
        assert ladder.not_shown == unsure + confirmed
        assert ladder.not_shown in terminal_words(source, "Haar")


def test_the_handle_stands_at_the_audits_delta_and_knows_where_a_verdict_turns(source: AuditSource) -> None:
    (handle,) = handles(source)
    by_state = {state: n for state, _, n in handle.counts}
    disparities = [f for f in source.audit.findings if f.verdict == "disparity"]
    assert handle.delta == 0.05 and by_state["harm"] + by_state["better"] == len(disparities)
    for row in handle.rows:
        data = json.loads(row.data)
        if row.state == "out":
            assert data["out"] < handle.delta
        elif row.state == "unknown":
            assert data["out"] is None or data["out"] >= handle.delta
    cleared = [f for f in source.audit.findings if f.verdict.startswith("none")]
    assert all(limit(f) < 0.05 for f in cleared)


def test_a_number_of_people_that_is_not_known_is_not_taken_for_none(source: AuditSource) -> None:
    finding = source.audit.findings[0].model_copy(update={"clusters_needed": None})
    assert decides(finding, UNKNOWN, source) == "not enough people to tell"
    enough = finding.model_copy(update={"clusters_needed": finding.clusters})
    assert decides(enough, UNKNOWN, source, 0.045) == "almost on the limit; more data will hardly settle it"
    assert decides(enough, UNKNOWN, source, 0.004) == "not enough people to tell", "far from the limit of 5 points"


def test_a_gap_that_is_far_larger_than_what_matters_needs_only_the_people_who_show_it(source: AuditSource) -> None:
    base = source.audit.findings[0].model_copy(
        update={
            "verdict": "insufficient evidence",
            "effect_name": "h",
            "n": 49,
            "clusters": 49,
            "n_versus": 500,
            "estimate_versus": 0.9,
            "mde": 0.65,
            "mde_difference": 0.25,
            "clusters_needed": 1976,
        }
    )
    assert decides(base, UNKNOWN, source, 0.02) == "1,927 more people", "what matters is 5 points"
    behind = decides(base, UNKNOWN, source, 0.18)
    assert 10 < int(behind.removesuffix(" more people")) < 100
    assert decides(base, UNKNOWN, source, 0.4) == "looks worse; chance is not ruled out"


def test_without_a_better_direction_the_first_groups_are_those_that_differ_most() -> None:
    near = [0.001 * place for place in range(40)]
    means = {"a": 0.0, "b": -0.1, "c": 0.1, "d": 2.0, "e": 0.2, "f": -1.5, "g": 1.0}
    rows = {
        "group": [name for name in means for _ in near],
        "depth": [mean + value for mean in means.values() for value in near],
    }
    first = first_screen(AuditSource(audit(rows, by=["group"], metrics=["depth"]), None), "m")
    assert first.forest is not None and first.forest.better is None
    assert [row.label for row in first.forest.blocks[0].rows] == ["group d", "group f", "group g", "all rows"]


def test_rows_that_name_nobody_are_no_people_of_the_headline(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = {
        "identity": [f"p{i % 40}" if i % 3 == 0 else None for i in range(900)],
        "sample": [f"s{i // 3}" for i in range(900)],
        "masked": rng.choice(["yes", "no"], 900).tolist(),
        "found": (rng.random(900) < 0.5).astype(int).tolist(),
    }
    page = ct.audit(rows, ["masked"], ["found"]).report(tmp_path / "page.html")
    text = re.sub(r"<[^>]+>", "", Path(page).read_text(encoding="utf-8"))
    assert re.search(r"fails everybody: it fails \d+ of 900 pictures of people", text)


def test_versions_of_twins_are_pictures() -> None:
    versions = ("none", "dark")
    rows = {
        "sample": [f"b{i}-{v}" for i in range(60) for v in versions],
        "base": [f"b{i}" for i in range(60) for _ in versions],
        "change": [v if v == "none" else "light" for _ in range(60) for v in versions],
        "light": ["day" if v == "none" else v for _ in range(60) for v in versions],
        "correct": [int(v == "none" and i % 3 > 0) for i in range(60) for v in versions],
    }
    audit = ct.audit(rows, ["change"], ["correct"], paired_by={"base": "base", "change": "change"})
    assert "80 of 120 pictures of people" in str(audit) and "120 people" not in str(audit)


def test_how_sure_speaks_of_the_measure_that_the_ladder_shows() -> None:
    rows = twins(1)
    dark = [tone == "monk_10" for tone in rows["skin_tone"]]
    rows["iou"] = [0.9 - 0.4 * is_dark + 0.001 * (place % 7) for place, is_dark in enumerate(dark)]
    result = audit(rows, metrics=["found", "iou"], paired_by={"base": "base", "change": "change"}, better="iou=higher")
    first = first_screen(TableSource(result, None, rows), "Haar")
    assert any(line.key is None and "iou" in line.text for line in first.who)
    assert first.how_sure.startswith("So few may be chance") and "less than once" not in first.how_sure
    rows = twins(12)
    result = audit(rows, metrics=["found"], paired_by={"base": "base", "change": "change"})
    assert "chance would produce" in first_screen(TableSource(result, None, rows), "Haar").how_sure


def ranges() -> dict[str, list[Any]]:
    """People of ten tones; the darker half is failed more, and no tone alone has the people to show it."""
    tones = [place % 10 + 1 for place in range(400)]
    return {
        "identity": [f"p{place}" for place in range(400)],
        "skin_tone": [f"monk_{tone}" for tone in tones],
        "found": [int(tone < 8 or (place // 10) % 5 > 1) for place, tone in enumerate(tones)],
    }


def test_a_range_of_values_that_is_listed_is_counted_and_has_its_row_in_the_handle() -> None:
    source = AuditSource(audit(ranges(), by=["skin_tone"], metrics=["found"]), None)
    first = first_screen(source, "m")
    (handle,) = handles(source)
    listed = [line.label for line in first.who]
    assert "Monk 8–10" in listed and first.forest is not None and not first.more_who
    assert first.forest.note.startswith(f"{len(listed)} group")
    assert [row.label for row in handle.rows if row.state == "harm"] == listed
    assert (handle.counts[0][1], handle.counts[0][2]) == ("served worse", len(listed))


def test_the_axis_of_the_handle_reaches_every_confirmed_gap() -> None:
    rows = {
        "identity": [f"p{place}" for place in range(400)],
        "masked": ["yes" if place % 4 == 0 else "no" for place in range(400)],
        "found": [int(place % 4 != 0 or place % 40 == 0) for place in range(400)],
    }
    (handle,) = handles(AuditSource(audit(rows, by=["masked"], metrics=["found"]), None))
    worst = handle.rows[0]
    assert worst.state == "harm" and worst.at < 100 and worst.left + worst.width <= 100


def test_where_ranks_decide_no_sentence_reads_the_means_as_the_verdict(tmp_path: Path) -> None:
    """One group is slower as a rule, another has the outliers: the means differ the other way."""
    usual = [20 + 0.01 * (place % 97) for place in range(200)]
    rows = {
        "g": ["a"] * 200 + ["b"] * 200,
        "latency_ms": [*(1.2 * value for value in usual), *usual[:190], *(60 * value for value in usual[:10])],
    }
    result = audit(rows, by=["g"], metrics=["latency_ms"], delta={"latency_ms": 2.0})
    (finding,) = [f for f in result.findings if f.kind == "group"]
    assert (finding.statistic, finding.direction) == ("rank", "worse") and finding.difference < 0
    source = AuditSource(result, None)
    first = first_screen(source, "m")
    assert "serves 200 rows with g a worse: the typical value of latency ms is higher than for" in first.sentence
    assert [line.text for line in first.when] == ["the typical value of latency ms is higher; mean 24.6, g b 79.6"]
    accepted = MetricWords("true matches accepted", share="true matches", each="picture")
    assert replace(harms(source)[0], words=accepted).typical == "the typical share of true matches accepted is higher"
    text = decision(source)
    assert "lower (interval" in text and "by ranks, the typical value is higher, which is worse" in text
    (row,) = handles(source)[0].rows
    assert (row.label, row.state) == ("g a", "harm") and "better" not in json.loads(row.data)


def test_twins_of_a_metric_without_a_better_direction_are_served_neither_worse_nor_better() -> None:
    versions = ("none", "monk_1", "monk_10")
    rows = {
        "sample": [f"b{i}-{v}" for i in range(40) for v in versions],
        "identity": [f"p{i}" for i in range(40) for _ in versions],
        "base": [f"b{i}" for i in range(40) for _ in versions],
        "change": [v if v == "none" else "skin_tone" for _ in range(40) for v in versions],
        "skin_tone": ["monk_4" if v == "none" else v for _ in range(40) for v in versions],
        "tilt": [int(v == "monk_10" and i % 2 == 0) for i in range(40) for v in versions],
    }
    result = audit(rows, by=["change"], metrics=["tilt"], paired_by={"base": "base", "change": "change"})
    text = str(result)
    assert "By skin tone alone, tilt is 50.0 % (Monk 10 (darkest)) against 0.0 %" in text.replace("\u202f", " ")
    assert "groups that differ" in text and "served worse" not in text
