"""First screens of unusual runs: nobody is failed, everybody is, predictions are missing, names are long."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.auditing import audit
from countenance.auditing.cautions import FURTHER_PERSON
from countenance.report import write_report
from countenance.report.album import Album
from countenance.report.cards.tables import finding_row
from countenance.report.charts.group_forests import group_forest
from countenance.report.charts.headline import headline_numbers
from countenance.report.charts.heat_maps import heat_maps
from countenance.report.findings import table_rows
from countenance.report.first_screen import FirstScreen, first_screen
from countenance.report.handle import handles
from countenance.report.members import GroupRows
from countenance.report.notes import first_notes, together
from countenance.report.open_questions import cannot_tell
from countenance.report.sentences import decision
from countenance.report.source import AuditSource, ReportSource, TableSource
from countenance.run import Run, audit_run, evaluate, store_audit
from countenance.tasks import load_task
from countenance.testing import DiscDetector, small_dataset, write_small_dataset

NUMBER = re.compile(r"\d[\d,.]*")


class Crashing(DiscDetector):
    """Raises for every picture of people with the darkest tone."""

    name = "crashing"

    def __init__(self) -> None:
        super().__init__()
        dark = [sample for sample in small_dataset(120) if sample.subjects[0].attributes["skin_tone"] == "monk_9"]
        self.dark = {sample.load().tobytes() for sample in dark}

    def __call__(self, images: Sequence[np.ndarray]) -> list[Any]:
        if any(image.tobytes() in self.dark for image in images):
            raise RuntimeError("no memory")
        return super().__call__(images)


class Blind(DiscDetector):
    name = "blind"

    def __call__(self, images: Sequence[np.ndarray]) -> list[Any]:
        return [self._brightest(image, 255) for image in images]


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Run]:
    data = write_small_dataset(tmp_path_factory.mktemp("discs") / "data", n=120)

    def make(model: Any) -> Run:
        out = tmp_path_factory.mktemp(model.name) / "run"
        run = evaluate(model, "face_localization", str(data), out=out, batch=1, max_failures=1.0)
        store_audit(run, audit_run(run, by=["skin_tone", "gender"], metrics=["recall@0.5"], min_n=5))
        return run

    return make


def screen(run: Run) -> FirstScreen:
    source = ReportSource.of(run)
    return first_screen(source, run.model_name, Album.of(source, "auto"))


def test_where_nobody_is_failed_faces_and_counts_are_there(run_of: Callable[[Any], Run]) -> None:
    first = screen(run_of(DiscDetector()))
    assert first.second == "All 120 pictures of 60 people are found."
    (row,) = first.failures.rows
    assert row.counts == "none of 120 missed" and len(row.pairs) == 6
    assert {tile.word for pair in row.pairs for tile in pair if tile} == {"found"}
    assert first.forest is not None
    assert all(bar.verdict != "not confirmed" for bar in first.forest.rows if bar.mark == "none")


def test_where_everybody_is_failed_the_mark_is_red_and_faces_are_shown(run_of: Callable[[Any], Run]) -> None:
    first = screen(run_of(Blind()))
    assert first.mark == "severe" and first.sentence.startswith("blind fails everybody: it misses 120 of 120")
    assert {miss.word for row in first.failures.rows for miss, _ in row.pairs} == {"missed"}


def test_pictures_without_a_prediction_are_shown_as_such(run_of: Callable[[Any], Run]) -> None:
    run = run_of(Crashing())
    failed = {str(row["sample"]) for row in run.failures().to_pylist()}
    first = screen(run)
    assert first.sentence.startswith("crashing gives no prediction for 40 of 40 people")
    assert first.failures.total == len(failed) == 40 and first.failures.unanswered
    shown = [miss for row in first.failures.rows for miss, _ in row.pairs]
    assert shown and all(miss.sample in failed and miss.word == "without a prediction" for miss in shown)
    hits = [hit for row in first.failures.rows for _, hit in row.pairs if hit is not None]
    assert hits and not {hit.sample for hit in hits} & failed
    assert first.forest is not None and first.forest.noun == "missing predictions"
    assert first.forest.rows[0].size == "40 of 40" and first.forest.rows[-1].verdict == ""


def first_audit() -> Any:
    return audit({"sex": ["f", "m"] * 30, "found": [1, 1, 1, 0] * 15}, by=["sex"], metrics=["found"])


def test_no_sentence_of_the_first_screen_has_more_than_three_numbers() -> None:
    rng = np.random.default_rng(1)
    rows: dict[str, list[Any]] = {"identity": [], "light": [], "gender": [], "found": []}
    for person in range(400):
        for shot in range(4):
            rows["identity"].append(f"p{person}")
            rows["light"].append("dim" if shot % 2 else "bright")
            rows["gender"].append("female" if person % 2 else "male")
            rows["found"].append(int(rng.random() < (0.75 if shot % 2 else 0.97)))
    first = first_screen(AuditSource(audit(rows, by=["light", "gender"], metrics=["found"]), None), "Haar")
    for text in (first.sentence, *re.split(r"(?<=\.) ", first.second)):
        assert len(NUMBER.findall(text)) <= 3, text
    assert re.fullmatch(r"Haar fails \d+ of 800 pictures of 400 people in dim light\.", first.sentence)


def test_the_decision_has_no_code_names(run: Run) -> None:
    text = decision(ReportSource.of(run))
    assert text.startswith("Somebody is served worse. ") and "faces found is" in text
    for code in ("recall@", "average_recall", "skin_tone", "age_group", "disparity", "insufficient", " = "):
        assert code not in text


def test_what_goes_together_is_one_line_in_words() -> None:
    note = (
        "{} goes with beard and img.size_px (Cramér's V 0.69), which predict recall@0.5, average_recall: "
        'by="{}", given="beard,img.size_px" holds that equal'
    )
    notes = [note.format("gender", "gender"), note.format("hair_colour", "hair_colour")]
    assert [pair.option for pair in together(notes)] == [
        "--by gender --given beard,img.size_px",
        "--by hair_colour --given beard,img.size_px",
    ]
    source = AuditSource(first_audit(), None)
    source.audit.notes[:] = [*notes, "four rows have no answer"]
    lines = first_notes(source, [], {})
    assert lines == [
        "four rows have no answer",
        "Gender goes with beard and size of the face: a gap by gender may come from that. "
        "The same holds for hair colour",
    ]


def test_a_small_group_is_not_told_to_the_thousand() -> None:
    rows: dict[str, list[Any]] = {"identity": [], "country": [], "found": []}
    for person in range(200):
        for shot in range(4):
            rows["identity"].append(f"p{person}")
            rows["country"].append("Mali" if person < 5 else "other")
            rows["found"].append(int(person >= 5 and (person + shot) % 40 > 0))
    first = first_screen(AuditSource(audit(rows, by=["country"], metrics=["found"]), None), "m")
    assert [line.more for line in (*first.who, *first.when)] == ["only 5 people: a gap is shown, its size is not"]


def test_a_page_of_long_names_has_words_in_whole(tmp_path: Path) -> None:
    value = "photographed by the wide-angle lens of the second-generation doorbell camera at dusk"
    rows = {"how_it_was_taken": [value, "indoors"] * 200, "found": [0, 1, 1, 1] * 100}
    page = ct.audit(rows, ["how_it_was_taken"], ["found"]).report(tmp_path / "page.html")
    assert Path(page).read_text(encoding="utf-8").count(value) >= 3


def test_the_report_of_a_run_without_gaps_has_a_face_and_a_count(run_of: Callable[[Any], Run], tmp_path: Path) -> None:
    page = write_report(run_of(DiscDetector()), tmp_path / "page.html").read_text(encoding="utf-8")
    first = page[page.index('class="first') : page.index('class="first-foot')]
    assert "<img" in first and "short-forest" in first and "none of 120" in first


def test_a_page_of_a_thousand_groups_stays_light(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    rows = {
        "identity": [f"p{place // 4}" for place in range(8000)],
        "site": [f"s{place % 1000:03d}" for place in range(8000)],
        "found": (random.random(8000) < 0.9).astype(int).tolist(),
    }
    page = Path(ct.audit(rows, ["site"], ["found"], adjust="holm").report(tmp_path / "page.html"))
    text = page.read_text(encoding="utf-8")
    assert page.stat().st_size <= 1_500_000 and text.count("<li class=") >= 1000
    assert "940 more groups of site" in text and "The page holds the first 250" in text
    assert (
        "<code>to_arrow</code>, or <code>--json</code> on the command line) hold all" in text
        and "findings.parquet" not in text
    )


def test_a_gap_of_a_metric_without_a_direction_is_listed_and_nobody_is_called_served_worse() -> None:
    rows = {
        "person_id": [f"p{i}" for i in range(600)],
        "age_group": ["61_100" if i % 3 == 0 else "18_30" for i in range(600)],
        "approved": [int(i % 3 != 0 or i % 2 == 0) for i in range(600)],
    }
    unnamed_way = ct.audit(rows, ["age_group"], ["approved"])
    assert unnamed_way.verdict == "disparity" and unnamed_way.findings[0].direction not in ("worse", "better")
    first = first_screen(AuditSource(unnamed_way, None), "The model")
    assert [line.text for line in first.who] == ["approved 100\u202f%, over 60 50\u202f%"]
    assert "none shows a difference" not in first.how_sure and "chance would produce" in first.how_sure
    assert first.forest is not None and "served worse" not in first.forest.note and "differs" in first.forest.note


def test_notes_of_an_audit_call_groups_and_metrics_as_the_page_does() -> None:
    rows = {
        "person_id": [f"p{i}" for i in range(300)],
        "skin_tone": ["monk_10" if i % 3 == 0 else "monk_2" for i in range(300)],
        "years": [30.0] * 300,
        "guess": [30.0 + (i % 7) * (2 if i % 3 == 0 else 1) for i in range(300)],
    }
    source = AuditSource(ct.audit(rows, ["skin_tone"], truth="years", pred="guess"), None)
    small = "error: the metric is strongly skewed and there are fewer than 40 people (skin_tone = monk_10)"
    source.audit.notes[:] = [
        f"{FURTHER_PERSON} (skin_tone = monk_10, absolute_error; skin_tone = monk_2, error)",
        small,
        "bias: which way is better is not known (the setting better says it)",
        "absolute_error: lower is better, as its name says (the setting better says otherwise)",
    ]
    assert first_notes(source, [], {"card": {"warning": "Rendered.", "real_people": True}}) == [
        "squared error: the metric is strongly skewed and there are fewer than 40 people (Monk 10 (darkest))",
        "bias: which way is better is not known (the setting better says it)",
        "absolute error: lower is better, as its name says (the setting better says otherwise)",
        "Rendered.",
        f"{FURTHER_PERSON} (Monk 10 (darkest), absolute error; Monk 2, squared error)",
    ]


def shares(wrong: float) -> AuditSource:
    """An audit of people of whom three attributes each are named; group b is served worse."""
    rng = np.random.default_rng(5)
    group = np.repeat(["a", "b"], 300)
    right = rng.binomial(3, np.where(group == "b", 1 - wrong - 0.1, 1 - wrong)) / 3
    found = audit({"g": group.tolist(), "correct": right.tolist()}, by=["g"], metrics=["correct"], better="higher")
    return AuditSource(found, load_task("attributes"))


def test_a_share_is_printed_in_percent_and_points_wherever_it_stands() -> None:
    source = shares(0.05)
    handle, forest = handles(source)[0], group_forest(source, source.metrics[0])
    assert handle.unit == "points" and all("points" in row.gap for row in handle.rows)
    assert forest is not None and all(row.value.endswith("%") for row in forest.rows)
    assert all("points" in row.difference for row in forest.rows)
    assert first_screen(source, "The model").forest.rows[-1].value.endswith("%")
    assert headline_numbers(source)[0].value.endswith("%")
    assert re.search(r"named right is [\d.]+\u202f% .* points lower", decision(source))
    for finding in source.audit.findings:
        (row,) = table_rows([finding], source)
        texts = [cell.text for cell in row.cells]
        assert texts[5].endswith("%") and texts[8].endswith("points"), "the table of all findings"
        assert finding_row(finding, source)[5].count("points") == 1, "the table of a paper"
    thin = source.audit.model_copy(
        update={"findings": [f.model_copy(update={"verdict": "insufficient evidence"}) for f in source.audit.findings]}
    )
    unsure = cannot_tell(AuditSource(thin, source.task)).unsure
    assert unsure and all("%" in open_one.estimate and "points" in open_one.seen for open_one in unsure)


def test_a_heat_map_prints_shares_as_the_forest_beside_it() -> None:
    rng = np.random.default_rng(5)
    groups = {"g": ["a"] * 300 + ["b"] * 300, "h": ["x", "y"] * 300}
    rows = groups | {"correct": (rng.binomial(3, 0.9, 600) / 3).tolist()}
    found = audit(rows, by=["g", "h"], metrics=["correct"], better="higher", depth=2)
    ((_, (drawn,)),) = heat_maps(AuditSource(found, load_task("attributes")))
    cells = [cell for _, line in drawn.rows for cell in line]
    assert len(cells) == 4 and all(cell.text.endswith("%") for cell in cells)
    assert drawn.best.endswith("%")


def test_a_model_that_fails_more_than_the_limit_of_shares_fails_everybody() -> None:
    assert first_screen(shares(0.3), "M").sentence.startswith("M fails everybody: it gets wrong 3")
    assert first_screen(shares(0.3), "M").mark == "severe"
    assert "everybody" not in first_screen(shares(0.05), "M").sentence


def test_means_without_hits_show_dots_for_the_worst_scores_and_sizes_in_their_own_units(tmp_path: Path) -> None:
    """A mean has no failures to count: dots say how much of the worst tenth is the worst group's."""
    rng = np.random.default_rng(4)
    rows = {
        "speaker": [f"s{i // 4}" for i in range(600)],
        "accent": np.repeat(["north", "south"], 300).tolist(),
        "wer": np.concatenate([rng.normal(0.3, 0.02, 300), rng.normal(0.1, 0.02, 300)]).tolist(),
    }
    for delta, verdict in ((0.05, "disparity"), (0.4, "none larger than 0.4")):
        result = ct.audit(rows, by=["accent"], metrics=["wer"], better="wer=lower", delta=delta)
        assert result.verdict == verdict
        north, south = first_screen(TableSource(result, None, rows), "The model").failures.dots
        assert north.counts.startswith("60 of 300 among the worst tenth") and south.counts.startswith("none of 300")
        text = re.sub(r"<[^>]+>", " ", Path(result.report(tmp_path / "page.html")).read_text(encoding="utf-8"))
        assert f"{delta:g} or more" in text and " points" not in text.partition("How sure")[2].partition("Method")[0]


