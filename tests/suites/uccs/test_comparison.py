"""Many submissions: paired differences and one page."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from challenge_files import write_truth, write_v2

from countenance.suites.uccs import evaluate_detector
from countenance.suites.uccs.comparison import compare


def crowd(folder, rates, images=120):
    """A protocol, and a file for each rate: so many of the faces are found, the same hard ones missed by all."""
    draw = random.Random(4)
    box = (10.0, 10.0, 40.0, 40.0)
    truth = [(f"{k:03}.jpg", k % 9 + 1, box) for k in range(images)]
    data = write_truth(folder / "data", truth)
    hard = [draw.random() for _ in truth]
    alarms = [(f"{k:03}.jpg", (200.0, 200.0, 20.0, 20.0), draw.random() * 0.5, []) for k in range(images)]
    files = []
    for n, rate in enumerate(rates):
        hits = [
            (name, box, 0.4 + 0.5 * draw.random(), []) for (name, _, _), h in zip(truth, hard, strict=True) if h < rate
        ]
        files.append(write_v2(folder / f"{n}.txt", hits + alarms))
    return data, files


def test_the_better_one_is_first_and_equal_ones_share_their_rank(tmp_path):
    data, files = crowd(tmp_path, [0.9, 0.6, 0.6])
    files[2].write_bytes(files[1].read_bytes())
    found = evaluate_detector(data, files, labels=["good", "bad", "same"])
    for one in compare(found, [10, 50], rounds=200):
        assert one.ranking.names[0] == "good" and one.ranking.ranks == (1, 2, 2)
        pair = one.ranking.pair("bad", "same")
        assert pair.difference == 0 and not pair.decided
        rates = dict(zip(one.ranking.names, one.ranking.estimates, strict=True))
        for label, evaluation in zip(["good", "bad"], found, strict=False):
            negatives = np.sort(evaluation.negatives)[::-1]
            threshold = negatives[int(one.target) - 1]
            assert rates[label] == np.mean(evaluation.units >= threshold)


def test_the_interval_of_a_difference_is_narrower_than_of_either_rate(tmp_path):
    data, files = crowd(tmp_path, [0.7, 0.6])
    (one,) = compare(evaluate_detector(data, files, labels=["a", "b"]), [100], rounds=300)
    (pair,) = one.ranking.pairs
    alone = 2 * 1.96 * np.sqrt(2 * 0.65 * 0.35 / 120)
    assert pair.high - pair.low < 0.8 * alone and pair.low < pair.difference < pair.high


def test_several_files_have_one_page_that_leads_to_each(command, tmp_path):
    data, files = crowd(tmp_path, [0.9, 0.5])
    options = ("-d", data, "-r", *files, "-l", "<b>mine</b>", "theirs", "--report", "page.html", "--json", "o.json")
    code, out, err = command("evaluate-detector", *options, "--protocol-version", 2)
    assert code == 0, err
    page = Path("page.html").read_text()
    assert 'href="page-1.html"' in page and 'href="page-2.html"' in page and "<b>mine</b>" not in page
    assert Path("page-2.html").exists() and "− theirs at" in out
    (first, *_) = json.loads(Path("o.json").read_text())["comparison"]
    assert first["pairs"][0]["better"] == "<b>mine</b>"


def test_files_without_false_alarms_are_compared_too(tmp_path):
    data, files = crowd(tmp_path, [0.9, 0.5], images=30)
    for file in files:
        file.write_text("".join(line + "\n" for line in file.read_text().splitlines() if ",200.0," not in line))
    found = evaluate_detector(data, files, labels=["a", "b"])
    assert compare(found, rounds=10) == []
    (one,) = compare(found, [1], rounds=50)
    assert one.ranking.estimates[0] == pytest.approx(found[0].hits / found[0].total)
