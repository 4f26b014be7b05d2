"""The original's scripts, flags and configuration, as their owners type them."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from countenance.errors import InputError
from countenance.run import Run

FIXTURES = Path(__file__).parent / "fixtures" / "ties"


def curves(path):
    return json.loads(Path(path).read_text())["curves"]


@pytest.mark.parametrize("script", ["evaluate_detector.py", "evaluate_detector", "evaluate-detector"])
def test_scripts_of_version_two_keep_their_names_and_flags(command, script):
    flags = ("-d", FIXTURES, "-r", FIXTURES / "v2-detection.txt", "-l", "mine", "-t", "0.5", "-w", "f.pdf", "-x", "-s")
    assert command(script, *flags, "--json", "o.json")[0] == 0
    expected = json.loads((FIXTURES / "ref-v2-froc-log-only-present.json").read_text())["curves"][0]
    assert curves("o.json")[0]["y"] == expected["y"] and Path("f.pdf").exists()
    flags = ("-d", FIXTURES, "-r", FIXTURES / "v2-recognition.txt", "-R", "3", "-w", "d.pdf", "-y", "validation")
    assert command("evaluate_recognizer.py", *flags, "--json", "o.json")[0] == 0
    assert curves("o.json") == json.loads((FIXTURES / "ref-v2-dir-lin-rank3.json").read_text())["curves"]


def test_the_baselines_keep_their_names_and_flags(command, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    assert command("make-data", "--out", tmp_path / "v2", "--portraits", "")[0] == 0
    options = ("-d", tmp_path / "v2", "-y", "validation", "-P", "1", "--model", "challenge_models:Squares", "--quiet")
    code, _, err = command("baseline_detector.py", *options, "-w", "mine-%s.txt", "-q", "1", "-g", "-1")
    assert code == 0, err
    assert Path("mine-validation-debug-1.txt").exists()


def test_graphics_cards_that_are_not_there_are_one_line(command, tmp_path, monkeypatch):
    monkeypatch.setattr("countenance.run.image_jobs.graphics_cards", lambda: 0)
    assert command("make-data", "--out", tmp_path / "v2", "--portraits", "")[0] == 0
    code, _, err = command("detect", "-d", tmp_path / "v2", "--parallel", "2", "--gpus", "0", "1", "--quiet")
    assert code == 2 and err.count("\n") == 1
    assert err.startswith("error: --gpus 0: this machine has no graphics card; leave --gpus out")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "data_directory": str(FIXTURES),
                "result_directory": "out",
                "eval": {"detection": {"files": ["{data_directory}/v3-detection.txt"], "labels": ["mine"]}},
                "my_network": {"depth": 50},
            }
        )
    )
    return path


def test_a_configuration_of_version_three_is_evaluated(command, config):
    code, _, err = command("evaluation", config, "-t", "detection", "--json", "o.json", "--out", "run")
    assert code == 0, err
    assert "'my_network' is not used here" in err
    assert curves("o.json")[0] == {
        **json.loads((FIXTURES / "ref-v3-froc.json").read_text())["curves"][0],
        "label": "mine",
    }
    assert Path("out/UCCS-FROC-validation.pdf").exists()
    assert Run("run").manifest.about["kind"] == "FROC"


def test_the_command_line_overrides_the_configuration(command, config, tmp_path):
    nobody = tmp_path / "none.txt"
    nobody.write_text("")
    files = ("--eval.detection.files", FIXTURES / "v3-detection.txt", FIXTURES / "v3-detection.txt")
    names = ("--eval.detection.labels", "A", "B", "--eval.detection.froc", "plots/{which_set}.svg")
    rest = ("--eval.exclude_gallery", nobody, "--json", "o.json", "--out", "runs")
    code, _, err = command("evaluation", config, "-t", "detection", *files, *names, *rest)
    assert code == 0, err
    assert [curve["label"] for curve in curves("o.json")] == ["A", "B"] and Path("plots/validation.svg").exists()
    assert curves("o.json")[0]["y"] != json.loads((FIXTURES / "ref-v3-froc.json").read_text())["curves"][0]["y"]
    curve = next(result for result in Run("runs/A").results() if result.name == "FROC")
    assert curve.lines[0].y == curves("o.json")[0]["y"]  # the run excludes the same faces


def test_without_a_file_the_defaults_are_read(command):
    code, _, err = command("evaluation", "-t", "detection", "--data_directory", "nowhere")
    assert code == 2 and "nowhere: no protocol of the validation set" in err
    code, _, err = command("evaluation", "-t", "detection", "--data_directory", FIXTURES)
    assert code == 2 and "results/UCCS-detection-baseline-validation.txt: no such file" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--eval.detection.file", "x"], "--eval.detection.file: no such key (did you mean eval.detection.files"),
        (["--eval.iou"], "--eval.iou: no value after it"),
        (["-t", "tracking"], "-t tracking: expected one or both of detection, recognition"),
        (["--eval.linear", "perhaps"], "eval.linear is 'perhaps', expected true or false"),
        (["--which_set", "all"], "which_set is 'all', expected one of"),
        (["--result_directory", "{which}"], "{which} stands for no word or number"),
        (["--result_directory", "{result_directory}/x"], "refers to itself"),
    ],
)
def test_a_wrong_override_is_one_line(command, config, arguments, message):
    code, _, err = command("evaluation", config, *arguments)
    assert code == 2 and message in err and "Traceback" not in err


@pytest.fixture
def embeddings(tmp_path):
    """Two subjects and two images as the original's scripts store them: tensors, and arrays in tensors' place."""
    import torch

    gallery, probes = tmp_path / "gallery_embeddings", tmp_path / "validation_embeddings"
    gallery.mkdir()
    probes.mkdir()
    for subject, vector in ((1, [1.0, 0, 0]), (2, [0, 1.0, 0])):
        content = {"landmarks": torch.zeros(2, 5, 2), "embeddings": torch.tensor([vector, vector])}
        torch.save(content, gallery / f"{subject:04}.pth")
    box = torch.tensor([[1.0, 2, 3, 4]])
    torch.save(
        {"detection_scores": torch.ones(1, 1), "bboxes": box, "embeddings": torch.tensor([[0.6, 0.8, 0]])},
        probes / "a.pth",
    )
    plain = {"detection_scores": np.full((1, 1), 0.5), "bboxes": box.numpy(), "embeddings": np.eye(3, dtype="f4")[:1]}
    torch.save(plain, probes / "b.pth")
    return gallery, probes


def test_pth_embeddings_are_scored(command, embeddings):
    gallery, probes = embeddings
    places = ("--scoring.gallery", gallery, "--scoring.probe", probes, "--scoring.results", "s.txt")
    code, _, err = command("scoring.py", *places)
    assert code == 0, err
    assert Path("s.txt").read_text().splitlines() == [
        "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,S_0001,S_0002",
        "a,1.00,1.00,2.00,3.00,4.00,0.600000,0.800000",
        "b,0.50,1.00,2.00,3.00,4.00,1.000000,0.000000",
    ]
    assert command("score", "--gallery-embeddings", gallery, "--probe-embeddings", probes, "-w", "t.txt")[0] == 0
    assert Path("t.txt").read_text() == Path("s.txt").read_text()


def test_a_pth_file_that_runs_code_is_refused(command, embeddings, tmp_path):
    import pickle

    class Evil:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "owned",))

    gallery, probes = embeddings
    (probes / "c.pth").write_bytes(pickle.dumps({"embeddings": Evil()}))
    code, _, err = command("score", "--gallery-embeddings", gallery, "--probe-embeddings", probes, "-w", "t.txt")
    assert code == 2 and "not a .pth file of tensors" in err and err.count("\n") == 1
    assert not (tmp_path / "owned").exists() and not Path("t.txt").exists()


def test_the_scripts_of_version_three_hand_on_to_each_other(command, tmp_path, monkeypatch):
    import torch

    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr("countenance.cli.uccs.original._config", configured(tmp_path / "v3"))
    assert command("make-data", "--out", tmp_path / "v3", "--protocol-version", 3)[0] == 0
    assert (
        command(
            "detect",
            "-d",
            tmp_path / "v3",
            "--model",
            "challenge_models:Squares",
            "--quiet",
            "-w",
            "results/UCCS-detection-baseline-validation.txt",
        )[0]
        == 0
    )
    code, _, err = command("baseline_recognition", "--quiet")
    assert code == 0, err
    first = Path("results/UCCS-scoring-baseline-validation.txt").read_text()
    gallery = sorted(path.name for path in Path("results/gallery_embeddings").iterdir())
    assert gallery and all(name.endswith(".pth") and name[:4].isdigit() for name in gallery)
    one = torch.load(next(Path("results/validation_embeddings").iterdir()), weights_only=True)
    assert set(one) == {"detection_scores", "bboxes", "embeddings"} and len(one["bboxes"]) == len(one["embeddings"])
    code, _, err = command("scoring")
    assert code == 0, err
    assert Path("results/UCCS-scoring-baseline-validation.txt").read_text() == first
    code, out, err = command("evaluation")
    assert code == 0, err
    assert "O-ROC written" in out and "FROC written" in out


def test_embeddings_never_replace_other_files(tmp_path):
    from countenance.suites.uccs.baseline.embeddings import write_embeddings

    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds notes\.txt, and embeddings replace what is there"):
        write_embeddings(tmp_path, {"subject": np.array([1]), "embedding": np.eye(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def configured(data):
    from countenance.cli.uccs import original

    real = original._config
    overrides = ["--data_directory", str(data), "--recognition.arch", "challenge_models:Colour"]
    return lambda arguments: real([*arguments, *overrides])
