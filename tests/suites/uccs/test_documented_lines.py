"""Every command line that the two originals document, typed as it is written there."""

import json
import pickle
import shlex
from pathlib import Path

import pytest
import yaml
from challenge_models import scenes

from countenance.suites.uccs.made_data import make_data

VERSION_2 = (
    "./bin/baseline_detector.py -h",
    "./bin/baseline_detector.py --data-directory YOUR-DATA-DIRECTORY -vv --parallel 32",
    "./bin/baseline_detector.py --data-directory YOUR-DATA-DIRECTORY -vvv --display --debug 20",
    "./bin/baseline_detector.py --data-directory YOUR-DATA-DIRECTORY --verbose --verbose",
    "./bin/baseline_recognizer.py -h",
    "./bin/baseline_recognizer.py --data-directory YOUR-DATA-DIRECTORY -vv --parallel 32",
    "./bin/evaluate_detector.py -h",
    "./bin/evaluate_detector.py --data-directory YOUR-DATA-DIRECTORY --result-files "
    "results/UCCS-v2-detection-baseline-validation.txt --labels Baseline --log-x -vv",
    "./bin/evaluate_detector.py --data-directory YOUR-DATA-DIRECTORY --result-files "
    "results/UCCS-v2-recognition-baseline-validation.txt --labels Baseline --log-x -vv",
    "./bin/evaluate_recognizer.py -h",
    "./bin/evaluate_recognizer.py --data-directory YOUR-DATA-DIRECTORY --result-files "
    "results/UCCS-v2-recognition-baseline-validation.txt --labels Baseline --log-x -vv",
)
WITH_CARDS = (
    "./bin/baseline_detector.py --data-directory YOUR-DATA-DIRECTORY -vv --parallel 8 --gpus 0 1",
    "./bin/baseline_recognizer.py --data-directory YOUR-DATA-DIRECTORY -vv --parallel 2 --gpus 0 1",
)
CONFIG = "facerec/configs/baseline_config.yaml"
VERSION_3 = (
    "baseline_detection.py",
    f"baseline_detection.py {CONFIG} -h",
    f"baseline_detection.py {CONFIG} --data_directory YOUR-DATA-DIRECTORY --detection.results YOUR-FILE-PATH",
    "baseline_recognition.py",
    f"baseline_recognition.py {CONFIG} -h",
    f"baseline_recognition.py {CONFIG} --recognition.workers 1 --recognition.result_dir YOUR-RESULT-DIRECTORY",
    "baseline_recognition.py --disable-gallery",
    "scoring.py",
    f"scoring.py {CONFIG} -h",
    f"scoring.py {CONFIG} --scoring.gallery results/gallery_embeddings --scoring.probe YOUR-RESULT-DIRECTORY",
    "evaluation.py",
    f"evaluation.py {CONFIG} -h",
    "evaluation.py --tasks detection --eval.linear",
    f"evaluation.py {CONFIG} --tasks recognition --eval.recognition.files results/UCCS-scoring-baseline-validation.txt "
    "results/UCCS-scoring-baseline-validation.txt --eval.recognition.labels LABEL1 LABEL2",
)


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models in the place of the networks: these lines are about words."""
    from countenance.models import ModelSpec
    from countenance.suites.uccs.baseline.detection import Baseline

    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(Baseline, "face_detector", lambda asked, how: ModelSpec("challenge_models:Squares"))
    monkeypatch.setattr(Baseline, "face_embedding", lambda asked, how: ModelSpec("challenge_models:Colour"))


def typed(line: str) -> list[str]:
    script, *arguments = shlex.split(line)
    return [Path(script).name, *arguments]


@pytest.fixture
def version_2(command, monkeypatch):
    quick(monkeypatch)
    monkeypatch.delenv("DISPLAY", raising=False)
    make_data(scenes(), Path("YOUR-DATA-DIRECTORY"), 2)
    return command


def test_lines_of_version_2(version_2):
    for line in VERSION_2:
        code, out, err = version_2(*typed(line))
        assert code == 0, (line, err)
        assert ("Usage:" in out) == line.endswith(" -h"), line
    assert Path("UCCS-v2-FROC.pdf").is_file() and Path("UCCS-v2-DIR.pdf").is_file()


@pytest.mark.parametrize("line", WITH_CARDS)
def test_lines_with_graphics_cards(version_2, monkeypatch, line):
    monkeypatch.setattr("countenance.run.image_jobs.graphics_cards", lambda: 0)
    code, _, err = version_2(*typed(line))
    assert code == 2 and err.startswith("error: --gpus 0: this machine has no graphics card")


def test_lines_of_version_3(command, monkeypatch):
    quick(monkeypatch)
    make_data(scenes(), Path("data"), 3)
    Path("YOUR-DATA-DIRECTORY").symlink_to("data")
    as_published(gpu=-1)
    for line in VERSION_3:
        code, out, err = command(*typed(line))
        assert code == 0, (line, err)
        assert ("Usage:" in out) == line.endswith(" -h"), line
    assert Path("YOUR-FILE-PATH").is_file() and Path("results/UCCS-OROC-validation.pdf").is_file()


def as_published(gpu: int) -> None:
    """The configuration that the original comes with: its values where they are not ours, and its older exclusions."""
    Path(CONFIG).parent.mkdir(parents=True, exist_ok=True)
    exclusions = {"exclude_gallery": "{data_directory}/exclude_gallery_{which_set}.pickle"}
    labels = {"detection": {"labels": ["mtcnn"]}, "recognition": {"labels": ["MagFace"]}}
    recognition = {"arch": "iresnet100", "workers": 4, "embedding_size": 512}
    published = {"gpu": gpu, "recognition": recognition, "eval": {**exclusions, **labels}}
    Path(CONFIG).write_text(yaml.safe_dump(published))


def test_a_bare_line_reads_the_configuration_in_its_place(command, monkeypatch):
    quick(monkeypatch)
    make_data(scenes(), Path("data"), 3)
    text = Path("data/exclude_gallery_validation.txt")
    text.unlink()
    faces = [int(line.split(",")[0]) for line in Path("data/validation.csv").read_text().splitlines()[1:]]
    text.with_suffix(".pickle").write_bytes(pickle.dumps(faces[:2]))
    as_published(gpu=-1)
    assert command("baseline_detection.py")[0] == 0
    code, out, err = command("evaluation.py", "--tasks", "detection")
    assert (
        code == 0 and f"notice: settings of {CONFIG}" in err and f"mtcnn: {len(faces) - 2} of {len(faces) - 2}" in out
    )
    Path(CONFIG).unlink()
    code, out, err = command("evaluation.py", "--tasks", "detection")
    assert code == 0 and f" of {len(faces) - 2} faces" in out and "no face is excluded" not in err, "pickles alone"
    as_published(gpu=0)
    monkeypatch.setattr("countenance.run.image_jobs.graphics_cards", lambda: 0)
    code, _, err = command("baseline_detection.py")
    assert code == 2 and "gpu -1" in err


@pytest.mark.parametrize(
    ("script", "keys", "foreign"),
    [
        ("baseline_detection.py", ("--detection.parallel", "--gpu", "[0.2, 0.2, 0.2]"), "--eval.iou"),
        ("baseline_recognition.py", ("--recognition.workers", "--disable-gallery"), "--detection.results"),
        ("scoring.py", ("--scoring.probe", "--which_set"), "--recognition.arch"),
        ("evaluation.py", ("--tasks", "--eval.linear", "--eval.recognition.rank"), "--scoring.probe"),
    ],
)
def test_help_lists_the_keys_of_a_script(command, script, keys, foreign):
    code, out, _ = command(script, CONFIG, "-h")
    assert code == 0 and all(key in out for key in keys) and foreign not in out


def test_a_value_that_is_no_count_is_still_given_once(command, small):
    code, _, err = command("evaluate_detector.py", "-d", small, "-t", "0.5", "-t", "0.6", "-vv")
    assert code == 2 and "--overlap-threshold is given 2 times" in err


def test_json_is_written_beside_the_plot(version_2):
    assert version_2(*typed(VERSION_2[1]))[0] == 0
    assert version_2(*typed(VERSION_2[7]), "--json", "o.json")[0] == 0
    assert [curve["label"] for curve in json.loads(Path("o.json").read_text())["curves"]] == ["Baseline"]
