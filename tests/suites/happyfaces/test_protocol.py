"""Scores, sweeps, asking, the page and the command line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from countenance.cli.app import run as command
from countenance.data import picture_cache
from countenance.errors import CannotAnswer, InputError
from countenance.files import write_json
from countenance.suites.happyfaces import host, model, protocol
from countenance.suites.happyfaces.questions import ask, at_the_terminal, simulated
from countenance.suites.happyfaces.report import (
    PUBLISHED,
    configurations,
    heat_map,
    moved_heat,
    read_sweeps,
    write_report,
)
from countenance.suites.happyfaces.scores import assign_heads, auc, lowest_mix_rate_above, summary, worst_head

answers = arrays(bool, st.tuples(st.integers(1, 30), st.just(2)))


@given(answers, st.randoms())
def test_the_order_of_heads_does_not_matter(predicted, random):
    truth = np.array([[random.random() < 0.5 for _ in range(2)] for _ in predicted])
    assert worst_head(predicted, truth) == worst_head(predicted[:, ::-1], truth)
    assert 0 <= worst_head(predicted, truth) <= 1


@given(answers)
def test_perfect_heads_score_one_and_are_named_rightly(truth):
    assert worst_head(truth, truth) == 1
    ways = assign_heads(truth[:, ::-1], truth)
    assert (truth[:, ::-1][:, ways] == truth).all()


def test_guessing_cross_types_gives_three_quarters():
    truth = np.array([[1, 1], [1, 0], [0, 1], [0, 0]] * 50, bool)
    predicted = truth.copy()
    predicted[1::4] = predicted[2::4] = [[True, True]] * 25 + [[False, False]] * 25
    assert worst_head(predicted, truth) == 0.75


def test_the_published_auc_comes_out_of_the_published_curve():
    assert abs(auc(PUBLISHED["Extrapolate low data (published)"]) - 0.903) < 0.001
    assert auc({0.1: 0.9, 0.3: 0.9}) is None
    assert lowest_mix_rate_above({0.0: 0.9, 0.5: 0.91}) == 0.5
    assert lowest_mix_rate_above({0.0: 0.2}) is None


@pytest.fixture(scope="module")
def folder(world, write_world, tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("happyfaces") / "data"
    write_world(world, built, str)
    return built


def cli(*arguments: str) -> int:
    import typer

    from countenance.cli import happyfaces

    try:
        typer.main.get_command(happyfaces.app).main(list(arguments), prog_name="happyfaces", standalone_mode=False)
    except typer.Exit as stop:
        return stop.exit_code
    return 0


def test_a_sweep_writes_the_contracts_table_and_goes_on_where_it_stopped(folder: Path, tmp_path: Path, monkeypatch):
    out = tmp_path / "sweep.json"
    command = ("sweep", "-d", str(folder), "--mix-rates", "0,.3", "--seeds", "2", "--json", str(out), "--quiet")
    assert cli(*command) == 0
    table = json.loads(out.read_text())
    assert [row["mix_rate"] for row in table["mix_rates"]] == [0.0, 0.3]
    for row in table["mix_rates"]:
        assert row["worst_head_mean"] > 0.85 and row["worst_head_std"] >= 0 and row["not_drawn_mean"] > 0.8
    assert table["auc_0_30"] is None and table["auc_needs"] == [0.1, 0.2]  # no straight line over what was not run
    assert table["lowest_mix_rate_above_90"] in (0.0, None)
    runs = sorted((tmp_path / "sweep.runs").iterdir())
    assert len(runs) == 4

    shutil.rmtree(runs[0])
    fits = []
    real = host.MethodProcess.fit
    monkeypatch.setattr(
        host.MethodProcess, "fit", lambda self, call, arrays: fits.append(call) or real(self, call, arrays)
    )
    assert cli(*command) == 0
    assert len(fits) == 1
    again = json.loads(out.read_text())
    assert table["data"] and table["version"] and table["real_people"]
    assert {**again, "cpu_seconds": 0} == {**table, "cpu_seconds": 0}  # both are read from runs

    stale = json.loads((runs[1] / "run.json").read_text())
    (runs[1] / "run.json").write_text(json.dumps(stale | {"key": "of other photos"}))
    fits.clear()
    assert cli(*command) == 0
    assert len(fits) == 1  # a run of other data is not used

    page = write_report([out], tmp_path / "page.html", data=folder).read_text()
    assert "Extrapolate low data (published)" in page and "data:image/jpeg" in page
    assert page.count("<tr>") > len(configurations())
    assert "Photos of real people are not shown" in page


def test_one_run_prints_both_heads(folder: Path, capsys):
    assert cli("run", "-d", str(folder), "--mix-rate", "0.3") == 0
    printed = capsys.readouterr().out
    assert "worst head" in printed and "face" in printed and "estimated" in printed
    assert "assigned to features by validation truth" in printed


def record(method: str, rate: float, seed: int, accuracy: float) -> dict:
    """A run as `protocol.run` records it."""
    heads = {name: {"accuracy": accuracy, "by_type": {"FHWH": accuracy}} for name in ("face", "writing")}
    part = {"photos": 200, "worst_head": accuracy, "heads": heads}
    return {
        "method": method,
        "mix_rate": rate,
        "seed": seed,
        "options": {},
        "answered": True,
        "notes": {},
        "cpu_seconds": 0.0,
        "validation": part,
        "not_drawn": part,
    }


def test_one_seed_has_no_deviation_and_is_marked_beside_several(tmp_path: Path):
    several = summary([record("many", rate, seed, 0.9 + seed / 100) for rate in (0, 0.3) for seed in (0, 1)])
    single = summary([record("single", rate, 0, 0.95) for rate in (0, 0.3)])
    assert several["mix_rates"][0]["worst_head_std"] == pytest.approx(0.01 / np.sqrt(2))
    assert single["mix_rates"][0]["worst_head_std"] is None and single["mix_rates"][0]["not_drawn_std"] is None
    for name, table in (("several", several), ("single", single)):
        write_json(tmp_path / f"{name}.json", table)
    page = write_report([tmp_path / "several.json", tmp_path / "single.json"], tmp_path / "page.html").read_text()
    assert "One seed only: single." in page
    assert "single, validation, 1 seed" in page and "many, validation, 2 seeds" in page
    assert page.count(">one seed</td>") == 4  # two mix rates, two sets of photos
    alone = write_report([tmp_path / "single.json"], tmp_path / "alone.html").read_text()
    assert "One seed only" not in alone and "single, 1 seed" in alone


def test_a_table_of_an_earlier_version_with_a_deviation_of_one_seed_is_marked_too(tmp_path: Path):
    table = summary([record("old", rate, 0, 0.95) for rate in (0, 0.3)])
    for row in table["mix_rates"]:
        row["worst_head_std"] = row["not_drawn_std"] = 0.0
    write_json(tmp_path / "old.json", table)
    page = write_report([tmp_path / "old.json"], tmp_path / "page.html").read_text()
    assert page.count(">one seed</td>") == 4


def test_the_page_says_by_what_the_heads_are_named(tmp_path: Path):
    table = summary([record("m", 0.1, seed, 0.9) for seed in (0, 1)])
    assert "validation truth" in table["heads_named_by"]
    write_json(tmp_path / "t.json", table)
    page = write_report([tmp_path / "t.json"], tmp_path / "page.html").read_text()
    assert "assigned to the features by validation truth" in page


def test_the_page_names_rendered_people_as_such(tmp_path: Path):
    for real, message in ((False, True), (True, False), (None, False)):
        runs = [record("m", 0.1, seed, 0.9) | {"real_people": real} for seed in (0, 1)]
        write_json(tmp_path / "t.json", summary(runs))
        page = write_report([tmp_path / "t.json"], tmp_path / "page.html").read_text()
        assert ("Rendered people, not photographs" in page) is message


def test_a_photo_is_computed_once_and_the_oldest_is_forgotten(monkeypatch):
    built = []
    monkeypatch.setattr(picture_cache, "MOST", 3)
    seen = picture_cache.PictureCache(
        lambda photos: built.extend(photos[:, 0].tolist()) or photos[:, 0].tolist(), batch=2
    )
    photos = np.arange(5, dtype=np.uint8)[:, None]
    assert seen(photos) == [0, 1, 2, 3, 4] and seen(photos[3:]) == [3, 4] and built == [0, 1, 2, 3, 4]
    assert seen(photos[:1]) == [0] and built == [0, 1, 2, 3, 4, 0]


def test_a_sweep_of_one_seed_prints_no_deviation(folder: Path, tmp_path: Path, capsys):
    out = str(tmp_path / "s.json")
    assert cli("sweep", "-d", str(folder), "--mix-rates", ".3", "--seeds", "1", "--json", out, "--quiet") == 0
    printed = capsys.readouterr().out
    assert "(1 seed)" in printed and "±" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweep", "-d", "nowhere", "--quiet"), "no such folder"),
        (("sweep", "-d", "nowhere", "--mix-rates", "a"), "expected numbers"),
        (("sweep", "-d", "nowhere", "--mix-rates", "0,1.5"), "expected numbers"),
        (("build", "--out", "x"), "--official DIR"),
        (("report", "nothing.json"), "no such file"),
        (("sweep", "-d", "nothing", "--json", "."), "a folder; name a file"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        cli(*arguments)


def test_an_unknown_method_is_refused(world):
    with pytest.raises(InputError, match=r"did you mean spatial"):
        protocol.run(world, protocol.MixTask("spatil", 0.1, 0))


def test_a_method_that_declines_leaves_a_record(world):
    class Declines:
        def fit(self, *arrays):
            raise CannotAnswer("one place")

    record, stored = protocol.run(world, protocol.MixTask(Declines(), 0.1, 0))
    assert stored.complete and record["answered"] is False and record["reason"] == "one place"
    row = summary([record])["mix_rates"][0]
    assert row["answered"] == 0 and row["worst_head_mean"] is None


def test_asking_where_heads_disagree_finds_cross_types(world):
    calls = ask(world, simulated(world), protocol.MixTask("spatial", 0.2, 0), questions=10, batch=5)
    assert [point["questions"] for point in calls["curve"]] == [0, 5, 10]
    assert calls["disagreeing_answers"] >= 8  # 20 % by chance
    assert len({row[0] for row in calls["answers"]}) == 10
    assert calls["curve"][-1]["validation"]["worst_head"] > 0.85


def test_asking_a_person_takes_yes_no_and_stop(world, tmp_path, monkeypatch):
    message = iter(["maybe", "y", "n", "no", "YES", "q"])
    monkeypatch.setattr("builtins.input", lambda question: next(message))
    oracle = at_the_terminal(world, tmp_path / "photos")
    assert oracle(0) == (True, False)
    assert oracle(1) == (False, True)
    assert oracle(2) is None
    assert len(list((tmp_path / "photos").glob("*.png"))) == 3


def test_asking_a_method_that_cannot_learn_from_answers_is_refused(world):
    with pytest.raises(InputError, match="cannot learn from answers"):
        ask(world, simulated(world), protocol.MixTask("erm", 0.1, 0))


def test_heat_maps_lie_where_the_blocks_are():
    fine = np.zeros((30, 30))
    fine[24, 10] = 1
    heat = heat_map([fine.tolist(), np.zeros((19, 19)).tolist()], (250, 250))
    rows, columns = np.nonzero(heat)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (193, 208, 81, 96)


def test_runs_in_parallel_are_the_same_runs(folder: Path, tmp_path: Path):
    tasks = [protocol.MixTask("spatial", 0.3, seed) for seed in (0, 1)]
    alone, together = (protocol.sweep(folder, tasks, tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2))
    for item, other in zip(alone, together, strict=True):
        assert item["validation"] == other["validation"] and item["seed"] == other["seed"]


def test_a_followed_region_is_drawn_where_it_was_found() -> None:
    heat = np.zeros((10, 10))
    heat[4, 5] = 1
    assert np.argwhere(moved_heat(heat, np.array([3, -2]))).tolist() == [[7, 3]]
    assert not moved_heat(heat, np.array([8, 0])).any()  # moved out of the photo


def test_the_networks_results_are_drawn_beside_a_sweep(tmp_path: Path) -> None:
    results = Path(__file__).parents[3] / "docs" / "results" / "happyfaces_networks.json"
    tables = {table["method"]: table for _, table in read_sweeps(results)}
    assert set(tables) == {"erm", "divdis", "dbat", "topk", "topk-exp"}
    for method, area in json.loads(results.read_text())["auc_0_30"].items():
        assert tables[method]["auc_0_30"] == pytest.approx(area, abs=1e-3)
        assert [row["answered"] for row in tables[method]["mix_rates"]] == [8] * 11
    deep = results.with_name("happyfaces_spatial_deep.json")  # written before methods that use their batch were marked
    page = write_report([results, deep], tmp_path / "page.html").read_text()
    assert "topk-exp, validation" in page and "best published" in page and "spatial-deep, validation" in page


def test_the_record_meets_the_goal_at_every_mix_rate_and_is_in_the_list_of_configurations(tmp_path: Path) -> None:
    record = Path(__file__).parents[3] / "docs" / "results" / "happyfaces_spatial_landmarks.json"
    [(_, table)] = read_sweeps(record)
    rows = table["mix_rates"]
    assert len(rows) == 11 and all(row["worst_head_mean"] >= 0.98 <= row["not_drawn_mean"] for row in rows)
    [last] = [row for row in configurations() if row["number"] == 25]
    validation, not_drawn = last["worst_head"].split("; not drawn ")
    for stated, name in ((validation, "worst_head_mean"), (not_drawn, "not_drawn_mean")):
        assert stated.split() == [f"{row[name] + 1e-9:.3f}".removeprefix("0") for row in rows]
    assert "spatial-landmarks, validation" in write_report([record], tmp_path / "page.html").read_text()


def test_runs_of_other_code_are_made_again(world, write_world, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "data"
    write_world(world, folder, str)
    tasks = [protocol.MixTask("spatial", 0.3, 0)]
    first = protocol.sweep(folder, tasks, tmp_path / "runs")
    place = tmp_path / "runs" / tasks[0].run_name()
    assert protocol.sweep(folder, tasks, tmp_path / "runs") == first, "nothing is made again"
    (place / "results.json").write_text("[]")
    assert protocol.sweep(folder, tasks, tmp_path / "runs")[0]["validation"] == first[0]["validation"], "it is repaired"
    monkeypatch.setattr(model, "own_code", lambda: "edited")
    again = protocol.sweep(folder, tasks, tmp_path / "runs")
    assert again[0]["validation"] == first[0]["validation"] and len(list((tmp_path / "runs").iterdir())) == 2


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "7",
        '{"runs": []}',
        '{"runs": [{"method": "x"}]}',
        '{"mix_rates": []}',
        '{"mix_rates": [{"mix_rate": "a"}]}',
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match="not a table"):
        read_sweeps(tmp_path / "x.json")


def test_a_page_shows_the_regions_of_runs_in_a_folder_of_another_name(world, write_world, tmp_path: Path) -> None:
    """Several methods may share a folder of runs; each table has the regions of its own method."""
    write_world(world, tmp_path / "data", str)
    (tmp_path / "plain.py").write_text(
        "import numpy as np\n"
        "class Plain:\n"
        "    def fit(self, labelled, labels, unlabelled):\n        return self\n"
        "    def predict(self, photos):\n        return np.full((len(photos), 2), 0.5)\n"
    )
    for name, method in (("spatial", "spatial"), ("plain", f"{tmp_path / 'plain.py'}:Plain")):
        line = ["-d", str(tmp_path / "data"), "--method", method, "--mix-rates", ".3", "--seeds", "1", "--quiet"]
        line += ["--json", str(tmp_path / f"{name}.json"), "--out", str(tmp_path / "runs")]
        assert command(["happyfaces", "sweep", *line]) == 0
    page = write_report([tmp_path / "spatial.json", tmp_path / "plain.json"], tmp_path / "page.html").read_text()
    assert page.count("Where the heads of ") == 1 and "Where the heads of spatial look" in page


def test_broken_runs_beside_a_table_cost_only_their_pictures(world, write_world, tmp_path: Path) -> None:
    write_world(world, tmp_path / "data", str)
    task = protocol.MixTask("spatial", 0.3, 0)
    records = protocol.sweep(tmp_path / "data", [task], tmp_path / "s.runs")
    write_json(tmp_path / "s.json", summary(records))
    assert "Where the heads" in write_report([tmp_path / "s.json"], tmp_path / "page.html").read_text()
    for text in ("x{", "[]", '{"notes": {"regions": "x"}}', '{"notes": {"regions": [[[[1]]]]}, "validation": null}'):
        (tmp_path / "s.runs" / task.run_name() / "run.json").write_text(text)
        assert "Where the heads" not in write_report([tmp_path / "s.json"], tmp_path / "page.html").read_text()
