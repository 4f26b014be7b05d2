"""Notes of tasks that predict boxes: boxes in another reading, and models that confuse faces and people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.data.reading.box_readings import as_arguments
from countenance.metrics.reading_trials import (
    WORTH_TRYING,
    Localises,
    Scene,
    Trial,
    clearly_more,
    count_found,
    overlapping_half,
    reading_note,
    sampled,
    truth_note,
    try_readings,
)
from countenance.metrics.readings import CORNERS, Reading
from countenance.tasks.task import Context

TrueBox = Callable[[Subject], NDArray[np.float64] | None]


def face_box(subject: Subject) -> NDArray[np.float64] | None:
    """The true box of a person's face."""
    return subject.face_box


def person_box(subject: Subject) -> NDArray[np.float64] | None:
    """The true box of a person."""
    return subject.person_box


def run_remedy(trial: Trial) -> str:
    """The remedy for a model's boxes in another reading.

    >>> run_remedy(Trial(Reading("cxcywh", "rel"), CORNERS, 9, 10))
    'use box_format="cxcywh", units="rel", or let the model return x0, y0, x1, y1 in pixels'
    """
    return f"use {as_arguments(trial.predicted, truth=False)}, or let the model return x0, y0, x1, y1 in pixels"


@dataclass(frozen=True)
class Readings:
    """The readings of predictions and truth, the readings of the truth that may be tried, and the remedy."""

    predicted: Reading = CORNERS
    truth: Reading = CORNERS
    truths: tuple[Reading, ...] = ()
    remedy: Callable[[Trial], str] = run_remedy

    def numbers(self, scene: Scene, sample: Sample) -> Scene:
        """The corners of a scene as numbers in these readings, which need the size of the picture."""
        size = np.array([[float(sample.width), float(sample.height)]])
        truth, predicted = self.truth.numbers(scene.truth, size), self.predicted.numbers(scene.predicted, size)
        return Scene(truth, predicted, size[0, 0], size[0, 1])


@dataclass(frozen=True)
class Target:
    """What a task localises: faces or people, when they count as found, and what they might be confused with.

    Its `notes` are a task's notes: when few true boxes are found, they say what other readings of the boxes would find,
    or that the model finds the other kind.
    """

    true_box: TrueBox
    nouns: tuple[str, str]
    other: tuple[TrueBox, str, str]
    """The other kind of box (face or person): its true box, its plural, and the task that evaluates it."""
    localises: Localises = overlapping_half

    def notes(self, samples: Sequence[Sample], answers: Mapping[str, Boxes], context: Context) -> list[str]:
        """A sentence on boxes that look wrong, or nothing."""
        return self.notes_on(samples, answers, Readings(context.reading))

    def notes_on(self, samples: Sequence[Sample], answers: Mapping[str, Boxes], readings: Readings) -> list[str]:
        """The same as `notes`, for given readings of predictions and truth and the remedy for another reading."""
        known = boxed_scenes(self.true_box, samples, answers)
        boxed = {name: scene for name, scene in known.items() if len(scene.predicted)}
        if known and not boxed:
            return [f"no box was predicted in any of the {len(known)} pictures with {self.nouns[1]}"]
        used = count_found(sampled(list(boxed.values())), CORNERS, CORNERS, self.localises)
        if not boxed or used.share >= WORTH_TRYING:
            return []
        sized = (sample for sample in samples if sample.id in boxed and sample.width and sample.height)
        seen = [readings.numbers(boxed[sample.id], sample) for sample in sized]
        trials = try_readings(
            sampled(seen), readings.predicted, readings.truth, localises=self.localises, truths=readings.truths
        )
        total = sum(len(scene.truth) for scene in seen)
        where = "" if len(seen) == len(known) else " in pictures with a predicted box"
        note = None if readings.truths else truth_note(seen, readings.truth, self.nouns)
        note = note or self._other_thing(samples, answers, used)
        if note is None and seen:
            note = reading_note(trials, readings.remedy, nouns=self.nouns, total=total, where=where)
        return [] if note is None else [note]

    def _other_thing(self, samples: Sequence[Sample], answers: Mapping[str, Boxes], used: Trial) -> str | None:
        their_box, they, task = self.other
        seen = [scene for scene in boxed_scenes(their_box, samples, answers).values() if len(scene.predicted)]
        trial = count_found(sampled(seen), CORNERS, CORNERS, self.localises)
        if not clearly_more(trial.share, used.share):
            return None
        return (
            f"{used.localised} of {used.of} {self.nouns[1]} were localised, and the same boxes localise "
            f"{trial.localised} of {trial.of} {they}: does the model find {they}? {task} evaluates that"
        )


def boxed_scenes(true_box: TrueBox, samples: Sequence[Sample], answers: Mapping[str, Boxes]) -> dict[str, Scene]:
    """The corners of the boxes of each answered sample with true boxes, in pixels; no picture is opened for its size.

    >>> boxed_scenes(face_box, [], {})
    {}
    """
    scenes = {}
    for sample in samples:
        truth = [box for subject in sample.people if (box := true_box(subject)) is not None]
        if sample.id in answers and truth:
            scenes[sample.id] = Scene(np.array(truth), answers[sample.id].xyxy)
    return scenes


FACES = Target(face_box, ("face", "faces"), (person_box, "people", "person_localization"))
PEOPLE = Target(person_box, ("person", "people"), (face_box, "faces", "face_localization"))
