"""The rules at their limits: significance, percent, cut lines, numbers of groups, inverted classes, words."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from countenance.answers import Boxes
from countenance.answers.formats.base import PredictionRequest, TableRows
from countenance.answers.formats.mask_forms import detects, read_table
from countenance.auditing.finding import SIDES, Finding
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.data.adapters.mask_fairness import MaskData, compared_by
from countenance.data.names import ImageNames
from countenance.errors import InputError
from countenance.metrics.readings import CORNERS
from countenance.suites.mask_fairness.assessment import Row
from countenance.suites.mask_fairness.assessment_run import _two, assess, summary_lines
from countenance.suites.mask_fairness.causes import why
from countenance.suites.mask_fairness.comparison import compare, table_rows
from countenance.suites.mask_fairness.detectors import ALGORITHMS
from countenance.suites.mask_fairness.made_data import _bafmd, label
from countenance.suites.mask_fairness.notes import _inverted, assessment_notes
from countenance.suites.mask_fairness.report import _table
from countenance.suites.mask_fairness.saved_predictions import _is_stored, predictions_of
from countenance.suites.mask_fairness.seed_rule import seed_row, seed_table
from countenance.suites.mask_fairness.twins import _rows


def test_significant_is_below_and_severe_is_above():
    row = seed_row("g", 100, 200, 150, 200)
    assert [replace(row, p=p).significant for p in (0.0499, 0.05)] == [True, False]
    assert [replace(row, h=h).severe for h in (0.201, 0.2, -0.2, -0.201)] == [True, False, False, True]
    assert [replace(row, p=p, h=0.1).verdict for p in (0.01, 0.05, float("nan"))] == [
        "significant",
        "not significant",
        "–",
    ]
    lists = seed_table("worn", [["a", "a", "b"], [], 2.0, None, ["b"]], [1.0, 1.0, 0.0, None, 1.0])
    assert [(one.group, one.k, one.n, one.k_other, one.n_other) for one in lists] == [
        ("2", 0, 1, 2, 2),
        ("a", 1, 1, 1, 2),
        ("b", 2, 2, 0, 1),
        ("(unknown)", 1, 1, 0, 0),
    ]


def finding(**fields):
    usual = {
        "verdict": "insufficient evidence",
        "direction": "worse",
        "p": 0.01,
        "deff": 1.0,
        "deff_versus": 1.0,
        "reason": "so",
        "mde": 0.3,
        "mde_difference": 0.149,
        "estimate": 0.5,
        "low": 0.4,
        "high": 0.6,
    }
    return SimpleNamespace(**usual | {"p_adjusted": 0.5, "family_size": 7, "severity": None} | fields)


def test_half_of_all_is_counted_by_its_errors_and_p_at_the_limit_is_none():
    """All of 4 against 4 of 12: half of all succeed; z says .02, Fisher's test more than .05."""
    cause, sentence = why(seed_row("g", 4, 4, 4, 12), finding())
    assert cause == "small cell" and "it rests on 0 errors among 4 faces" in sentence
    clear = seed_row("g", 100, 200, 150, 200)
    assert [why(clear, finding(p=p))[0] for p in (0.05, 0.0499)] == ["other test", "multiplicity"]
    assert why(clear, finding(p=0.05, deff=1.4))[0] == "clustering"
    alike = seed_row("g", 100, 200, 101, 200)
    assert "would show none with a power of 80 %" in why(alike, finding(mde_difference=math.nan))[1]
    assert why(alike, finding())[1].startswith(
        "neither rule finds a difference, but 200 faces would show only a gap of 15 points (Cohen's h 0.30) or more"
    )
    assert (
        why(clear, finding(verdict="disparity"))[1]
        == "both rules find it (severe by the published rule, minor by the audit)"
    )


def wanted(**options):
    return PredictionRequest(Boxes, ImageNames(["p00"]), options)


def table(rows, header="image_id,class,confidence,x,y,w,h"):
    names = header.split(",")
    return TableRows("t", names, [(k, dict(zip(names, row, strict=True))) for k, row in enumerate(rows, 1)], "row")


