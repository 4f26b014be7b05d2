"""Every file and every command of docs/answers.md is tried, and every task is on the page."""

import re
import shlex
from pathlib import Path

import pytest

from countenance.answers.formats.registry import format_names, load_format
from countenance.cli.app import run as command
from countenance.tasks import load_task, task_names

PAGE = (Path(__file__).parents[1] / "docs" / "answers.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'```(?:csv|json) title="(\S+)"\n(.*?)```', PAGE, re.DOTALL))
COMMANDS = re.findall(r"^\$ countenance (.*)$", PAGE, re.MULTILINE)
TABLE = PAGE.split("|---|---|---|\n")[1].split("\n\n")[0].splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_page_works(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)
    arguments = shlex.split(line)
    arguments += ["--adjust", "holm"] if arguments[0] == "run" else []  # the permutations of min-p take long
    assert command(arguments) == 0, capsys.readouterr().err


def test_every_task_is_on_the_page_with_its_files() -> None:
    told = {task: row for row in TABLE for task in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert set(told) == set(task_names())
    words = {
        "table": "CSV, Parquet",
        "coco": "COCO results",
        "uccs": "UCCS",
        "bias_bounty": "bounty's CSV",
        "mask_fairness": "mask study's CSV",
        "fhibe": "FHIBE's JSON",
        "pictures": "a folder of pictures",
        "records": "JSON by image",
        "yolo": "YOLO's text files",
    }
    formats = [load_format(name) for name in format_names()]
    for name, row in told.items():
        kind = load_task(name).answer
        assert f"`{kind.__name__}`" in row, name
        held = [words[one.name] for one in formats if kind in one.kinds]
        unnamed = [word for word in held if word not in row and name != "bias_bounty"]
        assert not unnamed and bool(held) != ("none" in row), (name, unnamed)


def test_the_models_of_the_page_are_accepted(tmp_path: Path) -> None:
    import countenance as ct

    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "answers.md", "exec"), names)
    for function, task in (
        ("parse", "face_parsing"),
        ("restore", "face_super_resolution"),
        ("restore", "face_encoding"),
        ("parts", "body_parts_detection"),
    ):
        run = ct.evaluate(names[function], task, "people:portraits", out=tmp_path / task, limit=2)
        assert run.manifest.failed == 0 and run.scores().num_rows, task
