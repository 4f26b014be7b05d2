"""The rules of the leaderboard at their edges: prizes, timings, names, intervals; no network, no challenge."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.suites.bias_bounty.drawn_tables import tables

from countenance.auditing.estimates import wilson
from countenance.auditing.ranking import Pair, Ranking
from countenance.data.adapters.bias_bounty_files import (
    ATTRIBUTES,
    CLASSES,
    ClassTable,
    Truth,
    predictions_text,
    read_labels,
)
from countenance.errors import InputError
from countenance.suites.bias_bounty import board as boards
from countenance.suites.bias_bounty import entry_runs
from countenance.suites.bias_bounty import rules as bounty
from countenance.suites.bias_bounty.board import BoardEntry, Rules
from countenance.suites.bias_bounty.counted_answers import counted_answers
from countenance.suites.bias_bounty.entry_runs import EntryRun, counted_timings
from countenance.suites.bias_bounty.prizes import award
from countenance.suites.bias_bounty.scoring import Draws, degrees_of_freedom, score_intervals, score_tables
from countenance.suites.bias_bounty.submissions import Handed, checked_name
from countenance.suites.bias_bounty.timing import Timing


def timing(passes: tuple[float, ...] = (1.0, 1.0, 1.0), **changes: Any) -> Timing:
    seconds, images = sorted(passes)[len(passes) // 2], 100
    known = {
        "entry": "e",
        "entry_sha256": "a",
        "images_sha256": "b",
        "images": images,
        "passes": passes,
        "cpu_passes": passes,
        "seconds": seconds,
        "cpu_seconds": seconds,
        "warm_up_images": 32,
        "images_per_second": images / seconds,
        "milliseconds_per_image": 1000 * seconds / images,
        "loading_seconds": 0.1,
        "opening_seconds": 0.1,
        "peak_memory_mb": 90.0,
        "threads": 1,
        "cores": 2,
        "machine": "m",
        "python": "3.11",
    }
    return Timing(**(known | changes))


def entry(name: str, measured: Timing | None = None, kind: str = "supervised", labels: str = "") -> BoardEntry:
    handed = Handed(kind=kind, labels_used=labels)  # type: ignore[arg-type]
    return BoardEntry(name, handed, None, timing=measured)  # type: ignore[arg-type]


def pair(better: str, worse: str, adjusted: float, difference: float = 0.5) -> Pair:
    return Pair(better, worse, difference, 0.1, 0.9, adjusted / 3, adjusted, adjusted < 0.05)


def prizes(scores: tuple[float, ...], *pairs: Pair, labels: str = "", unverified: str = "") -> dict[str, Any]:
    names = ("a", "b", "c", "d")[: len(scores)]
    ranks = tuple(1 + sum(other > score for other in scores) for score in scores)
    ranking = Ranking(names, scores, ranks, pairs, 0.05)
    entries = [replace(entry(name, labels=labels), verified=name not in unverified) for name in names]
    return {won.name: won for won in award(entries, {("private", "all"): ranking})}


def test_prizes_go_by_score_with_the_evidence_beside_them() -> None:
    won = prizes((9.0, 8.0, 7.0, 6.0), pair("a", "b", 0.3, 1.0), pair("a", "c", 0.01, 2.0), pair("a", "d", 0.01, 3.0))
    assert [won[name].winners for name in ("first", "second", "third")] == [("a",), ("b",), ("c",)]
    assert won["first"].why == "Score₂ 9.000; not shown to be better than b"
    assert won["second"].why == "Score₂ 8.000; -1.000 against a, adjusted p 0.300"
    assert won["best unsupervised"].winners == ()
    alone = prizes((9.0,))
    assert alone["first"].why == "Score₂ 9.000" and alone["second"].why == "1 entry was run here"


def test_equal_scores_share_a_prize() -> None:
    won = prizes((9.0, 9.0, 7.0), pair("a", "b", 1.0, 0.0), pair("a", "c", 0.01, 2.0))
    assert won["first"].winners == ("a", "b") and won["first"].line().startswith("first: a, b (shared); ")
    assert won["second"].winners == () and "shared above" in won["second"].why
    assert won["third"].winners == ("c",)


def test_an_unverified_entry_wins_nothing_and_stands_in_nobodys_way() -> None:
    won = prizes((9.0, 8.0), pair("a", "b", 0.01, 1.0), unverified="a")
    assert won["first"].winners == ("b",) and won["second"].winners == ()


def test_a_winner_that_uses_labels_says_so() -> None:
    won = prizes((9.0, 8.0), pair("a", "b", 0.01), labels="8 of each class")["first"]
    assert won.why.endswith("; a uses labels: 8 of each class") and "b uses labels" not in won.why


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threads": 2}, None),
        ({"threads": 3}, "3 threads on 2 cores"),
        ({"cpu_passes": (1.14,) * 3, "cpu_seconds": 1.14}, None),
        ({"cpu_passes": (1.16,) * 3, "cpu_seconds": 1.16}, "a pass of 1 s used 1.16 s of CPU with threads = 1"),
        ({"cpu_passes": (2.2,) * 3, "cpu_seconds": 2.2, "threads": 2}, None),
        ({"cpu_passes": (1.0,) * 2}, "3 passes, 2 CPU times, 100 images"),
        ({"images": 0}, "3 passes, 3 CPU times, 0 images"),
        ({"cpu_passes": (1.0, 0.0, 1.0)}, "a pass without a time above 0"),
        ({"passes": (1.0, math.inf, 1.0)}, "a pass without a time above 0"),
        ({"seconds": 1.00001}, "seconds is 1.00001, its passes give 1"),
        ({"seconds": 1.0000001}, None),
    ],
)
def test_numbers_that_contradict_each_other(changes: dict[str, Any], said: str | None) -> None:
    assert timing(**changes).contradictions() == ([] if said is None else [said])


def test_a_quarter_more_than_its_cpu_time_is_not_busy() -> None:
    assert timing(seconds=1.25).warning("x") == ""
    assert timing(seconds=1.26).warning("x").startswith("x took 1.3 times its CPU time")


def run_of(names: list[str], wrong: int = 0) -> EntryRun:
    classes = {name: [int(name == "age" and i < wrong) for i in range(len(names))] for name in ATTRIBUTES}
    return EntryRun(entry_sha256="a", images_sha256="b", names=tuple(names), classes=classes)


@pytest.mark.parametrize(("wrong", "counts"), [(1, True), (2, False)])
def test_one_answer_in_a_hundred_may_be_another(tmp_path: Path, wrong: int, counts: bool) -> None:
    names = [f"{i}.png" for i in range(100)]
    words = [{name: CLASSES[name][0] for name in ATTRIBUTES} for _ in names]
    (tmp_path / "holdout.csv").write_text(predictions_text(names, words))
    truth = Truth(read_labels(tmp_path / "holdout.csv"))
    if counts:
        table = counted_answers("mine", tmp_path / "holdout.csv", truth, run_of(names, wrong))
        assert table is not None and table.codes["age"].sum() == wrong  # the entry's own answers count
    else:
        with pytest.raises(InputError, match="its entry answers 2 of 100 images of the holdout otherwise"):
            counted_answers("mine", tmp_path / "holdout.csv", truth, run_of(names, wrong))


def test_a_timing_of_another_machine_earns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_runs, "machine_name", lambda: "here")
    monkeypatch.setattr(entry_runs.os, "cpu_count", lambda: 2)
    runs = {
        name: run_of(["x"]).model_copy(update={"timing": timing(machine=machine)})
        for name, machine in (("here", "here"), ("elsewhere", "other"))
    }
    counted, notes = counted_timings(runs)
    assert (
        list(counted) == ["here"] and "the timing of elsewhere is not used: it was made on another machine" in notes[0]
    )


def test_names_have_up_to_64_characters_and_200_bytes() -> None:
    assert checked_name("x" * 64) == "x" * 64 and checked_name("面" * 64) == "面" * 64
    assert checked_name("a.b_c-d 1") == "a.b_c-d 1" and checked_name("1a") == "1a"
    for name in ("x" * 65, "𠀀" * 51, "a.", "_a", "a*"):
        with pytest.raises(InputError):
            checked_name(name)
    assert len(("𠀀" * 50).encode()) == 200 and checked_name("𠀀" * 50)


def test_intervals_end_where_scores_do() -> None:
    for right in (0.02, 0.98):
        truth, said = tables(60, right)
        score = score_tables(Truth(truth), said, Draws(replicates=200))
        for one in score.attributes.values():
            assert 0 <= one.disparity.low <= one.disparity.value <= one.disparity.high <= 1
        assert 0 <= score.first.low <= score.score1 <= score.first.high <= bounty.MAXIMUM


def test_one_person_alone_has_no_interval() -> None:
    truth, said = tables(1, 1.0)
    sums = bounty.class_sums(truth.codes, said.codes, np.zeros(1, np.int64))
    assert all(math.isnan(bound) for interval in score_intervals(sums, Draws()) for bound in interval)
    many = bounty.class_sums(*(table.codes for table in tables(40, 0.5)), np.arange(40))
    assert degrees_of_freedom(many) == pytest.approx(39)  # people with the same number of labels
    assert degrees_of_freedom(np.concatenate([many, 100 * many[:1]])) < 5  # one with nearly all of them


def test_the_faces_alone_are_scored_without_the_known_others() -> None:
    truth, said = tables(200, 0.7)
    outside = truth.names[:50]
    whole = score_tables(Truth(truth, nonfaces=outside), said, Draws(replicates=100))
    kept = {name: codes[50:] for name, codes in truth.codes.items()}
    apart = score_tables(Truth(ClassTable(truth.names[50:], kept)), said, Draws(replicates=100))
    assert whole.faces_alone == pytest.approx(apart.score1) and whole.score1 != pytest.approx(apart.score1)
    assert math.isnan(apart.faces_alone)


def test_the_private_score_is_multiplied_with_its_interval() -> None:
    truth, said = tables(120, 0.6)
    score = score_tables(Truth(truth), said, Draws(replicates=100))
    one = BoardEntry("x", Handed(kind="supervised"), score, private=score, efficiency=1.2)
    second = one.score("private")
    assert second is not None and second.name == "Score₂"
    assert (second.value, second.low, second.high) == pytest.approx(
        [1.2 * value for value in (score.score1, score.first.low, score.first.high)]
    )
    assert one.score("public") == score.first and BoardEntry("x", one.handed, score).score("private") is None


def test_notes_name_what_was_not_timed() -> None:
    few = [entry(f"e{i}", timing()) for i in range(9)]
    told = boards._notes([*few, entry("without")], Rules())
    assert any("9 timed entries: with fewer than 10 the top 10 % is empty" in note for note in told)
    assert not any("fewer than 10" in note for note in boards._notes([*few, entry("ten", timing())], Rules()))
    assert any(note.startswith("1 timed entry: ") for note in boards._notes(few[:1], Rules()))
    claims = BoardEntry("fast", few[0].handed, None, timing=timing(), claimed=timing((0.4,) * 3))  # type: ignore[arg-type]
    assert any("fast claims 4 ms an image; 10 ms were measured" in note for note in boards._notes([claims], Rules()))
    half = BoardEntry("fair", few[0].handed, None, timing=timing(), claimed=timing((0.5,) * 3))  # type: ignore[arg-type]
    assert not any("claims" in note for note in boards._notes([half], Rules()))
    assert boards._notes([], Rules(strict_rubric=True))[-1].startswith("strict rubric")


def test_a_class_has_wilsons_interval_on_its_effective_rows() -> None:
    truth, said = tables(400, 0.7)
    score = score_tables(Truth(truth), said, Draws(replicates=100)).attributes["gender"]
    n = score.class_rows["male"]
    assert n == int((truth.codes["gender"] == CLASSES["gender"].index("male")).sum())
    k = round(score.per_class["male"] * n)
    assert score.class_interval("male") == pytest.approx(wilson(k, n), abs=0.01)  # every row is a person of its own
    doubled = replace(score, design_effect=4 * score.design_effect)
    (low, high), (wider, higher) = score.class_interval("male"), doubled.class_interval("male")
    assert higher - wider == pytest.approx(2 * (high - low), rel=0.05)


def test_the_results_of_a_run_name_every_number_once() -> None:
    truth, said = tables(200, 0.7)
    plain = [one.name for one in score_tables(Truth(truth), said, Draws(replicates=100)).results()]
    each = [f"{what} of {name}" for what in ("accuracy", "disparity") for name in ATTRIBUTES]
    assert plain == ["Score₁", *each, *(f"confusion of {name}" for name in ATTRIBUTES)]
    outside = score_tables(Truth(truth, nonfaces=truth.names[:60]), said, Draws(replicates=100))
    found = {one.name: one for one in outside.results()}
    assert set(found) - set(plain) == {"randomness multiplier", *(f"randomness of {name}" for name in ATTRIBUTES)}
    assert found["randomness multiplier"].value == outside.multiplier and found["randomness multiplier"].n == 60
    for name, one in outside.attributes.items():
        assert found[f"randomness of {name}"].note == ("passed" if one.randomness.passed else "failed")


@pytest.mark.parametrize("outside", [0, 1])
def test_one_non_face_makes_randomness_applicable(outside: int) -> None:
    truth, said = tables(60, 0.7)
    score = score_tables(Truth(truth, nonfaces=truth.names[:outside]), said, Draws(replicates=100))
    told = score.to_json()["randomness"]
    assert (told["applicable"], told["nonfaces"]) == (outside > 0, outside)


def test_a_single_row_counts_as_independent() -> None:
    truth, said = tables(1, 1.0)
    score = score_tables(Truth(truth), said, Draws(replicates=100))
    assert [one.design_effect for one in score.attributes.values()] == [1.0, 1.0, 1.0]


def test_only_of_the_holdout_the_non_faces_are_known(tmp_path: Path) -> None:
    words = {name: CLASSES[name][0] for name in ATTRIBUTES}
    for split in ("test", "holdout"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "labels.csv").write_text(predictions_text(["a.png", "b.png"], [words, words]))
        assert Truth.of_split(tmp_path, split).nonfaces == ()
        (tmp_path / split / "nonfaces.txt").write_text("b.png\n")
    assert Truth.of_split(tmp_path, "test").nonfaces == ()
    assert Truth.of_split(tmp_path, "holdout").nonfaces == ("b.png",)


def test_the_interval_of_an_accuracy_rests_on_every_labelled_row() -> None:
    truth, said = tables(400, 0.7)
    codes = {name: np.where(np.arange(400) < 100, -1, known) for name, known in truth.codes.items()}
    score = score_tables(Truth(ClassTable(truth.names, codes)), said, Draws(replicates=100))
    for name, one in score.attributes.items():
        right = int((codes[name] == said.codes[name]).sum())
        assert one.accuracy.n == 300 and one.accuracy.value == right / 300
        assert (one.accuracy.low, one.accuracy.high) == pytest.approx(wilson(right, 300), abs=0.003)