def test_percent_is_what_exceeds_one():
    for score, read in ((1, 1.0), (1.5, 0.015), (90, 0.9)):
        found = read_table(table([("p00", 1, score, 5, 5, 20, 30), ("p00", 3, 0.5, 5, 5, 20, 30)]), wanted())
        assert found.by_id["p00"].scores.tolist() == pytest.approx([read, 0.5 if score == 1 else 0.005])
        assert found.by_id["p00"].labels == ("mask", "no_mask")


@pytest.mark.parametrize(("place", "fits"), [(99, False), (100, True)])
def test_a_hundred_lines_decide_the_form(tmp_path, place, fits):
    """The header and 99 rows of a file are looked at; of a table 100 rows."""
    rows = ["p00,1,0.9,5,5,20,30"] * 120
    rows[place - 1] = "p00,1,0.9,5,5,2,3"
    (tmp_path / "x.csv").write_text("\n".join(["image_id,class,confidence,x,y,w,h", *rows]) + "\n")
    assert detects(tmp_path / "x.csv") is fits
    cells = [tuple(row.split(",")) for row in rows]
    cells.insert(0, cells[0])
    assert (read_table(table(cells), wanted()) is not None) is fits


def test_a_line_that_the_first_65536_bytes_cut_is_not_looked_at(tmp_path):
    """The last number of the cut line, 70, would be 7, which lies above the corner at 50; what follows is not seen."""
    head, row = "image_id,class,confidence,x,y,w,h\n", "p00,1,0.9,5,50,60,70\n"
    wrong = row.replace("70", "7")
    rows, size = [], len(head)
    while size + 700 + len(row) - 3 < 65536:
        rows.append(row.replace("p00", "p" * 700))
        size += len(rows[-1])
    last = row.replace("p00", "p" * (65536 - size - len(row) + 5))
    for further in (row, wrong):
        text = head + "".join(rows) + last + further
        assert text[65535] == "7" and text[65536:65538] == "0\n" and len(rows) < 98
        (tmp_path / "x.csv").write_text(text)
        assert detects(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text(head + row + wrong + "".join(rows) + last)
    assert not detects(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text(head + row + wrong)
    assert not detects(tmp_path / "x.csv"), "a file that is read whole has no cut line"
    for line, form in (("p00,1,5,5,20,30", True), ("p00,mask,5,5,20,30", False), ("p00,5,5,20,30", False)):
        (tmp_path / "x.csv").write_text(f"{line}\n")
        assert detects(tmp_path / "x.csv") is form


def people(count, **attributes):
    """One face in each picture; an attribute is a function of the number."""
    samples = []
    for i in range(count):
        about = {"masked": "yes" if i % 2 else "no"} | {name: value(i) for name, value in attributes.items()}
        subject = Subject("0", face_box=np.array([4.0, 4, 24, 24]), attributes=about)
        samples.append(Sample(f"{i:02d}", ArrayImage(np.full((32, 40, 3), i, np.uint8)), 40, 32, (subject,)))
    return Dataset(DatasetCard(name="few", real_people=False), samples)


def test_attributes_with_two_to_twenty_values_are_compared():
    values = {
        "one": lambda i: "a",
        "two": lambda i: i % 2,
        "most": lambda i: i % 20,
        "more": lambda i: i % 21,
        "gap": lambda i: None if i % 2 else "a",
        "age": float,
        "yaw": lambda i: float(i % 3),
    }
    assert compared_by(people(42, **values)) == ("two", "most")
    assert compared_by(people(4, **values, race=lambda i: "x")) == ("race",)


def answers(data, right):
    """The first `right` faces of either kind are judged rightly."""
    seen = {"yes": 0, "no": 0}
    found = {}
    for sample in data.dataset:
        worn = sample.subjects[0].attributes["masked"]
        seen[worn] += 1
        good = (seen[worn] <= right) == (worn == "yes")
        found[sample.id] = Boxes([[4, 4, 24, 24]], [0.9], ["mask" if good else "no_mask"])
    return found


@pytest.mark.parametrize(("right", "told"), [(0, True), (2, True), (3, False)])
def test_a_fifth_right_looks_inverted(right, told):
    data = MaskData(people(20))
    (said,) = _inverted(data, None, data.dataset.samples, answers(data, right)) or [""]
    assert bool(said) is told
    if told:
        rates = f"true positive rate {right} of 10 and true negative rate {right} of 10"
        assert f"{rates}; with mask and no mask exchanged it would be {10 - right} of 10 and {10 - right} of 10" in said
        assert said.endswith("check the classes of the detector")
    notes = assessment_notes(data, None)(data.dataset.samples, answers(data, right), SimpleNamespace(reading=CORNERS))
    assert len(notes) == told


def test_stored_predictions_are_told_from_tables(tmp_path):
    table = pa.table({"image": ["a"]})
    pq.write_table(table.replace_schema_metadata({b"answer": b"boxes"}), tmp_path / "run.PARQUET")
    pq.write_table(table, tmp_path / "table.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"no")
    names = ("run.PARQUET", "table.parquet", "bad.parquet", "none.parquet")
    assert [_is_stored(tmp_path / name) for name in names] == [True, False, False, False]


def test_boxes_are_counted_in_words(tmp_path):
    data, said = MaskData(people(3)), []
    for rows in (1, 2):
        (tmp_path / "x.csv").write_text("00,1,0.9,5,5,25,35\n" * rows)
        predictions_of(tmp_path / "x.csv", data, say=said.append)
    assert [one.split(",")[0] for one in said if "read as" in one] == ["x.csv: 1 box", "x.csv: 2 boxes"]
    (tmp_path / "x.csv").write_text("00,1,0.9,5,5,5,5\n00,1,0.9,25,5,5,35\n")
    with pytest.raises(InputError, match=r"box \(25.0, 5.0, 5.0, 35.0\) of 00 has a negative width or height"):
        predictions_of(tmp_path / "x.csv", data)


def test_written_classes_are_none_and_one():
    def face(masked):
        subject = Subject("0", face_box=np.array([4.0, 4, 24, 24]), attributes={"masked": masked} if masked else {})
        return SimpleNamespace(
            subject=subject, sample=SimpleNamespace(id="a"), file="a.png", centre=[0.5, 0.25, 0.1, 0.2]
        )

    assert [label(face(word)) for word in ("no", "yes")] == [0, 1] and [
        _bafmd(face(w))["mask"] for w in ("no", "yes")
    ] == [0, 1]
    assert _bafmd(face("yes")) == {"filename": "a.png", "x": "0.5", "y": "0.25", "dx": "0.1", "dy": "0.2", "mask": 1}
    with pytest.raises(InputError, match="a: whether a mask is worn is not known"):
        label(face(None))
    assert sum(one.assessed for one in ALGORITHMS) == 6 and len([one.status for one in ALGORITHMS]) == 10


def test_two_groups_are_one_disparity_seen_from_both_sides():
    names = ["difference", "z", "diff_low", "diff_high", "effect", "effect_low", "effect_high"]
    names += ["low_equivalence", "high_equivalence"]
    numbers = {name: float(k + 1) for k, name in enumerate(names)}
    sides = {name: 10.0 * k for k, name in enumerate((*SIDES, *(f"{name}_versus" for name in SIDES)))}
    given = SimpleNamespace(
        group="f", versus="m", direction="worse", **numbers, **sides, model_copy=lambda update: update
    )
    assert Finding.mirrored(given) == {
        "group": "m",
        "versus": "f",
        "direction": "better",
        "difference": -1,
        "z": -2,
        "diff_low": -4,
        "diff_high": -3,
        "effect": -5,
        "effect_low": -7,
        "effect_high": -6,
        "low_equivalence": -9,
        "high_equivalence": -8,
        **{name: sides[f"{name}_versus"] for name in SIDES},
        **{f"{name}_versus": sides[name] for name in SIDES},
    }
    seed = seed_row("f", 100, 200, 150, 200)

    def rows(*verdicts):
        groups = [("f", "m"), ("m", "f"), ("f", "m")]
        made = [finding(verdict=word, group=a, versus=b) for word, (a, b) in zip(verdicts, groups, strict=False)]
        return [Row("localization", "sex", seed, one, "", "") for one in made]

    assert [row.ours for row in rows("disparity", "no disparity")] == [True, False]
    assert not Row("localization", "sex", seed, None, "", "").ours
    judged = [replace(row, metric="true_positive", attribute="race") for row in rows("disparity")]
    one = SimpleNamespace(rows=[*rows("disparity"), *judged], not_assessable={})
    other = SimpleNamespace(rows=judged, not_assessable={"true_positive": "no masks"})
    found, tested = (_table(metric, [one, other]) for metric in ("localization", "true_positive"))
    assert [(row[:2], row[2][0]["n"], row[2][1]["n"]) for row in found["rows"]] == [(("sex", "f"), "200", "–")]
    assert [(row[:2], row[2][0]["n"], row[2][1]["n"]) for row in tested["rows"]] == [(("race", "f"), "200", "–")]
    assert _two(rows("disparity", "disparity")) and not _two(rows("disparity"))
    assert not _two(rows("no disparity", "no disparity")) and not _two(rows("disparity", "no disparity"))


class Judge:
    """Finds every face and calls all of them masked, or none of them."""

    def __init__(self, word, name):
        self.word, self.name = word, name

    def __call__(self, images):
        return [Boxes([[4, 4, 24, 24]], [0.9], [self.word]) for _ in images]


def test_pictures_without_an_answer_are_told_first(tmp_path):
    class Fails(Judge):
        def __call__(self, images):
            if any(image[0, 0, 0] == 3 for image in images):
                raise ValueError("no")
            return super().__call__(images)

    run, found = assess(
        MaskData(people(12, sex=lambda i: "fm"[i // 6])), Fails("mask", "x"), tmp_path / "a", by=["sex"]
    )
    first, *_, positive, _, _, _ = (line for line in summary_lines(run, found) if not line.startswith(("  ", "note")))
    assert first == "evaluated           x on 12 pictures of few, 1 without an answer"
    assert positive.startswith("true positive rate  ")
    clear, none = seed_row("f", 100, 200, 150, 200), seed_row("m", 100, 200, 101, 200)
    cases = ((clear, "no disparity"), (none, "disparity"), (clear, "disparity"))
    sides = {"group": "f", "versus": "m"}
    rows = [Row("localization", "sex", seed, finding(verdict=word, **sides), "", "") for seed, word in cases]
    words = [line.split()[0] for line in summary_lines(run, replace(found, rows=rows)) if line.startswith("  ")]
    assert words == ["both", "audit", "published"], "what the audit finds comes first, the clearest before others"


def test_a_comparison_is_the_first_less_the_second(tmp_path):
    data = MaskData(people(40, sex=lambda i: "fm"[i // 20]))
    for folder, word in (("a", "mask"), ("b", "no_mask")):
        assess(data, Judge(word, "same"), tmp_path / folder, by=["sex"])
    found = compare(tmp_path / "a", tmp_path / "b", ["sex"])
    assert found.names == ("same (a)", "same (b)") and found.skipped == {}
    rows = {(row["metric"], row["group"]): row for row in table_rows(found)}
    assert list(rows) == [
        (metric, group) for metric in ("localization", "true_positive", "true_negative") for group in ("all", "f", "m")
    ]
    assert (rows["true_positive", "all"]["first"], rows["true_positive", "all"]["second"]) == (1, 0)
    assert (rows["true_positive", "f"]["difference"], rows["true_negative", "f"]["difference"]) == (1, -1)


def test_a_twin_that_was_not_found_has_no_confidence():
    data = people(3, base=lambda i: "t")
    said = {"00": Boxes([[4, 4, 24, 24]], [0.7], ["no_mask"]), "01": Boxes([[30, 30, 31, 31]], [0.6], ["mask"])}
    rows = _rows(SimpleNamespace(answers=lambda: said), data)
    assert [(row["m.localised"], row["m.confidence"], row["m.found_and_right"]) for row in rows] == [
        (1, 0.7, 1),
        (0, 0, 0),
    ]
    silent = {"02": Boxes([[4, 4, 24, 24]], [0.7])}
    (row,) = _rows(SimpleNamespace(answers=lambda: silent), data)
    assert row["m.found_and_right"] is None and row["attr.base"] == "t"