def test_a_mean_of_shares_says_what_it_is_averaged_over_where_the_page_also_counts_pairs() -> None:
    """The pairs of a run of verification have another rate than the mean of its pictures."""
    rows = {"identity": [f"p{i // 2}" for i in range(80)], "genuine_accepted": [0.2, 0.4] * 40, "g": ["a", "b"] * 40}
    found = audit(rows, by=["g"], metrics=["genuine_accepted"], better="higher")
    first = first_screen(AuditSource(found, load_task("face_verification")), "dlib")
    assert first.sentence == "dlib fails everybody: it refuses 70\u202f% of true matches (average over pictures)."
    assert first.forest is not None and first.forest.noun == "true matches accepted (average over pictures)"


def test_a_range_of_numbered_tones_has_its_people() -> None:
    """FHIBE numbers its options; a range of them is written with "to", not with a dash."""
    tones = [f"{place}. [{tone}, {tone}, {tone}]" for place, tone in enumerate((60, 90, 120, 150))]
    rows = {"tone": tones * 50, "fit": [0.3, 0.3, 0.7, 0.7] * 50}
    source = TableSource(audit(rows, by=["tone"], metrics=["fit"], better="fit=higher"), None, rows)
    assert GroupRows(source).of("tone", f"{tones[0]} to {tones[1]}").sum() == 100
    dots = first_screen(source, "The model").failures.dots
    assert [row.counts.partition(" (")[0] for row in dots] == [
        "50 of 50 among the worst 50\u202f% of all scores",
        "50 of 150 among the worst 50\u202f% of all scores",
    ]


def test_equal_scores_are_not_the_worst_tenth() -> None:
    rows = {"side": ["left", "right"] * 60, "fit": [0.3] * 120}
    found = audit(rows, by=["side"], metrics=["fit"], better="fit=higher")
    assert first_screen(TableSource(found, None, rows), "The model").failures.dots == []
