"""The page of a sweep: lines, axes, seeds, tints and heat maps as numbers, before they are drawn."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.data.adapters.happyfaces_layout import HappyFaces, make_photos
from countenance.errors import InputError
from countenance.suites.happyfaces import report
from countenance.suites.happyfaces.scores import summary


def record(method: str, rate: float, seed: int, accuracy: float, **more) -> dict:
    heads = {name: {"accuracy": accuracy, "by_type": {"FHWH": accuracy, "FSWS": 1.0}} for name in ("face", "writing")}
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
    } | more


@pytest.fixture
def charts(monkeypatch) -> list:
    result = []

    def drawn(chart, key, **how):
        result.append((chart, key, how))
        return {"key": key}

    monkeypatch.setattr(report, "drawn", drawn)
    return result


def points(line) -> dict:
    return dict(zip(line.x, line.y, strict=True))


def test_the_published_curves_and_reference_lines_are_drawn_beside_ours(charts):
    """Armstrong et al.: .765, .921, .940, .928 at 0 to 30 %; DivDis .825 at 30 %; 50 % and 75 % are references."""
    many = summary([record("m", rate, seed, 0.9 + seed / 50) for rate in (0.0, 0.2) for seed in (0, 1)])
    report._curves([many])
    (chart, key, how), lines = charts[0], {line.label: line for line in charts[0][0].lines}
    assert points(lines["Extrapolate low data (published)"]) == {0.0: 0.765, 0.1: 0.921, 0.2: 0.94, 0.3: 0.928}
    assert points(lines["DivDis (published)"]) == {0.3 - 0.02: 0.825, 0.3: 0.825}, "one point: a short line"
    assert points(lines["a head guesses"]) == {0.0: 0.5, 1.0: 0.5}
    assert points(lines["right on matched types only"]) == {0.0: 0.75, 1.0: 0.75}
    ours = lines["m, validation, 2 seeds"]
    assert points(ours) == pytest.approx({0.0: 0.91, 0.2: 0.91}) and ours.strong and ours.n == 2
    std = 0.02 / 2**0.5
    assert list(ours.low) == pytest.approx([0.91 - std] * 2) and list(ours.high) == pytest.approx([0.91 + std] * 2)
    assert not lines["m, photos not drawn, 2 seeds"].strong and not lines["a head guesses"].strong
    assert chart.lowest == 0.4 and how["wide"] is True and key == "worst-head-accuracy-by-mix-rate"
    assert chart.limits == ((0.0, 1.0), None) and chart.axes == ("mix rate", "worst-head accuracy")
    single = summary([record("s", rate, 0, 0.9) for rate in (0.0, 0.7)])
    report._curves([many, single])
    lines = {line.label: line for line in charts[1][0].lines}
    assert charts[1][0].limits == ((0.0, 1.0), None) and points(lines["a head guesses"]) == {0.0: 0.5, 1.0: 0.5}
    assert not lines["s, validation, 1 seed"].strong and list(lines["s, validation, 1 seed"].low) == []
    assert "s, photos not drawn, 1 seed" in lines
    report._curves([many, single, many])
    assert not any("photos not drawn" in line.label for line in charts[2][0].lines), "only of up to two sweeps"


def test_the_enlarged_figure_shows_what_lies_above_nine_tenths(charts):
    curve = {0.0: 0.8, 0.1: 1.0, 0.2: 0.95, 0.3: 0.5}
    report._curves([summary([record("m", rate, seed, value) for rate, value in curve.items() for seed in (0, 1)])], 0.9)
    chart, key, _ = charts[0]
    lines = {line.label: line for line in chart.lines}
    assert chart.limits == ((0.0, 1.0), (0.9, 1.0)) and chart.lowest == 0.9 and key.endswith("0-9-to-1")
    assert points(lines["m, validation, 2 seeds"]) == pytest.approx(
        {0.0: 0.9, 0.05: 0.9, 0.1: 1.0, 0.2: 0.95, 0.211111: 0.9, 0.3: 0.9}
    )
    assert "a head guesses" not in lines and "Extrapolate low data (published)" in lines
    report._curves([summary([record("m", rate, seed, value) for rate, value in curve.items() for seed in (0, 1)])])
    whole = {line.label: (line.colour, line.dash) for line in charts[1][0].lines}
    assert all(whole[name] == (line.colour, line.dash) for name, line in lines.items()), "a line looks alike in both"
    report._curves([summary([record("low", 0.1, 0, 0.6)])], 0.95)
    assert charts[2][0].lines, "there is always a line to draw"


def test_declined_rates_and_batches_are_seen_in_the_figure(charts):
    runs = [record("m", 0.1, seed, 0.9, uses_batch=True) for seed in (0, 1)]
    runs += [record("m", 0.2, seed, 0.9) | {"answered": False, "reason": "no"} for seed in (0, 1)]
    report._curves([summary(runs)])
    lines = {line.label: line for line in charts[0][0].lines}
    declined = lines["m, some or all seeds declined (a guess)"]
    assert points(declined) == {0.2: 0.5}
    assert declined.strong and not lines["a head guesses"].strong, "both are at .5; the thick line lies above"
    assert points(lines["m (uses its batch), validation, 2 seeds"]) == {0.1: 0.9}


def test_records_of_single_runs_are_tables_by_method(tmp_path: Path):
    for seed in (0, 1):
        (tmp_path / f"{seed}.json").write_text(json.dumps(record("mine", 0.1, seed, 0.9 + seed / 50)))
    (tmp_path / "other.json").write_text(json.dumps(record("other", 0.1, 0, 0.8)))
    tables = [table for _, table in report.read_sweeps(*(tmp_path / f"{name}.json" for name in (0, 1, "other")))]
    assert [(table["method"], table["seeds"]) for table in tables] == [("mine", [0, 1]), ("other", [0])]
    assert tables[0]["accuracy_at_10"] == pytest.approx(0.91)
    (tmp_path / "0.json").write_text(json.dumps(record("mine", 0.1, 0, 0.9) | {"mix_rate": None}))
    with pytest.raises(InputError, match="has no mix rate"):
        report.read_sweeps(tmp_path / "0.json")


def test_the_page_has_examples_perfect_predictions_and_citations(tmp_path: Path):
    table = summary([record("m", 0.1, seed, 0.9, data_notes=["of 200 validation photos 4 show"]) for seed in (0, 1)])
    (tmp_path / "t.json").write_text(json.dumps(table))
    page = report.write_report([tmp_path / "t.json"], tmp_path / "page.html").read_text("utf-8")
    assert all(f'alt="a photo of type {tag}"' in page for tag in ("FHWH", "FHWS", "FSWH", "FSWS"))
    for text in (
        "Perfect predictions",
        "Sanderson",
        "Arigbabu",
        "Huang, GB",
        "Armstrong, S",
        "second seen set",
        "is the test",
    ):
        assert text in page
    assert "Of 200 validation photos 4 show" in page and "Worst-head accuracy by mix rate, 0.9 to 1" in page
    assert "<h1>m is right in 90.0\u202f% of the photos with its worse head.</h1>" in page


def test_an_axis_of_shares_ends_at_one_unless_it_ends_at_three_tenths(charts):
    for end, limits in ((0.3, None), (0.31, (0.0, 1.0)), (0.99, (0.0, 1.0)), (1.0, None), (20.0, None)):
        report._figure([report._line("x", {0.0: 0.5, end: 0.6})], ("a", "b"), "A title: 2", 0.1)
        assert charts[-1][0].limits == (limits, None) and charts[-1][1] == "a-title--2" and charts[-1][0].lowest == 0.1
    report._figure([report._line("x", {0.0: 0.5})], ("a", "b"), "t")
    assert charts[-1][0].lowest == 0.0
    line = report._line("x", {0.0: 0.5, 1.0: 0.7}, False, [0.1, None])
    assert list(line.low) == pytest.approx([0.4, 0.7]) and list(line.high) == pytest.approx([0.6, 0.7])


def test_estimates_are_drawn_against_equality(charts):
    tables = [summary([record("m", rate, 0, 0.9, notes={"estimated_mix_rate": rate + 0.05}) for rate in (0.0, 0.2)])]
    report._estimates(tables)
    item, equal = charts[0][0].lines
    assert (
        points(item) == pytest.approx({0.0: 0.05, 0.2: 0.25}) and item.strong and points(equal) == {0.0: 0.0, 0.2: 0.2}
    )
    assert charts[0][0].lowest == 0 and report._estimates([summary([record("m", 0.1, 0, 0.9)])]) is None


def test_questions_are_drawn_by_their_order(charts, tmp_path: Path):
    runs = [
        {
            "order": order,
            "mean": [{"questions": 0, "worst_head": 0.8}, {"questions": 5, "worst_head": 0.9}],
            "curves": [{}, {}],
        }
        for order in ("disagreement", "random")
    ]
    (tmp_path / "asked.json").write_text(json.dumps(runs))
    report._questions(tmp_path / "asked.json")
    first, second = charts[0][0].lines
    assert (first.label, first.strong) == ("asked by disagreement, mean of 2", True) and not second.strong
    assert points(first) == {0: 0.8, 5: 0.9} and charts[0][0].lowest == 0.4 and report._questions(None) is None
    (tmp_path / "asked.json").write_text("[3]")
    with pytest.raises(InputError, match="not a file of"):
        report._questions(tmp_path / "asked.json")


def test_a_table_is_told_with_its_seeds_and_its_headline():
    runs = [record("m", rate, seed, 0.9) for rate in (0.0, 0.1) for seed in (0, 1)]
    words = report._with_numbers(summary([*runs, record("m", 0.2, 0, 0.7)]))
    assert words["few"] is True and words["seed_words"] == "1 to 2 seeds" and words["at_10"] == pytest.approx(0.9)
    assert words["heads"] == ["face", "writing"] and words["kinds"] == ["FHWH", "FSWS"] and words["held_back"] is False
    assert report._with_numbers(summary(runs))["few"] is False
    alone = report._with_numbers(summary([record("m", 0.1, 0, 0.9)]))
    assert alone["heads"] == ["face", "writing"] and alone["kinds"] == ["FHWH", "FSWS"]
    none = report._with_numbers(summary([record("m", 0.1, 0, 0.9) | {"answered": False, "reason": "no"}]))
    assert (none["heads"], none["kinds"], none["at_10"], none["seed_words"], none["held_back"]) == (
        [],
        [],
        0.5,  # declined, which counts as a guess
        "no answer",
        False,
    )
    held = {"held_back": record("m", 0, 0, 0.8)["validation"]}
    assert report._with_numbers(summary([item | held for item in runs]))["held_back"] is True
    assert report._with_numbers(summary([runs[0] | held, runs[2]]))["held_back"] is False, (
        "at every mix rate or not at all"
    )


def test_the_page_is_told_which_figures_are_of_one_seed(monkeypatch, tmp_path: Path):
    arguments = {}
    page = SimpleNamespace(
        page=lambda _, **context: arguments.update(context) or "", template=lambda *_: None, write=lambda out, _: out
    )
    monkeypatch.setattr(report, "render", page)
    many = summary([record("many", rate, seed, 0.9) for rate in (0.0, 0.3) for seed in (0, 1)])
    single = summary([record("single", rate, 0, 0.9, real_people=False) for rate in (0.0, 0.3)])
    for name, table in (("many", many), ("single", single)):
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    for names, unlike in ((["many", "single"], "single"), (["single", "single"], ""), (["many"], "")):
        assert (
            report.write_report([tmp_path / f"{name}.json" for name in names], tmp_path / "x.html")
            == tmp_path / "x.html"
        )
        assert arguments["rendered"] == ", ".join(name for name in names if name == "single")
        assert arguments["unlike"] == unlike and arguments["faces"] is False and len(arguments["tables"]) == len(names)
    assert arguments["published"][1] == ("DivDis (published)", [(0.3, 0.825)])


def test_runs_of_several_methods_are_tables_of_their_own(tmp_path: Path):
    stored = ("method", "mix_rate", "seed", "validation", "not_drawn")
    runs = [{key: record(name, 0.1, 0, 0.9)[key] for key in stored} for name in ("a", "b")]
    (tmp_path / "runs.json").write_text(json.dumps({"runs": runs}))
    tables = [table for _, table in report.read_sweeps(tmp_path / "runs.json")]
    assert [(item["method"], item["cpu_seconds"], item["mix_rates"][0]["answered"]) for item in tables] == [
        ("a", 0, 1),
        ("b", 0, 1),
    ]
    table = summary([record("m", 0.1, 0, 0.9)])
    wrong = [
        table | {"mix_rates": [table["mix_rates"][0] | change]}
        for change in ({"worst_head_mean": "x"}, {"worst_head_std": "x"}, {"runs": None})
    ]
    for item in (*wrong, table | {"folder": 5}):
        (tmp_path / "runs.json").write_text(json.dumps(item))
        with pytest.raises(InputError, match="not a table"):
            report.read_sweeps(tmp_path / "runs.json")


def test_heat_lies_in_two_tints_over_a_grey_photo():
    photo = np.array([[[30, 60, 90], [200, 200, 200]]], np.uint8)
    heat = np.array([[1.0, 0.0]])
    amber, blue = np.array([255, 190, 60]), np.array([120, 200, 255])
    item = report._tinted(photo, heat)
    assert item[0, 1].tolist() == [150] * 3, "three quarters of the grey"
    assert item[0, 0].tolist() == np.round(0.75 * 60 * 0.25 + amber * 0.75).astype(int).tolist()
    both = report._tinted(photo, heat, np.array([[0.0, 0.5]]))
    assert both[0, 1].tolist() == np.round(150 * 0.625 + blue * 0.375).astype(int).tolist()


def test_maps_lie_on_grey_on_the_mean_photo_or_on_ten_photos(monkeypatch, tmp_path: Path):
    def photos(n: int, value: int, *tags: str):
        pixels = [np.full((36, 36, 3), value + 4 * k, np.uint8) for k in range(n)]
        return make_photos(pixels, tags or ["FHWH"] * n, [f"{k}" for k in range(n)], "here")

    data = HappyFaces(photos(2, 10, "FHWS", "FSWH"), photos(2, 30), photos(25, 50), real_people=False)
    fine = np.zeros((2, 2))
    fine[0, 1] = 1
    monkeypatch.setattr(report, "picture_of", lambda pixels: pixels)
    monkeypatch.setattr(report, "_regions", lambda path, method: ([[fine, [[0.0]]]] * 2, ["writing", "face"], True))
    calls = []

    def discover(labelled, labels):
        calls.append(labels.tolist())
        return SimpleNamespace(moves=lambda some: [np.array([[8, -4]] * len(some)), np.array([[0, 0]] * len(some))])

    monkeypatch.setattr(report, "discover", discover)
    (tmp_path / "s.runs" / "a").mkdir(parents=True)
    (tmp_path / "s.runs" / "a" / "run.json").write_text("{}")
    plain = report._looks(tmp_path / "s.json", {"method": "m"}, None, True)
    (first, name), _ = plain["heads"]
    assert name == "writing" and first.shape == (24, 24, 3) and plain["photos"] == [] and plain["real_people"] is True
    assert first[23, 0].tolist() == [176] * 3 and not plain["over_mean"], "235 × .75"
    assert first[0, 8].tolist() == [235, 187, 89]
    shown = report._looks(tmp_path / "s.json", {"method": "m"}, data, True)
    (first, _), _ = shown["heads"]
    assert first.shape == (36, 36, 3) and first[35, 0].tolist() == [9] * 3 and shown["over_mean"], "(10 + 14) / 2 × .75"
    assert len(shown["photos"]) == 10 and calls == [[1, 0]] and shown["real_people"] is False
    greys = [int(pixels[35, 35, 0]) for pixels in shown["photos"]]
    assert greys == [round(0.75 * int(data.validation.pixels[k, 0, 0, 0])) for k in range(0, 20, 2)], (
        "every second of 25"
    )
    top = shown["photos"][0][:, :, 0].astype(int) - greys[0]
    assert np.argwhere(top > 0).min(0).tolist() == [6, 10], "one map lies 8 px lower and 4 px to the left"
    assert report._looks(tmp_path / "s.json", {"method": "m"}, data, False)["photos"] == []


def test_blocks_of_both_scales_make_one_map():
    """Weights per area, in the middle of the photo: cells of 8 and 12 px, blocks of two cells."""
    fine, coarse = np.arange(6.0).reshape(2, 3), np.array([[1.0, 3.0]])
    heat = np.zeros((30, 44))
    for cell, weights in ((8, fine), (12, coarse)):
        y0, x0 = ((side - (n + 1) * cell) // 2 for side, n in zip(heat.shape, weights.shape, strict=True))
        for row, column in np.ndindex(weights.shape):
            y, x = y0 + row * cell, x0 + column * cell
            heat[y : y + 2 * cell, x : x + 2 * cell] += weights[row, column] / (2 * cell) ** 2
    np.testing.assert_allclose(report.heat_map([fine, coarse], (30, 44)), heat / heat.max())
    assert report.heat_map([fine, coarse]).shape == (24, 32)
    small = report.heat_map([fine, coarse], (20, 20))
    assert small.shape == (20, 20) and small.max() == 1 and small[0, 0] > 0, "what leaves the photo begins at its edge"
