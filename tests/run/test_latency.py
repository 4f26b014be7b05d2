"""The time of each image: measured one image at a time, stored with the rows, audited like any other metric."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import countenance as ct
from countenance.models.timing import TimedAnswer, TimedModel
from countenance.run.latency import with_latency
from countenance.run.verification import verify
from countenance.testing import DiscDetector, small_dataset


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that models set forward themselves, in seconds."""
    now = SimpleNamespace(time=0.0)
    monkeypatch.setattr("countenance.models.timing.time", SimpleNamespace(perf_counter=lambda: now.time))
    return now


class Slow:
    """Takes 12 to 15 ms for women and 2 to 5 ms for men, and ten seconds for the first picture of all."""

    name = "slow"

    def __init__(self, clock: SimpleNamespace) -> None:
        self.clock = clock
        self.sizes: list[int] = []

    def __call__(self, images):
        self.sizes.append(len(images))
        usual = (0.012 if images[0][0, 0, 0] % 2 else 0.002) + 0.001 * (int(images[0][0, 0, 1]) % 4)
        self.clock.time += 10 if len(self.sizes) == 1 else usual
        return DiscDetector()(images)


def marked_dataset(n: int = 96) -> ct.Dataset:
    """Discs whose first pixel is odd for women."""
    discs, samples = small_dataset(n), []
    for sample in discs:
        pixels = sample.load().copy()
        pixels[0, 0, 0] = sample.subjects[0].attributes["gender"] == "female"
        samples.append(ct.Sample(sample.id, ct.ArrayImage(pixels), 64, 64, sample.subjects))
    return ct.Dataset(discs.card, samples)


def test_times_are_measured_audited_and_gated(tmp_path: Path, clock: SimpleNamespace) -> None:
    model = Slow(clock)
    run = ct.evaluate(model, "face_localization", marked_dataset(), out=tmp_path / "run", timed=True)
    assert set(model.sizes) == {1} and len(model.sizes) == 97  # one at a time, the first one twice
    rows = run.scores().to_pylist()
    timed = [row for row in rows if row["m.latency_ms"] is not None]
    assert len(timed) == 96 and all(row["subject"] is None for row in timed)  # the rows about images
    for row in timed:  # the ten seconds of the first call are not in them
        assert 0 <= round(row["m.latency_ms"] - (12 if row["attr.gender"] == "female" else 2), 6) <= 3
    (metric,) = [one for one in run.manifest.metrics or () if one.name == "latency_ms"]
    assert metric.better == "lower" and run.manifest.batch == 1
    audit = run.audit(by=["gender"], metrics=["latency_ms"], delta={"latency_ms": 2}, adjust="holm")
    finding = next(one for one in audit.findings if one.group == "female")
    assert (
        audit.verdict == "disparity" and finding.difference == pytest.approx(10, abs=1) and finding.direction == "worse"
    )
    for most, passes in ((16, True), (11, False)):
        policy = {"rules": [{"latency": {"at_most": most, "quantile": 0.9}, "insufficient": "fail"}]}
        assert ct.gate(run, policy).passed is passes
    assert not verify(run.store).problems


def test_a_finished_timed_run_is_not_done_again(tmp_path: Path, clock: SimpleNamespace) -> None:
    lines: list[str] = []
    options = {"out": tmp_path / "run", "say": lines.append}
    for _ in range(2):
        ct.evaluate(Slow(clock), "face_localization", marked_dataset(8), timed=True, **options)
    assert "already complete, nothing to do" in lines[-1]
    untimed = ct.evaluate(Slow(clock), "face_localization", marked_dataset(8), **options)
    assert "held another run" in lines[-1] and "m.latency_ms" not in untimed.scores().column_names


def test_models_by_name_are_timed_in_their_worker(tmp_path: Path) -> None:
    data = small_dataset(6)
    run = ct.evaluate("countenance.testing:DiscDetector", "face_localization", data, out=tmp_path / "run", timed=True)
    times = [row["m.latency_ms"] for row in run.scores().to_pylist() if row["subject"] is None]
    assert len(times) == 6 and all(one > 0 for one in times)


def test_failed_images_have_no_time(tmp_path: Path) -> None:
    def fails(images, ids):
        if ids[0] == "s00003":
            raise ValueError("no")
        return DiscDetector()(images)

    run = ct.evaluate(fails, "face_localization", small_dataset(6), out=tmp_path / "run", timed=True)
    assert run.manifest.failed == 1 and len([row for row in run.scores().to_pylist() if row["subject"] is None]) == 5


def test_answers_are_kept_although_the_model_uses_its_arrays_again() -> None:
    shared = np.zeros((1, 4))

    def model(images):
        shared[0] = [0, 0, images[0][0, 0, 0] + 1, 9]
        return [{"boxes": shared}]

    answers = ct.evaluate(model, "face_localization", marked_dataset(6), timed=True).answers()
    assert {boxes.xyxy[0, 2] for boxes in answers.values()} == {1.0, 2.0}


def test_wrong_wishes(tmp_path: Path) -> None:
    data = small_dataset(4)
    with pytest.raises(ct.InputError, match="one at a time; leave batch=4 out"):
        ct.evaluate(DiscDetector(), "face_localization", data, timed=True, batch=4)
    run = ct.evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run")
    with pytest.raises(ct.InputError, match="saved predictions take no time"):
        ct.evaluate(f"answers:{run.place}", "face_localization", data, timed=True)


def test_the_clock_is_around_the_model_alone(clock: SimpleNamespace) -> None:
    def model(images):
        clock.time += 0.03
        return images

    timed = TimedModel(model)
    (first,) = timed([1], ["a"])
    clock.time += 5
    (second,) = timed([2], ["b"])
    assert first == TimedAnswer(1, pytest.approx(30)) and second == TimedAnswer(2, pytest.approx(30))
    people = [{"subject": "a"}, {"subject": "b"}]
    assert [row["m.latency_ms"] for row in with_latency(people, 4.0)] == [4.0, 4.0]
    assert with_latency(people, None) == people
