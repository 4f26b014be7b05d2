"""`score` on files: the contract's JSON, unlabelled rows, empty classes, non-faces, intervals."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from countenance.cli import bias_bounty
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, COLUMNS, Truth
from countenance.errors import InputError
from countenance.suites.bias_bounty.pairing import compare_predictions, read_pair, score_difference
from countenance.suites.bias_bounty.printing import against_lines, score_lines
from countenance.suites.bias_bounty.scoring import Draws, score_files

POWERS = {"skin_tone": (10, 5), "age": (4, 2), "gender": (2, 1)}


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def random_files(folder: Path, n: int, seed: int, right: float = 0.6, empty: float = 0.15) -> tuple[Path, Path]:
    rng = np.random.default_rng(seed)
    truth, said = [], []
    for i in range(n):
        label, answer = {"name": f"i{i}.png"}, {"name": f"i{i}.png"}
        for name in ATTRIBUTES:
            word = str(rng.choice(CLASSES[name]))
            label[name] = "" if rng.random() < empty else word
            answer[name] = word if rng.random() < right else str(rng.choice(CLASSES[name]))
        truth.append(label)
        said.append(answer)
    rng.shuffle(said)  # type: ignore[arg-type]
    return write_rows(folder / "labels.csv", truth), write_rows(folder / "preds.csv", said)


def by_hand(labels: Path, predictions: Path) -> tuple[dict[str, float], dict[str, float], float]:
    """The same scores with dictionaries alone."""
    with labels.open() as a, predictions.open() as b:
        truth = list(csv.DictReader(a))
        said = {row["name"]: row for row in csv.DictReader(b)}
    acc, disp, total = {}, {}, 0.0
    for name, (weight, power) in POWERS.items():
        known = [row for row in truth if row[name]]
        right = [row[name] == said[row["name"]][name] for row in known]
        acc[name] = sum(right) / len(right)
        shares = []
        for word in {row[name] for row in known}:
            own = [ok for ok, row in zip(right, known, strict=True) if row[name] == word]
            shares.append(sum(own) / len(own))
        disp[name] = max(shares) - min(shares)
        total += weight * acc[name] * (1 - disp[name] ** power)
    return acc, disp, total


@pytest.mark.parametrize("seed", range(4))
def test_the_json_holds_what_counting_by_hand_gives(tmp_path: Path, seed: int) -> None:
    labels, predictions = random_files(tmp_path, 400, seed)
    out = tmp_path / "out.json"
    bias_bounty.score(labels=[str(labels)], predictions=predictions, json=out, name="x", replicates=200, seed=0)
    found = json.loads(out.read_text())
    acc, disp, total = by_hand(labels, predictions)
    for name in ATTRIBUTES:
        assert found["accuracy"][name] == pytest.approx(acc[name], abs=1e-12)
        assert found["disparity"][name] == pytest.approx(disp[name], abs=1e-12)
        low, high = found["intervals"]["accuracy"][name]
        assert low < found["accuracy"][name] < high
    assert found["score1"] == pytest.approx(total, abs=1e-12)
    assert set(found["randomness"]) >= {"p", "passed", "multiplier"}
    assert found["randomness"]["p"] == dict.fromkeys(ATTRIBUTES)
    assert found["randomness"]["multiplier"] == 1


def test_the_submission_has_the_quickstarts_fields(tmp_path: Path) -> None:
    labels, predictions = random_files(tmp_path, 60, 1)
    said = score_files(labels, predictions, replicates=200).submission("mine")
    assert said["submission_name"] == "mine"
    assert set(said["metrics"]) == {"accuracy", "disparity"}
    assert said["score"] == said["countenance"]["score1"]


def test_a_class_without_truth_rows_is_named(tmp_path: Path) -> None:
    rows = [{"name": f"{i}", "skin_tone": "monk_1", "gender": "male", "age": "0_17"} for i in range(5)]
    path = write_rows(tmp_path / "labels.csv", rows)
    found = score_files(path, path, replicates=200)
    assert found.attributes["gender"].left_out == ["female"]
    assert found.disparity["gender"] == 0
    assert any("no truth rows of 18_30" in line for line in score_lines(found))


def test_an_attribute_without_any_label_gives_null_and_the_others_keep_their_intervals(tmp_path: Path) -> None:
    labels, predictions = random_files(tmp_path, 60, 2)
    with labels.open() as stream:
        rows = [row | {"gender": ""} for row in csv.DictReader(stream)]
    write_rows(labels, rows)
    out = tmp_path / "o.json"
    bias_bounty.score(labels=[str(labels)], predictions=predictions, json=out, name="x", replicates=200, seed=0)
    found = json.loads(out.read_text())
    assert found["accuracy"]["gender"] is None
    assert found["score1"] is None
    assert None not in found["intervals"]["accuracy"]["age"]


def test_non_faces_need_no_labels_but_answers(tmp_path: Path) -> None:
    labels, predictions = random_files(tmp_path, 60, 3)
    with predictions.open() as stream:
        rows = list(csv.DictReader(stream))
    tones = CLASSES["skin_tone"] * 10
    extra = [{"name": f"n{i}", "skin_tone": tone, "gender": "male", "age": "0_17"} for i, tone in enumerate(tones)]
    write_rows(predictions, rows + extra)
    with pytest.raises(InputError, match="extra names: 100"):
        score_files(labels, predictions)
    nonfaces = tmp_path / "nonfaces.txt"
    nonfaces.write_text("".join(f"{row['name']}\n" for row in extra))
    found = score_files(labels, predictions, nonfaces, replicates=200)
    assert found.attributes["skin_tone"].randomness.too_even
    assert found.attributes["gender"].randomness.passed is False
    assert found.multiplier == 1.3
    text = "\n".join(score_lines(found))
    assert "85.7%" in text
    assert "too even" in text
    nonfaces.write_text("nobody\n")
    with pytest.raises(InputError, match="missing names: 1"):
        score_files(labels, predictions, nonfaces)


def test_pictures_of_one_person_widen_the_interval(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth, said, who = [], [], []
    for person in range(60):
        right = rng.random() < 0.5  # a person is right on all four pictures or on none
        for shot in range(4):
            name = f"{person}_{shot}"
            truth.append({"name": name, "skin_tone": f"monk_{person % 10 + 1}", "gender": "male", "age": "0_17"})
            tone = person % 10 if right else (person + 1) % 10
            said.append({"name": name, "skin_tone": f"monk_{tone + 1}", "gender": "male", "age": "0_17"})
            who.append((name, f"p{person}"))
    labels, predictions = write_rows(tmp_path / "labels.csv", truth), write_rows(tmp_path / "p.csv", said)
    alone = score_files(labels, predictions)
    (tmp_path / "identities.csv").write_text("name,identity\n" + "".join(f"{a},{b}\n" for a, b in who))
    together = score_files(labels, predictions)
    tones = [score.attributes["skin_tone"] for score in (alone, together)]
    widths = [tone.accuracy.high - tone.accuracy.low for tone in tones]
    assert together.clusters == 60
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.15)
    assert tones[1].design_effect == pytest.approx(4, rel=0.05)
    assert tones[1].fair[0] > tones[0].fair[0]


@pytest.mark.slow
def test_the_intervals_cover() -> None:
    from countenance.data.adapters.bias_bounty_files import ClassTable
    from countenance.suites.bias_bounty.rules import CLASS_COUNTS
    from countenance.suites.bias_bounty.scoring import score_tables

    rng = np.random.default_rng(7)
    names = tuple(str(i) for i in range(400))
    covered = 0
    for trial in range(100):
        truth = {name: rng.integers(0, k, 400) for name, k in CLASS_COUNTS.items()}
        right = {name: rng.random(400) < 0.7 for name in CLASS_COUNTS}
        said = {name: np.where(right[name], truth[name], (truth[name] + 1) % k) for name, k in CLASS_COUNTS.items()}
        tables = [ClassTable(names, codes) for codes in (truth, said)]
        age = score_tables(Truth(tables[0]), tables[1], Draws(replicates=300, seed=trial)).attributes["age"].accuracy
        covered += age.low <= 0.7 <= age.high
    assert 0.89 <= covered / 100 <= 0.99


def test_a_difference_is_that_of_the_scores_and_nothing_against_itself(tmp_path: Path) -> None:
    labels, good = random_files(tmp_path, 300, 1, right=0.8)
    bad = write_rows(tmp_path / "bad.csv", _worsened(good, 0.5))
    one, two = score_files(labels, good).score1, score_files(labels, bad).score1
    truth = Truth.read(labels)
    found = score_difference(truth, read_pair(truth, good, bad))
    assert found.difference == pytest.approx(one - two, abs=1e-12)
    assert found.estimate_a == pytest.approx(two, abs=1e-12)
    assert 0 < found.low < found.difference < found.high
    same = score_difference(truth, read_pair(truth, good, good))
    assert (same.difference, same.low, same.high) == (0, 0, 0)


def test_the_pairing_narrows_the_interval_of_a_difference(tmp_path: Path) -> None:
    labels, good = random_files(tmp_path, 300, 2, right=0.6)
    near = write_rows(tmp_path / "near.csv", _worsened(good, 0.03))
    alone = score_files(labels, good).first
    truth = Truth.read(labels)
    found = score_difference(truth, read_pair(truth, good, near))
    assert found.high - found.low < alone.high - alone.low


def test_against_other_predictions_is_the_general_comparison(tmp_path: Path) -> None:
    """The old entry is worse for one tone only: that is what the comparison says."""
    labels, good = random_files(tmp_path, 800, 4, right=0.9)
    truth = Truth.read(labels)
    rows = _worsened(good, 0.0)
    said = dict(zip(truth.labels.names, truth.labels.codes["skin_tone"].tolist(), strict=True))
    for row in rows:
        if said[row["name"]] == 9:
            row["skin_tone"] = "monk_1"
    bad = write_rows(tmp_path / "bad.csv", rows)
    found = compare_predictions(truth, read_pair(truth, bad, good))
    assert found is not None and (found.a, found.b) == ("preds.csv", "bad.csv")
    assert found.change("correct_skin_tone", "skin_tone", "monk_10").verdict == "worse"
    assert "worse for skin_tone = monk_10" in found.decisions[0]
    assert found.change("correct_age").difference == 0
    lines = against_lines(score_difference(truth, read_pair(truth, bad, good)), found)
    assert lines[0].startswith("difference -") and lines[0].endswith("Score₁ is worse") and len(lines) == 4


def _worsened(predictions: Path, share: float) -> list[dict[str, str]]:
    rng = np.random.default_rng(9)
    with predictions.open() as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        for name in ATTRIBUTES:
            if rng.random() < share:
                row[name] = str(rng.choice(CLASSES[name]))
    return rows


def test_labels_without_a_single_label_are_scored_as_not_measured(tmp_path: Path) -> None:
    labels, predictions = random_files(tmp_path, 20, 3, empty=1.0)
    found = score_files(labels, predictions)
    assert found.to_json()["labelled"] == dict.fromkeys(ATTRIBUTES, 0)
    assert "not measured: no row has a label of skin tone, age, gender" in score_lines(found)[0]
    truth = Truth.read(labels)
    assert compare_predictions(truth, read_pair(truth, predictions, predictions)) is None
    assert "not measured" in against_lines(score_difference(truth, read_pair(truth, predictions, predictions)), None)[0]


def test_a_labelled_non_face_is_noted(tmp_path: Path) -> None:
    labels, predictions = random_files(tmp_path, 20, 4, empty=0.0)
    (tmp_path / "nonfaces.txt").write_text("i3.png\n")
    found = score_files(labels, predictions, tmp_path / "nonfaces.txt")
    assert any("1 of 1 non-faces have labels (such as i3.png)" in line for line in score_lines(found))


def test_images_without_an_identity_are_noted(tmp_path: Path) -> None:
    labels, predictions = random_files(tmp_path, 20, 5, empty=0.0)
    (tmp_path / "identities.csv").write_text("name,identity\n" + "".join(f"i{i}.png,p{i // 2}\n" for i in range(18)))
    found = score_files(labels, predictions)
    assert [note for note in found.notes if note.startswith("2 of 20 images have no identity")]
