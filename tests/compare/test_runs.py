"""Runs: paired by sample and subject, refused when they are not comparable, changed samples shown or not."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from countenance.cli.app import run as run_command
from countenance.comparing import compare
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject, load_dataset
from countenance.errors import InputError
from countenance.report.comparison import write_comparison
from countenance.run import Run, evaluate
from countenance.testing import DiscDetector, write_small_dataset

TASK = "face_localization"


class Worse(DiscDetector):
    """Misses every fifth disc."""

    name = "worse-detector"

    def __call__(self, images):
        return [
            [] if int(image.sum()) % 5 == 0 else found
            for image, found in zip(images, super().__call__(images), strict=True)
        ]


class Stumbling(Worse):
    """Raises on some pictures."""

    name = "stumbling-detector"

    def __call__(self, images):
        if any(int(image.sum()) % 30 == 0 for image in images):
            raise ValueError("this picture is too much")
        return super().__call__(images)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    root = tmp_path_factory.mktemp("runs")
    data = write_small_dataset(root / "data", n=200)
    made = {"good": DiscDetector(), "worse": Worse(), "stumbling": Stumbling()}
    return {
        name: evaluate(model, TASK, data, out=root / name, batch=1, max_failures=0.5) for name, model in made.items()
    }


def test_runs_pair_by_sample_and_subject(runs) -> None:
    found = compare(runs["good"], runs["worse"], by=["skin_tone"])
    assert (found.a, found.b) == ("disc-detector", "worse-detector")
    assert found.settings["pair"] == ["sample", "subject"] and found.settings["rows"] == 200
    assert found.overall[0].metric == "recall@0.5" and found.overall[0].verdict == "worse"
    assert found.overall[0].estimate_a == 1.0 and found.overall[0].gained == 0
    assert found.overall[0].clusters == 100, "people are the unit"
    assert found.decision.startswith("recall@0.5: worse-detector is worse overall")


def test_images_that_one_model_failed_on_are_counted(runs) -> None:
    found = compare(runs["good"], runs["stumbling"], by=["skin_tone"])
    failed = runs["stumbling"].manifest.failed
    assert failed > 0 and found.unpaired[0]["unpaired"] == 0 and found.unpaired[0]["failed_elsewhere"] > 0
    missing = found.change("recall@0.5 (missing)")
    assert missing.estimate_a == 0 < missing.estimate_b and found.change("recall@0.5").missing > 0
    assert found.overall[0].n == 200 - failed


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        (("task",), "person_localization", "task person_localization where .* has face_localization"),
        (("decoder",), "another 1.0", "decoder another 1.0 where"),
        (("dataset", "fingerprint"), "0" * 64, r"data discs \(000000000000\) where"),
        (("options",), {"threshold": 0.9}, "options of the task threshold=0.9 where"),
    ],
)
def test_runs_that_are_not_comparable_are_refused_by_name(runs, tmp_path: Path, part, value, words) -> None:
    import shutil

    from countenance.run.store import RunStore

    shutil.copytree(runs["worse"].path, tmp_path / "other")
    manifest = json.loads((tmp_path / "other" / "run.json").read_text(encoding="utf-8"))
    inner = manifest
    for name in part[:-1]:
        inner = inner[name]
    inner[part[-1]] = value
    (tmp_path / "other" / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    RunStore(tmp_path / "other").seal()
    with pytest.raises(InputError, match=words):
        compare(runs["good"], tmp_path / "other", by=["skin_tone"])


def test_runs_and_tables_do_not_mix(runs) -> None:
    with pytest.raises(InputError, match="runs and tables together"):
        compare(runs["good"], {"sample": ["a"], "correct": [1]})


def test_changed_samples_are_shown_unless_they_are_real_people(runs, tmp_path: Path, monkeypatch) -> None:
    pair = [runs["good"], runs["worse"]]
    found = compare(*pair, by=["skin_tone"])
    page = write_comparison(found, pair, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "From right to wrong: Faces found" in page and page.count("data:image/jpeg") == 12 + 6
    first = page[: page.index('id="changed"')]
    assert first.count('class="tile failed"') == 6 and "Now missed" in first and "Now found" in first
    record = pair[0].manifest.dataset
    monkeypatch.setattr(record, "card", record.card.model_copy(update={"real_people": True}))
    hidden = write_comparison(found, pair, tmp_path / "hidden.html").read_text(encoding="utf-8")
    assert "data:image/jpeg" not in hidden and "real people" in hidden
    assert 'class="dot-failed"' in hidden[: hidden.index('id="changed"')]
    blurred = write_comparison(found, pair, tmp_path / "b.html", gallery="blurred").read_text(encoding="utf-8")
    assert "data:image/jpeg" in blurred and "are blurred" in blurred


def test_a_notebook_shows_the_people_of_whom_the_models_differ(runs, tmp_path: Path, monkeypatch) -> None:
    found = compare(runs["good"], runs["worse"], by=["skin_tone"])
    text = found._repr_html_()
    assert text.count('class="tile failed"') == 6 and "Now missed" in text and len(text) < 1_500_000
    assert "href=" not in text, "nothing in a notebook leads to parts of a page that is not there"
    assert found == found.of(None) and found.to_json() == found.of(None).to_json()
    assert 'class="tile' not in found.of(None)._repr_html_()
    gone = [Run(shutil.copytree(runs[name].path, tmp_path / name)) for name in ("good", "worse")]
    later = compare(*gone, by=["skin_tone"])
    shutil.rmtree(tmp_path / "worse")
    assert "worse-detector is worse" in later._repr_html_(), "a run that was removed since costs only the faces"
    record = runs["good"].manifest.dataset
    monkeypatch.setattr(record, "card", record.card.model_copy(update={"real_people": True}))
    hidden = found._repr_html_()
    assert "data:image/jpeg" not in hidden and 'class="dot-failed"' in hidden


def test_models_have_their_authors_names(runs) -> None:
    pair = []
    for name, code_name in (("good", "mtcnn"), ("worse", "haar")):
        opened = Run(runs[name].path)
        opened.manifest.model = opened.manifest.model.model_copy(update={"name": code_name})
        pair.append(opened)
    found = compare(*pair, by=["skin_tone"])
    assert (found.a, found.b) == ("MTCNN", "Haar")


def test_files_of_predictions_are_compared(runs, tmp_path: Path, capsys) -> None:
    data = runs["good"].path.parent / "data"
    rng = np.random.default_rng(0)
    for name, share in (("old", 0.5), ("new", 1.0)):
        lines = ["image,x0,y0,x1,y1,score"]
        for sample in load_dataset(data):
            if rng.random() < share:
                box = ",".join(f"{value:g}" for value in sample.subjects[0].face_box)
                lines.append(f"{sample.id},{box},0.9")
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = ["compare", str(tmp_path / "old.csv"), str(tmp_path / "new.csv"), "--by", "gender", "--quiet"]
    assert run_command([*asked, "--task", TASK, "--data", str(data)]) == 0
    assert "decision recall@0.5: new is better overall (+" in capsys.readouterr().out
    assert run_command([*asked, "--task", TASK]) == 2
    assert "need both --task and --data" in capsys.readouterr().err


def colours(images):
    """An embedding: what a picture's first pixels are."""
    return [image.reshape(-1)[:4].astype(float) + 1 for image in images]


def test_an_option_that_only_adds_results_keeps_runs_comparable(tmp_path: Path) -> None:
    """FHIBE asks for its validation rate, a plain run of face verification does not; their rows are the same."""
    rng = np.random.default_rng(0)
    samples = [
        Sample(
            f"s{i}",
            ArrayImage(rng.integers(0, 255, (8, 8, 3), np.uint8)),
            8,
            8,
            subjects=[Subject(f"s{i}", identity=f"p{i // 2}", attributes={"tone": "ab"[i // 2 % 2]})],
        )
        for i in range(80)
    ]
    data = Dataset(DatasetCard(name="faces"), samples)
    plain, fhibe, other = (
        evaluate(colours, "face_verification", data, out=tmp_path / name, options=options)
        for name, options in (("plain", {}), ("fhibe", {"validation_rate": "dot"}), ("other", {"fmr": 0.1}))
    )
    assert {change.difference for change in compare(plain, fhibe, by=["tone"]).overall} == {0.0}
    with pytest.raises(InputError, match=r"options of the task fmr=0.1 where .* has fmr=None: not comparable"):
        compare(plain, other, by=["tone"])
