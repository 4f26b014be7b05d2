"""FHIBE's published defaults and formulas, against the published signatures and plain arithmetic."""

import inspect
import itertools
import math
import statistics
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from countenance.data.adapters.fhibe.words import ATTRIBUTES, MULTIPLE, UNNUMBERED, age_bin
from countenance.errors import InputError
from countenance.suites.fhibe import disparity, evaluate_task
from countenance.suites.fhibe import report as pages
from countenance.suites.fhibe.original import helpers, published
from countenance.suites.fhibe.published import keypoint_file, part_files, threshold_files
from countenance.suites.fhibe.vocabulary import OWN_METRICS

from .test_rules import table_of


def defaults(function):
    positional = inspect.signature(function).parameters.values()
    return {item.name: item.default for item in positional if isinstance(item.default, bool | int | float | str)}


def test_functions_have_the_published_defaults(tmp_path):
    with pytest.raises(InputError, match="model is None: give a model"):
        evaluate_task(tmp_path, "fhibe", None, "m", "person_parsing")
    with pytest.raises(InputError, match="no results of m for person_parsing; call evaluate_task first"):
        published.BiasReport("m", "person_parsing", "d", "1", str(tmp_path), "fhibe")
    with pytest.raises(InputError, match="gallery 'some', expected one of auto, off, blurred, full"):
        pages.write_bias_report(None, gallery="some")
    for name in ("b.json", "c.json"):
        helpers.create_folders(str(tmp_path / "a" / "new" / name))
    assert disparity.significant_pairs({"a": [1.0], "b": [1.0]}) is None
    assert defaults(evaluate_task) == {
        "use_mini_dataset": False,
        "mini_dataset_size": 50,
        "downsampled": True,
        "reuse_model_outputs": False,
        "cuda": True,
    }
    assert defaults(published.BiasReport) == {
        "dataset_version": "",
        "results_base_dir": "results",
        "dataset_name": "fhibe",
        "downsampled": False,
        "use_mini_dataset": False,
    }
    assert defaults(published.BiasReport.generate_pdf_report) == {
        "group_largest_regions": True,
        "show_significance_on_plots": True,
        "report_savename": "bias_report.pdf",
    }
    assert defaults(helpers.image_data_loader_from_paths) == {
        "exif_transpose": True,
        "batch_size": 32,
        "shuffle": False,
        "num_workers": 8,
        "grayscale": False,
    }
    assert defaults(helpers.open_image_with_pil) == {"exif_transpose": True, "grayscale": False}
    assert defaults(helpers.ImageDataset) == {"grayscale": False}
    assert defaults(disparity.calculate_disparity) == {"group_largest_regions": True, "k": 0, "min_group_size": 20}
    assert defaults(disparity.significant_pairs) == {"alpha": 0.05, "statistic": "U"}
    assert [(metric.name, metric.better) for metric in OWN_METRICS] == [
        ("VAL", "higher"),
        ("LPIPS", "lower"),
        ("CURRICULAR_FACE", "higher"),
    ]


A, B = [0.1, 0.2, 0.5, 0.9, 0.7], [0.3, 0.6, 0.65, 0.8, 0.95, 0.99, 0.4]


def test_a_pair_of_groups_by_ranks_and_by_means():
    """Of 35 pairs the first group wins some: the z of that number, and Student's t with its pooled spread."""
    wins = sum((x > y) + 0.5 * (x == y) for x, y in itertools.product(A, B))
    *groups, gap, p, effect = disparity.process_pair("a", "b", {"a": A, "b": B})
    every = [
        sum(x > y for x in some for y in set(range(12)) - set(some)) for some in itertools.combinations(range(12), 5)
    ]
    assert groups == ["a", 5, "b", 7] and gap == pytest.approx(1 - 0.5 / 0.65)
    assert p == pytest.approx(2 * np.mean([item <= wins for item in every])), "of all 792 orders"
    assert effect == pytest.approx((wins - 17.5) / math.sqrt(5 * 7 * 13 / 12))
    pooled = math.sqrt((4 * statistics.variance(A) + 6 * statistics.variance(B)) / 10)
    *groups, gap, p, effect = disparity.process_pair("b", "a", {"a": A, "b": B}, "t")
    assert groups == ["a", 5, "b", 7] and gap == pytest.approx(1 - 0.5 / 0.65)
    assert effect == pytest.approx((statistics.mean(B) - statistics.mean(A)) / pooled)
    t = effect / math.sqrt(1 / 5 + 1 / 7)
    assert p == pytest.approx(2 * (1 - student(t, 10)), abs=1e-4)


def student(t, df):
    """Student's distribution by summing its density."""
    x = np.linspace(-60, t, 400_001)
    density = (
        math.gamma((df + 1) / 2) / math.sqrt(df * math.pi) / math.gamma(df / 2) * (1 + x**2 / df) ** (-(df + 1) / 2)
    )
    return float(np.trapezoid(density, x))


