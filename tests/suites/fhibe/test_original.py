"""Scripts of the published shape run unchanged, for every task, and leave what the original leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import countenance.suites.fhibe.original
from countenance import Run
from countenance.data import Dataset
from countenance.data.adapters.fhibe.words import TASKS
from countenance.errors import InputError
from countenance.suites.fhibe.made_data import make_data
from countenance.suites.fhibe.original.__main__ import main

from .helpers import assert_same, pdf_text, read
from .people import CARD, pair, portrait
from .test_strict import NOT_FILES, VECTORS

pytest.importorskip("torch")
SCRIPTS = Path(__file__).parent / "scripts"
MEANS = {
    "person_localization": {"average_recall": 1.0, "false_positives": 0.0},
    "face_localization": {},
    "person_parsing": {"AR_MASK": 1.0},
    "keypoint_estimation": {"PCK": 1.0, "AR_OKS": 1.0},
    "body_parts_detection": {"ACC_DET": 1.0, "AR_DET Hand": 1.0},
    "face_parsing": {"F1": 1.0},
    "face_verification": {"genuine_accepted": 1.0, "impostor_accepted": 0.0},
    "face_encoding": {},
    "face_super_resolution": {"PSNR": 80.0},
}
"""What the scripts' models must score on the people of `people.py`."""
METRICS = {
    "person_localization": {"AR_IOU": {"thresholds": [0.5, 0.75, 0.9]}},
    "face_localization": ["AR_IOU"],
    "keypoint_estimation": None,
    "face_verification": ["VAL"],
    "face_encoding": ["LPIPS", "PSNR"],
    "face_super_resolution": ["LPIPS"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """24 pictures of two people and 30 faces of ten people, in FHIBE's layout."""
    path = tmp_path_factory.mktemp("original") / "fhibe.20250708"
    make_data(
        path, Dataset(CARD, [pair(i) for i in range(24)]), Dataset(CARD, [portrait(i) for i in range(30)]), side=64
    )
    return path


def configure(folder: Path, root: Path, task: str, **changes) -> dict:
    """Write the script's configuration beside where it runs."""
    face = task.startswith("face_") and task != "face_localization"
    config = {
        "task_name": task,
        "dataset_name": "fhibe_face_crop_align" if face else "fhibe",
        "data_rootdir": str(root),
        "dataset_version": "fhibe.20250708",
        "model_name": f"{task}_demo",
        "metrics": METRICS.get(task),
        "attributes": ["pronoun", "age", "apparent_skin_color", "ancestry"],
        "downsampled": True,
        "use_mini_dataset": True,
        "mini_dataset_size": 30 if face else 20,
        "results_basedir": str(folder / "results"),
    } | changes
    (folder / f"{task}.yaml").write_text(json.dumps(config))
    return config


def results_of(config: dict) -> Path:
    dataset = config["dataset_name"] + ("_downsampled" if config["dataset_name"] == "fhibe" else "")
    base = Path(config["results_basedir"])
    base = base / "mini" if config["use_mini_dataset"] else base
    return base / config["task_name"] / dataset / config["model_name"]


@pytest.mark.parametrize("task", TASKS)
def test_a_published_script_runs_unchanged(root, tmp_path, monkeypatch, task):
    monkeypatch.setattr("countenance.models.zoo.lpips_weights._installed", lambda: None)
    monkeypatch.chdir(tmp_path)
    config = configure(tmp_path, root, task)
    assert main([str(SCRIPTS / f"{task}.py")]) == 0
    folder = results_of(config)
    run = Run(folder / "run")
    assert run.model_name == config["model_name"]
    for metric, expected in MEANS[task].items():
        values = [v for v in run.scores().column(f"m.{metric}").to_pylist() if v is not None]
        assert values
        assert np.mean(values) == pytest.approx(expected), metric
    printed = pdf_text(folder / "bias_report.pdf")
    assert f"{config['model_name']} on tiny people as" in printed
    assert "version fhibe.20250708" in printed
    computed = [name for name in run.manifest.about["metrics"] if name not in run.manifest.about["skipped"]]
    for metric in computed:
        assert (folder / f"intersectional_results_{metric}.json").exists()
    if task == "face_super_resolution":  # the one published metric cannot be computed here
        assert "LPIPS was not computed. " in printed
        assert "PSNR and SSIM are reported instead" in printed
    else:
        assert computed
    if task == "face_encoding":
        assert "30 of 30 pictures differ from their original in size" in run.notes[0]


OTHERS = [pytest.param(task, marks=pytest.mark.slow) for task in ("keypoint_estimation", "person_localization")]


@pytest.mark.parametrize("task", ["body_parts_detection", *OTHERS])
def test_the_files_of_the_original_hold_its_numbers(root, tmp_path, monkeypatch, task):
    """The same files as strict mode writes when the wrapper is given the drawn people alone, as it was published."""
    from countenance.suites.fhibe import evaluate_task

    monkeypatch.chdir(tmp_path)
    config = configure(tmp_path, root, task)
    main([str(SCRIPTS / f"{task}.py")])
    published = results_of(config)
    other = Path(tmp_path, "other")
    import runpy

    rendered = runpy.run_path(str(SCRIPTS / f"{task}.py"))
    wrapper = {
        "body_parts_detection": lambda: rendered["PartsDetector"](rendered["Network"]()),
        "keypoint_estimation": lambda: rendered["PoseEstimator"](None),
        "person_localization": lambda: rendered["Detector"](rendered["Network"]()),
    }[task]()
    run = evaluate_task(
        root,
        "fhibe",
        wrapper,
        config["model_name"],
        task,
        metrics=config["metrics"],
        use_mini_dataset=True,
        mini_dataset_size=20,
        results_rootdir=other,
        compat="strict",
        fhibe_layout=True,
    )
    files = sorted(path.name for path in run.path.parent.glob("*results_*.json"))
    assert files
    for name in files:
        assert_same(json.loads((published / name).read_text()), json.loads((run.path.parent / name).read_text()), name)


@pytest.mark.parametrize("name", VECTORS)
def test_the_published_names_give_the_published_files(vector, name):
    from fhibe_eval_api.evaluate import evaluate_task

    where = vector(name)
    about = json.loads((where / "expected" / "expected.json").read_text())
    options = {"custom_keypoints": about["custom_keypoints"]} if about.get("custom_keypoints") else {}
    run = evaluate_task(
        str(where),
        about["dataset_name"],
        None,
        about["model_name"],
        about["task"],
        metrics=list(about["metrics"]),
        attributes=["pronoun", "age", "apparent_skin_color", "ancestry"],
        reuse_model_outputs=True,
        results_rootdir=str(where / "results-in"),
        **options,
    )
    assert run.manifest.about["compat"] == "default"
    files = [p for p in (where / "expected").glob("*.json") if p.name not in NOT_FILES and ".HEAD" not in p.name]
    assert files
    for path in files:
        assert_same(read(run, path.name), json.loads(path.read_text()), path.name)


def run_python(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_the_module_runs_a_script_and_one_import_does_too(root, tmp_path):
    """In a process of its own, with the eight loader processes that the script asks for."""
    script = SCRIPTS / "person_localization.py"
    config = configure(tmp_path, root, "person_localization")
    done = run_python("-m", "countenance.suites.fhibe.original", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pdf = results_of(config) / "bias_report.pdf"
    assert f"report   {pdf}" in done.stderr
    pdf.unlink()
    changed = tmp_path / "changed.py"
    docstring, rest = script.read_text().split("\n", 1)
    changed.write_text(f"{docstring}\nimport countenance.suites.fhibe.original\n{rest}")
    done = run_python(changed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert pdf.exists()


def test_what_goes_wrong_is_one_line_and_exit_code_2(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: python -m countenance.suites.fhibe.original SCRIPT")
    assert main(["absent.py"]) == 2
    assert capsys.readouterr().err == "error: absent.py: no such script\n"
    configure(tmp_path, root, "face_parsing", attributes=["gender"])
    assert main([str(SCRIPTS / "face_parsing.py")]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: attribute 'gender' is not one of pronoun")
    assert printed.count("\n") == 1


def test_arguments_and_the_folder_of_the_script_are_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "beside.py").write_text("NAME = 'beside'\n")
    (tmp_path / "scripts" / "a.py").write_text(
        "import sys, beside\nfrom fhibe_eval_api.common.utils import get_project_root\n"
        "print(sys.argv[1:], beside.NAME, get_project_root())\nsys.exit(5)\n"
    )
    before = sys.argv, list(sys.path)
    with pytest.raises(SystemExit) as stop:
        main(["scripts/a.py", "--fast", "x"])
    assert stop.value.code == 5
    assert (sys.argv, sys.path) == before
    assert capsys.readouterr().out == f"['--fast', 'x'] beside {tmp_path}\n"
    (tmp_path / "scripts" / "pyproject.toml").touch()
    with pytest.raises(SystemExit):
        main(["scripts/a.py"])
    assert capsys.readouterr().out == f"[] beside {tmp_path / 'scripts'}\n"
    monkeypatch.delitem(sys.modules, "beside")


def test_results_go_to_the_project_unless_told_otherwise(root, tmp_path, monkeypatch):
    monkeypatch.setattr("countenance.suites.fhibe.original.published.get_project_root", lambda: str(tmp_path))
    from fhibe_eval_api.evaluate import evaluate_task
    from fhibe_eval_api.models.base_model import BaseModelWrapper

    class Nobody(BaseModelWrapper):
        def data_preprocessor(self, img_filepaths, **kwargs):
            return [img_filepaths]

        def __call__(self, batch):
            return [{"bboxes": [], "scores": [], "labels": []} for _ in batch]

    run = evaluate_task(str(root), "fhibe", Nobody(None), "nobody", "person_localization", cuda=False)
    assert run.path == tmp_path / "results" / "person_localization" / "fhibe_downsampled" / "nobody" / "run"
    with pytest.raises(TypeError, match="abstract"):
        BaseModelWrapper(None)


def test_a_report_needs_results_and_a_pdf_name(root, tmp_path, monkeypatch):
    from fhibe_eval_api.reporting import BiasReport

    monkeypatch.chdir(tmp_path)
    config = configure(tmp_path, root, "person_parsing")
    about = ("person_parsing_demo", "person_parsing", str(root), "v", config["results_basedir"], "fhibe")
    with pytest.raises(InputError, match="no results of person_parsing_demo for person_parsing; call evaluate_task"):
        BiasReport(*about, downsampled=True, use_mini_dataset=True)
    main([str(SCRIPTS / "person_parsing.py")])
    with pytest.raises(InputError, match="the same downsampled and use_mini_dataset"):
        BiasReport(*about)
    report = BiasReport(*about, results_dir=str(results_of(config)), downsampled=True)
    for name in ("report.html", "../x.pdf"):
        with pytest.raises(InputError, match=r"expected a file name that ends in \.pdf"):
            report.generate_pdf_report(["age"], report_savename=name)
    path = report.generate_pdf_report(["age"], report_savename="other.pdf", show_significance_on_plots=False)
    printed = pdf_text(path)
    assert "age group age in years" in printed
    assert "pronoun" not in printed
    with pytest.raises(InputError, match="no attribute 'lighting'"):
        report.generate_pdf_report(["lighting"])


def test_the_loader_needs_no_torchvision(root, monkeypatch):
    from fhibe_eval_api.common.data import ImageDataset, pil_image_collate_function
    from fhibe_eval_api.common.loaders import image_data_loader_from_paths
    from torch.utils.data import DataLoader

    monkeypatch.setitem(sys.modules, "torchvision", None)
    paths = sorted(map(str, (root / "data" / "raw" / "fhibe_downsampled").rglob("*.*")))[:5]
    loader = image_data_loader_from_paths(None, paths, batch_size=2, num_workers=0)
    assert isinstance(loader, DataLoader)
    batches = list(loader)
    assert [len(batch["images"]) for batch in batches] == [2, 2, 1]
    assert [path for batch in batches for path in batch["image_paths"]] == paths
    first, second = image_data_loader_from_paths(np.array, paths, paths[:1], num_workers=0, grayscale=True)
    assert next(iter(first))["images"].shape == (5, 96, 96)
    assert len(next(iter(second))["image_paths"]) == 1
    item = ImageDataset(paths, exif_transpose=True)[1]
    assert item["images"].mode == "RGB"
    assert pil_image_collate_function([item])["image_paths"] == [paths[1]]


def test_a_picture_is_turned_as_its_exif_says_and_none_when_unreadable(tmp_path, caplog):
    from fhibe_eval_api.common.utils import open_image_with_pil
    from PIL import Image

    picture = Image.new("RGB", (4, 2))
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(tmp_path / "a.jpg", exif=exif)
    assert open_image_with_pil(str(tmp_path / "a.jpg")).size == (2, 4)
    assert open_image_with_pil(str(tmp_path / "a.jpg"), exif_transpose=False).size == (4, 2)
    assert open_image_with_pil(str(tmp_path / "a.jpg"), grayscale=True).mode == "L"
    (tmp_path / "b.png").write_bytes(b"no picture")
    assert open_image_with_pil(str(tmp_path / "b.png")) is None
    assert "b.png: cannot be read" in caplog.text


def test_files_as_the_original_reads_and_writes_them(tmp_path):
    from fhibe_eval_api.common.utils import create_folders, read_json_file, save_json_file

    path = str(tmp_path / "a" / "b" / "c.json")
    create_folders(path)
    save_json_file(path, {"x": [1, 2]}, indent=4)
    assert read_json_file(path) == {"x": [1, 2]}


def test_a_real_package_that_is_imported_already_is_not_replaced(monkeypatch):
    from types import ModuleType

    countenance.suites.fhibe.original.install()  # twice is once
    monkeypatch.setitem(sys.modules, "fhibe_eval_api", ModuleType("fhibe_eval_api"))
    with pytest.raises(ImportError, match="fhibe_eval_api is imported already"):
        countenance.suites.fhibe.original.install()
