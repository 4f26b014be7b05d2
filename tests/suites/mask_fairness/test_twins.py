"""Twins: an effect that is there is found and measured, one that is not is not invented."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.answers import Boxes
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.errors import InputError
from countenance.suites.mask_fairness.twins import Effect, Effects, effect_lines, twins_audit

TONES = ("monk_1", "monk_5", "monk_10")
MASKS = ("none", "blue", "black")


def twins(bases: int = 30) -> Dataset:
    samples = []
    for i in range(bases):
        changes = [("none", "monk_1", "none")]
        changes += [("skin_tone", tone, "none") for tone in TONES[1:]]
        changes += [("mask", "monk_1", mask) for mask in MASKS[1:]]
        for change, tone, mask in changes:
            pixels = np.zeros((32, 32, 3), np.uint8)
            pixels[0, 0] = (i, TONES.index(tone), MASKS.index(mask))
            about = {"skin_tone": tone, "mask": mask, "masked": "no" if mask == "none" else "yes"}
            subject = Subject("0", f"twin{i}", face_box=np.array([4.0, 4, 24, 24]), attributes=about)
            samples.append(
                Sample(
                    f"t{i}_{tone}_{mask}", ArrayImage(pixels), 32, 32, (subject,), {"base": f"t{i}", "change": change}
                )
            )
    return Dataset(DatasetCard(name="twins", real_people=False), samples)


class Detector:
    """Loses half of the darkest faces, takes black masks for none, and is a little less sure of every mask."""

    name = "unfair"

    def __call__(self, images):
        answers = []
        for image in images:
            base, tone, mask = (int(value) for value in image[0, 0])
            if tone == 2 and base % 2:
                answers.append(Boxes(np.zeros((0, 4)), labels=()))
                continue
            label = "mask" if mask == 1 else "no_mask"
            answers.append(Boxes([[4, 4, 24, 24]], [0.9 - 0.1 * bool(mask) + base / 1000], [label]))
        return answers


def test_effects_are_found_with_their_size(tmp_path):
    effects = twins_audit(Detector(), tmp_path / "out", dataset=twins())
    by = {(e.question, e.finding.metric, e.finding.group, e.finding.versus): e.finding for e in effects.compared}
    tone = by["skin tone", "localised", "monk_1", "monk_10"]
    assert tone.n == 30 and tone.difference == pytest.approx(0.5) and tone.verdict == "disparity"
    assert by["skin tone", "localised", "monk_1", "monk_5"].difference == 0
    colour = by["mask", "found_and_right", "blue", "black"]
    assert abs(colour.difference) == 1 and colour.verdict == "disparity"
    sure = by["mask", "confidence", "none", "blue"]
    assert abs(sure.difference) == pytest.approx(0.1)
    with (tmp_path / "out" / "twins.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == len(effects.compared)
    text = "\n".join(effect_lines(effects))
    assert "skin tone:" in text and "mask:" in text and "on 30 pairs" in text


def test_colours_that_few_people_wear_are_compared_as_masks(tmp_path):
    one_each = twins().filter(
        lambda s: (
            s.attributes["change"] != "mask"
            or s.subjects[0].attributes["mask"] == MASKS[1 + int(s.attributes["base"][1:]) % 2]
        )
    )
    effects = twins_audit(Detector(), tmp_path / "out", dataset=one_each)
    sure = next(e.finding for e in effects.compared if (e.question, e.finding.metric) == ("mask", "confidence"))
    assert (sure.group, sure.versus, sure.n) == ("no", "yes", 30)
    assert sure.difference == pytest.approx(0.1)


def test_a_detector_that_does_not_care_shows_no_effect(tmp_path):
    class Fair:
        name = "fair"

        def __call__(self, images):
            return [Boxes([[4, 4, 24, 24]], [0.5 + int(image[0, 0, 0]) / 1000]) for image in images]

    effects = twins_audit(Fair(), tmp_path / "out", dataset=twins())
    assert not [e for e in effects.compared if e.finding.verdict == "disparity"]
    assert not [e for e in effects.compared if e.finding.metric == "found_and_right"]
    assert effects.constant["skin tone", "localised"] == (1.0, 90)
    assert "found: 1 in each of the 90 pictures, whatever was changed" in "\n".join(effect_lines(effects))


def test_pictures_that_are_no_twins_are_refused(tmp_path, people):
    with pytest.raises(InputError, match="has no twins"):
        twins_audit(Detector(), tmp_path / "out", dataset=people)


def test_two_tones_are_enough_to_compare(tmp_path):
    """And a question that varies nothing is left out."""
    tones = ("monk_1", "monk_10")
    two = twins().filter(lambda s: s.attributes["change"] != "mask" and s.subjects[0].attributes["skin_tone"] in tones)
    effects = twins_audit(Detector(), tmp_path / "out", dataset=two)
    assert {effect.question for effect in effects.compared} == {"skin tone"}
    (found,) = [effect.finding for effect in effects.compared if effect.finding.metric == "localised"]
    assert (found.group, found.versus, found.n, found.difference) == ("monk_1", "monk_10", 30, pytest.approx(0.5))


def test_effects_in_words_and_what_the_rest_can_exclude():
    def one(verdict, low, high, **more):
        given = {"metric": "localised", "group": "a", "versus": "b", "estimate": 1.0, "estimate_versus": 0.5, "n": 30}
        given |= {"difference": 0.5, "p_adjusted": 0.01, "verdict": verdict, "diff_low": low, "diff_high": high}
        return Effect("skin tone", SimpleNamespace(**given | more))

    nothing = float("nan")
    effects = [
        one("disparity", 0.2, 0.7, p_adjusted=0.04),
        one("disparity", 0.3, 0.7, group="c", p_adjusted=0.001),
        one("insufficient evidence", -0.25, 0.1),
        one("no disparity", -0.1, 0.125),
        one("untestable", nothing, nothing),
        one("no disparity", -0.9, 0.9, metric="confidence"),
    ]
    lines = effect_lines(Effects(effects, {("mask", "localised"): (1.0, 90)}))
    assert lines[0] == "skin tone: 2 of 6 paired comparisons show an effect"
    assert lines[1].startswith(
        "  found: c 1.000, b 0.500, difference +0.500 [+0.300, +0.700] on 30 pairs (adjusted p 0.001)"
    )
    assert lines[3] == "  otherwise the share of faces found changes by less than 0.250 (95 % interval)"
    assert lines[4:] == [
        "mask: 0 of 0 paired comparisons show an effect",
        "  found: 1 in each of the 90 pictures, whatever was changed",
    ]