def test_medians_of_nothing_and_below_nothing():
    zeros = {"a": [0.0, 0.0], "b": [0.0, 0.0], "c": [-1.0, -1.0], "d": [0.0, 1.0]}
    assert disparity.process_pair("a", "b", zeros)[:5] == ["b", 2, "a", 2, 0.0]
    assert disparity.process_pair("a", "d", zeros)[:5] == ["a", 2, "d", 2, 1.0]
    for pair in (("a", "c"), ("c", "a")):
        with pytest.raises(ValueError, match="a negative median has no disparity"):
            disparity.process_pair(*pair, zeros)
    item = {"a": A * 5, "b": [1.0] * 30}
    assert (
        disparity.significant_pairs(item)[0][:2] == ["a", 25] and disparity.significant_pairs(item, alpha=1e-13) is None
    )


def test_seventeen_attributes_have_several_values_and_ages_fall_into_five_bins():
    item = (
        "age scene camera_position camera_distance natural_skin_color apparent_skin_color hairstyle natural_hair_type"
    )
    item += (
        " apparent_skin_color_hue_lum apparent_hair_type head_pose action_body_pose user_hour_captured location_country"
    )
    assert set(ATTRIBUTES) - MULTIPLE == set(item.split()) and len(MULTIPLE) == 17
    assert set(item.split()) >= UNNUMBERED and len(UNNUMBERED) == 4
    assert [age_bin(age)[:3] for age in (0, 18, 29.99, 30, 39.9, 40, 50, 59.9, 60, 99)] == [
        "[18",
        "[18",
        "[18",
        "[30",
        "[30",
        "[40",
        "[50",
        "[50",
        "[60",
        "[60",
    ]


TABLE = {"filepath": ["a.png", "b.png", "c.png"], "image_id": ["1", "2", "3"], "subject_id": ["s", "t", "u"]}


def test_the_published_files_of_rows():
    table, ids = table_of(**TABLE), {"image_id": "2", "subject_id": "t", "filepath": "root/b.png"}
    files = threshold_files(table, np.array([0.5, 0.7, 0.9]), {"0.7": 0.7}, "iou")
    assert files["results_iou_threshold.json"] == {"0.7": {"0": 0, "1": 1, "2": 1}}
    detailed = files["detailed_results_iou_threshold.json"]["0.7"]
    assert (
        detailed["summary"] == "0.67" and detailed["individual_results"][1] == {"idx": 1, "val": 0.7, "accept": 1} | ids
    )
    people = [{"Face": 0.5, "Hand": 0.1}, {"Face": 0.4, "Hand": 0.9}, {}]
    rendered = part_files(table, people, ["Face", "Hand"], {"0.5": 0.5}, "AR_DET")
    assert rendered["results_body_parts_AR_DET_threshold.json"]["0.5"]["0"] == {"Face": 1, "Hand": 0}
    item = rendered["detailed_results_body_parts_AR_DET_threshold.json"]["0.5"]
    assert item["summary"] == {"Face": "0.33", "Hand": "0.33"}
    assert (
        item["individual_results"][1]
        == {
            "idx": 1,
            "Face": {"val": 0.4, "accept_Face": 0},
            "Hand": {"val": 0.9, "accept_Hand": 1},
        }
        | ids
    )
    points = keypoint_file(table, np.array([0.1]), np.ones((3, 1)), np.array([0.2, 0.3, 0.4]))[
        "pck_scores_threshold.json"
    ]
    assert points["thresholds"] == [0.1] and list(points["results"]) == ["0", "1", "2"]


def test_progress_is_told_every_ten_seconds(monkeypatch, caplog):
    clock = iter([100.0, 105.0, 109.9, 110.0, 115.0, 121.0])
    monkeypatch.setattr(published, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    step = published._progress("face_parsing")
    with caplog.at_level("INFO", logger="countenance.fhibe"):
        for _ in range(5):
            step(4)
    assert [item.getMessage() for item in caplog.records] == [
        "face_parsing: 12 done, 1.2/s",
        "face_parsing: 20 done, 1.0/s",
    ]


def test_pictures_are_turned_as_they_say_and_grey_where_asked(tmp_path):
    path = tmp_path / "a.jpg"
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (4, 9), (200, 10, 10)).save(path, exif=turned)
    assert (
        helpers.open_image_with_pil(str(path)).size == (9, 4) and helpers.open_image_with_pil(str(path)).mode == "RGB"
    )
    plain = helpers.open_image_with_pil(str(path), False, True)
    assert (plain.size, plain.mode) == ((4, 9), "L") and helpers.open_image_with_pil(str(tmp_path / "no.png")) is None
    loader = helpers.image_data_loader_from_paths(None, [str(path)] * 3, [str(path)], batch_size=2, num_workers=0)
    sizes = [[len(batch["images"]) for batch in item] for item in loader]
    assert sizes == [[2, 1], [1]] and len(helpers.ImageDataset([str(path)], True)) == 1
