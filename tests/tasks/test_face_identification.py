"""Open-set identification from embeddings to results."""

import json

import numpy as np
import pytest

import countenance as ct
from countenance.tasks.face_identification import FACE_IDENTIFICATION
from countenance.testing import reduced


def people(n: int, each: int, noise: float, seed: int = 0):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(n, 16))
    samples, answers = [], {}
    for i in range(n * each):
        who = i // each
        subject = ct.Subject(
            "0", f"p{who}", attributes={"tone": "ab"[who % 2], "role": "gallery" if i % each == 0 else ""}
        )
        sample = ct.Sample(f"s{i}", ct.ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4, (subject,))
        samples.append(sample)
        answers[sample.id] = FACE_IDENTIFICATION.check(centres[who] + noise * random.normal(size=16), sample)
    return samples, answers


def by_name(found):
    return {result.name: result for result in found.results}


def test_people_who_are_alike_to_themselves_alone_are_all_found():
    samples, answers = people(20, 4, 0.01)
    found = by_name(reduced(FACE_IDENTIFICATION.configured({"fpir": 0.1}), samples, answers))
    assert found["FNIR"].bound == "<" and found["FNIR"].value == pytest.approx(3 / 30)
    assert found["rank-1"].value == 1 and found["FPIR"].value <= 0.1
    assert found["FPIR"].n == 40 and found["FNIR"].n == 30
    assert {"FNIR by FPIR", "CMC", "FPIR by group", "threshold", "failure to enrol"} <= set(found)


def test_rates_are_those_of_the_rows():
    samples, answers = people(40, 3, 1.2)
    made = reduced(FACE_IDENTIFICATION.configured({"fpir": 0.05, "known": 0.4}), samples, answers)
    found, columns = by_name(made), made.columns
    assert found["FPIR"].value == pytest.approx(np.nanmean(columns["false_alarm"]))
    assert found["FNIR"].value == pytest.approx(1 - np.nanmean(columns["identified"]))
    assert found["rank-1"].value == pytest.approx(np.nanmean(columns["rank_1"]))
    assert not (~np.isnan(columns["identified"]) & ~np.isnan(columns["false_alarm"])).any()
    assert found["FNIR@FPIR=0.1"].low <= found["FNIR@FPIR=0.1"].value <= found["FNIR@FPIR=0.1"].high
    matrix = next(one for one in made.results if one.name == "FPIR by group" and one.attribute == "tone")
    assert np.nansum(np.array(matrix.values) * matrix.counts) == pytest.approx(np.nansum(columns["false_alarm"]))
    assert matrix.rows == ["a", "b"]


def test_a_probe_without_an_embedding_finds_nobody():
    samples, answers = people(10, 3, 0.01)
    answers["s1"] = FACE_IDENTIFICATION.check(None, samples[1])
    options = {"gallery": "role=gallery", "threshold": 0.9}
    made = reduced(FACE_IDENTIFICATION.configured(options), samples, answers)
    assert made.columns["identified"][1] == 0 and np.isnan(made.columns["identified"][0])
    assert by_name(made)["FNIR"].value == pytest.approx(1 / 20)
    assert any("no embedding" in note for note in made.notes)


@pytest.mark.parametrize(
    "options", [{"threshold": 0.5, "fpir": 0.1}, {"gallery": "role"}, {"known": 1.5}, {"pictures": 0}, {"fmr": 0.1}]
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ct.InputError):
        FACE_IDENTIFICATION.configured(options)


def test_the_results_are_json():
    samples, answers = people(12, 3, 0.5)
    from countenance.tasks.results import results_to_json

    made = reduced(FACE_IDENTIFICATION, samples, answers)
    assert all({"type", "name"} <= set(one) for one in json.loads(results_to_json(made.results)))
