"""An outsider's reader, task, model, format and suite, as files of a folder of their own, through every command."""

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import countenance as ct
from countenance.cli.app import run as command

FILES = {
    "clinic_reader.py": """
        import json
        from pathlib import Path
        import numpy as np
        import countenance as ct

        WARD = ct.AttributeCard(assigned_by="annotated", meaning="ward", role="person")
        CARD = ct.DatasetCard(
            name="clinic", licence="CC0", consent="written", citation="Clinic 2026", real_people=False,
            attributes={"ward": WARD},
        )

        def load(folder="clinic"):
            samples = []
            for row in json.loads((Path(folder) / "people.json").read_text()):
                person = ct.Subject("0", identity=row["who"], face_box=np.array(row["box"], float),
                                    attributes={"ward": row["ward"]})
                picture = ct.LazyImage(Path(folder) / row["file"])
                samples.append(ct.Sample(row["file"], picture, 64, 48, (person,)))
            return ct.Dataset(CARD, samples)
    """,
    "clinic_task.py": """
        import countenance as ct
        from countenance.tasks.task import subject_row

        def score(sample, answer):
            x0, y0, x1, y1 = sample.subjects[0].face_box
            row = subject_row(sample, sample.subjects[0])
            row["m.close"] = float(abs(answer.values["area"] - (x1 - x0) * (y1 - y0)) < 20)
            return [row]

        CLOSE = ct.Metric("close", "share of faces measured within 20 pixels", better="higher", headline=True)
        AREA = ct.Task(
            name="face_area", question="How large is the face?", answer=ct.Scalars, metrics=(CLOSE,),
            coerce=lambda raw: ct.Scalars.of(raw, name="area"), score=score,
        )
    """,
    "clinic_model.py": """
        class Bright:
            name = "bright"

            def __init__(self, level=120):
                self.level = level

            def __call__(self, images):
                return [float((image.mean(axis=2) > self.level).sum()) for image in images]
    """,
    "clinic_format.py": """
        import countenance as ct

        def read(path, wanted):
            pairs = (line.split("=") for line in path.read_text().splitlines())
            areas = {wanted.names.find(name): ct.Scalars({"area": float(area)}) for name, area in pairs}
            return ct.Predictions(str(path), "areas", areas)

        AREAS = ct.Format("areas", "a line for each picture: name=area", (ct.Scalars,), lambda path: False, read)
    """,
    "clinic_suite.py": """
        import countenance as ct
        from clinic_task import AREA
        from countenance.run import read_audit

        def publish(run):
            (run.path / "clinic.txt").write_text(str(read_audit(run).by_group["close"]["ward"]))
            return ["clinic.txt"]

        suite = ct.Suite("clinic", "Is everyone measured?", tasks=(ct.SuiteTask(AREA),), publish=publish)
    """,
}
"""Modules have names of their own, since a test may import each only once."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the repository with the files and 80 pictures; the model misses half of the west."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    (tmp_path / "clinic").mkdir()
    draw, rows = np.random.default_rng(1), []
    for i in range(80):
        pixels = draw.integers(0, 60, (48, 64, 3)).astype(np.uint8)
        ward = ("north", "west")[i % 2]
        pixels[10:26, 20:36] = 90 if ward == "west" and i % 4 == 1 else 200
        Image.fromarray(pixels).save(tmp_path / "clinic" / f"{i}.png")
        rows.append({"file": f"{i}.png", "who": f"p{i}", "ward": ward, "box": [20, 10, 36, 26]})
    (tmp_path / "clinic" / "people.json").write_text(json.dumps(rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_every_part_by_its_file_in_python_and_on_the_command_line(place: Path, capsys) -> None:
    run = ct.evaluate("clinic_model.py:Bright", "clinic_task.py:AREA", data="clinic_reader.py:load", out="runs/python")
    close = run.scores()["m.close"].to_pylist()
    assert sum(close) == 60 and run.audit(by=["ward"]).verdict == "disparity"
    assert run.audit(by=["ward"]).findings[0].role == "person"
    areas = [f"{i}.png={256.0 if i % 4 != 1 else 0.0}\n" for i in range(80)]
    (place / "saved.areas").write_text("".join(areas))
    shared = ["--data", "clinic_reader.py:load", "--by", "ward", "-q"]
    words = ["run", "clinic_task:AREA", "--model", "predictions:saved.areas", *shared, "--out", "runs/saved"]
    assert command([*words, "--setting", "format=clinic_format.py:AREAS"]) == 0
    assert ct.Run("runs/saved").scores()["m.close"].to_pylist() == close
    words = ["run", "clinic_task:AREA", "--model", "clinic_model:Bright", *shared, "--out", "runs/better"]
    assert command([*words, "--setting", "level=70"]) == 0
    assert set(ct.Run("runs/better").scores()["m.close"].to_pylist()) == {1.0}
    words = ["suite", "run", "clinic_suite.py:suite", "--model", "clinic_model.py:Bright", *shared]
    assert command([*words, "--out", "runs/suite"]) == 0
    assert "'west': 0.5" in (place / "runs/suite/clinic.txt").read_text()
    capsys.readouterr()


def test_every_command_takes_the_runs(place: Path, capsys) -> None:
    from clinic_suite import suite  # type: ignore[import-not-found]

    (worse,) = suite.run(data="clinic_reader.py:load", model="clinic_model.py:Bright", out="runs/worse", by=["ward"])
    shared = ("clinic_model.py:Bright", "clinic_task.py:AREA", "clinic_reader.py:load")
    ct.evaluate(*shared, out="runs/better", settings={"level": 70})
    (place / "gate.yaml").write_text("rules:\n  - estimate: {metric: close, at_least: 0.9}\n    insufficient: fail\n")
    for words, code in (
        (["audit", "runs/worse", "--by", "ward"], 0),
        (["report", "runs/worse", "--out", "page.html"], 0),
        (["compare", "runs/worse", "runs/better", "--by", "ward"], 0),
        (["gate", "runs/worse", "--policy", "gate.yaml"], 1),
        (["gate", "runs/better", "--policy", "gate.yaml"], 0),
        (["export", "runs/worse", "--what", "groups", "--out", "groups.md"], 0),
        (["card", "runs/worse", "--out", "card.md"], 0),
        (["view", "runs", "--bundle", "bundle"], 0),
        (["verify", "runs/worse"], 0),
    ):
        assert command(words) == code, capsys.readouterr()
    card = (place / "card.md").read_text()
    assert "CC0" in card and "Consent: written" in card and "Citation: Clinic 2026" in card
    assert "ward west" in (place / "page.html").read_text() and (place / "bundle" / "index.html").exists()
    assert worse.manifest.suite == "clinic"
