"""Models that are fitted first: once per run, on arrays alone, in the program or in a worker; declining is no error."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import countenance as ct
from countenance.data.fit_input import FitContext, FitInput
from countenance.errors import CannotAnswer, InputError
from countenance.run.early_stop import Watch
from countenance.testing import small_dataset

MODULE = '''
import os
import numpy as np
import countenance as ct
from countenance.data.fit_input import FitContext, FitInput
from countenance.errors import CannotAnswer
from countenance.tasks.task import subject_row
from countenance.testing import small_dataset

def fit_input(dataset):
    seen = list(dataset)[:4]
    arrays = {"pictures": np.stack([sample.load() for sample in seen])}
    return FitInput(FitContext(arrays), frozenset(sample.id for sample in seen))

def score(sample, answer):
    row = subject_row(sample, sample.subjects[0])
    row["m.error"] = abs(answer.values["value"] - sample.load().mean())
    return [row]

BRIGHTNESS = ct.Task(
    name="brightness", question="How bright is the picture?", answer=ct.Scalars,
    metrics=(ct.Metric("error", "grey levels", "lower", headline=True, delta=1.0),),
    coerce=ct.Scalars.of, score=score, fit_input=fit_input,
)

class Mean:
    """Says for every picture the mean of those it was fitted on."""

    def fit(self, context):
        self.mean = float(context["pictures"].mean())
        context["pictures"][:] = 0
        with open(os.environ["FITS"], "a") as stream:
            stream.write(f"{len(context['pictures'])}\\n")
        return {"mean": self.mean}

    def __call__(self, images):
        return [self.mean for _ in images]

class Declines(Mean):
    def fit(self, context):
        raise CannotAnswer("pictures of one kind")

class Fails(Mean):
    def fit(self, context):
        raise ZeroDivisionError("no reason")

def data():
    return small_dataset(30)
'''


@pytest.fixture
def code(tmp_path: Path, monkeypatch) -> str:
    (tmp_path / "fitting_example.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FITS", str(tmp_path / "fits"))
    return str(tmp_path / "fitting_example.py")


def fits(folder: Path) -> list[str]:
    return (folder / "fits").read_text().split() if (folder / "fits").is_file() else []


def load(code: str, name: str):
    from countenance.loading import load_code

    return load_code("model", f"{code}:{name}")


@pytest.mark.parametrize("by_name", [True, False])
def test_a_model_is_fitted_once_per_run_and_never_on_what_it_is_asked_about(code, tmp_path, by_name):
    model = f"{code}:Mean" if by_name else load(code, "Mean")()
    run = ct.evaluate(model, f"{code}:BRIGHTNESS", f"{code}:data", out=tmp_path / "run", shard=8)
    assert fits(tmp_path) == ["4"], "26 images in four shards"
    names = set(run.scores()["sample"].to_pylist())
    assert len(names) == 26 and not names & {f"s{i:05d}" for i in range(4)} and run.manifest.dataset.skipped == 0
    expected = np.stack([sample.load() for sample in list(small_dataset(30))[:4]]).mean()
    assert run.fit_notes()["mean"] == pytest.approx(expected) and run.fit_notes()["seconds"] >= 0
    assert {answer.values["value"] for answer in run.answers().values()} == {run.fit_notes()["mean"]}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["answer"] == "Scalars"
    dataset_of_run = small_dataset(30)
    assert len(dataset_of_run[0].load()) and dataset_of_run[0].load().any(), "the model wrote on a copy"


def test_a_run_that_goes_on_fits_again_and_keeps_what_is_stored(code, tmp_path):
    arguments = {"out": tmp_path / "run", "shard": 8}
    first = ct.evaluate(f"{code}:Mean", f"{code}:BRIGHTNESS", f"{code}:data", **arguments)
    stored = (tmp_path / "run" / "answers" / "00000.parquet").read_bytes()
    marker = next((tmp_path / "run" / "shards").glob("00002*"))
    marker.unlink()
    (tmp_path / "run" / "scores.parquet").unlink()
    text: list[str] = []
    again = ct.evaluate(f"{code}:Mean", f"{code}:BRIGHTNESS", f"{code}:data", say=text.append, **arguments)
    assert again.scores().equals(first.scores()) and any("going on" in line or "damaged" in line for line in text)
    assert (tmp_path / "run" / "answers" / "00000.parquet").read_bytes() == stored
    assert set(fits(tmp_path)) == {"4"} and 2 <= len(fits(tmp_path)) <= 3


@pytest.mark.parametrize("by_name", [True, False])
def test_a_model_that_declines_fails_every_image_with_its_reason_and_the_run_is_complete(code, tmp_path, by_name):
    model = f"{code}:Declines" if by_name else load(code, "Declines")()
    run = ct.evaluate(model, f"{code}:BRIGHTNESS", f"{code}:data", out=tmp_path / "run")
    assert run.complete and run.manifest.failed == 26 and run.scores().num_rows == 0 and run.fit_notes() == {}
    rows = run.failures().to_pylist()
    assert {(row["kind"], row["reason"]) for row in rows} == {("declined", "pictures of one kind")}
    again = ct.evaluate(model, f"{code}:BRIGHTNESS", f"{code}:data", out=tmp_path / "run")
    assert again.complete and again.manifest.failed == 26


def test_a_fit_that_raises_is_one_sentence(code, tmp_path):
    for model in (f"{code}:Fails", load(code, "Fails")()):
        with pytest.raises(InputError, match=r"the model could not be fitted \(ZeroDivisionError: no reason\)"):
            ct.evaluate(model, f"{code}:BRIGHTNESS", f"{code}:data")


def test_a_task_that_fits_models_needs_a_dataset_that_is_read_whole(code, tmp_path):
    from countenance.data.manifest_writer import ManifestWriter

    manifest = ManifestWriter(str(tmp_path / "m"), small_dataset(6).card, partition=6).write(list(small_dataset(6)))
    with pytest.raises(InputError, match="needs a dataset that is read whole"):
        ct.evaluate(load(code, "Mean")(), f"{code}:BRIGHTNESS", manifest)


def test_what_a_model_is_fitted_on_is_a_copy_of_plain_arrays():
    context = FitContext({"a": np.arange(3)})
    copy = context.copied()
    copy["a"][:] = 9
    assert context["a"].tolist() == [0, 1, 2] and FitInput(context).seen == frozenset()


def test_declined_images_do_not_stop_a_run_and_other_failures_do():
    declined = [{"sample": f"{i}", "kind": "declined", "reason": "no"} for i in range(20)]
    watch = Watch(max_failures=0.05)
    watch.saw(0, declined)
    watch.finished(declined, 20)
    with pytest.raises(InputError, match="the first 10 images all failed"):
        watch.saw(0, [{**row, "kind": "model"} for row in declined[:10]])


def test_a_task_without_input_to_fit_leaves_the_model_alone(code):
    task = replace(load(code, "BRIGHTNESS"), fit_input=None)

    class Unfitted:
        def fit(self, context):
            raise AssertionError

        def __call__(self, images):
            return [float(image.mean()) for image in images]

    assert set(ct.evaluate(Unfitted(), task, small_dataset(8)).scores()["m.error"].to_pylist()) == {0.0}
    assert issubclass(CannotAnswer, Exception) and not issubclass(CannotAnswer, InputError)
